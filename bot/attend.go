package bot

import (
	"context"
	"fmt"
	"slices"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/console"
	"loopx/bot/attention"
	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/view"
)

// peopleMost bounds the people who are asked one gate.
const peopleMost = 64

// spots says where a gate's card belongs: in the page's own conversation, and
// privately with each person who is asked, on the surface they prefer; their
// other surfaces get copies.
func (e *engine) spots(r *kernel.Reader, g *kernel.Gate) []inbox.Spot {
	var out []inbox.Spot
	known := map[string]bool{}
	for _, c := range e.conns {
		known[c.name] = true
		if c.platform == chat.Console {
			out = append(out, inbox.Spot{Place: chat.Place{Connection: c.name, Conversation: console.Conversation}})
		}
	}
	for _, person := range e.asked(r, g) {
		out = append(out, privately(r, person, known)...)
	}
	return append(out, lines(r, g, known)...)
}

// asked are the people who may answer a gate and are asked now. In a chain that
// is one after the other: the next comes when the ones before were escalated.
func (e *engine) asked(r *kernel.Reader, g *kernel.Gate) []*kernel.Person {
	a := r.AskedOf(g)
	var all []*kernel.Person
	add := func(id string) {
		p := r.Person(id)
		if p == nil || !p.Active() || len(all) == peopleMost {
			return
		}
		if r.MayAnswer(g, inbox.PersonActor(p, "")) == nil {
			all = append(all, p)
		}
	}
	if len(a.Persons) > 0 {
		for _, id := range a.Persons {
			add(id)
		}
	} else {
		add("owner")
		for _, v := range r.RolesOf(g.Goal) {
			if v.Person != "owner" && kernel.Includes(v.Role, a.Role) {
				add(v.Person)
			}
		}
	}
	if !a.Chain {
		return all
	}
	for i, p := range all {
		if !escalated(r, p.ID, g) {
			return all[:i+1]
		}
	}
	return all
}

func escalated(r *kernel.Reader, person string, g *kernel.Gate) bool {
	told, err := inbox.ToldOf(r.Tx(), person, g.ID)
	if err != nil {
		return false // the reader of the same transaction meets it too
	}
	for _, t := range told {
		if t.Level == int(attention.Escalate) && t.Meaning == g.Digest {
			return true
		}
	}
	return false
}

// privately are the private conversations of a person, the preferred one first
// and loud, or else the one linked first.
func privately(r *kernel.Reader, p *kernel.Person, known map[string]bool) []inbox.Spot {
	var out []inbox.Spot
	for _, v := range r.PrincipalsOf(p.ID) {
		if v.Status != kernel.Linked || !known[v.Connection] || v.Private == "" || v.Refused {
			continue
		}
		s := inbox.Spot{Place: chat.Place{Connection: v.Connection, Conversation: v.Private}, Person: p.ID, Copy: true}
		if v.Connection == p.Preferred {
			out = append([]inbox.Spot{s}, out...)
		} else {
			out = append(out, s)
		}
	}
	if len(out) > 0 {
		out[0].Copy = false
	}
	return out
}

// prefsOf is a person's choice in the policy's form; without a zone of their own
// it is that of the machine.
func prefsOf(p *kernel.Person, zone *time.Location) attention.Prefs {
	if p != nil && p.Zone != "" {
		if z, err := time.LoadLocation(p.Zone); err == nil {
			zone = z
		}
	}
	a := p.AttentionOf()
	out := attention.Defaults(zone)
	out.QuietFrom, out.QuietTo, out.DigestAt = attention.Clock(a.QuietFrom), attention.Clock(a.QuietTo), attention.Clock(a.Digest)
	out.Budget, out.UrgentAnytime = a.Budget, a.Urgent
	for _, m := range a.Mutes {
		out.Mutes = append(out.Mutes, attention.Mute{Goal: m.Goal, Until: time.UnixMilli(m.Until)})
	}
	return out
}

