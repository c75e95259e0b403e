package kernel_test

import (
	"testing"

	"loopx/kernel"
)

// tight is a goal with few slots, two todos and three agents.
func tight(t *testing.T, allowed int) (w *world, one, two string) {
	w = newWorld(t)
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"ann", "bob", "cyd"}, Allowed: &allowed}, cli())
	return w, w.todo("one", 1), w.todo("two", 1)
}

// A slot that ran out in the grace of its lease belongs to nobody: handing the
// todo over does not bring it back.
func TestTransferTakesNoSlotThatRanOut(t *testing.T) {
	w, one, two := tight(t, 1)
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: one, LeaseMS: 60_000}, cli())
	w.pass(90_000)
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: two}, cli())
	w.refuse("quota_exhausted", &kernel.TransferTodo{Goal: "site", Agent: "ann", Todo: one, To: "cyd"}, cli())
}

// Handing over within the lease hands over the slot, even when none is free.
func TestTransferTakesTheSlotAlong(t *testing.T) {
	w, one, two := tight(t, 1)
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: one}, cli())
	w.do(&kernel.TransferTodo{Goal: "site", Agent: "ann", Todo: one, To: "cyd"}, cli())
	w.refuse("quota_exhausted", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: two}, cli())
}

// A renewed lease takes along the slot reserved for it.
func TestRenewalKeepsTheSlot(t *testing.T) {
	w, one, two := tight(t, 1)
	half := "half"
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: one}, cli())
	w.pass(40 * 60_000)
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "ann", Todo: one, Note: &half}, cli())
	w.pass(40 * 60_000)
	w.refuse("quota_exhausted", &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: two}, cli())
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: one, Evidence: note("ok")}, cli())
	w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann"}, cli())
}

// A stop gives the reserved slots back; what was delivered stays payable.
func TestStopGivesSlotsBack(t *testing.T) {
	w, one, two := tight(t, 1)
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: one}, cli())
	w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Todo: one, Outcome: kernel.Progress}, cli())
	w.do(&kernel.PauseGoal{Goal: "site"}, cli())
	w.do(&kernel.PauseGoal{Goal: "site", Resume: true}, owner())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: two}, cli())
	w.refuse("quota_exhausted", &kernel.SpendSlot{Goal: "site", Agent: "ann"}, cli())
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: two, ClearClaim: true}, cli())
	w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann"}, cli())
}

// Whoever was taken over stays fenced when the next holder has let go.
func TestTakenOverStaysFenced(t *testing.T) {
	w, one, _ := tight(t, 5)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1"}, cli())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: one, Turn: "t1"}, cli())
	w.pass(47 * 60_000)
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: one}, cli())
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: one, ClearClaim: true}, cli())
	w.refuse("lease_lost", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: one, Turn: "t1", Evidence: note("late")}, cli())
	w.refuse("lease_lost", &kernel.Refresh{Goal: "site", Agent: "ann", Todo: one, Turn: "t1", Outcome: kernel.Progress}, cli())
	// In a new turn it is work for anybody again.
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: one}, cli())
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: one, Evidence: note("ok")}, cli())
}

// A writeback in a turn that is paid already does not hide one that is not.
func TestLateWritebackHidesNoOther(t *testing.T) {
	w, one, _ := tight(t, 5)
	w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Outcome: kernel.Progress}, cli())
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true}, cli())
	w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Turn: "t1", Outcome: kernel.Progress}, cli())
	w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: "t1"}, cli())
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Turn: "t1", Todo: one, Evidence: note("ok")}, cli())
	got := w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann"}, cli())
	if runs := asJSON(got["runs"]); runs != "[1]" {
		t.Fatalf("the spend without a turn pays the runs %s", runs)
	}
	w.refuse("writeback_missing", &kernel.SpendSlot{Goal: "site", Agent: "ann"}, cli())
}

// A human's plan to pay is not made stale by somebody else's command.
func TestPlanOfASpendLasts(t *testing.T) {
	w, _, _ := tight(t, 5)
	w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Outcome: kernel.Progress}, cli())
	cmd, opt := &kernel.SpendSlot{Goal: "site", Agent: "ann"}, cli()
	opt.Preview = true
	rec, err := w.k.Do(t.Context(), cmd, opt)
	if err != nil {
		t.Fatal(err)
	}
	w.todo("unrelated", 3)
	w.pass(1000)
	opt.Preview, opt.Plan = false, rec.Plan
	w.do(cmd, opt)

	watch := &kernel.AddTodo{Goal: "site", Title: "watch", Class: "monitor", CadenceMS: 3_600_000, WatchOnly: true}
	opt = cli()
	opt.Preview = true
	if rec, err = w.k.Do(t.Context(), watch, opt); err != nil {
		t.Fatal(err)
	}
	w.pass(1000)
	opt.Preview, opt.Plan = false, rec.Plan
	w.do(watch, opt)
}
