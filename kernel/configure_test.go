package kernel_test

import (
	"strings"
	"testing"

	"loopx/kernel"
)

// An owner's change of course reaches every agent once, first thing.
func TestConfigureReachesAgents(t *testing.T) {
	w := newWorld(t)
	w.goal("builder", "writer")
	w.todo("x", 1)
	goal := "Ship the pricing page and the FAQ"
	change := &kernel.ConfigureGoal{Goal: "site", Objective: &goal}
	w.refuse("owner_only", change, cli())
	w.do(change, owner())
	if r, err := w.k.Do(t.Context(), change, owner()); err != nil || r.Changed {
		t.Fatalf("the same again: %+v %v", r, err)
	}
	told := func(agent, turn string) bool {
		d := w.do(&kernel.OpenTurn{Goal: "site", Agent: agent, Turn: turn}, cli())
		first, _ := d["interaction_contract"].(map[string]any)["agent_channel"].(map[string]any)["read_first"].([]any)
		return len(first) == 1 && strings.Contains(first[0].(string), goal)
	}
	for _, a := range []string{"builder", "writer"} {
		if !told(a, "t1") {
			t.Errorf("%s was not told", a)
		}
		if told(a, "t2") {
			t.Errorf("%s was told twice", a)
		}
	}
	w.do(&kernel.RegisterAgent{Goal: "site", Agent: "newcomer"}, cli())
	if told("newcomer", "t1") {
		t.Error("a new agent reads the goal as it is; it was told of a change")
	}
	w.replays()
}

// The causes of a pause are independent.
func TestQuotaZeroAndStop(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	w.todo("x", 1)
	zero, some := 0, 5
	w.do(&kernel.ConfigureGoal{Goal: "site", Allowed: &zero}, owner())
	w.do(&kernel.PauseGoal{Goal: "site"}, cli())
	w.do(&kernel.PauseGoal{Goal: "site", Resume: true}, owner())
	if d := w.decide("builder"); d.Rule != "R01" {
		t.Fatalf("quota zero alone: %s", d.Rule)
	}
	w.do(&kernel.ConfigureGoal{Goal: "site", Allowed: &some}, owner())
	if d := w.decide("builder"); d.Rule != "R12" {
		t.Fatalf("with slots again: %s", d.Rule)
	}
	w.do(&kernel.ConfigureGoal{Goal: "site", Agent: "builder", Mode: "monitor_only"}, owner())
	if d := w.decide("builder"); d.ShouldRun {
		t.Fatalf("an agent that only watches is given work: %s", d.Rule)
	}
	w.replays()
}

// A claim and its lease are handed over in one step; the old holder is fenced.
func TestTransfer(t *testing.T) {
	w := newWorld(t)
	one := 1
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"a", "b", "c"}, Allowed: &one}, cli())
	id := w.todo("x", 1)
	w.refuse("not_claimed", &kernel.TransferTodo{Goal: "site", Todo: id, Agent: "a", To: "b"}, cli())
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t1", Claim: true}, cli())
	w.refuse("lease_held", &kernel.TransferTodo{Goal: "site", Todo: id, Agent: "c", To: "b"}, cli())
	w.do(&kernel.TransferTodo{Goal: "site", Todo: id, Agent: "a", To: "b"}, cli())
	w.refuse("lease_lost", &kernel.CompleteTodo{Goal: "site", Todo: id, Agent: "a", Turn: "t1", Evidence: note("late")}, cli())
	w.do(&kernel.CompleteTodo{Goal: "site", Todo: id, Agent: "b", NoFollowup: true, Evidence: note("done")}, cli())
	w.do(&kernel.SpendSlot{Goal: "site", Agent: "b"}, cli())
	w.replays()
}

// The handoff mode does not change under a claim.
func TestHandoffMode(t *testing.T) {
	w := newWorld(t)
	w.goal("a")
	id := w.todo("x", 1)
	lease := w.do(&kernel.ClaimTodo{Goal: "site", Agent: "a", Todo: id}, cli())["lease"].(map[string]any)["token"].(string)
	w.refuse("claims_open", &kernel.ConfigureGoal{Goal: "site", Handoff: "strict"}, owner())
	w.do(&kernel.UpdateTodo{Goal: "site", Todo: id, Agent: "a", Lease: lease, ClearClaim: true}, cli())
	w.do(&kernel.ConfigureGoal{Goal: "site", Handoff: "strict"}, owner())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "a", Todo: id}, cli())
	w.refuse("lease_required", &kernel.CompleteTodo{Goal: "site", Agent: "a", Todo: id, Evidence: note("x")}, cli())
}

// A payment counts for as long as the goal's window says, whatever it was when it
// was made.
func TestWindowOfTheAllowance(t *testing.T) {
	w := newWorld(t)
	one := 1
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"a"}, Allowed: &one}, cli())
	w.todo("x", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t1", Claim: true}, cli())
	w.do(&kernel.CommitTurn{Goal: "site", Agent: "a", Turn: "t1", Refresh: &kernel.Refresh{Outcome: kernel.Progress}}, cli())
	w.pass(2 * hour)
	window := func(hours int) *kernel.ConfigureGoal { return &kernel.ConfigureGoal{Goal: "site", Window: &hours} }
	w.refuse("owner_only", window(1), cli())
	w.refuse("bad_quota_window", window(0), owner())
	w.refuse("bad_quota_window", window(721), owner())
	if d := w.decide("a"); d.Rule != "R11" {
		t.Fatalf("with a day: %s", d.Rule)
	}
	w.do(window(1), owner())
	if d := w.decide("a"); d.Rule != "R12" || d.Quota.Spent != 0 {
		t.Fatalf("with an hour: %s, %d spent", d.Rule, d.Quota.Spent)
	}
	w.pass(60 * hour)
	w.do(window(720), owner())
	if d := w.decide("a"); d.Rule != "R11" || d.Quota.Spent != 1 {
		t.Fatalf("with a month: %s, %d spent", d.Rule, d.Quota.Spent)
	}
	w.replays()
}
