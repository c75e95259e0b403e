package lark_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	sim "loopx/fixtures/sim/lark"
)

// The scopes of the guide are enough for everything the adapter does: what is
// said privately and in groups arrives, and is answered, marked and found.
func TestGuideIsEnough(t *testing.T) {
	raw, err := os.ReadFile("../../docs/guides/lark.md")
	if err != nil {
		t.Fatal(err)
	}
	opt := sim.Options{}
	for _, m := range regexp.MustCompile(`(?m)^ +"([a-z_.:0-9]+)",?$`).FindAllStringSubmatch(string(raw), -1) {
		opt.Scopes = append(opt.Scopes, m[1])
	}
	if !slices.Contains(opt.Scopes, "im:message") {
		t.Fatalf("the guide has the scopes %q", opt.Scopes)
	}
	s := newSim(t, opt)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	connected(t, s)
	for _, group := range []string{s.DM("ou_wei"), "oc_gen"} {
		place := chat.Place{Connection: "work", Conversation: group}
		root := s.Say("ou_wei", group, "said in "+group)
		sink.Next(t, adaptertest.Said("said in "+group))
		since := time.Now()
		ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k-" + group, Place: place, Text: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		if found, ok, err := a.Find(t.Context(), place, "k-"+group, since); err != nil || !ok || found.Message != ref.Message {
			t.Errorf("%s: Find = %v, %v, %v", group, found, ok, err)
		}
		if err := a.Mark(t.Context(), chat.Ref{Place: place, Message: root.ID}, chat.SignSeen, true); err != nil {
			t.Error(err)
		}
	}
	s.Say("ou_wei", "oc_gen", "<@"+s.BotID()+"> look")
	sink.Next(t, func(e chat.Event) bool {
		return e.Message != nil && len(e.Message.Mentions) == 1 && e.Message.Mentions[0].Self
	})
	for _, c := range s.Calls("") {
		if c.Code == 99991672 {
			t.Errorf("%s was refused for want of a scope", c.Method)
		}
	}
}
