package kernel

import (
	"cmp"
	"slices"

	"loopx/kernel/store"
)

// Leftover is what a turn of this agent left open, in a decision.
type Leftover struct {
	Turn string `json:"turn_instance_id"`
	Todo string `json:"todo_id,omitempty"`
	Why  string `json:"why"`
	// Claim says that the todo is still held in that turn's name; Writeback, that
	// what it delivered is unpaid.
	Claim     bool `json:"claim"`
	Writeback bool `json:"writeback"`

	turn *Turn
}

// unsettledMost bounds the turns that one decision looks at. Each opened turn
// takes from the index what has nothing left to settle.
const unsettledMost = 64

func sortBy[T any](list []T, at func(T) (int64, string)) {
	slices.SortFunc(list, func(a, b T) int {
		ta, ia := at(a)
		tb, ib := at(b)
		return cmp.Or(cmp.Compare(ta, tb), cmp.Compare(ia, ib))
	})
}

// turns is a reader that knows how turns end and what they leave.
type turns struct{ *Reader }

// unsettled lists the turns of an agent that said act and are neither paid nor
// known to have nothing left, oldest first.
func (r turns) unsettled(goal, agent string) []*Turn {
	var out []*Turn
	for _, id := range r.lastParts(under(unsettledMost, tblUnsettled, goal, agent)) {
		if t := r.Turn(goal, agent, id); t != nil {
			out = append(out, t)
		}
	}
	return out
}

// applyTurn keeps the index of turns that may have something left to settle.
func applyTurn(t *tables, v *Turn) {
	t.put(v, tblTurn, v.Goal, v.Agent, v.ID)
	if v.Act && !v.Spent && !v.Settled {
		t.mark("", tblUnsettled, v.Goal, v.Agent, store.I64(v.Opened), v.ID)
	} else {
		t.del(tblUnsettled, v.Goal, v.Agent, store.I64(v.Opened), v.ID)
	}
}

// ended says why a turn is over, for a caller that may be about to replace it;
// "" while it is live.
func (r turns) ended(t *Turn, c Caller) string {
	claim := r.Claim(t.Goal, t.Todo)
	switch s := r.Session(t.Goal, t.Session); {
	case t.Status == TurnClosed:
		return or(t.Outcome, "closed")
	case c.Turn != "" && c.Turn != t.ID && c.Session == t.Session:
		return "replaced"
	case s == nil || s.State == "closed":
		return "session_closed"
	case t.Generation == 0:
		if t.Until <= r.steady {
			return "lease_ended"
		}
	case claim != nil && claim.Generation > t.Generation, claim != nil && claim.Agent != "" && !claim.Holds(r.steady):
		return "lease_lost"
	}
	return ""
}

// leftOf says what an ended turn still holds. A claim on what waits for a
// person is kept and is no loose end: there is nothing to do about it.
func (r turns) leftOf(t *Turn, why string) *Leftover {
	l := &Leftover{Turn: t.ID, Why: why, turn: t}
	c := r.Claim(t.Goal, t.Todo)
	if t.Generation > 0 && t.Heir == "" && c.Holds(r.steady) && c.Agent == t.Agent && c.Generation == t.Generation &&
		len(r.Blocks(t.Goal, t.Todo)) == 0 && len(r.LaneBlocks(t.Goal, t.Agent)) == 0 && approvedStill(r.Reader, t) {
		l.Claim, l.Todo = true, t.Todo
	}
	for _, seq := range r.lastParts(under(64, tblRunOwed, t.Goal, t.Agent).Last()) {
		if run := get[Run](r.Reader, tblRun, t.Goal, seq); run != nil && run.Turn == t.ID {
			l.Writeback, l.Todo = true, or(l.Todo, run.Todo)
			break
		}
	}
	if !l.Claim && !l.Writeback {
		return nil
	}
	return l
}

