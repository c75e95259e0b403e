package discord_test

import (
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/discord"
	sim "loopx/fixtures/sim/discord"
)

// Each refusal for want of a right names the switch that mends it.
func TestMissingRightIsNamed(t *testing.T) {
	send := func(place chat.Place) func(*testing.T, *sim.Server, *discord.Adapter) error {
		return func(t *testing.T, _ *sim.Server, a *discord.Adapter) error {
			_, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: place, Text: "x"})
			return err
		}
	}
	for name, tc := range map[string]struct {
		deny      sim.Right
		try       func(*testing.T, *sim.Server, *discord.Adapter) error
		code, fix string
	}{
		"seeing":  {sim.ViewChannel, send(general()), "50001", "View Channel"},
		"writing": {sim.SendMessages, send(general()), "50013", "Send Messages"},
		"marking": {sim.AddReactions, func(t *testing.T, s *sim.Server, a *discord.Adapter) error {
			return a.Mark(t.Context(), chat.Ref{Place: general(), Message: s.Say(sim.Wei, sim.General, "hi").ID}, chat.SignSeen, true)
		}, "50013", "Add Reactions"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, sim.Options{})
			s.Deny(sim.General, tc.deny)
			err := tc.try(t, s, newAdapter(t, s))
			e, ok := errors.AsType[*chat.Error](err)
			if !ok || e.Kind != chat.Gone || e.Code != tc.code || !strings.Contains(e.Fix, tc.fix) {
				t.Errorf("refused with %v, %+v", err, e)
			}
		})
	}
}

// Discord refuses no history that may not be read: it is empty. What was looked
// for there is then not known to be missing, or it would be sent a second time.
func TestEmptyHistoryIsNoAnswer(t *testing.T) {
	s := newSim(t, sim.Options{HeartbeatEvery: 40 * time.Millisecond})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	run(t, s, a, sink)
	since := time.Now()
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: general(), Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := a.Find(t.Context(), general(), "k", since); err != nil || !ok || got.Message != ref.Message {
		t.Fatalf("Find = %v, %v, %v", got, ok, err)
	}
	e := s.Deny(sim.General, sim.ReadMessageHistory)
	adaptertest.Eventually(t, s, "told", func() bool { return s.Acked(e.Events[0]) })
	_, ok, err := a.Find(t.Context(), general(), "k", since)
	if x, is := errors.AsType[*chat.Error](err); ok || !is || x.Code != "history_closed" || !strings.Contains(x.Fix, "Read Message History") {
		t.Errorf("Find without the right = %v, %v", ok, err)
	}
	e = s.Deny(sim.General, 0)
	adaptertest.Eventually(t, s, "told", func() bool { return s.Acked(e.Events[0]) })
	if _, ok, err = a.Find(t.Context(), general(), "other", since); ok || err != nil {
		t.Errorf("Find of what was never sent = %v, %v", ok, err)
	}
}

// The health of a connection names what it lacks in the channels it serves,
// without anything having to fail first, and is clean when it is mended.
func TestHealthNamesMissingRights(t *testing.T) {
	s := newSim(t, sim.Options{})
	a := newAdapter(t, s, func(c *discord.Config) { c.Conversations = func() []string { return []string{sim.General} } })
	s.Deny(sim.Ops, sim.SendMessages) // not served: nothing to say
	s.Deny(sim.General, sim.ReadMessageHistory|sim.SendMessages)
	run(t, s, a, adaptertest.NewRecorder())
	said := func(words ...string) func() bool {
		return func() bool {
			h := a.Health()
			for _, w := range words {
				if !strings.Contains(h.Fix, w) {
					return false
				}
			}
			return h.State == chat.Ready && (len(words) > 0) == (h.Fix != "")
		}
	}
	adaptertest.Soon(t, "both named", said("Send Messages", "Read Message History"))
	s.Deny(sim.General, sim.ReadMessageHistory)
	adaptertest.Soon(t, "one named", func() bool { return said("Read Message History")() && !said("Send Messages")() })
	s.Deny(sim.General, 0)
	adaptertest.Soon(t, "mended", said())
	s.DenyEverywhere(sim.SendMessagesInThreads)
	adaptertest.Soon(t, "the role's", said("Send Messages in Threads"))
	s.Close()
	adaptertest.Soon(t, "gone", func() bool { return a.Health().State == chat.Retrying })
}

// The address of the guide asks for exactly the rights that the simulated bot
// has, with which everything here works.
func TestGuideIsEnough(t *testing.T) {
	raw, err := os.ReadFile("../../docs/guides/discord.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`permissions=([0-9]+)`).FindStringSubmatch(string(raw))
	if m == nil || m[1] != strconv.FormatUint(uint64(sim.Invited), 10) {
		t.Errorf("the guide invites with %q, the simulator's bot was invited with %d", m, sim.Invited)
	}
}
