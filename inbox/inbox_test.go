package inbox

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

// desk is a workspace with one gate and its card in one place.
type desk struct {
	t    rapid.TB
	st   store.Store
	k    *kernel.Kernel
	now  int64
	gate string
	todo string
	n    int // for event ids
}

func (d *desk) Boot() (string, int64) { return "boot", d.now }

var (
	owner    = kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Name: "Wei", Surface: "slack"}
	observer = kernel.Actor{Kind: kernel.ByPerson, ID: "ana", Name: "Ana", Surface: "slack"}
	home     = chat.Place{Connection: "work", Conversation: "D1"}
)

func newDesk(t rapid.TB, kind string) *desk {
	t.Helper()
	d := &desk{t: t, now: 1_800_000_000_000}
	d.st = storetest.NewModel(func() int64 { return d.now })
	var err error
	if d.k, err = kernel.Open(ctx(), d.st, d); err != nil {
		t.Fatal(err)
	}
	by := kernel.Options{By: owner}
	d.do(&kernel.CreateGoal{Goal: "site", Objective: "ship", Agents: []string{"builder"}}, by)
	d.do(&kernel.AddTodo{Goal: "site", Title: "publish"}, by)
	_ = d.k.Read(ctx(), func(r *kernel.Reader) error { d.todo = r.List("site", kernel.ListReady, "", 1)[0].ID; return nil })
	d.do(&kernel.OpenGate{Goal: "site", Agent: "builder", Question: "Publish?", Kind: kind, Todos: []string{d.todo}}, by)
	_ = d.k.Read(ctx(), func(r *kernel.Reader) error { d.gate = r.OpenGates("site", 1)[0].ID; return nil })
	d.project()
	return d
}

func (d *desk) close() { _ = d.st.Close() }

func (d *desk) do(cmd kernel.Command, opt kernel.Options) {
	d.t.Helper()
	if _, err := d.k.Do(ctx(), cmd, opt); err != nil {
		d.t.Fatalf("%s: %v", cmd.Name(), err)
	}
}

func (d *desk) update(fn func(*Tx) error) {
	d.t.Helper()
	if err := d.st.Update(ctx(), func(tx store.Tx) error { return fn(Over(tx)) }); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) project() {
	d.t.Helper()
	d.update(func(t *Tx) error {
		_, err := t.Project(d.k, func(*kernel.Reader, *kernel.Gate) []Spot { return []Spot{{Place: home}} })
		return err
	})
}

