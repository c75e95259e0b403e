package kernel_test

import (
	"testing"

	"loopx/kernel"
)

// terminal is the owner at a terminal, with a chat surface that is ready or not.
func terminal(ready bool) kernel.Options {
	return kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Surface: "cli", Process: "bash (42)", Terminal: "/dev/pts/3\x1b[2J", Press: ready}}
}

// "This was not me" stops the goal, asks again, takes back what was granted, and
// marks the owner's token.
func TestNotMe(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id := w.scoped("publish", "publish:goal:website")
	g := w.openGates()[0].ID
	w.refuse("gate_not_decided", &kernel.DisownAnswer{Gate: g}, owner())
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, terminal(false))
	if a := w.gateRow(g).Answer; a.Process != "bash (42)" || a.Terminal != "/dev/pts/3·[2J" {
		t.Errorf("where it came from: %s", asJSON(a))
	}
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	w.refuse("owner_only", &kernel.DisownAnswer{Gate: g}, cli())
	w.refuse("owner_only", &kernel.DisownAnswer{Gate: g}, person("person_none"))
	if out := w.do(&kernel.DisownAnswer{Gate: g}, owner()); out["stopped"] != "site" || out["renew_token"] != true {
		t.Fatalf("the answer: %v", out)
	}
	if v := w.gateRow(g); v.Status != "open" || v.Past[0].Why != "disowned" || len(w.grants()) != 0 {
		t.Errorf("afterwards: %s, grants %s", asJSON(v), asJSON(w.grants()))
	}
	w.read(func(r *kernel.Reader) {
		if k := r.OwnerToken(); k == nil || !k.Renew || k.Gate != g {
			t.Errorf("the token is marked as %+v", k)
		}
		if r.Goal("site").Shown() != "paused" {
			t.Error("the goal goes on")
		}
	})
	w.refuse("goal_paused", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	w.do(&kernel.PauseGoal{Goal: "site", Resume: true}, owner())
	w.refuse("gate_pending", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id, Evidence: note("live")}, cli())
	w.refuse("owner_only", &kernel.RenewToken{}, cli())
	w.do(&kernel.RenewToken{}, owner())
	w.read(func(r *kernel.Reader) {
		if k := r.OwnerToken(); k.Renew {
			t.Error("a renewed token is still to be renewed")
		}
	})
	w.replays()
}

// A protected yes at a terminal waits for a press where somebody can press; a no,
// an unprotected answer, and one where nobody can, decide at once.
func TestTerminalWaitsForAPress(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	ask := func(kind string) string {
		return w.do(&kernel.OpenGate{Goal: "site", Question: "Go " + w.todo("x", 1) + "?", Kind: kind, Todos: []string{w.todo("x", 1)}}, cli())["gate_id"].(string)
	}
	answer := func(g, option string, opt kernel.Options) map[string]any {
		return w.do(&kernel.AnswerGate{Gate: g, Option: option}, opt)
	}
	if out := answer(ask("publish"), "approve", terminal(true)); out["status"] != "answered" {
		t.Errorf("nobody is linked: %v", out)
	}
	w.link("UWEI")
	if out := answer(ask("publish"), "approve", terminal(false)); out["status"] != "answered" {
		t.Errorf("no surface is ready: %v", out)
	}
	if out := answer(ask("direction"), "approve", terminal(true)); out["status"] != "answered" {
		t.Errorf("an unprotected kind: %v", out)
	}
	if out := answer(ask("publish"), "reject", terminal(true)); out["status"] != "answered" {
		t.Errorf("a no: %v", out)
	}
	g := ask("publish")
	if out := answer(g, "approve", terminal(true)); out["status"] != "open" || out["pending"] != "press" || out["changed"] != true {
		t.Fatalf("a protected yes: %v", out)
	}
	if out := answer(g, "approve", terminal(true)); out["changed"] != false {
		t.Errorf("the same again: %v", out)
	}
	if v := w.gateRow(g); v.Pending == nil || v.Pending.Process == "" || v.Answer != nil || len(v.Released) > 0 {
		t.Fatalf("what waits: %s", asJSON(v))
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: w.gateRow(g).Blocks.Todos[0]}, cli())
	if out := answer(g, "approve", owner()); out["status"] != "answered" {
		t.Errorf("the press: %v", out)
	}
	if v := w.gateRow(g); v.Pending != nil {
		t.Error("it still waits for a press")
	}
	g = ask("publish")
	answer(g, "approve", terminal(true))
	w.do(&kernel.DisownAnswer{Gate: g}, owner())
	if v := w.gateRow(g); v.Pending != nil || v.Status != "open" {
		t.Errorf("a disowned one: %s", asJSON(v))
	}
	w.replays()
}
