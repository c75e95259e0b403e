package kernel_test

import (
	"testing"

	"loopx/kernel"
)

// A person's hold has no deadline, keeps agents out, and ends when they say so.
func TestPersonHolds(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id, other := w.todo("x", 0), w.todo("y", 1)
	hold := &kernel.HoldTodo{Goal: "site", Todo: id, Person: "owner", Note: "I look at it myself"}
	w.refuse("owner_only", hold, cli())
	for _, kind := range []string{kernel.ByAgent, kernel.ByBot, kernel.ByCLI} { // a name alone is no proof
		w.refuse("owner_only", hold, kernel.Options{By: kernel.Actor{Kind: kind, ID: "owner"}})
	}
	w.refuse("owner_only", hold, kernel.Options{By: kernel.Actor{Kind: kernel.ByPerson, ID: "p_other"}})
	w.refuse("person_not_found", &kernel.HoldTodo{Goal: "site", Todo: id, Person: "nobody"}, owner())
	w.do(hold, owner())
	if r, err := w.k.Do(t.Context(), hold, owner()); err != nil || r.Changed {
		t.Fatalf("held twice: %+v %v", r, err)
	}
	w.pass(400 * 24 * hour)
	if e := w.refuse("lease_held", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli()); e.Details["holder"] != "person:owner" {
		t.Fatalf("%v", e.Details)
	}
	if rule, todo := w.rule("ann"); rule != "R12" || todo != other {
		t.Fatalf("ann gets %s %s", rule, todo)
	}
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: other, NoFollowup: true}, cli())
	if rule, _ := w.rule("ann"); rule != "R13" {
		t.Fatalf("with only the person's work: %s", rule)
	}
	hold.Release = true
	w.do(hold, kernel.Options{By: kernel.Actor{Kind: kernel.ByPerson, ID: "owner", Surface: "slack"}}) // the own hold
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	w.refuse("lease_held", hold, owner())
	hold.Release = false
	w.refuse("lease_held", hold, owner())
	w.replays()
}

// A held todo is handed to an agent, or completed, by the person.
func TestHoldEnds(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	one, two := w.todo("x", 0), w.todo("y", 1)
	for _, id := range []string{one, two} {
		w.do(&kernel.HoldTodo{Goal: "site", Todo: id, Person: "owner"}, owner())
	}
	w.do(&kernel.TransferTodo{Goal: "site", Todo: one, To: "bob"}, owner())
	if rule, todo := w.rule("bob"); rule != "R12" || todo != one {
		t.Fatalf("bob gets %s %s", rule, todo)
	}
	w.refuse("lease_held", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: two}, cli())
	w.do(&kernel.CompleteTodo{Goal: "site", Todo: two, NoFollowup: true, Evidence: note("done by hand")}, owner())
	w.replays()
}

// An agent that only watches takes no work, keeps none it had, plans nothing, and
// still looks.
func TestMonitorOnly(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	own := w.todo("own", 0)
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: own}, cli())
	w.do(&kernel.ConfigureGoal{Goal: "site", Agent: "ann", Mode: "monitor_only"}, owner())
	if d := w.decide("ann"); d.ShouldRun {
		t.Fatalf("its own claim is still given to it: %s", asJSON(d))
	}
	free := w.todo("free", 1)
	if rule, _ := w.rule("ann"); rule != "R13" {
		t.Fatalf("with work for others: %s", rule)
	}
	w.refuse("agent_watches", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: free}, cli())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: free}, cli())
	w.refuse("agent_watches", &kernel.TransferTodo{Goal: "site", Agent: "bob", Todo: free, To: "ann"}, cli())
	w.monitor("sign-ups", 3)
	w.pass(hour)
	if rule, _ := w.rule("ann"); rule != "R08" {
		t.Fatalf("a look is due: %s", rule)
	}
	w.replays()

	w = newWorld(t)
	w.goal("ann")
	w.do(&kernel.ConfigureGoal{Goal: "site", Agent: "ann", Mode: "monitor_only"}, owner())
	if d := w.decide("ann"); d.Rule != "R14" || d.Scheduler.NextWake == 0 {
		t.Fatalf("it plans or stops: %s", asJSON(d))
	}
}
