package lark_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/lark"
	sim "loopx/fixtures/sim/lark"
)

// B05, E2: after a gap the past is read from where it is stored: a week at most,
// with the answers in topics, each message until it is kept.
func TestPast(t *testing.T) {
	var back atomic.Int64 // how far the platform's clock is behind
	s := newSim(t, sim.Options{AppID: "cli_00000000000a0900", Clock: func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }})
	a, sink := newAdapter(t, s, func(c *lark.Config) {
		c.Conversations, c.Timing.Gap = func() []string { return []string{"oc_gen", "oc_none"} }, time.Nanosecond
	}), adaptertest.NewRecorder()
	back.Store(int64(8 * 24 * time.Hour))
	s.Say("ou_wei", "oc_gen", "too long ago")
	back.Store(int64(time.Hour))
	first := s.Say("ou_wei", "oc_gen", "<@ou_bot> a topic")
	_, topic := s.OpenTopic("ou_ana", "oc_gen", first.ID, "an answer")
	gone := s.Say("ou_wei", "oc_gen", "recalled")
	s.DeleteMessage(gone.ID)
	s.Say("ou_eve", "oc_gen", "the end")
	back.Store(0)
	refused := 0
	sink.Answer = func(_ context.Context, e chat.Event) (chat.Answer, error) {
		if e.History && refused < 2 {
			refused++
			return chat.Answer{}, errors.New("the disk is full")
		}
		return chat.Answer{}, nil
	}
	// Our own message names our tenant, so that people are told from strangers.
	if _, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: place("oc_gen"), Text: "our own"}); err != nil {
		t.Fatal(err)
	}
	adaptertest.Start(t, a, sink)
	past := func(text string) func(chat.Event) bool {
		return func(e chat.Event) bool { return e.History && adaptertest.Said(text)(e) }
	}
	if e := sink.Next(t, past("@ou_bot a topic")); e.Sender.Kind != chat.Human || len(e.Message.Mentions) != 1 || !e.Message.Mentions[0].Self {
		t.Errorf("%+v %+v", e, e.Message)
	}
	if e := sink.Next(t, past("an answer")); e.Place.Thread != topic {
		t.Errorf("the answer stands in %+v", e.Place)
	}
	if e := sink.Next(t, past("the end")); e.Sender.Kind != chat.External {
		t.Errorf("somebody of another tenant is %+v", e.Sender)
	}
	adaptertest.Soon(t, "the other chat was tried", func() bool { return a.Counts()["history:failed"] == 1 })
	for _, e := range sink.All() {
		if past("too long ago")(e) || past("recalled")(e) {
			t.Errorf("fetched %+v", e.Message)
		}
	}
	if n := a.Counts()["unstored:history"]; n != 2 {
		t.Errorf("%d times not stored", n)
	}
	read := len(s.Calls("im.message.list"))
	s.DropSockets()
	adaptertest.Eventually(t, s, "the past is read again", func() bool { return len(s.Calls("im.message.list")) > read })
	newest := int64(0)
	for _, m := range s.Messages("oc_gen") {
		if !m.Bot {
			newest = max(newest, m.Created)
		}
	}
	for _, c := range s.Calls("im.message.list")[read:] {
		if want := strconv.FormatInt((newest+1)/1000, 10); c.Query["container_id"] == "oc_gen" && c.Query["start_time"] != want {
			t.Errorf("read again from %q, the newest stored is of %s", c.Query["start_time"], want)
		}
	}
}
