package bot

import (
	"time"

	"loopx/bot/attention"
	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/routing"
)

// attentionCommand does /mute, /snooze and /quiet: a person's own choice, at
// once, answered with the time it ends. It reports whether the word is one of
// these.
func (s *sink) attentionCommand(tx store.Tx, r *kernel.Reader, v routing.Verdict, actor kernel.Actor) (text string, done bool, err error) {
	a, lang := v.Intent.Args, languageOf(r, actor.ID)
	person := r.Person(actor.ID)
	if person == nil {
		return "", false, r.Err()
	}
	p := prefsOf(person, s.zone)
	now := time.UnixMilli(r.Now())
	c := &kernel.SetAttention{Person: actor.ID}
	say := func(fn func(until string) string, until time.Time) (string, bool, error) {
		_, err := s.k.DoTx(tx, c, kernel.Options{By: actor})
		if err != nil {
			return refusalWords(lang, err), true, nil
		}
		return fn(cards.MomentWords(lang, until.In(p.Zone), now.In(p.Zone))), true, nil
	}
	switch v.Word {
	case "mute":
		until, ok := moment(now, p, a, attention.DigestAfter(p, now))
		if a.Off {
			until, ok = now, true
		}
		if !ok || a.Bad != "" {
			return cards.BadMoment(lang), true, nil
		}
		c.Mute = &kernel.Mute{Goal: a.Goal, Until: until.UnixMilli()}
		return say(func(t string) string { return cards.Muted(lang, a.Goal, t, a.Off) }, until)
	case "snooze":
		g, text := s.gateNamed(r, actor, a.Gate, lang)
		if g == nil {
			return text, true, r.Err()
		}
		until, ok := moment(now, p, a, attention.DigestAfter(p, now))
		if !ok || a.Bad != "" {
			return cards.BadMoment(lang), true, nil
		}
		c.Snooze = &kernel.Snooze{Gate: g.ID, Until: until.UnixMilli()}
		return say(func(t string) string { return cards.Snoozed(lang, g.Code, t) }, until)
	case "quiet":
		if a.Bad != "" {
			return cards.BadMoment(lang), true, nil
		}
		from, to := a.From*60, a.To*60
		if from != to || a.Off {
			if a.Off {
				from, to = 0, 0
			}
			c.QuietFrom, c.QuietTo = &from, &to
		}
		at := person.AttentionOf()
		if c.QuietFrom == nil {
			from, to = at.QuietFrom, at.QuietTo
		}
		return say(func(string) string { return cards.Quiet(lang, from, to, p.Zone.String()) }, now)
	}
	return "", false, nil
}

// moment is when something ends: after a span, at a moment of the person's
// calendar, or at the default.
func moment(now time.Time, p attention.Prefs, a routing.Args, otherwise time.Time) (time.Time, bool) {
	switch {
	case a.For > 0:
		return now.Add(time.Duration(a.For) * time.Millisecond), true
	case a.Until != "":
		return attention.Moment(now, p, a.Until)
	}
	return otherwise, true
}

// gateNamed finds the one open gate with a code that a person may read; without
// one it says why.
func (s *sink) gateNamed(r *kernel.Reader, actor kernel.Actor, code, lang string) (*kernel.Gate, string) {
	var found []*kernel.Gate
	for _, goal := range r.Goals(reachMost * 10) {
		if actor.Kind != kernel.ByOwner && r.RoleOf(goal.ID, actor.ID) == "" {
			continue
		}
		if g := r.GateByCode(goal.ID, code); g != nil && g.Status == kernel.GateOpen && !g.Expired(r.Now()) {
			found = append(found, g)
		}
	}
	if len(found) == 1 {
		return found[0], ""
	}
	return nil, cards.NoGate(lang, code, len(found))
}

func refusalWords(lang string, err error) string {
	if lang == "zh" {
		return "什么都没有改变：" + refusedBecause(lang, err) + "。"
	}
	return "Nothing was changed: " + refusedBecause(lang, err) + "."
}

// snooze puts the question of a pressed card off until the person's next digest.
func (s *sink) snooze(tx store.Tx, r *kernel.Reader, out inbox.Outcome, actor kernel.Actor) (string, error) {
	p := prefsOf(r.Person(actor.ID), s.zone)
	now := time.UnixMilli(r.Now())
	until := attention.DigestAfter(p, now)
	_, err := s.k.DoTx(tx, &kernel.SetAttention{Person: actor.ID, Snooze: &kernel.Snooze{Gate: out.Gate.ID, Until: until.UnixMilli()}}, kernel.Options{By: actor})
	if err != nil {
		return refusalWords(languageOf(r, actor.ID), err), nil
	}
	return cards.Snoozed(languageOf(r, actor.ID), out.Gate.Code, cards.MomentWords(languageOf(r, actor.ID), until.In(p.Zone), now.In(p.Zone))), nil
}
