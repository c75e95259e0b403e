package inbox

import (
	"slices"
	"strings"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
)

// changeMS is how long a card offers to change a decision; the kernel has the
// last word.
const changeMS = 10 * 60_000

// after says whether a button is about a decision that was made.
func (b *Button) after() bool {
	return b.Step == StepChange || b.Step == StepChangeTo || b.Step == StepDisown
}

// buttonsOf are the buttons that fit a gate as it is now on one of its copies,
// without their ids.
func buttonsOf(t *Tx, r *kernel.Reader, it *Item, g *kernel.Gate) []Button {
	if it.Kind == Line {
		return nil
	}
	var out []Button
	add := func(step, option string) *Button {
		out = append(out, Button{Item: it.ID, Step: step, Option: option, Digest: g.Digest})
		return &out[len(out)-1]
	}
	c := it.Confirm
	switch {
	case g.Status == kernel.GateAnswered && c != nil && c.Step == StepChange:
		for _, o := range g.Options {
			if o.ID != g.Answer.Option && (r.AskedOf(g).Quorum <= 1 || !letsGo(o.Outcome)) {
				add(StepChangeTo, o.ID)
			}
		}
		add(StepBack, "")
	case c != nil && (g.Status == kernel.GateAnswered || g.Status == kernel.GateOpen && !g.Expired(t.now)):
		add(StepConfirm, c.Option).Grant = c.Grant
		add(StepBack, "")
	case g.Status == kernel.GateAnswered:
		if changeable(r, it, g) {
			add(StepChange, "")
		}
		if g.Answer.Surface == surfaceCLI && disowns(r, it, g.Answer) {
			add(StepDisown, "")
		}
	case g.Status == kernel.GateOpen && !g.Expired(t.now) && !looksOn(r, it, g):
		answerButtons(t, r, it, g, add)
	}
	return out
}

// looksOn says that who a private copy belongs to may no longer answer; a press of
// an older button is told so.
func looksOn(r *kernel.Reader, it *Item, g *kernel.Gate) bool {
	p := r.Person(it.Person)
	return it.Person != "" && (p == nil || r.MayAnswer(g, PersonActor(p, "")) != nil)
}

// surfaceCLI is the surface of answers that no press made.
const surfaceCLI = "cli"

func answerButtons(t *Tx, r *kernel.Reader, it *Item, g *kernel.Gate, add func(step, option string) *Button) {
	whole := len(Pages(r, g))
	seen := whole == 0 || it.Page == whole
	for _, o := range g.Options {
		if letsGo(o.Outcome) && (!seen || Lookalike(g) != "") {
			continue // nobody says yes to what they have not seen, or cannot tell from something else
		}
		b := add(StepAnswer, o.ID)
		if o.Outcome == kernel.Approve && g.Scope != "" && mayGrant(r, it, g) {
			b.Grant = "action"
			if !g.Tainted && standable(g.Scope) {
				add(StepAnswer, o.ID).Grant = "goal"
			}
		}
	}
	if whole > 0 {
		add(StepPage, "")
	}
	if g.Pending != nil && disowns(r, it, g.Pending) {
		add(StepDisown, "")
	}
	if it.Person != "" { // a private card can be put off
		add(StepSnooze, "")
	}
}

func letsGo(outcome string) bool { return outcome == kernel.Approve || outcome == kernel.Answer }

// standable says whether an approval of a scope can stand for a whole goal.
func standable(scope string) bool {
	_, rest, _ := strings.Cut(scope, ":")
	granularity, _, _ := strings.Cut(rest, ":")
	return slices.Contains([]string{"goal", "project", "global"}, granularity)
}

// mayGrant says whether who a copy belongs to may leave a standing approval; the
// right is read again with the press.
func mayGrant(r *kernel.Reader, it *Item, g *kernel.Gate) bool {
	return isOwner(r, it.Person) || r.RoleOf(g.Goal, it.Person) == kernel.RoleOwner
}

// isOwner says whether a copy belongs to the owner: the page does.
func isOwner(r *kernel.Reader, person string) bool {
	if person == "" {
		return true
	}
	p := r.Person(person)
	return p != nil && p.Owner
}