// planFor is what the policy says about one person and one gate now. ok is false
// when they were told and nothing more is due.
func (e *attend) planFor(r *kernel.Reader, person string, g *kernel.Gate, chain bool) (attention.Plan, bool, error) {
	told, err := inbox.ToldOf(r.Tx(), person, g.ID)
	if err != nil {
		return attention.Plan{}, false, err
	}
	now := time.UnixMilli(r.Now())
	today, err := inbox.ToldSince(r.Tx(), person, now.Add(-36*time.Hour).UnixMilli())
	if err != nil {
		return attention.Plan{}, false, err
	}
	p := r.Person(person)
	ask := attention.Ask{
		Goal: g.Goal, Severity: int(g.Severity), Protected: g.Protected(), Meaning: g.Digest, Opened: time.UnixMilli(g.Created), Chain: chain,
		Blocks: g.Blocks.Goal || g.Blocks.Agent != "" || len(g.Blocks.Todos) > 0,
	}
	if u := p.AttentionOf().SnoozedUntil(g.ID); u > 0 {
		ask.Snoozed = time.UnixMilli(u)
	}
	plan, ok := attention.Next(now, prefsOf(p, e.zone), ask, attention.History{Ask: tolds(told), Today: tolds(today)})
	return plan, ok, r.Err()
}

func tolds(in []inbox.Told) []attention.Told {
	out := make([]attention.Told, 0, len(in))
	for _, t := range in {
		out = append(out, attention.Told{At: time.UnixMilli(t.At), Goal: t.Goal, Level: attention.Level(t.Level), Meaning: t.Meaning})
	}
	return out
}

// attend asks the policy before a person is told of a gate.
type attend struct {
	k *kernel.Kernel
	// zone is that of people who have not said theirs.
	zone *time.Location
}

// hold decides about a card of a person that is not outside yet: whether it goes
// out now. Otherwise it says when to look again, or takes it out of the queue.
func (e *attend) hold(tx store.Tx, it *inbox.Item) (held bool, err error) {
	if it != nil && it.Kind == inbox.Line && it.Message == "" && it.State == inbox.Ready {
		return e.settled(tx, it)
	}
	if it == nil || it.Kind != inbox.GateCard || it.Person == "" || it.Message != "" || it.State != inbox.Ready || it.Again > 0 {
		return false, nil
	}
	in := inbox.AskingOver(inbox.Over(tx))
	r, err := e.k.ReaderOf(tx)
	if err != nil {
		return false, err
	}
	g := r.Gate(it.Goal, it.Gate)
	if err := r.Err(); err != nil || g == nil {
		return false, err
	}
	if g.Status != kernel.GateOpen || g.Expired(r.Now()) {
		return true, in.Resolved(it.ID)
	}
	plan, ok, err := e.planFor(r, it.Person, g, false)
	if it.Level == int(attention.Digest) && plan.Level > attention.Digest {
		plan.Level = attention.Digest // what waited for a digest comes with one
	}
	switch {
	case err != nil:
		return false, err
	case it.Copy && ok && plan.At.UnixMilli() <= r.Now():
		// The loud one goes first; a second is nothing to a person.
		return it.Created+copyWait > r.Now(), postponed(in, it, it.Created+copyWait, r.Now())
	case !ok || it.Copy && plan.Level >= attention.Mention:
		return false, in.Loud(it.ID, int(attention.Silent)) // told elsewhere
	case plan.At.UnixMilli() > r.Now():
		return true, in.Postpone(it.ID, plan.At.UnixMilli(), int(plan.Level))
	case plan.Level == attention.Digest:
		settled, err := in.AddDigest(it.Person, e.day(r, it.Person), it.Place)
		if err != nil {
			return false, err
		}
		if !settled {
			return true, in.Postpone(it.ID, r.Now()+digestFirst, int(attention.Digest))
		}
	}
	return false, in.Loud(it.ID, int(plan.Level))
}

// day is a person's local day, as the key of its digest has it.
func (e *attend) day(r *kernel.Reader, person string) string {
	return time.UnixMilli(r.Now()).In(prefsOf(r.Person(person), e.zone).Zone).Format(time.DateOnly)
}

const (
	copyWait    = 2000 // ms a copy waits for the card that makes a sound
	digestFirst = 500  // ms until a card looks whether the digest above it is outside
)

func postponed(in inbox.Asking, it *inbox.Item, until, now int64) error {
	if until <= now {
		return in.Loud(it.ID, int(attention.Silent))
	}
	return in.Postpone(it.ID, until, int(attention.Silent))
}

// told records that a card which interrupts somebody went out.
func (e *attend) told(tx store.Tx, id string) error {
	it, err := inbox.Load(tx, id)
	if err != nil || it == nil || it.Person == "" || it.Copy || it.Kind != inbox.GateCard || it.Again > 0 {
		return err
	}
	r, err := e.k.ReaderOf(tx)
	if err != nil {
		return err
	}
	g := r.Gate(it.Goal, it.Gate)
	if g == nil {
		return r.Err()
	}
	return inbox.AskingOver(inbox.Over(tx)).Tell(it.Person, g, it.Level)
}

