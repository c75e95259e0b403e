package cards

import (
	"testing"
	"time"

	"loopx/kernel"
	"loopx/kernel/view"
)

// One line says who is asked and how it ended, in both languages, and nothing of
// what is asked.
func TestLine(t *testing.T) {
	at := time.Date(2026, 12, 3, 9, 58, 0, 0, time.UTC).UnixMilli()
	base := view.Gate{Code: "G-7", GoalTitle: "Homepage release", Question: "Pay 900 EUR?", Status: kernel.GateOpen, Asked: at, Asks: []string{"Wei"}}
	with := func(change func(*view.Gate)) view.Gate { g := base; change(&g); return g }
	for _, c := range []struct {
		gate   view.Gate
		en, zh string
	}{
		{base, "G-7 waits for Wei", "G-7 等待 Wei"},
		{with(func(g *view.Gate) { g.Asks = []string{"Wei", "Ana", "Bo", "Cy"} }), "G-7 waits for Wei, Ana or 2 others", "G-7 等待 Wei、Ana，或另外 2 人"},
		{with(func(g *view.Gate) { g.Asks, g.Who.Quorum = []string{"Wei", "Ana"}, 2 }), "G-7 waits for 2 of Wei, Ana", "G-7 等待 其中 2 人：Wei、Ana"},
		{with(func(g *view.Gate) { g.Asks = nil }), "G-7 waits: nobody who may answer it is there", "G-7 等待中：有权回答的人都不在"},
		{with(func(g *view.Gate) {
			g.Status, g.Answer = kernel.GateAnswered, &kernel.GateAnswer{Name: "Wei", Label: "Pay", At: at + 5*60_000}
		}), "G-7: decided by Wei, 10:03", "G-7：由 Wei 决定，10:03"},
		{with(func(g *view.Gate) { g.Status, g.Expires = "expired", at+60_000 }), "G-7: expired 09:59, nobody answered", "G-7：已于 09:59 超时，没有人回答"},
		{with(func(g *view.Gate) { g.Status = kernel.GateWithdrawn }), "G-7: withdrawn, nothing is asked any more", "G-7：已撤回，不再需要回答"},
	} {
		if got := Line(c.gate, "en", time.UTC, false); got != c.en {
			t.Errorf("got %q, want %q", got, c.en)
		}
		if got := Line(c.gate, "zh", time.UTC, false); got != c.zh {
			t.Errorf("got %q, want %q", got, c.zh)
		}
	}
	if got, want := Line(base, "en", nil, true), "Homepage release · G-7 waits for Wei"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
