package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// identity is who we are, from auth.test.
type identity struct {
	connection string
	team       string
	enterprise string
	user       string // our bot's user id
	bot        string // our bot id
}

// frame is a Socket Mode envelope. Payloads are read with own small types: a
// field that Slack changes and that we do not use cannot cost a message.
type frame struct {
	Type     string          `json:"type"`
	Envelope string          `json:"envelope_id"`
	Payload  json.RawMessage `json:"payload"`
	Attempt  int             `json:"retry_attempt"`
	Accepts  bool            `json:"accepts_response_payload"`
}

// decoded is what an envelope says. Exactly one of event, form and ignored is
// set.
type decoded struct {
	event   *chat.Event
	form    *formRequest // a press that asks for text first
	ignored string       // why nobody needs it; a name of ours, no content
	team    string       // the sender's team where the payload names it
	bot     bool         // the payload says the sender is a bot
}

func ignore(reason string) decoded { return decoded{ignored: reason} }

// decode is pure: the same envelope gives the same result. Kinds of senders
// other than Self and Bot are filled in later, from users.info.
func decode(f frame, id identity) (decoded, error) {
	var (
		d   decoded
		err error
	)
	switch f.Type {
	case "events_api":
		d, err = decodeEvent(f, id)
	case "interactive":
		d, err = decodeInteractive(f, id)
	case "slash_commands":
		d, err = decodeSlash(f, id)
	default:
		return ignore("frame:" + lane.Word(f.Type)), nil
	}
	if err != nil {
		return decoded{}, fmt.Errorf("decoding a %s envelope: %w", lane.Word(f.Type), err)
	}
	if d.event != nil {
		d.event.Attempt = f.Attempt
		d.event.Place.Connection = id.connection
		if d.event.ID == "" {
			d.event.ID = "envelope:" + f.Envelope
		}
	}
	return d, nil
}

type outerEvent struct {
	Type    string     `json:"type"`
	Team    string     `json:"team_id"`
	EventID string     `json:"event_id"`
	Time    int64      `json:"event_time"`
	Event   innerEvent `json:"event"`
}

// innerEvent has the fields of all inner events that mean something here.
type innerEvent struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	User        string          `json:"user"`
	BotID       string          `json:"bot_id"`
	Text        string          `json:"text"`
	TS          string          `json:"ts"`
	ThreadTS    string          `json:"thread_ts"`
	Channel     json.RawMessage `json:"channel"` // a string, or an object in channel_* events
	ChannelType string          `json:"channel_type"`
	EventTS     string          `json:"event_ts"`
	UserTeam    string          `json:"user_team"`
	SourceTeam  string          `json:"source_team"`
	DeletedTS   string          `json:"deleted_ts"`
	Inviter     string          `json:"inviter"`
	Edited      json.RawMessage `json:"edited"`
	Files       []slackFile     `json:"files"`
	Message     *innerEvent     `json:"message"`
	Previous    *innerEvent     `json:"previous_message"`
}

type slackFile struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Mimetype string `json:"mimetype"`
	Size     int64  `json:"size"`
}

func decodeEvent(f frame, id identity) (decoded, error) {
	var o outerEvent
	if err := json.Unmarshal(f.Payload, &o); err != nil {
		return decoded{}, err
	}
	e := &o.Event
	channel := channelID(e.Channel)
	base := chat.Event{ID: o.EventID, At: millis(e.EventTS), Place: chat.Place{Conversation: channel}, Private: private(channel, e.ChannelType)}
	if base.At == 0 {
		base.At = o.Time * 1000
	}
	switch e.Type {
	case "message", "app_mention":
		if channel == "" {
			return decoded{}, errors.New("a message without a channel")
		}
		return decodeMessage(base, e, id)
	case "member_joined_channel", "member_left_channel":
		if e.User != id.user {
			return ignore(e.Type), nil
		}
		base.Kind = chat.BotAdded
		if e.Type == "member_left_channel" {
			base.Kind = chat.BotRemoved
		}
		return withSender(base, e.Inviter, "", "", id), nil
	case "channel_left", "group_left", "channel_archive", "group_archive", "channel_deleted", "group_deleted":
		base.Kind = chat.BotRemoved
		return withSender(base, e.User, "", "", id), nil
	}
	return ignore("event:" + lane.Word(e.Type)), nil
}

