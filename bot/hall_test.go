package bot

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/console"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

// hall is an engine on the model store with the page's surface and some
// platforms, people on all of them, and a clock that the test moves.
type hall struct {
	t       *testing.T
	k       *kernel.Kernel
	e       *engine
	console *console.Console
	at      []*venue
	ahead   atomic.Int64 // of the real time, in ms
	ana     string       // the approver's person
}

func (h *hall) now() time.Time {
	return time.Now().Add(time.Duration(h.ahead.Load()) * time.Millisecond)
}

// newHall has a goal with the owner Wei and the approver Ana linked everywhere.
func newHall(t *testing.T, platforms ...chat.Platform) *hall {
	t.Helper()
	h := &hall{t: t}
	st := storetest.NewModel(func() int64 { return h.now().UnixMilli() })
	t.Cleanup(func() { _ = st.Close() })
	var err error
	if h.k, err = kernel.Open(t.Context(), st, nil); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	at := &attend{k: h.k, zone: time.UTC}
	h.e = &engine{k: h.k, log: log, now: h.now, attend: at}
	add := func(name string, p chat.Platform, a chat.Adapter, local func(chat.User) (kernel.Actor, bool)) {
		h.e.conns = append(h.e.conns, &connection{
			name: name, platform: p, adapter: a, sink: &sink{k: h.k, platform: p, log: log, local: local, zone: time.UTC},
			outbox: &outbox{k: h.k, name: name, adapter: a, zone: time.UTC, now: h.now, attend: at, log: log, lineup: newLineup(a.Caps())},
		})
	}
	h.console = console.New(console.Options{Name: consoleName, Clock: h.now})
	add(consoleName, chat.Console, h.console, pagePerson)
	for _, p := range platforms {
		v := venues()[p](t, h.now)
		h.at = append(h.at, v)
		add(string(p), p, v.adapter, nil)
	}
	h.do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder"}}, asCLI)
	h.do(&kernel.ConfigureGoal{Goal: "site", Ask: &map[string]kernel.Asked{"any": {Role: kernel.RoleApprover}}}, asOwner)
	for _, v := range h.at {
		h.link(v, "Wei", v.wei)
		if h.ana == "" { // one account is enough to be asked
			h.ana = h.invite(v, kernel.RoleApprover, v.ana, "Ana")
		}
	}
	h.do(anytime(), asOwner)
	h.e.startWriters()
	h.e.startAdapters()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := h.e.stop(ctx); err != nil {
			t.Error(err)
		}
	})
	for _, c := range h.e.conns {
		eventually(t, c.name+" is ready", func() bool { return c.adapter.Health().State == chat.Ready })
	}
	return h
}

// link makes an account the owner's.
func (h *hall) link(v *venue, name, user string) {
	h.t.Helper()
	sum := kernel.CodeDigest("abcde-fghjk-" + string(v.platform) + user)
	h.do(&kernel.CreateLinkCode{Digest: sum, Person: name}, asOwner)
	h.do(&kernel.RedeemLinkCode{Digest: sum, Platform: string(v.platform), Connection: string(v.platform), Tenant: v.tenant, User: user, UserName: name, Private: v.dm(user)}, asBot)
	h.do(&kernel.SettleLink{Platform: string(v.platform), Connection: string(v.platform), Tenant: v.tenant, User: user}, asOwner)
}

// invite gives somebody new a role and returns the person.
func (h *hall) invite(v *venue, role, user, name string) (person string) {
	h.t.Helper()
	p := string(v.platform)
	h.do(&kernel.GrantRole{Goal: "site", Role: role, Platform: p, Connection: p, Tenant: v.tenant, User: user, UserName: name}, asOwner)
	h.do(&kernel.AcceptRole{Platform: p, Connection: p, Tenant: v.tenant, User: user, UserName: name, Private: v.dm(user)}, asBot)
	h.read(func(r *kernel.Reader) { person = r.Principal(p, p, v.tenant, user).Person })
	h.do(&kernel.SetAttention{Person: person, QuietFrom: new(0), QuietTo: new(0), Budget: new(1000)}, asOwner)
	return person
}

