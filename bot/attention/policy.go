// Package attention decides when a person may be interrupted and how loudly.
// It is pure: what is asked, what the person chose and what they were told
// already go in; a level and a time come out. Words never decide, only typed
// fields do: severity, what is held back, age.
package attention

import (
	"time"
)

// Level is how loudly somebody is told. A higher level includes the lower ones.
type Level int

// Levels.
const (
	Silent   Level = iota // shown without a sound: a copy beside an interruption
	Digest                // with the next daily digest
	Message               // a private message
	Mention               // a private message that says how long it has waited
	Escalate              // the next approver is asked too
)

// String is the word for logs, counters and JSON.
func (l Level) String() string {
	switch l {
	case Silent:
		return "silent"
	case Digest:
		return "digest"
	case Message:
		return "message"
	case Mention:
		return "mention"
	default:
		return "escalate"
	}
}

// Clock is a time of day in minutes after midnight, 0 to 1439.
type Clock int

// Prefs are what a person chose. The zero value is not usable; see Defaults.
type Prefs struct {
	Zone *time.Location
	// QuietFrom and QuietTo bound the quiet hours; equal ones mean none. They
	// may wrap over midnight.
	QuietFrom, QuietTo Clock
	// DigestAt is when the daily digest comes.
	DigestAt Clock
	// Budget is how many interruptions a local day may have; 0 means none at
	// all: everything but protected decisions waits for the digest.
	Budget int
	// UrgentAnytime lets P0 through quiet hours and mutes, by the person's own
	// choice only.
	UrgentAnytime bool
	Mutes         []Mute
}

// Mute holds back one goal, or every goal when Goal is empty, until a time.
type Mute struct {
	Goal  string
	Until time.Time
}

// Defaults are the contract's: quiet 22:00 to 08:00, digest 08:00, eight
// interruptions a day. A nil zone is UTC.
func Defaults(zone *time.Location) Prefs {
	if zone == nil {
		zone = time.UTC
	}
	return Prefs{Zone: zone, QuietFrom: 22 * 60, QuietTo: 8 * 60, DigestAt: 8 * 60, Budget: 8}
}

// Ask is one open question to one person.
type Ask struct {
	Goal     string
	Severity int // 0 (P0) to 3
	// Protected kinds always reach a person; no budget holds them back.
	Protected bool
	// Blocks says that work waits for the answer.
	Blocks bool
	// Meaning changes when the question does. An unchanged one has a cool-down,
	// a changed one is asked again.
	Meaning string
	Opened  time.Time
	Snoozed time.Time // zero: not
	// Chain says that somebody else could be asked next.
	Chain bool
}

// Told is an interruption of a person that happened.
type Told struct {
	At      time.Time
	Goal    string
	Level   Level
	Meaning string
}

// History is what a person was told: of this question, newest last, and of
// everything since the start of their local day.
type History struct {
	Ask   []Told
	Today []Told
}

// Plan is what to do about a question.
type Plan struct {
	Level Level
	At    time.Time
	// Why names the rule that chose level or time: new, changed, waiting,
	// escalated, bundled, over_budget, quiet_hours, muted, snoozed, minor.
	Why string
}

const (
	// cooldown is how long an unchanged question stays quiet after it was told.
	cooldown = time.Hour
	// bundle is how long after an interruption further questions of the same
	// goal come silently: one interruption shows them all.
	bundle = time.Minute
)

// patience is how long an unanswered question of a severity waits before the
// person is told again, and before somebody else is asked; 0 means never.
func patience(severity int) (mention, escalate time.Duration) {
	switch severity {
	case 0:
		return time.Hour, 2 * time.Hour
	case 1:
		return 4 * time.Hour, 24 * time.Hour
	case 2:
		return 24 * time.Hour, 72 * time.Hour
	}
	return 0, 0
}

// Next says when and how a question is told next; ok is false when it has been
// told and nothing more is due until it changes or is answered. The time may lie
// in the past, which means now. Nothing is ever dropped: whatever holds an open
// question back gives a time at which it comes.
func Next(now time.Time, p Prefs, a Ask, h History) (Plan, bool) {
	plan, ok := wanted(now, a, h)
	if !ok {
		return Plan{}, false
	}
	urgent := a.Severity == 0 && p.UrgentAnytime
	if plan.Level == Mention && !urgent && !DigestAfter(p, plan.At).After(now) {
		plan.Level = Digest // it was held back past a digest, which names it
	}
	// Beside another one it makes no sound of its own. That one may have come just
	// before the quiet hours, which hold back a silent card like any other.
	hushed := a.Snoozed.After(now) || !urgent && (muted(p, a.Goal, now).After(now) || Quiet(p, now))
	if plan.Level > Digest && plan.Level != Escalate && !hushed && bundled(plan.At, now, a.Goal, h.Today) {
		return Plan{Level: Silent, At: plan.At, Why: "bundled"}, true
	}
	if plan.Level > Digest && plan.Level != Escalate && !a.Protected && a.Severity > 0 && spent(now, p, h.Today) >= p.Budget {
		plan.Level, plan.Why = Digest, "over_budget"
	}
	// What holds it back may end inside something else that does; each step only
	// moves it on, and a day has few of them.
	at := later(plan.At, now)
	for range 8 {
		moved, why := at, ""
		switch {
		case a.Snoozed.After(at):
			moved, why = a.Snoozed, "snoozed"
		case !urgent && muted(p, a.Goal, at).After(at):
			moved, why = muted(p, a.Goal, at), "muted"
		case !urgent && Quiet(p, at) && plan.Level != Escalate:
			moved, why = after(p.Zone, at, p.QuietTo), "quiet_hours"
			if digestFrom(p, moved).Equal(moved) {
				plan.Level = Digest // the morning has one message
			}
		case plan.Level == Digest:
			if d := digestFrom(p, at); d.After(at) {
				moved, why = d, plan.Why
			}
		}
		if !moved.After(at) {
			break
		}
		at, plan.Why = moved, why
	}
	if at.After(now) {
		plan.At = at
	}
	return plan, true
}

