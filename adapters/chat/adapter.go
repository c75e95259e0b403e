package chat

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sink takes what an adapter decoded.
type Sink interface {
	// Accept stores and decides the event in one transaction and returns once
	// that is durable. The adapter acknowledges the platform after a nil error
	// and never after another one, so that the platform delivers again. Slow
	// work never runs here; ctx carries the platform's deadline.
	Accept(ctx context.Context, e Event) (Answer, error)
}

// Answer is what the acknowledgement may carry back. A platform that cannot
// carry it in the acknowledgement delivers it right after. The zero value is
// "nothing to say", which is a valid answer everywhere.
type Answer struct {
	// Notice is a sentence only the person who acted sees.
	Notice string `json:"notice,omitempty"`
	// Reply is a message into the place the event came from, used for private
	// conversations (linking, help). It is recorded as a send beforehand.
	Reply string `json:"reply,omitempty"`
	// Card replaces the pressed card at once, where the platform can.
	Card *Card `json:"card,omitempty"`
}

// Ref is a message a platform keeps for us.
type Ref struct {
	Place   Place  `json:"place"`
	Message string `json:"message"` // the platform's message id
}

// Outgoing is one message to write. Exactly one of Card and Text is the
// content; with a Card, Text is its complete plain form for notifications,
// for screen readers and as the fallback when the card cannot be sent.
type Outgoing struct {
	// Key names this write by its meaning and is stable over retries and
	// restarts. At most 50 ASCII characters (Lark's uuid bound).
	Key   string `json:"key"`
	Place Place  `json:"place"`
	// To is set instead of Place.Conversation to write privately to a person.
	To   *User  `json:"to,omitempty"`
	Text string `json:"text"`
	Card *Card  `json:"card,omitempty"`
	// Mention is one person of the platform who is named before the text, so that
	// the platform notifies them. Only of messages without a card.
	Mention *User `json:"mention,omitempty"`
	// Silent asks not to notify, where the platform can.
	Silent bool `json:"silent,omitempty"`
	// File is sent instead of Card and Text. Only to surfaces whose Caps say so.
	File *OutFile `json:"file,omitempty"`
}

// Adapter joins one connection to the bot. Send, Update, Find and Notice may be
// called while Run runs and also before it; all are safe for concurrent use.
type Adapter interface {
	// Run connects, delivers events in order per conversation and reconnects
	// by itself until ctx ends, then returns nil with no goroutine left. Any
	// other return is a failure the platform will not lift by itself (an
	// *Error of kind Auth or Invalid).
	Run(ctx context.Context, sink Sink) error
	// Send writes one message. Errors are *Error; kind UnknownOutcome means the
	// platform may have it: look with Find before sending again. The Ref then
	// has no Message but the Place that was tried, which for Outgoing.To is
	// known only after the private conversation was opened.
	Send(ctx context.Context, out Outgoing) (Ref, error)
	// Update replaces the content of a message. Repeating it is harmless.
	Update(ctx context.Context, ref Ref, out Outgoing) error
	// Find looks for the message that an earlier Send with this key may have
	// left in the place since the given time. Caps.Find says whether it can.
	Find(ctx context.Context, place Place, key string, since time.Time) (Ref, bool, error)
	// Notice tells one person something nobody else sees, as an answer to e.
	Notice(ctx context.Context, e Event, text string) error
	Caps() Caps
	Health() Health
}

// Homed is an adapter that knows which tenant its connection belongs to.
type Homed interface {
	// Tenant is the tenant that members' User.Tenant has on this connection, as
	// the platform told when it greeted us; empty while nobody knows.
	Tenant() string
}

// Sign is a small mark of ours on somebody's message that says how far it is.
type Sign string

// The signs. A message has at most one of them at a time.
const (
	SignSeen    Sign = "seen"    // it is stored
	SignWorking Sign = "working" // an agent has it
	SignDone    Sign = "done"
	SignFailed  Sign = "failed"
)

// NoSign is the error for a sign that is none of the four.
func NoSign() error {
	return &Error{Kind: Invalid, Code: "no_sign", Err: errors.New("there is no such sign")}
}

