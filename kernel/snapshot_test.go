package kernel_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

const day = int64(24 * 3600 * 1000)

// year is a workspace with a hundred days of work in it: each day a turn that is
// paid, a gate that is asked and answered, and now and then a turn nobody ended.
func year(t *testing.T) *world {
	w := newWorld(t)
	w.goal("a", "b")
	for d := range 100 {
		turn := fmt.Sprintf("t%d", d)
		id := w.todo(fmt.Sprintf("day %d", d), 1)
		w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: turn, Claim: true}, cli())
		w.do(&kernel.CommitTurn{Goal: "site", Agent: "a", Turn: turn, Complete: &kernel.CompleteTodo{Todo: id, Evidence: note("12/12")}}, cli())
		if d%10 == 0 {
			w.todo("stays", 3)
			w.do(&kernel.OpenTurn{Goal: "site", Agent: "b", Turn: "open" + turn, Claim: true, Session: turn}, cli())
			g := w.do(&kernel.OpenGate{Goal: "site", Agent: "a", Question: "Go?", Advisory: true}, cli())["gate_id"].(string)
			opt := owner()
			opt.Key = fmt.Sprintf("answer%d", d)
			w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, opt)
		}
		w.pass(day)
	}
	return w
}

// prune runs the pruning until nothing is left to look at.
func (w *world) prune() (turns, receipts float64) {
	w.t.Helper()
	for {
		r := w.do(&kernel.PruneState{}, bot())
		turns, receipts = turns+r["turns"].(float64), receipts+r["receipts"].(float64)
		if r["more"] != true {
			return turns, receipts
		}
	}
}

// follows checks that the tables follow from the journal and its snapshot, and
// returns them.
func (w *world) follows(st store.Store) map[string]string {
	w.t.Helper()
	to := storetest.NewModel(func() int64 { return 0 })
	defer to.Close()
	if err := kernel.Replay(w.t.Context(), st, to); err != nil {
		w.t.Fatal(err)
	}
	got, want := rebuilt(w.t, to), rebuilt(w.t, st)
	for k, v := range want {
		if got[k] != v {
			w.t.Fatalf("the row %q differs after replay:\n got %s\nwant %s", k, got[k], v)
		}
	}
	if len(got) != len(want) {
		w.t.Fatalf("replay gives %d rows, there are %d", len(got), len(want))
	}
	return want
}

