package discord_test

import (
	"fmt"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/discord"
	sim "loopx/fixtures/sim/discord"
)

// What is said while the link is down comes once the session is resumed, and
// nothing comes twice.
func TestComesBack(t *testing.T) {
	tests := map[string]struct {
		hurt   func(*sim.Server)
		resume bool
	}{
		"drop":              {func(s *sim.Server) { s.DropSockets() }, true},
		"op 7":              {func(s *sim.Server) { s.Reconnect() }, true},
		"op 9 resumable":    {func(s *sim.Server) { s.InvalidSession(true) }, true},
		"op 9":              {func(s *sim.Server) { s.InvalidSession(false) }, false},
		"closed with 4000":  {func(s *sim.Server) { s.CloseSockets(4000) }, true},
		"closed with 1001":  {func(s *sim.Server) { s.CloseSockets(1001) }, true},
		"session timed out": {func(s *sim.Server) { s.EndSessions(); s.CloseSockets(4009) }, false},
		"bad sequence":      {func(s *sim.Server) { s.EndSessions(); s.CloseSockets(4007) }, false},
		"half open":         {func(s *sim.Server) { s.HalfOpen() }, true}, // B07
		"zombie":            {func(s *sim.Server) { s.MuteAcks(1) }, true},
		"resume refused":    {func(s *sim.Server) { s.RefuseResume(1); s.DropSockets() }, false},
		"refused sockets":   {func(s *sim.Server) { s.RefuseSockets(2); s.DropSockets() }, true},
		"flapping":          {func(s *sim.Server) { s.FlapSockets(3); s.DropSockets() }, true},
		"5xx on the address": {func(s *sim.Server) {
			s.EndSessions()
			s.Inject(sim.Fault{Method: "gateway.bot", Kind: sim.FaultStatus, Status: 503, Times: 2})
			s.DropSockets()
		}, false},
		"429 on the address": {func(s *sim.Server) {
			s.EndSessions()
			s.Inject(sim.Fault{Method: "gateway.bot", Kind: sim.FaultRateLimit, For: 50 * time.Millisecond})
			s.DropSockets()
		}, false},
		"page on the address": {func(s *sim.Server) {
			s.EndSessions()
			s.Inject(sim.Fault{Method: "gateway.bot", Kind: sim.FaultHTML})
			s.DropSockets()
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, sim.Options{HeartbeatEvery: 60 * time.Millisecond})
			a, sink := newAdapter(t, s), adaptertest.NewRecorder()
			run(t, s, a, sink)
			s.Say(sim.Wei, sim.General, "first")
			sink.Next(t, adaptertest.Said("first"))
			tt.hurt(s)
			s.Say(sim.Wei, sim.General, "meanwhile") // lost, or kept by the session, or in the history
			adaptertest.Eventually(t, s, "another connection", func() bool { _, ever := s.Connections(); return ever > 1 && s.Listening() })
			adaptertest.Soon(t, "ready again", func() bool { return a.Health().State == chat.Ready })
			sink.Next(t, adaptertest.Said("meanwhile"))
			s.Say(sim.Ana, sim.General, "after")
			sink.Next(t, adaptertest.Said("after"))
			for _, text := range []string{"first", "meanwhile", "after"} {
				n := 0
				for _, e := range sink.All() {
					if adaptertest.Said(text)(e) {
						n++
					}
				}
				if n != 1 {
					t.Errorf("%q came %d times", text, n)
				}
			}
			identifies, resumes := s.Identifies()
			if tt.resume && identifies != 1 || !tt.resume && identifies != 2 || tt.resume && resumes == 0 {
				t.Errorf("%d identifies, %d resumes", identifies, resumes)
			}
			adaptertest.Eventually(t, s, "one connection", func() bool { open, _ := s.Connections(); return open == 1 })
			if n := s.BadFrames(); n != 0 {
				t.Errorf("%d frames that the gateway closes for", n)
			}
		})
	}
}

// B08, K10: sockets that open and drop at once are no reason for a hot loop.
func TestFlappingIsPaced(t *testing.T) {
	s := newSim(t, sim.Options{})
	s.FlapSockets(6)
	a, sink := newAdapter(t, s, func(c *discord.Config) {
		c.Timing.RetryMin, c.Timing.RetryMax = 40*time.Millisecond, 160*time.Millisecond
	}), adaptertest.NewRecorder()
	began := time.Now()
	run(t, s, a, sink)
	adaptertest.Eventually(t, s, "the seventh", func() bool { _, ever := s.Connections(); return ever == 7 && s.Listening() })
	// Pauses of at least half of 40, 80, 160, 160, 160, 160 ms lie before the 7th.
	if d := time.Since(began); d < 380*time.Millisecond {
		t.Errorf("seven connections in %v", d)
	}
	if open, ever := s.Connections(); open != 1 || ever < 7 {
		t.Errorf("%d open of %d ever", open, ever)
	}
}

// K10: a crash loop does not burn the day's identifies; the last fifth is spread
// over what is left of the day, and with none left nothing is tried.
func TestIdentifyBudget(t *testing.T) {
	s := newSim(t, sim.Options{Identifies: 10, IdentifyReset: 400 * time.Millisecond})
	var times []time.Time
	for range 10 { // ten processes, one after the other
		a := newAdapter(t, s)
		stop := run(t, s, a, adaptertest.NewRecorder())
		times = append(times, time.Now())
		stop()
		adaptertest.Eventually(t, s, "closed", func() bool { n, _ := s.Connections(); return n == 0 })
	}
	if d := times[9].Sub(times[8]); d < 350*time.Millisecond {
		t.Errorf("the last identify came %v after the one before", d)
	}
	a := newAdapter(t, s)
	done := make(chan error, 1)
	go func() { done <- a.Run(t.Context(), adaptertest.NewRecorder()) }()
	adaptertest.Soon(t, "said", func() bool { h := a.Health(); return h.State == chat.Retrying && h.Fix != "" })
	if n, _ := s.Identifies(); n != 10 {
		t.Errorf("%d identifies of 10", n)
	}
	t.Cleanup(func() { <-done })
}