// wanted is what the question itself asks for, before anybody's preferences.
func wanted(now time.Time, a Ask, h History) (Plan, bool) {
	var last *Told
	top := Silent
	for i := range h.Ask {
		if h.Ask[i].Meaning == a.Meaning {
			last, top = &h.Ask[i], max(top, h.Ask[i].Level)
		}
	}
	if last == nil {
		why := "new"
		if len(h.Ask) > 0 {
			why = "changed"
		}
		return Plan{Level: first(a), At: a.Opened, Why: minor(a, why)}, true
	}
	if first(a) == Digest {
		return Plan{}, false // a minor question is told once
	}
	mention, escalate := patience(a.Severity)
	if top < Mention && mention > 0 {
		return Plan{Level: Mention, At: later(a.Opened.Add(mention), last.At.Add(cooldown)), Why: "waiting"}, true
	}
	if top < Escalate && escalate > 0 && a.Chain {
		return Plan{Level: Escalate, At: a.Opened.Add(escalate), Why: "escalated"}, true
	}
	return Plan{}, false
}

// first is the level of a question nobody was told of.
func first(a Ask) Level {
	if a.Protected || a.Severity <= 1 || a.Blocks {
		return Message
	}
	return Digest
}

func minor(a Ask, why string) string {
	if first(a) == Digest {
		return "minor"
	}
	return why
}

func bundled(at, now time.Time, goal string, today []Told) bool {
	at = later(at, now)
	for _, t := range today {
		if t.Goal == goal && t.Level > Digest && !t.At.After(at) && at.Sub(t.At) < bundle {
			return true
		}
	}
	return false
}

// spent counts the interruptions of the person's local day.
func spent(now time.Time, p Prefs, today []Told) int {
	n := 0
	for _, t := range today {
		if t.Level > Digest && sameDay(t.At.In(p.Zone), now.In(p.Zone)) {
			n++
		}
	}
	return n
}

func muted(p Prefs, goal string, at time.Time) time.Time {
	var until time.Time
	for _, m := range p.Mutes {
		if (m.Goal == "" || m.Goal == goal) && m.Until.After(at) {
			until = later(until, m.Until)
		}
	}
	return until
}

// Quiet says whether a time lies in the person's quiet hours.
func Quiet(p Prefs, at time.Time) bool {
	l := at.In(p.Zone)
	return p.quiet(Clock(l.Hour()*60 + l.Minute()))
}

func (p Prefs) quiet(m Clock) bool {
	if p.QuietFrom == p.QuietTo {
		return false
	}
	if p.QuietFrom < p.QuietTo {
		return p.QuietFrom <= m && m < p.QuietTo
	}
	return m >= p.QuietFrom || m < p.QuietTo
}

// DigestAfter is the next time strictly after t at which the digest comes. A
// digest time inside quiet hours moves to their end.
func DigestAfter(p Prefs, t time.Time) time.Time {
	c := p.DigestAt
	if p.quiet(c) {
		c = p.QuietTo
	}
	return after(p.Zone, t, c)
}

// digestFrom is t itself when t is a digest time, else the next one.
func digestFrom(p Prefs, t time.Time) time.Time { return DigestAfter(p, t.Add(-time.Nanosecond)) }

// after is the first time strictly after t at which the wall clock in a zone
// shows c. A time of day that a spring gap leaves out comes at the end of the
// gap; one that an autumn repeats comes at its first turn only.
func after(zone *time.Location, t time.Time, c Clock) time.Time {
	l := t.In(zone)
	for day := -1; day < 4; day++ {
		y, m, d := l.Date()
		at := onDay(zone, y, m, d+day, c)
		if at.After(t) {
			return at
		}
	}
	return t.Add(24 * time.Hour) // not reached: some zone of four days has every time
}

// onDay is the wall time c of a calendar day. time.Date gives a time in a gap
// one of the two offsets around it, so the gap's end is looked for.
func onDay(zone *time.Location, y int, m time.Month, d int, c Clock) time.Time {
	at := time.Date(y, m, d, int(c)/60, int(c)%60, 0, 0, zone)
	if Clock(at.Hour()*60+at.Minute()) == c {
		// Of a repeated time the first one: the same wall clock by the offset that
		// held before.
		if start, _ := at.ZoneBounds(); !start.IsZero() {
			_, before := start.Add(-time.Second).Zone()
			_, off := at.Zone()
			if e := at.Add(time.Duration(off-before) * time.Second); e.Before(start) && e.Before(at) {
				return e
			}
		}
		return at
	}
	_, end := at.ZoneBounds()
	if start, _ := at.ZoneBounds(); !start.IsZero() && absolute(start.Sub(at)) < absolute(end.Sub(at)) {
		return start
	}
	return end
}

func absolute(d time.Duration) time.Duration { return max(d, -d) }

func sameDay(a, b time.Time) bool {
	ay, am, ad := a.Date()
	by, bm, bd := b.Date()
	return ay == by && am == bm && ad == bd
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
