package bot

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
)

func owed(seq uint64, kind, conversation string) *inbox.Item {
	return &inbox.Item{ID: fmt.Sprint(kind, seq), Seq: seq, Kind: kind, Place: chat.Place{Connection: "work", Conversation: conversation}, Due: 1, State: inbox.Ready}
}

func ids(list []*inbox.Item) string {
	var out []string
	for _, it := range list {
		out = append(out, it.ID)
	}
	return strings.Join(out, " ")
}

// What asks or answers goes before what shows progress, in the order it was owed
// in; progress leaves half of a conversation's budget to it.
func TestLineupPriorities(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	l := newLineup(chat.Caps{MaxWrite: 60}) // five at once, one a second
	queue := []*inbox.Item{owed(1, inbox.Progress, "C1"), owed(2, inbox.Progress, "C1"), owed(5, inbox.Text, "C1"), owed(3, inbox.GateCard, "C1"), owed(4, inbox.Progress, "C2")}
	batch, _ := l.next(queue, now.UnixMilli(), now)
	if got := ids(batch); got != "gate3 text5 progress1 progress4" {
		t.Errorf("the batch is %s", got)
	}
	for _, it := range batch {
		l.spent(it.Place, now)
	}
	batch, _ = l.next([]*inbox.Item{owed(6, inbox.Progress, "C1"), owed(7, inbox.Text, "C1")}, now.UnixMilli(), now)
	if got := ids(batch); got != "text7" {
		t.Errorf("with little left the batch is %s", got)
	}
	l.spent(batch[0].Place, now)
	if _, again := l.next([]*inbox.Item{owed(6, inbox.Progress, "C1")}, now.UnixMilli(), now); again < time.Second || again > 3*time.Second {
		t.Errorf("progress is looked at again after %v", again)
	}
	if batch, _ = l.next([]*inbox.Item{owed(6, inbox.Progress, "C1")}, now.Add(3*time.Second).UnixMilli(), now.Add(3*time.Second)); len(batch) != 1 {
		t.Error("the budget does not fill again")
	}
}

// A clock that was set back makes nothing wait that nobody has made wait: only a
// try that failed waits, no longer than a try can, and what waits for a person's
// hours.
func TestStepBackDelaysNothing(t *testing.T) {
	now := time.UnixMilli(10_000_000)
	later := func(d time.Duration, change func(*inbox.Item)) *inbox.Item {
		it := owed(1, inbox.GateCard, "D1")
		it.Due = now.Add(d).UnixMilli()
		change(it)
		return it
	}
	failed := func(why string) func(*inbox.Item) { return func(it *inbox.Item) { it.Tries, it.Why = 3, why } }
	for name, c := range map[string]struct {
		it   *inbox.Item
		wait time.Duration
	}{
		"owed before the step":       {later(10*365*24*time.Hour, func(*inbox.Item) {}), 0},
		"a change before the step":   {later(time.Hour, func(it *inbox.Item) { it.Message, it.Person = "m", "owner" }), 0},
		"a person's card, not held":  {later(time.Hour, func(it *inbox.Item) { it.Person = "owner" }), 0},
		"a person's card, held":      {later(9*time.Hour, func(it *inbox.Item) { it.Person, it.Level = "owner", 2 }), 9 * time.Hour},
		"a try, within its back-off": {later(2*time.Minute, failed("temporary")), 2 * time.Minute},
		"a try, before the step":     {later(time.Hour, failed("temporary")), 0},
		"told to wait":               {later(50*time.Minute, failed("rate_limited")), 50 * time.Minute},
		"told to wait, and a step":   {later(26*time.Hour, failed("rate_limited")), 0},
	} {
		batch, again := newLineup(chat.Caps{MaxWrite: 60}).next([]*inbox.Item{c.it}, now.UnixMilli(), now)
		if (len(batch) == 1) != (c.wait == 0) || again != c.wait {
			t.Errorf("%s: %d now, again in %v, want %v", name, len(batch), again, c.wait)
		}
	}
}

// All conversations of a connection share one budget.
func TestLineupScope(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	l := newLineup(chat.Caps{MaxWrite: 60}) // fifty at once in all, the last kept for a press
	n := 0
	for range 10 {
		var queue []*inbox.Item
		for i := range 200 {
			queue = append(queue, owed(uint64(n+i+1), inbox.Text, fmt.Sprint("C", n+i)))
		}
		batch, again := l.next(queue, now.UnixMilli(), now)
		for _, it := range batch {
			l.spent(it.Place, now)
		}
		if n += len(batch); len(batch) == 0 && again <= 0 {
			t.Error("nobody looks again")
		}
	}
	if n != 49 {
		t.Errorf("%d writes at once", n)
	}
}

