package kernel_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"loopx/kernel"
)

// rule is what an agent's decision is and selects.
func (w *world) rule(agent string) (string, string) {
	w.t.Helper()
	d := w.decide(agent)
	return d.Rule, selected(d)
}

// First decision wins: the same again and the opposite are both told who decided
// what, and neither does anything (B28, B30).
func TestB30_FirstDecisionWins(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id := w.todo("publish", 0)
	g := w.gate(id)
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve", Reason: "looks good"}, owner())
	for _, option := range []string{"approve", "reject", "nonsense"} {
		e := w.refuse("gate_answered", &kernel.AnswerGate{Gate: g, Option: option}, owner())
		if e.Class != kernel.Conflict || !strings.Contains(e.Message, "Wei") || e.Details["by"] != "Wei" || e.Details["option"] != "approve" || e.Details["outcome"] != "approve" || e.Details["at"] == "" {
			t.Errorf("%s again: %s", option, asJSON(e))
		}
	}
	w.refuse("gate_answered", &kernel.WithdrawGate{Gate: g}, owner())
	w.replays()
}

// Two presses at once: one decision.
func TestB30_TwoAtOnce(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	g := w.gate(w.todo("publish", 0))
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			option := []string{"approve", "reject"}[i%2]
			_, errs[i] = w.k.Do(t.Context(), &kernel.AnswerGate{Gate: g, Option: option}, owner())
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if kernel.AsError(err).Code != "gate_answered" {
			t.Error(err)
		}
	}
	if _, err := readRows(w.st); won != 1 || err != nil {
		t.Fatalf("%d of 16 decided, %v", won, err)
	}
}

// Two claims at once: one holder, and the loser is told who (B83, B84).
func TestB83_ClaimsAtOnce(t *testing.T) {
	w := newWorld(t)
	agents := []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"}
	w.goal(agents...)
	id := w.todo("x", 0)
	var wg sync.WaitGroup
	errs := make([]error, len(agents))
	for i, a := range agents {
		wg.Go(func() { _, errs[i] = w.k.Do(t.Context(), &kernel.ClaimTodo{Goal: "site", Agent: a, Todo: id}, cli()) })
	}
	wg.Wait()
	s, err := readRows(w.st)
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		if won := s.claims[id].Agent == agents[i]; won != (err == nil) {
			t.Errorf("%s: %v, the holder is %s", agents[i], err, s.claims[id].Agent)
		} else if e := kernel.AsError(err); e != nil && (e.Code != "lease_held" || e.Details["holder"] != s.claims[id].Agent || strings.Contains(asJSON(e), s.claims[id].Token)) {
			t.Errorf("%s is told %s", agents[i], asJSON(e))
		}
	}
}

// A gate on one agent's lane holds that agent and nobody else; one on the goal
// holds all; the owner is told once (B31).
func TestB31_Lanes(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	id := w.todo("x", 1)
	lane := w.do(&kernel.OpenGate{Goal: "site", Question: "May ann go on?", LaneOf: "ann"}, cli())["gate_id"].(string)
	if rule, _ := w.rule("ann"); rule != "R10" {
		t.Errorf("ann gets %s", rule)
	}
	if rule, todo := w.rule("bob"); rule != "R12" || todo != id {
		t.Errorf("bob gets %s %s", rule, todo)
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	w.refuse("gate_pending", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	for i, want := range []string{"NOTIFY", "DONT_NOTIFY", "DONT_NOTIFY"} {
		if got := w.decide("ann").Contract.User.Notify; got != want {
			t.Errorf("look %d: %s", i, got)
		}
		w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t" + strings.Repeat("x", i)}, cli())
	}
	all := w.do(&kernel.OpenGate{Goal: "site", Question: "Go on at all?", WholeGoal: true}, cli())["gate_id"].(string)
	if rule, _ := w.rule("bob"); rule != "R10" {
		t.Errorf("with the goal gated bob gets %s", rule)
	}
	w.do(&kernel.AnswerGate{Gate: all, Option: "approve"}, owner())
	w.do(&kernel.AnswerGate{Gate: lane, Option: "approve"}, owner())
	for _, a := range []string{"ann", "bob"} {
		if rule, todo := w.rule(a); rule != "R12" || todo != id {
			t.Errorf("released, %s gets %s %s", a, rule, todo)
		}
	}
	w.replays()
}

// Nobody answers: no answer is no consent. What the gate blocks stays blocked,
// the state says so, and only an owner lifts it (B32).
func TestB32_Expired(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	id := w.todo("publish", 0)
	g := w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Publish?", Todos: []string{id}, Expires: w.now + 1000}, cli())["gate_id"].(string)
	w.pass(1000)
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	e := w.refuse("gate_expired", &kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	if e.Class != kernel.Conflict || e.Fix == "" || !strings.Contains(e.Message, "grants nothing") {
		t.Errorf("the answer to an expired gate: %s", asJSON(e))
	}
	if rule, _ := w.rule("ann"); rule != "R10" {
		t.Errorf("ann gets %s", rule)
	}
	w.refuse("owner_only", &kernel.ReleaseGate{Gate: g}, cli())
	w.do(&kernel.ReleaseGate{Gate: g, Reason: "no longer needed"}, owner())
	if rule, todo := w.rule("ann"); rule != "R12" || todo != id {
		t.Errorf("released, ann gets %s %s", rule, todo)
	}
	before := w.dump()
	if again := w.do(&kernel.ReleaseGate{Gate: g}, owner()); again["changed"] != false || w.dump() != before {
		t.Errorf("releasing again: %v", again)
	}
	w.replays()
}

// Nothing walks around a gate: not taking it back, not another todo in the
// place of the blocked one, not parking and reopening, not a new claim.
func TestNothingWalksAroundAGate(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	id := w.todo("publish", 0)
	g := w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Publish?", Todos: []string{id}}, cli())["gate_id"].(string)
	next := w.do(&kernel.SupersedeTodo{Goal: "site", Agent: "ann", Todo: id, Next: "publish quietly"}, cli())["superseded_by"].(string)
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: next}, cli())
	w.do(&kernel.WithdrawGate{Gate: g, Agent: "ann"}, cli())
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: next}, cli())
	w.refuse("gate_pending", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: next, Next: "and on"}, cli())
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "ann", Todo: next, Status: "deferred", ResumeWhen: "event:x"}, cli())
	w.do(&kernel.FireEvent{Goal: "site", Key: "x"}, cli())
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: next}, cli())
	if rule, _ := w.rule("ann"); rule != "R10" {
		t.Errorf("ann gets %s", rule)
	}
	// A second gate on the same todo: one approval does not lift the other.
	g2 := w.do(&kernel.OpenGate{Goal: "site", Question: "Really?", Todos: []string{next}}, cli())["gate_id"].(string)
	w.do(&kernel.AnswerGate{Gate: g2, Option: "approve"}, owner())
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: next}, cli())
	w.do(&kernel.ReleaseGate{Gate: g}, owner())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: next}, cli())
	w.replays()
}

