package kernel

import (
	"slices"
	"strconv"

	"loopx/kernel/store"
)

// applyGate makes an event of a gate true, with what it holds back or lets go.
func (t *tables) applyGate(e *Event, v *Gate) {
	old := t.Gate(v.Goal, v.ID)
	t.put(v, tblGate, v.Goal, v.ID)
	if v.Scope != "" && old == nil {
		t.mark(v.ID, tblScopeGate, v.Goal, v.Scope)
	}
	markAsking(t, e, v)
	openKey := []string{tblGateOpen, v.Goal, strconv.Itoa(int(v.Severity)), store.I64(v.Created), v.ID}
	if old == nil {
		t.mark(v.Goal, tblGateGoal, v.ID)
		n, _ := gateNumber(v.Code)
		t.mark(v.ID, tblGateCode, v.Goal, store.U64(n))
		t.mark("", openKey...)
		t.count(v.Goal, func(c *Counts) { c.Gates++; c.GatesOpen++ })
		t.setBlock(v, GateOpen)
		return
	}
	if old.Status == GateOpen && v.Status != GateOpen {
		t.del(openKey...)
		t.count(v.Goal, func(c *Counts) { c.GatesOpen-- })
	}
	if old.Status == GateAnswered && v.Status == GateOpen {
		t.mark("", openKey...)
		t.count(v.Goal, func(c *Counts) { c.GatesOpen++ })
	}
	switch {
	case e.Type == GateTaken:
		t.untake(v)
	case e.Type == GateReopened, e.Type == GateAskedAgain:
		unrelease(t, old, v)
	case e.Type == GateChangedEvent:
		unrelease(t, old, v)
		if releases(v.Answer.Outcome) {
			t.release(v)
		}
	case e.Type == GateJoined:
		t.setBlock(v, blockState(v))
	case e.Type == GateReleased:
		t.release(v)
	case old.Status == v.Status:
	case v.Status == GateWithdrawn:
		t.setBlock(v, GateWithdrawn)
	case releases(v.Answer.Outcome):
		t.release(v)
	default:
		t.setBlock(v, v.Answer.Outcome)
	}
}

// unrelease takes back what an earlier decision of a gate let go.
func unrelease(t *tables, old, v *Gate) {
	t.untake(old)
	for _, id := range old.Released {
		t.del(tblFreed, v.Goal, id, v.ID)
	}
	for _, id := range standing(&t.reader, v) {
		if v.Scope != "" {
			t.del(tblScopeDone, v.Goal, id, v.Scope)
		}
	}
	t.setBlock(v, blockState(v))
}

// setBlock writes the state of a gate's block on all it holds back.
func (t *tables) setBlock(v *Gate, state string) {
	// A todo that is done lets go of its gates for good; one that was replaced
	// hands them on.
	for _, id := range standing(&t.reader, v) {
		t.mark(state, tblBlock, v.Goal, id, v.ID)
		t.mark("", tblBlockBack, v.Goal, v.ID, id)
		t.place(v.Goal, id)
	}
	if lane := v.lane(); lane != "" {
		t.mark(state, tblLane, v.Goal, lane, v.ID)
	}
}

// blockState is how a gate's block stands on what joins it.
func blockState(v *Gate) string {
	if v.Status == GateAnswered {
		return v.Answer.Outcome
	}
	return GateOpen
}

func (t *tables) release(v *Gate) {
	approved := v.Status == GateAnswered && v.Answer.Outcome == Approve
	for _, id := range t.BlockedBy(v.Goal, v.ID, backMax) {
		if approved && v.Scope != "" {
			t.mark("", tblScopeDone, v.Goal, id, v.Scope)
		}
		if approved {
			t.mark("", tblFreed, v.Goal, id, v.ID)
		}
		t.del(tblBlock, v.Goal, id, v.ID)
		t.del(tblBlockBack, v.Goal, v.ID, id)
		t.place(v.Goal, id)
	}
	if lane := v.lane(); lane != "" {
		t.del(tblLane, v.Goal, lane, v.ID)
	}
	for _, s := range v.takers() {
		t.mark("", tblTaken, v.Goal, s, v.ID)
	}
}

func (t *tables) untake(v *Gate) {
	for _, s := range v.takers() {
		t.del(tblTaken, v.Goal, s, v.ID)
	}
}

// takers are the subjects whose next turn shows that a decision was taken up.
func (g *Gate) takers() []string {
	out := slices.Clone(g.Released)
	if lane := g.lane(); lane != "" {
		out = append(out, "lane:"+lane)
	}
	return out
}

// lane is the agent a gate holds back, "*" for the whole goal, "" for none.
func (g *Gate) lane() string {
	if g.Blocks.Goal {
		return "*"
	}
	return g.Blocks.Agent
}

// markAsking keeps what an agent asks countable.
func markAsking(t *tables, e *Event, v *Gate) {
	agent := v.askingAgent()
	if agent == "" {
		return
	}
	if v.Status == GateOpen {
		t.mark("", tblAskOpen, v.Goal, agent, v.ID)
	} else {
		t.del(tblAskOpen, v.Goal, agent, v.ID)
	}
	if e.Type == GateOpened || e.Type == GateAskedAgain {
		for _, person := range v.To {
			t.mark(strconv.FormatInt(v.Steady, 10), tblAskRate, v.Goal, agent, person, store.I64(v.Steady), v.ID)
		}
	}
}
