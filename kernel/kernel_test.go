package kernel_test

import (
	"testing"

	"loopx/kernel"
)

// The whole tick, from an empty goal to a proven end.
func TestTick(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	if d := w.decide("builder"); d.Rule != "R15" || !d.ShouldRun {
		t.Fatalf("an empty goal gives %s", d.Rule)
	}
	id := w.todo("write the FAQ", 1)
	w.refuse("writeback_missing", &kernel.SpendSlot{Goal: "site", Agent: "builder"}, cli())
	d := w.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1"}, cli())
	if d["rule"] != "R12" || d["selected_todo"].(map[string]any)["todo_id"] != id {
		t.Fatalf("decision %v", d)
	}
	lease := w.do(&kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: id, Turn: "t1"}, cli())["lease"].(map[string]any)
	if lease["token"] == "" || lease["generation"] != 1.0 {
		t.Fatalf("lease %v", lease)
	}
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "builder", Todo: id, Turn: "t1", NoFollowup: true, Evidence: note("tests 212/212")}, cli())
	w.do(&kernel.Refresh{Goal: "site", Agent: "builder", Turn: "t1", Outcome: kernel.Progress}, cli())
	got := w.do(&kernel.SpendSlot{Goal: "site", Agent: "builder", Turn: "t1"}, cli())
	if after := got["quota_event"].(map[string]any)["after"].(map[string]any); after["spent_slots"] != 1.0 {
		t.Fatalf("spent %v", got)
	}
	r, err := w.k.Do(t.Context(), &kernel.SpendSlot{Goal: "site", Agent: "builder", Turn: "t1"}, cli())
	if err != nil || !r.Replay {
		t.Fatalf("the repeated spend gives %+v, %v", r, err)
	}
	if d := w.decide("builder"); d.Rule != "R16" || d.ShouldRun || d.Effective != "terminal" {
		t.Fatalf("at the end: %s %s", d.Rule, d.Effective)
	}
	w.replays()
}

// A gate blocks what it names and nothing else; first decision wins.
func TestGate(t *testing.T) {
	w := newWorld(t)
	w.goal("builder", "writer")
	pub := w.todo("publish", 0)
	faq := w.todo("write the FAQ", 2)
	gate := w.do(&kernel.OpenGate{Goal: "site", Agent: "builder", Question: "Publish the page?", Kind: "publish", Todos: []string{pub},
		Options: []kernel.Option{{ID: "go", Label: "Publish", Outcome: kernel.Approve}, {ID: "hold", Label: "Hold", Outcome: kernel.Reject}}}, cli())["gate_id"].(string)
	d := w.decide("builder")
	if d.Rule != "R09" || d.Selected.ID != faq || d.Contract.User.Notify != "NOTIFY" {
		t.Fatalf("fallback: %+v", d)
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: pub}, cli())
	w.refuse("owner_only", &kernel.AnswerGate{Gate: gate, Option: "go"}, cli())
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1", Claim: true}, cli())
	if d := w.decide("writer"); d.Rule != "R10" || d.Contract.User.Notify != "DONT_NOTIFY" {
		t.Fatalf("everything else is gated, and the owner was told: %s %s", d.Rule, d.Contract.User.Notify)
	}
	w.do(&kernel.AnswerGate{Gate: gate, Option: "go"}, owner())
	w.refuse("gate_answered", &kernel.AnswerGate{Gate: gate, Option: "hold"}, owner())
	d2 := w.do(&kernel.OpenTurn{Goal: "site", Agent: "writer", Turn: "t1", Claim: true}, cli())
	if d2["rule"] != "R12" || d2["selected_todo"].(map[string]any)["todo_id"] != pub {
		t.Fatalf("after the answer: %v", d2)
	}
	_ = w.k.Read(t.Context(), func(r *kernel.Reader) error {
		if g := r.Gate("site", gate); g.Taken == nil || g.Taken.Agent != "writer" {
			t.Errorf("the decision is not shown as taken: %+v", g.Taken)
		}
		return nil
	})
	w.replays()
}