// The question asked again while it is open is the same gate; another expiry,
// wording or option is another one.
func TestSameQuestionIsTheSameGate(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id := w.todo("x", 0)
	first := w.gate(id)
	before := w.dump()
	if again := w.gate(id); again != first || w.dump() != before {
		t.Fatalf("asked again it is %s, was %s", again, first)
	}
	other := w.do(&kernel.OpenGate{Goal: "site", Question: "Go on with " + id + "?", Kind: "publish", Todos: []string{id}}, cli())["gate_id"].(string)
	if other == first {
		t.Fatal("another kind is the same gate")
	}
}

// What an answer binds to is exactly what was shown.
func TestAnswerBindsToWhatWasShown(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	seen := map[string]string{}
	id := w.todo("x", 0)
	base := kernel.OpenGate{Goal: "site", Question: "Go?", Why: "because", Todos: []string{id}, Options: []kernel.Option{{ID: "a", Label: "A", Consequence: "then"}, {ID: "b", Label: "B", Outcome: "reject"}}}
	for name, change := range map[string]func(*kernel.OpenGate){
		"as it is": func(*kernel.OpenGate) {}, "question": func(c *kernel.OpenGate) { c.Question = "Go!" }, "why": func(c *kernel.OpenGate) { c.Why = "" },
		"label": func(c *kernel.OpenGate) { c.Options[0].Label = "B" }, "consequence": func(c *kernel.OpenGate) { c.Options[0].Consequence = "else" },
		"outcome": func(c *kernel.OpenGate) { c.Options[0].Outcome = "approve" }, "order": func(c *kernel.OpenGate) { c.Options[0], c.Options[1] = c.Options[1], c.Options[0] },
		"kind": func(c *kernel.OpenGate) { c.Kind = "publish" }, "what it blocks": func(c *kernel.OpenGate) { c.Todos, c.LaneOf = nil, "ann" },
	} {
		c := base
		c.Options = append([]kernel.Option(nil), base.Options...)
		change(&c)
		w.do(&c, cli())
		s, err := readRows(w.st)
		if err != nil {
			t.Fatal(err)
		}
		g := s.asked[len(s.asked)-1]
		if was, ok := seen[g.Digest]; ok {
			t.Errorf("the answer to %q also answers %q", was, name)
		}
		seen[g.Digest] = name
	}
}

// A key is one request: the same again is answered, another payload, command or
// principal under it is refused.
func TestKeys(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	opt := cli()
	opt.Key = "k1"
	first, err := w.k.Do(t.Context(), &kernel.AddTodo{Goal: "site", Title: "once"}, opt)
	if err != nil {
		t.Fatal(err)
	}
	w.pass(40 * 24 * 3_600_000)
	before := w.dump()
	again, err := w.k.Do(t.Context(), &kernel.AddTodo{Goal: "site", Title: "once"}, opt)
	if err != nil || !again.Replay || again.ID != first.ID || string(again.Result) != string(first.Result) || w.dump() != before {
		t.Fatalf("again: %+v, %v", again, err)
	}
	w.refuse("key_reused", &kernel.AddTodo{Goal: "site", Title: "twice"}, opt)
	w.refuse("key_reused", &kernel.PauseGoal{Goal: "site"}, opt)
	other := owner()
	other.Key = "k1"
	w.refuse("key_reused", &kernel.AddTodo{Goal: "site", Title: "once"}, other)
	opt.Key = "with space"
	w.refuse("bad_idempotency_key", &kernel.PauseGoal{Goal: "site"}, opt)
}

// A newer layout is refused and left as it is.
func TestNewerLayout(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	copied := copyStore(t, w.st, "sv", "99")
	defer func() { _ = copied.Close() }()
	before := dump(t, copied)
	_, err := kernel.Open(t.Context(), copied, w)
	if e := kernel.AsError(err); e == nil || e.Code != "newer_schema" || e.Class != kernel.Unavailable || e.Fix == "" || badWords(e) != "" {
		t.Fatalf("a newer layout gives %v", err)
	}
	if dump(t, copied) != before {
		t.Fatal("the refused state was changed")
	}
	broken := copyStore(t, w.st, "sv", "one")
	defer func() { _ = broken.Close() }()
	if _, err := kernel.Open(t.Context(), broken, w); kernel.AsError(err).Code != "state_damaged" {
		t.Fatalf("a damaged layout gives %v", errors.Unwrap(err))
	}
}