func rebuilt(t testing.TB, st store.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := st.View(t.Context(), func(tx store.ReadTx) error {
		return tx.Scan(store.Range{Limit: 1 << 20}, func(k, v []byte) bool {
			if kernel.Rebuilt(k) {
				out[string(k)] = string(v)
			}
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// compacted is a compacted copy of the world, as a world.
func (w *world) compacted(before int64) *world {
	w.t.Helper()
	var upto uint64
	w.read(func(r *kernel.Reader) { upto = r.CompactTo(before, r.PrunedUpto()) })
	if upto == 0 {
		w.t.Fatal("there is nothing to compact")
	}
	scratch, to := storetest.NewModel(func() int64 { return 0 }), storetest.NewModel(func() int64 { return w.now })
	w.t.Cleanup(func() { _, _ = scratch.Close(), to.Close() })
	base, err := kernel.WriteCompacted(w.t.Context(), w.st, scratch, to, upto)
	if err != nil {
		w.t.Fatal(err)
	}
	n := &world{t: w.t, st: to, now: w.now, boot: w.boot}
	if n.k, err = kernel.Open(w.t.Context(), to, n); err != nil {
		w.t.Fatal(err)
	}
	n.do(&kernel.CompactState{Base: *base}, owner())
	return n
}

// Old receipts and turns go; what must be remembered stays, and the tables follow
// from the journal all the while.
func TestPruning(t *testing.T) {
	w := year(t)
	w.refuse("owner_only", &kernel.PruneState{}, cli())
	turns, receipts := w.prune()
	if turns < 60 || receipts < 120 {
		t.Fatalf("only %v turns and %v receipts were forgotten", turns, receipts)
	}
	w.follows(w.st)
	if a, b := w.prune(); a+b != 0 {
		t.Errorf("a second pruning forgot %v turns, %v receipts", a, b)
	}
	w.read(func(r *kernel.Reader) {
		for turn, there := range map[string]bool{"t0": false, "t60": false, "t95": true} {
			if (r.Turn("site", "a", turn) != nil) != there {
				t.Errorf("%s is there: %v", turn, !there)
			}
		}
		if r.Turn("site", "b", "opent0") != nil {
			t.Error("a turn nobody ended is kept for ever")
		}
	})
	for k := range everything(t, w.st) {
		if strings.HasPrefix(k, "us\x00") && strings.HasSuffix(k, "\x00opent0") {
			t.Errorf("the index of unsettled turns names one that is gone: %q", k)
		}
	}
	// The answer of a gate is remembered, that of a turn is not.
	opt := owner()
	opt.Key = "answer0"
	first, err := w.k.Do(t.Context(), &kernel.AnswerGate{Gate: gateOf(w, 0), Option: "approve"}, opt)
	if err != nil || !first.Replay {
		t.Errorf("the first answer is forgotten: %v %v", first, err)
	}
	again := w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t0"}, cli())
	if again["goal_id"] != "site" {
		t.Errorf("a forgotten turn id is not free: %v", again)
	}
}

func gateOf(w *world, n int) (id string) {
	w.read(func(r *kernel.Reader) { id = r.GateByCode("site", fmt.Sprintf("G-%d", n+1)).ID })
	return id
}

// A turn whose work was never paid is not forgotten.
func TestUnpaidTurnIsKept(t *testing.T) {
	w := newWorld(t)
	w.goal("a")
	w.todo("one", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t1", Claim: true}, cli())
	w.do(&kernel.Refresh{Goal: "site", Agent: "a", Turn: "t1", Outcome: kernel.Progress}, cli())
	w.pass(100 * day)
	w.prune()
	w.do(&kernel.SpendSlot{Goal: "site", Agent: "a", Turn: "t1"}, cli())
	w.pass(100 * day)
	w.prune()
	w.read(func(r *kernel.Reader) {
		if r.Turn("site", "a", "t1") != nil {
			t.Error("paid a hundred days ago, and still there")
		}
	})
	w.follows(w.st)
}

// A compacted state has the same tables, goes on, and can be compacted again.
func TestCompaction(t *testing.T) {
	w := year(t)
	w.prune()
	size := len(rebuilt(t, w.st))
	n := w.compacted(start + 40*day)
	rows := n.follows(n.st)
	if len(rows) >= size {
		t.Errorf("%d rows before, %d after", size, len(rows))
	}
	// Everything but the journal and its head is as it was.
	for k, v := range rebuilt(t, w.st) {
		if !strings.HasPrefix(k, "j\x00") && k != "hd" && rows[k] != v {
			t.Fatalf("the row %q changed: %s, was %s", k, rows[k], v)
		}
	}
	opt := owner()
	opt.Key = "answer10"
	if r, err := n.k.Do(t.Context(), &kernel.AnswerGate{Gate: gateOf(n, 1), Option: "approve"}, opt); err != nil || !r.Replay {
		t.Errorf("an answer from before the snapshot is forgotten: %v %v", r, err)
	}
	n.todo("goes on", 0)
	n.follows(n.st)
	n.read(func(r *kernel.Reader) {
		if r.Base().Seq == 0 || r.Record(r.Base().Seq) != nil || r.Record(r.Base().Seq+1) == nil {
			t.Errorf("the journal does not start behind %+v", r.Base())
		}
		if to := r.CompactTo(start+40*day, r.PrunedUpto()); to != 0 {
			t.Errorf("there is nothing left before that day, and still %d", to)
		}
	})
	m := n.compacted(start + 60*day)
	m.follows(m.st)
	m.todo("and on", 0)
	m.follows(m.st)
}

// A snapshot that was exchanged or damaged does not pass.
func TestCompactionIsChecked(t *testing.T) {
	w := year(t)
	w.prune()
	for name, change := range map[string]func(tx store.Tx) error{
		"a chunk": func(tx store.Tx) error {
			k := store.Key("sn", store.U64(1))
			v, err := tx.Get(k)
			if err != nil {
				return err
			}
			v = append([]byte(nil), v...)
			v[len(v)/2] ^= 1
			return tx.Put(k, v)
		},
		"a missing chunk": func(tx store.Tx) error { return tx.Delete(store.Key("sn", store.U64(1))) },
		"the base": func(tx store.Tx) error {
			v, err := tx.Get(store.Key("sb"))
			if err != nil {
				return err
			}
			return tx.Put(store.Key("sb"), []byte(strings.Replace(string(v), `"rows":`, `"rows":1`, 1)))
		},
		"no base": func(tx store.Tx) error { return tx.Delete(store.Key("sb")) },
		"the first record": func(tx store.Tx) error {
			var k []byte
			if err := tx.Scan(store.Under(1, "j"), func(key, _ []byte) bool { k = append(k, key...); return true }); err != nil {
				return err
			}
			return tx.Delete(k)
		},
	} {
		n := w.compacted(start + 40*day)
		if err := n.st.Update(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		to := storetest.NewModel(func() int64 { return 0 })
		if err := kernel.Replay(t.Context(), n.st, to); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s was changed, and replay says %v", name, err)
		}
		_ = to.Close()
	}
}

// older gives a store the layout 0 as it might have been: other table names, an
// index that is not there. Its journal is what it always was.
func older(t *testing.T, st store.Store) store.Store {
	t.Helper()
	to := storetest.NewModel(func() int64 { return 0 })
	t.Cleanup(func() { _ = to.Close() })
	err := to.Update(t.Context(), func(tx store.Tx) error {
		for k, v := range everything(t, st) {
			table, rest, _ := strings.Cut(k, "\x00")
			switch table {
			case "sv":
				v = "0"
			case "t":
				k = "todo\x00" + rest
			case "ix", "pl":
				continue
			}
			if err := tx.Put([]byte(k), []byte(v)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func everything(t testing.TB, st store.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := st.View(t.Context(), func(tx store.ReadTx) error {
		return tx.Scan(store.Range{Limit: 1 << 20}, func(k, v []byte) bool { out[string(k)] = string(v); return true })
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An older layout is built anew from the journal; rows of other rooms come along.
func TestMigration(t *testing.T) {
	w := newWorld(t)
	w.goal("a")
	w.todo("one", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "a", Turn: "t1", Claim: true}, cli())
	w.refuse("owner_only", &kernel.VoidSlot{Goal: "site", Spend: 1, Reason: "x"}, cli()) // leaves an audit row
	if err := w.st.Update(t.Context(), func(tx store.Tx) error { return tx.Put(store.Key("im", "x"), []byte("a message")) }); err != nil {
		t.Fatal(err)
	}
	want := everything(t, w.st)
	old := older(t, w.st)
	if _, err := kernel.Open(t.Context(), old, w); kernel.AsError(err) == nil || kernel.AsError(err).Code != "migration_needed" {
		t.Fatalf("an older layout opens with %v", err)
	}
	to := storetest.NewModel(func() int64 { return 0 })
	defer to.Close()
	if err := kernel.Migrate(t.Context(), old, to); err != nil {
		t.Fatal(err)
	}
	got := everything(t, to)
	for k, v := range want {
		if got[k] != v {
			t.Errorf("the row %q is %q, want %q", k, got[k], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if err := to.Update(t.Context(), func(tx store.Tx) error { return tx.Put(store.Key("sv"), []byte("99")) }); err != nil {
		t.Fatal(err)
	}
	if e := kernel.AsError(kernel.Migrate(t.Context(), to, storetest.NewModel(func() int64 { return 0 }))); e == nil || e.Code != "newer_schema" {
		t.Errorf("a newer layout migrates with %v", e)
	}
}
