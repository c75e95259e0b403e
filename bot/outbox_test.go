package bot

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/boundary"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

// scripted is an adapter that fails as told and keeps what was written.
type scripted struct {
	caps chat.Caps

	mu     sync.Mutex
	fail   []error // answers of the next writes; nil passes
	stored map[string]string
	sends  []time.Time
	outs   []chat.Outgoing // of sends that passed
	edits  int
	finds  int
	// store keeps a write although its answer is an unknown outcome.
	store bool
	state chat.HealthState
	// refuse is a text that is never taken.
	refuse string
	texts  map[string][]string // what was taken, by conversation
	since  int64               // of state
	noEdit error               // what every edit is answered with
	wrote  []write             // every call, in order
}

// write is one call that reached the platform.
type write struct {
	key  string
	edit bool
	at   time.Time
}

// said is what was taken, by conversation, in order.
func (s *scripted) said() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.texts)
}

// seen is what has happened so far.
type seen struct {
	sends  []time.Time
	edits  int
	finds  int
	stored int
}

func (s *scripted) seen() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return seen{sends: append([]time.Time(nil), s.sends...), edits: s.edits, finds: s.finds, stored: len(s.stored)}
}

// script sets how the next writes go.
func (s *scripted) script(fail ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

// become sets the connection's state.
func (s *scripted) become(state chat.HealthState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.since = state, time.Now().UnixMilli()
}

func (s *scripted) next() error {
	if len(s.fail) == 0 {
		return nil
	}
	err := s.fail[0]
	s.fail = s.fail[1:]
	return err
}

func (s *scripted) Run(ctx context.Context, _ chat.Sink) error { <-ctx.Done(); return nil }

func (s *scripted) Send(_ context.Context, out chat.Outgoing) (chat.Ref, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sends = append(s.sends, time.Now())
	s.wrote = append(s.wrote, write{key: out.Key, at: time.Now()})
	err := s.next()
	if s.refuse != "" && out.Text == s.refuse {
		err = &chat.Error{Kind: chat.Temporary}
	}
	if err == nil || chat.KindOf(err) == chat.UnknownOutcome && s.store {
		s.stored[out.Key] = out.Text
		if s.texts == nil {
			s.texts = map[string][]string{}
		}
		s.texts[out.Place.Conversation] = append(s.texts[out.Place.Conversation], out.Text)
		s.outs = append(s.outs, out)
	}
	return chat.Ref{Place: out.Place, Message: "msg-" + out.Key}, err
}

func (s *scripted) Update(_ context.Context, ref chat.Ref, out chat.Outgoing) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edits++
	s.wrote = append(s.wrote, write{key: out.Key, edit: true, at: time.Now()})
	err := s.next()
	if s.noEdit != nil {
		err = s.noEdit
	}
	if err == nil {
		s.stored[out.Key] = out.Text
	}
	return err
}

func (s *scripted) Find(_ context.Context, p chat.Place, key string, _ time.Time) (chat.Ref, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finds++
	_, ok := s.stored[key]
	return chat.Ref{Place: p, Message: "msg-" + key}, ok, nil
}

func (s *scripted) Notice(context.Context, chat.Event, string) error { return nil }
func (s *scripted) Caps() chat.Caps                                  { return s.caps }

func (s *scripted) Health() chat.Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	return chat.Health{State: s.state, Since: s.since}
}

// desk is an outbox on the model store inside a bubble of fake time.
type desk struct {
	t  *testing.T
	k  *kernel.Kernel
	a  *scripted
	ob *outbox
}

func withDesk(t *testing.T, fn func(*desk)) {
	synctest.Test(t, func(t *testing.T) {
		now := func() int64 { return time.Now().UnixMilli() }
		st := storetest.NewModel(now)
		defer st.Close()
		k, err := kernel.Open(t.Context(), st, nil)
		if err != nil {
			t.Fatal(err)
		}
		a := &scripted{caps: chat.Caps{Edit: true, Find: true}, stored: map[string]string{}}
		d := &desk{t: t, k: k, a: a, ob: &outbox{k: k, name: "work", adapter: a, zone: time.UTC, now: time.Now, attend: &attend{k: k, zone: time.UTC}, log: slog.New(slog.DiscardHandler), lineup: newLineup(chat.Caps{MaxWrite: 60}), scan: boundary.New()}}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wake := st.Watch(ctx)
		wg.Go(func() { d.ob.run(ctx, wake) })
		fn(d)
		cancel()
		wg.Wait()
	})
}

func (d *desk) text(key, text string) { d.t.Helper(); d.textTo("D1", key, text) }

