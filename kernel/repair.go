package kernel

import (
	"slices"
	"strings"

	"loopx/kernel/store"
)

// Mendable says whether the row under a key is an index or a counter: it can be
// made again from the journal without deciding anything. What gates hold back,
// what was approved and what was paid is no index, however it is stored.
func Mendable(key []byte) bool {
	table, _, _ := strings.Cut(string(key), "\x00")
	return slices.Contains([]string{
		tblTodoGoal, tblPlace, tblIndex, tblClaimEnd, tblDep, tblDepBack, tblScopeGate, tblResume, tblBlockBack,
		tblGateGoal, tblGateCode, tblGateOpen, tblRunOwed, tblSlotEnd, tblSpendSeq, tblCounts,
	}, table)
}

// Stale are the leases that ran out, with their grace, and were never given back:
// whoever held them is gone. They hold nobody up; ended, they stop looking as if
// somebody worked.
func (r *Reader) Stale(limit int) []*Claim {
	var out []*Claim
	for _, c := range r.heldClaims(restoreScan) {
		if !c.Holds(r.steady) && len(out) < limit {
			out = append(out, c)
		}
	}
	return out
}

// EndStaleLeases gives back leases that ran out. It is run by `doctor --repair` on
// the state file itself, so it has no name on the wire and stands in no list; run
// it again until nothing is left.
type EndStaleLeases struct{}

// Name implements Command.
func (*EndStaleLeases) Name() string { return "state.repair" }

func (c *EndStaleLeases) decide(r *reader, _ *env) (*decided, error) {
	var events []Event
	ids := []string{}
	for _, v := range r.Stale(restoreMost) {
		// The next generation, so that whoever held the old one is fenced.
		n := Claim{Goal: v.Goal, Todo: v.Todo, Generation: v.Generation + 1}
		events = append(events, Event{Type: ClaimReleased, Goal: n.Goal, Subject: n.Todo, Claim: &n})
		ids = append(ids, v.Todo)
	}
	for _, v := range rows[Reservation](r, store.Under(restoreScan, tblReserve)) {
		if v.Slots > 0 && v.Until <= r.steady && len(events) < 2*restoreMost {
			events = append(events, releaseSlot(v))
		}
	}
	return &decided{changed: len(events) > 0, events: events, result: map[string]any{"leases_ended": ids}}, nil
}
