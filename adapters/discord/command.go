package discord

import (
	"context"
	"net/http"
	"reflect"

	dg "github.com/bwmarrin/discordgo"
)

// slash is the one command that Discord offers for us; what is typed behind it
// is what one would write to the bot.
type slash struct {
	Name         string            `json:"name"`
	Type         int               `json:"type"`
	Description  string            `json:"description"`
	Descriptions map[string]string `json:"description_localizations"`
	Options      []slashOption     `json:"options"`
}

type slashOption struct {
	Name         string            `json:"name"`
	Type         int               `json:"type"`
	Description  string            `json:"description"`
	Descriptions map[string]string `json:"description_localizations"`
	Required     bool              `json:"required,omitempty"`
}

func ourCommand() slash {
	return slash{
		Name: "loopx", Type: int(dg.ChatApplicationCommand), Description: "What waits, what is going on, and help",
		Descriptions: map[string]string{"zh-CN": "待你处理的事项、进展与帮助"},
		Options: []slashOption{{
			Name: "text", Type: int(dg.ApplicationCommandOptionString), Description: "status, gates, todos, why … (nothing: help)",
			Descriptions: map[string]string{"zh-CN": "状态、待决、任务、为什么……（留空：帮助）"},
		}},
	}
}

// register offers the command, once a session and only where it is not there
// already: Discord counts what is made in a day. A command of the same name is
// replaced; others of the app are left alone (docs, "Create Global Application
// Command"). Without it everything can still be written to the bot.
func (in *intake) register(ctx context.Context, app string) {
	ctx, cancel := context.WithTimeout(ctx, 2*in.cfg.Timing.Call)
	defer cancel()
	want, path := ourCommand(), "applications/"+app+"/commands"
	var have []slash
	err := in.rest.do(ctx, call{verb: http.MethodGet, path: path + "?with_localizations=true", route: "GET commands", major: app}, &have)
	for _, c := range have {
		if reflect.DeepEqual(c, want) {
			return
		}
	}
	if err == nil {
		err = in.rest.do(ctx, call{verb: http.MethodPost, path: path, route: "POST commands", major: app, body: want, what: setting}, nil)
	}
	if err != nil && ctx.Err() == nil {
		in.counts.Add("command:failed")
		in.cfg.Logger.Warn("the command /loopx could not be offered", "error", err)
	}
}