func (d *desk) textTo(conversation, key, text string) {
	d.t.Helper()
	err := d.k.Store().Update(d.t.Context(), func(tx store.Tx) error {
		return inbox.Over(tx).AddText(key, chat.Place{Connection: "work", Conversation: conversation}, text)
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) dead() int {
	n := 0
	_ = d.k.Store().View(d.t.Context(), func(tx store.ReadTx) error {
		list, err := inbox.DeadItems(tx, 10)
		n = len(list)
		return err
	})
	return n
}

func TestOutboxSendsOnce(t *testing.T) {
	withDesk(t, func(d *desk) {
		d.text("a", "hello")
		d.text("a", "hello") // the same meaning is the same message
		synctest.Wait()
		if len(d.a.seen().sends) != 1 {
			t.Fatalf("%d sends", len(d.a.seen().sends))
		}
	})
}

// B70: while the platform says wait, nothing is sent; after it, the text is.
func TestB70_RateLimitIsObeyed(t *testing.T) {
	withDesk(t, func(d *desk) {
		d.a.script(&chat.Error{Kind: chat.RateLimited, After: 33 * time.Second})
		d.text("a", "final")
		time.Sleep(32 * time.Second)
		if len(d.a.seen().sends) != 1 {
			t.Fatalf("%d tries inside the window", len(d.a.seen().sends))
		}
		time.Sleep(2 * time.Second)
		if len(d.a.seen().sends) != 2 || d.a.seen().sends[1].Sub(d.a.seen().sends[0]) < 33*time.Second {
			t.Fatalf("tries at %v", d.a.seen().sends)
		}
	})
}

// B73: a send whose answer was lost is looked up and not repeated.
func TestB73_LostAnswerIsFound(t *testing.T) {
	withDesk(t, func(d *desk) {
		d.a.mu.Lock()
		d.a.store = true
		d.a.mu.Unlock()
		d.a.script(&chat.Error{Kind: chat.UnknownOutcome})
		d.text("a", "hello")
		time.Sleep(time.Minute)
		if len(d.a.seen().sends) != 1 || d.a.seen().finds != 1 || d.dead() != 0 {
			t.Fatalf("%d sends, %d lookups, %d dead", len(d.a.seen().sends), d.a.seen().finds, d.dead())
		}
	})
}

// A lookup that finds nothing allows one more send.
func TestLostSendIsRepeatedAfterTheLookup(t *testing.T) {
	withDesk(t, func(d *desk) {
		d.a.script(&chat.Error{Kind: chat.UnknownOutcome})
		d.text("a", "hello")
		time.Sleep(time.Minute)
		if len(d.a.seen().sends) != 2 || d.a.seen().finds != 1 {
			t.Fatalf("%d sends, %d lookups", len(d.a.seen().sends), d.a.seen().finds)
		}
	})
}

// Where a surface cannot look, a text of unknown outcome is parked.
func TestUnknownTextIsParkedWithoutLookup(t *testing.T) {
	withDesk(t, func(d *desk) {
		d.a.caps.Find = false
		d.a.script(&chat.Error{Kind: chat.UnknownOutcome})
		d.text("a", "hello")
		time.Sleep(time.Minute)
		if len(d.a.seen().sends) != 1 || d.dead() != 1 {
			t.Fatalf("%d sends, %d dead", len(d.a.seen().sends), d.dead())
		}
	})
}

func TestPermanentFailuresAreDeadLetters(t *testing.T) {
	for _, kind := range []chat.ErrorKind{chat.Gone, chat.Invalid} {
		withDesk(t, func(d *desk) {
			d.a.script(&chat.Error{Kind: kind})
			d.text("a", "hello")
			time.Sleep(time.Hour)
			if len(d.a.seen().sends) != 1 || d.dead() != 1 {
				t.Fatalf("%s: %d sends, %d dead", kind, len(d.a.seen().sends), d.dead())
			}
		})
	}
}

// R2: no hot loop while the platform is down.
func TestTemporaryFailuresBackOff(t *testing.T) {
	withDesk(t, func(d *desk) {
		d.a.script(slices.Repeat([]error{&chat.Error{Kind: chat.Temporary}}, 1000)...)
		d.text("a", "hello")
		time.Sleep(time.Hour)
		if n := len(d.a.seen().sends); n < 10 || n > 30 {
			t.Fatalf("%d tries in an hour", n)
		}
		d.a.script()
		time.Sleep(6 * time.Minute)
		if d.a.seen().stored != 1 {
			t.Fatal("it never arrived")
		}
	})
}

// Ten changes while one write is on its way are one more update.
func TestChangesCoalesce(t *testing.T) {
	withDesk(t, func(d *desk) {
		by := kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Surface: "cli"}}
		do := func(cmd kernel.Command) {
			if _, err := d.k.Do(t.Context(), cmd, by); err != nil {
				t.Fatal(err)
			}
		}
		do(&kernel.CreateGoal{Goal: "site", Objective: "ship", Agents: []string{"builder"}})
		do(&kernel.OpenGate{Goal: "site", Question: "Publish?", Advisory: true})
		project := func() {
			err := d.k.Store().Update(t.Context(), func(tx store.Tx) error {
				_, err := inbox.Over(tx).Project(d.k, func(*kernel.Reader, *kernel.Gate) []inbox.Spot {
					return []inbox.Spot{{Place: chat.Place{Connection: "work", Conversation: "D1"}}}
				})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		project()
		synctest.Wait()
		d.a.script(&chat.Error{Kind: chat.Temporary})
		var gate string
		_ = d.k.Read(t.Context(), func(r *kernel.Reader) error { gate = r.OpenGates("site", 1)[0].ID; return nil })
		do(&kernel.AnswerGate{Gate: gate, Option: "approve"})
		for range 10 {
			project()
			err := d.k.Store().Update(t.Context(), func(tx store.Tx) error { return inbox.Over(tx).Expire(d.k) })
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if len(d.a.seen().sends) != 1 || d.a.seen().edits != 2 {
			t.Fatalf("%d sends, %d updates (one failed)", len(d.a.seen().sends), d.a.seen().edits)
		}
	})
}

// A contested connection is silent until it is somebody's again.
func TestContestedIsSilent(t *testing.T) {
	withDesk(t, func(d *desk) {
		d.a.become(chat.Contested)
		synctest.Wait()
		d.text("a", "hello")
		time.Sleep(time.Minute)
		if len(d.a.seen().sends) != 0 {
			t.Fatal("a contested connection sent something")
		}
		d.a.become(chat.Ready)
		time.Sleep(10 * time.Second)
		if len(d.a.seen().sends) != 1 {
			t.Fatalf("%d sends after it was settled", len(d.a.seen().sends))
		}
	})
}
