package inbox

import (
	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
)

// Outcome of a press. Words for people are made from it by the bot; nothing
// here is shown.
type Outcome struct {
	// Code: answered, changed, disowned, voted (others must agree), already (this
	// person, this option), confirm, back, page, or a refusal: not_linked,
	// unknown_action, other_place, stale, expired, decided, withdrawn, denied,
	// wrong_person, confirm_expired, needs_text, bad_reason, grant_refused,
	// change_late.
	Code string
	Gate *kernel.Gate
	Item *Item
	// Receipt of the decision.
	Receipt kernel.Receipt
	// Reads says that who was refused may read the goal, and so may be told who
	// can answer and who has.
	Reads bool
	// Moved says that the card hangs in a newer message than the one pressed.
	Moved bool
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
	t.pressed = true
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
		if it.Message != "" && it.Message != e.Press.Message && !it.Was(e.Press.Message) || it.Place.Connection != e.Place.Connection {
			return Outcome{Code: "other_place", Item: it}, nil
		}
		m, err := MailOver(t.tx, k)
		if err != nil {
			return Outcome{}, err
		}
		return m.pressProgress(it, b, actor, known)
	}
	if !it.hangsAt(e.Place, e.Press.Message) {
		return Outcome{Code: "other_place", Item: it}, nil
	}
	if it.Kind == Away {
		m, err := MailOver(t.tx, k)
		if err != nil {
			return Outcome{}, err
		}
		return pressAway(m, it, b, actor, known)
	}
	r, err := k.ReaderOf(t.tx)
	if err != nil {
		return Outcome{}, err
	}
	g := r.Gate(it.Goal, it.Gate)
	if err := r.Err(); err != nil {
		return Outcome{}, err
	}
	out := Outcome{Item: it, Gate: g, Moved: it.Was(e.Press.Message)}
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
		out.Reads = actor.Kind == kernel.ByOwner || actor.Kind == kernel.ByPerson && kernel.Includes(r.RoleOf(g.Goal, actor.ID), kernel.RoleObserver)
		return out, r.Err()
	}
	switch {
	case g.Status == kernel.GateAnswered && b.Gen == it.Gen && b.Digest == g.Digest && (b.after() || it.Confirm != nil):
		return stepDecided(t, k, r, e, actor, b, out)
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
	return stepOpen(t, k, r, e, actor, b, out)
}

func optionOutcome(g *kernel.Gate, id string) string {
	for _, o := range g.Options {
		if o.ID == id {
			return o.Outcome
		}
	}
	return ""
}

// AddCard makes a copy of a gate's card, or its line, in a place, unless there is
// one, and returns whether it did.
func (t *Tx) AddCard(r *kernel.Reader, g *kernel.Gate, s Spot) (bool, error) {
	key, id, kind := cardKey(g, s.Place), "", GateCard
	if id = "c" + key; s.Line {
		key, kind = lineKey(g, s.Place), Line
		id = "l" + key
	}
	old, err := Load(t.tx, id)
	if err != nil || old != nil {
		return false, err
	}
	it := &Item{ID: id, Kind: kind, Key: key, Place: s.Place, Person: s.Person, Copy: s.Copy, Goal: g.Goal, Gate: g.ID, State: Ready, Created: t.now}
	if err := t.tx.Put(store.Key(tblSubject, g.Goal, g.ID, it.ID), nil); err != nil {
		return false, err
	}
	return true, redraw(t, r, it, g)
}

// AddMention owes one message to a place that notifies a person of its platform,
// once for a key.
func AddMention(t *Tx, key string, place chat.Place, who chat.User, text string) error {
	key = short(key)
	old, err := Load(t.tx, "m"+key)
	if err != nil || old != nil {
		return err
	}
	return t.want(&Item{ID: "m" + key, Kind: Text, Key: key, Place: place, Text: text, Mention: &who, State: Ready, Created: t.now})
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
