// Package chat is the vocabulary of people and messages that every surface
// shares, and the contract an adapter keeps. It knows no platform, no SDK and
// no kernel: adapters translate into it, the bot decides on it.
package chat

// Platform names a kind of surface.
type Platform string

// The surfaces there are. Console is the chat pane of the local page.
const (
	Slack   Platform = "slack"
	Lark    Platform = "lark"
	Discord Platform = "discord"
	Console Platform = "console"
)

// Place is where something is said. Ids are the platform's own and mean
// something only inside their connection.
type Place struct {
	// Connection is the name of the connection in the configuration: one bot
	// app in one workspace or tenant.
	Connection string `json:"connection"`
	// Conversation is the platform's id of a channel, group or private chat.
	Conversation string `json:"conversation"`
	// Thread is the platform's id of a thread or topic inside it; empty means
	// the conversation itself, never "unknown".
	Thread string `json:"thread,omitempty"`
}

// UserKind says what a sender is. Only a Human may ever authorise anything;
// the zero value is Unknown and authorises nothing.
type UserKind string

// What a sender can be.
const (
	Unknown  UserKind = ""
	Human    UserKind = "human"
	Guest    UserKind = "guest"    // limited member of the same tenant
	External UserKind = "external" // of another tenant, through a shared place
	Bot      UserKind = "bot"
	Self     UserKind = "self" // this very app
)

// User is a sender as the platform's authenticated channel names it. Name is
// for showing only and is never compared.
type User struct {
	Tenant string   `json:"tenant"` // team, tenant or guild owner id; part of the identity
	App    string   `json:"app,omitempty"`
	ID     string   `json:"id"` // immutable user id
	Kind   UserKind `json:"kind"`
	Name   string   `json:"name,omitempty"`
}

// EventKind is what happened.
type EventKind string

// The events adapters deliver. An adapter drops nothing it can decode: what the
// bot has no use for it counts there, with a reason.
const (
	MessageSent    EventKind = "message"
	MessageEdited  EventKind = "edit"
	MessageDeleted EventKind = "delete"
	CardPressed    EventKind = "press"
	CommandSent    EventKind = "command" // a slash command; Message.Text holds "/name args"
	BotAdded       EventKind = "added"
	BotRemoved     EventKind = "removed"
)

// Event is one thing a person or a platform did.
type Event struct {
	Kind EventKind `json:"kind"`
	// ID is the platform's id of this event, stable over redelivery. Deduping
	// is by (connection, conversation, message id) for messages and by
	// (connection, ID) for presses.
	ID      string   `json:"id"`
	Place   Place    `json:"place"`
	Private bool     `json:"private"` // a one-to-one conversation with the bot
	Sender  User     `json:"sender"`
	At      int64    `json:"at"` // the provider's time, UTC ms; 0 when it gives none
	Message *Message `json:"message,omitempty"`
	Press   *Press   `json:"press,omitempty"`
	// History says that the message was fetched after a gap and not pushed: it
	// was said while nobody listened.
	History bool `json:"history,omitempty"`
	// Attempt counts redeliveries as the platform reports them; 0 is the first.
	Attempt int `json:"attempt,omitempty"`
}

// Message is what was said. In Text the platform's markup is undone: escapes are
// characters, a link is "label (address)", and a mention is "@" with the id of
// its entry in Mentions, in the same order ("@U0ANA"), so that a command can
// tell who is meant where. Text that only looks so has no entry.
type Message struct {
	ID          string       `json:"id"`
	Parent      string       `json:"parent,omitempty"` // the message it replies to
	Root        string       `json:"root,omitempty"`   // the first message of its thread
	Text        string       `json:"text"`
	Mentions    []Mention    `json:"mentions,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// Mention is a structured, platform-native mention; a name in the text is none.
type Mention struct {
	ID   string `json:"id"`
	Self bool   `json:"self"` // this bot
	All  bool   `json:"all"`  // @all, @here, a role: never addresses the bot
}

// Attachment is a reference; its bytes are fetched only through the platform's API.
type Attachment struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Kind string `json:"kind,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// Press is one use of a card's button, select or form.
type Press struct {
	// Message is the card's message as the platform reports it.
	Message string `json:"message"`
	// Action is the opaque id the button carried, exactly as it came back. It
	// is a key to look up, never a decision.
	Action string `json:"action"`
	// Values holds form input by field name.
	Values map[string]string `json:"values,omitempty"`
	// Trigger is what the platform needs to open a form or to answer privately;
	// it lives seconds to minutes.
	Trigger string `json:"trigger,omitempty"`
	// Reply is the platform's address for an answer only the presser sees.
	Reply string `json:"reply,omitempty"`
}
