package cards

import (
	"slices"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/view"
)

// Action is a live button of one copy of a card.
type Action struct {
	ID     string // opaque
	Step   string // as the inbox names it: answer, confirm, back, snooze, page, change, change_to, disown
	Option string
	Grant  string // what an approval leaves: empty, action or goal
}

// GateCopy is what differs between the copies of one gate's card.
type GateCopy struct {
	Actions []Action
	// Confirming is the option of a first press that waits for its second, Step
	// what else is confirmed (disown) or chosen (change).
	Confirming, Step string
	// GrantUntil is the end of the approval that is confirmed, UTC ms.
	GrantUntil int64
	// Pages is the whole where a card shows only a part, Page the one that is
	// shown, from 1; 0 is the card itself.
	Pages []string
	Page  int
	// Onlooker says that who the copy belongs to may not answer.
	Onlooker bool
	// Role and Linked are of who decided: what they are in the goal, and since when
	// the account they used is linked, UTC ms; empty and 0 where that is unknown.
	Role   string
	Linked int64
	// Lookalike is a word that looks like another one; with it nothing can be
	// approved.
	Lookalike string
	Zone      *time.Location
}

// Gate draws a gate. The same view and copy give the same card: nothing in it
// is an age that moves by itself, so an unchanged gate is never redrawn.
func Gate(g view.Gate, c GateCopy) chat.Card {
	w := wordsOf(g.Language)
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	at := func(ms int64) string { return view.ClockIn(g.Language, ms, g.Asked, c.Zone) }
	card := chat.Card{Lang: g.Language, State: chat.CardOpen, Title: g.GoalTitle + " · " + waits(g, c, w), Question: g.Question, Protected: g.Protected}
	foot := []string{g.Code, sprintf(w.asked, at(g.Asked))}
	switch {
	case g.Status == kernel.GateAnswered:
		decided(&card, g, c, w, at)
		if c.Step == "disown" {
			card.Facts = append(card.Facts, w.disownNote)
		}
		press(&card, g, c, w)
		card.Footer = strings.Join(foot, " · ")
		return card
	case g.Status == "expired":
		card.State, card.Title, card.Struck, card.Outcome = chat.CardExpired, g.GoalTitle+" · "+w.expired, true, w.expiredNote
		card.Footer = strings.Join(append(foot, sprintf(w.ended, at(g.Expires))), " · ")
		return card
	case g.Status == kernel.GateWithdrawn:
		card.State, card.Title, card.Struck, card.Outcome = chat.CardStale, g.GoalTitle+" · "+w.withdrawn, true, w.withdrawnNote
		card.Footer = strings.Join(foot, " · ")
		return card
	}
	if g.Why != "" {
		card.Quotes = []chat.Quote{{From: sprintf(w.asks, g.AskedBy), Text: shorten(g.Why, whyShown)}}
	}
	for _, o := range g.Options {
		card.Options = append(card.Options, chat.Option{Label: o.Label, Consequence: shorten(o.Consequence, consequenceShown), Mark: w.mark(o.Outcome)})
	}
	card.Facts = append(card.Facts, blocks(g, w))
	who := strings.Join(g.Asks, w.or)
	switch {
	case g.Who.Quorum > 1 && who != "":
		card.Facts = append(card.Facts, sprintf(w.votes, strings.Join(g.Asks, w.list), g.Agree, g.Who.Quorum))
	case who != "":
		card.Facts = append(card.Facts, sprintf(w.who, who))
	}
	if g.Unreachable != nil {
		card.Facts = append(card.Facts, unreachable(g.Language, g.Unreachable))
	}
	card.Facts = append(card.Facts, doubts(g, c, w)...)
	if g.Tainted {
		card.Facts = append(card.Facts, w.tainted)
	}
	if a := g.Pending; a != nil {
		card.Facts = append(card.Facts, sprintf(w.pending, a.Name, a.Label, strings.Join(terminal(a), " · ")))
	}
	card.Facts = append(card.Facts, before(g, w, at)...)
	if g.Fallback != "" {
		card.Facts = append(card.Facts, shorten(g.Fallback, whyShown))
	}
	for i, e := range g.Evidence {
		if i == evidenceShown {
			break
		}
		seen := at(e.Observed)
		if e.Loose {
			seen += ", " + w.loose
		}
		ev := chat.Evidence{Text: e.Summary + " (" + seen + ")", Stale: e.Stale}
		if strings.HasPrefix(e.Ref, "https://") || strings.HasPrefix(e.Ref, "http://") {
			ev.URL = e.Ref
		}
		card.Evidence = append(card.Evidence, ev)
	}
	switch {
	case g.Parked:
		foot = append(foot, sprintf(w.parked, at(g.Expires)))
	case g.Expires > 0 && g.OnTimeout == "expire":
		foot = append(foot, sprintf(w.expires, at(g.Expires)))
	default:
		foot = append(foot, w.never)
	}
	if g.Protected {
		foot = append(foot, w.protected)
	}
	card.Footer = strings.Join(append(foot, w.enforced(g.Enforced)), " · ")
	switch {
	case c.Step == "disown":
		card.State, card.Title = chat.CardConfirming, g.GoalTitle+" · "+w.confirmTitle
		card.Facts = append(card.Facts, w.disownNote)
	case c.Confirming != "":
		card.State, card.Title = chat.CardConfirming, g.GoalTitle+" · "+w.confirmTitle
		if c.GrantUntil > 0 { // not in the label, whose end some clients cut off
			card.Facts = append(card.Facts, sprintf(w.standing, day(c.GrantUntil, c.Zone, g.Language)))
		}
	case c.Page > 0 && c.Page <= len(c.Pages):
		card.Options, card.Evidence = nil, nil
		card.Quotes = []chat.Quote{{From: sprintf(w.asks, g.AskedBy), Text: c.Pages[c.Page-1]}}
		card.Footer = sprintf("%d/%d", c.Page, len(c.Pages)) + " · " + card.Footer
	}
	press(&card, g, c, w)
	return card
}

