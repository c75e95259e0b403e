package kernel_test

import (
	"testing"

	"loopx/kernel"
	"loopx/kernel/store"
)

// Leases that ran out are given back, those that run are not, and the old holder
// stays fenced.
func TestEndStaleLeases(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	gone := w.todo("gone", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true}, cli())
	w.pass(60 * 60_000)
	held := w.todo("held", 0)
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: held}, cli())
	got := w.do(&kernel.EndStaleLeases{}, cli())
	if ids := got["leases_ended"].([]any); len(ids) != 1 || ids[0] != gone {
		t.Fatalf("ended: %v", got)
	}
	w.refuse("lease_lost", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Turn: "t1", Todo: gone, NoFollowup: true, Evidence: note("late")}, cli())
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: held, Note: ptr("going on")}, cli())
	before := w.dump()
	if w.do(&kernel.EndStaleLeases{}, cli()); w.dump() != before {
		t.Error("there was nothing left to end, and still something changed")
	}
	w.replays()
}

// What decides is no index: mending it would be deciding.
func TestMendable(t *testing.T) {
	for table, want := range map[string]bool{"ix": true, "n": true, "qo": true, "cx": true, "g": false, "t": false, "q": false, "bl": false, "la": false, "gr": false, "sp": false, "c": false, "j": false, "rc": false, "pp": false, "ib": false} {
		if kernel.Mendable(store.Key(table, "x")) != want {
			t.Errorf("%s: want %v", table, want)
		}
	}
}
