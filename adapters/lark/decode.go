package lark

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// identity is who we are, from bot/v3/info.
type identity struct {
	connection string
	app        string // app id
	bot        string // our open_id
}

// decoded is what an event says. Exactly one of event and ignored is set.
type decoded struct {
	event   *chat.Event
	ignored string // why nobody needs it; a name of ours, no content
	// private is a chat that the event shows to be one-to-one, and with whom.
	private, with string
	// odd are oddities worth one warning each, names of ours.
	odd []string
	// press says that somebody waits for the answer.
	press bool
	// tenant is the app's own.
	tenant string
}

func ignore(reason string) decoded { return decoded{ignored: reason} }

// outer is the frame of every event of schema 2.0. Bodies are read with own
// small types: a field that Lark changes and that we do not use cannot cost a
// message.
type outer struct {
	Schema string `json:"schema"`
	Header struct {
		EventID   string `json:"event_id"`
		Type      string `json:"event_type"`
		Created   string `json:"create_time"` // ms, for callbacks µs
		TenantKey string `json:"tenant_key"`
		AppID     string `json:"app_id"`
		Token     string `json:"token"`
	} `json:"header"`
	Event json.RawMessage `json:"event"`
}

// decode is pure: the same event gives the same result. card is the old kind of
// card callback, whose body has no frame.
func decode(payload []byte, card bool, id identity) (decoded, error) {
	var o outer
	if err := json.Unmarshal(payload, &o); err != nil {
		return decoded{press: card}, fmt.Errorf("decoding an event: %w", err)
	}
	if card && o.Header.Type == "" {
		o.Header.Type, o.Event = pressType, payload
	}
	if o.Header.AppID != "" && o.Header.AppID != id.app {
		return ignore("another_app"), nil
	}
	d, err := decodeBody(o, id)
	if err != nil {
		return decoded{press: d.press}, fmt.Errorf("decoding %s: %w", lane.Word(o.Header.Type), err)
	}
	d.tenant = o.Header.TenantKey
	if d.event != nil {
		d.event.Place.Connection = id.connection
		if d.event.ID = o.Header.EventID; d.event.ID == "" {
			// Nothing else tells two of them apart, and it is the same when it comes
			// again.
			sum := sha256.Sum256(payload)
			d.event.ID = "body:" + hex.EncodeToString(sum[:16])
		}
		if d.event.At == 0 {
			d.event.At = millis(o.Header.Created)
		}
	}
	return d, nil
}

const pressType = "card.action.trigger"

func decodeBody(o outer, id identity) (decoded, error) {
	switch t := o.Header.Type; t {
	case "im.message.receive_v1":
		return decodeMessage(o, id)
	case "im.message.recalled_v1":
		return decodeRecall(o)
	case pressType:
		return decodePress(o)
	case "im.chat.member.bot.added_v1", "im.chat.member.bot.deleted_v1", "im.chat.disbanded_v1":
		return decodeMembership(o)
	case "im.chat.access_event.bot_p2p_chat_entered_v1":
		var e struct {
			ChatID   string `json:"chat_id"`
			Operator ids    `json:"operator_id"`
		}
		if err := json.Unmarshal(o.Event, &e); err != nil {
			return decoded{}, err
		}
		d := ignore("event:" + t)
		d.private, d.with = e.ChatID, e.Operator.OpenID
		return d, nil
	case "":
		return ignore("no_type"), nil // events of schema 1.0
	default:
		return ignore("event:" + lane.Word(t)), nil
	}
}

// ids is how events name a person.
type ids struct {
	OpenID  string `json:"open_id"`
	UnionID string `json:"union_id"`
	UserID  string `json:"user_id"`
}

// anyIDs takes the object of events and the plain string of the message API
// (B48).
type anyIDs struct {
	ids
	asString bool
}

func (a *anyIDs) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*a = anyIDs{asString: true}
		switch {
		case strings.HasPrefix(s, "ou_"):
			a.OpenID = s
		case strings.HasPrefix(s, "on_"):
			a.UnionID = s
		default:
			a.UserID = s
		}
		return nil
	}
	return json.Unmarshal(b, &a.ids)
}

type rawMention struct {
	Key  string `json:"key"`
	ID   anyIDs `json:"id"`
	Name string `json:"name"`
}

type messageBody struct {
	Sender struct {
		ID        ids    `json:"sender_id"`
		Type      string `json:"sender_type"`
		TenantKey string `json:"tenant_key"`
	} `json:"sender"`
	Message struct {
		ID       string       `json:"message_id"`
		RootID   string       `json:"root_id"`
		ParentID string       `json:"parent_id"`
		ThreadID string       `json:"thread_id"`
		ChatID   string       `json:"chat_id"`
		ChatType string       `json:"chat_type"`
		Created  string       `json:"create_time"`
		Type     string       `json:"message_type"`
		Content  string       `json:"content"`
		Mentions []rawMention `json:"mentions"`
	} `json:"message"`
}

func decodeMessage(o outer, id identity) (decoded, error) {
	var b messageBody
	if err := json.Unmarshal(o.Event, &b); err != nil {
		return decoded{}, err
	}
	return messageEvent(b, o.Header.TenantKey, id)
}