// remind tells people again of what waits too long or has changed, and asks the
// next in a chain. It looks first and writes only where something is due.
func (e *engine) remind(ctx context.Context) error {
	var due []string // gate ids
	err := e.k.Read(ctx, func(r *kernel.Reader) error {
		for _, goal := range r.Goals(1000) {
			for _, g := range r.OpenGates(goal.ID, 1000) {
				some, err := e.remindOne(r, nil, g)
				if err != nil {
					return err
				}
				if some {
					due = append(due, g.ID)
				}
			}
		}
		return r.Err()
	})
	if err != nil {
		return err
	}
	for _, id := range due {
		err := e.k.Store().Update(ctx, func(tx store.Tx) error {
			r, err := e.k.ReaderOf(tx)
			if err != nil {
				return err
			}
			g := r.Gate(r.GoalOfGate(id), id)
			if err := r.Err(); err != nil || g == nil || g.Status != kernel.GateOpen {
				return err
			}
			_, err = e.remindOne(r, inbox.Over(tx), g)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// remindOne says whether somebody is to be told again of a gate; with in it does
// so.
func (e *engine) remindOne(r *kernel.Reader, in *inbox.Tx, g *kernel.Gate) (bool, error) {
	if g.Expired(r.Now()) {
		return false, nil
	}
	asked, err := inbox.Asked(r.Tx(), g)
	if err != nil {
		return false, err
	}
	last := "" // who of a chain was asked last, while somebody comes next
	if a := r.AskedOf(g); a.Chain {
		if people := e.asked(r, g); len(people) > 0 && len(people) < len(a.Persons) {
			last = people[len(people)-1].ID
		}
	}
	some := false
	for _, it := range asked {
		plan, ok, err := e.attend.planFor(r, it.Person, g, it.Person == last)
		if err != nil {
			return false, err
		}
		if !ok || plan.At.UnixMilli() > r.Now() {
			continue
		}
		some = true
		if in == nil {
			continue
		}
		switch {
		case plan.Level == attention.Escalate:
			if err := inbox.AskingOver(in).Tell(it.Person, g, int(plan.Level)); err != nil {
				return false, err
			}
			for _, s := range e.spots(r, g) {
				if _, err := in.AddCard(r, g, s); err != nil {
					return false, err
				}
			}
		default:
			text := cards.Reminder(languageOf(r, it.Person), g.Code, g.Question, plan.Why == "changed", r.Now()-g.Created)
			if plan.Level <= attention.Digest {
				text = ""
			}
			if plan.Level == attention.Digest {
				if _, err := inbox.AskingOver(in).AddDigest(it.Person, e.attend.day(r, it.Person), it.Place); err != nil {
					return false, err
				}
			}
			if err := inbox.AskingOver(in).Remind(it, g, int(plan.Level), text); err != nil {
				return false, err
			}
		}
	}
	return some, nil
}

// digestGates bounds the decisions that are looked through for a digest.
const digestGates = 200

// digest is the daily message to a person, as things are now.
func (e *attend) digest(r *kernel.Reader, person string) (string, error) {
	p := r.Person(person)
	if p == nil {
		p = &kernel.Person{ID: person} // may answer nothing
	}
	by := inbox.PersonActor(p, "")
	var gates []view.Gate
	held := false
	since := time.UnixMilli(r.Now()).Add(-24 * time.Hour)
	for _, goal := range r.Goals(1000) {
		for _, g := range r.OpenGates(goal.ID, digestGates) {
			if g.Expired(r.Now()) || r.MayAnswer(g, by) != nil || len(gates) == digestGates {
				continue
			}
			gates = append(gates, view.GateOf(r, g))
			// Over budget is what would have been a message and comes only now.
			held = held || g.Severity <= 1 && time.UnixMilli(g.Created).After(since)
		}
	}
	today, err := inbox.ToldSince(r.Tx(), person, since.UnixMilli())
	if err != nil {
		return "", err
	}
	loud := 0
	for _, t := range today {
		if t.Level > int(attention.Digest) {
			loud++
		}
	}
	slices.SortStableFunc(gates, func(a, b view.Gate) int { return int(a.Severity) - int(b.Severity) })
	head := r.Head()
	return cards.Digest(languageOf(r, person), gates, r.Now(), held && loud >= p.AttentionOf().Budget, fmt.Sprintf("%d %.12s", head.Seq, head.Hash)), r.Err()
}
