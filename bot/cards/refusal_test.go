package cards_test

import (
	"strings"
	"testing"

	"loopx/bot/cards"
	"loopx/routing"
)

// Every command says how it is written, and every refusal of an answer or a
// command has words of its own in both languages.
func TestRefusals(t *testing.T) {
	for _, c := range routing.Commands() {
		if u := cards.Usage(c); !strings.HasPrefix(u, "/"+c) || c != "today" && u == "/"+c {
			t.Errorf("%s is written %q", c, u)
		}
	}
	seen := map[string]string{}
	for _, lang := range []string{"en", "zh"} {
		other := cards.Refusal(lang, "a reason nobody knows", "G-7")
		for _, reason := range []string{
			routing.ReasonSecond, routing.ReasonProtected, routing.ReasonNoGate, routing.ReasonNoOption, routing.ReasonUnderGate, routing.ReasonUsage, "gate_right",
			routing.ReasonRight, routing.ReasonBroken, routing.ReasonSuspended, routing.ReasonUnusable, routing.ReasonNoTurn, routing.ReasonNoSession, routing.ReasonNoAgent,
			routing.ReasonFull, routing.ReasonLong, routing.ReasonBudget, routing.ReasonNoTarget,
		} {
			text := cards.Refusal(lang, reason, "status")
			if text == other || text == "" || strings.Contains(text, "%") {
				t.Errorf("%s in %s: %q", reason, lang, text)
			}
			if was := seen[text]; was != "" && was != routing.ReasonBroken {
				t.Errorf("%s and %s are told as %q", was, reason, text)
			}
			seen[text] = reason
		}
	}
}
