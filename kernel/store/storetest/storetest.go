// Package storetest says what a store.Store is: a conformance suite and a
// state machine that every implementation runs, an in-memory model to compare
// with, and benchmarks that measure each against the floor of its disk.
package storetest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"loopx/kernel/store"

	"go.uber.org/goleak"
)

// Harness tells the suite how to make the store under test.
type Harness struct {
	// Open opens the store kept at path, which lies in a private folder of the
	// test, making an empty one when there is none. It must not register the
	// store for closing: the suite closes it. A store that cannot be opened
	// again ignores path and says so with Volatile.
	Open func(t testing.TB, path string, clock func() int64) store.Store
	// Restore opens what Backup wrote, as a new store at path.
	Restore func(t testing.TB, path string, backup []byte, clock func() int64) store.Store
	// Volatile: closing loses everything.
	Volatile bool
}

// Run checks every promise of store.Store, each in a store of its own. A
// goroutine that outlives its store fails the test that started it.
func Run(t *testing.T, h Harness) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			ignore := goleak.IgnoreCurrent()
			e := &env{T: t, h: h, path: filepath.Join(t.TempDir(), "store")}
			e.s = h.Open(t, e.path, e.now)
			defer func() {
				if err := e.s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				if !t.Failed() {
					goleak.VerifyNone(t, ignore)
				}
			}()
			c.run(e)
		})
	}
	t.Run("state machine", func(t *testing.T) { machine(t, h) })
}

// env is one case's store and the helpers that keep the cases short.
type env struct {
	*testing.T
	s     store.Store
	h     Harness
	path  string
	clock int64
}

func (e *env) now() int64 { return 1_700_000_000_000 + e.clock }

// do runs an Update that must succeed.
func (e *env) do(fn func(store.Tx) error) {
	e.Helper()
	if err := e.s.Update(context.Background(), fn); err != nil {
		e.Fatalf("Update: %v", err)
	}
}

func (e *env) put(kv ...string) {
	e.Helper()
	e.do(func(tx store.Tx) error {
		for i := 0; i < len(kv); i += 2 {
			if err := tx.Put([]byte(kv[i]), []byte(kv[i+1])); err != nil {
				return err
			}
		}
		return nil
	})
}

// look runs a View that must succeed.
func (e *env) look(fn func(store.ReadTx) error) {
	e.Helper()
	if err := e.s.View(context.Background(), fn); err != nil {
		e.Fatalf("View: %v", err)
	}
}

// want fails unless the whole store holds exactly these keys and values, in order.
func (e *env) want(kv ...string) {
	e.Helper()
	wantIn(e.T, e.s, kv...)
}

func wantIn(t *testing.T, s store.Store, kv ...string) {
	t.Helper()
	got := dump(t, s)
	if len(got) != len(kv) {
		t.Fatalf("store holds %q, want %q", got, kv)
	}
	for i := range got {
		if got[i] != kv[i] {
			t.Fatalf("store holds %q, want %q", got, kv)
		}
	}
}

// dump returns every key and value in order.
func dump(t testing.TB, s store.Store) (kv []string) {
	t.Helper()
	err := s.View(context.Background(), func(tx store.ReadTx) error {
		kv = scan(t, tx, store.Range{Limit: 1 << 30})
		return nil
	})
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return kv
}

// scan collects the keys and values that r visits.
func scan(t testing.TB, tx store.ReadTx, r store.Range) (kv []string) {
	t.Helper()
	if err := tx.Scan(r, func(k, v []byte) bool {
		kv = append(kv, string(k), string(v))
		return true
	}); err != nil {
		t.Fatalf("Scan: %v", err)
	}
	return kv
}

// wantErr fails unless err is target.
func wantErr(t testing.TB, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("%s: got %v, want %v", what, err, target)
	}
}
