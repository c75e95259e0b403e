package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
)

// ledger is a platform that only keeps what was sent, in order, by conversation.
type ledger struct {
	mu      sync.Mutex
	answers map[string][]string
	sent    int
}

func (l *ledger) Run(ctx context.Context, _ chat.Sink) error { <-ctx.Done(); return nil }
func (l *ledger) Send(_ context.Context, out chat.Outgoing) (chat.Ref, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	if out.Card == nil {
		l.answers[out.Place.Conversation] = append(l.answers[out.Place.Conversation], out.Text)
	}
	return chat.Ref{Place: out.Place, Message: fmt.Sprint("sent", l.sent)}, nil
}
func (l *ledger) Update(context.Context, chat.Ref, chat.Outgoing) error { return nil }
func (l *ledger) Find(context.Context, chat.Place, string, time.Time) (chat.Ref, bool, error) {
	return chat.Ref{}, false, nil
}
func (l *ledger) Notice(context.Context, chat.Event, string) error { return nil }
func (l *ledger) Caps() chat.Caps {
	return chat.Caps{Edit: true, Find: true, TextMax: 4000, MaxWrite: 1_000_000_000}
}
func (l *ledger) Health() chat.Health { return chat.Health{State: chat.Ready} }

// burst is a workspace on a real file that is opened and closed as the daemon
// does, with one session of the agent for each conversation.
type burst struct {
	t    *testing.T
	path string
	log  *ledger
	st   store.Store
	k    *kernel.Kernel
	s    *sink
	stop func()
}

