package kernel_test

import (
	"testing"

	"loopx/kernel"
)

func (w *world) scoped(title string, scopes ...string) string {
	w.t.Helper()
	return w.do(&kernel.AddTodo{Goal: "site", Title: title, Scopes: scopes}, cli())["todo_id"].(string)
}

func (w *world) openGates() []*kernel.Gate {
	w.t.Helper()
	var out []*kernel.Gate
	_ = w.k.Read(w.t.Context(), func(r *kernel.Reader) error { out = r.OpenGates("site", 50); return nil })
	return out
}

// A scope nobody approved is asked for once, whoever needs it, and an approval
// of a goal-wide scope stands until it is revoked.
func TestScopes(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	one := w.scoped("publish the page", "publish:goal:website")
	two := w.scoped("publish the FAQ", "public_claim:goal:website")
	gates := w.openGates()
	if len(gates) != 1 || gates[0].Kind != "publish" || !gates[0].Protected() || len(gates[0].Blocks.Todos) != 2 {
		t.Fatalf("gates: %+v", gates)
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: one}, cli())
	w.do(&kernel.AnswerGate{Gate: gates[0].ID, Option: "approve"}, owner())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: one}, cli())
	w.scoped("publish the blog", "publish:action:website") // covered: broader, same key
	if n := len(w.openGates()); n != 0 {
		t.Fatalf("%d gates ask again for what stands", n)
	}
	w.scoped("publish elsewhere", "publish:goal:forum")
	if n := len(w.openGates()); n != 1 {
		t.Fatalf("another key: %d gates", n)
	}
	var grant string
	_ = w.k.Read(t.Context(), func(r *kernel.Reader) error { grant = r.Grants("site")[0].ID; return nil })
	w.refuse("owner_only", &kernel.RevokeGrant{Goal: "site", Grant: grant}, cli())
	w.do(&kernel.RevokeGrant{Goal: "site", Grant: grant}, owner())
	// What was approved for itself stays approved; what rested on the grant does not.
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "builder", Todo: one, NoFollowup: true, Evidence: note("live")}, cli())
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "builder", Todo: two, NoFollowup: true, Evidence: note("live")}, cli())
	d := w.decide("builder")
	if d.Rule != "R10" || d.ShouldRun {
		t.Fatalf("after the revocation: %s %s", d.Rule, d.Reason)
	}
	w.replays()
}

// Expiry of a grant never lets go on what rested on it.
func TestGrantExpires(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	w.scoped("first", "resource:goal:hall")
	w.do(&kernel.AnswerGate{Gate: w.openGates()[0].ID, Option: "approve"}, owner())
	later := w.scoped("second", "resource:goal:hall")
	w.pass(31 * 24 * hour)
	w.refuse("scope_needed", &kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: later}, cli())
	w.do(&kernel.OpenGate{Goal: "site", Agent: "builder", Question: "Still?", Scope: "resource:goal:hall", Todos: []string{later}}, cli())
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: later}, cli())
}

// A refusal holds back what needs the same, unasked, until an owner lifts it;
// a replacement or a successor does not get around it.
func TestRefusedScope(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	id := w.scoped("publish", "publish:action:website")
	w.do(&kernel.AnswerGate{Gate: w.openGates()[0].ID, Option: "reject"}, owner())
	again := w.scoped("publish differently", "publish:action:website")
	next := w.do(&kernel.SupersedeTodo{Goal: "site", Agent: "builder", Todo: id, Next: "publish quietly"}, cli())["superseded_by"].(string)
	for _, todo := range []string{again, next} {
		w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: todo}, cli())
	}
	if n := len(w.openGates()); n != 0 {
		t.Fatalf("the owner is asked again: %d", n)
	}
	var gate string
	_ = w.k.Read(t.Context(), func(r *kernel.Reader) error { gate = r.Gates("site", 1)[0].ID; return nil })
	w.do(&kernel.ReleaseGate{Gate: gate}, owner())
	w.scoped("publish at last", "publish:action:website")
	if n := len(w.openGates()); n != 1 {
		t.Fatalf("after it was lifted a new need is asked for: %d", n)
	}
	w.replays()
}

// What an agent calls a thing never makes it less protected.
func TestKindFloor(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	id := w.scoped("drop the table", "destructive:action:db")
	g := w.do(&kernel.OpenGate{Goal: "site", Agent: "builder", Question: "Fine?", Kind: "other", Todos: []string{id}}, cli())
	if g["kind"] != "destructive" {
		t.Fatalf("the kind is %v", g["kind"])
	}
	for _, bad := range []string{"publish", "publish:goal:", "publish:world:x", "love:goal:x", "publish:goal:a b"} {
		w.refuse("bad_scope", &kernel.AddTodo{Goal: "site", Title: "x", Scopes: []string{bad}}, cli())
	}
}

// A need that is added is asked for like one that was there; only an owner takes
// one away, and what was refused stays refused.
func TestNeedsAreEdited(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	id := w.todo("write the page", 1)
	plain := w.gate(id)
	w.do(&kernel.AnswerGate{Gate: plain, Option: "approve"}, owner())
	needs := []string{"publish:action:page"}
	out := w.do(&kernel.UpdateTodo{Goal: "site", Agent: "builder", Todo: id, Scopes: &needs}, cli())
	if out["changed"] != true || len(w.openGates()) != 2 {
		t.Fatalf("a new need: %v, %d gates", out, len(w.openGates()))
	}
	// What was approved before it needed that is asked again, and is protected now.
	if g := w.gateRow(plain); g.Status != "open" || !g.Protected() {
		t.Fatalf("the old question: %s", asJSON(g))
	}
	none := []string{}
	w.refuse("owner_only", &kernel.UpdateTodo{Goal: "site", Agent: "builder", Todo: id, Scopes: &none}, cli())
	for _, g := range w.openGates() {
		option := "approve"
		if g.Scope != "" {
			option = "reject"
		}
		w.do(&kernel.AnswerGate{Gate: g.ID, Option: option}, owner())
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: id}, cli())
	w.do(&kernel.UpdateTodo{Goal: "site", Todo: id, Scopes: &none}, owner())
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: id}, cli())
	w.replays()
}
