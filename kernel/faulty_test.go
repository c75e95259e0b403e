package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

var errInjected = errors.New("the process died here")

// faulty is a store whose writes can die.
type faulty struct {
	store.Store
	each  bool // die at each write of each command
	armed bool
	left  int // writes that still pass
	// unknown makes Update say that the outcome is not known; kept says what
	// really happened.
	unknown, kept bool
}

func (f *faulty) arm(n int) { f.armed, f.left = true, n }
func (f *faulty) disarm()   { f.armed = false }

func (f *faulty) Update(ctx context.Context, fn func(store.Tx) error) error {
	switch {
	case f.unknown && f.kept:
		return errors.Join(f.Store.Update(ctx, fn), store.ErrUnknown)
	case f.unknown:
		return store.ErrUnknown
	case f.armed:
		return f.Store.Update(ctx, func(tx store.Tx) error { return fn(&faultyTx{Tx: tx, f: f}) })
	}
	return f.Store.Update(ctx, fn)
}

type faultyTx struct {
	store.Tx
	f *faulty
}

func (t *faultyTx) die() error {
	if t.f.left--; t.f.left < 0 {
		return errInjected
	}
	return nil
}

func (t *faultyTx) Put(k, v []byte) error {
	if err := t.die(); err != nil {
		return err
	}
	return t.Tx.Put(k, v)
}

func (t *faultyTx) Delete(k []byte) error {
	if err := t.die(); err != nil {
		return err
	}
	return t.Tx.Delete(k)
}

// both is a model store and a file behind one face: writes go to both, and a
// read that the two answer differently is an error.
type both struct {
	store.Store // the model
	file        store.Store
}

func (b *both) View(ctx context.Context, fn func(store.ReadTx) error) error {
	return b.Store.View(ctx, func(m store.ReadTx) error {
		return b.file.View(ctx, func(f store.ReadTx) error { return fn(bothTx{m, f}) })
	})
}

func (b *both) Update(ctx context.Context, fn func(store.Tx) error) error {
	var writes *store.Overlay
	err := b.file.Update(ctx, func(f store.Tx) error {
		return b.Store.View(ctx, func(m store.ReadTx) error {
			// The file may run this again; each run starts from the same snapshot.
			writes = store.NewOverlay(m, b.Limits())
			return fn(bothWrite{bothTx{writes, f}, f, writes})
		})
	})
	if err != nil {
		return err
	}
	return b.Store.Update(ctx, func(tx store.Tx) error {
		for k, v := range writes.Changes() {
			var err error
			if v == nil {
				err = tx.Delete(k)
			} else {
				err = tx.Put(k, v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

type bothTx struct{ model, file store.ReadTx }

func (t bothTx) Now() int64 { return t.model.Now() }

func (t bothTx) Get(k []byte) ([]byte, error) {
	a, errA := t.model.Get(k)
	b, errB := t.file.Get(k)
	if (a == nil) != (b == nil) || !bytes.Equal(a, b) {
		return nil, fmt.Errorf("get %q: model %q, file %q", k, a, b)
	}
	return b, errors.Join(errA, errB)
}

func (t bothTx) Scan(r store.Range, fn func(k, v []byte) bool) error {
	type pair struct{ k, v string }
	var want []pair
	if err := t.model.Scan(r, func(k, v []byte) bool { want = append(want, pair{string(k), string(v)}); return true }); err != nil {
		return err
	}
	var bad error
	n, stopped := 0, false
	err := t.file.Scan(r, func(k, v []byte) bool {
		if n >= len(want) || want[n] != (pair{string(k), string(v)}) {
			bad = fmt.Errorf("scan %q..%q: the file has %q at %d", r.From, r.To, k, n)
			return false
		}
		n++
		stopped = !fn(k, v)
		return !stopped
	})
	if bad == nil && !stopped && n != len(want) {
		bad = fmt.Errorf("scan %q..%q: the file has %d rows, the model %d", r.From, r.To, n, len(want))
	}
	return errors.Join(err, bad)
}

type bothWrite struct {
	bothTx
	f store.Tx
	m *store.Overlay
}

func (t bothWrite) Put(k, v []byte) error { return errors.Join(t.f.Put(k, v), t.m.Put(k, v)) }
func (t bothWrite) Delete(k []byte) error { return errors.Join(t.f.Delete(k), t.m.Delete(k)) }

// copyStore is a copy of a store with one row changed.
func copyStore(t testing.TB, st store.Store, key, val string) store.Store {
	t.Helper()
	to := storetest.NewModel(nil)
	err := st.View(t.Context(), func(from store.ReadTx) error {
		return to.Update(t.Context(), func(tx store.Tx) error {
			var bad error
			err := from.Scan(store.Range{Limit: 1 << 20}, func(k, v []byte) bool { bad = tx.Put(k, v); return bad == nil })
			return errors.Join(err, bad, tx.Put([]byte(key), []byte(val)))
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
