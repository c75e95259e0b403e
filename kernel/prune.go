package kernel

import (
	"slices"
	"strings"

	"loopx/kernel/store"
)

// What is forgotten, and when. A receipt answers a repetition for 30 days; one of
// a turn lives as long as the turn's row, which goes 30 days after the turn ended
// and was paid; the answer of a gate is remembered while its goal is not closed.
const (
	forgetMS  = 30 * dayMS
	pruneMost = 200 // records one command looks at
	// PruneAge is how old a journal record is, in ms, before it is looked at: a
	// lease of a day may begin in it.
	PruneAge = forgetMS + 2*dayMS
)

// Pruned is what a pruning forgets.
type Pruned struct {
	// Upto is the journal position up to which everything was looked at.
	Upto     uint64        `json:"upto"`
	Turns    []TurnRef     `json:"turns,omitempty"`
	Receipts []string      `json:"receipts,omitempty"` // idempotency keys
	Kept     []KeptReceipt `json:"kept,omitempty"`     // receipts that outlive their record
}

// TurnRef names a turn.
type TurnRef struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent"`
	ID    string `json:"id"`
}

// KeptReceipt is a receipt together with what it answers.
type KeptReceipt struct {
	Key     string  `json:"key"`
	Payload string  `json:"payload"`
	Receipt Receipt `json:"receipt"`
}

// PruneState forgets old receipts and closed turns, a piece at a time: it is run
// again while it says more. It walks the journal, so it reads each record once.
// It comes from the machine the state is on, so it has no name on the wire.
type PruneState struct{}

// Name implements Command.
func (*PruneState) Name() string { return "state.prune" }

// pruneRow is the row that says how far pruning got.
type pruneRow struct {
	Upto uint64 `json:"upto"`
}

// PrunedUpto is the journal position up to which receipts and turns were pruned.
// Records up to there may be compacted.
func (r *Reader) PrunedUpto() uint64 {
	if v := get[pruneRow](r, tblPruned); v != nil {
		return v.Upto
	}
	return 0
}

func (c *PruneState) decide(r *reader, e *env) (*decided, error) {
	if e.by.Kind != ByOwner && e.by.Kind != ByBot {
		return nil, e.owner("pruning")
	}
	after := r.PrunedUpto()
	if b := r.Base(); b != nil {
		after = max(after, b.Seq)
	}
	p := &Pruned{Upto: after}
	seen := map[TurnRef]bool{}
	gone := map[string]bool{}
	for _, rec := range r.Journal(after, pruneMost) {
		if rec.Steady > e.steady-PruneAge {
			break
		}
		p.Upto = rec.Seq
		for i := range rec.Events {
			if t := rec.Events[i].Turn; t != nil {
				ref := TurnRef{t.Goal, t.Agent, t.ID}
				if now := r.Turn(t.Goal, t.Agent, t.ID); !seen[ref] && now.forgotten(t, e.steady) {
					seen[ref] = true
					p.Turns = append(p.Turns, ref)
					for _, key := range r.turnReceipts(ref) {
						if !gone[key] {
							gone[key] = true
							p.Receipts = append(p.Receipts, key)
						}
					}
				}
			}
		}
		p.receipt(r, rec, seen, gone)
	}
	// What an earlier record of this piece keeps, a later one may end.
	p.Kept = slices.DeleteFunc(p.Kept, func(k KeptReceipt) bool { return gone[k.Key] })
	out := &decided{result: map[string]any{"turns": len(p.Turns), "receipts": len(p.Receipts), "upto": p.Upto, "more": p.Upto > after}}
	if p.Upto > after {
		out.changed = true
		out.events = []Event{{Type: StatePruned, Pruned: p}}
	}
	return out, nil
}

// receipt files the receipt of a record under what goes or what stays.
func (p *Pruned) receipt(r *reader, rec *Record, turns map[TurnRef]bool, gone map[string]bool) {
	if rec.Key == "" || gone[rec.Key] {
		return
	}
	row := get[keyRow](r, tblReceipt, rec.Key)
	if row == nil || row.Seq != rec.Seq {
		return
	}
	keep := false
	if parts := strings.Split(rec.Key, "\x00"); len(parts) > 3 && parts[0] == "turn" {
		ref := TurnRef{parts[1], parts[2], parts[3]}
		keep = !turns[ref] && r.Turn(ref.Goal, ref.Agent, ref.ID) != nil
	} else if rec.Command == (&AnswerGate{}).Name() || rec.Command == (&ChangeGate{}).Name() {
		for i := range rec.Events {
			if g := r.Goal(rec.Events[i].Goal); g != nil && g.Status != GoalCompleted {
				keep = true
			}
		}
	}
	if keep {
		p.Kept = append(p.Kept, KeptReceipt{Key: rec.Key, Payload: rec.Payload, Receipt: rec.Receipt})
	} else {
		gone[rec.Key] = true
		p.Receipts = append(p.Receipts, rec.Key)
	}
}

// forgotten says whether a turn, whose state in an old record was then, can go: it
// has not changed since, is over, and nothing of it waits to be paid.
func (t *Turn) forgotten(then *Turn, steady int64) bool {
	switch {
	case t == nil, t.Status != then.Status, t.Closed != then.Closed, t.Writeback > 0 && !t.Spent:
		return false
	case t.Status == TurnLive: // nobody closed it; its lease ended long ago
		return t.Until+forgetMS <= steady
	}
	return true
}

// turnReceipts are the keys under which receipts of a turn are kept.
func (r *Reader) turnReceipts(ref TurnRef) []string {
	prefix := string(store.Key("turn", ref.Goal, ref.Agent, ref.ID))
	rg := store.Range{From: store.Key(tblReceipt, prefix+"\x00"), To: store.Key(tblReceipt, prefix+"\x01"), Limit: 1000}
	return r.lastParts(rg)
}

func applyPruned(t *tables, v *Pruned) {
	for _, ref := range v.Turns {
		if row := t.Turn(ref.Goal, ref.Agent, ref.ID); row != nil {
			t.del(tblUnsettled, ref.Goal, ref.Agent, store.I64(row.Opened), ref.ID)
		}
		t.del(tblTurn, ref.Goal, ref.Agent, ref.ID)
	}
	for _, key := range v.Receipts {
		t.del(tblReceipt, key)
	}
	for i := range v.Kept {
		k := &v.Kept[i]
		t.put(keyRow{Payload: k.Payload, Seq: k.Receipt.Seq, Receipt: &k.Receipt}, tblReceipt, k.Key)
	}
	t.put(pruneRow{Upto: v.Upto}, tblPruned)
}
