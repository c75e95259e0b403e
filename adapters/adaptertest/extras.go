package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loopx/adapters/chat"
)

func react(t *testing.T, b *bench) {
	marker, ok := b.Adapter.(chat.Marker)
	if !ok {
		t.Fatal("Caps declares reactions, and the adapter is no Marker")
	}
	b.start()
	a := b.act(b.Say(b.Ann, b.Private, "mark me"))
	e := b.event("the message", said("mark me"))
	ref := chat.Ref{Place: e.Place, Message: a.ID}
	mark := func(sign chat.Sign, on bool, want int) {
		t.Helper()
		for range 2 { // repeating it is harmless
			if err := marker.Mark(b.ctx, ref, sign, on); err != nil {
				t.Fatalf("%s %v: %v", sign, on, err)
			}
		}
		if got := b.Signs(ref); len(got) != want {
			t.Fatalf("after %s %v the signs are %q, want %d", sign, on, got, want)
		}
	}
	looks := map[string]bool{}
	for _, sign := range []chat.Sign{chat.SignSeen, chat.SignWorking, chat.SignDone, chat.SignFailed} {
		mark(sign, true, 1)
		looks[b.Signs(ref)[0]] = true
		mark(sign, false, 0)
	}
	if len(looks) != 4 {
		t.Errorf("the signs look like %v", looks)
	}
	mark(chat.SignSeen, true, 1)
	mark(chat.SignWorking, true, 2)
	mark(chat.SignSeen, false, 1)
	if err := marker.Mark(b.ctx, ref, "happy", true); chat.KindOf(err) != chat.Invalid {
		t.Errorf("a sign that is none: %v", err)
	}
	gone := ref
	gone.Message = "1700000000.000001"
	if err := marker.Mark(b.ctx, gone, chat.SignSeen, true); chat.KindOf(err) != chat.Gone || err == nil {
		t.Errorf("no such message: %v, want kind gone", err)
	}
	// One that fails delays nothing: neither what arrives nor what is sent.
	b.FailSigns()
	failed := make(chan error, 1)
	hung, cancel := context.WithCancel(b.ctx)
	defer cancel()
	go func() { failed <- marker.Mark(hung, ref, chat.SignDone, true) }()
	began := time.Now()
	b.act(b.Say(b.Ann, b.Private, "meanwhile"))
	b.event("what was said meanwhile", said("meanwhile"))
	b.mustSend("k1", "sent meanwhile", nil, b.home())
	if d := time.Since(began); d > 1500*time.Millisecond {
		t.Errorf("a hanging reaction held the rest for %v", d)
	}
	cancel()
	if err := <-failed; err == nil {
		t.Error("a reaction that was never answered has no error")
	}
}

func pin(t *testing.T, b *bench) {
	pinner, ok := b.Adapter.(chat.Pinner)
	if !ok {
		t.Fatal("Caps declares pins, and the adapter is no Pinner")
	}
	b.start()
	ref := b.mustSend("p1", "keep me in sight", nil, b.Group)
	set := func(on bool) {
		t.Helper()
		for range 2 { // repeating it is harmless
			if err := pinner.Pin(b.ctx, ref, on); err != nil {
				t.Fatalf("pin %v: %v", on, err)
			}
			if b.Pinned(ref) != on {
				t.Fatalf("after pin %v it is not so", on)
			}
		}
	}
	set(true)
	set(false)
	gone := ref
	gone.Message = "1700000000.000001"
	if err := pinner.Pin(b.ctx, gone, true); err == nil || chat.KindOf(err) != chat.Gone {
		t.Errorf("no such message: %v, want kind gone", err)
	}
	b.FailPin()
	err := pinner.Pin(b.ctx, ref, true)
	e, ok := errors.AsType[*chat.Error](err)
	if !ok || e.Fix == "" || e.Kind != chat.Auth && e.Kind != chat.Gone {
		t.Errorf("a pin without the scope: %#v, want what mends it", err)
	}
	if b.Pinned(ref) {
		t.Error("a refused pin is there")
	}
	set(true) // nothing of the refusal stays
}

func catchUp(t *testing.T, b *bench) {
	b.notStarted()
	b.Recall()
	b.mustSend("own", "our own words", nil, b.home())
	var want []string
	for i := range 3 {
		text := fmt.Sprintf("while away %d", i)
		want = append(want, text)
		b.act(b.Say(b.Ann, b.Private, text))
	}
	b.act(b.Say(b.Bob, b.Group, "in the group"))
	b.start()
	past := func(where chat.Place) func(chat.Event) bool {
		return func(e chat.Event) bool {
			return e.History && e.Kind == chat.MessageSent && e.Place.Conversation == where.Conversation
		}
	}
	b.eventually("the past", func() bool { return len(b.got(past(b.Private))) == len(want) && len(b.got(past(b.Group))) == 1 })
	if got := texts(b.got(past(b.Private))); !same(got, want) {
		t.Errorf("the past (-want +got)\n%s", cmp.Diff(want, got))
	}
	for _, e := range b.got(past(b.Private)) {
		if !e.Private || e.Sender.ID != b.Ann.ID || e.Message.ID == "" || e.At == 0 || e.ID == "" {
			t.Errorf("%+v", e)
		}
	}
	// Now somebody listens: nothing of it is fetched.
	b.act(b.Say(b.Ann, b.Private, "live"))
	if e := b.event("the live one", said("live")); e.History {
		t.Errorf("a message that was pushed is marked as history: %+v", e)
	}
}
