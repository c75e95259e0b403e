package kernel_test

import (
	"encoding/json"
	"testing"

	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

// world is a kernel on the model store with a clock the test moves.
type world struct {
	t   testing.TB
	st  store.Store
	k   *kernel.Kernel
	now int64
	// boot is the time since boot; it moves with now unless a test says otherwise.
	boot int64
}

func (w *world) Boot() (string, int64) { return "boot-1", w.boot }

func (w *world) pass(ms int64) { w.now += ms; w.boot += ms }

const start = int64(1_800_000_000_000)

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, now: start, boot: 1000}
	w.st = storetest.NewModel(func() int64 { return w.now })
	t.Cleanup(func() { _ = w.st.Close() })
	var err error
	if w.k, err = kernel.Open(t.Context(), w.st, w); err != nil {
		t.Fatal(err)
	}
	return w
}

func owner() kernel.Options {
	return kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Name: "Wei", Surface: "test"}}
}

func cli() kernel.Options {
	return kernel.Options{By: kernel.Actor{Kind: kernel.ByCLI, Surface: "cli"}}
}

// do runs a command that must pass and returns its result.
func (w *world) do(cmd kernel.Command, opt kernel.Options) map[string]any {
	w.t.Helper()
	r, err := w.k.Do(w.t.Context(), cmd, opt)
	if err != nil {
		w.t.Fatalf("%s: %v", cmd.Name(), err)
	}
	var out map[string]any
	if err := json.Unmarshal(r.Result, &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// refuse runs a command that must be refused with the code.
func (w *world) refuse(code string, cmd kernel.Command, opt kernel.Options) *kernel.Error {
	w.t.Helper()
	before := w.dump()
	r, err := w.k.Do(w.t.Context(), cmd, opt)
	if err == nil {
		w.t.Fatalf("%s passed with %s, want %s", cmd.Name(), r.Result, code)
	}
	e := kernel.AsError(err)
	if e.Code != code {
		w.t.Fatalf("%s: %v, want code %s", cmd.Name(), err, code)
	}
	if w.dump() != before {
		w.t.Fatalf("%s was refused (%s) and still changed a table", cmd.Name(), code)
	}
	return e
}

func (w *world) dump() string { return dump(w.t, w.st) }

// dump is all rows but the audit of refusals.
func dump(t testing.TB, st store.Store) string {
	t.Helper()
	rows := map[string]string{}
	err := st.View(t.Context(), func(tx store.ReadTx) error {
		return tx.Scan(store.Range{Limit: 1 << 20}, func(k, v []byte) bool {
			if string(k[:3]) != "au\x00" && string(k) != "ck" {
				rows[string(k)] = string(v)
			}
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(rows)
	return string(b)
}

func (w *world) decide(agent string) *kernel.Decision {
	w.t.Helper()
	var d *kernel.Decision
	err := w.k.Read(w.t.Context(), func(r *kernel.Reader) (err error) {
		d, err = r.Decide(kernel.Caller{Goal: "site", Agent: agent, Why: true})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) goal(agents ...string) {
	w.t.Helper()
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "Ship the new pricing page", Agents: agents}, cli())
}

func (w *world) todo(title string, prio int, after ...string) string {
	w.t.Helper()
	return w.do(&kernel.AddTodo{Goal: "site", Title: title, Priority: &prio, After: after}, cli())["todo_id"].(string)
}

func note(s string) []kernel.EvidenceArg { return []kernel.EvidenceArg{{Kind: "check", Summary: s}} }

// The whole tick, from an empty goal to a proven end.
func TestTick(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	if d := w.decide("builder"); d.Rule != "R15" || !d.ShouldRun {
		t.Fatalf("an empty goal gives %s", d.Rule)
	}
	id := w.todo("write the FAQ", 1)
	w.refuse("writeback_missing", &kernel.SpendSlot{Goal: "site", Agent: "builder"}, cli())
	d := w.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1"}, cli())
	if d["rule"] != "R12" || d["selected_todo"].(map[string]any)["todo_id"] != id {
		t.Fatalf("decision %v", d)
	}
	lease := w.do(&kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: id, Turn: "t1"}, cli())["lease"].(map[string]any)
	if lease["token"] == "" || lease["generation"] != 1.0 {
		t.Fatalf("lease %v", lease)
	}
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "builder", Todo: id, Turn: "t1", NoFollowup: true, Evidence: note("tests 212/212")}, cli())
	w.do(&kernel.Refresh{Goal: "site", Agent: "builder", Turn: "t1", Outcome: kernel.Progress}, cli())
	got := w.do(&kernel.SpendSlot{Goal: "site", Agent: "builder", Turn: "t1"}, cli())
	if after := got["quota_event"].(map[string]any)["after"].(map[string]any); after["spent_slots"] != 1.0 {
		t.Fatalf("spent %v", got)
	}
	r, err := w.k.Do(t.Context(), &kernel.SpendSlot{Goal: "site", Agent: "builder", Turn: "t1"}, cli())
	if err != nil || !r.Replay {
		t.Fatalf("the repeated spend gives %+v, %v", r, err)
	}
	if d := w.decide("builder"); d.Rule != "R16" || d.ShouldRun || d.Effective != "terminal" {
		t.Fatalf("at the end: %s %s", d.Rule, d.Effective)
	}
	w.replays()
}

// replays checks that the journal alone gives the same tables.
func (w *world) replays() {
	w.t.Helper()
	to := storetest.NewModel(func() int64 { return 0 })
	defer to.Close()
	if err := kernel.Replay(w.t.Context(), w.st, to); err != nil {
		w.t.Fatal(err)
	}
	if got, want := dump(w.t, to), dump(w.t, w.st); got != want {
		w.t.Fatalf("replay differs:\n got %s\nwant %s", got, want)
	}
}

// A gate blocks what it names and nothing else; first decision wins.
func TestGate(t *testing.T) {
	w := newWorld(t)
	w.goal("builder", "writer")
	pub := w.todo("publish", 0)
	faq := w.todo("write the FAQ", 2)
	gate := w.do(&kernel.OpenGate{Goal: "site", Agent: "builder", Question: "Publish the page?", Kind: "publish", Todos: []string{pub},
		Options: []kernel.Option{{ID: "go", Label: "Publish", Outcome: kernel.Approve}, {ID: "hold", Label: "Hold", Outcome: kernel.Reject}}}, cli())["gate_id"].(string)
	d := w.decide("builder")
	if d.Rule != "R09" || d.Selected.ID != faq || d.Contract.User.Notify != "NOTIFY" {
		t.Fatalf("fallback: %+v", d)
	}
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: pub}, cli())
	w.refuse("owner_only", &kernel.AnswerGate{Gate: gate, Option: "go"}, cli())
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1", Claim: true}, cli())
	if d := w.decide("writer"); d.Rule != "R10" || d.Contract.User.Notify != "DONT_NOTIFY" {
		t.Fatalf("everything else is gated, and the owner was told: %s %s", d.Rule, d.Contract.User.Notify)
	}
	w.do(&kernel.AnswerGate{Gate: gate, Option: "go"}, owner())
	w.refuse("gate_answered", &kernel.AnswerGate{Gate: gate, Option: "hold"}, owner())
	d2 := w.do(&kernel.OpenTurn{Goal: "site", Agent: "writer", Turn: "t1", Claim: true}, cli())
	if d2["rule"] != "R12" || d2["selected_todo"].(map[string]any)["todo_id"] != pub {
		t.Fatalf("after the answer: %v", d2)
	}
	_ = w.k.Read(t.Context(), func(r *kernel.Reader) error {
		if g := r.Gate("site", gate); g.Taken == nil || g.Taken.Agent != "writer" {
			t.Errorf("the decision is not shown as taken: %+v", g.Taken)
		}
		return nil
	})
	w.replays()
}

// An expired lease counts as absent after its grace; the old holder is fenced.
func TestLeaseTakeover(t *testing.T) {
	w := newWorld(t)
	w.goal("a", "b")
	id := w.todo("x", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t1"}, cli())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "a", Todo: id, Turn: "t1"}, cli())
	e := w.refuse("lease_held", &kernel.ClaimTodo{Goal: "site", Agent: "b", Todo: id}, cli())
	if e.Details["holder"] != "a" {
		t.Fatalf("the conflict does not name the holder: %+v", e)
	}
	w.now += 10 * 365 * 24 * 3600 * 1000 // the wall clock jumps ten years; no time has passed
	w.refuse("lease_held", &kernel.ClaimTodo{Goal: "site", Agent: "b", Todo: id}, cli())
	w.pass(47 * 60 * 1000)
	if d := w.decide("b"); d.Selected == nil || d.Selected.By != "expired_lease" {
		t.Fatalf("an expired lease is not offered: %+v", d)
	}
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "b", Todo: id}, cli())
	w.refuse("lease_lost", &kernel.CompleteTodo{Goal: "site", Agent: "a", Todo: id, Turn: "t1", Evidence: note("late")}, cli())
	w.replays()
}

