package bot

import (
	"strings"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
)

// A card that the platform refuses to change for good is not the only copy left
// standing: one more says what holds now, once, and a press on the old one is
// told the truth.
func TestCardThatCannotBeChanged(t *testing.T) {
	onEveryPlatform(t, func(l *linked) {
		old := l.ask()
		l.p.refuse()
		l.do(&kernel.AnswerGate{Gate: l.gate, Option: "hold"}, asOwner)
		now := l.card("the replacement", func(m shown) bool { return m.id != old.id && strings.Contains(m.text, "decided by Wei") })
		if !strings.Contains(now.text, "this one holds") {
			t.Errorf("the replacement does not say so: %q", now.text)
		}
		told := len(l.p.told())
		if err := l.p.press(old.id, "Publish"); err != nil {
			t.Fatal(err)
		}
		l.until("the truth", func() bool {
			list := l.p.told()
			return len(list) > told && strings.Contains(list[len(list)-1], "already decided by Wei: Hold")
		})
		l.restart()
		l.do(&kernel.ChangeGate{Gate: l.gate, Option: "go"}, asOwner)
		l.card("the change on the new card", func(m shown) bool { return m.id == now.id && strings.Contains(m.text, "Before: Hold") })
		if n := len(l.cards()); n != 2 {
			t.Errorf("Wei sees %d cards, want the old one and its replacement: %+v", n, l.cards())
		}
	})
}

// While the question is open, only the new card's buttons count.
func TestReplacedCardStaysAnswerable(t *testing.T) {
	onEveryPlatform(t, func(l *linked) {
		old := l.ask()
		l.p.refuse()
		l.do(&kernel.AddTodo{Goal: "site", Title: "another"}, asCLI) // what goes on beside it shows on the card
		now := l.card("the replacement", func(m shown) bool { return m.id != old.id && len(m.buttons) == 3 })
		told := len(l.p.told())
		if err := l.p.press(old.id, "Publish"); err != nil {
			t.Fatal(err)
		}
		l.until("the truth", func() bool { return len(l.p.told()) > told })
		if got := l.p.told()[told]; !strings.Contains(got, "out of date. The new one is below") {
			t.Errorf("who presses the old card is told %q", got)
		}
		if err := l.p.press(now.id, "Publish"); err != nil {
			t.Fatal(err)
		}
		l.card("the decision", func(m shown) bool { return m.id == now.id && strings.Contains(m.text, "decided by Wei") })
	})
}

// What is refused again and again ends as a dead letter and floods nobody; a
// replaced card makes no second sound.
func TestReplacementsEnd(t *testing.T) {
	inNight(t, func(o *night) {
		o.until(1, 10, 0)
		o.work.mu.Lock()
		o.work.noEdit = &chat.Error{Kind: chat.Gone, Code: "message_not_found"}
		o.work.mu.Unlock()
		o.ask("site", "Publish?", 1)
		for range 10 {
			o.do(&kernel.AddTodo{Goal: "site", Title: "more"})
			o.pass(10 * time.Second)
		}
		if got := heard(o.work, "DWEI"); len(got) != 4 || strings.Count(strings.Join(got, "\n"), "!") != 1 {
			t.Errorf("heard %q, want the card and three silent replacements", got)
		}
		o.read(func(r *kernel.Reader) {
			if dead, err := inbox.DeadItems(r.Tx(), 10); err != nil || len(dead) != 1 {
				t.Errorf("%d dead, %v", len(dead), err)
			}
		})
	})
}
