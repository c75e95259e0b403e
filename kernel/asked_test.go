package kernel_test

import (
	"testing"

	"loopx/kernel"
)

// as is an owner of another name.
func as(id string) kernel.Options {
	return kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: id, Name: id, Surface: "test"}}
}

func (w *world) policy(p map[string]kernel.Asked) {
	w.t.Helper()
	w.do(&kernel.ConfigureGoal{Goal: "site", Ask: &p}, owner())
}

func (w *world) gateRow(id string) *kernel.Gate {
	w.t.Helper()
	var g *kernel.Gate
	_ = w.k.Read(w.t.Context(), func(r *kernel.Reader) error { g = r.Gate("site", id); return nil })
	return g
}

// Two must agree: the first yes decides nothing and blocks on, the second one
// does; one no is enough; nobody counts twice.
func TestQuorum(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.policy(map[string]kernel.Asked{"publish": {Quorum: 2}})
	id := w.todo("publish", 0)
	g := w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Publish?", Kind: "publish", Todos: []string{id}}, cli())["gate_id"].(string)
	out := w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	if out["status"] != "open" || out["missing"] != 1.0 || out["changed"] != true {
		t.Fatalf("the first of two: %v", out)
	}
	if again := w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner()); again["changed"] != false || again["status"] != "open" {
		t.Fatalf("the first again: %v", again)
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	if out := w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, as("mei")); out["status"] != "answered" || out["outcome"] != "approve" {
		t.Fatalf("the second of two: %v", out)
	}
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	other := w.todo("publish more", 0)
	g = w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Publish more?", Kind: "publish", Todos: []string{other}}, cli())["gate_id"].(string)
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	if out := w.do(&kernel.AnswerGate{Gate: g, Option: "reject"}, as("mei")); out["outcome"] != "reject" {
		t.Fatalf("one no: %v", out)
	}
	// Another kind asks one.
	g = w.gate(w.todo("x", 1))
	if out := w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner()); out["status"] != "answered" {
		t.Fatalf("another kind: %v", out)
	}
	w.replays()
}

// Who asked never counts among those who must agree, and where the gate says so
// does not answer at all.
func TestAskerIsNoVoter(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.policy(map[string]kernel.Asked{"any": {Quorum: 2}})
	g := w.do(&kernel.OpenGate{Goal: "site", Question: "Go on?", WholeGoal: true}, owner())["gate_id"].(string)
	w.refuse("asker_excluded", &kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, as("mei"))
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, as("kim"))
	w.policy(map[string]kernel.Asked{})
	g = w.do(&kernel.OpenGate{Goal: "site", Question: "And now?", WholeGoal: true, Asked: &kernel.Asked{NotAsker: true}}, owner())["gate_id"].(string)
	w.refuse("asker_excluded", &kernel.AnswerGate{Gate: g, Option: "reject"}, owner())
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, as("mei"))
	w.replays()
}

// A vote is for what was shown: when the words change, it counts no more.
func TestVotesAreForWhatWasShown(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.policy(map[string]kernel.Asked{"any": {Quorum: 2}})
	id := w.todo("publish the page", 0)
	g := w.gate(id)
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	shown := w.gateRow(g).Digest
	title := "publish everything"
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "ann", Todo: id, Title: &title}, cli())
	w.refuse("gate_changed", &kernel.AnswerGate{Gate: g, Option: "approve", Digest: shown}, as("mei"))
	if out := w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, as("mei")); out["status"] != "open" {
		t.Fatalf("an old vote counts: %v", out)
	}
	w.replays()
}

// A gate may narrow who is asked and never widen it.
func TestAskNarrows(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.policy(map[string]kernel.Asked{"any": {Persons: []string{"owner", "mei"}, Quorum: 2}})
	ask := func(a kernel.Asked) *kernel.OpenGate {
		return &kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Go?", WholeGoal: true, Asked: &a}
	}
	for _, wider := range []kernel.Asked{{Role: "approver"}, {Quorum: 1}, {Persons: []string{"kim"}}} {
		w.refuse("ask_wider", ask(wider), cli())
	}
	w.refuse("bad_role", ask(kernel.Asked{Role: "king"}), cli())
	w.refuse("bad_quorum", ask(kernel.Asked{Quorum: 99}), cli())
	g := w.do(ask(kernel.Asked{}), cli())["gate_id"].(string)
	w.refuse("not_asked", &kernel.AnswerGate{Gate: g, Option: "approve"}, as("kim"))
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, as("mei"))
	// Who loses the right loses the vote: the policy of now counts.
	w.policy(map[string]kernel.Asked{"any": {Persons: []string{"owner", "kim"}}})
	w.refuse("not_asked", &kernel.AnswerGate{Gate: g, Option: "approve"}, as("mei"))
	if out := w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, as("kim")); out["status"] != "answered" {
		t.Fatalf("one is asked now: %v", out)
	}
	bad := map[string]kernel.Asked{"any": {Persons: []string{"mei"}, Quorum: 2}}
	w.refuse("bad_quorum", &kernel.ConfigureGoal{Goal: "site", Ask: &bad}, owner())
	bad = map[string]kernel.Asked{"love": {}}
	w.refuse("bad_kind", &kernel.ConfigureGoal{Goal: "site", Ask: &bad}, owner())
	w.refuse("owner_only", &kernel.ConfigureGoal{Goal: "site", Ask: &map[string]kernel.Asked{}}, cli())
	w.replays()
}

