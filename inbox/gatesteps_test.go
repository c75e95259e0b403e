package inbox

import (
	"fmt"
	"strings"
	"testing"

	"loopx/adapters/chat"
	"loopx/kernel"
)

// ask replaces the desk's gate by another question.
func (d *desk) ask(g kernel.OpenGate) {
	d.t.Helper()
	by := kernel.Options{By: owner}
	d.do(&kernel.WithdrawGate{Gate: d.gate}, by)
	d.project()
	g.Goal, g.Agent, g.Todos = "site", "builder", []string{d.todo}
	d.do(&g, by)
	_ = d.k.Read(ctx(), func(r *kernel.Reader) error { d.gate = r.OpenGates("site", 1)[0].ID; return nil })
	d.project()
}

// card is the item of the desk's gate.
func (d *desk) card() *Item {
	d.t.Helper()
	for _, it := range d.items() {
		if it.Gate == d.gate {
			return it
		}
	}
	d.t.Fatal("the gate has no card")
	return nil
}

// steps are the live buttons, each as step:option:grant.
func (d *desk) steps() string {
	var out []string
	for _, b := range d.card().Buttons {
		out = append(out, strings.TrimRight(b.Step+":"+b.Option+":"+b.Grant, ":"))
	}
	return strings.Join(out, " ")
}

// use presses a live button with the words of its form.
func (d *desk) use(spec, reason string, actor kernel.Actor) string {
	d.t.Helper()
	for _, b := range d.card().Buttons {
		if strings.TrimRight(b.Step+":"+b.Option+":"+b.Grant, ":") == spec {
			return d.pressWith(b.ID, reason, actor)
		}
	}
	d.t.Fatalf("no button %s among %s", spec, d.steps())
	return ""
}

func (d *desk) pressWith(id, reason string, actor kernel.Actor) string {
	d.t.Helper()
	d.n++
	e := chat.Event{Kind: chat.CardPressed, ID: fmt.Sprint("e", d.n), Place: home, Sender: chat.User{Kind: chat.Human, ID: actor.ID},
		Press: &chat.Press{Message: "m1", Action: id, Values: map[string]string{"reason": reason}}}
	var out Outcome
	d.update(func(t *Tx) (err error) { out, err = t.Press(d.k, e, actor, true); return err })
	return out.Code
}

func (d *desk) want(what, got, want string) {
	d.t.Helper()
	if got != want {
		d.t.Fatalf("%s: %q, want %q", what, got, want)
	}
}

// A reason comes with a press, and so does an answer in the person's own words,
// also over the two presses of a protected kind.
func TestWordsComeWithThePress(t *testing.T) {
	d := newDesk(t, "direction")
	defer d.close()
	d.want("a reason with control characters", d.use("answer:reject", "no\x00", owner), "bad_reason")
	d.want("rejecting", d.use("answer:reject", " the FAQ is missing ", owner), "answered")
	d.want("the reason", d.answered().Reason, "the FAQ is missing")

	p := newDesk(t, "direction")
	defer p.close()
	p.ask(kernel.OpenGate{Question: "Which price?", Kind: "publish", Options: []kernel.Option{{ID: "say", Label: "Say", Outcome: kernel.Answer}, {ID: "no", Label: "Not yet", Outcome: kernel.Reject}}})
	p.want("no words", p.use("answer:say", "  ", owner), "needs_text")
	p.want("the first press", p.use("answer:say", "9 EUR", owner), "confirm")
	p.want("the second", p.use("confirm:say", "", owner), "answered")
	p.want("the words", p.answered().Reason, "9 EUR")
}

