package lark_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/lark"
	sim "loopx/fixtures/sim/lark"
)

// Sockets that open and drop at once are no reason for a hot loop, and there is
// never more than one.
func TestFlappingIsPaced(t *testing.T) {
	s := newSim(t, sim.Options{})
	s.FlapSockets(6)
	a, sink := newAdapter(t, s, func(c *lark.Config) {
		c.Timing.RetryMin, c.Timing.RetryMax = 40*time.Millisecond, 160*time.Millisecond
	}), adaptertest.NewRecorder()
	began := time.Now()
	adaptertest.Start(t, a, sink)
	acked(t, s, s.Say("ou_wei", "oc_gen", "after the storm"))
	// Pauses of at least half of 40, 80, 160, 160, 160, 160 ms lie before the 7th.
	if d := time.Since(began); d < 380*time.Millisecond {
		t.Errorf("seven connections in %v", d)
	}
	if open, ever := s.Connections(); open != 1 || ever != 7 {
		t.Errorf("%d open of %d ever", open, ever)
	}
}

func TestComesBack(t *testing.T) {
	for name, hurt := range map[string]func(*sim.Server){
		"drop":           func(s *sim.Server) { s.DropSockets() },
		"half open":      func(s *sim.Server) { s.HalfOpen() }, // B10
		"refused socket": func(s *sim.Server) { s.RefuseSockets(2); s.DropSockets() },
		"busy":           func(s *sim.Server) { s.Busy(2); s.DropSockets() },
		"internal error": func(s *sim.Server) {
			s.Inject(sim.Fault{Method: "ws.endpoint", Kind: sim.FaultError, Code: 1000040343})
			s.DropSockets()
		},
		"5xx on discovery": func(s *sim.Server) {
			s.Inject(sim.Fault{Method: "ws.endpoint", Kind: sim.FaultStatus, Status: 503, Times: 2})
			s.DropSockets()
		},
		"429 on discovery": func(s *sim.Server) {
			s.Inject(sim.Fault{Method: "ws.endpoint", Kind: sim.FaultRateLimit, For: time.Second})
			s.DropSockets()
		},
		"discovery without data": func(s *sim.Server) {
			s.Inject(sim.Fault{Method: "ws.endpoint", Kind: sim.FaultNoData})
			s.DropSockets()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, sim.Options{})
			a, sink := newAdapter(t, s, func(c *lark.Config) { c.Timing.Pong = 150 * time.Millisecond }), adaptertest.NewRecorder()
			adaptertest.Start(t, a, sink)
			acked(t, s, s.Say("ou_wei", "oc_gen", "first"))
			hurt(s)
			adaptertest.Eventually(t, s, "another connection", func() bool { _, ever := s.Connections(); return ever > 1 })
			acked(t, s, s.Say("ou_wei", "oc_gen", "second"))
			adaptertest.Eventually(t, s, "one connection", func() bool { open, _ := s.Connections(); return open == 1 })
		})
	}
}

// What no retry lifts ends Run with the fix named.
func TestPermanentRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		hurt func(*sim.Server)
		code string
	}{
		"banned":       {func(s *sim.Server) { s.Ban(1) }, "handshake_403"},
		"51st":         {func(s *sim.Server) { s.TooManyConnections(1) }, "handshake_1000040350"},
		"wrong secret": {func(s *sim.Server) { s.Revoke() }, "10014"},
		"refused": {func(s *sim.Server) {
			s.Inject(sim.Fault{Method: "ws.endpoint", Kind: sim.FaultError, Code: 403})
		}, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, sim.Options{})
			tt.hurt(s)
			a := newAdapter(t, s)
			err := a.Run(t.Context(), adaptertest.NewRecorder())
			e, ok := errors.AsType[*chat.Error](err)
			if !ok || e.Kind != chat.Auth || e.Code != tt.code || e.Fix == "" {
				t.Errorf("Run = %#v", e)
			}
			if h := a.Health(); h.State != chat.Failed || h.Fix == "" {
				t.Errorf("health %+v", h)
			}
			s.Restore()
			sink := adaptertest.NewRecorder()
			adaptertest.Start(t, a, sink) // and it works again
			acked(t, s, s.Say("ou_wei", "oc_gen", "again"))
		})
	}
}

// A quiet tenant is alive as long as pongs come; B12: it says that no event ever
// arrived.
func TestB12QuietIsAliveAndSaysSo(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s, func(c *lark.Config) { c.Timing.Ping, c.Timing.Pong = 10*time.Millisecond, 400*time.Millisecond }), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	connected(t, s)
	first := a.Health().LastFrame
	deadline := time.After(5 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for a.Health().LastFrame < first+900 { // two deadlines
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("pongs do not count as life")
		}
	}
	if _, ever := s.Connections(); ever != 1 {
		t.Errorf("%d connections in a quiet tenant", ever)
	}
	if h := a.Health(); h.State != chat.Ready || h.LastEvent != 0 || h.Detail == "" || h.Fix == "" {
		t.Errorf("health %+v", h)
	}
	acked(t, s, s.Say("ou_wei", "oc_gen", "hello"))
	if h := a.Health(); h.Detail != "" || h.LastEvent == 0 {
		t.Errorf("health %+v", h)
	}
}

