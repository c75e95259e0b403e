package kernel_test

import (
	"testing"

	"loopx/kernel"
)

// A payment that is taken back no longer counts, once, and only by an owner.
func TestVoid(t *testing.T) {
	w := newWorld(t)
	two := 2
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"a"}, Allowed: &two}, cli())
	w.todo("x", 1)
	var ids []uint64
	for _, turn := range []string{"t1", "t2"} {
		w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: turn, Claim: true}, cli())
		got := w.do(&kernel.CommitTurn{Goal: "site", Agent: "a", Turn: turn, Refresh: &kernel.Refresh{Outcome: kernel.Progress}}, cli())
		ids = append(ids, uint64(got["spend_id"].(float64)))
		w.pass(hour)
	}
	if d := w.decide("a"); d.Rule != "R11" {
		t.Fatalf("both slots are spent: %s", d.Rule)
	}
	void := &kernel.VoidSlot{Goal: "site", Spend: ids[0], Reason: "the check was wrong"}
	w.refuse("owner_only", void, cli())
	w.refuse("spend_not_found", &kernel.VoidSlot{Goal: "site", Spend: 999, Reason: "x"}, owner())
	w.do(void, owner())
	if r, err := w.k.Do(t.Context(), void, owner()); err != nil || r.Changed {
		t.Fatalf("again: %+v %v", r, err)
	}
	if d := w.decide("a"); d.Rule != "R12" || d.Quota.Spent != 1 {
		t.Fatalf("after the void: %s, %d spent", d.Rule, d.Quota.Spent)
	}
	w.pass(22*hour + hour/2) // the voided payment leaves the window, the other one stays
	if d := w.decide("a"); d.Quota.Spent != 1 {
		t.Fatalf("a day after the first: %d spent", d.Quota.Spent)
	}
	w.pass(hour)
	if d := w.decide("a"); d.Quota.Spent != 0 {
		t.Fatalf("a day after both: %d spent", d.Quota.Spent)
	}
	w.replays()
}

// What was taken back frees no slot when it leaves the window: the next one frees
// with the oldest payment that counts.
func TestNextSlotAfterAVoid(t *testing.T) {
	w := newWorld(t)
	two := 2
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"a"}, Allowed: &two}, cli())
	w.todo("x", 1)
	var ids []uint64
	pay := func(turn string) {
		w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: turn, Claim: true}, cli())
		got := w.do(&kernel.CommitTurn{Goal: "site", Agent: "a", Turn: turn, Refresh: &kernel.Refresh{Outcome: kernel.Progress}}, cli())
		ids = append(ids, uint64(got["spend_id"].(float64)))
	}
	pay("t1")
	w.pass(hour)
	second := w.now
	pay("t2")
	w.pass(hour)
	w.do(&kernel.VoidSlot{Goal: "site", Spend: ids[0], Reason: "the check was wrong"}, owner())
	pay("t3")
	if d := w.decide("a"); d.Rule != "R11" || d.Quota.NextFree != second+24*hour {
		t.Errorf("%s, the next slot frees at %d, want %d", d.Rule, d.Quota.NextFree, second+24*hour)
	}
}
