package kernel_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"loopx/kernel"
	"loopx/kernel/store"

	"pgregory.net/rapid"
)

// check runs a property usual times, or as often as LOOPX_ROUNDS says; an
// explicit -rapid.checks wins. rapid prints the seed of a failure.
func check(t *testing.T, usual int, prop func(*rapid.T)) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f.Value.String() == f.DefValue {
		n := usual
		if s := os.Getenv("LOOPX_ROUNDS"); s != "" {
			var err error
			if n, err = strconv.Atoi(s); err != nil || n < 1 {
				t.Fatalf("LOOPX_ROUNDS=%q is no count", s)
			}
		}
		if err := f.Value.Set(strconv.Itoa(n)); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Value.Set(f.DefValue) }()
	}
	rapid.Check(t, prop)
}

// lease is a claim as its holder was told of it.
type lease struct {
	goal, todo, agent, turn, token string
	generation                     uint64
}

// machine drives a kernel with random commands and checks after each one what
// must always hold.
type machine struct {
	st store.Store
	k  *kernel.Kernel
	at *rows // the tables after the last step

	// The wall clock, and the boot clock, which no step of the former moves.
	now    int64
	boots  int
	bootMS int64

	turns  int
	leases []lease
	seen   map[string]kernel.GateAnswer // answers as first stored, by gate and decision
	// faults, when set, makes each command fail at each of its writes before it
	// may pass.
	faults *faulty
	// reopen, when set, closes and opens the store underneath.
	reopen func() error
}

// Boot implements kernel.Clock.
func (m *machine) Boot() (string, int64) { return "boot-" + strconv.Itoa(m.boots), m.bootMS }

func (m *machine) steady() int64 {
	boot, ms := m.Boot()
	return m.at.steady(boot, ms, m.now)
}

// begin opens the kernel and makes goals, agents and first todos.
func (m *machine) begin(t *rapid.T, st store.Store) {
	m.st, m.now, m.bootMS, m.seen = st, start, 1000, map[string]kernel.GateAnswer{}
	if f, ok := st.(*faulty); ok && f.each {
		m.faults = f
	}
	var err error
	if m.k, err = kernel.Open(context.Background(), m.st, m); err != nil {
		t.Fatal(err)
	}
	m.at = m.read(t)
	allowed := rapid.IntRange(1, 4).Draw(t, "allowed")
	handoff := rapid.SampledFrom([]string{"soft", "soft", "strict"}).Draw(t, "handoff")
	agents := []string{"ann", "bob", "cyd", "dee"}[:rapid.IntRange(2, 4).Draw(t, "agents")]
	m.try(t, &kernel.CreateGoal{Goal: "site", Objective: "Ship the page", Agents: agents, Allowed: &allowed, Handoff: handoff, Repo: siteRepo}, cli())
	m.try(t, &kernel.CreateGoal{Goal: "blog", Objective: "Write", Agents: []string{"ann"}}, cli())
	for range rapid.IntRange(0, 5).Draw(t, "first todos") {
		m.addTodo(t)
	}
}