func mine(r *kernel.Reader, it *Item, a *kernel.GateAnswer) bool {
	return it.Person == a.Person || it.Person == "" && (a.Person == "owner" || isOwner(r, a.Person))
}

func disowns(r *kernel.Reader, it *Item, a *kernel.GateAnswer) bool {
	return isOwner(r, it.Person) || mine(r, it, a)
}

func changeable(r *kernel.Reader, it *Item, g *kernel.Gate) bool {
	return len(g.Options) > 1 && !g.Protected() && !g.Lifted && g.Answer.Steady > 0 && r.Steady()-g.Answer.Steady <= changeMS && mine(r, it, g.Answer)
}

// Lookalike is a word of what a gate asks that looks like another one; empty for
// none. Such a question cannot be said yes to on a card.
func Lookalike(g *kernel.Gate) string {
	texts := []string{g.Question, g.Why, g.Scope}
	for _, o := range g.Options {
		texts = append(texts, o.Label, o.Consequence)
	}
	for _, s := range texts {
		if w := chat.Mixed(s); w != "" {
			return w
		}
	}
	return ""
}

// FreeAnswer says whether an option takes the person's own words: it is the only
// one that answers.
func FreeAnswer(options []kernel.Option, id string) bool {
	n, found := 0, false
	for _, o := range options {
		if o.Outcome == kernel.Answer {
			n++
			found = found || o.ID == id
		}
	}
	return n == 1 && found
}

// buttonsFit says whether an item's live buttons are the ones it should have.
func buttonsFit(t *Tx, r *kernel.Reader, it *Item, g *kernel.Gate) bool {
	return slices.EqualFunc(it.Buttons, buttonsOf(t, r, it, g), func(a, b Button) bool {
		a.ID, a.Gen = "", 0
		return a == b
	})
}

// redraw gives an item the buttons that fit its gate now and marks it dirty.
// Buttons of earlier generations stay known, as stale ones.
func redraw(t *Tx, r *kernel.Reader, it *Item, g *kernel.Gate) error {
	it.Gen++
	it.Buttons = buttonsOf(t, r, it, g)
	for i := range it.Buttons {
		b := &it.Buttons[i]
		b.ID, b.Gen = opaque("x"), it.Gen
		if err := t.put(*b, tblAction, b.ID); err != nil {
			return err
		}
	}
	if g.Status == kernel.GateAnswered {
		until := int64(0)
		switch {
		case it.Confirm != nil:
			until = it.Confirm.Until
		case changeable(r, it, g):
			until = g.Answer.Steady + changeMS
		}
		if until > 0 {
			if err := t.tx.Put(store.Key(tblLapse, store.I64(until), it.ID), nil); err != nil {
				return err
			}
		}
	}
	return t.want(it)
}

// lapsed takes back what time has ended of an item.
func lapsed(t *Tx, r *kernel.Reader, it *Item, g *kernel.Gate) error {
	late := it.Confirm != nil && it.Confirm.Until < r.Steady()
	if late {
		it.Confirm = nil
	}
	if late || !buttonsFit(t, r, it, g) {
		return redraw(t, r, it, g)
	}
	if parked := g.Parked(t.now) || r.Unreachable(g) != nil; parked != it.Parked {
		it.Parked = parked
		return t.want(it)
	}
	return nil
}

// lapseMost bounds the items that one pass looks at.
const lapseMost = 100

// lapse takes back the buttons on decided cards whose time is over.
func lapse(t *Tx, r *kernel.Reader) error {
	edge := string(store.Key(tblLapse, store.I64(r.Steady())))
	var due [][]byte
	err := t.tx.Scan(store.Under(lapseMost, tblLapse), func(k, _ []byte) bool {
		if string(k) >= edge {
			return false
		}
		due = append(due, slices.Clone(k))
		return true
	})
	for _, k := range due {
		if err != nil {
			return err
		}
		var it *Item
		if it, err = Load(t.tx, store.LastPart(k)); err == nil && it != nil && (it.Due != 0 || it.Message != "") { // else it was settled before anybody was told
			if g := r.Gate(it.Goal, it.Gate); g != nil {
				err = lapsed(t, r, it, g)
			}
		}
		err = firstErr(err, t.tx.Delete(k))
	}
	return err
}