// An approval that nobody used is void when what it was about changes, and the
// gate asks again; one that was used stands.
func TestChangeVoidsAnUnusedApproval(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	one, two := w.todo("publish the page", 0), w.todo("publish the FAQ", 1)
	g := w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Publish both?", Todos: []string{one, two}}, cli())["gate_id"].(string)
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: one}, cli())
	body := "and mail everybody"
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "ann", Todo: one, Body: &body}, cli()) // in use: it stands
	if g := w.gateRow(g); g.Status != "answered" {
		t.Fatalf("a used approval is %s", g.Status)
	}
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: two, Body: &body}, cli())
	if g := w.gateRow(g); g.Status != "open" || g.Answer != nil || len(g.Past) != 1 || g.Past[0].Why != "voided" {
		t.Fatalf("after the change: %s", asJSON(g))
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: two}, cli())
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: one, Evidence: note("live")}, cli())
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	// A note is no change of what is to be done.
	note := "ready"
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: two, Note: &note}, cli())
	// The goal's text is.
	course := "Ship it twice"
	w.do(&kernel.ConfigureGoal{Goal: "site", Objective: &course}, owner())
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: two}, cli())
	w.replays()
}

// A standing approval goes with the decision that left it.
func TestVoidedApprovalLeavesNoGrant(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id := w.scoped("publish the page", "publish:goal:website")
	w.do(&kernel.AnswerGate{Gate: w.openGates()[0].ID, Option: "approve"}, owner())
	title := "publish something else"
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "ann", Todo: id, Title: &title}, cli())
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	more := w.scoped("publish more", "publish:goal:website")
	if n := len(w.openGates()); n != 1 {
		t.Fatalf("%d gates", n)
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: more}, cli())
	w.replays()
}

// A replacement is another thing than was approved, also when the approval was used.
func TestReplacementAsksAgain(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id := w.todo("publish the page", 0)
	g := w.gate(id)
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	next := w.do(&kernel.SupersedeTodo{Goal: "site", Agent: "ann", Todo: id, Next: "publish everything"}, cli())["superseded_by"].(string)
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: next}, cli())
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: next}, cli())
	w.replays()
}

// An approver answers what the goal asks approvers, and nobody else may: not a
// steerer, not an observer, not who lost the role, not an agent.
func TestApprovers(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	bob, eve, kim := w.invite("site", "approver", "UBOB"), w.invite("site", "steerer", "UEVE"), w.invite("site", "observer", "UKIM")
	g := w.gate(w.todo("x", 0))
	w.refuse("owner_only", &kernel.AnswerGate{Gate: g, Option: "approve"}, person(bob))
	w.policy(map[string]kernel.Asked{"any": {Role: "approver"}})
	for _, id := range []string{eve, kim, "person_none"} {
		w.refuse("not_asked", &kernel.AnswerGate{Gate: g, Option: "approve"}, person(id))
	}
	for _, kind := range []string{kernel.ByAgent, kernel.ByCLI, kernel.ByBot} {
		w.refuse("owner_only", &kernel.AnswerGate{Gate: g, Option: "approve"}, kernel.Options{By: kernel.Actor{Kind: kind, ID: bob}})
	}
	if out := w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, person(bob)); out["outcome"] != "approve" {
		t.Fatalf("the approver: %v", out)
	}
	// The right is read at the time of the answer, and at the time it is counted.
	w.policy(map[string]kernel.Asked{"any": {Role: "approver", Quorum: 2}})
	g = w.gate(w.todo("y", 0))
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, person(bob))
	w.do(&kernel.RevokeRole{Goal: "site", Person: bob}, owner())
	if out := w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner()); out["status"] != "open" {
		t.Fatalf("the vote of a removed approver counts: %v", out)
	}
	w.refuse("not_asked", &kernel.AnswerGate{Gate: g, Option: "approve"}, person(bob))
	w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "And?", WholeGoal: true, Asked: &kernel.Asked{Role: "owner"}}, cli())
	w.replays()
}
