package inbox

import (
	"errors"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
)

// Outcome of a press. Words for people are made from it by the bot; nothing
// here is shown.
type Outcome struct {
	// Code: answered, voted (others must agree), already (this person, this
	// option), confirm, back, or a refusal: not_linked, unknown_action, other_place, stale, expired, decided,
	// withdrawn, denied, wrong_person, confirm_expired.
	Code string
	Gate *kernel.Gate
	Item *Item
	// Receipt of the decision.
	Receipt kernel.Receipt
	// Owner is the name of somebody who can add an unknown person.
	Owner string
}

// confirmMS is how long a protected answer waits for its second press.
const confirmMS = 60_000

// Press handles one use of a card's button, in the order the contract gives:
// card instance known and pressed where it stands; person linked; right read
// now; gate open; digest equal; confirm step done; then the decision. A refusal
// consumes nothing. The caller has deduplicated the event and runs everything
// in one transaction.
func (t *Tx) Press(k *kernel.Kernel, e chat.Event, actor kernel.Actor, known bool) (Outcome, error) {
	b, err := getRow[Button](t.tx, tblAction, e.Press.Action)
	if err != nil {
		return Outcome{}, err
	}
	if b == nil {
		return Outcome{Code: "unknown_action"}, nil
	}
	it, err := Load(t.tx, b.Item)
	if err != nil {
		return Outcome{}, err
	}
	if it == nil {
		return Outcome{Code: "unknown_action"}, nil
	}
	if it.Kind == Progress {
		if it.Message != "" && it.Message != e.Press.Message || it.Place.Connection != e.Place.Connection {
			return Outcome{Code: "other_place", Item: it}, nil
		}
		m, err := MailOver(t.tx, k)
		if err != nil {
			return Outcome{}, err
		}
		return m.pressProgress(it, b, actor, known)
	}
	if it.Place.Connection != e.Place.Connection || it.Place.Conversation != e.Place.Conversation || it.Message != "" && it.Message != e.Press.Message {
		return Outcome{Code: "other_place", Item: it}, nil
	}
	r, err := k.ReaderOf(t.tx)
	if err != nil {
		return Outcome{}, err
	}
	g := r.Gate(it.Goal, it.Gate)
	if err := r.Err(); err != nil {
		return Outcome{}, err
	}
	out := Outcome{Item: it, Gate: g}
	switch {
	case !known:
		out.Code = "not_linked"
		if p := r.Person("owner"); p != nil {
			out.Owner = p.Name
		}
		return out, r.Err()
	case g == nil:
		out.Code = "unknown_action"
		return out, r.Err()
	}
	// The right is read now, not when the card was sent.
	if err := r.MayAnswer(g, actor); err != nil {
		out.Code = "denied"
		return out, r.Err()
	}
	switch {
	case g.Status == kernel.GateAnswered:
		out.Code = "decided"
		if g.Answer.Person == actor.ID && g.Answer.Option == b.Option && b.Step != StepBack {
			out.Code = "already"
		}
		return out, t.want(it) // whoever pressed an old copy gets it redrawn
	case g.Status != kernel.GateOpen:
		out.Code = "withdrawn"
		return out, t.want(it)
	case g.Expired(t.now):
		out.Code = "expired"
		return out, t.want(it)
	case b.Gen != it.Gen || b.Digest != g.Digest:
		out.Code = "stale"
		return out, t.want(it)
	}
	return t.step(k, r, e, actor, b, out)
}