func decodeMessage(ev chat.Event, e *innerEvent, id identity) (decoded, error) {
	m := e
	switch e.Subtype {
	case "", "file_share", "thread_broadcast", "me_message", "bot_message":
		ev.Kind = chat.MessageSent
		if len(e.Edited) > 0 && string(e.Edited) != "null" { // a mention that an edit added
			ev.Kind = chat.MessageEdited
		}
	case "message_changed":
		if e.Message == nil {
			return decoded{}, errors.New("a changed message without the message")
		}
		m = e.Message
		ev.Kind = chat.MessageEdited
		if m.Subtype == "tombstone" { // the first message of a thread, deleted
			ev.Kind = chat.MessageDeleted
			if e.Previous != nil {
				m = e.Previous
			}
			break
		}
		// Unfurls and stamps arrive as changes with the same text (B86).
		if e.Previous != nil && e.Previous.Text == m.Text && len(e.Previous.Files) == len(m.Files) {
			return ignore("edit:same_text"), nil
		}
	case "message_deleted":
		ev.Kind = chat.MessageDeleted
		m = e.Previous
		if m == nil {
			m = &innerEvent{}
		}
		if m.TS == "" {
			m.TS = e.DeletedTS
		}
	default:
		return ignore("message:" + lane.Word(e.Subtype)), nil
	}
	if m.TS == "" {
		return decoded{}, errors.New("a message without a timestamp")
	}
	text, mentions := readText(m.Text, id)
	msg := &chat.Message{ID: m.TS, Text: text, Mentions: mentions}
	if th := m.ThreadTS; th != "" && th != m.TS { // empty is absent (B45); a first message is in no thread
		ev.Place.Thread, msg.Parent, msg.Root = th, th, th
	}
	for _, file := range m.Files {
		msg.Attachments = append(msg.Attachments, chat.Attachment{ID: file.ID, Name: file.Name, Kind: file.Mimetype, Size: file.Size})
	}
	ev.Message = msg
	if ev.Kind == chat.MessageSent {
		ev.At = millis(m.TS)
	}
	return withSender(ev, m.User, m.BotID, firstOf(m.UserTeam, m.SourceTeam), id), nil
}

// withSender names the sender as far as the payload alone can.
func withSender(ev chat.Event, user, bot, team string, id identity) decoded {
	ev.Sender = chat.User{Tenant: firstOf(team, id.team), ID: user}
	d := decoded{team: team}
	switch {
	case user != "" && user == id.user, bot != "" && bot == id.bot:
		ev.Sender.Kind = chat.Self
		ev.Sender.ID, ev.Sender.Tenant = id.user, id.team
	case bot != "", user == "USLACKBOT":
		ev.Sender.Kind, d.bot = chat.Bot, true
		ev.Sender.ID = firstOf(user, bot)
	case team != "" && id.team != "" && team != id.team && id.enterprise == "":
		ev.Sender.Kind = chat.External
	}
	d.event = &ev
	return d
}

type interaction struct {
	Type        string   `json:"type"`
	TriggerID   string   `json:"trigger_id"`
	ResponseURL string   `json:"response_url"`
	User        userRef  `json:"user"`
	Channel     namedRef `json:"channel"`
	Container   struct {
		MessageTS string `json:"message_ts"`
		ThreadTS  string `json:"thread_ts"`
		ChannelID string `json:"channel_id"`
	} `json:"container"`
	Message struct {
		TS       string `json:"ts"`
		ThreadTS string `json:"thread_ts"`
		Blocks   []struct {
			Type string  `json:"type"`
			Text textRef `json:"text"`
		} `json:"blocks"`
	} `json:"message"`
	Actions []struct {
		ActionID string  `json:"action_id"`
		BlockID  string  `json:"block_id"`
		Value    string  `json:"value"`
		ActionTS string  `json:"action_ts"`
		Text     textRef `json:"text"`
		Selected *struct {
			Value string `json:"value"`
		} `json:"selected_option"`
	} `json:"actions"`
	View struct {
		ID         string `json:"id"`
		Hash       string `json:"hash"`
		CallbackID string `json:"callback_id"`
		Metadata   string `json:"private_metadata"`
		State      struct {
			Values map[string]map[string]struct {
				Value *string `json:"value"`
			} `json:"values"`
		} `json:"state"`
	} `json:"view"`
}

