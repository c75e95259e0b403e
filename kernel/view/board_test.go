package view

import (
	"strings"
	"testing"
	"time"
)

// The five lines in both languages, with ages, and times in the reader's zone.
func TestFiveLines(t *testing.T) {
	zone := time.FixedZone("reader", 2*3600)
	now := time.Date(2026, 12, 3, 8, 4, 0, 0, time.UTC).UnixMilli()
	const minute = 60_000
	f := Five{Title: "Homepage release", Objective: "Ship it", Step: "working", Agent: "builder", Todo: "write the FAQ", Priority: 1, Since: now - 24*minute,
		Gate: &FiveGate{Code: "G-7", Question: "Publish?", Asked: now - 125*minute}, More: 1, Proof: []string{"212 tests", "preview"}, Proved: now - 3*minute, Stale: true, Free: 14, Allowed: 40, Wake: now + 10*minute}
	text := func(f Five, lang string) string {
		var out []string
		for _, l := range f.Lines(lang, now, zone) {
			out = append(out, l.Label+": "+l.Text)
		}
		return strings.Join(out, "\n")
	}
	for _, c := range []struct{ got, want string }{
		{text(f, "en"), `Objective: Ship it
Next: builder: write the FAQ (P1), since 09:40
Needs you: G-7 Publish? (2 h) and 1 more
Evidence: 212 tests, preview · 10:01, out of date
Continues: yes, 14 of 40 slots left today; next wake 10:14`},
		{text(f, "zh"), `目标: Ship it
下一步: builder：write the FAQ（P1），自 09:40
待你处理: G-7 Publish?（2 小时），另有 1 项
证据: 212 tests、preview · 10:01，已过时
是否继续: 是，今天还剩 14 / 40 个配额；下次唤醒 10:14`},
		{text(Five{Objective: "x", Step: "stuck", End: "paused", Because: "owner"}, "en"), `Objective: x
Next: nothing can run now
Needs you: nothing
Evidence: none yet
Continues: no, paused: owner`},
	} {
		if c.got != c.want {
			t.Errorf("got\n%s\nwant\n%s", c.got, c.want)
		}
	}
}
