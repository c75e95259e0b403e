package kernel_test

import (
	"fmt"
	"testing"

	"loopx/kernel"
)

// wakes are the advised intervals of turns that each begin when advised, minutes.
func (w *world) wakes(agent string, n int) []int64 {
	w.t.Helper()
	var out []int64
	for range n {
		w.turns++
		d := w.do(&kernel.OpenTurn{Goal: "site", Agent: agent, Turn: fmt.Sprintf("w%d", w.turns)}, cli())
		at := int64(d["scheduler_hint"].(map[string]any)["next_wake_at"].(float64))
		out = append(out, (at-w.now)/minute)
		w.pass(at - w.now)
	}
	return out
}

// The advice slows down while nothing changes, and begins anew with anything new.
func TestCadence(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	first := w.todo("x", 1)
	if got := fmt.Sprint(w.wakes("ann", 5)); got != "[3 6 10 10 10]" {
		t.Errorf("work: %s", got)
	}
	w.todo("better", 0)
	if got := fmt.Sprint(w.wakes("ann", 2)); got != "[3 6]" {
		t.Errorf("other work: %s", got)
	}
	w.do(&kernel.ConfigureGoal{Goal: "site", Agent: "bob", Mode: "monitor_only"}, owner())
	if got := fmt.Sprint(w.wakes("bob", 5)); got != "[15 30 60 60 60]" {
		t.Errorf("waiting: %s", got)
	}
	_ = first
	w.replays()
}

// Asking more often than advised does not slow the advice, nor does asking
// without a turn, nor a clock that is set back.
func TestCadenceNeedsAWholeInterval(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.todo("x", 1)
	w.wakes("ann", 1)
	w.now -= 3 * minute // it came back at once, by the wall clock
	for i := range 5 {
		d := w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: fmt.Sprintf("q%d", i)}, cli())
		if at := int64(d["scheduler_hint"].(map[string]any)["next_wake_at"].(float64)); at-w.now != 3*minute {
			t.Fatalf("question %d: %d minutes", i, (at-w.now)/minute)
		}
		w.pass(20_000)
		w.decide("ann")
	}
	w.now -= 10 * 365 * 24 * hour
	if d := w.decide("ann"); d.Scheduler.NextWake-w.now != 3*minute {
		t.Fatalf("after the clock was set back: %d ms", d.Scheduler.NextWake-w.now)
	}
}

// The next look of a watch is never slept past.
func TestCadenceIsCappedByLooks(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.do(&kernel.AddTodo{Goal: "site", Title: "watch", Class: kernel.Monitor, CadenceMS: 5 * minute, WatchOnly: true}, cli())
	if got := fmt.Sprint(w.wakes("ann", 1)); got != "[5]" {
		t.Errorf("a look in five minutes: %s", got)
	}
}

// An acknowledgement settles the advice and moves nothing; one for advice that
// has changed is refused.
func TestScheduleAck(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.todo("x", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1"}, cli())
	h := w.decide("ann").Scheduler
	if h.Ack == nil || h.Token == "" || h.RRule != "FREQ=MINUTELY;INTERVAL=3" {
		t.Fatalf("%s", asJSON(h))
	}
	ack := &kernel.AckSchedule{Goal: "site", Agent: "ann", RRule: h.RRule, Token: h.Token}
	w.refuse("rrule_differs", &kernel.AckSchedule{Goal: "site", Agent: "ann", RRule: "FREQ=MINUTELY;INTERVAL=5", Token: h.Token}, cli())
	w.refuse("schedule_changed", &kernel.AckSchedule{Goal: "site", Agent: "ann", RRule: h.RRule, Token: "0"}, cli())
	if got := w.do(ack, cli()); got["settled"] != true || got["already_applied"] != false {
		t.Fatalf("%v", got)
	}
	if got := w.do(ack, cli()); got["already_applied"] != true {
		t.Fatalf("again: %v", got)
	}
	if now := w.decide("ann").Scheduler; now.Ack != nil || now.NextWake != h.NextWake || now.RRule != h.RRule {
		t.Fatalf("after it: %s", asJSON(now))
	}
	w.pass(3 * minute)
	if now := w.decide("ann").Scheduler; now.Ack == nil || now.RRule != "FREQ=MINUTELY;INTERVAL=6" {
		t.Fatalf("the next step is acknowledged anew: %s", asJSON(now))
	}
	w.do(&kernel.PauseGoal{Goal: "site"}, cli())
	w.refuse("no_schedule", &kernel.AckSchedule{Goal: "site", Agent: "ann", RRule: h.RRule}, cli())
	w.replays()
}