func (b *burst) open() {
	b.t.Helper()
	st, err := bolt.Open(b.path, bolt.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	if b.k, err = kernel.Open(b.t.Context(), st, nil); err != nil {
		b.t.Fatal(err)
	}
	b.st = st
	inbox.Attach(b.k)
	log := slog.New(slog.DiscardHandler)
	b.s = &sink{k: b.k, platform: chat.Slack, log: log}
	ob := &outbox{k: b.k, name: "work", adapter: b.log, zone: time.UTC, now: time.Now, log: log, lineup: newLineup(b.log.Caps())}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wake := st.Watch(ctx)
	wg.Go(func() { ob.run(ctx, wake) })
	b.stop = func() {
		cancel()
		wg.Wait()
		if err := st.Close(); err != nil {
			b.t.Error(err)
		}
	}
}

func (b *burst) do(cmd kernel.Command, opt kernel.Options) kernel.Receipt {
	rec, err := b.k.Do(context.Background(), cmd, opt)
	if err != nil {
		b.t.Errorf("%s: %v", cmd.Name(), err)
	}
	return rec
}

// talker is one conversation: what is said there, and what was admitted in which
// order.
type talker struct {
	b        *burst
	n        int
	channel  string
	session  string
	left     []chat.Event
	accepted []string
	rnd      *rand.Rand
}

// Every fifth message is talk, every sixth is said by somebody without the right.
func newTalker(b *burst, n, messages int) *talker {
	c := &talker{b: b, n: n, channel: fmt.Sprintf("C%02d", n), session: fmt.Sprintf("s%02d", n), rnd: rand.New(rand.NewPCG(7, uint64(n)))}
	for i := range messages {
		m := &chat.Message{ID: fmt.Sprint("m", i), Text: fmt.Sprintf("@UBOT %s-%d", c.channel, i), Mentions: []chat.Mention{{ID: "UBOT", Self: true}}}
		user := "UWEI"
		switch {
		case i%5 == 4:
			m.Text, m.Mentions = "just talk", nil
		case i%6 == 5:
			user = "UMAX"
		}
		c.left = append(c.left, chat.Event{Kind: chat.MessageSent, ID: fmt.Sprint("e", i), Place: chat.Place{Connection: "work", Conversation: c.channel},
			Sender: chat.User{Tenant: "T1", ID: user, Kind: chat.Human}, Message: m})
	}
	for i := 0; i+4 <= len(c.left); i += 4 { // out of order
		c.rnd.Shuffle(4, func(a, b int) { c.left[i+a], c.left[i+b] = c.left[i+b], c.left[i+a] })
	}
	return c
}

// say delivers up to ten messages, some twice, the way an adapter does.
func (c *talker) say() {
	for range min(10, len(c.left)) {
		e := c.left[0]
		c.left = c.left[1:]
		e.At = time.Now().UnixMilli()
		for range 1 + c.rnd.IntN(2) {
			if _, err := c.b.s.Accept(context.Background(), e); err != nil {
				c.b.t.Error(err)
			}
		}
		if len(e.Message.Mentions) > 0 && e.Sender.ID == "UWEI" {
			c.accepted = append(c.accepted, strings.TrimPrefix(e.Message.Text, "@UBOT "))
		}
	}
}

// drain is the agent: it takes and settles until nothing waits. With leave it
// dies with a message in its hands.
func (c *talker) drain(leave bool) {
	for {
		var out inbox.Leasing
		rec := c.b.do(&inbox.NextMessage{Goal: "site", Agent: "chief", Session: c.session}, asCLI)
		if err := json.Unmarshal(rec.Result, &out); err != nil {
			c.b.t.Error(err)
			return
		}
		if out.Message == nil || leave {
			return
		}
		c.b.do(&inbox.SettleMessage{Goal: "site", Agent: "chief", Session: c.session, Message: out.Message.ID, Outcome: inbox.Adopted, Reply: out.Message.Text}, asCLI)
	}
}

// Messages over 50 conversations, delivered twice and out of order, with two
// restarts in between: each one that may start something is answered exactly
// once, in the order it was taken in its conversation. 10,000 with LOOPX_ROUNDS,
// else as many as a disk syncs in seconds.
func TestBurst(t *testing.T) {
	conversations, messages := 50, 20
	if os.Getenv("LOOPX_ROUNDS") != "" {
		messages = 200
	}
	b := &burst{t: t, path: filepath.Join(t.TempDir(), "loopx.db"), log: &ledger{answers: map[string][]string{}}}
	b.open()
	b.do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"chief"}}, asCLI)
	b.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, asOwner)
	b.do(&kernel.RedeemLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Platform: "slack", Connection: "work", Tenant: "T1", User: "UWEI", Private: "DWEI"},
		kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "slack"}})
	b.do(&kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: "T1", User: "UWEI"}, asOwner)
	talkers := make([]*talker, conversations)
	for i := range talkers {
		c := newTalker(b, i, messages)
		talkers[i] = c
		b.do(&kernel.OpenSession{Goal: "site", Agent: "chief", Session: c.session}, asCLI)
		b.do(&kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: c.channel, Goals: []string{"site"}, Agent: "chief", Session: c.session,
			Ingress: kernel.IngressQueue, Reply: kernel.ReplyThread}, asOwner)
	}
	each := func(fn func(*talker)) {
		var wg sync.WaitGroup
		for _, c := range talkers {
			wg.Go(func() { fn(c) })
		}
		wg.Wait()
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	peak := before
	for round := range messages / 10 {
		restart := round == messages/30 || round == messages/15
		each(func(c *talker) {
			c.say()
			c.drain(restart)
		})
		if restart {
			b.stop()
			b.open()
			each(func(c *talker) { c.drain(false) })
		}
		peak = max(peak, heap())
	}
	due := func() (n int) {
		_ = b.st.View(t.Context(), func(tx store.ReadTx) error {
			list, _, err := inbox.Next(tx, "work", time.Now().Add(time.Hour).UnixMilli(), 10)
			n = len(list)
			return err
		})
		return n
	}
	wake := b.st.Watch(t.Context())
	for due() > 0 {
		select {
		case <-wake:
		case <-time.After(30 * time.Second):
			t.Fatal("the outbox does not finish")
		}
	}
	peak = max(peak, heap())
	b.stop()
	total := 0
	for _, c := range talkers {
		var got []string
		for _, text := range b.log.answers[c.channel] {
			_, answer, _ := strings.Cut(text, "\n")
			if answer != "" && strings.HasPrefix(answer, c.channel) {
				got = append(got, answer)
			}
		}
		total += len(got)
		if !slices.Equal(got, c.accepted) {
			t.Errorf("%s: answered %d of %d, or out of order", c.channel, len(got), len(c.accepted))
		}
	}
	if total == 0 {
		t.Fatal("nothing was answered")
	}
	said := 0
	for _, c := range talkers {
		said += len(c.accepted)
	}
	// Of thirty messages four fifths address the bot, and a sixth of those is said
	// by somebody without the right.
	if said < conversations*messages/2 {
		t.Errorf("only %d of %d messages were to be answered", said, conversations*messages)
	}
	if grown := int64(peak) - int64(before); grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}
