package attention

import (
	"strconv"
	"strings"
	"time"
)

// Moment gives a word for a point in time its meaning in a person's calendar:
// "tomorrow", "tonight", "in_two_days", "next_week", "monday", "2026-12-03",
// "12-03", "18:00", or a date and a time. A day without a time means its digest.
// ok is false for anything else and for what has passed.
func Moment(now time.Time, p Prefs, word string) (at time.Time, ok bool) {
	l := now.In(p.Zone)
	y, m, d := l.Date()
	day := func(n int) time.Time { return onDay(p.Zone, y, m, d+n, p.DigestAt) }
	switch word {
	case "tomorrow":
		return day(1), true
	case "in_two_days":
		return day(2), true
	case "tonight":
		at = onDay(p.Zone, y, m, d, 20*60)
		return at, at.After(now)
	case "next_week":
		n := (8 - int(l.Weekday())) % 7
		if n == 0 {
			n = 7
		}
		return day(n), true
	}
	for w := time.Sunday; w <= time.Saturday; w++ {
		if strings.EqualFold(word, w.String()) {
			n := (int(w) - int(l.Weekday()) + 7) % 7
			if n == 0 {
				n = 7
			}
			return day(n), true
		}
	}
	date, clock, both := strings.Cut(word, " ")
	if !both {
		if strings.Contains(word, ":") {
			date, clock = "", word
		} else {
			clock = ""
		}
	}
	c := p.DigestAt
	if clock != "" {
		t, err := time.Parse("15:04", clock)
		if err != nil {
			return time.Time{}, false
		}
		c = Clock(t.Hour()*60 + t.Minute())
	}
	if date == "" {
		return after(p.Zone, now, c), clock != ""
	}
	if strings.Count(date, "-") == 1 { // without a year: the next such day
		for _, year := range []int{y, y + 1} {
			if at, ok = dated(p.Zone, strconv.Itoa(year)+"-"+date, c); ok && at.After(now) {
				return at, true
			}
		}
		return time.Time{}, false
	}
	at, ok = dated(p.Zone, date, c)
	return at, ok && at.After(now)
}

func dated(zone *time.Location, date string, c Clock) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return time.Time{}, false
	}
	return onDay(zone, t.Year(), t.Month(), t.Day(), c), true
}
