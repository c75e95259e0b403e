package lark

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// maxKnown bounds each thing that is remembered.
const maxKnown = 4096

// bounded is a map that forgets everything rather than grow: what it holds can
// be asked again.
type bounded[V any] struct{ m map[string]V }

func (b *bounded[V]) put(k string, v V) {
	if b.m == nil || len(b.m) >= maxKnown {
		b.m = map[string]V{}
	}
	b.m[k] = v
}

// directory remembers what payloads do not repeat: which chats are private and
// with whom, the first message of a topic, and names.
type directory struct {
	mu      sync.Mutex
	private bounded[bool]   // chat -> is one-to-one
	with    bounded[string] // person -> private chat
	roots   bounded[string] // topic -> a message in it
	names   bounded[named]
	tenant  string // the app's own
}

type named struct {
	name string
	at   time.Time
}

func newDirectory() *directory { return &directory{} }

func (d *directory) learnPrivate(chat, person string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.private.put(chat, true)
	if person != "" {
		d.with.put(person, chat)
	}
}

func (d *directory) learnTenant(tenant string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if tenant != "" {
		d.tenant = tenant
	}
}

func (d *directory) ownTenant() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tenant
}

func (d *directory) learnKind(chat string, private bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.private.put(chat, private)
}

func (d *directory) isPrivate(chat string) (private, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	private, known = d.private.m[chat]
	return private, known
}

func (d *directory) chatWith(person string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.with.m[person]
}

func (d *directory) learnRoot(thread, message string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.roots.m[thread]; !ok {
		d.roots.put(thread, message)
	}
}

func (d *directory) root(thread string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.roots.m[thread]
}

func (d *directory) forgetRoot(thread string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.roots.m, thread)
}

// nameFor is how long a name, or that there is none, is believed.
const nameFor = 10 * time.Minute

func (d *directory) name(person string) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.names.m[person]
	return n.name, ok && time.Since(n.at) < nameFor
}

func (d *directory) learnName(person, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names.put(person, named{name, time.Now()})
}

// record is one message that this process wrote, or tried to.
type record struct {
	key     string
	typ     string // "post" or "interactive"
	words   [32]byte
	message string // "" while the outcome is unknown
	thread  string
}

// ledger remembers what this process wrote: Lark gives no key back, so a text is
// known again by its words, and an update must know what kind of message it is.
type ledger struct {
	mu        sync.Mutex
	byKey     bounded[record]
	byMessage bounded[record]
}

func newLedger() *ledger { return &ledger{} }

func (l *ledger) put(r record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.key != "" {
		l.byKey.put(r.key, r)
	}
	if r.message != "" {
		l.byMessage.put(r.message, r)
	}
}

func (l *ledger) key(k string) (record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.byKey.m[k]
	return r, ok
}

func (l *ledger) message(id string) (record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.byMessage.m[id]
	return r, ok
}

func digest(words string) [32]byte { return sha256.Sum256([]byte(words)) }

// pressing holds the cards whose press is not answered yet. A card that is
// updated before the answer has left is put back by Lark (B21), so Update waits
// for it.
type pressing struct {
	mu sync.Mutex
	m  map[string]*held
}

type held struct {
	n    int
	done chan struct{}
}

func newPressing() *pressing { return &pressing{m: map[string]*held{}} }

// begin notes a press; the returned function ends it.
func (p *pressing) begin(message string) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.m[message]
	if h == nil {
		h = &held{done: make(chan struct{})}
		p.m[message] = h
	}
	h.n++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if h.n--; h.n == 0 {
			close(h.done)
			delete(p.m, message)
		}
	})
}

// wait returns true when no press of the card is open, and false when there still
// is one at the end of ctx or after most.
func (p *pressing) wait(ctx context.Context, message string, most time.Duration) bool {
	p.mu.Lock()
	h := p.m[message]
	p.mu.Unlock()
	if h == nil {
		return true
	}
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-h.done:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// Tenant implements chat.Homed: the tenant that the platform's events name as the
// app's own. Nothing that Lark says when a connection opens names it, so it is
// empty until the first event.
func (a *Adapter) Tenant() string { return a.chats.ownTenant() }