// evidenceShown is how many pieces a card shows; the rest is behind details.
const evidenceShown = 3

func blocks(g view.Gate, w words) string {
	var s string
	switch {
	case g.Blocks.WholeGoal:
		return w.blocksGoal
	case g.Blocks.Agent != "":
		s = sprintf(w.blocksLane, g.Blocks.Agent)
	case len(g.Blocks.Todos) == 0:
		return w.nothing
	case max(g.Blocks.OpenTodos, len(g.Blocks.Todos)) == 1:
		s = w.blocksOnly
	default:
		s = sprintf(w.blocks, len(g.Blocks.Todos), max(g.Blocks.OpenTodos, len(g.Blocks.Todos)))
	}
	switch g.Blocks.OthersGo {
	case 0:
	case 1:
		s += " · " + w.oneGoesOn
	default:
		s += " · " + sprintf(w.goesOn, g.Blocks.OthersGo)
	}
	return s
}

// waits is what the card wants of its reader.
func waits(g view.Gate, c GateCopy, w words) string {
	switch {
	case !c.Onlooker:
		return w.waits
	case len(g.Asks) == 0:
		return w.waitsNone
	}
	return sprintf(w.waitsFor, strings.Join(g.Asks, w.or))
}

func decided(card *chat.Card, g view.Gate, c GateCopy, w words, at func(int64) string) {
	a := g.Answer
	card.State, card.Struck, card.Protected = chat.CardDecided, true, false
	card.Title = g.GoalTitle + " · " + sprintf(w.decided, a.Name, a.Label)
	parts := []string{a.Label, a.Name + decider(g, c, w), at(a.At), sprintf(w.via, strings.Join(append([]string{w.surface(a.Surface)}, terminal(a)...), " · "))}
	switch {
	case g.Taken != nil:
		parts = append(parts, sprintf(w.taken, g.Taken.Agent, at(g.Taken.At)))
	case a.Outcome == kernel.Reject || a.Outcome == kernel.Cancel || len(g.Blocks.Todos) == 0 && g.Blocks.Agent == "" && !g.Blocks.WholeGoal:
		parts = append(parts, w.recorded)
	case !g.Running:
		parts = append(parts, w.nobody)
	default:
		parts = append(parts, w.recorded)
	}
	card.Outcome = strings.Join(parts, " · ")
	card.Facts = append(card.Facts, before(g, w, at)...)
	if a.Reason != "" {
		card.Facts = append(card.Facts, sprintf(w.reason, a.Reason))
	}
}

// decider is what somebody who decided is, and since when we know their account.
func decider(g view.Gate, c GateCopy, w words) string {
	var parts []string
	if role := w.role(c.Role); role != "" {
		parts = append(parts, role)
	}
	if c.Linked > 0 {
		parts = append(parts, sprintf(w.linked, day(c.Linked, c.Zone, g.Language)))
	}
	if len(parts) == 0 {
		return ""
	}
	return sprintf(w.inBrackets, strings.Join(parts, w.and))
}

// terminal is the process and the terminal of an answer that was no press.
func terminal(a *kernel.GateAnswer) []string {
	return slices.DeleteFunc([]string{a.Process, a.Terminal}, func(s string) bool { return s == "" })
}

// before is the last decision that holds no longer: a correction shows both.
func before(g view.Gate, w words, at func(int64) string) []string {
	if len(g.Past) == 0 {
		return nil
	}
	p := g.Past[len(g.Past)-1]
	out := []string{sprintf(w.was, p.Answer.Label, p.Answer.Name, at(p.Answer.At))}
	if p.Taken != nil {
		out[0] += " · " + sprintf(w.taken, p.Taken.Agent, at(p.Taken.At))
	}
	return out
}
