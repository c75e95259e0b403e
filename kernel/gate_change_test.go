package kernel_test

import (
	"testing"

	"loopx/kernel"
)

// Whoever decided may think better of it for ten minutes; nobody else, not later,
// and not where the kind is protected.
func TestChange(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	id := w.todo("rename the file", 0)
	g := w.gate(id)
	w.refuse("gate_not_decided", &kernel.ChangeGate{Gate: g, Option: "reject"}, owner())
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	w.refuse("not_decider", &kernel.ChangeGate{Gate: g, Option: "reject"}, as("mei"))
	w.refuse("owner_only", &kernel.ChangeGate{Gate: g, Option: "reject"}, cli())
	w.refuse("bad_option", &kernel.ChangeGate{Gate: g, Option: "perhaps"}, owner())
	if same := w.do(&kernel.ChangeGate{Gate: g, Option: "approve"}, owner()); same["changed"] != false {
		t.Fatalf("the same again: %v", same)
	}
	w.pass(9 * minute)
	if out := w.do(&kernel.ChangeGate{Gate: g, Option: "reject", Reason: "not that one"}, owner()); out["outcome"] != "reject" || out["was"] != "approve" || out["corrected"] != false {
		t.Fatalf("the change: %v", out)
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	if v := w.gateRow(g); len(v.Past) != 1 || v.Past[0].Answer.Option != "approve" || v.Past[0].Why != "changed" || v.Answer.Reason != "not that one" {
		t.Fatalf("both decisions stand: %s", asJSON(v))
	}
	w.do(&kernel.ChangeGate{Gate: g, Option: "approve"}, owner())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	w.pass(11 * minute)
	w.refuse("change_late", &kernel.ChangeGate{Gate: g, Option: "reject"}, owner())
	p := w.todo("publish", 0)
	g = w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Publish?", Kind: "publish", Todos: []string{p}}, cli())["gate_id"].(string)
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	w.refuse("no_undo", &kernel.ChangeGate{Gate: g, Option: "reject"}, owner())
	w.replays()
}

// A clock that is set back does not make the ten minutes longer.
func TestChangeGoesByTheSteadyClock(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	g := w.gate(w.todo("x", 0))
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	w.pass(11 * minute)
	w.now -= 60 * minute
	w.refuse("change_late", &kernel.ChangeGate{Gate: g, Option: "reject"}, owner())
}

// Acted on, a change is a stop and a correction: the claim is gone, its holder's
// writes are lost ones, and both are on record.
func TestChangeStopsWhatWentOn(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	id := w.todo("rename the file", 0)
	g := w.gate(id)
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	token := w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())["lease"].(map[string]any)["token"].(string)
	out := w.do(&kernel.ChangeGate{Gate: g, Option: "reject"}, owner())
	if stopped := out["stopped_todos"].([]any); len(stopped) != 1 || stopped[0] != id || out["corrected"] != true {
		t.Fatalf("the correction: %v", out)
	}
	w.refuse("lease_lost", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id, Lease: token, Evidence: note("done")}, cli())
	w.refuse("gate_pending", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id, Evidence: note("done")}, cli())
	if v := w.gateRow(g); v.Past[0].Taken == nil || v.Past[0].Taken.Agent != "ann" || v.Taken != nil {
		t.Fatalf("who went on is on record: %s", asJSON(v))
	}
	// A lane: what its agent holds is stopped too.
	lane := w.do(&kernel.OpenGate{Goal: "site", Question: "May bob go on?", LaneOf: "bob"}, cli())["gate_id"].(string)
	w.do(&kernel.AnswerGate{Gate: lane, Option: "approve"}, owner())
	other := w.todo("other", 0)
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: other}, cli())
	if out := w.do(&kernel.ChangeGate{Gate: lane, Option: "cancel"}, owner()); len(out["stopped_todos"].([]any)) != 1 {
		t.Fatalf("the lane's correction: %v", out)
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: other}, cli())
	w.replays()
}

// A change away from an approval takes its standing approval along, and one back
// gives a new one.
func TestChangeTakesTheGrant(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	one := w.scoped("book a hall", "resource:goal:hall")
	g := w.openGates()[0].ID
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	w.do(&kernel.ChangeGate{Gate: g, Option: "reject"}, owner())
	more := w.scoped("book another", "resource:goal:hall")
	for _, id := range []string{one, more} {
		w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	}
	w.do(&kernel.ChangeGate{Gate: g, Option: "approve"}, owner())
	for _, id := range []string{one, more} {
		w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	}
	w.replays()
}

// Several decided it: one alone may take it back, and nothing else.
func TestChangeAfterAQuorum(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.policy(map[string]kernel.Asked{"any": {Quorum: 2}})
	g := w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Which?", WholeGoal: true,
		Options: []kernel.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}, {ID: "no", Label: "None", Outcome: "reject"}}}, cli())["gate_id"].(string)
	w.do(&kernel.AnswerGate{Gate: g, Option: "a"}, owner())
	w.do(&kernel.AnswerGate{Gate: g, Option: "a"}, as("mei"))
	w.refuse("quorum_needed", &kernel.ChangeGate{Gate: g, Option: "b"}, as("mei"))
	w.do(&kernel.ChangeGate{Gate: g, Option: "no"}, as("mei"))
	w.replays()
}

// An owner lets an expired question be answered after all; a parked or waiting
// one needs nobody for that.
func TestReopenAndTimeouts(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	open := func(question, timeout string) string {
		return w.do(&kernel.OpenGate{Goal: "site", Question: question, Todos: []string{w.todo("x", 1)}, Expires: w.now + minute, OnTimeout: timeout}, cli())["gate_id"].(string)
	}
	ended, parked, waits := open("One?", "expire"), open("Two?", "park"), open("Three?", "wait")
	w.refuse("gate_not_expired", &kernel.ReopenGate{Gate: ended}, owner())
	w.pass(2 * minute)
	w.refuse("gate_expired", &kernel.AnswerGate{Gate: ended, Option: "approve"}, owner())
	w.refuse("owner_only", &kernel.ReopenGate{Gate: ended}, cli())
	w.refuse("bad_expires", &kernel.ReopenGate{Gate: ended, Expires: w.now}, owner())
	w.refuse("gate_not_expired", &kernel.ReopenGate{Gate: parked}, owner())
	shown := w.gateRow(ended).Digest
	w.do(&kernel.ReopenGate{Gate: ended, Expires: w.now + hour}, owner())
	w.refuse("gate_changed", &kernel.AnswerGate{Gate: ended, Option: "approve", Digest: shown}, owner())
	for _, g := range []string{ended, parked, waits} {
		w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	}
	w.replays()
}

// The agent is told which questions are parked and what goes on meanwhile, and
// the owner is not told of them again.
func TestParkedIsSaid(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id := w.todo("publish", 0)
	w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Publish?", Todos: []string{id}, Expires: w.now + minute, OnTimeout: "park", Fallback: "Tidy up"}, cli())
	d := w.decide("ann")
	if a := d.Contract.User.Ask; d.Rule != "R10" || len(a) != 1 || a[0].State != "waiting" || a[0].Meanwhile != "Tidy up" || d.Contract.User.Notify != "NOTIFY" {
		t.Fatalf("before its date: %s", asJSON(d))
	}
	w.pass(2 * minute)
	d = w.decide("ann")
	if a := d.Contract.User.Ask; d.Rule != "R10" || len(a) != 1 || a[0].State != "parked" || d.Contract.User.Notify != "DONT_NOTIFY" {
		t.Fatalf("after its date: %s", asJSON(d))
	}
}
