package bot

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

// night is projector and outboxes on the model store inside a bubble of fake
// time: midnight UTC, Wei and Ana linked on two connections that only record.
type night struct {
	t    *testing.T
	k    *kernel.Kernel
	e    *engine
	work *scripted
	home *scripted
}

func inNight(t *testing.T, fn func(*night)) { t.Helper(); inNightAt(t, 60, fn) }

// inNightAt is inNight on platforms that take so many writes a minute.
func inNightAt(t *testing.T, perMinute int, fn func(*night)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.NewModel(func() int64 { return time.Now().UnixMilli() })
		defer st.Close()
		k, err := kernel.Open(t.Context(), st, nil)
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(slog.DiscardHandler)
		o := &night{t: t, k: k, work: &scripted{caps: chat.Caps{Edit: true, Find: true, MaxWrite: perMinute}, stored: map[string]string{}}, home: &scripted{caps: chat.Caps{Edit: true, Find: true, MaxWrite: perMinute}, stored: map[string]string{}}}
		at := &attend{k: k, zone: time.UTC}
		o.e = &engine{k: k, log: log, now: time.Now, attend: at}
		for name, a := range map[string]*scripted{"work": o.work, "home": o.home} {
			o.e.conns = append(o.e.conns, &connection{name: name, platform: chat.Slack, adapter: a, sink: &sink{k: k, platform: chat.Slack, log: log, zone: time.UTC},
				outbox: &outbox{k: k, name: name, adapter: a, zone: time.UTC, now: time.Now, attend: at, log: log, lineup: newLineup(a.caps)}})
		}
		o.link("owner", "Wei", "work", "UWEI", "DWEI")
		o.do(&kernel.CreateGoal{Goal: "site", Objective: "Ship", Agents: []string{"builder"}})
		o.do(&kernel.CreateGoal{Goal: "blog", Objective: "Write", Agents: []string{"writer"}})
		o.e.startWriters()
		fn(o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := o.e.stop(ctx); err != nil {
			t.Error(err)
		}
	})
}

var asBot = kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "slack"}}

func (o *night) link(person, name, connection, user, private string) {
	o.t.Helper()
	sum := kernel.CodeDigest("abcde-" + strings.ToLower(user) + connection)
	o.do(&kernel.CreateLinkCode{Digest: sum, Person: name})
	o.by(asBot, &kernel.RedeemLinkCode{Digest: sum, Platform: "slack", Connection: connection, Tenant: "T1", User: user, UserName: name, Private: private})
	o.do(&kernel.SettleLink{Platform: "slack", Connection: connection, Tenant: "T1", User: user})
}

