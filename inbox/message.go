package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
)

// Limits of what is kept of a message.
const (
	textMost    = 32 << 10 // bytes
	attachMost  = 50
	mentionMost = 100
)

// How a message was captured. What is dropped becomes no row: its mark keeps the
// reason and nothing of what was said.
const (
	Context  = "context"  // kept for a later turn; nothing happens because of it
	Admitted = "admitted" // it is for an agent; its Delivery says how far it is
	Missed   = "missed"   // it came late; a person with the right may admit it
)

// Message is what somebody said, as it was when it was captured first. Later
// events change only what its fields say.
type Message struct {
	ID       string        `json:"message_id"` // ours; digest of connection, conversation and platform id
	Platform chat.Platform `json:"platform"`
	Place    chat.Place    `json:"place"`
	Private  bool          `json:"private,omitempty"`
	Said     string        `json:"said"` // the platform's id of it
	Sender   chat.User     `json:"sender"`
	Person   string        `json:"person,omitempty"` // linked to the sender at capture
	// At is the provider's time, Received ours. UTC ms.
	At          int64             `json:"at"`
	Received    int64             `json:"received"`
	Parent      string            `json:"parent,omitempty"`
	Root        string            `json:"root,omitempty"`
	Mentions    []chat.Mention    `json:"mentions,omitempty"`
	Attachments []chat.Attachment `json:"attachments,omitempty"`
	// Files are the attachments once an agent is to have them, FetchAt when they
	// are looked at next, UTC ms, 0 for never.
	Files   []File `json:"files,omitempty"`
	FetchAt int64  `json:"fetch_at,omitempty"`
	// Answers are the digests of files that its answer sends.
	Answers   []string `json:"answers,omitempty"`
	Text      string   `json:"text"` // original line breaks, at most 32 KiB
	Truncated bool     `json:"truncated,omitempty"`
	// Order is one sequence of all that was captured, on every surface.
	Order uint64 `json:"order"`
	// Capture and Reason are the verdict.
	Capture string `json:"capture"`
	Reason  string `json:"reason"`
	Tainted bool   `json:"tainted,omitempty"`
	// Edited counts real changes of the text, Now is the newest one where the
	// agent has the older.
	Edited int    `json:"edited,omitempty"`
	Now    string `json:"now,omitempty"`
	// Gone says that the author or a moderator took it back.
	Gone bool `json:"gone,omitempty"`
	// Forgot is why the text is no longer kept.
	Forgot string `json:"forgot,omitempty"`
	// Turn is the delivery that a context message was given with, and is
	// protected by until that is settled.
	Turn string `json:"turn,omitempty"`
	// Used is set once that turn is settled.
	Used bool `json:"used,omitempty"`
}

// messageID is ours for a platform's message. The same everywhere, so that no
// index is needed to find it.
func messageID(connection, conversation, said string) string {
	return "msg_" + short("message", connection, conversation, said)[:20]
}

// digestOf is what a later copy of a message is compared by.
func digestOf(e chat.Event) string {
	if e.Message == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{e.Sender.Tenant, e.Sender.ID, e.Message.Text}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// bounded cuts a text at a character of it.
func bounded(s string, most int) (string, bool) {
	if len(s) <= most {
		return s, false
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most], true
}

// capture makes a row of an event's message. It is called once a message, after
// its mark was looked for.
func (m *Mail) capture(e chat.Event, platform chat.Platform, person, how, reason string, tainted bool) (*Message, error) {
	text, cut := bounded(e.Message.Text, textMost)
	order, err := m.nextOrder()
	if err != nil {
		return nil, err
	}
	v := &Message{
		ID: messageID(e.Place.Connection, e.Place.Conversation, e.Message.ID), Platform: platform, Place: e.Place, Private: e.Private, Said: e.Message.ID,
		Sender: e.Sender, Person: person, At: e.At, Received: m.now, Parent: e.Message.Parent, Root: e.Message.Root,
		Mentions: e.Message.Mentions[:min(len(e.Message.Mentions), mentionMost)], Attachments: e.Message.Attachments[:min(len(e.Message.Attachments), attachMost)],
		Text: strings.ToValidUTF8(text, "\ufffd"), Truncated: cut, Order: order, Capture: how, Reason: reason, Tainted: tainted || len(e.Message.Attachments) > 0,
	}
	if err := m.putMessage(v); err != nil {
		return nil, err
	}
	return v, m.tx.Put(store.Key(tblAge, store.I64(v.Received), v.ID), nil)
}

func (m *Mail) putMessage(v *Message) error { return m.t.put(v, tblMessage, v.ID) }

// LoadMessage returns a message or nil.
func LoadMessage(tx store.ReadTx, id string) (*Message, error) {
	return getRow[Message](tx, tblMessage, id)
}

// MessageOf finds the row of a platform's message, or nil.
func MessageOf(tx store.ReadTx, p chat.Place, said string) (*Message, error) {
	return LoadMessage(tx, messageID(p.Connection, p.Conversation, said))
}

// Mail is what people said and how far it has come, in one transaction.
type Mail struct {
	t   *Tx
	tx  store.Tx
	k   *kernel.Kernel
	r   *kernel.Reader
	now int64
}

// MailOver opens the messages in a transaction.
func MailOver(tx store.Tx, k *kernel.Kernel) (*Mail, error) {
	r, err := k.ReaderOf(tx)
	if err != nil {
		return nil, err
	}
	return &Mail{t: Over(tx), tx: tx, k: k, r: r, now: tx.Now()}, nil
}
