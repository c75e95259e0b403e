package inbox

import (
	"encoding/json"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
)

// PlanCard is the kind of an item that shows a command somebody asked for and
// that one more press does.
const PlanCard = "plan"

// tblPlanEnd finds plans whose time is over: until, item.
const tblPlanEnd = "iv"

// PlanMS is how long a plan waits for its press, ms.
const PlanMS = 15 * 60 * 1000

// States of a plan.
const (
	PlanOpen      = "open"
	PlanDone      = "done"
	PlanCancelled = "cancelled"
	PlanExpired   = "expired"
	PlanFailed    = "failed" // the kernel said no when it was confirmed
)

// Step of a plan's second button; its first is StepConfirm.
const StepDrop = "drop"

// PlanCommand is a kernel command by its name on the wire.
type PlanCommand struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Plan is what a person asked for in chat. Only the same person confirms it, on
// the same surface, while it is open.
type Plan struct {
	Commands []PlanCommand `json:"commands"`
	// Rev binds the press to what was shown. A stop has none: it is never
	// refused because something else moved.
	Rev string `json:"plan_rev,omitempty"`
	// Decline is what the other button does; nothing in most plans.
	Decline []PlanCommand `json:"decline,omitempty"`
	// Asker is the person; an invited account is nobody yet and has none.
	Asker  string `json:"asker,omitempty"`
	Tenant string `json:"tenant,omitempty"`
	User   string `json:"user"`
	// Until is on the steady timeline, ms.
	Until int64  `json:"until_steady"`
	State string `json:"state"`
	Lang  string `json:"lang"`
	// Goal names the place of the act for the card's title; may be empty.
	Goal  string   `json:"goal,omitempty"`
	Lines []string `json:"lines"`
	// Said is how it ended, At when, UTC ms, Receipt the kernel's.
	Said    string `json:"said,omitempty"`
	At      int64  `json:"at,omitempty"`
	Receipt string `json:"receipt,omitempty"`
	// Warn marks what cannot be undone.
	Warn bool `json:"warn,omitempty"`
}

// AddPlan owes a plan's card to a place. The same key is one plan.
func AddPlan(t *Tx, key string, place chat.Place, steady int64, p Plan) error {
	key = short("plan", key)
	id := "p" + key
	old, err := Load(t.tx, id)
	if err != nil || old != nil {
		return err
	}
	p.State, p.Until = PlanOpen, steady+PlanMS
	it := &Item{ID: id, Kind: PlanCard, Key: key, Place: place, State: Ready, Created: t.now, Plan: &p}
	if err := t.tx.Put(store.Key(tblPlanEnd, store.I64(p.Until), it.ID), nil); err != nil {
		return err
	}
	return RedrawPlan(t, it)
}

// PlanOf finds the plan that a button belongs to; nil when it is no plan's.
func PlanOf(t *Tx, action string) (*Item, *Button, error) {
	b, err := getRow[Button](t.tx, tblAction, action)
	if b == nil || err != nil {
		return nil, nil, err
	}
	it, err := Load(t.tx, b.Item)
	if it == nil || err != nil || it.Kind != PlanCard || it.Plan == nil {
		return nil, nil, err
	}
	return it, b, nil
}

// RedrawPlan gives a plan the buttons that fit its state and marks it dirty.
// Buttons of earlier drawings are stale from then on.
func RedrawPlan(t *Tx, it *Item) error {
	it.Gen++
	it.Buttons = nil
	if it.Plan.State == PlanOpen {
		for _, step := range []string{StepConfirm, StepDrop} {
			b := Button{ID: opaque("x"), Item: it.ID, Gen: it.Gen, Step: step}
			it.Buttons = append(it.Buttons, b)
			if err := t.put(b, tblAction, b.ID); err != nil {
				return err
			}
		}
	} else if err := t.tx.Delete(store.Key(tblPlanEnd, store.I64(it.Plan.Until), it.ID)); err != nil {
		return err
	}
	return t.want(it)
}

// plansMost bounds the plans that one sweep ends.
const plansMost = 100

// ExpirePlans takes the buttons off plans nobody confirmed in time.
func ExpirePlans(t *Tx, k *kernel.Kernel) error {
	r, err := k.ReaderOf(t.tx)
	if err != nil {
		return err
	}
	var ids []string
	rg := store.Under(plansMost, tblPlanEnd)
	rg.To = store.Key(tblPlanEnd, store.I64(r.Steady()))
	if err := t.tx.Scan(rg, func(k, _ []byte) bool { ids = append(ids, store.LastPart(k)); return true }); err != nil {
		return err
	}
	for _, id := range ids {
		it, err := Load(t.tx, id)
		if err != nil {
			return err
		}
		if it == nil || it.Plan == nil {
			continue
		}
		it.Plan.State = PlanExpired
		if err := RedrawPlan(t, it); err != nil {
			return err
		}
	}
	return nil
}