// invite gives somebody else a role and lets them accept it.
func (o *night) invite(goal, role, user, private string) string {
	o.t.Helper()
	rec := o.do(&kernel.GrantRole{Goal: goal, Role: role, Platform: "slack", Connection: "work", Tenant: "T1", User: user, UserName: user})
	o.by(asBot, &kernel.AcceptRole{Platform: "slack", Connection: "work", Tenant: "T1", User: user, UserName: user, Private: private})
	_, id, _ := strings.Cut(string(rec.Result), `"person":"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}

func (o *night) do(c kernel.Command) kernel.Receipt { o.t.Helper(); return o.by(asOwner, c) }

func (o *night) by(opt kernel.Options, c kernel.Command) kernel.Receipt {
	o.t.Helper()
	rec, err := o.k.Do(o.t.Context(), c, opt)
	if err != nil {
		o.t.Fatalf("%s: %v", c.Name(), err)
	}
	return rec
}

// ask opens a gate that blocks a new todo and returns its id.
func (o *night) ask(goal, question string, prio int) string {
	o.t.Helper()
	o.do(&kernel.AddTodo{Goal: goal, Title: question, Priority: &prio})
	id := ""
	o.read(func(r *kernel.Reader) {
		for _, g := range r.OpenGates(goal, 100) {
			id += g.ID + " "
		}
	})
	todo := o.newest(goal)
	o.do(&kernel.OpenGate{Goal: goal, Question: question, Todos: []string{todo}})
	var out string
	o.read(func(r *kernel.Reader) {
		for _, g := range r.OpenGates(goal, 100) {
			if !strings.Contains(id, g.ID) {
				out = g.ID
			}
		}
	})
	synctest.Wait()
	return out
}

func (o *night) newest(goal string) (id string) {
	o.read(func(r *kernel.Reader) {
		recs := r.NewestRecords(1)
		for _, e := range recs[0].Events {
			if e.Todo != nil && e.Goal == goal {
				id = e.Todo.ID
			}
		}
	})
	return id
}

func (o *night) read(fn func(*kernel.Reader)) {
	o.t.Helper()
	if err := o.k.Read(o.t.Context(), func(r *kernel.Reader) error { fn(r); return r.Err() }); err != nil {
		o.t.Fatal(err)
	}
}

// until passes fake time up to a time of day of a day of January 2000.
func (o *night) until(day, hour, minute int) {
	<-time.After(time.Until(time.Date(2000, 1, day, hour, minute, 0, 0, time.UTC)))
	synctest.Wait()
}

// heard lists what made a sound, or came silently, in a private conversation:
// "08:00 ! Needs you: 2" or "08:00   Publish?".
func heard(a *scripted, conversation string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for i, m := range a.outs {
		if m.Place.Conversation != conversation {
			continue
		}
		first, _, _ := strings.Cut(m.Text, "\n")
		if m.Card != nil {
			first = m.Card.Question
		}
		mark := "!"
		if m.Silent {
			mark = " "
		}
		out = append(out, fmt.Sprintf("%s %s %s", a.sends[i].UTC().Format("02 15:04"), mark, first))
	}
	return out
}

func (o *night) want(conversation string, want ...string) {
	o.t.Helper()
	got := heard(o.work, conversation)
	slices.Sort(got) // cards that are due at once come in any order
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		o.t.Errorf("in %s:\n%s\nwant\n%s", conversation, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The night of journey 7: at 23:00 two gates open; nothing comes until the
// morning, then one digest with their cards silently below it; what was answered
// meanwhile is not sent, and nothing comes twice.
func TestNight(t *testing.T) {
	inNight(t, func(o *night) {
		o.until(1, 23, 0)
		o.ask("site", "Publish the page?", 1)
		o.ask("blog", "Post it?", 2)
		settled := o.ask("blog", "Rename it?", 1)
		o.until(2, 2, 0)
		o.do(&kernel.AnswerGate{Gate: settled, Option: "reject"})
		o.until(2, 7, 59)
		o.want("DWEI")
		o.until(2, 8, 1)
		o.want("DWEI", "02 08:00   Post it?", "02 08:00   Publish the page?", "02 08:00 ! Needs you: 2")
		o.read(func(r *kernel.Reader) {
			n, err := inbox.Counter(r.Tx(), "resolved_before_told")
			if err != nil || n != 1 {
				t.Errorf("%d cards counted as settled before anybody was told, %v", n, err)
			}
		})
		for _, id := range o.open() {
			o.do(&kernel.AnswerGate{Gate: id, Option: "approve"})
		}
		o.until(2, 20, 0)
		o.want("DWEI", "02 08:00   Post it?", "02 08:00   Publish the page?", "02 08:00 ! Needs you: 2")
	})
}

func (o *night) open() (ids []string) {
	o.read(func(r *kernel.Reader) {
		for _, goal := range r.Goals(10) {
			for _, g := range r.OpenGates(goal.ID, 100) {
				ids = append(ids, g.ID)
			}
		}
	})
	return ids
}

// A question that waits is told again once, by its severity; a changed choice
// about being interrupted counts at once.
func TestWaitingMutedSnoozed(t *testing.T) {
	inNight(t, func(o *night) {
		o.until(1, 9, 0)
		o.ask("site", "Publish?", 1)
		o.want("DWEI", "01 09:00 ! Publish?")
		o.until(1, 14, 0)
		o.want("DWEI", "01 09:00 ! Publish?", "01 13:00 ! G-1 has waited 4 h: Publish?")
		until := time.Date(2000, 1, 1, 20, 0, 0, 0, time.UTC).UnixMilli()
		o.do(&kernel.SetAttention{Person: "owner", Mute: &kernel.Mute{Goal: "blog", Until: until}})
		o.ask("blog", "Post it?", 1)
		o.until(1, 15, 0)
		o.do(&kernel.SetAttention{Person: "owner", Mute: &kernel.Mute{Goal: "blog", Until: 1}})
		o.until(1, 15, 1)
		o.want("DWEI", "01 09:00 ! Publish?", "01 13:00 ! G-1 has waited 4 h: Publish?", "01 15:00 ! Post it?")
	})
}

// Over budget the rest of a day comes with the digest, which says so; questions
// of one goal within a minute are one interruption.
func TestBudgetAndBundle(t *testing.T) {
	inNight(t, func(o *night) {
		o.do(&kernel.SetAttention{Person: "owner", Budget: new(1)})
		o.until(1, 9, 0)
		o.ask("site", "One?", 1)
		o.ask("site", "Two?", 1)
		o.until(1, 9, 30)
		o.ask("blog", "Three?", 1)
		o.until(1, 12, 0)
		o.want("DWEI", "01 09:00   Two?", "01 09:00 ! One?")
		o.until(2, 8, 1)
		// The two that were told come again with the digest and not by themselves.
		got := heard(o.work, "DWEI")
		if len(got) < 4 || got[2] != "02 08:00 ! Needs you: 3" || got[3] != "02 08:00   Three?" {
			t.Errorf("the morning brought %q", got)
		}
		o.work.mu.Lock()
		defer o.work.mu.Unlock()
		if text := o.work.outs[2].Text; !strings.Contains(text, "used up") || !strings.Contains(text, "Record ") {
			t.Errorf("the digest does not say why: %s", text)
		}
	})
}

// A person is interrupted on one surface; the others get a silent copy.
func TestOneSurfaceMakesTheSound(t *testing.T) {
	inNight(t, func(o *night) {
		o.link("owner", "Wei", "home", "UWEI2", "DHOME")
		o.do(&kernel.SetPerson{Person: "owner", Prefers: new("home")})
		o.until(1, 9, 0)
		o.ask("site", "Publish?", 1)
		o.until(1, 9, 1)
		o.want("DWEI", "01 09:00   Publish?")
		if got := heard(o.home, "DHOME"); len(got) != 1 || got[0] != "01 09:00 ! Publish?" {
			t.Errorf("the preferred surface got %q", got)
		}
	})
}

// In a chain the next person is asked when the one before has let it wait.
func TestChainEscalates(t *testing.T) {
	inNight(t, func(o *night) {
		bob := o.invite("site", "approver", "UBOB", "DBOB")
		ana := o.invite("site", "approver", "UANA", "DANA")
		o.do(&kernel.ConfigureGoal{Goal: "site", Ask: &map[string]kernel.Asked{"any": {Role: "approver", Persons: []string{bob, ana}, Chain: true}}})
		o.until(1, 9, 0)
		o.ask("site", "Publish?", 0)
		o.until(1, 10, 59)
		o.want("DBOB", "01 09:00 ! Publish?", "01 10:00 ! G-1 has waited 1 h: Publish?")
		o.want("DANA")
		o.until(1, 11, 1)
		o.want("DANA", "01 11:00 ! Publish?")
		o.want("DWEI")
	})
}

// Whatever holds a card back, a crash in between neither drops nor doubles it:
// the queue is the only memory.
func TestHeldCardOutlivesRestart(t *testing.T) {
	inNight(t, func(o *night) {
		o.until(1, 23, 0)
		o.ask("site", "Publish?", 1)
		ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute)
		defer cancel()
		if err := o.e.stop(ctx); err != nil {
			o.t.Fatal(err)
		}
		var due []*inbox.Item
		err := o.k.Store().View(o.t.Context(), func(tx store.ReadTx) (err error) {
			due, _, err = inbox.Next(tx, "work", time.Date(2000, 1, 2, 8, 0, 0, 0, time.UTC).UnixMilli(), 10)
			return err
		})
		if err != nil || len(due) != 1 {
			o.t.Fatalf("%d cards wait for the morning, %v", len(due), err)
		}
		o.until(2, 9, 0) // away over the morning
		o.e.startWriters()
		o.until(2, 9, 1)
		o.want("DWEI", "02 09:00   Publish?", "02 09:00 ! Needs you: 1")
	})
}
