// Package adaptertest is what every adapter must do, as one suite: Run drives an
// adapter against a simulated platform through a Harness and checks the promises
// of chat.Adapter. What a surface cannot do is declared with its reason and
// printed; what it declares in Caps cannot be left out.
package adaptertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"loopx/adapters/chat"
)

// Check names one part of the suite.
type Check string

// The checks.
const (
	Message          Check = "message"           // something said arrives with sender, place, id, text
	Mention          Check = "mention"           // a native mention of the bot is structured
	Group            Check = "group"             // a conversation that is not private
	Press            Check = "press"             // a button gives its opaque id back
	PressAgain       Check = "press_again"       // the platform's repeat has the same event id
	Form             Check = "form"              // text input with a press
	AckAfterAccept   Check = "ack_after_accept"  // no acknowledgement while Accept runs
	Redelivery       Check = "redelivery"        // Accept failed: not acknowledged, delivered again
	SlowConversation Check = "slow_conversation" // one does not hold another
	Order            Check = "order"             // in order per conversation
	Send             Check = "send"
	Update           Check = "update"
	Find             Check = "find"
	LostAnswer       Check = "lost_answer" // an unknown outcome is found, not repeated
	Notice           Check = "notice"      // reaches only the presser
	Senders          Check = "senders"     // kinds of people are told apart
	Secrets          Check = "secrets"     // no secret in any error
	Stop             Check = "stop"        // Run ends clean
	Caps             Check = "caps"        // what is not declared fails typed
	Pin              Check = "pin"         // our own message kept in sight
	React            Check = "react"       // our own signs on somebody's message
	CatchUp          Check = "catch_up"    // what was said while nobody listened is fetched and marked
	Files            Check = "files"       // what somebody attached is fetched, within a limit
	SendFile         Check = "send_file"   // a file is sent, once, also when the answer to it was lost
)

// Harness describes an adapter to the suite.
type Harness struct {
	// New starts a fresh surface; the adapter is not running yet. Everything it
	// started must end with the test's cleanups.
	New func(t *testing.T) Surface
	// Cannot holds the checks this surface has no way to do, each with the
	// reason, which is printed.
	Cannot map[Check]string
}

// Act is something a person did.
type Act struct {
	// ID of the message, where there is one.
	ID string
	// Acked reports whether the platform was told that it arrived.
	Acked func() bool
}