// messageEvent reads a message; tenant is the app's own, empty where nobody
// names it.
func messageEvent(b messageBody, tenant string, id identity) (decoded, error) {
	m := b.Message
	if m.ID == "" || m.ChatID == "" {
		return decoded{}, errors.New("a message without its id or its chat")
	}
	var d decoded
	who := newMentions(m.Mentions, id)
	text, attached, err := readContent(m.Type, m.Content, m.ID, who.at)
	if err != nil {
		return decoded{}, err
	}
	d.odd = who.odd
	if m.ChatType == "p2p" {
		d.private, d.with = m.ChatID, b.Sender.ID.OpenID
	}
	d.event = &chat.Event{
		Kind: chat.MessageSent, At: millis(m.Created), Private: m.ChatType == "p2p",
		// Only a thread id is a topic; root and parent are what a quote answers (B37).
		Place:   chat.Place{Conversation: m.ChatID, Thread: m.ThreadID},
		Sender:  sender(b.Sender.ID.OpenID, b.Sender.Type, b.Sender.TenantKey, tenant, id),
		Message: &chat.Message{ID: m.ID, Parent: m.ParentID, Root: m.RootID, Text: text, Mentions: who.list, Attachments: attached},
	}
	return d, nil
}

// sender says what somebody is from the authenticated payload alone. Lark has no
// guests: people are of the app's tenant or of another one.
func sender(open, typ, tenant, own string, id identity) chat.User {
	u := chat.User{Tenant: cmp.Or(tenant, own), ID: open}
	switch {
	case open != "" && open == id.bot:
		u.Kind = chat.Self
	case typ == "app" || typ == "bot":
		u.Kind = chat.Bot
	case typ != "user" || open == "" || tenant == "" || own == "":
		u.Kind = chat.Unknown // nothing is authorised on a guess
	case tenant != own:
		u.Kind = chat.External
	default:
		u.Kind = chat.Human
	}
	return u
}

func decodeRecall(o outer) (decoded, error) {
	var e struct {
		MessageID string `json:"message_id"`
		ChatID    string `json:"chat_id"`
		Time      string `json:"recall_time"`
	}
	if err := json.Unmarshal(o.Event, &e); err != nil {
		return decoded{}, err
	}
	if e.MessageID == "" || e.ChatID == "" {
		return decoded{}, errors.New("a recall without the message or the chat")
	}
	// The event does not say who recalled it.
	return decoded{event: &chat.Event{
		Kind: chat.MessageDeleted, At: millis(e.Time), Place: chat.Place{Conversation: e.ChatID},
		Sender: chat.User{Tenant: o.Header.TenantKey}, Message: &chat.Message{ID: e.MessageID},
	}}, nil
}

func decodeMembership(o outer) (decoded, error) {
	var e struct {
		ChatID   string `json:"chat_id"`
		Operator ids    `json:"operator_id"`
		Tenant   string `json:"operator_tenant_key"`
	}
	if err := json.Unmarshal(o.Event, &e); err != nil {
		return decoded{}, err
	}
	if e.ChatID == "" {
		return decoded{}, errors.New("a membership without the chat")
	}
	ev := &chat.Event{
		Kind: chat.BotRemoved, Place: chat.Place{Conversation: e.ChatID},
		Sender: sender(e.Operator.OpenID, "user", e.Tenant, o.Header.TenantKey, identity{}),
	}
	if strings.HasSuffix(o.Header.Type, "added_v1") {
		ev.Kind = chat.BotAdded
	}
	return decoded{event: ev}, nil
}

type pressBody struct {
	Operator *struct {
		ids
		TenantKey string `json:"tenant_key"`
	} `json:"operator"`
	Action struct {
		Value  json.RawMessage            `json:"value"`
		Form   map[string]json.RawMessage `json:"form_value"`
		Name   string                     `json:"name"`
		Input  *string                    `json:"input_value"`
		Option string                     `json:"option"`
	} `json:"action"`
	Context struct {
		MessageID string `json:"open_message_id"`
		ChatID    string `json:"open_chat_id"`
	} `json:"context"`
	// The old kind has its ids at the top (B17).
	MessageID string `json:"open_message_id"`
	ChatID    string `json:"open_chat_id"`
	OpenID    string `json:"open_id"`
	TenantKey string `json:"tenant_key"`
}

// buttonKey is the field of a button's value that holds its opaque id.
const buttonKey = "id"

func decodePress(o outer) (decoded, error) {
	d := decoded{press: true}
	var b pressBody
	if err := json.Unmarshal(o.Event, &b); err != nil {
		return d, err
	}
	open, tenant := b.OpenID, b.TenantKey
	if b.Operator != nil { // who pressed is never taken from the value
		open, tenant = b.Operator.OpenID, b.Operator.TenantKey
	}
	if open == "" {
		return d, errors.New("a press without a person")
	}
	// The old kind does not name the app's tenant: its presser stays Unknown.
	d.event = &chat.Event{
		Kind: chat.CardPressed, Place: chat.Place{Conversation: cmp.Or(b.Context.ChatID, b.ChatID)},
		Sender: sender(open, "user", tenant, o.Header.TenantKey, identity{}),
		Press:  &chat.Press{Message: cmp.Or(b.Context.MessageID, b.MessageID), Action: actionID(b.Action.Value)},
	}
	put := func(name, text string) {
		if d.event.Press.Values == nil {
			d.event.Press.Values = map[string]string{}
		}
		d.event.Press.Values[name] = text
	}
	for name, raw := range b.Action.Form {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		put(name, s)
	}
	if b.Action.Input != nil {
		put(cmp.Or(b.Action.Name, "text"), *b.Action.Input)
	}
	if b.Action.Option != "" {
		put("option", b.Action.Option)
	}
	return d, nil
}

// actionID is the id a button carried; what is not ours is the value itself, so
// that an unknown press reaches the bot, which answers it (B15).
func actionID(value json.RawMessage) string {
	var o map[string]any
	if json.Unmarshal(value, &o) == nil {
		if s, ok := o[buttonKey].(string); ok {
			return s
		}
	}
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return ""
}

// millis reads a time in ms; callbacks give µs. What is no time is 0.
func millis(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0
	}
	for n > 100_000_000_000_000 { // beyond the year 5138 in ms
		n /= 1000
	}
	return n
}
