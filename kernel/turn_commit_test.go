package kernel_test

import (
	"testing"

	"loopx/kernel"
)

// A turn is settled whole or not at all, and once.
func TestCommitTurn(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	id := w.todo("x", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1", Claim: true}, cli())
	commit := &kernel.CommitTurn{Goal: "site", Agent: "builder", Turn: "t1", Complete: &kernel.CompleteTodo{Todo: id, NoFollowup: true}}
	w.refuse("writeback_missing", commit, cli()) // a completion without evidence pays for nothing, and is taken back
	commit.Complete.Evidence = note("tests 212/212")
	preview := cli()
	preview.Preview = true
	before := w.dump()
	if r, err := w.k.Do(t.Context(), commit, preview); err != nil || !r.Preview || w.dump() != before {
		t.Fatalf("preview %+v, %v", r, err)
	}
	got := w.do(commit, cli())
	if got["appended"] != true || got["no_followup"] != true || got["slots"] != 1.0 {
		t.Fatalf("the commit gives %v", got)
	}
	r, err := w.k.Do(t.Context(), commit, cli())
	if err != nil || !r.Replay {
		t.Fatalf("again: %+v, %v", r, err)
	}
	if d := w.decide("builder"); d.Rule != "R16" || d.Quota.Spent != 1 {
		t.Fatalf("afterwards: %s, %d spent", d.Rule, d.Quota.Spent)
	}
	w.refuse("bad_commit", &kernel.CommitTurn{Goal: "site", Agent: "builder", Turn: "t1"}, cli())
	w.replays()
}

// Work in progress is written back and paid for without ending the todo.
func TestCommitTurnWithRefresh(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	w.todo("x", 1)
	for _, turn := range []string{"t1", "t2"} {
		w.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: turn, Claim: true}, cli())
		w.do(&kernel.CommitTurn{Goal: "site", Agent: "builder", Turn: turn, Refresh: &kernel.Refresh{Outcome: kernel.Progress, Next: "go on"}}, cli())
	}
	if d := w.decide("builder"); d.Rule != "R12" || d.Quota.Spent != 2 || d.Selected.By != "current_agent_claimed_todo" {
		t.Fatalf("afterwards: %s, %d spent", d.Rule, d.Quota.Spent)
	}
	w.replays()
}