// While the platform says wait, nothing of the connection goes out, a new gate
// neither; what fails holds those behind it in its conversation and nobody else,
// and not for ever.
func TestOrderIsKept(t *testing.T) {
	withDesk(t, func(d *desk) {
		d.a.script(&chat.Error{Kind: chat.RateLimited, After: 20 * time.Second})
		d.textTo("D1", "a1", "one")
		synctest.Wait()
		d.textTo("D2", "b1", "other")
		time.Sleep(19 * time.Second)
		if n := len(d.a.seen().sends); n != 1 {
			t.Fatalf("%d tries while the platform said wait", n)
		}
		time.Sleep(2 * time.Second)
		d.a.script(&chat.Error{Kind: chat.Temporary}, &chat.Error{Kind: chat.Temporary})
		d.textTo("D1", "a2", "two")
		d.textTo("D1", "a3", "three")
		d.textTo("D2", "b2", "passes")
		time.Sleep(5 * time.Second)
		if got := d.a.said(); !slices.Equal(got["D1"], []string{"one", "two", "three"}) || !slices.Equal(got["D2"], []string{"other", "passes"}) {
			t.Fatalf("said %v", got)
		}
		// One that never goes through gives way at last.
		d.a.mu.Lock()
		d.a.refuse = "stuck"
		d.a.mu.Unlock()
		d.textTo("D1", "a4", "stuck")
		d.textTo("D1", "a5", "five")
		time.Sleep(time.Minute)
		if got := d.a.said()["D1"]; !slices.Equal(got, []string{"one", "two", "three", "five"}) {
			t.Fatalf("said %v", got)
		}
	})
}

// What seems to hold a secret stays here, and the page says so without it.
func TestSecretsAreHeldBack(t *testing.T) {
	const secret = "xoxb-1234567890-abcdefghij"
	withDesk(t, func(d *desk) {
		d.text("a", "the token is "+secret)
		d.text("b", "harmless")
		synctest.Wait()
		if got := d.a.said()["D1"]; !slices.Equal(got, []string{"harmless"}) || d.dead() != 1 {
			t.Fatalf("said %q, %d dead", got, d.dead())
		}
		err := d.k.Store().Update(t.Context(), func(tx store.Tx) error {
			told, err := inbox.Owed(tx, consoleName, 10)
			if err != nil {
				return err
			}
			if len(told) != 1 || !strings.Contains(told[0].Text, "Slack token") || strings.Contains(told[0].Text, secret) {
				t.Errorf("the page is told %+v", told)
			}
			dead, err := inbox.DeadItems(tx, 10)
			if err != nil {
				return err
			}
			if dead[0].Why != "held back: Slack token" {
				t.Errorf("why: %q", dead[0].Why)
			}
			if list := d.deadOutward(); len(list) != 1 || list[0].Text != "" {
				t.Errorf("the list of dead letters has %+v, want no text", list)
			}
			return inbox.Over(tx).Replay(dead[0].ID)
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := d.a.said()["D1"]; len(got) != 1 || d.dead() != 1 {
			t.Errorf("a replay said %q, %d dead", got, d.dead())
		}
	})
}

// A dead letter that is replayed goes out, once, and is in the list no more.
func TestDeadLettersAreReplayed(t *testing.T) {
	withDesk(t, func(d *desk) {
		d.a.script(&chat.Error{Kind: chat.Gone, Code: "channel_not_found"})
		d.text("a", "hello")
		synctest.Wait()
		if d.dead() != 1 {
			t.Fatalf("%d dead", d.dead())
		}
		dead := d.deadOutward()
		if len(dead) != 1 || dead[0].Connection != "work" || dead[0].Why != "gone: channel_not_found" || dead[0].Text != "hello" || dead[0].Shown {
			t.Fatalf("the list of dead letters has %+v", dead)
		}
		replay := &inbox.ReplayMessage{Goal: "site", Message: dead[0].ID}
		if _, err := d.k.Do(t.Context(), replay, asCLI); kernel.AsError(err).Code != "owner_only" {
			t.Fatalf("somebody else replays it: %v", err)
		}
		if _, err := d.k.Do(t.Context(), replay, asOwner); err != nil {
			t.Fatal(err)
		}
		if _, err := d.k.Do(t.Context(), replay, asOwner); err == nil || kernel.AsError(err).Code != "not_dead" {
			t.Errorf("what is not dead can be replayed: %v", err)
		}
		synctest.Wait()
		if got := d.a.said()["D1"]; !slices.Equal(got, []string{"hello"}) || d.dead() != 0 {
			t.Errorf("said %q, %d dead", got, d.dead())
		}
	})
}

// deadOutward is what `loopx inbox dead` lists of our own messages.
func (d *desk) deadOutward() []inbox.DeadOutward {
	d.t.Helper()
	var v any
	err := d.k.Read(d.t.Context(), func(r *kernel.Reader) (err error) { v, err = (&inbox.DeadMessages{}).Answer(r); return err })
	if err != nil {
		d.t.Fatal(err)
	}
	return v.(inbox.MessagesView).Outward
}

// What waits by the wall clock waits as long as something can have asked for, and
// no longer: a card outside for the changes that come together, and never because
// a clock was set back.
func TestDueIn(t *testing.T) {
	const wall = int64(1_000_000)
	for name, tc := range map[string]struct {
		it   inbox.Item
		want time.Duration
	}{
		"due":                         {inbox.Item{Due: wall - 1, Message: "m"}, 0},
		"changes that come together":  {inbox.Item{Due: wall + 4000, Message: "m"}, 4 * time.Second},
		"a clock set back by an hour": {inbox.Item{Due: wall + 3_600_000, Message: "m"}, 0},
		"not outside yet":             {inbox.Item{Due: wall + 4000}, 0},
		"tried before":                {inbox.Item{Due: wall + 60_000, Tries: 2}, time.Minute},
		"asked to wait":               {inbox.Item{Due: wall + 1_800_000, Tries: 1, Why: string(chat.RateLimited)}, 30 * time.Minute},
		"the person's hours":          {inbox.Item{Due: wall + 36_000_000, Person: "wei", Level: 1}, 10 * time.Hour},
	} {
		if got := dueIn(&tc.it, wall); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
