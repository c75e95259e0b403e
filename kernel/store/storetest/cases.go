package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"loopx/kernel/store"
)

// patience is how long a case waits for what must come; it is no speed limit.
const patience = 30 * time.Second

type testCase struct {
	name string
	run  func(*env)
}

func cases() []testCase {
	return []testCase{
		{"get, put and delete", getPutDelete},
		{"scan orders and bounds", scanOrders},
		{"scan needs a limit", scanLimit},
		{"a transaction reads its own writes", ownWrites},
		{"an error rolls back", errorRollsBack},
		{"a panic rolls back", panicRollsBack},
		{"a goroutine that ends inside rolls back", goexitRollsBack},
		{"a refused caller does not hurt its neighbours", neighbours},
		{"counters are serialisable", counters},
		{"a snapshot does not move", snapshot},
		{"now is fixed and comes from the clock", clockRule},
		{"watch wakes and closes", watch},
		{"contexts", contexts},
		{"limits", limits},
		{"backup can be opened and is equal", backup},
		{"verify accepts a healthy store", verify},
		{"closed means closed", closed},
		{"close waits for nobody who has not started", closeQueue},
		{"what was written is there after a restart", reopen},
	}
}

func getPutDelete(e *env) {
	e.look(func(tx store.ReadTx) error {
		if v, err := tx.Get([]byte("a")); v != nil || err != nil {
			e.Fatalf("absent key: %q, %v", v, err)
		}
		return nil
	})
	e.put("a", "1", "b", "", "\x00\xff", "raw")
	e.look(func(tx store.ReadTx) error {
		if v, err := tx.Get([]byte("b")); v == nil || len(v) != 0 || err != nil {
			e.Fatalf("a stored empty value must be empty and not nil: %#v, %v", v, err)
		}
		return nil
	})
	e.want("\x00\xff", "raw", "a", "1", "b", "")
	e.do(func(tx store.Tx) error {
		return errors.Join(tx.Delete([]byte("a")), tx.Delete([]byte("never")), tx.Put([]byte("b"), []byte("2")))
	})
	e.want("\x00\xff", "raw", "b", "2")
}

func scanOrders(e *env) {
	e.put("a", "1", "b", "2", "c", "3", "d", "4", "e", "5")
	tests := []struct {
		r    store.Range
		want string
	}{
		{store.Range{Limit: 9}, "abcde"},
		{store.Range{Limit: 9, Reverse: true}, "edcba"},
		{store.Range{Limit: 2}, "ab"},
		{store.Range{Limit: 2, Reverse: true}, "ed"},
		{store.Range{From: []byte("b"), To: []byte("d"), Limit: 9}, "bc"},
		{store.Range{From: []byte("b"), To: []byte("d"), Limit: 9, Reverse: true}, "cb"},
		{store.Range{From: []byte("b"), To: []byte("d"), Limit: 1, Reverse: true}, "c"},
		{store.Range{From: []byte("bb"), Limit: 9}, "cde"},
		{store.Range{To: []byte("bb"), Limit: 9, Reverse: true}, "ba"},
		{store.Range{From: []byte("x"), Limit: 9}, ""},
		{store.Range{From: []byte("x"), Limit: 9, Reverse: true}, ""},
		{store.Range{To: []byte("a"), Limit: 9}, ""},
		{store.Range{To: []byte("a"), Limit: 9, Reverse: true}, ""},
		{store.Range{To: []byte{}, Limit: 9}, ""},
		{store.Range{From: []byte("d"), To: []byte("b"), Limit: 9}, ""},
		{store.Range{From: []byte("d"), To: []byte("b"), Limit: 9, Reverse: true}, ""},
	}
	check := func(tx store.ReadTx) error {
		for _, c := range tests {
			var got strings.Builder
			for i, s := range scan(e, tx, c.r) {
				if i%2 == 0 {
					got.WriteString(s)
				}
			}
			if got.String() != c.want {
				e.Errorf("Scan(%q..%q limit %d reverse %v) = %q, want %q", c.r.From, c.r.To, c.r.Limit, c.r.Reverse, got.String(), c.want)
			}
		}
		var n int
		if err := tx.Scan(store.Range{Limit: 9}, func(_, _ []byte) bool { n++; return n < 3 }); err != nil || n != 3 {
			e.Errorf("a scan that is told to stop visited %d, %v", n, err)
		}
		return nil
	}
	e.look(check)
	e.do(func(tx store.Tx) error { return check(tx) })
}

