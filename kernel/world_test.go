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
	boot  int64
	turns int // opened by wakes
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