type userRef struct {
	ID   string `json:"id"`
	Team string `json:"team_id"`
}
type namedRef struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}
type textRef struct {
	Text string `json:"text"`
}

func decodeInteractive(f frame, id identity) (decoded, error) {
	var in interaction
	if err := json.Unmarshal(f.Payload, &in); err != nil {
		return decoded{}, err
	}
	switch in.Type {
	case "block_actions":
		return decodeActions(in, id)
	case "view_submission":
		return decodeForm(in, id)
	}
	return ignore("interactive:" + lane.Word(in.Type)), nil
}

func decodeActions(in interaction, id identity) (decoded, error) {
	if len(in.Actions) == 0 {
		return decoded{}, errors.New("an interaction without an action")
	}
	act := in.Actions[0] // one press is one action
	p := press{
		Message: firstOf(in.Container.MessageTS, in.Message.TS),
		Channel: firstOf(in.Container.ChannelID, in.Channel.ID),
		Thread:  firstOf(in.Container.ThreadTS, in.Message.ThreadTS),
		Action:  act.Value,
		Reply:   in.ResponseURL,
	}
	if p.Thread == p.Message {
		p.Thread = ""
	}
	if act.Selected != nil {
		p.Action = act.Selected.Value
	}
	p.Action = firstOf(p.Action, act.ActionID)
	if in.User.ID == "" {
		return decoded{}, errors.New("a press without a person")
	}
	if strings.HasPrefix(act.ActionID, formPrefix) {
		req := &formRequest{press: p, trigger: in.TriggerID, user: in.User.ID, label: unescape(act.Text.Text), spec: parseForm(act.BlockID)}
		if len(in.Message.Blocks) > 0 && in.Message.Blocks[0].Type == "header" {
			req.title = unescape(in.Message.Blocks[0].Text.Text)
		}
		return decoded{form: req, team: in.User.Team}, nil
	}
	return withSender(p.event("press:"+in.TriggerID+":"+act.ActionTS, millis(act.ActionTS), in, nil), in.User.ID, "", in.User.Team, id), nil
}

func decodeForm(in interaction, id identity) (decoded, error) {
	if in.View.CallbackID != formCallback {
		return ignore("view:foreign"), nil
	}
	var p press
	if err := json.Unmarshal([]byte(in.View.Metadata), &p); err != nil || p.Action == "" {
		return decoded{}, errors.New("a form without its card")
	}
	values := map[string]string{}
	for _, fields := range in.View.State.Values {
		for name, v := range fields {
			if v.Value != nil {
				values[name] = *v.Value
			} else {
				values[name] = ""
			}
		}
	}
	return withSender(p.event("form:"+in.View.ID+":"+in.TriggerID, 0, in, values), in.User.ID, "", in.User.Team, id), nil
}

// press is what a card's button was, kept in the form it opens.
type press struct {
	Action  string `json:"a"`
	Message string `json:"m"`
	Channel string `json:"c"`
	Thread  string `json:"t,omitempty"`
	Reply   string `json:"r,omitempty"`
}

func (p press) event(eventID string, at int64, in interaction, values map[string]string) chat.Event {
	return chat.Event{
		Kind: chat.CardPressed, ID: eventID, At: at,
		Place:   chat.Place{Conversation: p.Channel, Thread: p.Thread},
		Private: private(p.Channel, ""),
		Press: &chat.Press{
			Message: p.Message, Action: p.Action, Values: values, Trigger: in.TriggerID, Reply: p.Reply,
		},
	}
}

