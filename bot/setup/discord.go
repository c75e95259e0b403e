package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"loopx/kernel"
)

// Flags of an application that allow the intent Message Content, for verified
// apps and for all others.
const (
	flagMessageContent        = 1 << 18
	flagMessageContentLimited = 1 << 19
)

// discordAnswer is what is used of the three answers.
type discordAnswer struct {
	Code     int    `json:"code"`
	ID       string `json:"id"`
	Username string `json:"username"`
	// Bot is true in users/@me, and the bot itself in applications/@me.
	Bot   json.RawMessage `json:"bot"`
	Flags int64           `json:"flags"`
	// Interactions is where presses go when it is set: not to the gateway.
	Interactions *string `json:"interactions_endpoint_url"`
	Limit        struct {
		Remaining int `json:"remaining"`
		Total     int `json:"total"`
	} `json:"session_start_limit"`
}

// verifyDiscord asks who the bot is, what its app may see, and whether it may
// open a gateway session today. None is opened.
func verifyDiscord(ctx context.Context, c *caller, j *job, v values) (found, error) {
	ask := func(path string) (discordAnswer, error) {
		var a discordAnswer
		resp, err := c.do(ctx, request{method: http.MethodGet, path: "v10/" + path, auth: "Bot " + v["bot-token"].Reveal()}, &a)
		if err != nil {
			return a, err
		}
		switch {
		case resp.StatusCode == http.StatusOK:
			return a, nil
		case resp.StatusCode == http.StatusUnauthorized:
			return a, kernel.Errorf(kernel.Denied, "token_refused", "Discord does not know this bot token, or it was reset").Try("reset the token on the page Bot of the app, and give the new one")
		}
		return a, kernel.Errorf(kernel.Denied, "platform_refused", "Discord refuses the bot token: HTTP %d, code %d", resp.StatusCode, a.Code).Try("reset the token on the page Bot of the app, and give the new one")
	}
	me, err := ask("users/@me")
	if err != nil {
		return found{}, err
	}
	if string(me.Bot) != "true" {
		return found{}, kernel.Errorf(kernel.Denied, "token_kind", "the token belongs to a person and not to a bot").Try("take the token of the page Bot of the app")
	}
	app, err := ask("applications/@me")
	if err != nil {
		return found{}, err
	}
	if app.Flags&(flagMessageContent|flagMessageContentLimited) == 0 {
		return found{}, kernel.Errorf(kernel.Denied, "intent_missing", "the app may not read messages: Message Content Intent is off").Try("switch it on and save: page Bot, Privileged Gateway Intents, Message Content Intent")
	}
	if app.Interactions != nil && *app.Interactions != "" {
		return found{}, kernel.Errorf(kernel.Denied, "interactions_elsewhere", "Discord sends presses to an address instead of the bot").Try("empty Interactions Endpoint URL on the page General Information and save")
	}
	gate, err := ask("gateway/bot")
	if err != nil {
		return found{}, err
	}
	out := found{is: fmt.Sprintf("%s (app %s)", said(me.Username), said(app.ID))}
	if n := gate.Limit; n.Total > 0 && n.Remaining < 10 {
		out.warnings = append(out.warnings, fmt.Sprintf("only %d of %d new connections are left today: something starts this bot again and again", n.Remaining, n.Total))
	}
	if at := invitation(j.platform.guide(), app.ID); at != "" {
		out.next = append(out.next, "let the bot into a server that you are in, unless it is there:\n     "+at)
	}
	return out, nil
}

// invitation is the address of the guide with the app's own id in it.
func invitation(guide, app string) string {
	if !regexp.MustCompile(`^[0-9]{15,22}$`).MatchString(app) {
		return ""
	}
	_, blocks := fenced(guide)
	for _, b := range blocks {
		if strings.Contains(b, "client_id=APPLICATION_ID") {
			return strings.TrimSpace(strings.ReplaceAll(b, "APPLICATION_ID", app))
		}
	}
	return ""
}