// leftover is the oldest turn that has something to settle now, or nil. What
// can only be paid waits for a slot.
func leftover(s *situation) *Leftover {
	r := turns{s.r}
	for _, t := range r.unsettled(s.g.ID, s.agent) {
		if t.ID == s.caller.Turn {
			continue
		}
		why := r.ended(t, s.caller)
		if why == "" {
			continue
		}
		if l := r.leftOf(t, why); l != nil && (l.Claim || s.slot()) {
			return l
		}
	}
	return nil
}

// settle has a turn finish what an earlier one left: its claim passes to the new
// turn, and its writeback is paid under its own id.
func (s *situation) settle(d *Decision) {
	l := s.left
	d.Kind, d.ShouldRun = "settle", true
	d.State, d.Decision, d.Effective = "eligible", "self_repair", "control_plane_self_repair"
	d.Reason = "the turn " + l.Turn + " ended (" + l.Why + ") and was not settled"
	d.Settle = l
	d.Contract.User.Notify = "DONT_NOTIFY"
	base := []string{"--goal-id", s.g.ID, "--agent-id", s.agent}
	if l.Writeback {
		d.Contract.CLI.Next = append(d.Contract.CLI.Next, append([]string{"quota", "spend-slot", "--execute", "--turn-instance-id", l.Turn}, base...))
		d.Contract.Agent.Instruction = "Pay for what the turn " + l.Turn + " delivered."
	}
	if l.Claim {
		v := s.r.Todo(s.g.ID, l.Todo)
		d.Selected = &Selected{ID: v.ID, Title: v.Title, Priority: v.Priority, ClaimedBy: s.agent, By: "unsettled_turn"}
		d.Contract.Agent.Todo = v.ID
		d.Contract.Agent.Instruction = "Find out how far the turn " + l.Turn + " came with " + v.ID + ", then write that back and pay, complete it, or give it back."
		turn := base
		if s.caller.Turn != "" {
			turn = append(slices.Clone(base), "--turn-instance-id", s.caller.Turn)
		}
		d.Contract.CLI.Next = append(d.Contract.CLI.Next,
			append([]string{"refresh-state", "--delivery-outcome", "outcome_progress", "--todo-id", v.ID}, turn...),
			append([]string{"todo", "update", "--clear-claim", "--todo-id", v.ID}, base...))
	}
	d.Scheduler = s.soon("a turn is to be settled")
}

// retire closes the turns of the agent that have ended by the time this one is
// opened. What has nothing left leaves the index; the one that the decision is
// about hands its claim to this turn.
func (c *OpenTurn) retire(r turns, e *env, d *Decision, sid string) []Event {
	var out []Event
	caller := Caller{Turn: c.Turn, Session: sid}
	list := r.unsettled(d.Goal, d.Agent)
	if s := r.Session(d.Goal, sid); s != nil && s.Turn != "" && s.Turn != c.Turn {
		old := r.Turn(d.Goal, s.Agent, s.Turn)
		if old != nil && old.Status == TurnLive && !slices.ContainsFunc(list, func(t *Turn) bool { return t.ID == old.ID }) {
			list = append(list, old) // of a time before there was the index
		}
	}
	slot := get[Reservation](r.Reader, tblReserve, d.Goal, d.Agent)
	for _, t := range list {
		why := r.ended(t, caller)
		if t.ID == c.Turn || why == "" {
			continue
		}
		n := *t
		if t.Status == TurnLive {
			n.Status, n.Outcome, n.Closed = TurnClosed, why, e.now
			// Its writeback stays payable; its reserved slot goes back.
			if slot != nil && slot.Turn == t.ID {
				out = append(out, releaseSlot(slot))
			}
		}
		left := r.leftOf(t, why)
		if left != nil && left.Claim && d.Settle != nil && d.Settle.Turn == t.ID {
			n.Heir = c.Turn
		}
		n.Settled = left == nil || n.Heir != "" && !left.Writeback
		if n != *t {
			out = append(out, Event{Type: TurnChanged, Goal: d.Goal, Subject: n.ID, Turn: &n})
		}
	}
	return out
}

// approvedStill: what a turn's todo needs is approved now.
func approvedStill(r *Reader, t *Turn) bool {
	v := r.Todo(t.Goal, t.Todo)
	return v != nil && len(r.uncovered(v, false)) == 0
}
