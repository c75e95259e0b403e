package view_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"loopx/kernel"
	"loopx/kernel/store/storetest"
	"loopx/kernel/view"
)

// bare is an empty workspace.
func bare(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, now: start}
	h.st = storetest.NewModel(func() int64 { return h.now })
	t.Cleanup(func() { _ = h.st.Close() })
	var err error
	if h.K, err = kernel.Open(t.Context(), h.st, nil); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) todo(c *kernel.AddTodo) string {
	h.t.Helper()
	return h.do(c, kernel.ByCLI)["todo_id"].(string)
}

func asked[T any](h *house, q view.Query) T {
	h.t.Helper()
	v, err := view.Ask[T](h.t.Context(), h, q)
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

// A handoff says what an agent needs to go on, and keeps its limit whatever the
// texts are.
func TestHandoff(t *testing.T) {
	w := bare(t)
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "Ship the pricing page", NonGoals: []string{"fame"}, Agents: []string{"ann", "bob"}}, kernel.ByCLI)
	id := w.todo(&kernel.AddTodo{Goal: "site", Title: "Write the FAQ", Body: "long text"})
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, kernel.ByCLI)
	w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Todo: id, Outcome: kernel.OutcomeGap, Note: "the source is missing", Next: "ask for it", Evidence: []kernel.EvidenceArg{{Kind: "artifact", Summary: "draft 1"}}}, kernel.ByCLI)
	w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Which source?", Todos: []string{id}}, kernel.ByCLI)
	got := asked[view.HandoffView](w, &view.Handoff{Goal: "site", Agent: "bob", Todo: id})
	for _, want := range []string{"Objective (revision 0): Ship the pricing page", "Todo " + id + " P2, held by ann: Write the FAQ", "ann: outcome_gap, the source is missing; next: ask for it; ev1 artifact: draft 1",
		"Gate G-1 (open): Which source?", "Read first: the text of " + id + ", the non-goals of site", "Stop when"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("the handoff lacks %q:\n%s", want, got.Text)
		}
	}
	for name, long := range map[string]string{"wide": strings.Repeat("汉", 240), "latin": strings.Repeat("x ", 119) + "x"} {
		w := bare(t)
		w.do(&kernel.CreateGoal{Goal: "site", Objective: strings.Repeat(long, 8), NonGoals: []string{long}, Agents: []string{"ann", "bob"}}, kernel.ByCLI)
		id := w.todo(&kernel.AddTodo{Goal: "site", Title: long, Body: long, Note: long})
		for i := range 12 {
			w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Todo: id, Outcome: kernel.Progress, Note: fmt.Sprint(i) + long, Next: long, Evidence: []kernel.EvidenceArg{{Kind: "link", Summary: long}, {Kind: "link", Summary: long}, {Summary: long}}}, kernel.ByCLI)
		}
		for i := range 3 {
			w.do(&kernel.OpenGate{Goal: "site", Question: fmt.Sprint(i) + long[:len(long)-3], Todos: []string{id}}, kernel.ByCLI)
		}
		got := asked[view.HandoffView](w, &view.Handoff{Goal: "site", Agent: "bob", Todo: id})
		n := utf8.RuneCountInString(got.Text)
		if n > kernel.HandoffMost || n < 1000 || !strings.Contains(got.Text, "- ") || !strings.Contains(got.Text, "G-3") || !strings.Contains(got.Text, "Stop when") {
			t.Errorf("%s: %d characters:\n%s", name, n, got.Text)
		}
	}
}

// The decision starts with the handoff when another agent worked on the todo
// last, and only then.
func TestHandoffComesFirst(t *testing.T) {
	w := bare(t)
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"ann", "bob"}}, kernel.ByCLI)
	id := w.todo(&kernel.AddTodo{Goal: "site", Title: "x"})
	first := func(agent string) string {
		d := asked[kernel.Decision](w, &view.ShouldRun{Caller: kernel.Caller{Goal: "site", Agent: agent}})
		return strings.Join(d.Contract.Agent.ReadFirst, "|")
	}
	if s := first("bob"); s != "" {
		t.Errorf("nobody worked on it: %s", s)
	}
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, kernel.ByCLI)
	w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Todo: id, Outcome: kernel.Progress, Note: "half of it"}, kernel.ByCLI)
	if s := first("ann"); s != "" {
		t.Errorf("its own work: %s", s)
	}
	w.do(&kernel.TransferTodo{Goal: "site", Agent: "ann", Todo: id, To: "bob"}, kernel.ByCLI)
	if s := first("bob"); !strings.HasPrefix(s, "Handoff of "+id) || !strings.Contains(s, "ann: outcome_progress, half of it") {
		t.Errorf("handed over: %s", s)
	}
}

// The four value signals stand apart, count only their window, and say when a
// cost is not known.
func TestValue(t *testing.T) {
	w := bare(t)
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"ann"}}, kernel.ByCLI)
	done := func(tokens *int64) {
		id := w.todo(&kernel.AddTodo{Goal: "site", Title: "x"})
		w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id, Evidence: []kernel.EvidenceArg{{Summary: "ok"}}}, kernel.ByCLI)
		w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann", Tokens: tokens}, kernel.ByCLI)
	}
	value := func() view.ValueView { return asked[view.ValueView](w, &view.Value{Goal: "site"}) }
	if v := value(); v.Tokens.State != "unknown" || v.Output != (view.Output{}) {
		t.Errorf("nothing yet: %+v", v)
	}
	done(nil)
	if v := value(); v.Tokens.State != "unknown" || v.Tokens.Tokens != nil {
		t.Errorf("no host counted: %+v", v.Tokens)
	}
	n := int64(1200)
	done(&n)
	g := w.do(&kernel.OpenGate{Goal: "site", Question: "Go?", Kind: "publish", Advisory: true}, kernel.ByCLI)["gate_id"].(string)
	w.now += 60_000
	w.do(&kernel.AnswerGate{Gate: g, Option: "reject"}, kernel.ByOwner)
	v := value()
	if v.Output.Done != 2 || v.Output.Delivered != 2 || v.Output.Slots != 2 || v.Quality.Proven != 2 || v.Quality.Unvalidated != 2 || v.Quality.Rejected != 1 {
		t.Errorf("%+v", v)
	}
	if v.Tokens.State != "partial" || *v.Tokens.Tokens != 1200 {
		t.Errorf("one of two was counted: %s", v.Tokens.State)
	}
	if a := v.Attention; a.Asked != 1 || a.Answered != 1 || a.Protected != 1 || a.Waiting != 0 || a.WaitMS != 60_000 {
		t.Errorf("%+v", a)
	}
	w.now += 8 * 24 * 3_600_000
	if v := value(); v.Output != (view.Output{}) || v.Attention.Asked != 0 || v.Tokens.State != "unknown" {
		t.Errorf("outside of the window: %+v", v)
	}
	done(&n)
	if v := value(); v.Tokens.State != "counted" || *v.Tokens.Tokens != 1200 {
		t.Errorf("all of it was counted: %+v", v.Tokens)
	}
}