func (t *Tx) step(k *kernel.Kernel, r *kernel.Reader, e chat.Event, actor kernel.Actor, b *Button, out Outcome) (Outcome, error) {
	it, g := out.Item, out.Gate
	switch {
	case b.Step == StepSnooze:
		out.Code = StepSnooze
		return out, nil
	case b.Step == StepBack:
		out.Code, it.Confirm = "back", nil
		return out, t.redraw(it, g)
	case b.Step == StepConfirm:
		c := it.Confirm
		if c == nil || c.Option != b.Option || c.Until < r.Steady() {
			out.Code, it.Confirm = "confirm_expired", nil
			return out, t.redraw(it, g)
		}
		if c.Person != actor.ID {
			out.Code = "wrong_person"
			return out, nil
		}
	case g.Protected() && optionOutcome(g, b.Option) != kernel.Reject && optionOutcome(g, b.Option) != kernel.Cancel:
		out.Code = "confirm"
		it.Confirm = &Confirm{Option: b.Option, Person: actor.ID, Until: r.Steady() + confirmMS}
		return out, t.redraw(it, g)
	}
	rec, err := k.DoTx(t.tx, &kernel.AnswerGate{Goal: g.Goal, Gate: g.ID, Option: b.Option, Reason: e.Press.Values["reason"], Digest: b.Digest}, kernel.Options{By: actor})
	if err != nil {
		if ke, ok := errors.AsType[*kernel.Error](err); ok && ke.Class == kernel.Invalid {
			out.Code = "bad_reason"
			return out, nil
		}
		return out, err
	}
	out.Code, out.Receipt, it.Confirm = "answered", rec, nil
	if err := t.put(it, tblItem, it.ID); err != nil {
		return out, err
	}
	after := r.Gate(g.Goal, g.ID) // read again through the same transaction
	if after == nil {
		return out, r.Err()
	}
	out.Gate = after
	if after.Status == kernel.GateOpen { // one of several who must agree
		out.Code = "voted"
		if !rec.Changed {
			out.Code = "already"
		}
		if b.Step == StepConfirm {
			return out, t.redraw(it, after)
		}
		return out, t.want(it) // its buttons still ask the same of the others
	}
	// The copies are made dirty here and not first by the projector: the person
	// who pressed is looking at one.
	return out, t.show(after, nil)
}

func optionOutcome(g *kernel.Gate, id string) string {
	for _, o := range g.Options {
		if o.ID == id {
			return o.Outcome
		}
	}
	return ""
}

// redraw gives an item the buttons that fit its gate now and marks it dirty.
// Buttons of earlier generations stay known, as stale ones.
func (t *Tx) redraw(it *Item, g *kernel.Gate) error {
	it.Gen++
	it.Buttons = nil
	add := func(step, option string) error {
		b := Button{ID: opaque("x"), Item: it.ID, Gen: it.Gen, Step: step, Option: option, Digest: g.Digest}
		it.Buttons = append(it.Buttons, b)
		return t.put(b, tblAction, b.ID)
	}
	switch {
	case g.Status != kernel.GateOpen || g.Expired(t.now):
	case it.Confirm != nil:
		if err := add(StepConfirm, it.Confirm.Option); err != nil {
			return err
		}
		if err := add(StepBack, ""); err != nil {
			return err
		}
	default:
		for _, o := range g.Options {
			if err := add(StepAnswer, o.ID); err != nil {
				return err
			}
		}
		if it.Person != "" { // a private card can be put off
			if err := add(StepSnooze, ""); err != nil {
				return err
			}
		}
	}
	return t.want(it)
}

// AddCard makes a copy of a gate's card in a place, unless there is one, and
// returns whether it did.
func (t *Tx) AddCard(g *kernel.Gate, s Spot) (bool, error) {
	key := cardKey(g, s.Place)
	id := "c" + key
	old, err := Load(t.tx, id)
	if err != nil || old != nil {
		return false, err
	}
	it := &Item{ID: id, Kind: GateCard, Key: key, Place: s.Place, Person: s.Person, Copy: s.Copy, Goal: g.Goal, Gate: g.ID, State: Ready, Created: t.now}
	if err := t.tx.Put(store.Key(tblSubject, g.Goal, g.ID, it.ID), nil); err != nil {
		return false, err
	}
	return true, t.redraw(it, g)
}

// AddText owes one message to a place. The key is derived from its meaning: the
// same key is one message.
func (t *Tx) AddText(key string, place chat.Place, text string) error {
	key = short(key)
	id := "m" + key
	old, err := Load(t.tx, id)
	if err != nil || old != nil {
		return err
	}
	return t.want(&Item{ID: id, Kind: Text, Key: key, Place: place, Text: text, State: Ready, Created: t.now})
}
