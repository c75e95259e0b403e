package bot

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

// R1: one connection is told to wait, for a minute and then for an hour. Nothing of
// it goes out inside the window, and what the other connections send goes out at
// the very moments at which it does without.
func TestOthersDoNotWait(t *testing.T) {
	// run sends a text a second on two connections and says when the second sent its
	// own, and when the first asked the platform.
	run := func(limited bool) (others, asked []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			st := storetest.NewModel(func() int64 { return time.Now().UnixMilli() })
			defer st.Close()
			k, err := kernel.Open(t.Context(), st, nil)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			adapters := map[string]*scripted{}
			for _, name := range []string{"limited", "other"} {
				a := &scripted{caps: chat.Caps{Edit: true, Find: true}, stored: map[string]string{}}
				adapters[name] = a
				ob := &outbox{k: k, name: name, adapter: a, zone: time.UTC, now: time.Now, attend: &attend{k: k, zone: time.UTC}, log: slog.New(slog.DiscardHandler), lineup: newLineup(chat.Caps{MaxWrite: 600})}
				wake := st.Watch(ctx)
				wg.Go(func() { ob.run(ctx, wake) })
			}
			if limited {
				adapters["limited"].script(&chat.Error{Kind: chat.RateLimited, After: time.Minute}, &chat.Error{Kind: chat.RateLimited, After: time.Hour})
			}
			for i := range 120 {
				err := st.Update(t.Context(), func(tx store.Tx) error {
					for _, name := range []string{"limited", "other"} {
						if err := inbox.Over(tx).AddText(name+store.I64(int64(i)), chat.Place{Connection: name, Conversation: "D1"}, "text"); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
			time.Sleep(2 * time.Hour)
			cancel()
			wg.Wait()
			since := func(list []time.Time) (out []time.Duration) {
				for _, at := range list {
					out = append(out, at.Sub(began))
				}
				return out
			}
			others, asked = since(adapters["other"].seen().sends), since(adapters["limited"].seen().sends)
		})
		return others, asked
	}
	alone, _ := run(false)
	beside, asked := run(true)
	if len(alone) != 120 || !slices.Equal(alone, beside) {
		t.Errorf("the other connection sent %d texts at other times: %v", len(beside), beside)
	}
	if len(asked) != 122 {
		t.Fatalf("the limited connection asked %d times, want 2 refusals and 120 texts", len(asked))
	}
	if first, second, third := asked[0], asked[1], asked[2]; second-first < time.Minute || third-second < time.Hour {
		t.Errorf("it asked again after %v and %v, inside the window", second-first, third-second)
	}
}
