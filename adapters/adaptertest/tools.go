package adaptertest

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"loopx/adapters/chat"
)

// patience is how long a test of an adapter waits for one thing: far more than
// it takes, so that a busy machine is no failure.
const patience = 10 * time.Second

// Recorder is a sink that keeps what it got and answers as told. Make it with
// NewRecorder.
type Recorder struct {
	// Answer is what the sink says; nil takes everything and says nothing. It is
	// set while nothing arrives.
	Answer func(context.Context, chat.Event) (chat.Answer, error)

	mu     sync.Mutex
	events []chat.Event
	more   chan struct{}
}

// NewRecorder returns a sink that takes everything and says nothing.
func NewRecorder() *Recorder { return &Recorder{more: make(chan struct{}, 1)} }

// Accept implements chat.Sink.
func (r *Recorder) Accept(ctx context.Context, e chat.Event) (chat.Answer, error) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default: // somebody is being woken already
	}
	if r.Answer == nil {
		return chat.Answer{}, nil
	}
	return r.Answer(ctx, e)
}

// All is what came, in order, repeats too.
func (r *Recorder) All() []chat.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]chat.Event(nil), r.events...)
}

// Next waits until a wanted event is there.
func (r *Recorder) Next(t *testing.T, want func(chat.Event) bool) chat.Event {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		for _, e := range r.All() {
			if want(e) {
				return e
			}
		}
		select {
		case <-r.more:
		case <-limit.C:
			t.Fatalf("the event did not come; there are %+v", r.All())
		}
	}
}

// Kind wants an event of a kind that is not our own.
func Kind(k chat.EventKind) func(chat.Event) bool {
	return func(e chat.Event) bool { return e.Kind == k && e.Sender.Kind != chat.Self }
}

// Said wants a message with exactly this text that is not our own.
func Said(text string) func(chat.Event) bool {
	return func(e chat.Event) bool {
		return e.Kind == chat.MessageSent && e.Message.Text == text && e.Sender.Kind != chat.Self
	}
}

// Start runs an adapter until stop is called or the test ends, and fails the
// test when Run does not end well.
func Start(t *testing.T, a chat.Adapter, sink chat.Sink) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, sink) }()
	stop = sync.OnceFunc(func() {
		cancel()
		limit := time.NewTimer(patience)
		defer limit.Stop()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run returned %v after its context ended", err)
			}
		case <-limit.C:
			t.Error("Run did not return")
		}
	})
	t.Cleanup(stop)
	return stop
}

// Waiter is a simulator that wakes whoever waits for a change.
type Waiter interface {
	Wait(ctx context.Context, cond func() bool) error
}

// Eventually waits until something holds at a simulator.
func Eventually(t *testing.T, s Waiter, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Wait(ctx, cond); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Soon waits for what wakes nobody: health and counters.
func Soon(t *testing.T, what string, cond func() bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("not in time: %s", what)
		}
	}
}

// GateCard is a card with everything a gate's card may have.
func GateCard() chat.Card {
	return chat.Card{
		State: chat.CardOpen, Title: "Homepage release · waits for you", Question: "Publish the new pricing page?",
		Quotes:  []chat.Quote{{From: "builder asks", Text: "Checks pass, copy reviewed by Ana"}},
		Options: []chat.Option{{Label: "Publish", Consequence: "goes live at once", Mark: "approves"}, {Label: "Hold", Mark: "rejects"}},
		Facts:   []string{"Blocks 1 of 6 todos · 2 others go on"}, Footer: "G-7 · asked 09:58",
		Evidence: []chat.Evidence{{Text: "tests 212/212 (10:01)"}, {Text: "preview", URL: "https://example.com/p"}},
		Input:    &chat.Input{Name: "reason", Label: "Why?", Required: true, Multi: true, Max: 300},
		Buttons: []chat.Button{
			{ID: "tok_publish", Label: "Publish"}, {ID: "tok_hold", Label: "Hold…", Form: true, Style: chat.ButtonDanger},
		},
	}
}

// Log collects a log that several goroutines write.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is what was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
