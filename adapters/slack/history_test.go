package slack_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/slack"
	sim "loopx/fixtures/sim/slack"
)

// B05, E2: after a gap the past is read from where it is stored: a week at most,
// with the answers in threads, each message until it is kept.
func TestPast(t *testing.T) {
	var back atomic.Int64 // how far the platform's clock is behind
	s := sim.New(sim.Options{Clock: func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s, func(c *slack.Config) {
		c.Conversations, c.Timing.Gap = func() []string { return []string{"C0GEN", "C0NONE"} }, time.Nanosecond
	}), adaptertest.NewRecorder()
	back.Store(int64(8 * 24 * time.Hour))
	s.Say("U0WEI", "C0GEN", "too long ago")
	back.Store(int64(time.Hour))
	first := s.Say("U0WEI", "C0GEN", "a thread")
	s.Reply("U0ANA", "C0GEN", first.TS, "an answer")
	s.Say("U0WEI", "C0GEN", "the end")
	back.Store(0)
	refused := 0
	sink.Answer = func(_ context.Context, e chat.Event) (chat.Answer, error) {
		if e.History && refused < 2 {
			refused++
			return chat.Answer{}, errors.New("the disk is full")
		}
		return chat.Answer{}, nil
	}
	adaptertest.Start(t, a, sink)
	past := func(text string) func(chat.Event) bool {
		return func(e chat.Event) bool { return e.History && adaptertest.Said(text)(e) }
	}
	for _, text := range []string{"a thread", "an answer", "the end"} {
		e := sink.Next(t, past(text))
		if text == "an answer" && e.Place.Thread != first.TS {
			t.Errorf("the answer stands in %+v", e.Place)
		}
	}
	adaptertest.Soon(t, "the other channel was tried", func() bool { return a.Counts()["history:failed"] == 1 })
	for _, e := range sink.All() {
		if past("too long ago")(e) {
			t.Error("a message of more than a week ago was fetched")
		}
	}
	if n := a.Counts()["unstored:history"]; n != 2 {
		t.Errorf("%d times not stored", n)
	}
	read := len(s.Calls("conversations.history"))
	s.DropSockets()
	adaptertest.Eventually(t, s, "the past is read again", func() bool { return len(s.Calls("conversations.history")) >= read+2 })
	newest := ""
	for _, m := range s.Messages("C0GEN") {
		newest = m.TS
	}
	for _, c := range s.Calls("conversations.history")[read:] {
		if c.Args["channel"] == "C0GEN" && c.Args["oldest"] != newest {
			t.Errorf("read again from %s, the newest stored is %s", c.Args["oldest"], newest)
		}
	}
}

// A reconnect as Slack asks for every hour is no gap.
func TestNoPastWithoutAGap(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	adaptertest.Eventually(t, s, "a connection", func() bool { n, _ := s.Connections(); return n == 1 })
	s.Say("U0WEI", "C0GEN", "hello")
	sink.Next(t, adaptertest.Said("hello"))
	s.Disconnect("refresh_requested")
	adaptertest.Eventually(t, s, "another connection", func() bool { _, ever := s.Connections(); return ever == 2 })
	s.Say("U0WEI", "C0GEN", "again")
	sink.Next(t, adaptertest.Said("again"))
	if n := len(s.Calls("conversations.history")); n != 0 {
		t.Errorf("the past was read %d times", n)
	}
}
