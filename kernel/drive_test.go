package kernel_test

import (
	"testing"

	"loopx/kernel"
)

func (w *world) mark(turn, phase string) map[string]any {
	w.t.Helper()
	return w.do(w.markOf(turn, phase), cli())
}

func (w *world) markOf(turn, phase string) *kernel.MarkTurn {
	c := &kernel.MarkTurn{Goal: "site", Agent: "a", Turn: turn, Phase: phase}
	switch phase {
	case kernel.PhaseStarted:
		c.Host, c.Deadline = "h", w.now+60_000
	case kernel.PhaseAnswered:
		c.Result = &kernel.HostResult{Kind: kernel.HostProgress, Outcome: kernel.Progress, Summary: "half"}
	case kernel.PhaseStopped:
		c.Outcome = kernel.OutcomeWait
	case kernel.PhaseFailed:
		c.Failure = &kernel.Failure{Code: "host_failed", Message: "it fell over"}
	}
	return c
}

// The phases of a driven turn come in one order, each once, whatever is tried.
func TestTurnPhasesAreReachedOnce(t *testing.T) {
	all := []string{kernel.PhaseStarted, kernel.PhaseAnswered, kernel.PhaseValidated, kernel.PhaseStopped, kernel.PhaseFailed}
	next := map[string][]string{
		"":                    {kernel.PhaseStarted},
		kernel.PhaseStarted:   {kernel.PhaseAnswered, kernel.PhaseFailed},
		kernel.PhaseAnswered:  {kernel.PhaseValidated, kernel.PhaseStopped, kernel.PhaseFailed},
		kernel.PhaseValidated: {kernel.PhaseStopped, kernel.PhaseFailed},
		kernel.PhaseStopped:   {}, kernel.PhaseFailed: {},
	}
	way := map[string][]string{
		"": {}, kernel.PhaseStarted: all[:1], kernel.PhaseAnswered: all[:2], kernel.PhaseValidated: all[:3],
		kernel.PhaseStopped: {all[0], all[1], all[3]}, kernel.PhaseFailed: {all[0], all[4]},
	}
	for at, path := range way {
		for _, to := range all {
			w := newWorld(t)
			w.goal("a")
			w.todo("one", 1)
			w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t1", Claim: true}, cli())
			for _, p := range path {
				w.mark("t1", p)
			}
			ok := false
			for _, n := range next[at] {
				ok = ok || n == to
			}
			if ok {
				w.mark("t1", to)
				w.replays()
			} else {
				w.refuse("turn_phase", w.markOf("t1", to), cli())
			}
		}
	}
}

// Between the start of the host and the pass of the validator nothing of the turn
// is written back or paid; a turn that failed gives back what it held.
func TestDrivenTurnPaysAfterValidation(t *testing.T) {
	w := newWorld(t)
	w.goal("a")
	id := w.todo("one", 1)
	refresh := &kernel.Refresh{Goal: "site", Agent: "a", Turn: "t1", Outcome: kernel.Progress}
	commit := &kernel.CommitTurn{Goal: "site", Agent: "a", Turn: "t1", Complete: &kernel.CompleteTodo{Todo: id, Evidence: note("12/12")}}
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t1", Claim: true}, cli())
	for _, p := range []string{kernel.PhaseStarted, kernel.PhaseAnswered} {
		w.mark("t1", p)
		w.refuse("turn_driven", refresh, cli())
		w.refuse("turn_driven", commit, cli())
		w.refuse("turn_driven", &kernel.CompleteTodo{Goal: "site", Agent: "a", Turn: "t1", Todo: id, Evidence: note("x")}, cli())
	}
	w.mark("t1", kernel.PhaseValidated)
	w.do(commit, cli())
	w.refuse("turn_spent", w.markOf("t1", kernel.PhaseFailed), cli())

	two := w.todo("two", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t2", Claim: true}, cli())
	w.mark("t2", kernel.PhaseStarted)
	w.mark("t2", kernel.PhaseFailed)
	err := w.k.Read(t.Context(), func(r *kernel.Reader) error {
		if c := r.Claim("site", two); c.Agent != "" {
			t.Errorf("a failed turn keeps its claim: %+v", c)
		}
		if v := r.Reservation("site", "a"); v != nil {
			t.Errorf("a failed turn keeps its slot: %+v", v)
		}
		if u := r.Turn("site", "a", "t2"); u.Status != kernel.TurnClosed || u.Outcome != "failed" || u.Drive.Failure.Code != "host_failed" {
			t.Errorf("the turn reads %+v", u)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.replays()
}

// What a mark carries is checked wherever it comes from.
func TestMarksAreChecked(t *testing.T) {
	w := newWorld(t)
	w.goal("a")
	w.todo("one", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t1", Claim: true}, cli())
	w.refuse("bad_deadline", &kernel.MarkTurn{Goal: "site", Agent: "a", Turn: "t1", Phase: kernel.PhaseStarted, Host: "h", Deadline: w.now}, cli())
	w.refuse("turn_not_found", w.markOf("none", kernel.PhaseStarted), cli())
	w.refuse("bad_turn_id", w.markOf("", kernel.PhaseStarted), cli())
	w.mark("t1", kernel.PhaseStarted)
	for code, res := range map[string]*kernel.HostResult{
		"missing_result":       nil,
		"bad_result_kind":      {Kind: "glory", Summary: "s"},
		"bad_delivery_outcome": {Kind: kernel.HostProgress, Outcome: kernel.SurfaceOnly, Summary: "s"},
		"bad_text":             {Kind: kernel.HostWait, Summary: "a\x1b[2Jb"},
		"bad_continuation":     {Kind: kernel.HostComplete, NoFollowup: true, NextTodo: "more", Summary: "s"},
		"missing_evidence":     {Kind: kernel.HostWait, Summary: "s", Evidence: []kernel.EvidenceArg{{}}},
		"too_much_evidence":    {Kind: kernel.HostWait, Summary: "s", Evidence: make([]kernel.EvidenceArg, 8)},
	} {
		c := w.markOf("t1", kernel.PhaseAnswered)
		c.Result = res
		w.refuse(code, c, cli())
	}
	w.pass(3 * 3600_000)
	w.todo("two", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t2", Claim: true}, cli())
	w.pass(3 * 3600_000)
	w.refuse("turn_closed", w.markOf("t2", kernel.PhaseStarted), cli())
}