func scanLimit(e *env) {
	nothing := func(_, _ []byte) bool { return true }
	for _, limit := range []int{0, -1} {
		e.look(func(tx store.ReadTx) error {
			wantErr(e, "View scan", tx.Scan(store.Range{Limit: limit}, nothing), store.ErrNoLimit)
			return nil
		})
		e.do(func(tx store.Tx) error {
			wantErr(e, "Update scan", tx.Scan(store.Range{Limit: limit}, nothing), store.ErrNoLimit)
			return nil
		})
	}
}

func ownWrites(e *env) {
	e.put("a", "1", "c", "3")
	e.do(func(tx store.Tx) error {
		if err := errors.Join(tx.Put([]byte("b"), []byte("2")), tx.Delete([]byte("c")), tx.Put([]byte("a"), []byte("0"))); err != nil {
			return err
		}
		if v, err := tx.Get([]byte("a")); string(v) != "0" || err != nil {
			e.Fatalf("own put: %q, %v", v, err)
		}
		if v, err := tx.Get([]byte("c")); v != nil || err != nil {
			e.Fatalf("own delete: %q, %v", v, err)
		}
		if got := scan(e, tx, store.Range{Limit: 9, Reverse: true}); !slices.Equal(got, []string{"b", "2", "a", "0"}) {
			e.Fatalf("own scan: %q", got)
		}
		e.look(func(other store.ReadTx) error {
			if got := scan(e, other, store.Range{Limit: 9}); !slices.Equal(got, []string{"a", "1", "c", "3"}) {
				e.Fatalf("another transaction sees unfinished writes: %q", got)
			}
			return nil
		})
		return nil
	})
	e.want("a", "0", "b", "2")
}

func errorRollsBack(e *env) {
	e.put("a", "1")
	no := errors.New("no")
	err := e.s.Update(context.Background(), func(tx store.Tx) error {
		_ = errors.Join(tx.Put([]byte("a"), []byte("2")), tx.Put([]byte("b"), nil))
		return no
	})
	if err != no {
		e.Fatalf("the function's error must come back unchanged, got %v", err)
	}
	e.want("a", "1")
	err = e.s.View(context.Background(), func(store.ReadTx) error { return no })
	if err != no {
		e.Fatalf("View: the function's error must come back unchanged, got %v", err)
	}
}

// guarded runs an Update whose function panics and returns how that came back.
func guarded(s store.Store, fn func(store.Tx) error) (panicked any, err error) {
	defer func() { panicked = recover() }()
	return nil, s.Update(context.Background(), fn)
}

func panicRollsBack(e *env) {
	e.put("a", "1")
	p, err := guarded(e.s, func(tx store.Tx) error {
		_ = tx.Put([]byte("a"), []byte("2"))
		panic("boom")
	})
	if err == nil && p == nil {
		e.Fatal("the panic vanished")
	}
	if got := fmt.Sprint(err, p); !strings.Contains(got, "boom") {
		e.Fatalf("the panic lost its reason: %s", got)
	}
	func() {
		defer func() { _ = recover() }()
		_ = e.s.View(context.Background(), func(store.ReadTx) error { panic("boom") })
	}()
	e.want("a", "1")
	e.put("b", "2")
	e.want("a", "1", "b", "2")
}