func (m *machine) read(t *rapid.T) *rows {
	s, err := readRows(m.st)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// same fails when anything but the audit changed since the last step.
func (m *machine) same(t *rapid.T, what string) {
	if now := m.read(t); !maps.Equal(m.at.raw, now.raw) {
		t.Fatalf("%s changed\n%s", what, strings.Join(m.at.changes(now), "\n"))
	}
}

// forecast is what a preview said would happen.
type forecast struct {
	err    *kernel.Error
	plan   string
	events []string
}

// try runs a command and checks what its outcome, any outcome, must have done.
func (m *machine) try(t *rapid.T, cmd kernel.Command, opt kernel.Options) (map[string]any, *kernel.Error) {
	name := fmt.Sprintf("%s by %s %s", cmd.Name(), opt.By.Kind, asJSON(cmd))
	var fore *forecast
	if rapid.IntRange(0, 5).Draw(t, "preview first") == 0 {
		fore = m.preview(t, cmd, opt)
		opt.Plan = fore.plan
	}
	rec, err := m.run(t, cmd, opt)
	if err != nil {
		m.same(t, "the refused "+name+" ("+err.Error()+")")
		m.refused(t, name, err)
		if fore != nil && err.Code != "key_reused" && (fore.err == nil || fore.err.Code != err.Code) {
			t.Fatalf("%s: the preview said %v, the command %v", name, fore.err, err)
		}
		m.claimed(t, m.at, cmd, opt, err)
		return nil, err
	}
	out := map[string]any{}
	if err := json.Unmarshal(rec.Result, &out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if rec.Replay {
		m.same(t, "the repeated "+name)
		return out, nil
	}
	before := m.at
	m.at = m.read(t)
	if fore != nil {
		m.asForetold(t, name, before, fore)
	}
	m.claimed(t, before, cmd, opt, nil)
	m.passed(t, name, before, cmd, opt, out)
	if opt.Key != "" {
		if again, err := m.run(t, cmd, opt); err != nil || !again.Replay || again.ID != rec.ID || asJSON(again.Result) != asJSON(rec.Result) {
			t.Fatalf("%s under the same key again: %+v, %v", name, again, err)
		}
		m.same(t, "the repeated "+name)
	}
	return out, nil
}

// run gives a command to the kernel; with faults it dies at every write first.
func (m *machine) run(t *rapid.T, cmd kernel.Command, opt kernel.Options) (kernel.Receipt, *kernel.Error) {
	if m.faults == nil {
		rec, err := m.k.Do(context.Background(), cmd, opt)
		return rec, kernel.AsError(err)
	}
	for n := 0; ; n++ {
		m.faults.arm(n)
		rec, err := m.k.Do(context.Background(), cmd, opt)
		m.faults.disarm()
		if !errors.Is(err, errInjected) {
			return rec, kernel.AsError(err)
		}
		m.same(t, fmt.Sprintf("%s, which died at write %d,", cmd.Name(), n))
	}
}

func (m *machine) refused(t *rapid.T, name string, err *kernel.Error) {
	switch err.Class {
	case kernel.Internal, kernel.Unavailable, kernel.Unknown, kernel.Locked:
		t.Fatalf("%s failed: %v: %v", name, err, err.Unwrap())
	}
	if msg := badWords(err); msg != "" {
		t.Fatalf("%s: %s", name, msg)
	}
	for _, l := range m.leases {
		if strings.Contains(asJSON(err), l.token) {
			t.Fatalf("%s: the refusal shows a lease token: %s", name, asJSON(err))
		}
	}
}

func (m *machine) preview(t *rapid.T, cmd kernel.Command, opt kernel.Options) *forecast {
	opt.Preview = true
	rec, err := m.k.Do(context.Background(), cmd, opt)
	m.same(t, "the preview of "+cmd.Name())
	f := &forecast{err: kernel.AsError(err), plan: rec.Plan}
	if err == nil && rec.Plan == "" {
		t.Fatalf("the preview of %s has no plan", cmd.Name())
	}
	for _, c := range rec.Changes {
		f.events = append(f.events, c.Event)
	}
	return f
}

func (m *machine) asForetold(t *rapid.T, name string, before *rows, f *forecast) {
	var got []string
	for _, raw := range m.at.journal[len(before.journal):] {
		rec, err := parse[kernel.Record]([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range rec.Events {
			got = append(got, e.Type)
		}
	}
	if f.err != nil || !slices.Equal(got, f.events) {
		t.Fatalf("%s: the preview said %v %v, what happened is %v", name, f.err, f.events, got)
	}
}

// invariants hold after every step.
func (m *machine) invariants(t *rapid.T) {
	if err := m.at.checkDerived(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.at.checkPayments(m.steady()), m.at.checkDebts(), m.at.checkAsking()); err != nil {
		t.Fatal(err)
	}
	for id, g := range m.at.gates {
		id += "#" + strconv.Itoa(m.at.decided[id])
		old, ok := m.seen[id]
		if ok && (g.Answer == nil || *g.Answer != old) {
			t.Fatalf("the answer of %s became %+v, was %+v", g.Code, g.Answer, old)
		}
		if g.Answer != nil {
			m.seen[id] = *g.Answer
		}
	}
	for _, g := range m.at.goals {
		for _, a := range m.at.agents[g.ID] {
			m.decides(t, g, a.ID)
		}
	}
	m.same(t, "asking for decisions")
	if err := m.k.Read(context.Background(), func(r *kernel.Reader) error { m.checkPeople(t, r); return nil }); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) ask(t *rapid.T, r *kernel.Reader, goal, agent string) *kernel.Decision {
	d, err := r.Decide(kernel.Caller{Goal: goal, Agent: agent})
	if err != nil {
		t.Fatalf("decide for %s in %s: %v", agent, goal, err)
	}
	return d
}

func selected(d *kernel.Decision) string {
	if d.Selected == nil {
		return ""
	}
	return d.Selected.ID
}

// decides compares the decision for an agent with the table read naively, with
// itself, and with a world without the gates on other agents' lanes.
func (m *machine) decides(t *rapid.T, g *kernel.Goal, agent string) {
	err := m.st.View(context.Background(), func(tx store.ReadTx) error {
		r, err := m.k.ReaderOf(tx)
		if err != nil {
			return err
		}
		d := m.ask(t, r, g.ID, agent)
		if one, two := asJSON(d), asJSON(m.ask(t, r, g.ID, agent)); one != two {
			t.Fatalf("two decisions for %s differ:\n%s\n%s", agent, one, two)
		}
		if r.Steady() != m.steady() {
			t.Fatalf("the steady time is %d, want %d", r.Steady(), m.steady())
		}
		rule, todo := m.at.verdict(g, kernel.Caller{Agent: agent, Goal: g.ID}, m.steady(), m.now)
		if d.Rule != rule || selected(d) != todo {
			t.Fatalf("%s in %s gets %s %q, the table says %s %q\n%s", agent, g.ID, d.Rule, selected(d), rule, todo, asJSON(d))
		}
		if stopped := len(g.Pause) > 0 || g.Status == "completed"; stopped && d.ShouldRun {
			t.Fatalf("the stopped goal %s acts", g.ID)
		}
		spent, own, others := m.at.allowance(g, agent, m.steady())
		if q := d.Quota; q.Spent != spent || q.Held != own || q.Reserved != others {
			t.Fatalf("the quota of %s is %+v, a recount gives %d spent, %d own, %d others'", agent, q, spent, own, others)
		}
		if err := m.woken(g, d); err != nil {
			t.Fatal(err)
		}
		if err := m.placed(r, g, agent); err != nil {
			t.Fatal(err)
		}
		return m.twin(t, tx, g, agent, d)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// twin decides for an agent in the same world without the gates on other lanes.
func (m *machine) twin(t *rapid.T, tx store.ReadTx, g *kernel.Goal, agent string, d *kernel.Decision) error {
	world, cut := store.NewOverlay(tx, store.Limits{}), false
	now, err := m.k.ReaderOf(tx)
	if err != nil {
		return err
	}
	for _, v := range m.at.asked {
		if v.Goal != g.ID || v.Blocks.Agent == "" || v.Blocks.Agent == agent {
			continue
		}
		if len(now.BlockedBy(g.ID, v.ID, 1)) > 0 {
			continue // a todo waits for the same approval: the gate is on that as well
		}
		cut = true
		for k, val := range m.at.raw {
			if strings.Contains(k, v.ID) || val == v.ID {
				if err := world.Delete([]byte(k)); err != nil {
					return err
				}
			}
		}
	}
	if !cut {
		return nil
	}
	r, err := m.k.ReaderOf(world)
	if err != nil {
		return err
	}
	if w := m.ask(t, r, g.ID, agent); w.Rule != d.Rule || selected(w) != selected(d) {
		t.Fatalf("gates on other lanes move the decision of %s from %s %q to %s %q", agent, w.Rule, selected(w), d.Rule, selected(d))
	}
	return nil
}

func asJSON(v any) string {
	b, err := kernel.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