func decodeSlash(f frame, id identity) (decoded, error) {
	var c struct {
		Team    string `json:"team_id"`
		Channel string `json:"channel_id"`
		User    string `json:"user_id"`
		Command string `json:"command"`
		Text    string `json:"text"`
		Reply   string `json:"response_url"`
		Trigger string `json:"trigger_id"`
	}
	if err := json.Unmarshal(f.Payload, &c); err != nil {
		return decoded{}, err
	}
	if c.Command == "" || c.User == "" {
		return decoded{}, errors.New("a command without its name or person")
	}
	text, mentions := readText(c.Text, id)
	ev := chat.Event{
		Kind: chat.CommandSent, ID: "slash:" + c.Trigger, Place: chat.Place{Conversation: c.Channel}, Private: private(c.Channel, ""),
		Message: &chat.Message{ID: "slash:" + c.Trigger, Text: strings.TrimRight(c.Command+" "+text, " "), Mentions: mentions},
		Press:   &chat.Press{Trigger: c.Trigger, Reply: c.Reply},
	}
	return withSender(ev, c.User, "", c.Team, id), nil
}

// private tells a one-to-one conversation: events name the type, interactions
// do not, but the ids of private conversations begin with D.
func private(channel, typ string) bool {
	return typ == "im" || typ == "" && strings.HasPrefix(channel, "D")
}

func channelID(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o namedRef
	_ = json.Unmarshal(raw, &o)
	return o.ID
}

// millis turns "seconds.micros" into UTC ms; 0 for anything else.
func millis(ts string) int64 {
	sec, frac, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(sec, 10, 64)
	if err != nil || s < 0 || s > 1<<40 {
		return 0
	}
	us, err := strconv.ParseInt((frac + "000000")[:6], 10, 64)
	if err != nil {
		us = 0
	}
	return s*1000 + us/1000
}

func firstOf(s ...string) string {
	for _, x := range s {
		if x != "" {
			return x
		}
	}
	return ""
}

func unescape(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}

// readText turns Slack's markup into what a person reads: escapes undone,
// "<@U1>" as "@U1" with the mention listed, links as label and address (B65).
// Literal angle brackets are always escaped by Slack, so what stands between
// real ones is Slack's own.
func readText(raw string, id identity) (string, []chat.Mention) {
	if !strings.ContainsAny(raw, "<&") {
		return raw, nil
	}
	var (
		b        strings.Builder
		mentions []chat.Mention
	)
	for {
		i := strings.IndexByte(raw, '<')
		j := -1
		if i >= 0 {
			j = strings.IndexByte(raw[i:], '>')
		}
		if j < 0 {
			b.WriteString(unescape(raw))
			return b.String(), mentions
		}
		b.WriteString(unescape(raw[:i]))
		text, m := readToken(raw[i+1:i+j], id)
		b.WriteString(text)
		if m != nil {
			mentions = append(mentions, *m)
		}
		raw = raw[i+j+1:]
	}
}

func readToken(tok string, id identity) (string, *chat.Mention) {
	target, label, labelled := strings.Cut(tok, "|")
	label = unescape(label)
	switch {
	case strings.HasPrefix(target, "@"):
		user := target[1:]
		return "@" + user, &chat.Mention{ID: user, Self: user == id.user && user != ""}
	case strings.HasPrefix(target, "#"):
		return "#" + firstOf(label, target[1:]), nil
	case strings.HasPrefix(target, "!"):
		name, rest, _ := strings.Cut(target[1:], "^")
		switch name {
		case "here", "channel", "everyone":
			return "@" + name, &chat.Mention{ID: name, All: true}
		case "subteam":
			return "@" + strings.TrimPrefix(firstOf(label, rest), "@"), &chat.Mention{ID: rest, All: true}
		}
		return firstOf(label, unescape(target)), nil // a date and the like, with its fallback
	}
	target = unescape(target)
	bare := strings.TrimPrefix(strings.TrimPrefix(target, "mailto:"), "tel:")
	if !labelled || label == target || label == bare || "http://"+label == target || "https://"+label == target {
		if bare != target {
			return firstOf(label, bare), nil
		}
		return target, nil
	}
	return label + " (" + target + ")", nil
}
