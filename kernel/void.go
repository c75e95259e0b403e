package kernel

import (
	"strconv"

	"loopx/kernel/store"
)

// VoidSlot takes a payment back: an owner's act. The payment stays in history;
// it no longer counts. Doing it again changes nothing, and no sum goes below zero.
type VoidSlot struct {
	Goal   string `json:"goal"`
	Spend  uint64 `json:"spend"` // spend_id of the payment
	Reason string `json:"reason"`
}

// Name implements Command.
func (*VoidSlot) Name() string { return "quota.void" }

func (c *VoidSlot) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	if err := ownerOf(r, e, g.ID, "voiding a payment"); err != nil {
		return nil, err
	}
	if err := needText("reason", c.Reason, noteMax, true); err != nil {
		return nil, err
	}
	s := r.spend(g.ID, c.Spend)
	if s == nil {
		return nil, Errorf(NotFound, "spend_not_found", "%s has no payment %d", g.ID, c.Spend).Try("loopx history --goal-id %s", g.ID)
	}
	result := map[string]any{"goal_id": g.ID, "spend_id": s.Seq, "slots": s.Slots, "voided": true}
	if s.Voided > 0 {
		result["appended"] = false
		return &decided{result: result}, nil
	}
	n := *s
	n.Voided, n.VoidReason = e.now, c.Reason
	before := r.Quota(g, "")
	after := before
	after.Spent = max(before.Spent-s.Slots, 0)
	result["appended"] = true
	result["quota_event"] = map[string]any{"before": before.short(), "after": after.short()}
	return &decided{changed: true, result: result, events: []Event{{Type: SlotVoided, Goal: g.ID, Subject: utoa(s.Seq), Spend: &n}}}, nil
}

// spend finds a payment by its number; nil when there is none.
func (r *Reader) spend(goal string, seq uint64) *Spend {
	at := r.raw(store.Key(tblSpendSeq, goal, store.U64(seq)))
	if at == nil {
		return nil
	}
	return get[Spend](r, tblSpend, goal, string(at), store.U64(seq))
}

// voided sums what was taken back of the payments inside the window. Voids are
// rare, so they are summed one by one.
func (r *Reader) voided(goal, edge string) int {
	rg := under(voidsMost, tblVoid, goal)
	rg.From = store.Key(tblVoid, goal, edge)
	sum := 0
	r.scan(rg, func(_, v []byte) bool {
		n, err := strconv.Atoi(string(v))
		if err != nil {
			r.fail(store.ErrCorrupt)
		}
		sum += n
		return true
	})
	return sum
}

// voidsMost bounds the voids that one window counts.
const voidsMost = 10_000