// Surface is one platform with its people. Functions that a surface has no way
// to do are nil, and then the check that needs them must be in Cannot.
type Surface struct {
	Adapter chat.Adapter
	// Ann and Bob are members; Ann has a private conversation with the bot.
	Ann, Bob    chat.User
	Private     chat.Place
	Group, Side chat.Place // two conversations both are in

	Say     func(who chat.User, where chat.Place, text string) (Act, error)
	Mention func(who chat.User, where chat.Place, text string) (Act, error) // "@bot text"
	Press   func(who chat.User, card chat.Ref, button string) (Act, error)  // by the id of the button
	Submit  func(who chat.User, card chat.Ref, button string, values map[string]string) (Act, error)
	// Repeat makes the platform deliver the next act twice.
	Repeat func()
	// SayAs says something as another kind of sender.
	SayAs map[chat.UserKind]func(where chat.Place, text string) (Act, error)
	// NoKind holds the kinds of sender that the platform does not know, each with
	// the reason, which is printed.
	NoKind map[chat.UserKind]string
	// OneMark says, with its reason, that the platform is not told of each event
	// but of one place up to which all are stored, so that a slow conversation
	// holds the mark of all others, though not their events. Empty is the usual.
	OneMark string

	// Shown is a message as people see it, with the ids of its buttons.
	Shown func(ref chat.Ref) (text string, buttons []string, ok bool)
	// Count is how many messages of the bot in a place contain a text.
	Count func(where chat.Place, text string) int
	// Notices are what only this person saw.
	Notices func(who chat.User) []string
	// Signs are the reactions of the bot on a message, as the platform has them.
	Signs func(ref chat.Ref) []string
	// Pinned reports whether a message is pinned in its conversation.
	Pinned func(ref chat.Ref) bool
	// FailPin makes the platform refuse the next pin because a scope or a
	// permission is missing.
	FailPin func()
	// FailSigns makes the next reaction hang until its caller gives up.
	FailSigns func()
	// Attach posts a file, and RemoveFile takes its bytes away by the id of the
	// attachment.
	Attach     func(who chat.User, where chat.Place, name string, data []byte) (Act, error)
	RemoveFile func(id string)
	// Sent is a file of the bot in a place by its name, and how often it is there.
	Sent func(where chat.Place, name string) (data []byte, message string, n int)
	// LoseFile makes the platform store the next file that is sent and never say so.
	LoseFile func()
	// Recall makes the adapter, which does not run yet, read the past of Private
	// and Group when it does.
	Recall func()
	// LoseAnswer makes the platform store the next write and never say so.
	LoseAnswer func()
	// BreakAuth makes every credential invalid.
	BreakAuth func()
	// Secrets must appear nowhere.
	Secrets []string
	// Changed returns a channel that is closed, or receives, after the next
	// change on the surface.
	Changed func() <-chan struct{}
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for _, c := range []struct {
		name Check
		run  func(*testing.T, *bench)
	}{
		{Message, message}, {Mention, mention}, {Group, group}, {Press, press}, {PressAgain, pressAgain}, {Form, form},
		{AckAfterAccept, ackAfterAccept}, {Redelivery, redelivery}, {SlowConversation, slowConversation}, {Order, order},
		{Send, send}, {Update, update}, {Find, find}, {LostAnswer, lostAnswer}, {Notice, notice}, {Senders, senders},
		{Secrets, secrets}, {Stop, stop}, {Caps, caps}, {CatchUp, catchUp}, {React, react}, {Files, files}, {SendFile, sendFile}, {Pin, pin},
	} {
		t.Run(string(c.name), func(t *testing.T) {
			if why, ok := h.Cannot[c.name]; ok {
				t.Skipf("this surface cannot do %q: %s", c.name, why)
			}
			// Goroutines of neighbours in the same test binary are not ours.
			leak := goleak.IgnoreCurrent()
			t.Cleanup(func() { // registered first, so it runs last
				if err := goleak.Find(leak); err != nil {
					t.Errorf("goroutines are left: %v", err)
				}
			})
			c.run(t, newBench(t, h))
		})
	}
	t.Run("declared", func(t *testing.T) { declared(t, h) })
}

// declared refuses to leave out what the adapter says it can do.
func declared(t *testing.T, h Harness) {
	caps := h.New(t).Adapter.Caps()
	for c, has := range map[Check]bool{Update: caps.Edit, Find: caps.Find, Notice: caps.Notices, Form: caps.Forms, CatchUp: caps.CatchUp, React: caps.React, Files: caps.Files, SendFile: caps.FileMax > 0, Pin: caps.Pin} {
		if _, out := h.Cannot[c]; out && has {
			t.Errorf("Caps declares %q, so the suite may not leave it out", c)
		}
		if _, out := h.Cannot[c]; !out && !has {
			t.Errorf("Caps does not declare %q, so Cannot must say why", c)
		}
	}
	for _, c := range []Check{Message, Press, Send, AckAfterAccept, Stop, Caps} {
		if why, out := h.Cannot[c]; out {
			t.Errorf("no surface may leave out %q (%s)", c, why)
		}
	}
	if caps.Platform == "" || caps.AckIn <= 0 || caps.TextMax <= 0 || caps.CardMax <= 0 || caps.MaxWrite <= 0 {
		t.Errorf("Caps is not complete: %+v", caps)
	}
}

// bench is one test's surface with a sink of the suite.
type bench struct {
	Surface
	t      *testing.T
	ctx    context.Context
	cancel context.CancelFunc
	done   chan error
	wake   chan struct{} // after a change in the sink

	mu     sync.Mutex // guards all that follows
	events []chat.Event
	accept func(context.Context, chat.Event) (chat.Answer, error)
	over   bool
}

