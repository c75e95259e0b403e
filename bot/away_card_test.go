package bot

import (
	"os"
	"strings"
	"testing"
	"time"

	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
)

// What was said while the bot was off starts nothing; it stands on one card with
// its owner, who gives it to its agent by one press, on every platform.
func TestAwayOnEveryPlatform(t *testing.T) {
	// A platform that calls the bot may have a call on its way that arrives after all.
	for _, name := range []string{"slack", "discord", "lark"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its platform's budget most of the time
			d := newOffice(t, phones()[name]())
			d.do(&kernel.OpenSession{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
			d.stop()
			d.p.say("is the page up?")
			d.p.say("and the prices?")
			if d.p.giveUp != nil {
				d.p.giveUp()
			}
			d.start()
			var card shown
			d.until("the summary names both", func() bool {
				_, card = d.sees("While I was away")
				return strings.Contains(card.text, "is the page up?") && strings.Contains(card.text, "and the prices?")
			})
			if n, _ := d.sees("While I was away"); n != 1 {
				t.Fatalf("%d summaries: %+v", n, d.p.see())
			}
			if len(card.buttons) != 3 || card.buttons[0] != "Give 1" || card.buttons[2] != "Give all" || !strings.Contains(card.text, "press again") {
				t.Fatalf("the card: %+v", card)
			}
			if rec := d.do(&inbox.NextMessage{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder); !strings.Contains(string(rec.Result), `"empty":true`) {
				t.Fatalf("what was missed came by itself: %s", rec.Result)
			}
			if err := d.p.press(card.id, "Give 2"); err != nil {
				t.Fatal(err)
			}
			m := d.next()
			if m.Text != "and the prices?" || m.From != "Wei" {
				t.Fatalf("the agent got %+v", m)
			}
			d.until("the card says so", func() bool {
				_, card = d.sees("While I was away")
				return strings.Contains(card.text, "given to builder") && len(card.buttons) == 1
			})
			d.do(&inbox.SettleMessage{Goal: "site", Agent: "builder", Message: m.ID, Outcome: inbox.Adopted, Reply: "They are."}, asBuilder)
			d.shows("They are.")
			if err := d.p.press(card.id, "Give 1"); err != nil {
				t.Fatal(err)
			}
			d.until("nothing is left to give", func() bool {
				_, card = d.sees("While I was away")
				return len(card.buttons) == 0 && strings.Count(card.text, "given to builder") == 2
			})
		})
	}
}

// What a platform delivers again within half an hour was not missed: it goes its
// way, and there is no summary of it.
func TestNotAwayForLong(t *testing.T) {
	for _, name := range []string{"slack", "lark"} {
		t.Run(name, func(t *testing.T) {
			d := newOffice(t, phones()[name]())
			d.do(&kernel.OpenSession{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
			d.stop()
			d.p.say("is the page up?")
			d.start()
			m := d.next()
			if m.Text != "is the page up?" {
				t.Fatalf("the agent got %+v", m)
			}
			d.do(&inbox.SettleMessage{Goal: "site", Agent: "builder", Message: m.ID, Outcome: inbox.Adopted, Reply: "It is."}, asBuilder)
			d.shows("It is.")
			eventually(t, "no summary waits", func() bool { return summaries(t, d) == 0 })
			if n, _ := d.sees("While I was away"); n != 0 {
				t.Errorf("%d summaries", n)
			}
		})
	}
}

// summaries counts those that are on their way out.
func summaries(t *testing.T, d *office) (n int) {
	t.Helper()
	err := d.b.held.Store.View(t.Context(), func(tx store.ReadTx) error {
		list, err := inbox.Owed(tx, "work", 100)
		for _, it := range list {
			if it.Kind == inbox.Away {
				n++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// After a long time off an owner with open decisions is told that presses did not
// arrive, once, also where nobody wrote.
func TestAwayWithOpenDecisions(t *testing.T) {
	d := newOffice(t, slackPhone())
	d.do(&kernel.OpenGate{Goal: "site", Question: "Publish?", Kind: "direction", Advisory: true}, asCLI)
	d.stop()
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(aliveFile(d.opt.Home.Dir), old, old); err != nil {
		t.Fatal(err)
	}
	d.start()
	if card := d.shows("While I was away"); !strings.Contains(card.text, "Still waiting for you: G-1") || !strings.Contains(card.text, "Nobody listened here from") {
		t.Fatalf("the card: %+v", card)
	}
	d.stop()
	d.start()
	d.p.say("status")
	d.shows("publish")
	if n, _ := d.sees("While I was away"); n != 1 {
		t.Errorf("%d summaries after a short pause", n)
	}
}
