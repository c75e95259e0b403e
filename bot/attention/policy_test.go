package attention_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"loopx/bot/attention"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func at(t testing.TB, z *time.Location, s string) time.Time {
	t.Helper()
	x, err := time.ParseInLocation("2006-01-02 15:04", s, z)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Each row: what is asked, what was told, and what comes of it.
func TestNext(t *testing.T) {
	z := zone(t, "Europe/Berlin")
	noon := at(t, z, "2026-03-10 12:00")
	night := at(t, z, "2026-03-10 23:00")
	morning := at(t, z, "2026-03-11 08:00")
	ask := func(edit func(*attention.Ask)) attention.Ask {
		a := attention.Ask{Goal: "site", Severity: 1, Blocks: true, Meaning: "m1", Opened: noon}
		if edit != nil {
			edit(&a)
		}
		return a
	}
	told := func(ago time.Duration, l attention.Level, meaning string) attention.Told {
		return attention.Told{At: noon.Add(-ago), Goal: "site", Level: l, Meaning: meaning}
	}
	full := make([]attention.Told, 8)
	for i := range full {
		full[i] = attention.Told{At: noon.Add(-time.Duration(i+1) * 10 * time.Minute), Goal: "other", Level: attention.Message}
	}
	for name, tt := range map[string]struct {
		now   time.Time
		ask   attention.Ask
		prefs func(*attention.Prefs)
		past  attention.History
		want  string // level, wall time, why
	}{
		"a new question":                 {ask: ask(nil), want: "message 12:00 new"},
		"minor ones wait for the digest": {ask: ask(func(a *attention.Ask) { a.Severity, a.Blocks = 3, false }), want: "digest 11 08:00 minor"},
		"P2 that blocks nothing":         {ask: ask(func(a *attention.Ask) { a.Severity, a.Blocks = 2, false }), want: "digest 11 08:00 minor"},
		"P3 of a protected kind":         {ask: ask(func(a *attention.Ask) { a.Severity, a.Protected = 3, true }), want: "message 12:00 new"},
		"in quiet hours":                 {now: night, ask: ask(func(a *attention.Ask) { a.Opened = night }), want: "digest 11 08:00 quiet_hours"},
		"P0 in quiet hours": {now: night, ask: ask(func(a *attention.Ask) { a.Severity, a.Opened = 0, night }),
			want: "digest 11 08:00 quiet_hours"},
		"P0 in quiet hours, by choice": {now: night, ask: ask(func(a *attention.Ask) { a.Severity, a.Opened = 0, night }),
			prefs: func(p *attention.Prefs) { p.UrgentAnytime = true }, want: "message 23:00 new"},
		"told and unchanged":       {ask: ask(nil), past: attention.History{Ask: []attention.Told{told(0, attention.Message, "m1")}}, want: "mention 16:00 waiting"},
		"told late, still an hour": {ask: ask(func(a *attention.Ask) { a.Opened = noon.Add(-5 * time.Hour) }), past: attention.History{Ask: []attention.Told{told(time.Minute, attention.Message, "m1")}}, want: "mention 12:59 waiting"},
		"told and changed":         {ask: ask(func(a *attention.Ask) { a.Meaning = "m2" }), past: attention.History{Ask: []attention.Told{told(time.Hour, attention.Message, "m1")}}, want: "message 12:00 changed"},
		"a minor one is told once": {ask: ask(func(a *attention.Ask) { a.Severity, a.Blocks = 3, false }), past: attention.History{Ask: []attention.Told{told(0, attention.Digest, "m1")}}, want: "-"},
		"said twice, nobody else":  {ask: ask(nil), past: attention.History{Ask: []attention.Told{told(0, attention.Mention, "m1")}}, want: "-"},
		"said twice, next approver": {ask: ask(func(a *attention.Ask) { a.Chain = true }), past: attention.History{Ask: []attention.Told{told(0, attention.Mention, "m1")}},
			want: "escalate 11 12:00 escalated"},
		"escalated once":         {ask: ask(func(a *attention.Ask) { a.Chain = true }), past: attention.History{Ask: []attention.Told{told(0, attention.Escalate, "m1")}}, want: "-"},
		"over budget":            {ask: ask(nil), past: attention.History{Today: full}, want: "digest 11 08:00 over_budget"},
		"over budget, P0":        {ask: ask(func(a *attention.Ask) { a.Severity = 0 }), past: attention.History{Today: full}, want: "message 12:00 new"},
		"over budget, protected": {ask: ask(func(a *attention.Ask) { a.Protected = true }), past: attention.History{Today: full}, want: "message 12:00 new"},
		"yesterday's do not count": {now: at(t, z, "2026-03-11 09:00"), ask: ask(func(a *attention.Ask) { a.Opened = at(t, z, "2026-03-11 09:00") }),
			past: attention.History{Today: full}, want: "message 11 09:00 new"},
		"beside another of the goal": {ask: ask(nil), past: attention.History{Today: []attention.Told{{At: noon.Add(-59 * time.Second), Goal: "site", Level: attention.Message}}}, want: "silent 12:00 bundled"},
		"beside another, but in quiet hours": {now: night, ask: ask(func(a *attention.Ask) { a.Opened = night }),
			past: attention.History{Today: []attention.Told{{At: night.Add(-30 * time.Second), Goal: "site", Level: attention.Message}}}, want: "digest 11 08:00 quiet_hours"},
		"beside another, but muted": {ask: ask(nil), prefs: func(p *attention.Prefs) { p.Mutes = []attention.Mute{{Until: noon.Add(time.Hour)}} },
			past: attention.History{Today: []attention.Told{{At: noon.Add(-time.Second), Goal: "site", Level: attention.Message}}}, want: "message 13:00 muted"},
		"a minute later":         {ask: ask(nil), past: attention.History{Today: []attention.Told{{At: noon.Add(-time.Minute), Goal: "site", Level: attention.Message}}}, want: "message 12:00 new"},
		"beside another goal":    {ask: ask(nil), past: attention.History{Today: []attention.Told{{At: noon.Add(-time.Second), Goal: "other", Level: attention.Message}}}, want: "message 12:00 new"},
		"snoozed":                {ask: ask(func(a *attention.Ask) { a.Snoozed = noon.Add(time.Hour) }), want: "message 13:00 snoozed"},
		"snoozed into the night": {ask: ask(func(a *attention.Ask) { a.Snoozed = night }), want: "digest 11 08:00 quiet_hours"},
		"muted goal": {ask: ask(nil), prefs: func(p *attention.Prefs) {
			p.Mutes = []attention.Mute{{Goal: "site", Until: noon.Add(2 * time.Hour)}}
		}, want: "message 14:00 muted"},
		"another goal is muted": {ask: ask(nil), prefs: func(p *attention.Prefs) {
			p.Mutes = []attention.Mute{{Goal: "other", Until: noon.Add(2 * time.Hour)}}
		}, want: "message 12:00 new"},
		"all muted, then quiet": {ask: ask(nil), prefs: func(p *attention.Prefs) {
			p.Mutes = []attention.Mute{{Until: night}}
		}, want: "digest 11 08:00 quiet_hours"},
		"no quiet hours": {now: night, ask: ask(func(a *attention.Ask) { a.Opened = night }), prefs: func(p *attention.Prefs) { p.QuietFrom, p.QuietTo = 0, 0 }, want: "message 23:00 new"},
		"quiet at noon": {ask: ask(nil), prefs: func(p *attention.Prefs) { p.QuietFrom, p.QuietTo = 11*60, 13*60+30 },
			want: "message 13:30 quiet_hours"},
	} {
		t.Run(name, func(t *testing.T) {
			now := tt.now
			if now.IsZero() {
				now = noon
			}
			p := attention.Defaults(z)
			if tt.prefs != nil {
				tt.prefs(&p)
			}
			got := "-"
			if plan, ok := attention.Next(now, p, tt.ask, tt.past); ok {
				form := "15:04"
				if plan.At.In(z).Day() != 10 {
					form = "02 15:04"
				}
				got = fmt.Sprintf("%s %s %s", plan.Level, plan.At.In(z).Format(form), plan.Why)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if !morning.After(night) {
		t.Fatal("the table's times are wrong")
	}
}

// A digest at a time that a spring night leaves out comes once, at the next time
// there is; at one that an autumn night repeats it comes once.
func TestDigestAcrossClockChanges(t *testing.T) {
	for _, tt := range []struct{ zone, from, want string }{
		{"Europe/Berlin", "2026-03-28 12:00", "2026-03-29 03:00 CEST, 2026-03-30 02:30 CEST"},
		{"Europe/Berlin", "2026-10-24 12:00", "2026-10-25 02:30 CEST, 2026-10-26 02:30 CET"},
		{"America/New_York", "2026-03-07 12:00", "2026-03-08 03:00 EDT, 2026-03-09 02:30 EDT"},
		{"America/New_York", "2026-10-31 12:00", "2026-11-01 02:30 EST, 2026-11-02 02:30 EST"},
		{"Australia/Lord_Howe", "2026-10-03 12:00", "2026-10-04 02:30 +11, 2026-10-05 02:30 +11"},
		{"Asia/Shanghai", "2026-03-28 12:00", "2026-03-29 02:30 CST, 2026-03-30 02:30 CST"},
	} {
		z := zone(t, tt.zone)
		p := attention.Defaults(z)
		p.QuietFrom, p.QuietTo, p.DigestAt = 0, 0, 2*60+30
		first := attention.DigestAfter(p, at(t, z, tt.from))
		second := attention.DigestAfter(p, first)
		const form = "2006-01-02 15:04 MST"
		if got := first.Format(form) + ", " + second.Format(form); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.zone, got, tt.want)
		}
	}
}

// Over random preferences, questions and days: every open question is told at a
// time that comes, never inside quiet hours or a mute, not twice unchanged
// within an hour, and within the budget unless it is protected or P0.
func TestPolicyHolds(t *testing.T) {
	zones := []*time.Location{time.UTC, zone(t, "Europe/Berlin"), zone(t, "America/New_York"), zone(t, "Asia/Shanghai"), zone(t, "Australia/Lord_Howe"), zone(t, "America/St_Johns")}
	rapid.Check(t, func(rt *rapid.T) {
		z := zones[rapid.IntRange(0, len(zones)-1).Draw(rt, "zone")]
		p := attention.Defaults(z)
		clock := rapid.IntRange(0, 1439)
		p.QuietFrom, p.QuietTo, p.DigestAt = attention.Clock(clock.Draw(rt, "from")), attention.Clock(clock.Draw(rt, "to")), attention.Clock(clock.Draw(rt, "digest"))
		p.Budget = rapid.IntRange(0, 3).Draw(rt, "budget")
		p.UrgentAnytime = rapid.Bool().Draw(rt, "urgent")
		now := time.Unix(rapid.Int64Range(1767225600, 1798761600).Draw(rt, "start"), 0) // a year
		if rapid.Bool().Draw(rt, "mute") {
			p.Mutes = []attention.Mute{{Goal: rapid.SampledFrom([]string{"", "a"}).Draw(rt, "muted"), Until: now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(rt, "mute for")) * time.Minute)}}
		}
		type open struct {
			ask  attention.Ask
			past []attention.Told
		}
		var asks []*open
		for i := range rapid.IntRange(1, 6).Draw(rt, "asks") {
			asks = append(asks, &open{ask: attention.Ask{
				Goal: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "goal"), Severity: rapid.IntRange(0, 3).Draw(rt, "severity"),
				Protected: rapid.Bool().Draw(rt, "protected"), Blocks: rapid.Bool().Draw(rt, "blocks"), Chain: rapid.Bool().Draw(rt, "chain"),
				Meaning: "m", Opened: now.Add(time.Duration(rapid.IntRange(0, 600).Draw(rt, "opened")) * time.Minute * time.Duration(i%2)),
			}})
		}
		var all []attention.Told
		for range 60 {
			// The next thing that is due, as a worker would take it.
			var pick *open
			var plan attention.Plan
			for _, o := range asks {
				if pl, ok := attention.Next(now, p, o.ask, attention.History{Ask: o.past, Today: all}); ok && (pick == nil || pl.At.Before(plan.At)) {
					pick, plan = o, pl
				}
			}
			if pick == nil {
				break
			}
			if plan.At.After(now.Add(8 * 24 * time.Hour)) {
				rt.Fatalf("told in %v only: %+v", plan.At.Sub(now), plan)
			}
			if plan.At.After(now) {
				now = plan.At
				continue // asked again at its time, when more may be known
			}
			urgent := pick.ask.Severity == 0 && p.UrgentAnytime
			if plan.Level != attention.Escalate && plan.Level != attention.Silent && !urgent {
				if attention.Quiet(p, now) {
					rt.Fatalf("told at %v, inside quiet hours %d to %d: %+v", now.In(z), p.QuietFrom, p.QuietTo, plan)
				}
				for _, m := range p.Mutes {
					if (m.Goal == "" || m.Goal == pick.ask.Goal) && m.Until.After(now) {
						rt.Fatalf("told while muted: %+v", plan)
					}
				}
			}
			for _, o := range pick.past {
				if o.At.Add(time.Hour).After(now) && plan.Level != attention.Escalate {
					rt.Fatalf("told twice within an hour: %+v", pick)
				}
			}
			told := attention.Told{At: now, Goal: pick.ask.Goal, Level: plan.Level, Meaning: "m"}
			pick.past, all = append(pick.past, told), append(all, told)
		}
		for _, o := range asks {
			if len(o.past) == 0 {
				rt.Fatalf("never told: %+v", o.ask)
			}
		}
		days := map[string]int{}
		for _, o := range asks {
			for _, x := range o.past {
				if x.Level > attention.Digest && x.Level != attention.Escalate && !o.ask.Protected && o.ask.Severity > 0 {
					days[x.At.In(z).Format(time.DateOnly)]++
				}
			}
		}
		for day, n := range days {
			if n > p.Budget {
				rt.Fatalf("%d interruptions on %s, budget %d: %+v", n, day, p.Budget, all)
			}
		}
	})
}
