package kernel_test

import (
	"testing"

	"loopx/kernel"
)

func (w *world) grants() []*kernel.Grant {
	w.t.Helper()
	var out []*kernel.Grant
	w.read(func(r *kernel.Reader) {
		for _, g := range r.Grants("site") {
			if g.Live(r.Now()) {
				out = append(out, g)
			}
		}
	})
	return out
}

// What stands after an approval is what was said with the press: no wider than
// the request, 30 days at most, and for the goal only from an owner.
func TestGrantsWithAPress(t *testing.T) {
	const day = 24 * hour
	w := newWorld(t)
	w.goal("ann")
	bob := w.invite("site", "approver", "UBOB")
	w.policy(map[string]kernel.Asked{"any": {Role: "approver"}})
	gate := func(scope string) (string, string) {
		id := w.scoped("needs "+scope, scope)
		return w.openGates()[0].ID, id
	}
	g, once := gate("publish:goal:website")
	for _, c := range []struct {
		code string
		cmd  kernel.AnswerGate
		opt  kernel.Options
	}{
		{"owner_only", kernel.AnswerGate{Option: "approve", Grant: "goal"}, person(bob)},
		{"bad_grant", kernel.AnswerGate{Option: "approve", Grant: "world"}, owner()},
		{"bad_grant_until", kernel.AnswerGate{Option: "approve", Grant: "goal", GrantUntil: w.now + 31*day}, owner()},
		{"bad_grant_until", kernel.AnswerGate{Option: "approve", Grant: "goal", GrantUntil: w.now}, owner()},
		{"bad_grant_until", kernel.AnswerGate{Option: "approve", GrantUntil: w.now + day}, owner()},
		{"grant_nothing", kernel.AnswerGate{Option: "reject", Grant: "action"}, owner()},
	} {
		c.cmd.Gate = g
		w.refuse(c.code, &c.cmd, c.opt)
	}
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve", Grant: "action"}, person(bob))
	if n := w.grants(); len(n) != 0 {
		t.Fatalf("for this action, and %s stands", asJSON(n))
	}
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: once}, cli())
	g, _ = gate("publish:goal:website")
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, person(bob)) // an approver's word alone reaches no further
	if n := w.grants(); len(n) != 0 {
		t.Fatalf("an approver's approval leaves %s", asJSON(n))
	}
	g, _ = gate("publish:goal:website")
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve", Grant: "goal", GrantUntil: w.now + day}, owner())
	if n := w.grants(); len(n) != 1 || n[0].Scope != "publish:goal:website" || n[0].Expires != w.now+day {
		t.Fatalf("for this goal until tomorrow: %s", asJSON(n))
	}
	g, _ = gate("resource:project:*")
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve", Grant: "goal"}, owner())
	if n := w.grants(); len(n) != 2 {
		t.Fatalf("%d stand", len(n))
	}
	g, _ = gate("direction:action:menu")
	w.refuse("grant_wider", &kernel.AnswerGate{Gate: g, Option: "approve", Grant: "goal"}, owner())
	plain := w.gate(w.todo("x", 3))
	w.refuse("grant_nothing", &kernel.AnswerGate{Gate: plain, Option: "approve", Grant: "action"}, owner())
	w.replays()
}

// A grant is not used in a turn that carries words of others, whichever way the
// turn is named or not named; what was approved for the todo itself stands.
func TestTaintedTurnUsesNoGrant(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	own := w.scoped("publish the page", "publish:goal:website")
	w.do(&kernel.AnswerGate{Gate: w.openGates()[0].ID, Option: "approve"}, owner())
	rests := w.scoped("publish the FAQ", "publish:goal:website")
	free := w.todo("write", 0)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1"}, cli())
	w.do(&kernel.TaintTurn{Goal: "site", Agent: "ann", Turn: "t1"}, cli())
	for _, turn := range []string{"t1", ""} {
		w.refuse("turn_tainted", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: rests, Turn: turn}, cli())
		w.refuse("turn_tainted", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: rests, Turn: turn, Evidence: note("live")}, cli())
	}
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: own}, cli())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: rests}, cli()) // another's turn is clean
	if g := w.grants()[0]; g.Used == 0 {
		t.Errorf("the grant was used and does not say so: %s", asJSON(g))
	}
	if g := w.gateRow(w.do(w.askAs("ann", "What they say?"), cli())["gate_id"].(string)); !g.Tainted {
		t.Errorf("a gate of a tainted turn does not say so")
	}
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: own, Evidence: note("live")}, cli())
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: free, Evidence: note("written")}, cli())
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: rests, ClearClaim: true}, cli())
	d := w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t2", Claim: true, Tainted: true}, cli())
	if d["should_run"] == true {
		t.Errorf("a tainted turn is given %v", d["selected_todo"])
	}
	if d := w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t3", Claim: true}, cli()); todoOf(d) != rests {
		t.Errorf("a clean turn is given %v", d["selected_todo"])
	}
	w.replays()
}
