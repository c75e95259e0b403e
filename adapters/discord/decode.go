package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// identity is who we are.
type identity struct {
	connection string
	app        string // application id
	user       string // our user id
}

// decoder is what decoding needs to know; it does not change while a Run runs.
type decoder struct {
	id    identity
	token *regexp.Regexp
}

func newDecoder(id identity) decoder { return decoder{id: id, token: tokens()} }

// decoded is what a dispatch says. Of events, form and ignored at least one is
// set.
type decoded struct {
	events  []chat.Event
	inter   *reference   // what an answer to the event needs
	form    *formRequest // a press that asks for text first
	ignored string       // why nobody needs it; a name of ours, no content
	guild   string       // the guild that BotAdded and BotRemoved are about
	places  []channel    // channels the dispatch told about
}

func ignore(reason string) decoded { return decoded{ignored: reason} }

// reference is how an interaction is answered. The token is a secret for 15
// minutes.
type reference struct {
	id, token, app string
	kind           dg.InteractionType
	onMessage      bool // deferred updates are possible
}

// person is a user as dispatches name him. Own small types are read instead of
// the SDK's: a field that Discord changes and that we do not use, or a component
// the SDK does not know, cannot cost a message.
type person struct {
	ID     string `json:"id"`
	Name   string `json:"username"`
	Global string `json:"global_name"`
	Bot    bool   `json:"bot"`
	System bool   `json:"system"`
}

type member struct {
	User  person `json:"user"`
	Flags int    `json:"flags"`
	Nick  string `json:"nick"`
}

// guestFlag is the member flag IS_GUEST: may only use the voice channel he was
// invited to (docs, "Guild Member Flags").
const guestFlag = 1 << 4

type channel struct {
	ID     string         `json:"id"`
	Type   dg.ChannelType `json:"type"`
	Parent string         `json:"parent_id"`
}

func (c channel) thread() bool {
	switch c.Type {
	case dg.ChannelTypeGuildNewsThread, dg.ChannelTypeGuildPublicThread, dg.ChannelTypeGuildPrivateThread:
		return true
	}
	return false
}

type message struct {
	ID           string    `json:"id"`
	Channel      string    `json:"channel_id"`
	Guild        string    `json:"guild_id"`
	Author       *person   `json:"author"`
	Member       *member   `json:"member"`
	Content      string    `json:"content"`
	Edited       string    `json:"edited_timestamp"`
	Type         int       `json:"type"`
	Webhook      string    `json:"webhook_id"`
	Flags        int       `json:"flags"`
	Mentions     []person  `json:"mentions"`
	MentionRoles []string  `json:"mention_roles"`
	Everyone     bool      `json:"mention_everyone"`
	Nonce        nonceText `json:"nonce"`
	Attachments  []struct {
		ID   string `json:"id"`
		Name string `json:"filename"`
		Type string `json:"content_type"`
		Size int64  `json:"size"`
	} `json:"attachments"`
	Reference *struct {
		Type    int    `json:"type"` // 1 is a forward
		Message string `json:"message_id"`
		Channel string `json:"channel_id"`
	} `json:"message_reference"`
}

// nonceText reads a nonce that is a string or a number.
type nonceText string

func (n *nonceText) UnmarshalJSON(raw []byte) error {
	*n = nonceText(strings.Trim(string(raw), `"`))
	return nil
}

// decode is pure: the same dispatch gives the same result.
func (d decoder) decode(typ string, raw json.RawMessage) (out decoded, err error) {
	defer func() {
		if err != nil {
			out, err = decoded{}, fmt.Errorf("decoding a %s: %w", lane.Word(typ), err)
		}
		for i := range out.events {
			out.events[i].Place.Connection = d.id.connection
		}
	}()
	switch typ {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE":
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			return decoded{}, err
		}
		return d.message(&m, typ == "MESSAGE_UPDATE", m.Guild == "")
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		return d.deleted(raw)
	case "INTERACTION_CREATE":
		return d.interaction(raw)
	case "GUILD_CREATE", "GUILD_DELETE":
		return d.guild(typ, raw)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE", "CHANNEL_DELETE", "THREAD_DELETE":
		return d.channel(typ, raw)
	case "THREAD_LIST_SYNC":
		var l struct {
			Threads []channel `json:"threads"`
		}
		err := json.Unmarshal(raw, &l)
		return decoded{ignored: "event:" + typ, places: l.Threads}, err
	}
	return ignore("event:" + lane.Word(typ)), nil
}

