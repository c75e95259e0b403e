package attention_test

import (
	"testing"

	"loopx/bot/attention"
)

func TestMoment(t *testing.T) {
	z := zone(t, "Europe/Berlin")
	p := attention.Defaults(z)
	now := at(t, z, "2026-12-02 15:30") // a Wednesday
	for word, want := range map[string]string{
		"tomorrow": "2026-12-03 08:00", "in_two_days": "2026-12-04 08:00", "tonight": "2026-12-02 20:00", "next_week": "2026-12-07 08:00",
		"monday": "2026-12-07 08:00", "wednesday": "2026-12-09 08:00", "Sunday": "2026-12-06 08:00", "2026-12-24": "2026-12-24 08:00", "12-24": "2026-12-24 08:00",
		"01-05": "2027-01-05 08:00", "18:00": "2026-12-02 18:00", "09:30": "2026-12-03 09:30", "2027-03-28 02:30": "2027-03-28 03:00",
		"12-02": "2027-12-02 08:00", "02-29": "-", "2026-12-01": "-", "2026-02-30": "-", "someday": "-", "": "-", "25:00": "-",
	} {
		got := "-"
		if m, ok := attention.Moment(now, p, word); ok {
			got = m.In(z).Format("2006-01-02 15:04")
		}
		if got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
	if _, ok := attention.Moment(at(t, z, "2026-12-02 21:00"), p, "tonight"); ok {
		t.Error("a tonight that has passed was taken")
	}
}