// Marker is an adapter that can put a reaction of its own on a message.
// Caps.React says which adapters are one.
type Marker interface {
	// Mark adds our own reaction or, with on false, removes it; what others
	// reacted is left alone. Repeating either is harmless. Errors are *Error, and
	// nothing may wait for one: a reaction is only ever a courtesy.
	Mark(ctx context.Context, ref Ref, sign Sign, on bool) error
}

// Pinner is an adapter that can keep a message of its own in sight of a whole
// conversation. Caps.Pin says which adapters are one.
type Pinner interface {
	// Pin pins a message or, with on false, lets it go. Repeating either is
	// harmless. Errors are *Error; an Auth or Gone one whose Fix names a scope or a
	// permission only means that the message stays unpinned.
	Pin(ctx context.Context, ref Ref, on bool) error
}

// Caps is what a surface can do, as data; a suite never skips what is declared.
type Caps struct {
	Platform Platform `json:"platform"`
	Edit     bool     `json:"edit"`      // Update works
	Find     bool     `json:"find"`      // Find works
	Notices  bool     `json:"notices"`   // Notice reaches only the presser
	AckCard  bool     `json:"ack_card"`  // the acknowledgement can carry a card
	Forms    bool     `json:"forms"`     // text input with a press
	Threads  bool     `json:"threads"`   // a conversation has threads
	React    bool     `json:"react"`     // the adapter is a Marker
	Pin      bool     `json:"pin"`       // the adapter is a Pinner
	CatchUp  bool     `json:"catch_up"`  // what was said while nobody listened is fetched
	AckIn    Duration `json:"ack_in"`    // deadline of an acknowledgement
	TextMax  int      `json:"text_max"`  // characters in one text message
	CardMax  int      `json:"card_max"`  // bytes of one rendered card
	MaxWrite int      `json:"max_write"` // writes a minute to one conversation
	Files    bool     `json:"files"`     // the adapter is a Fetcher
	FileMax  int64    `json:"file_max"`  // bytes of one file in Outgoing; 0: it sends none
}

// Duration is a time.Duration that reads well in JSON.
type Duration time.Duration

// Std is the duration as the time package has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// MarshalText writes "3s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// HealthState is how a connection is.
type HealthState string

// Connection states. Failed needs a person; Retrying does not.
const (
	Starting  HealthState = "starting"
	Ready     HealthState = "ready"
	Retrying  HealthState = "retrying"
	Standby   HealthState = "standby"
	Failed    HealthState = "failed"
	Contested HealthState = "contested"
)

// Health is a connection's state for status, doctor and the page. Times are
// UTC ms, 0 for never. Detail and Fix never hold a secret.
type Health struct {
	State     HealthState `json:"state"`
	Detail    string      `json:"detail,omitempty"`
	Fix       string      `json:"fix,omitempty"`
	Since     int64       `json:"since"`
	LastEvent int64       `json:"last_event"`
	LastFrame int64       `json:"last_frame"` // transport liveness: pings count, user traffic is not needed
	LastSend  int64       `json:"last_send"`
}

// ErrorKind classifies a platform failure once, at the edge; the outbox decides
// what to do from the kind alone.
type ErrorKind string

// Failure kinds.
const (
	Temporary      ErrorKind = "temporary"       // nothing was written; try again later
	RateLimited    ErrorKind = "rate_limited"    // nothing was written; wait After
	Auth           ErrorKind = "auth"            // token or scope; a person must act
	Gone           ErrorKind = "gone"            // message, place or person is no more
	Invalid        ErrorKind = "invalid"         // the platform will never take this content
	UnknownOutcome ErrorKind = "unknown_outcome" // it may have been written
)

// Error is a classified platform failure.
type Error struct {
	Kind  ErrorKind
	After time.Duration // with RateLimited
	// Code is the platform's own code, safe to show; never a URL, token or body.
	Code string
	Fix  string // what the operator can do, where one thing mends it
	Err  error  // already redacted
}

func (e *Error) Error() string {
	msg := string(e.Kind)
	if e.Code != "" {
		msg += " (" + e.Code + ")"
	}
	if e.Err != nil {
		msg = fmt.Sprintf("%s: %v", msg, e.Err)
	}
	return msg
}

// Unwrap returns the redacted cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf classifies any error an adapter returned: foreign ones are
// UnknownOutcome, the kind that is looked up instead of blindly repeated.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return UnknownOutcome
}
