package bot

import (
	"slices"
	"strings"
	"testing"

	"loopx/kernel"
)

// What a person writes with a press comes through each platform's own form: a
// reason for a no, an answer in one's own words, both also over the two presses
// of a protected kind. What must not be empty is asked for again, and nothing is
// decided by it; words of people stay words.
func TestFormsOnEveryPlatform(t *testing.T) {
	own := []kernel.Option{{ID: "say", Label: "Answer", Outcome: kernel.Answer}, {ID: "no", Label: "Not yet", Outcome: kernel.Reject}}
	for p := range venues() {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			h := newHall(t, p)
			v := h.at[0]
			dm := v.dm(v.wei)
			submit := func(question, label, text string) {
				t.Helper()
				card := h.card(v, dm, question, func(m shown) bool { return slices.Contains(m.buttons, label) })
				if err := v.submit(v.wei, dm, card.id, label, text); err != nil {
					t.Fatal(err)
				}
			}
			settled := func(gate, question, option, reason string) {
				t.Helper()
				c := h.card(v, dm, question, func(m shown) bool { return strings.Contains(m.text, "decided by Wei") })
				if a := h.decision(gate); a == nil || a.Option != option || a.Reason != reason || a.Surface != string(p) {
					t.Errorf("%s: %+v", question, a)
				}
				if reason != "" && !strings.Contains(c.text, reason) {
					t.Errorf("%s: the card keeps the reason to itself: %s", question, c.text)
				}
			}
			refused := func(gate, want string, n int) {
				t.Helper()
				if got := h.notice(v, v.wei, n); !strings.Contains(got, want) {
					t.Errorf("told %q, want %q", got, want)
				}
				if a := h.decision(gate); a != nil {
					t.Errorf("it decided %+v", a)
				}
			}
			gate, _ := h.ask(kernel.OpenGate{Question: "Publish one?"})
			submit("Publish one?", "Hold…", "  the FAQ is missing ")
			settled(gate, "Publish one?", "hold", "the FAQ is missing")

			gate, _ = h.ask(kernel.OpenGate{Question: "Publish two?"})
			submit("Publish two?", "Hold…", "")
			settled(gate, "Publish two?", "hold", "")

			gate, _ = h.ask(kernel.OpenGate{Question: "Which price?", Options: own})
			told := len(v.told(v.wei))
			submit("Which price?", "Answer…", "")
			refused(gate, "This answer needs words of yours. Nothing was decided.", told)
			submit("Which price?", "Answer…", "9 EUR, and tell @everyone *soon*")
			settled(gate, "Which price?", "say", "9 EUR, and tell @everyone *soon*")

			gate, _ = h.ask(kernel.OpenGate{Question: "Which name?", Kind: "publish", Options: own})
			submit("Which name?", "Answer…", "Harbour")
			second := h.card(v, dm, "Which name?", func(m shown) bool { return slices.Contains(m.buttons, "Confirm: Answer") })
			if a := h.decision(gate); a != nil {
				t.Fatalf("one press decided %+v", a)
			}
			if err := v.press(v.wei, dm, second.id, "Confirm: Answer"); err != nil {
				t.Fatal(err)
			}
			settled(gate, "Which name?", "say", "Harbour")

			// A no to what is protected takes its reason and one press.
			gate, _ = h.ask(kernel.OpenGate{Question: "Delete it?", Kind: "destructive"})
			submit("Delete it?", "Hold…", "keep it")
			settled(gate, "Delete it?", "hold", "keep it")

			// A form that was open while the question changed decides nothing.
			gate, _ = h.ask(kernel.OpenGate{Question: "Publish three?"})
			card := h.card(v, dm, "Publish three?", func(m shown) bool { return slices.Contains(m.buttons, "Hold…") })
			press := v.keep(dm, card.id, "Hold…")
			h.do(&kernel.AnswerGate{Goal: "site", Gate: gate, Option: "go"}, asOwner)
			told = len(v.told(v.wei))
			h.card(v, dm, "Publish three?", func(m shown) bool { return strings.Contains(m.text, "decided by Wei") })
			if err := press(v.wei, dm, card.id); err != nil {
				t.Fatal(err)
			}
			if v.finish != nil {
				if err := v.finish(v.wei, "too late"); err != nil {
					t.Fatal(err)
				}
			}
			if got := h.notice(v, v.wei, told); !strings.Contains(got, "was already decided by Wei: Publish") || h.decision(gate).Option != "go" {
				t.Errorf("told %q, decided %+v", got, h.decision(gate))
			}
		})
	}
}