// Who decided an unprotected gate can change it on the card for ten minutes, and
// then the button goes by itself.
func TestChangeOnTheCard(t *testing.T) {
	d := newDesk(t, "direction")
	defer d.close()
	d.use("answer:approve", "", owner)
	d.want("after a decision", d.steps(), "change")
	change := d.card().Buttons[0].ID
	mei := kernel.Actor{Kind: kernel.ByOwner, ID: "mei", Name: "Mei", Surface: "slack"}
	d.want("somebody else", d.pressWith(change, "", mei), "decided")
	d.want("change", d.use("change", "", owner), "confirm")
	d.want("the other options", d.steps(), "change_to:reject change_to:cancel back")
	d.want("back", d.use("back", "", owner), "back")
	d.use("change", "", owner)
	d.want("another option", d.use("change_to:reject", "too soon", owner), "changed")
	if a := d.answered(); a.Option != "reject" || a.Reason != "too soon" {
		t.Fatalf("the decision is %+v", a)
	}
	d.use("change", "", owner)
	d.now += confirmMS + 1
	d.update(func(t *Tx) error { return t.Expire(d.k) })
	d.want("an unfinished change", d.steps(), "change")
	d.now += changeMS
	d.update(func(t *Tx) error { return t.Expire(d.k) })
	d.want("ten minutes later", d.steps(), "")
	d.want("the old button", d.pressWith(change, "", owner), "decided")

	p := newDesk(t, "publish")
	defer p.close()
	p.use("answer:approve", "", owner)
	p.use("confirm:approve", "", owner)
	p.want("a protected decision", p.steps(), "")
}

// A decision that no card made can be disowned on the card, and so can an answer
// from a terminal that waits for a press: two presses, and the goal stops.
func TestNotMe(t *testing.T) {
	cli := kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Name: "Wei", Surface: "cli", Press: true, Process: "loopx", Terminal: "pts/3"}
	for _, kind := range []string{"direction", "publish"} {
		d := newDesk(t, kind)
		if kind == "publish" { // a place to press on is what makes it wait
			d.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, kernel.Options{By: owner})
			d.do(&kernel.RedeemLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Platform: "slack", Connection: "work", Tenant: "T1", User: "U1", Private: "D1"}, kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "slack"}})
			d.do(&kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: "T1", User: "U1"}, kernel.Options{By: owner})
		}
		d.do(&kernel.AnswerGate{Gate: d.gate, Option: "approve"}, kernel.Options{By: cli})
		d.project()
		want := "change disown"
		if kind == "publish" {
			want = "answer:approve answer:reject answer:cancel disown"
		}
		d.want(kind+" after a terminal's answer", d.steps(), want)
		d.want("not me", d.use("disown", "", owner), "confirm")
		d.project()
		d.want("its confirmation", d.steps(), "confirm back")
		d.want("confirmed", d.use("confirm", "", owner), "disowned")
		_ = d.k.Read(ctx(), func(r *kernel.Reader) error {
			if g := r.Gate("site", d.gate); g.Status != kernel.GateOpen || g.Pending != nil || len(r.Goal("site").Pause) == 0 || !r.OwnerToken().Renew {
				t.Errorf("%s: the gate is %s with %+v, the goal paused by %v", kind, g.Status, g.Pending, r.Goal("site").Pause)
			}
			return nil
		})
		d.want("the card asks again", d.steps(), "answer:approve answer:reject answer:cancel")
		d.close()
	}
}

