package kernel_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
	"loopx/kernel/store/storetest"
)

// bench is a goal with n todos: some done, some held by others, some gated, some
// parked, most ready. The model tells what is the kernel's cost, bolt without
// syncs what the file adds; a write to the model costs time by its size, so only
// reads are measured on it.
type bench struct {
	*world
	todos []string
}

// newBench fills a store. Rows are written by the kernel itself, several
// commands in one transaction so that 100,000 todos do not take minutes.
func newBench(b *testing.B, kind string, n int) *bench {
	b.Helper()
	w := &world{t: b, now: start, boot: 1000}
	switch kind {
	case "model":
		w.st = storetest.NewModel(func() int64 { return w.now })
	case "bolt":
		st, err := bolt.Open(filepath.Join(b.TempDir(), "b.db"), bolt.Options{Clock: func() int64 { return w.now }, NoSync: true})
		if err != nil {
			b.Fatal(err)
		}
		w.st = st
	}
	b.Cleanup(func() { _ = w.st.Close() })
	var err error
	if w.k, err = kernel.Open(b.Context(), w.st, w); err != nil {
		b.Fatal(err)
	}
	w.goal("ann", "bob")
	out := &bench{world: w}
	out.fill(n)
	return out
}

func (w *bench) fill(n int) {
	const group = 250 // as many as one transaction holds
	for done := 0; done < n; done += group {
		err := w.st.Update(w.t.Context(), func(tx store.Tx) error {
			for i := done; i < min(n, done+group); i++ {
				if err := w.one(tx, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// one adds the todo i: of 20, one is done, one held by bob, one gated, one
// parked, one comes after another, one is not for ann.
func (w *bench) one(tx store.Tx, i int) error {
	p := 1 + i%3
	add := &kernel.AddTodo{Goal: "site", Title: "todo " + strconv.Itoa(i), Priority: &p}
	switch i % 20 {
	case 3:
		add.Deferred, add.ResumeWhen = true, "date:2030-01-01T00:00:00Z"
	case 4:
		if len(w.todos) > 0 {
			add.After = []string{w.todos[len(w.todos)-1]}
		}
	case 5:
		add.Excluded = []string{"ann"}
	}
	rec, err := w.k.DoTx(tx, add, cli())
	if err != nil {
		return err
	}
	id := todoID(rec)
	w.todos = append(w.todos, id)
	var next kernel.Command
	switch i % 20 {
	case 0:
		next = &kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: id}
	case 1:
		next = &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: id, LeaseMS: 24 * 3_600_000}
	case 2:
		if i < 4_000 {
			next = &kernel.OpenGate{Goal: "site", Question: "Go on?", Todos: []string{id}}
		}
	}
	if next != nil {
		_, err = w.k.DoTx(tx, next, cli())
	}
	return err
}

func todoID(rec kernel.Receipt) string {
	out, err := parse[struct {
		ID string `json:"todo_id"`
	}](rec.Result)
	if err != nil {
		return ""
	}
	return out.ID
}

// each runs fn on stores with 1,000 and 100,000 todos, and reports how much
// longer it takes with the latter.
func each(b *testing.B, kinds []string, fn func(b *testing.B, w *bench)) {
	for _, kind := range kinds {
		perOp := map[int]float64{}
		for _, n := range []int{1_000, 100_000} {
			b.Run(fmt.Sprintf("%s/todos=%d", kind, n), func(b *testing.B) {
				w := newBench(b, kind, n)
				b.ResetTimer()
				fn(b, w)
				perOp[n] = float64(b.Elapsed()) / float64(b.N)
				if small := perOp[1_000]; n == 100_000 && small > 0 {
					b.ReportMetric(perOp[n]/small, "x-of-1000")
				}
			})
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	each(b, []string{"model", "bolt"}, func(b *testing.B, w *bench) {
		for b.Loop() {
			if d := w.decide("ann"); d.Rule != "R12" && d.Rule != "R09" {
				b.Fatal(d.Rule)
			}
		}
	})
}

// BenchmarkDecideQuiet asks as should-run does, without the reasons of the losers.
func BenchmarkDecideQuiet(b *testing.B) {
	each(b, []string{"model", "bolt"}, func(b *testing.B, w *bench) {
		for b.Loop() {
			err := w.k.Read(b.Context(), func(r *kernel.Reader) error {
				_, err := r.Decide(kernel.Caller{Goal: "site", Agent: "ann"})
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTick is a whole tick: open a turn with its claim, complete, pay.
func BenchmarkTick(b *testing.B) {
	n := 0
	each(b, []string{"bolt"}, func(b *testing.B, w *bench) {
		for b.Loop() {
			n++
			turn := "t" + strconv.Itoa(n)
			out := w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: turn, Claim: true}, cli())
			if todoOf(out) == "" {
				b.Skip("no todo is left: use fewer iterations")
			}
			w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: todoOf(out), Turn: turn, Next: "next", Evidence: note("ok")}, cli())
			w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: turn}, cli())
			w.pass(10 * int64(time.Minute/time.Millisecond))
		}
	})
}

// BenchmarkClaim takes a todo and gives it back.
func BenchmarkClaim(b *testing.B) {
	each(b, []string{"bolt"}, func(b *testing.B, w *bench) {
		id := w.todos[len(w.todos)-1]
		for b.Loop() {
			w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
			w.do(&kernel.UpdateTodo{Goal: "site", Agent: "ann", Todo: id, ClearClaim: true}, cli())
		}
	})
}

// BenchmarkGate asks and answers.
func BenchmarkGate(b *testing.B) {
	each(b, []string{"bolt"}, func(b *testing.B, w *bench) {
		id := w.todos[len(w.todos)-1]
		for b.Loop() {
			w.do(&kernel.AnswerGate{Gate: w.gate(id), Option: "approve"}, owner())
		}
	})
}

// BenchmarkDecideNotMine asks for an agent that may take none of what is ready:
// the walk over it is bounded, and this is its price.
func BenchmarkDecideNotMine(b *testing.B) {
	for _, n := range []int{100, 1_000, 12_000} {
		b.Run("todos="+strconv.Itoa(n), func(b *testing.B) {
			w := newBench(b, "bolt", 0)
			for range n {
				w.do(&kernel.AddTodo{Goal: "site", Title: "not ann's", Excluded: []string{"ann"}}, cli())
			}
			b.ResetTimer()
			for b.Loop() {
				err := w.k.Read(b.Context(), func(r *kernel.Reader) error {
					_, err := r.Decide(kernel.Caller{Goal: "site", Agent: "ann"})
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReplay builds every table anew from the journal, as a check of a copy
// does; an operation is one record.
func BenchmarkReplay(b *testing.B) {
	w := newBench(b, "bolt", 5_000)
	records := 0
	b.ResetTimer()
	for b.Loop() {
		to, err := bolt.Open(filepath.Join(b.TempDir(), "r.db"), bolt.Options{NoSync: true, Limits: kernel.ReplayLimits()})
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(kernel.Replay(b.Context(), w.st, to), to.Close()); err != nil {
			b.Fatal(err)
		}
		if err := w.k.Read(b.Context(), func(r *kernel.Reader) error { records += int(r.Head().Seq); return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(records), "µs/record")
}
