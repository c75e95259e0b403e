package kernel_test

import (
	"slices"
	"strconv"

	"loopx/kernel"

	"pgregory.net/rapid"
)

// This file drives turns that are settled in one step, those that loopx turn run
// carries through, and payments that are taken back.

// void takes a payment back, now and then one that is back already or by nobody
// who may.
func (m *machine) void(t *rapid.T) {
	seqs := []uint64{1}
	for _, p := range m.at.spends {
		if p.Goal == "site" {
			seqs = append(seqs, p.Seq)
		}
	}
	m.try(t, &kernel.VoidSlot{Goal: "site", Spend: rapid.SampledFrom(seqs).Draw(t, "payment"), Reason: "the check was wrong"}, m.by(t, kernel.ByOwner))
}

// fresh opens a turn of some agent that claims what it is given.
func (m *machine) fresh(t *rapid.T) (agent, turn, token string) {
	agent = rapid.SampledFrom(m.at.agents["site"]).Draw(t, "agent").ID
	m.turns++
	turn = "t" + strconv.Itoa(m.turns)
	out, err := m.try(t, &kernel.OpenTurn{Goal: "site", Agent: agent, Turn: turn, Claim: true, Workspace: workspaceOf(agent)}, cli())
	if err != nil || out["lease"] == nil {
		return agent, turn, ""
	}
	return agent, turn, out["lease"].(map[string]any)["token"].(string)
}

// whole runs a command made of several records: all of them are there or none, and
// the same again changes nothing.
func (m *machine) whole(t *rapid.T, cmd *kernel.CommitTurn) *kernel.Error {
	rec, err := m.run(t, cmd, cli())
	if err != nil {
		m.same(t, "the refused commit of "+cmd.Turn+" ("+err.Error()+")")
		m.refused(t, "turn.commit", err)
		return err
	}
	before := len(m.at.journal)
	m.at = m.read(t)
	if n := len(m.at.journal) - before; !rec.Replay && n < 1 || n > 2 {
		t.Fatalf("the commit of %s wrote %d records", cmd.Turn, n)
	}
	if again, err := m.run(t, cmd, cli()); err != nil || !again.Replay {
		t.Fatalf("the same commit of %s again: %+v, %v", cmd.Turn, again, err)
	}
	m.same(t, "the repeated commit of "+cmd.Turn)
	return nil
}

func (m *machine) commit(t *rapid.T) {
	agent, turn, token := m.fresh(t)
	m.pass(rapid.SampledFrom([]int64{1000, 600_000, 5 * 3_600_000}).Draw(t, "ms"))
	c := &kernel.CommitTurn{Goal: "site", Agent: agent, Turn: turn, Slots: rapid.SampledFrom([]int{0, 1, 1, 2}).Draw(t, "slots")}
	if rapid.Bool().Draw(t, "completes") {
		c.Complete = &kernel.CompleteTodo{Lease: token, Evidence: note("done"), NoFollowup: rapid.Bool().Draw(t, "nothing follows")}
		if i := slices.IndexFunc(m.at.turns, func(u *kernel.Turn) bool { return u.Goal == "site" && u.Agent == agent && u.ID == turn }); i >= 0 {
			c.Complete.Todo = m.at.turns[i].Todo
		}
	} else {
		c.Refresh = &kernel.Refresh{Lease: token, Outcome: rapid.SampledFrom([]string{kernel.Progress, kernel.OutcomeGap}).Draw(t, "outcome")}
	}
	m.whole(t, c)
}

// drive carries a turn through its phases, as loopx turn run does, and dies at
// some of them. Nothing is written back or paid in it before its answer was checked.
func (m *machine) drive(t *rapid.T) {
	agent, turn, token := m.fresh(t)
	if token == "" && rapid.IntRange(0, 3).Draw(t, "all the same") > 0 {
		return
	}
	mark := func(c *kernel.MarkTurn) bool {
		c.Goal, c.Agent, c.Turn = "site", agent, turn
		_, err := m.try(t, c, cli())
		return err == nil
	}
	early := func(phase string) {
		if rapid.IntRange(0, 2).Draw(t, "pays early") > 0 {
			return
		}
		for _, c := range []kernel.Command{&kernel.Refresh{Goal: "site", Agent: agent, Turn: turn, Lease: token, Outcome: kernel.Progress}, &kernel.SpendSlot{Goal: "site", Agent: agent, Turn: turn}} {
			if _, err := m.try(t, c, cli()); err == nil {
				t.Fatalf("%s passed in a driven turn that is at %s", c.Name(), phase)
			}
		}
	}
	dies := func() bool { return rapid.IntRange(0, 6).Draw(t, "dies here") == 0 }
	if dies() || !mark(&kernel.MarkTurn{Phase: kernel.PhaseStarted, Host: "digest", Deadline: m.now + 3_600_000}) {
		return
	}
	early(kernel.PhaseStarted)
	if mark(&kernel.MarkTurn{Phase: kernel.PhaseStarted, Host: "digest", Deadline: m.now + 3_600_000}) {
		t.Fatal("the host of a turn was started twice")
	}
	if dies() {
		return
	}
	if rapid.IntRange(0, 5).Draw(t, "the host fails") == 0 {
		mark(&kernel.MarkTurn{Phase: kernel.PhaseFailed, Failure: &kernel.Failure{Code: "host_failed", Message: "exit 1"}})
		early(kernel.PhaseFailed)
		return
	}
	if !mark(&kernel.MarkTurn{Phase: kernel.PhaseAnswered, Result: &kernel.HostResult{Kind: kernel.HostProgress, Outcome: kernel.Progress, Summary: "half of it"}}) {
		t.Fatal("a started turn takes no answer")
	}
	early(kernel.PhaseAnswered)
	switch {
	case dies():
		return
	case rapid.IntRange(0, 5).Draw(t, "stopped") == 0:
		mark(&kernel.MarkTurn{Phase: kernel.PhaseStopped, Outcome: kernel.OutcomeWait})
		early(kernel.PhaseStopped)
		return
	}
	m.pass(rapid.SampledFrom([]int64{1000, 600_000}).Draw(t, "ms"))
	if mark(&kernel.MarkTurn{Phase: kernel.PhaseValidated}) && !dies() {
		m.whole(t, &kernel.CommitTurn{Goal: "site", Agent: agent, Turn: turn, Refresh: &kernel.Refresh{Lease: token, Outcome: kernel.Progress}})
	}
}
