package bot

import (
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
	if p := r.Person(it.Person); it.Person != "" && p != nil {
		if p.Language != "" {
			v.Language = p.Language
		}
		c.Zone = prefsOf(p, zone).Zone
	}
	return cards.Gate(v, c)
}