func goexitRollsBack(e *env) {
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = e.s.Update(context.Background(), func(tx store.Tx) error {
			_ = tx.Put([]byte("a"), []byte("2"))
			runtime.Goexit()
			return nil
		})
	})
	wg.Wait()
	e.want()
	e.put("b", "2")
	e.want("b", "2")
}

func neighbours(e *env) {
	const n = 60
	var wg sync.WaitGroup
	var want []string
	for i := range n {
		key := fmt.Sprintf("%03d", i)
		if i%3 == 0 {
			want = append(want, key, "ok")
		}
		wg.Go(func() {
			p, err := guarded(e.s, func(tx store.Tx) error {
				if err := tx.Put([]byte(key), []byte("ok")); err != nil {
					return err
				}
				switch i % 3 {
				case 1:
					return errors.New("refused")
				case 2:
					panic("boom")
				}
				return nil
			})
			if ok := err == nil && p == nil; ok != (i%3 == 0) {
				e.Errorf("caller %d: error %v, panic %v", i, err, p)
			}
		})
	}
	wg.Wait()
	e.want(want...)
}

func counters(e *env) {
	const callers, rounds = 16, 40
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range rounds {
				if err := e.s.Update(context.Background(), func(tx store.Tx) error {
					v, err := tx.Get([]byte("n"))
					if err != nil {
						return err
					}
					var n uint64
					if v != nil {
						n = binary.BigEndian.Uint64(v)
					}
					return tx.Put([]byte("n"), binary.BigEndian.AppendUint64(nil, n+1))
				}); err != nil {
					e.Errorf("Update: %v", err)
				}
			}
		})
	}
	wg.Wait()
	e.look(func(tx store.ReadTx) error {
		v, err := tx.Get([]byte("n"))
		if err != nil || len(v) != 8 || binary.BigEndian.Uint64(v) != callers*rounds {
			e.Fatalf("counter is %x (%v), want %d", v, err, callers*rounds)
		}
		return nil
	})
}

func snapshot(e *env) {
	e.put("a", "1")
	e.look(func(tx store.ReadTx) error {
		e.put("a", "2", "b", "2")
		if got := scan(e, tx, store.Range{Limit: 9}); !slices.Equal(got, []string{"a", "1"}) {
			e.Fatalf("the snapshot moved: %q", got)
		}
		return nil
	})
	e.want("a", "2", "b", "2")
}

func clockRule(e *env) {
	step := func(tx store.ReadTx) error {
		first := tx.Now()
		if first != e.now() {
			e.Fatalf("Now = %d, clock says %d", first, e.now())
		}
		e.clock += 1000
		if tx.Now() != first {
			e.Fatal("Now moved inside a transaction")
		}
		return nil
	}
	e.look(step)
	e.do(func(tx store.Tx) error { return step(tx) })
}

func watch(e *env) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	one, two := e.s.Watch(ctx), e.s.Watch(context.Background())
	for i := range 3 {
		e.put("a", fmt.Sprint(i))
	}
	e.arrives("first watcher", one, true)
	e.arrives("second watcher", two, true)
	_ = e.s.Update(context.Background(), func(store.Tx) error { return errors.New("no") })
	select {
	case _, ok := <-one:
		e.Fatalf("a wake-up without a commit (open: %v)", ok)
	default:
	}
	cancel()
	e.arrives("cancelled watcher", one, false)
	e.put("a", "again")
	e.arrives("second watcher", two, true)
	if err := e.s.Close(); err != nil {
		e.Fatal(err)
	}
	e.arrives("watcher of a closed store", two, false)
	e.arrives("watch on a closed store", e.s.Watch(context.Background()), false)
}

// arrives fails unless ch delivers a wake-up (open) or is closed (!open).
func (e *env) arrives(what string, ch <-chan struct{}, open bool) {
	e.Helper()
	select {
	case _, ok := <-ch:
		if ok != open {
			e.Fatalf("%s: open = %v, want %v", what, ok, open)
		}
	case <-time.After(patience):
		e.Fatalf("%s: nothing came", what)
	}
}

