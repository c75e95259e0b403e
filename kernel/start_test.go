package kernel_test

import (
	"strings"
	"testing"

	"loopx/kernel"
)

// A goal starts whole or not at all, shows before what it would make, and once.
func TestStartGoal(t *testing.T) {
	w := newWorld(t)
	one := 1
	c := &kernel.StartGoal{
		Create: kernel.CreateGoal{Goal: "site", Objective: "Ship it"},
		Agents: []kernel.RegisterAgent{{Agent: "builder", Host: "codex"}, {Agent: "watcher", Mode: "monitor_only"}},
		Todos:  []kernel.AddTodo{{Title: "Write", Priority: &one}, {Title: "Publish", Scopes: []string{"publish:goal:site"}}},
	}
	before := w.dump()
	preview := cli()
	preview.Preview = true
	shown, err := w.k.Do(t.Context(), c, preview)
	if err != nil || !shown.Preview || len(shown.Changes) != 6 || shown.Plan == "" || w.dump() != before {
		t.Fatalf("preview %+v, %v", shown, err)
	}
	bad := *c
	bad.Todos = append(bad.Todos, kernel.AddTodo{Title: "Never", Class: "nonsense"})
	w.refuse("bad_class", &bad, cli())
	w.refuse("plan_stale", &bad, kernel.Options{By: cli().By, Plan: shown.Plan})
	opt := cli()
	opt.Key, opt.Plan = "start", shown.Plan
	got := w.do(c, opt)
	if got["goal_id"] != "site" || len(got["todos"].([]any)) != 2 || len(got["agents"].([]any)) != 2 || len(got["gates"].([]any)) != 1 {
		t.Fatalf("the start gives %v", got)
	}
	if r, err := w.k.Do(t.Context(), c, opt); err != nil || !r.Replay {
		t.Fatalf("again: %+v, %v", r, err)
	}
	w.refuse("goal_exists", c, cli())
	if d := w.decide("builder"); d.Rule != "R12" || d.Selected.Title != "Write" {
		t.Fatalf("builder: %s %+v", d.Rule, d.Selected)
	}
	if d := w.decide("watcher"); d.ShouldRun {
		t.Fatalf("a watcher is given work: %s", d.Rule)
	}
	w.replays()
}

// What a todo says it writes is held to the goal's limit; only an owner lifts it.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		limit, code string
		write       []string
		class       string
	}{
		{kernel.ReportOnly, "limit_report_only", []string{"a.md"}, ""},
		{kernel.ReportOnly, "", nil, ""},
		{kernel.DraftOnly, "limit_draft_only", []string{"src/a.go"}, ""},
		{kernel.DraftOnly, "limit_draft_only", []string{"drafts/a.md", "draftsman.md"}, ""},
		{kernel.DraftOnly, "limit_draft_only", []string{"**"}, ""},
		{kernel.DraftOnly, "", []string{"drafts/2026/a.md", "drafts/**"}, ""},
		{kernel.WatchOnly, "limit_watch_only", nil, ""},
		{kernel.WatchOnly, "", nil, kernel.Ask},
		{"", "", []string{"src/a.go"}, ""},
	} {
		w := newWorld(t)
		w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"a"}, Limit: tt.limit, Write: []string{"drafts/**"}}, cli())
		add := &kernel.AddTodo{Goal: "site", Agent: "a", Title: "x", Write: tt.write, Class: tt.class}
		if tt.code == "" {
			w.do(add, cli())
			continue
		}
		w.refuse(tt.code, add, cli())
		w.refuse("owner_only", &kernel.ConfigureGoal{Goal: "site", Limit: "none"}, cli())
		w.do(&kernel.ConfigureGoal{Goal: "site", Limit: "none"}, owner())
		w.do(add, cli())
		w.replays()
	}
}

// What follows from work is held to the limit too, and work that writes waits for
// the one approval.
func TestLimitAskFirst(t *testing.T) {
	w := newWorld(t)
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"a"}, Limit: kernel.AskFirst}, cli())
	first := w.do(&kernel.AddTodo{Goal: "site", Agent: "a", Title: "Patch", Write: []string{"src/**"}}, cli())
	gate, _ := first["gate_id"].(string)
	if gate == "" {
		t.Fatalf("nobody was asked: %v", first)
	}
	second := w.do(&kernel.AddTodo{Goal: "site", Agent: "a", Title: "Patch more", Write: []string{"docs/**"}}, cli())
	if second["gate_id"] != gate {
		t.Fatalf("asked twice: %v", second)
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "a", Todo: first["todo_id"].(string)}, cli())
	report := w.todo("Report", 3)
	d := w.decide("a")
	if d.Rule != "R09" || d.Selected.ID != report || !strings.Contains(d.Contract.Agent.Instruction, "its owner is asked") {
		t.Fatalf("%s %+v %q", d.Rule, d.Selected, d.Contract.Agent.Instruction)
	}
	w.do(&kernel.AnswerGate{Gate: gate, Option: "approve"}, owner())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "a", Todo: second["todo_id"].(string)}, cli())
	// A follow-up inherits what the work writes, and with it the need.
	done := w.do(&kernel.CompleteTodo{Goal: "site", Agent: "a", Todo: second["todo_id"].(string), Next: "Patch the rest", Evidence: note("patched")}, cli())
	w.read(func(r *kernel.Reader) {
		next := r.Todo("site", done["successor_todo_ids"].([]any)[0].(string))
		if len(next.Write) != 1 || len(next.Scopes) != 1 || next.Scopes[0] != "write_scope:goal:site" {
			t.Errorf("the follow-up writes %v and needs %v", next.Write, next.Scopes)
		}
	})
	w.replays()
}
