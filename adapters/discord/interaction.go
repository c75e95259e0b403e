package discord

import (
	"encoding/json"
	"errors"
	"strings"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

type interaction struct {
	ID        string                     `json:"id"`
	App       string                     `json:"application_id"`
	Type      dg.InteractionType         `json:"type"`
	Token     string                     `json:"token"`
	Guild     string                     `json:"guild_id"`
	ChannelID string                     `json:"channel_id"`
	Channel   channel                    `json:"channel"`
	Context   *int                       `json:"context"`
	Owners    map[string]json.RawMessage `json:"authorizing_integration_owners"`
	Member    *member                    `json:"member"`
	User      *person                    `json:"user"`
	Message   *struct {
		ID         string      `json:"id"`
		Components []component `json:"components"`
	} `json:"message"`
	Data struct {
		CustomID   string      `json:"custom_id"`
		Values     []string    `json:"values"`
		Name       string      `json:"name"`
		Options    []option    `json:"options"`
		Components []component `json:"components"`
	} `json:"data"`
}

// component is any component there is, as far as it matters.
type component struct {
	CustomID   string      `json:"custom_id"`
	Label      string      `json:"label"`
	Value      *string     `json:"value"`
	Components []component `json:"components"`
	Component  *component  `json:"component"` // of a Label
	Accessory  *component  `json:"accessory"`
}

// walk visits a component and all inside it.
func (c component) walk(visit func(component)) {
	visit(c)
	for _, k := range c.Components {
		k.walk(visit)
	}
	for _, k := range []*component{c.Component, c.Accessory} {
		if k != nil {
			k.walk(visit)
		}
	}
}

type option struct {
	Name    string                          `json:"name"`
	Type    dg.ApplicationCommandOptionType `json:"type"`
	Value   json.RawMessage                 `json:"value"`
	Options []option                        `json:"options"`
}

// Contexts an interaction can come from (docs, "Interaction Context Types").
const contextPrivateChannel = 2 // between others, the bot is not there

func (d decoder) interaction(raw json.RawMessage) (decoded, error) {
	var in interaction
	if err := json.Unmarshal(raw, &in); err != nil {
		return decoded{}, err
	}
	in.ChannelID = firstOf(in.ChannelID, in.Channel.ID)
	if in.Member != nil {
		in.User = &in.Member.User
	}
	if in.ID == "" || in.Token == "" || in.ChannelID == "" || in.User == nil || in.User.ID == "" {
		return decoded{}, errors.New("an interaction without its id, channel or person")
	}
	ev := chat.Event{ID: "interaction:" + in.ID, At: millis(in.ID), Place: chat.Place{Conversation: in.ChannelID}, Sender: d.sender(in.User, in.Member)}
	ev.Private = in.Guild == "" && in.Channel.Type == dg.ChannelTypeDM && (in.Context == nil || *in.Context != contextPrivateChannel)
	if in.Channel.thread() && in.Channel.Parent != "" {
		ev.Place = chat.Place{Conversation: in.Channel.Parent, Thread: in.ChannelID}
	}
	if _, installed := in.Owners["0"]; in.Guild != "" && len(in.Owners) > 0 && !installed && ev.Sender.Kind == chat.Human {
		ev.Sender.Kind = chat.External // brought along into a guild that did not install the app
	}
	ref := &reference{id: in.ID, token: in.Token, app: firstOf(in.App, d.id.app), kind: in.Type, onMessage: in.Message != nil}
	out := decoded{inter: ref}
	switch in.Type {
	case dg.InteractionMessageComponent:
		if in.Message == nil || in.Data.CustomID == "" {
			return decoded{}, errors.New("a press without its message or button")
		}
		action, spec, asks := parseButton(in.Data.CustomID)
		if len(in.Data.Values) > 0 { // a select: what was chosen is the id
			action, asks = in.Data.Values[0], false
		}
		ev.Kind = chat.CardPressed
		ev.Press = &chat.Press{Message: in.Message.ID, Action: action, Trigger: in.ID, Reply: in.Token}
		if asks {
			out.form = &formRequest{ref: ref, action: action, spec: spec, event: ev, label: labelOf(in)}
			return out, nil
		}
	case dg.InteractionModalSubmit:
		action, ours := strings.CutPrefix(in.Data.CustomID, modalPrefix)
		if !ours {
			return ignore("modal:foreign"), nil
		}
		if in.Message == nil {
			return decoded{}, errors.New("a form without its card")
		}
		values := map[string]string{}
		for _, c := range in.Data.Components {
			c.walk(func(c component) {
				if c.CustomID != "" && c.Value != nil {
					values[c.CustomID] = *c.Value
				}
			})
		}
		ev.Kind = chat.CardPressed
		ev.Press = &chat.Press{Message: in.Message.ID, Action: action, Values: values, Trigger: in.ID, Reply: in.Token}
	case dg.InteractionApplicationCommand:
		if in.Data.Name == "" {
			return decoded{}, errors.New("a command without its name")
		}
		words, mentions := commandWords(in.Data.Options, d.id)
		ev.Kind = chat.CommandSent
		ev.Message = &chat.Message{ID: ev.ID, Text: strings.Join(append([]string{"/" + in.Data.Name}, words...), " "), Mentions: mentions}
		ev.Press = &chat.Press{Trigger: in.ID, Reply: in.Token}
	default:
		return ignore("interaction:type_" + lane.Word(in.Type.String())), nil
	}
	out.events = []chat.Event{ev}
	return out, nil
}

// commandWords writes a command's options as a person would type them.
func commandWords(opts []option, id identity) (words []string, mentions []chat.Mention) {
	for _, o := range opts {
		switch o.Type {
		case dg.ApplicationCommandOptionSubCommand, dg.ApplicationCommandOptionSubCommandGroup:
			w, m := commandWords(o.Options, id)
			words, mentions = append(append(words, o.Name), w...), append(mentions, m...)
			continue
		}
		var s string
		if json.Unmarshal(o.Value, &s) != nil {
			s = string(o.Value)
		}
		if o.Type == dg.ApplicationCommandOptionUser {
			mentions = append(mentions, chat.Mention{ID: s, Self: s == id.user})
			s = "@" + s
		}
		if s != "" {
			words = append(words, s)
		}
	}
	return words, mentions
}

// labelOf finds the label of the pressed button in its message.
func labelOf(in interaction) string {
	label := ""
	for _, c := range in.Message.Components {
		c.walk(func(c component) {
			if c.CustomID == in.Data.CustomID {
				label = c.Label
			}
		})
	}
	return label
}