func newBench(t *testing.T, h Harness) *bench {
	b := &bench{Surface: h.New(t), t: t, done: make(chan error, 1), wake: make(chan struct{}, 1)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	t.Cleanup(b.stop)
	return b
}

// Accept is the sink.
func (b *bench) Accept(ctx context.Context, e chat.Event) (chat.Answer, error) {
	b.mu.Lock()
	accept := b.accept
	if e.Sender.Kind != chat.Self { // own messages come back on most platforms
		b.events = append(b.events, e)
	}
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
	if accept == nil || e.Sender.Kind == chat.Self {
		return chat.Answer{}, nil
	}
	return accept(ctx, e)
}

func (b *bench) onEvent(f func(context.Context, chat.Event) (chat.Answer, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.accept = f
}

// start runs the adapter and waits until it is ready.
func (b *bench) start() {
	b.t.Helper()
	go func() { b.done <- b.Adapter.Run(b.ctx, b) }()
	b.eventually("the adapter is ready", func() bool { return b.Adapter.Health().State == chat.Ready })
}

// stop ends the adapter, once.
func (b *bench) stop() {
	b.mu.Lock()
	over := b.over
	b.over = true
	b.mu.Unlock()
	b.cancel()
	if over {
		return
	}
	select {
	case err := <-b.done:
		if err != nil {
			b.t.Errorf("Run returned %v after its context ended, want nil", err)
		}
	case <-time.After(10 * time.Second):
		if b.Adapter.Health().State == chat.Ready {
			b.t.Error("Run did not return after its context ended")
		}
	}
}

// notStarted keeps stop from waiting for a Run that was never called.
func (b *bench) notStarted() { b.done <- nil }

func (b *bench) got(want func(chat.Event) bool) []chat.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []chat.Event
	for _, e := range b.events {
		if want(e) {
			out = append(out, e)
		}
	}
	return out
}

// eventually waits for a condition on the sink, the surface or the adapter.
func (b *bench) eventually(what string, cond func() bool) {
	b.t.Helper()
	deadline := time.NewTimer(15 * time.Second)
	defer deadline.Stop()
	// Health has no channel, so it is looked at again now and then.
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		changed := b.Changed()
		if cond() {
			return
		}
		select {
		case <-changed:
		case <-b.wake:
		case <-look.C:
		case <-deadline.C:
			b.t.Fatalf("not in time: %s", what)
		}
	}
}

// event waits for the first event that fits.
func (b *bench) event(what string, want func(chat.Event) bool) chat.Event {
	b.t.Helper()
	b.eventually(what, func() bool { return len(b.got(want)) > 0 })
	return b.got(want)[0]
}

// act fails the test when a person could not do what the test needs.
func (b *bench) act(a Act, err error) Act {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("the person could not act: %v", err)
	}
	return a
}

func said(text string) func(chat.Event) bool {
	return func(e chat.Event) bool {
		return e.Kind == chat.MessageSent && e.Message != nil && e.Message.Text == text
	}
}

func pressed(id string) func(chat.Event) bool {
	return func(e chat.Event) bool { return e.Kind == chat.CardPressed && e.Press != nil && e.Press.Action == id }
}

// card is a gate with a plain button, one with a form and a destructive one.
func card() chat.Card {
	return chat.Card{
		State: chat.CardOpen, Title: "Homepage release · waits for you", Question: "Publish the new pricing page?",
		Quotes:  []chat.Quote{{From: "builder", Text: "Checks pass <!channel> @everyone"}},
		Options: []chat.Option{{Label: "Publish", Consequence: "goes live at once", Mark: "approves"}, {Label: "Hold", Mark: "rejects"}},
		Facts:   []string{"Blocks 1 of 6 todos"}, Footer: "G-7 · asked 09:58",
		Input: &chat.Input{Name: "reason", Label: "Reason", Required: true, Multi: true, Max: 300},
		Buttons: []chat.Button{
			{ID: "tok_a", Label: "Publish"}, {ID: "tok_b", Label: "Hold…", Form: true}, {ID: "tok_c", Label: "Delete", Style: chat.ButtonDanger},
		},
	}
}

func (b *bench) mustSend(key, text string, c *chat.Card, where chat.Place) chat.Ref {
	b.t.Helper()
	ref, err := b.Adapter.Send(b.ctx, chat.Outgoing{Key: key, Place: where, Text: text, Card: c})
	if err != nil {
		b.t.Fatalf("Send: %v", err)
	}
	if ref.Message == "" || ref.Place.Conversation == "" {
		b.t.Fatalf("Send gave an incomplete Ref: %+v", ref)
	}
	return ref
}

// home is a conversation both people see, or the private one where there is no
// other.
func (b *bench) home() chat.Place {
	if b.Group.Conversation != "" {
		return b.Group
	}
	return b.Private
}

func same(a, b []string) bool { return slices.Equal(a, b) }

func texts(events []chat.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, fmt.Sprint(e.Message.Text))
	}
	return out
}
