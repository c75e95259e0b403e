// Package console is the chat surface inside the local page: an adapter without
// a network. The page reads Messages and Watch, people write with Say and press
// with Press; the bot sees a connection like any other. It knows no HTTP and no
// store: durable messages go through the small Log interface.
package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"loopx/adapters/chat"
)

const (
	// Conversation is the one place there is; it is private to the person at
	// the machine.
	Conversation = "page"
	// Tenant is the tenant of everybody on the page.
	Tenant = "local"
	// Owner is the id of the person who proved to be the owner. Others are
	// viewers ("viewer-...").
	Owner = "owner"
	// keep is how many messages the page shows.
	keep = 200
	// maxText is what a person may type at once, in bytes.
	maxText = 32 << 10
)

// Message is one line of the conversation.
type Message struct {
	ID   string    `json:"id"`
	Key  string    `json:"key,omitempty"` // of our send, for Find
	At   int64     `json:"at"`            // UTC ms
	From chat.User `json:"from"`
	Text string    `json:"text"`
	// Card is drawn by the page; Text then is its plain form.
	Card *chat.Card `json:"card,omitempty"`
	// Thread is the message it belongs under.
	Thread string `json:"thread,omitempty"`
	// To is set when only this person sees it (a notice).
	To     string `json:"to,omitempty"`
	Edited int64  `json:"edited,omitempty"` // UTC ms of the last change
}

// Log keeps messages. Save replaces a message with the same id; Load returns
// the newest ones in the order they were written. Both may be called from
// several goroutines.
type Log interface {
	Load(ctx context.Context) ([]Message, error)
	Save(ctx context.Context, m Message) error
}

// Options of a console.
type Options struct {
	Name  string           // of the connection; "console" unless told
	Log   Log              // Memory() unless told
	Clock func() time.Time // time.Now unless told
}

// Console is the surface. All methods are safe for concurrent use.
type Console struct {
	opt Options

	mu       sync.Mutex // guards all that follows
	loaded   bool
	messages []Message
	watchers map[chan struct{}]bool
	sink     chat.Sink
	gone     context.Context // of the Run that serves now

	// Health is asked from within transactions, and mu is held while a message is
	// saved in one: it has a lock of its own, under which nothing is called.
	healthMu sync.Mutex // guards health
	health   chat.Health

	line sync.Mutex // one act of a person after another
	wg   sync.WaitGroup
}

// New makes a console.
func New(opt Options) *Console {
	opt.Name = cmp.Or(opt.Name, "console")
	if opt.Log == nil {
		opt.Log = Memory()
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	c := &Console{opt: opt, watchers: map[chan struct{}]bool{}}
	c.health = chat.Health{State: chat.Starting, Since: c.now()}
	return c
}

func (c *Console) now() int64 { return c.opt.Clock().UnixMilli() }

// Person makes the User of somebody on the page; viewer is any id but Owner.
func Person(id string) chat.User { return chat.User{Tenant: Tenant, ID: id, Kind: chat.Human} }

// Caps says what the page can do.
func (c *Console) Caps() chat.Caps {
	return chat.Caps{
		Platform: chat.Console, Edit: true, Find: true, Notices: true, Forms: true, Threads: true,
		AckIn: chat.Duration(10 * time.Second), TextMax: maxText, CardMax: 256 << 10, MaxWrite: 6000,
	}
}

// Health is Ready while Run runs.
func (c *Console) Health() chat.Health {
	c.healthMu.Lock()
	defer c.healthMu.Unlock()
	return c.health
}

func feel(c *Console, change func(h *chat.Health, now int64)) {
	c.healthMu.Lock()
	defer c.healthMu.Unlock()
	change(&c.health, c.now())
}

// Run takes acts of people until ctx ends. It returns an *chat.Error of kind
// Invalid when one runs already, of kind Temporary when the log cannot be read.
func (c *Console) Run(ctx context.Context, sink chat.Sink) error {
	if err := c.load(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	if c.sink != nil {
		c.mu.Unlock()
		return &chat.Error{Kind: chat.Invalid, Code: "already_running", Err: errors.New("this console runs already")}
	}
	c.sink, c.gone = sink, ctx
	feel(c, func(h *chat.Health, now int64) { h.State, h.Since, h.LastFrame = chat.Ready, now, now })
	c.mu.Unlock()

	<-ctx.Done()
	c.mu.Lock()
	c.sink = nil
	feel(c, func(h *chat.Health, now int64) { h.State, h.Since = chat.Starting, now })
	c.mu.Unlock()
	c.wg.Wait()
	return nil
}

// load reads the log once.
func (c *Console) load(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded {
		return nil
	}
	msgs, err := c.opt.Log.Load(ctx)
	if err != nil {
		return &chat.Error{Kind: chat.Temporary, Code: "log", Err: fmt.Errorf("reading the page's messages: %w", err)}
	}
	c.messages, c.loaded = slices.Concat(msgs[max(0, len(msgs)-keep):], c.messages), true
	slices.SortStableFunc(c.messages, byTime)
	return nil
}

// Messages returns the newest messages, oldest first, at most 200, with the
// notices for everybody; the page leaves out those whose To is someone else.
func (c *Console) Messages() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.messages)
}

// Watch returns a channel that receives after a change. Changes that come
// together are one; the channel is closed when ctx ends.
func (c *Console) Watch(ctx context.Context) <-chan struct{} {
	ch := make(chan struct{}, 1)
	c.mu.Lock()
	c.watchers[ch] = true
	c.mu.Unlock()
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, ch)
		close(ch)
	})
	return ch
}

// put saves a message and shows it. The caller holds mu.
func (c *Console) put(ctx context.Context, m Message) error {
	if err := c.opt.Log.Save(ctx, m); err != nil {
		return &chat.Error{Kind: chat.Temporary, Code: "log", Err: fmt.Errorf("keeping a message: %w", err)}
	}
	if i := slices.IndexFunc(c.messages, func(o Message) bool { return o.ID == m.ID }); i >= 0 {
		c.messages[i] = m
	} else {
		c.messages = append(c.messages, m)
		slices.SortStableFunc(c.messages, byTime)
	}
	if n := len(c.messages) - keep; n > 0 {
		c.messages = slices.Delete(c.messages, 0, n)
	}
	for ch := range c.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	return nil
}

// byTime orders what is shown. What a person said is kept after the bot stored
// it, and by then the answer may be there already: at one time the question
// comes first.
func byTime(a, b Message) int {
	answer := func(m Message) int {
		if m.From.Kind == chat.Self {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(answer(a), answer(b)))
}

// find returns the newest message that fits. The caller holds mu.
func (c *Console) find(fits func(Message) bool) (Message, bool) {
	for _, m := range slices.Backward(c.messages) {
		if fits(m) {
			return m, true
		}
	}
	return Message{}, false
}

func newID() string { return "m_" + rand.Text() }
