package lark_test

import (
	"sync"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/lark"
	sim "loopx/fixtures/sim/lark"
)

// Somebody presses a button again and again. The card cannot be changed between the
// answers (B21), but whoever writes is told so in time and can go on with others;
// once it is quiet the change goes through.
func TestHammeredCardHoldsUpNobody(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s, func(c *lark.Config) { c.Timing.Accept, c.Timing.Settle = 200*time.Millisecond, 100*time.Millisecond }), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	connected(t, s)
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: place("oc_gen"), Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				if _, err := s.PressButton("ou_wei", ref.Message, "Publish"); err != nil {
					t.Error(err)
				}
			}
		}
	})
	sink.Next(t, adaptertest.Kind(chat.CardPressed))
	change := func() error {
		return a.Update(t.Context(), ref, chat.Outgoing{Card: &chat.Card{State: chat.CardDecided, Title: "done"}})
	}
	began := time.Now()
	err = change()
	if chat.KindOf(err) != chat.Temporary {
		t.Errorf("the change of a card that is pressed all the time: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it was refused after %v", took)
	}
	close(stop)
	wg.Wait()
	adaptertest.Soon(t, "the change", func() bool { return change() == nil })
}