// A pong that holds half a configuration is no ping storm.
func TestOddPongs(t *testing.T) {
	for _, payload := range []string{"{}", `{"PingInterval":0}`, "no json", "[]"} {
		s := newSim(t, sim.Options{PingInterval: time.Hour})
		s.PongPayload([]byte(payload))
		a, sink := newAdapter(t, s, func(c *lark.Config) { c.Timing.Ping = 0 }), adaptertest.NewRecorder()
		adaptertest.Start(t, a, sink)
		connected(t, s)
		for i := range 20 {
			acked(t, s, s.Say("ou_wei", "oc_gen", fmt.Sprint(i)))
		}
		if n := s.Pings(); n > 2 {
			t.Errorf("%s: %d pings", payload, n)
		}
	}
}

func TestBurst(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	var last sim.Sent
	for i := range 4000 {
		last = s.Say("ou_wei", []string{"oc_gen", "oc_ops"}[i%2], fmt.Sprintf("%04d", i))
	}
	acked(t, s, last)
	adaptertest.Eventually(t, s, "all", func() bool { return len(sink.All()) == 4000 })
	next := map[string]string{}
	for _, e := range sink.All() {
		if e.Message.Text <= next[e.Place.Conversation] {
			t.Fatalf("%s came after %s", e.Message.Text, next[e.Place.Conversation])
		}
		next[e.Place.Conversation] = e.Message.Text
	}
}

// In a burst the last waits far longer than one event may take; none is refused.
func TestSlowBurstIsStored(t *testing.T) {
	s := newSim(t, sim.Options{AckWithin: time.Minute})
	a, sink := newAdapter(t, s, func(c *lark.Config) { c.Timing.Accept = 500 * time.Millisecond }), adaptertest.NewRecorder()
	sink.Answer = func(ctx context.Context, _ chat.Event) (chat.Answer, error) {
		slow, stop := context.WithTimeout(ctx, 20*time.Millisecond)
		defer stop()
		<-slow.Done()
		return chat.Answer{}, ctx.Err()
	}
	adaptertest.Start(t, a, sink)
	var all []sim.Sent
	for i := range 40 {
		all = append(all, s.Say("ou_wei", "oc_gen", fmt.Sprint(i)))
	}
	for _, sent := range all {
		acked(t, s, sent)
	}
	if n := len(sink.All()); n != 40 {
		t.Errorf("%d deliveries", n)
	}
}

// What is being stored when the end comes is acknowledged.
func TestStopAcknowledgesWhatIsStored(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	entered, release := make(chan struct{}), make(chan struct{})
	sink.Answer = func(context.Context, chat.Event) (chat.Answer, error) {
		close(entered)
		<-release
		return chat.Answer{}, nil
	}
	stop := adaptertest.Start(t, a, sink)
	sent := s.Say("ou_wei", "oc_gen", "in flight")
	<-entered
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	adaptertest.Eventually(t, s, "still connected", func() bool { n, _ := s.Connections(); return n == 1 })
	close(release)
	<-stopped
	acked(t, s, sent)
}

// An event that could not be stored is refused, and comes again.
func TestRefusedEventComesAgain(t *testing.T) {
	s := newSim(t, sim.Options{Redeliver: []time.Duration{0, 0, 0, 0}})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	n := 0
	sink.Answer = func(context.Context, chat.Event) (chat.Answer, error) {
		if n++; n < 3 {
			return chat.Answer{}, errors.New("the disk is full")
		}
		return chat.Answer{}, nil
	}
	adaptertest.Start(t, a, sink)
	sent := s.Say("ou_wei", "oc_gen", "keep me")
	acked(t, s, sent)
	if codes := fmt.Sprint(s.Envelopes()[0].Codes); codes != "[500 500 200]" {
		t.Errorf("codes %s", codes)
	}
}

// Requests and websocket go through the proxy that the HTTP client names.
func TestThroughAProxy(t *testing.T) {
	s := newSim(t, sim.Options{})
	p := adaptertest.NewProxy(t)
	a, sink := newAdapter(t, s, func(c *lark.Config) { c.HTTPClient = p.Client(t) }), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	connected(t, s)
	s.Say("ou_wei", "oc_gen", "hello")
	sink.Next(t, adaptertest.Said("hello"))
	if _, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Connection: "work", Conversation: "oc_gen"}, Text: "x"}); err != nil {
		t.Error(err)
	}
	if requests, tunnels := p.Used(); requests < 2 || tunnels != 1 {
		t.Errorf("%d requests and %d tunnels went through the proxy", requests, tunnels)
	}
}