// An expired lease counts as absent after its grace; the old holder is fenced.
func TestLeaseTakeover(t *testing.T) {
	w := newWorld(t)
	w.goal("a", "b")
	id := w.todo("x", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t1"}, cli())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "a", Todo: id, Turn: "t1"}, cli())
	e := w.refuse("lease_held", &kernel.ClaimTodo{Goal: "site", Agent: "b", Todo: id}, cli())
	if e.Details["holder"] != "a" {
		t.Fatalf("the conflict does not name the holder: %+v", e)
	}
	w.now += 10 * 365 * 24 * 3600 * 1000 // the wall clock jumps ten years; no time has passed
	w.refuse("lease_held", &kernel.ClaimTodo{Goal: "site", Agent: "b", Todo: id}, cli())
	w.pass(47 * 60 * 1000)
	if d := w.decide("b"); d.Selected == nil || d.Selected.By != "expired_lease" {
		t.Fatalf("an expired lease is not offered: %+v", d)
	}
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "b", Todo: id}, cli())
	w.refuse("lease_lost", &kernel.CompleteTodo{Goal: "site", Agent: "a", Todo: id, Turn: "t1", Evidence: note("late")}, cli())
	w.replays()
}

// A preview writes nothing and binds.
func TestPreview(t *testing.T) {
	w := newWorld(t)
	w.goal("a")
	before := w.dump()
	opt := owner()
	opt.Preview = true
	r, err := w.k.Do(t.Context(), &kernel.PauseGoal{Goal: "site"}, opt)
	if err != nil || r.Plan == "" || len(r.Changes) != 1 {
		t.Fatalf("preview %+v, %v", r, err)
	}
	if w.dump() != before {
		t.Fatal("the preview wrote")
	}
	bound := owner()
	bound.Plan = r.Plan
	w.do(&kernel.RegisterAgent{Goal: "site", Agent: "b"}, cli())
	w.do(&kernel.PauseGoal{Goal: "site"}, bound) // an unrelated change does not make it stale
	if d := w.decide("a"); d.Rule != "R01" || d.Scheduler.Action != "stop_until_explicit_resume" {
		t.Fatalf("a stopped goal gives %s", d.Rule)
	}
	w.refuse("plan_stale", &kernel.PauseGoal{Goal: "site"}, bound)
}

// Reserving before and settling after keeps a hard limit (B97).
func TestB97_SlotsAreReserved(t *testing.T) {
	w := newWorld(t)
	one := 2
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"a", "b", "c"}, Allowed: &one}, cli())
	for range 3 {
		w.todo("x", 1)
	}
	for _, a := range []string{"a", "b"} {
		w.do(&kernel.OpenTurn{Goal: "site", Agent: a, Turn: "t", Claim: true}, cli())
	}
	d := w.do(&kernel.OpenTurn{Goal: "site", Agent: "c", Turn: "t", Claim: true}, cli())
	if d["rule"] != "R11" {
		t.Fatalf("the third agent gets %v", d["rule"])
	}
	w.do(&kernel.Refresh{Goal: "site", Agent: "a", Turn: "t", Outcome: kernel.Progress}, cli())
	w.do(&kernel.SpendSlot{Goal: "site", Agent: "a", Turn: "t"}, cli())
	if d := w.decide("c"); d.Rule != "R11" || d.Scheduler.NextWake == 0 {
		t.Fatalf("paying must not free a slot: %s %d", d.Rule, d.Scheduler.NextWake)
	}
	w.pass(25 * 3600 * 1000)
	if d := w.decide("c"); d.Rule != "R12" {
		t.Fatalf("a day later: %s %s", d.Rule, d.Reason)
	}
}

func TestStrictJSON(t *testing.T) {
	deep := ""
	for range 10_000 {
		deep += "["
	}
	for name, in := range map[string]string{
		"two keys": `{"goal":"a","goal":"b"}`, "case": `{"GOAL":"a"}`, "long s": "{\"goal\":\"a\",\"le\u017f\":1}",
		"unknown": `{"goal":"a","colour":"red"}`, "deep": `{"goal":` + deep, "nul": "{\"goal\":\"a\x00\"}",
		"utf8": "{\"goal\":\"\xff\"}", "more": `{"goal":"a"} {}`, "cut": `{"goal":`, "type": `{"goal":7}`,
	} {
		if _, err := kernel.DecodeCommand("goal.pause", []byte(in)); kernel.AsError(err) == nil || kernel.AsError(err).Class != kernel.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := kernel.DecodeCommand("goal.pause", []byte(`{"goal":"a"}`)); err != nil {
		t.Error(err)
	}
}
