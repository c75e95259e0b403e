package slack_test

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	sim "loopx/fixtures/sim/slack"
)

// N3: the platform asks for a new connection, again and again, while people write.
// Every message is pushed and taken, none of them from the past and none lost. 200
// times with LOOPX_ROUNDS.
func TestRecyclesUnderTraffic(t *testing.T) {
	times := 8
	if n, err := strconv.Atoi(os.Getenv("LOOPX_ROUNDS")); err == nil {
		times = min(n, 200)
	}
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	adaptertest.Eventually(t, s, "a connection", func() bool { n, _ := s.Connections(); return n == 1 })
	var wg sync.WaitGroup
	stop := make(chan struct{})
	said := map[string]bool{}
	wg.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-tick.C:
				said[s.Say("U0WEI", "C0GEN", fmt.Sprint("message ", i)).TS] = true
			}
		}
	})
	for n := range times {
		_, before := s.Connections()
		s.Disconnect("refresh_requested")
		adaptertest.Eventually(t, s, fmt.Sprint("connection ", n+2), func() bool { _, ever := s.Connections(); return ever > before })
		adaptertest.Eventually(t, s, "one connection", func() bool { open, _ := s.Connections(); return open == 1 })
	}
	close(stop)
	wg.Wait()
	heard := func() map[string]int {
		out := map[string]int{}
		for _, e := range sink.All() {
			if e.Message != nil && !e.History {
				out[e.Message.ID]++
			}
		}
		return out
	}
	adaptertest.Soon(t, "every message", func() bool { return len(heard()) >= len(said) })
	again := 0
	for id, n := range heard() {
		if !said[id] {
			t.Errorf("nobody said %s", id)
		}
		again += n - 1
	}
	for _, e := range sink.All() {
		if e.History {
			t.Errorf("%q was read from the past: the bot was deaf", e.Message.Text)
		}
	}
	t.Logf("%d recycles, %d messages, 0 lost, %d pushed twice", times, len(said), again)
}