// B09: a quiet server is alive as long as heartbeats are answered.
func TestQuietIsAlive(t *testing.T) {
	s := newSim(t, sim.Options{HeartbeatEvery: 20 * time.Millisecond})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	run(t, s, a, sink)
	adaptertest.Soon(t, "ready", func() bool { return a.Health().State == chat.Ready })
	first := a.Health().LastFrame
	adaptertest.Soon(t, "heartbeats count as life", func() bool { return a.Health().LastFrame >= first+200 })
	s.AskHeartbeat()
	if _, ever := s.Connections(); ever != 1 || a.Health().State != chat.Ready || a.Health().LastEvent != 0 {
		t.Errorf("%d connections, health %+v", ever, a.Health())
	}
}

// A dead token ends Run; the next Run with a good one works.
func TestRevokedAndRestored(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	s.Revoke()
	err := a.Run(t.Context(), sink)
	if chat.KindOf(err) != chat.Auth || a.Health().State != chat.Failed || a.Health().Fix == "" {
		t.Fatalf("Run = %v, health %+v", err, a.Health())
	}
	s.Restore()
	run(t, s, a, sink)
	s.Say(sim.Wei, sim.General, "again")
	sink.Next(t, adaptertest.Said("again"))
}

// Fatal close codes end Run with what mends them, after one connection.
func TestFatalCloseCodes(t *testing.T) {
	for code, want := range map[int]chat.ErrorKind{4004: chat.Auth, 4010: chat.Invalid, 4011: chat.Invalid, 4012: chat.Invalid, 4013: chat.Invalid, 4014: chat.Auth} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s := newSim(t, sim.Options{})
			a := newAdapter(t, s)
			done := make(chan error, 1)
			go func() { done <- a.Run(t.Context(), adaptertest.NewRecorder()) }()
			adaptertest.Eventually(t, s, "a session", s.Listening)
			s.CloseSockets(code)
			select {
			case err := <-done:
				if chat.KindOf(err) != want || err == nil {
					t.Errorf("Run = %v, want %s", err, want)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("Run goes on")
			}
			if _, ever := s.Connections(); ever != 1 {
				t.Errorf("%d connections", ever)
			}
		})
	}
}

// B02: two dispatches of one message reach the sink with one id; the sink's
// claim decides. B05: so do history and a late dispatch.
func TestOneMessageHasOneID(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s, func(c *discord.Config) {
		c.Conversations = func() []string { return []string{sim.General, "no id", sim.General} }
	}), adaptertest.NewRecorder()
	s.Say(sim.Wei, sim.General, "while away") // no session: only the history has it
	run(t, s, a, sink)
	e := sink.Next(t, adaptertest.Said("while away"))
	if e.Private || e.ID != "message:"+e.Message.ID || e.Place.Connection != "work" {
		t.Errorf("from the history: %+v", e)
	}
	s.Duplicate(1)
	s.Say(sim.Wei, sim.General, "twice")
	s.Say(sim.Wei, sim.General, "end")
	sink.Next(t, adaptertest.Said("end"))
	ids := map[string]int{}
	for _, e := range sink.All() {
		if adaptertest.Said("twice")(e) {
			ids[e.ID]++
		}
	}
	if len(ids) != 1 {
		t.Errorf("ids %v", ids)
	}
	if n := len(s.Calls("messages.list")); n != 1 {
		t.Errorf("the history was read %d times", n)
	}
}

// A Run that ended with a failure knows where it was: the next one reads on.
func TestNextRunReadsOn(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	stop := run(t, s, a, sink)
	s.Say(sim.Wei, s.DM(sim.Wei), "first")
	sink.Next(t, adaptertest.Said("first"))
	stop()
	adaptertest.Eventually(t, s, "closed", func() bool { n, _ := s.Connections(); return n == 0 })
	for i := range 120 { // more than a page
		s.Say(sim.Wei, s.DM(sim.Wei), fmt.Sprintf("away %03d", i))
	}
	s.Inject(sim.Fault{Method: "messages.list", Kind: sim.FaultStatus, Status: 503, Times: 2})
	run(t, s, a, sink)
	s.Say(sim.Wei, s.DM(sim.Wei), "back")
	sink.Next(t, adaptertest.Said("back"))
	var got []string
	for _, e := range sink.All() {
		if !e.Private {
			t.Errorf("%q is not private", e.Message.Text)
		}
		got = append(got, e.Message.Text)
	}
	// "back" is in the last page too; the sink knows it by its id.
	if len(got) < 122 || got[1] != "away 000" || got[120] != "away 119" || got[121] != "back" {
		t.Errorf("%d events: %v", len(got), got)
	}
}

// Requests and websocket go through the proxy that the HTTP client names.
func TestThroughAProxy(t *testing.T) {
	s := newSim(t, sim.Options{})
	p := adaptertest.NewProxy(t)
	a, sink := newAdapter(t, s, func(c *discord.Config) { c.HTTPClient = p.Client(t) }), adaptertest.NewRecorder()
	run(t, s, a, sink)
	s.Say(sim.Wei, sim.General, "hello")
	sink.Next(t, adaptertest.Said("hello"))
	if _, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Connection: "work", Conversation: sim.General}, Text: "x"}); err != nil {
		t.Error(err)
	}
	if requests, tunnels := p.Used(); requests < 2 || tunnels != 1 {
		t.Errorf("%d requests and %d tunnels went through the proxy", requests, tunnels)
	}
}