func (d decoder) message(m *message, edit, private bool) (decoded, error) {
	if m.ID == "" || m.Channel == "" {
		return decoded{}, errors.New("a message without its id or channel")
	}
	switch dg.MessageType(m.Type) {
	case dg.MessageTypeDefault, dg.MessageTypeReply, dg.MessageTypeChatInputCommand, dg.MessageTypeContextMenuCommand:
	default: // somebody joined, pinned, boosted ...: nobody said it
		return ignore("message:type_" + strconv.Itoa(m.Type)), nil
	}
	ev := chat.Event{Kind: chat.MessageSent, ID: "message:" + m.ID, At: millis(m.ID), Private: private, Place: chat.Place{Conversation: m.Channel}}
	if edit {
		// Previews and pins arrive as updates without an edit (B86).
		if m.Edited == "" {
			return ignore("edit:none"), nil
		}
		ev.Kind, ev.ID = chat.MessageEdited, "edit:"+m.ID+":"+lane.Word(m.Edited)
		if at, err := time.Parse(time.RFC3339Nano, m.Edited); err == nil {
			ev.At = at.UnixMilli()
		}
	}
	text, mentions := readText(m, d.id, d.token)
	msg := &chat.Message{ID: m.ID, Text: text, Mentions: mentions}
	if m.Reference != nil && m.Reference.Type == 0 && m.Reference.Channel == m.Channel {
		msg.Parent = m.Reference.Message
	}
	for _, a := range m.Attachments {
		msg.Attachments = append(msg.Attachments, chat.Attachment{ID: a.ID, Name: a.Name, Kind: a.Type, Size: a.Size})
	}
	ev.Message = msg
	ev.Sender = d.sender(m.Author, m.Member)
	switch {
	case ev.Sender.Kind == chat.Self && (m.Webhook != "" || m.Flags&int(dg.MessageFlagsEphemeral) != 0):
		return ignore("message:own_answer"), nil // to a press or a command: nothing the outbox wrote
	case ev.Sender.Kind == chat.Self:
	case m.Webhook != "":
		ev.Sender.Kind = chat.Bot
	case m.Author != nil && m.Author.System:
		return ignore("message:system"), nil
	}
	return decoded{events: []chat.Event{ev}}, nil
}

// sender names a person. A Discord account is one and the same in every guild
// and in private, so the tenant is the application: one person is one principal
// wherever he writes or presses.
func (d decoder) sender(p *person, m *member) chat.User {
	u := chat.User{Tenant: d.id.app}
	if p == nil || p.ID == "" {
		return u
	}
	u.ID, u.Name, u.Kind = p.ID, firstOf(p.Global, p.Name), chat.Human
	if m != nil {
		u.Name = firstOf(m.Nick, u.Name)
	}
	switch {
	case p.ID == d.id.user:
		u.Kind = chat.Self
	case p.Bot:
		u.Kind = chat.Bot
	case m != nil && m.Flags&guestFlag != 0:
		u.Kind = chat.Guest
	}
	return u
}

func (d decoder) deleted(raw json.RawMessage) (decoded, error) {
	var m struct {
		ID      string   `json:"id"`
		IDs     []string `json:"ids"`
		Channel string   `json:"channel_id"`
		Guild   string   `json:"guild_id"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return decoded{}, err
	}
	if m.ID != "" {
		m.IDs = append(m.IDs, m.ID)
	}
	if m.Channel == "" || len(m.IDs) == 0 {
		return decoded{}, errors.New("a deletion without its message or channel")
	}
	var out decoded
	for _, id := range m.IDs {
		out.events = append(out.events, chat.Event{
			Kind: chat.MessageDeleted, ID: "delete:" + id, Place: chat.Place{Conversation: m.Channel}, Private: m.Guild == "",
			Sender: chat.User{Tenant: d.id.app}, Message: &chat.Message{ID: id},
		})
	}
	return out, nil
}

func (d decoder) guild(typ string, raw json.RawMessage) (decoded, error) {
	var g struct {
		ID          string    `json:"id"`
		Unavailable bool      `json:"unavailable"`
		System      string    `json:"system_channel_id"`
		Channels    []channel `json:"channels"`
		Threads     []channel `json:"threads"`
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return decoded{}, err
	}
	if g.Unavailable || g.ID == "" { // an outage, not a farewell
		return ignore("guild:unavailable"), nil
	}
	ev := chat.Event{Kind: chat.BotAdded, ID: "guild:" + g.ID, Place: chat.Place{Conversation: firstOf(g.System, g.ID)}, Sender: chat.User{Tenant: d.id.app}}
	if typ == "GUILD_DELETE" {
		ev.Kind, ev.Place.Conversation = chat.BotRemoved, g.ID
	}
	return decoded{events: []chat.Event{ev}, guild: g.ID, places: append(g.Channels, g.Threads...)}, nil
}

func (d decoder) channel(typ string, raw json.RawMessage) (decoded, error) {
	var c channel
	if err := json.Unmarshal(raw, &c); err != nil {
		return decoded{}, err
	}
	if typ != "CHANNEL_DELETE" && typ != "THREAD_DELETE" {
		return decoded{ignored: "event:" + typ, places: []channel{c}}, nil
	}
	if c.ID == "" {
		return ignore("channel:nameless"), nil // nothing that could be gone
	}
	place := chat.Place{Conversation: c.ID}
	if c.thread() && c.Parent != "" {
		place = chat.Place{Conversation: c.Parent, Thread: c.ID}
	}
	return decoded{events: []chat.Event{{Kind: chat.BotRemoved, ID: "gone:" + c.ID, Place: place, Sender: chat.User{Tenant: d.id.app}}}}, nil
}

// epoch is Discord's, in ms (docs, "Snowflakes").
const epoch = 1420070400000

// millis is the time in an id, UTC ms; 0 for what is none.
func millis(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 {
		return 0
	}
	return n>>22 + epoch
}

// idAt is the smallest id of a time.
func idAt(t time.Time) string {
	return strconv.FormatInt(max(t.UnixMilli()-epoch, 0)<<22, 10)
}

// isID tells an id of Discord from anything else, so that nothing else gets
// into a path.
func isID(s string) bool {
	return s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}

func firstOf(s ...string) string {
	for _, x := range s {
		if x != "" {
			return x
		}
	}
	return ""
}
