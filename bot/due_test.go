package bot

import (
	"fmt"
	"os"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel/store"
)

// S4: 100,000 messages are due at once (5,000 without LOOPX_ROUNDS), half of them in
// one conversation and owed before all others, and each is wanted ten times over.
// Every conversation has its turn within the first seconds, the budgets are obeyed,
// order is kept in each, and nothing is sent twice.
func TestManyDueAtOnce(t *testing.T) {
	const others, times = 50, 10
	rows := 5_000
	if os.Getenv("LOOPX_ROUNDS") != "" {
		rows = 100_000
	}
	withDesk(t, func(d *desk) {
		d.a.become(chat.Contested) // holds everything back until all is there
		add := func(from, to int, place func(i int) string) {
			for ; from < to; from += 500 {
				err := d.k.Store().Update(t.Context(), func(tx store.Tx) error {
					for i := from; i < min(from+500, to); i++ {
						for range times {
							if err := inbox.Over(tx).AddText(fmt.Sprint("key", i), chat.Place{Connection: "work", Conversation: place(i)}, fmt.Sprintf("%06d", i)); err != nil {
								return err
							}
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		add(0, rows/2, func(int) string { return "D-long" })
		add(rows/2, rows, func(i int) string { return fmt.Sprintf("D%02d", i%others) })
		d.a.become(chat.Ready)
		began := time.Now()
		time.Sleep(15 * time.Second)
		said := d.a.said()
		total, seen := 0, map[string]bool{}
		for c, list := range said {
			total += len(list)
			for i, text := range list {
				if seen[text] {
					t.Errorf("%s was sent twice", text)
				}
				seen[text] = true
				if i > 0 && list[i-1] > text {
					t.Errorf("%s: %s came before %s", c, list[i-1], text)
				}
			}
			// One a second, and five that were saved up.
			if most := 21; len(list) > most {
				t.Errorf("%s had %d messages in 15 seconds", c, len(list))
			}
		}
		if len(said) != others+1 {
			t.Errorf("%d of %d conversations had their turn", len(said), others+1)
		}
		for c, list := range said {
			if len(list) < total/(3*(others+1)) {
				t.Errorf("%s had %d of %d messages", c, len(list), total)
			}
		}
		if most := 600/4 + 50; total > most {
			t.Errorf("%d messages in 15 seconds, the connection may send %d", total, most)
		}
		t.Logf("%d rows due, %d messages to %d conversations in %v", rows, total, len(said), time.Since(began))
	})
}