func (h *hall) do(cmd kernel.Command, opt kernel.Options) kernel.Receipt {
	h.t.Helper()
	rec, err := h.k.Do(h.t.Context(), cmd, opt)
	if err != nil {
		h.t.Fatalf("%s: %v", cmd.Name(), err)
	}
	return rec
}

func (h *hall) read(fn func(*kernel.Reader)) {
	h.t.Helper()
	if err := h.k.Read(h.t.Context(), func(r *kernel.Reader) error { fn(r); return r.Err() }); err != nil {
		h.t.Fatal(err)
	}
}

// ask opens a gate about a todo of its own, an hour after the one before, since an
// agent may ask a person only so often, and returns its id and code.
func (h *hall) ask(g kernel.OpenGate) (id, code string) {
	h.t.Helper()
	h.ahead.Add(time.Hour.Milliseconds())
	h.do(&kernel.AddTodo{Goal: "site", Title: "work behind " + g.Question}, asCLI)
	h.read(func(r *kernel.Reader) {
		for _, t := range r.List("site", kernel.ListReady, "", 500) {
			if strings.HasSuffix(t.Title, g.Question) {
				g.Todos = []string{t.ID}
			}
		}
	})
	g.Goal, g.Agent = "site", "builder"
	if g.Options == nil {
		g.Options = []kernel.Option{{ID: "go", Label: "Publish", Consequence: "goes live at once", Outcome: kernel.Approve}, {ID: "hold", Label: "Hold", Consequence: "stays in draft", Outcome: kernel.Reject}}
	}
	h.do(&g, asCLI)
	h.read(func(r *kernel.Reader) {
		for _, v := range r.OpenGates("site", 500) {
			if v.Question == g.Question {
				id, code = v.ID, v.Code
			}
		}
	})
	return id, code
}

// hang puts a copy of a gate's card where everybody of a platform reads.
func (h *hall) hang(v *venue, gate, where string) {
	h.t.Helper()
	err := h.k.Store().Update(h.t.Context(), func(tx store.Tx) error {
		r, err := h.k.ReaderOf(tx)
		if err == nil {
			_, err = inbox.Over(tx).AddCard(r, r.Gate("site", gate), inbox.Spot{Place: chat.Place{Connection: string(v.platform), Conversation: where}})
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// card waits for a message in a place.
func (h *hall) card(v *venue, where, part string, fits func(shown) bool) (out shown) {
	h.t.Helper()
	err := within("", func() bool {
		for _, m := range v.see(where) {
			if strings.Contains(m.text, part) && (fits == nil || fits(m)) {
				out = m
				return true
			}
		}
		return false
	})
	if err != nil {
		h.t.Fatalf("%s: no card with %q; there stands %q", v.platform, part, v.see(where))
	}
	return out
}

// notice waits for what a person is told beyond what they were told before.
func (h *hall) notice(v *venue, who string, before int) string {
	h.t.Helper()
	_ = within("", func() bool { return len(v.told(who)) > before }) // none is what the caller sees
	all := v.told(who)
	return strings.Join(all[min(before, len(all)):], "\n")
}

// gate is the row of a gate, as JSON.
func (h *hall) gate(id string) (out string) {
	h.t.Helper()
	h.read(func(r *kernel.Reader) {
		b, err := json.Marshal(r.Gate("site", id))
		if err != nil {
			h.t.Fatal(err)
		}
		out = string(b)
	})
	return out
}

func (h *hall) decision(id string) *kernel.GateAnswer {
	var a *kernel.GateAnswer
	h.read(func(r *kernel.Reader) { a = r.Gate("site", id).Answer })
	return a
}

// counted is how often an outcome of presses was counted.
func (h *hall) counted(code string) (n uint64) {
	h.t.Helper()
	err := h.k.Store().View(h.t.Context(), func(tx store.ReadTx) (err error) {
		n, err = inbox.Counter(tx, code)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// later moves the clock and lets everything look at it.
func (h *hall) later(d time.Duration) {
	h.t.Helper()
	h.ahead.Add(d.Milliseconds())
	if err := h.k.Store().Update(h.t.Context(), func(tx store.Tx) error { return inbox.Over(tx).Expire(h.k) }); err != nil {
		h.t.Fatal(err)
	}
}
