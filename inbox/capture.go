package inbox

import (
	"encoding/json"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
)

// Mark says that an event was handled, and how it was answered, so that its
// redelivery is answered again and done once. Marks outlive the longest
// redelivery.
type Mark struct {
	At      int64       `json:"at"`
	Verdict string      `json:"verdict"`
	Answer  chat.Answer `json:"answer"`
	Again   int         `json:"again,omitempty"`
	// Fetched says that the event was read after a gap and not pushed.
	Fetched bool `json:"fetched,omitempty"`
	// Sum digests sender and text: a copy that differs changes nothing and is
	// counted as a conflict.
	Sum string `json:"sum,omitempty"`
}

// markKeepMS is longer than the longest redelivery of any platform.
const markKeepMS = 8 * 24 * 3600 * 1000

// key of an event: messages by conversation and message id, since one message
// can come under two event ids; everything else by the platform's event id.
func markKey(e chat.Event) []string {
	if e.Message != nil && e.Message.ID != "" && (e.Kind == chat.MessageSent || e.Kind == chat.CommandSent) {
		return []string{tblMark, e.Place.Connection, "m", e.Place.Conversation, e.Message.ID}
	}
	return []string{tblMark, e.Place.Connection, "e", string(e.Kind), e.ID}
}

// Seen returns the mark of an event that was handled before, counting the
// repetition, or nil.
func (t *Tx) Seen(e chat.Event) (*Mark, error) {
	m, err := getRow[Mark](t.tx, markKey(e)...)
	if m == nil || err != nil {
		return nil, err
	}
	m.Again++
	if m.Sum != digestOf(e) {
		if err := t.Count("conflict"); err != nil {
			return nil, err
		}
	}
	if err := t.Count("duplicate"); err != nil {
		return nil, err
	}
	return m, t.put(m, markKey(e)...)
}

// Handled marks an event with its verdict and answer. It must be in the same
// transaction as the event's effects.
func (t *Tx) Handled(e chat.Event, verdict string, a chat.Answer) error {
	return t.put(Mark{At: t.now, Verdict: verdict, Answer: a, Fetched: e.History, Sum: digestOf(e)}, markKey(e)...)
}

// returnKey names what a person said by when and what it was. Lark was seen to
// push an old message again under a new message id but with its old create time,
// which is in milliseconds.
func returnKey(e chat.Event) []string {
	if e.Kind != chat.MessageSent || e.Message == nil || e.At == 0 || e.Sender.ID == "" {
		return nil
	}
	return []string{tblMark, e.Place.Connection, "t", e.Place.Conversation, e.Sender.ID, store.I64(e.At), digestOf(e)}
}

// Returned says whether the same person said the same at the same millisecond
// under another message id, and remembers it for the next one.
func Returned(t *Tx, e chat.Event) (bool, error) {
	k := returnKey(e)
	if k == nil {
		return false, nil
	}
	m, err := getRow[Mark](t.tx, k...)
	switch {
	case err != nil:
		return false, err
	case m == nil:
		return false, t.put(Mark{At: t.now, Verdict: "remembered"}, k...)
	}
	return true, t.Count("drop:returned_message")
}

// Prune forgets marks older than the longest redelivery, looking at up to limit
// marks behind a key. It returns the last key it looked at, nil at the end.
func (t *Tx) Prune(after []byte, limit int) ([]byte, error) {
	rg := store.Under(limit, tblMark)
	if after != nil {
		rg = rg.After(after)
	}
	var old [][]byte
	var last []byte
	seen := 0
	err := t.tx.Scan(rg, func(k, v []byte) bool {
		seen++
		last = append(last[:0], k...)
		var m Mark
		if json.Unmarshal(v, &m) == nil && t.now-m.At > markKeepMS {
			old = append(old, append([]byte(nil), k...))
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, k := range old {
		if err := t.tx.Delete(k); err != nil {
			return nil, err
		}
	}
	if seen < limit {
		last = nil
	}
	return last, nil
}

// linkTries is how many wrong codes an identity may type in an hour.
const linkTries = 5

// TryLink counts one attempt to redeem a code and says whether it may be made.
func (t *Tx) TryLink(e chat.Event) (bool, error) {
	return within(t, linkTries, hourMS, tblTry, e.Place.Connection, e.Sender.Tenant, e.Sender.ID)
}

// ActorOf is the kernel's actor for a sender of an event: a linked, confirmed
// identity is its person; anybody else is nobody.
func ActorOf(r *kernel.Reader, platform chat.Platform, e chat.Event) (kernel.Actor, bool) {
	if e.Sender.Kind != chat.Human || e.Sender.ID == "" {
		return kernel.Actor{}, false
	}
	p := r.Principal(string(platform), e.Place.Connection, e.Sender.Tenant, e.Sender.ID)
	if p == nil || p.Status != kernel.Linked {
		return kernel.Actor{}, false
	}
	person := r.Person(p.Person)
	if !person.Active() {
		return kernel.Actor{}, false
	}
	return PersonActor(person, string(platform)), true
}

// PersonActor is the kernel's actor for a person who came through a surface.
func PersonActor(p *kernel.Person, surface string) kernel.Actor {
	a := kernel.Actor{Kind: kernel.ByPerson, ID: p.ID, Name: p.Name, Surface: surface}
	if p.Owner {
		a.Kind = kernel.ByOwner
	}
	return a
}