func contexts(e *env) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	wantErr(e, "Update", e.s.Update(ended, func(store.Tx) error { e.Error("ran"); return nil }), context.Canceled)
	wantErr(e, "View", e.s.View(ended, func(store.ReadTx) error { e.Error("ran"); return nil }), context.Canceled)
	wantErr(e, "Backup", e.s.Backup(ended, new(bytes.Buffer)), context.Canceled)
	wantErr(e, "Verify", e.s.Verify(ended), context.Canceled)

	ctx, cancel := context.WithCancel(context.Background())
	if err := e.s.Update(ctx, func(tx store.Tx) error {
		cancel()
		return tx.Put([]byte("a"), []byte("1"))
	}); err != nil {
		e.Fatalf("a context that ends after the start must be ignored: %v", err)
	}
	e.want("a", "1")

	// A caller that waits for its turn may leave, and then writes nothing.
	waiting, leave := context.WithCancel(context.Background())
	var ran atomic.Bool
	left := make(chan error, 1)
	e.do(func(tx store.Tx) error {
		go func() {
			left <- e.s.Update(waiting, func(tx store.Tx) error {
				ran.Store(true)
				return tx.Put([]byte("late"), nil)
			})
		}()
		leave()
		return tx.Put([]byte("b"), []byte("2"))
	})
	err := <-left
	if ran.Load() != (err == nil) {
		e.Fatalf("ran = %v, yet the error is %v", ran.Load(), err)
	}
	if err != nil {
		wantErr(e, "waiting Update", err, context.Canceled)
		e.want("a", "1", "b", "2")
	}
}

func closed(e *env) {
	e.put("a", "1")
	if err := e.s.Close(); err != nil {
		e.Fatal(err)
	}
	wantErr(e, "Update", e.s.Update(context.Background(), func(store.Tx) error { e.Error("ran"); return nil }), store.ErrClosed)
	wantErr(e, "View", e.s.View(context.Background(), func(store.ReadTx) error { e.Error("ran"); return nil }), store.ErrClosed)
	wantErr(e, "Backup", e.s.Backup(context.Background(), new(bytes.Buffer)), store.ErrClosed)
	wantErr(e, "Verify", e.s.Verify(context.Background()), store.ErrClosed)
	if err := e.s.Close(); err != nil {
		e.Fatalf("the second Close: %v", err)
	}
	select {
	case <-e.s.Failed():
		e.Fatal("closing is no failure")
	default:
	}
}

func closeQueue(e *env) {
	const n = 50
	var wg sync.WaitGroup
	var done atomic.Int64
	started := make(chan struct{}, n)
	for i := range n {
		wg.Go(func() {
			err := e.s.Update(context.Background(), func(tx store.Tx) error {
				started <- struct{}{}
				return tx.Put(fmt.Appendf(nil, "%03d", i), nil)
			})
			switch {
			case err == nil:
				done.Add(1)
			case !errors.Is(err, store.ErrClosed):
				e.Errorf("Update during Close: %v", err)
			}
		})
	}
	<-started
	if err := e.s.Close(); err != nil {
		e.Fatal(err)
	}
	wg.Wait()
	if e.h.Volatile {
		return
	}
	e.s = e.h.Open(e, e.path, e.now)
	if got := int64(len(dump(e, e.s)) / 2); got != done.Load() {
		e.Fatalf("%d callers were told yes, %d records are there", done.Load(), got)
	}
}

func reopen(e *env) {
	if e.h.Volatile {
		e.Skip("skipped: this store keeps nothing when it is closed")
	}
	e.put("a", "1", "b", "2")
	for range 3 {
		if err := e.s.Close(); err != nil {
			e.Fatal(err)
		}
		e.s = e.h.Open(e, e.path, e.now)
	}
	e.want("a", "1", "b", "2")
}