// A preview writes nothing and binds.
func TestPreview(t *testing.T) {
	w := newWorld(t)
	w.goal("a")
	before := w.dump()
	opt := owner()
	opt.Preview = true
	r, err := w.k.Do(t.Context(), &kernel.PauseGoal{Goal: "site"}, opt)
	if err != nil || r.Plan == "" || len(r.Changes) != 1 {
		t.Fatalf("preview %+v, %v", r, err)
	}
	if w.dump() != before {
		t.Fatal("the preview wrote")
	}
	bound := owner()
	bound.Plan = r.Plan
	w.do(&kernel.RegisterAgent{Goal: "site", Agent: "b"}, cli())
	w.do(&kernel.PauseGoal{Goal: "site"}, bound) // an unrelated change does not make it stale
	if d := w.decide("a"); d.Rule != "R01" || d.Scheduler.Action != "stop_until_explicit_resume" {
		t.Fatalf("a stopped goal gives %s", d.Rule)
	}
	w.refuse("plan_stale", &kernel.PauseGoal{Goal: "site"}, bound)
}

// Reserving before and settling after keeps a hard limit (B97).
func TestB97_SlotsAreReserved(t *testing.T) {
	w := newWorld(t)
	one := 2
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"a", "b", "c"}, Allowed: &one}, cli())
	for range 3 {
		w.todo("x", 1)
	}
	for _, a := range []string{"a", "b"} {
		w.do(&kernel.OpenTurn{Goal: "site", Agent: a, Turn: "t", Claim: true}, cli())
	}
	d := w.do(&kernel.OpenTurn{Goal: "site", Agent: "c", Turn: "t", Claim: true}, cli())
	if d["rule"] != "R11" {
		t.Fatalf("the third agent gets %v", d["rule"])
	}
	w.do(&kernel.Refresh{Goal: "site", Agent: "a", Turn: "t", Outcome: kernel.Progress}, cli())
	w.do(&kernel.SpendSlot{Goal: "site", Agent: "a", Turn: "t"}, cli())
	if d := w.decide("c"); d.Rule != "R11" || d.Scheduler.NextWake == 0 {
		t.Fatalf("paying must not free a slot: %s %d", d.Rule, d.Scheduler.NextWake)
	}
	w.pass(25 * 3600 * 1000)
	if d := w.decide("c"); d.Rule != "R12" {
		t.Fatalf("a day later: %s %s", d.Rule, d.Reason)
	}
}

func TestStrictJSON(t *testing.T) {
	deep := ""
	for range 10_000 {
		deep += "["
	}
	for name, in := range map[string]string{
		"two keys": `{"goal":"a","goal":"b"}`, "case": `{"GOAL":"a"}`, "long s": "{\"goal\":\"a\",\"le\u017f\":1}",
		"unknown": `{"goal":"a","colour":"red"}`, "deep": `{"goal":` + deep, "nul": "{\"goal\":\"a\x00\"}",
		"utf8": "{\"goal\":\"\xff\"}", "more": `{"goal":"a"} {}`, "cut": `{"goal":`, "type": `{"goal":7}`,
	} {
		if _, err := kernel.DecodeCommand("goal.pause", []byte(in)); kernel.AsError(err) == nil || kernel.AsError(err).Class != kernel.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := kernel.DecodeCommand("goal.pause", []byte(`{"goal":"a"}`)); err != nil {
		t.Error(err)
	}
}
