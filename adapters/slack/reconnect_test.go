package slack_test

import (
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/slack"
	sim "loopx/fixtures/sim/slack"
)

// B08: sockets that open and drop at once are no reason for a hot loop, and
// there is never more than one.
func TestFlappingIsPaced(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	s.FlapSockets(6)
	a, sink := newAdapter(t, s, func(c *slack.Config) {
		c.Timing.RetryMin, c.Timing.RetryMax = 40*time.Millisecond, 160*time.Millisecond
	}), adaptertest.NewRecorder()
	began := time.Now()
	adaptertest.Start(t, a, sink)
	said := s.Say("U0WEI", "C0GEN", "after the storm")
	adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(said.Envelopes[0]) })
	// Pauses of at least half of 40, 80, 160, 160, 160, 160 ms lie before the 7th.
	if d := time.Since(began); d < 380*time.Millisecond {
		t.Errorf("seven connections in %v", d)
	}
	if open, ever := s.Connections(); open != 1 || ever != 7 {
		t.Errorf("%d open of %d ever", open, ever)
	}
}

func TestComesBack(t *testing.T) {
	tests := map[string]func(*sim.Server){
		"drop":           func(s *sim.Server) { s.DropSockets() },
		"disconnect":     func(s *sim.Server) { s.Disconnect("warning") },
		"half open":      func(s *sim.Server) { s.HalfOpen() }, // B07
		"refused socket": func(s *sim.Server) { s.RefuseSockets(2); s.DropSockets() },
		"5xx on open": func(s *sim.Server) {
			s.Inject(sim.Fault{Method: "apps.connections.open", Kind: sim.FaultStatus, Status: 503, Times: 2})
			s.DropSockets()
		},
		"429 on open": func(s *sim.Server) {
			s.Inject(sim.Fault{Method: "apps.connections.open", Kind: sim.FaultRateLimit, For: 0, Times: 1})
			s.DropSockets()
		},
	}
	for name, hurt := range tests {
		t.Run(name, func(t *testing.T) {
			s := sim.New(sim.Options{PingEvery: 20 * time.Millisecond})
			t.Cleanup(s.Close)
			a, sink := newAdapter(t, s, func(c *slack.Config) { c.Timing.Ping = 150 * time.Millisecond }), adaptertest.NewRecorder()
			adaptertest.Start(t, a, sink)
			first := s.Say("U0WEI", "C0GEN", "first")
			adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(first.Envelopes[0]) })
			hurt(s)
			adaptertest.Eventually(t, s, "another connection", func() bool { _, ever := s.Connections(); return ever > 1 })
			second := s.Say("U0WEI", "C0GEN", "second")
			adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(second.Envelopes[0]) })
			adaptertest.Eventually(t, s, "one connection", func() bool { open, _ := s.Connections(); return open == 1 })
		})
	}
}

// B09: a quiet workspace is alive as long as pings come.
func TestQuietIsAlive(t *testing.T) {
	s := sim.New(sim.Options{PingEvery: 10 * time.Millisecond})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s, func(c *slack.Config) { c.Timing.Ping = 100 * time.Millisecond }), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	adaptertest.Eventually(t, s, "connection", func() bool { n, _ := s.Connections(); return n == 1 })
	first := a.Health().LastFrame
	deadline := time.After(5 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for a.Health().LastFrame < first+300 { // three watchdog periods
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("pings do not count as life")
		}
	}
	if _, ever := s.Connections(); ever != 1 {
		t.Errorf("%d connections in a quiet workspace", ever)
	}
	if h := a.Health(); h.State != chat.Ready || h.LastEvent != 0 {
		t.Errorf("health %+v", h)
	}
}

func TestAnotherHolderIsNoticed(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	s.OtherConnections(1)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	wait := func(want chat.HealthState) {
		t.Helper()
		deadline := time.After(10 * time.Second)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for a.Health().State != want {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("health is %+v, want %s", a.Health(), want)
			}
		}
	}
	wait(chat.Contested)
	if h := a.Health(); h.Fix == "" {
		t.Errorf("no fix in %+v", h)
	}
	s.OtherConnections(0)
	wait(chat.Ready)
}

// A dead token ends Run; the next Run with a good one works.
func TestRevokedAndRestored(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	s.Revoke("account_inactive")
	err := a.Run(t.Context(), sink)
	if chat.KindOf(err) != chat.Auth || a.Health().State != chat.Failed || a.Health().Fix == "" {
		t.Fatalf("Run = %v, health %+v", err, a.Health())
	}
	s.Restore()
	adaptertest.Start(t, a, sink)
	said := s.Say("U0WEI", "C0GEN", "again")
	adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(said.Envelopes[0]) })
}

// Requests and websocket go through the proxy that the HTTP client names.
func TestThroughAProxy(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	p := adaptertest.NewProxy(t)
	a, sink := newAdapter(t, s, func(c *slack.Config) { c.HTTPClient = p.Client(t) }), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	adaptertest.Eventually(t, s, "a socket", func() bool { n, _ := s.Connections(); return n == 1 })
	s.Say("U0WEI", "C0GEN", "hello")
	sink.Next(t, adaptertest.Said("hello"))
	if _, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Connection: "work", Conversation: "C0GEN"}, Text: "x"}); err != nil {
		t.Error(err)
	}
	if requests, tunnels := p.Used(); requests < 2 || tunnels != 1 {
		t.Errorf("%d requests and %d tunnels went through the proxy", requests, tunnels)
	}
}