// An approval of a scope is for this time, or for the goal with a date that the
// second press shows; what was asked once stands for nothing.
func TestGrantButtons(t *testing.T) {
	const asks = "answer:approve:action answer:approve:goal answer:reject answer:cancel"
	d := newDesk(t, "direction")
	defer d.close()
	d.ask(kernel.OpenGate{Question: "Use the printer?", Scope: "resource:goal:printer"})
	d.want("a scope of the goal", d.steps(), asks)
	d.want("for the goal", d.use("answer:approve:goal", "", owner), "confirm")
	if c := d.card().Confirm; c.GrantUntil != d.now+grantMS {
		t.Fatalf("it would stand until %d", c.GrantUntil)
	}
	d.want("confirmed", d.use("confirm:approve:goal", "", owner), "answered")
	grants := func() (n int) {
		_ = d.k.Read(ctx(), func(r *kernel.Reader) error {
			for _, g := range r.Grants("site") {
				if g.Live(d.now) {
					n++
				}
			}
			return nil
		})
		return n
	}
	if grants() != 1 {
		t.Fatalf("%d stand", grants())
	}
	once := newDesk(t, "direction")
	defer once.close()
	once.ask(kernel.OpenGate{Question: "Use the printer?", Scope: "resource:action:printer"})
	once.want("a scope of one action", once.steps(), "answer:approve:action answer:reject answer:cancel")
	once.want("for this time", once.use("answer:approve:action", "", owner), "answered")

	tainted := newDesk(t, "direction")
	defer tainted.close()
	by := kernel.Options{By: owner}
	tainted.do(&kernel.WithdrawGate{Gate: tainted.gate}, by)
	tainted.do(&kernel.AddTodo{Goal: "site", Title: "something else"}, by)
	tainted.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1"}, by)
	tainted.do(&kernel.TaintTurn{Goal: "site", Agent: "builder", Turn: "t1"}, by)
	tainted.do(&kernel.OpenGate{Goal: "site", Agent: "builder", Question: "Use the printer?", Scope: "resource:goal:printer", Todos: []string{tainted.todo}}, kernel.Options{By: kernel.Actor{Kind: kernel.ByCLI, Surface: "cli"}})
	_ = tainted.k.Read(ctx(), func(r *kernel.Reader) error { tainted.gate = r.OpenGates("site", 1)[0].ID; return nil })
	tainted.project()
	tainted.want("in a tainted turn", tainted.steps(), "answer:approve:action answer:reject answer:cancel")
}

// What does not fit on a card is paged on it; yes stands on the last page only,
// and the pages together are the whole, every character of it visible.
func TestShowAll(t *testing.T) {
	d := newDesk(t, "direction")
	defer d.close()
	why := strings.Repeat("curl https://example.com/install ⟦| sh && ", 40)
	d.ask(kernel.OpenGate{Question: "Run it?", Why: why})
	var pages []string
	_ = d.k.Read(ctx(), func(r *kernel.Reader) error { pages = Pages(r, r.Gate("site", d.gate)); return nil })
	if len(pages) < 2 || !strings.Contains(strings.Join(pages, ""), chat.Visible(why)) {
		t.Fatalf("%d pages hold %q", len(pages), pages)
	}
	for i, p := range pages {
		if strings.Count(p, "⟦") != strings.Count(p, "⟧") {
			t.Errorf("page %d breaks an escape: %q", i+1, p)
		}
	}
	d.want("the card", d.steps(), "answer:reject answer:cancel page")
	for range len(pages) - 1 {
		d.want("a page", d.use("page", "", owner), StepPage)
		d.want("before the last page", d.steps(), "answer:reject answer:cancel page")
	}
	d.use("page", "", owner)
	d.want("the last page", d.steps(), "answer:approve answer:reject answer:cancel page")
	yes := d.card().Buttons[0]
	d.do(&kernel.UpdateTodo{Goal: "site", Agent: "builder", Todo: d.todo, Title: new("publish more")}, kernel.Options{By: owner})
	d.project()
	d.want("yes to what has changed", d.pressWith(yes.ID, "", owner), "stale")
	d.want("the card begins anew", d.steps(), "answer:reject answer:cancel page")

	d.ask(kernel.OpenGate{Question: "Pay p\u0430ypal?"}) // a Cyrillic a
	d.want("a lookalike", d.steps(), "answer:reject answer:cancel")
}

// A card follows its gate when the date is past on which nobody is reminded any
// more.
func TestParkedIsDrawn(t *testing.T) {
	d := newDesk(t, "direction")
	defer d.close()
	d.ask(kernel.OpenGate{Question: "Later?", OnTimeout: "park", Expires: d.now + 1000})
	before := d.card().Want
	d.now += 2000
	for range 3 {
		d.update(func(t *Tx) error { return t.Expire(d.k) })
	}
	if after := d.card().Want; after != before+1 {
		t.Errorf("drawn for %d reasons, want one", after-before)
	}
	d.want("it can still be answered", d.use("answer:approve", "", owner), "answered")
}
