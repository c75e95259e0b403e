package bot

import (
	"slices"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/view"
)

// gateCard draws one copy of a gate as it is now: in the person's language where
// the copy is private, and in their zone where they have said one.
func gateCard(r *kernel.Reader, it *inbox.Item, g *kernel.Gate, zone *time.Location) chat.Card {
	c := cards.GateCopy{Zone: zone, Page: it.Page, Lookalike: inbox.Lookalike(g)}
	if g.Status == kernel.GateOpen {
		c.Pages = inbox.Pages(r, g)
	}
	if q := it.Confirm; q != nil {
		c.Confirming, c.Step, c.GrantUntil = q.Option, q.Step, q.GrantUntil
	}
	for _, b := range it.Buttons {
		c.Actions = append(c.Actions, cards.Action{ID: b.ID, Step: b.Step, Option: b.Option, Grant: b.Grant})
	}
	v := view.GateOf(r, g)
	readerOf(r, it, g, &v, &c)
	if a := g.Answer; a != nil {
		c.Role, c.Linked = deciderOf(r, g, a)
	}
	if p := r.Person(it.Person); it.Person != "" && p != nil {
		if p.Language != "" {
			v.Language = p.Language
		}
		c.Zone = prefsOf(p, zone).Zone
	}
	return cards.Gate(v, c)
}

// readerOf says on a copy whether who it belongs to may answer, and names them
// among those who can: what is asked of an approver first, an owner can answer too.
func readerOf(r *kernel.Reader, it *inbox.Item, g *kernel.Gate, v *view.Gate, c *cards.GateCopy) {
	id := it.Person
	switch {
	case id != "":
	case it.Place.Connection == consoleName:
		id = "owner" // the page is theirs
	default:
		return // what hangs in the open names those who are asked
	}
	p := r.Person(id)
	switch {
	case g.Status != kernel.GateOpen || p == nil:
	case r.MayAnswer(g, inbox.PersonActor(p, "")) != nil:
		c.Onlooker = true
	case !slices.Contains(v.Asks, p.Name) && v.Who.Quorum <= 1:
		v.Asks = append([]string{p.Name}, v.Asks...)
	}
}

// deciderOf is what somebody who decided is in the goal, and since when the
// account they used is linked, UTC ms; 0 for none.
func deciderOf(r *kernel.Reader, g *kernel.Gate, a *kernel.GateAnswer) (role string, linked int64) {
	if p := r.Person(a.Person); p != nil && p.Owner || a.Person == "owner" {
		role = kernel.RoleOwner
	} else {
		role = r.RoleOf(g.Goal, a.Person)
	}
	for _, v := range r.PrincipalsOf(a.Person) {
		if v.Platform == a.Surface && v.Status == kernel.Linked && (linked == 0 || v.Since < linked) {
			linked = v.Since
		}
	}
	return role, linked
}
