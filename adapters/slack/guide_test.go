package slack_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	sim "loopx/fixtures/sim/slack"
)

// The manifest of the guide is enough for everything the adapter does: what is
// said privately and in channels arrives, and is answered, marked and found.
func TestGuideIsEnough(t *testing.T) {
	raw, err := os.ReadFile("../../docs/guides/slack.md")
	if err != nil {
		t.Fatal(err)
	}
	list := func(key string) []string {
		m := regexp.MustCompile(`(?m)^ +` + key + `:\n((?: +- [a-z_.:]+\n)+)`).FindStringSubmatch(string(raw))
		if m == nil {
			t.Fatalf("the guide's manifest has no %s", key)
		}
		return strings.Fields(strings.ReplaceAll(m[1], "- ", " "))
	}
	opt := sim.Options{Scopes: list("bot"), Events: list("bot_events")}
	if !slices.Contains(opt.Scopes, "chat:write") || !slices.Contains(opt.Events, "message.im") {
		t.Fatalf("the guide's manifest has the scopes %q and events %q", opt.Scopes, opt.Events)
	}
	all := []string{"U0WEI", "U0BOT"}
	opt.People = []sim.Person{{ID: "U0WEI", Name: "Wei", Kind: sim.Member}}
	opt.Channels = []sim.Channel{{ID: "C0GEN", Name: "general", Members: all}, {ID: "G0SECRET", Name: "secret", Private: true, Members: all}}
	s := sim.New(opt)
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	for _, channel := range []string{s.DM("U0WEI"), "C0GEN", "G0SECRET"} {
		t.Run(channel, func(t *testing.T) {
			place := chat.Place{Connection: "work", Conversation: channel}
			root := s.Say("U0WEI", channel, "said in "+channel)
			sink.Next(t, adaptertest.Said("said in "+channel))
			s.Reply("U0WEI", channel, root.TS, "answered in "+channel)
			sink.Next(t, adaptertest.Said("answered in "+channel))
			since := time.Now()
			ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k-" + channel, Place: place, Text: "hello"})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Update(t.Context(), ref, chat.Outgoing{Key: "k-" + channel, Place: place, Text: "changed"}); err != nil {
				t.Error(err)
			}
			if found, ok, err := a.Find(t.Context(), place, "k-"+channel, since); err != nil || !ok || found.Message != ref.Message {
				t.Errorf("Find = %v, %v, %v", found, ok, err)
			}
			if err := a.Mark(t.Context(), chat.Ref{Place: place, Message: root.TS}, chat.SignSeen, true); err != nil {
				t.Error(err)
			}
		})
	}
	s.Say("U0WEI", "C0GEN", "<@U0BOT> look")
	sink.Next(t, func(e chat.Event) bool {
		return e.Message != nil && len(e.Message.Mentions) == 1 && e.Message.Mentions[0].Self
	})
	if _, err := s.Slash("U0WEI", "C0GEN", "/loopx", "status"); err != nil {
		t.Fatal(err)
	}
	sink.Next(t, adaptertest.Kind(chat.CommandSent))
	for _, c := range s.Calls("") {
		if c.Error == "missing_scope" {
			t.Errorf("%s was refused for want of a scope", c.Method)
		}
	}
}