func (d *desk) items() []*Item {
	d.t.Helper()
	var out []*Item
	err := d.st.View(ctx(), func(tx store.ReadTx) error {
		return tx.Scan(store.Under(1000, tblItem), func(k, _ []byte) bool {
			it, err := Load(tx, store.LastPart(k))
			if err != nil {
				d.t.Fatal(err)
			}
			out = append(out, it)
			return true
		})
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

func (d *desk) button(step, option string) string {
	d.t.Helper()
	for _, b := range d.items()[0].Buttons {
		if b.Step == step && b.Option == option {
			return b.ID
		}
	}
	d.t.Fatalf("no button %s %s on %+v", step, option, d.items()[0].Buttons)
	return ""
}

// press delivers a press the way the bot does.
func (d *desk) press(action string, place chat.Place, actor kernel.Actor, known bool) string {
	d.t.Helper()
	d.n++
	e := chat.Event{Kind: chat.CardPressed, ID: fmt.Sprint("e", d.n), Place: place, Sender: chat.User{Kind: chat.Human, ID: actor.ID}, Press: &chat.Press{Message: "m1", Action: action}}
	var out Outcome
	d.update(func(t *Tx) (err error) { out, err = t.Press(d.k, e, actor, known); return err })
	return out.Code
}

func (d *desk) answered() *kernel.GateAnswer {
	var a *kernel.GateAnswer
	_ = d.k.Read(ctx(), func(r *kernel.Reader) error { a = r.Gate("site", d.gate).Answer; return nil })
	return a
}

// Every refusal consumes nothing, and the first valid press decides.
func TestPressOrder(t *testing.T) {
	d := newDesk(t, "direction")
	defer d.close()
	yes, no := d.button(StepAnswer, "approve"), d.button(StepAnswer, "reject")
	elsewhere := chat.Place{Connection: "work", Conversation: "C9"}
	for _, c := range []struct {
		name, action string
		place        chat.Place
		actor        kernel.Actor
		known        bool
		want         string
	}{
		{"B15 an id nobody gave out", "x00", home, owner, true, "unknown_action"},
		{"B34 the decision's text", "approve", home, owner, true, "unknown_action"},
		{"a forwarded card", yes, elsewhere, owner, true, "other_place"},
		{"another connection", yes, chat.Place{Connection: "other", Conversation: "D1"}, owner, true, "other_place"},
		{"B24 somebody unknown", yes, home, kernel.Actor{}, false, "not_linked"},
		{"B24 somebody without the right", yes, home, observer, true, "denied"},
	} {
		if got := d.press(c.action, c.place, c.actor, c.known); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if a := d.answered(); a != nil {
			t.Fatalf("%s decided: %+v", c.name, a)
		}
	}
	if got := d.press(yes, home, owner, true); got != "answered" {
		t.Fatalf("the owner's press: %s", got)
	}
	if got := d.press(yes, home, owner, true); got != "already" {
		t.Errorf("B30 the same again: %s", got)
	}
	if got := d.press(no, home, owner, true); got != "decided" {
		t.Errorf("B30 the opposite later: %s", got)
	}
	if a := d.answered(); a.Option != "approve" {
		t.Errorf("the decision changed: %+v", a)
	}
}

func TestExpiredAndWithdrawn(t *testing.T) {
	d := newDesk(t, "direction")
	defer d.close()
	yes := d.button(StepAnswer, "approve")
	d.do(&kernel.WithdrawGate{Gate: d.gate}, kernel.Options{By: owner})
	if got := d.press(yes, home, owner, true); got != "withdrawn" {
		t.Errorf("a withdrawn gate: %s", got)
	}
	d.project()
	if n := len(d.items()[0].Buttons); n != 0 {
		t.Errorf("a withdrawn gate's card keeps %d buttons", n)
	}
}

// B32: expiry is shown and grants nothing.
func TestB32_ExpiryGrantsNothing(t *testing.T) {
	d := newDesk(t, "direction")
	defer d.close()
	by := kernel.Options{By: owner}
	d.do(&kernel.WithdrawGate{Gate: d.gate}, by)
	d.do(&kernel.OpenGate{Goal: "site", Question: "Publish tonight?", Todos: []string{d.todo}, Expires: d.now + 1000}, by)
	_ = d.k.Read(ctx(), func(r *kernel.Reader) error { d.gate = r.OpenGates("site", 1)[0].ID; return nil })
	d.project()
	var yes string
	for _, it := range d.items() {
		if it.Gate == d.gate {
			yes = it.Buttons[0].ID
		}
	}
	d.now += 2000
	d.update(func(t *Tx) error { return t.Expire(d.k) })
	if got := d.press(yes, home, owner, true); got != "expired" {
		t.Fatalf("an expired gate: %s", got)
	}
	for _, it := range d.items() {
		if len(it.Buttons) > 0 {
			t.Error("an expired card keeps its buttons")
		}
	}
	_ = d.k.Read(ctx(), func(r *kernel.Reader) error {
		if len(r.Blocks("site", d.todo)) == 0 {
			t.Error("expiry released the todo")
		}
		return nil
	})
}

// The confirm step of protected kinds: same person, one minute, then it starts over.
func TestConfirmStep(t *testing.T) {
	d := newDesk(t, "publish")
	defer d.close()
	first := d.button(StepAnswer, "approve")
	if got := d.press(first, home, owner, true); got != "confirm" || d.answered() != nil {
		t.Fatalf("the first press: %s", got)
	}
	if got := d.press(first, home, owner, true); got != "stale" || d.answered() != nil {
		t.Fatalf("the first button again: %s", got)
	}
	second := d.button(StepConfirm, "approve")
	other := owner
	other.ID = "bo"
	if got := d.press(second, home, other, true); got != "wrong_person" {
		t.Fatalf("somebody else's second press: %s", got)
	}
	d.now += confirmMS + 1000
	if got := d.press(second, home, owner, true); got != "confirm_expired" || d.answered() != nil {
		t.Fatalf("a late second press: %s", got)
	}
	d.press(d.button(StepAnswer, "approve"), home, owner, true)
	if got := d.press(d.button(StepBack, ""), home, owner, true); got != "back" || d.answered() != nil {
		t.Fatalf("back: %s", got)
	}
	if got := d.press(d.button(StepAnswer, "reject"), home, owner, true); got != "answered" {
		t.Fatalf("rejecting takes one press: %s", got)
	}
}

// The projector shows each gate once per place, whatever is projected again.
func TestProjectOnce(t *testing.T) {
	d := newDesk(t, "direction")
	defer d.close()
	d.project()
	d.update(func(t *Tx) error { return t.put(uint64(0), tblCursor) }) // a cursor that was lost
	d.project()
	if n := len(d.items()); n != 1 {
		t.Fatalf("%d cards for one gate in one place", n)
	}
}

// Marks outlive the longest redelivery and no longer.
func TestPrune(t *testing.T) {
	d := newDesk(t, "direction")
	defer d.close()
	mark := func(id string) chat.Event {
		e := chat.Event{Kind: chat.CardPressed, ID: id, Place: home, Press: &chat.Press{}}
		d.update(func(t *Tx) error { return t.Handled(e, "press", chat.Answer{Notice: "n"}) })
		return e
	}
	old := mark("old")
	d.now += markKeepMS - 1000
	fresh := mark("new")
	d.now += 2000
	d.update(func(t *Tx) error {
		var at []byte
		for {
			var err error
			if at, err = t.Prune(at, 1); at == nil || err != nil {
				return err
			}
		}
	})
	d.update(func(tx *Tx) error {
		if m, err := tx.Seen(old); m != nil || err != nil {
			t.Errorf("an old mark is kept: %v %v", m, err)
		}
		if m, err := tx.Seen(fresh); m == nil || err != nil || m.Answer.Notice != "n" {
			t.Errorf("a mark was forgotten too early: %v %v", m, err)
		}
		return nil
	})
}
