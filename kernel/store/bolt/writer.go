package bolt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"

	"loopx/kernel/store"
	"loopx/kernel/store/failpoint"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// groupMax bounds how many callers share one commit.
const groupMax = 256

// The life of a request. Whoever moves it out of waiting decides whether it runs.
const (
	waiting int32 = iota
	running
	left // the caller is gone: it must not run
)

// request is one caller of Update. The writer gives it the turn, the caller
// runs its function in its own goroutine (so that a panic, a Goexit and a
// profile stay where they belong), and the writer goes on when it is finished.
type request struct {
	state atomic.Int32
	turn  chan *store.Overlay // writer to caller, once; nil: the group is lost
	ran   chan bool           // caller to writer, once: take the writes?
	done  chan error          // writer to caller, once
}

// writer owns the write side of a Store: one goroutine that commits groups.
type writer struct {
	s     *Store
	queue chan *request
	quit  chan struct{} // closed by Close
	gone  chan struct{} // closed when the goroutine has ended
}

func newWriter(s *Store) *writer {
	return &writer{
		s:     s,
		queue: make(chan *request, groupMax),
		quit:  make(chan struct{}),
		gone:  make(chan struct{}),
	}
}

// update queues fn and waits for its outcome.
func (w *writer) update(ctx context.Context, fn func(store.Tx) error) error {
	r := &request{
		turn: make(chan *store.Overlay, 1),
		ran:  make(chan bool, 1),
		done: make(chan error, 1),
	}
	select {
	case w.queue <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.gone:
		return w.s.state.refusal()
	}
	var tx *store.Overlay
	select {
	case tx = <-r.turn:
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, left) {
			return ctx.Err()
		}
		tx = <-r.turn
	case <-w.gone:
		if r.state.CompareAndSwap(waiting, left) {
			return w.s.state.refusal()
		}
		tx = <-r.turn
	}
	if tx == nil {
		return <-r.done
	}
	err := call(r, tx, fn)
	// A refusal may rest on what others of this group wrote. When that did not
	// become true, neither did the refusal: the commit's error goes first.
	if lost := <-r.done; lost != nil {
		return lost
	}
	return err
}

// call runs fn in its turn. However fn ends, the writer gets its answer.
func call(r *request, tx *store.Overlay, fn func(store.Tx) error) (err error) {
	take := false
	defer func() { r.ran <- take }()
	err = guardFault(func() error { return fn(tx) })
	if err == nil {
		err = tx.Err()
	}
	take = err == nil
	return err
}

// run commits groups until Close or until an outcome is unknown.
func (w *writer) run() {
	defer close(w.gone)
	for {
		select {
		case <-w.quit:
			return
		case r := <-w.queue:
			if !w.group(r) {
				return
			}
		}
	}
}

// next returns a caller that is waiting now, or nil.
func (w *writer) next() *request {
	select {
	case r := <-w.queue:
		return r
	default:
		return nil
	}
}

// group is one commit in the making.
type group struct {
	tx      *bbolt.Tx
	base    *readTx
	err     error // why the group is lost
	dirty   bool  // something was written
	members []*request
}

// group runs r and whoever waits behind it in one transaction and commits it.
// It returns false when the store must not go on.
func (w *writer) group(r *request) bool {
	g := w.begin()
	for n := 1; r != nil; n++ {
		w.serve(g, r)
		if r = nil; n < groupMax {
			r = w.next()
		}
	}
	if g.dirty && g.err == nil {
		g.err = w.commit(g.tx)
	} else if g.tx != nil {
		w.rollback(g)
	}
	unknown := errors.Is(g.err, store.ErrUnknown)
	switch {
	case unknown:
		w.s.state.fail(g.err)
	case g.dirty && g.err == nil:
		w.s.watchers.wake()
	}
	for _, r := range g.members {
		r.done <- g.err
	}
	return !unknown
}

func (w *writer) begin() *group {
	g := &group{}
	err := guard(func() (err error) {
		g.tx, err = w.s.db.Begin(true)
		return err
	})
	if err != nil {
		// bbolt may have kept its writer lock: the next Begin would hang.
		w.s.state.wedged.Store(true)
		g.err = fmt.Errorf("%w: no transaction could start: %w", store.ErrUnknown, err)
		return g
	}
	g.base, g.err = begin(g.tx, 0)
	return g
}

// serve gives r its turn and takes its writes.
func (w *writer) serve(g *group, r *request) {
	if !r.state.CompareAndSwap(waiting, running) {
		return
	}
	if g.err != nil {
		g.members = append(g.members, r)
		r.turn <- nil
		return
	}
	g.base.now = w.s.clock()
	tx := store.NewOverlay(g.base, w.s.limits)
	r.turn <- tx
	take := <-r.ran
	if !g.dirty && (!take || tx.Len() == 0) {
		r.done <- nil // it saw committed data only: nothing to wait for
		return
	}
	g.members = append(g.members, r)
	if !take || tx.Len() == 0 {
		return
	}
	g.dirty = true
	g.err = guard(func() error { return g.apply(tx) })
}

// apply copies the writes of tx into the transaction. An error leaves the
// transaction half written: the whole group must be rolled back.
func (g *group) apply(tx *store.Overlay) error {
	for k, v := range tx.Changes() {
		var err error
		if v == nil {
			err = g.base.bucket.Delete(k)
		} else {
			err = g.base.bucket.Put(k, pack(k, v))
		}
		if err != nil {
			return fmt.Errorf("store: record %s: %w", printable(k), err)
		}
	}
	return nil
}

func (w *writer) rollback(g *group) {
	if err := guard(g.tx.Rollback); err != nil {
		w.s.state.wedged.Store(true)
		g.err = fmt.Errorf("%w: rollback: %w", store.ErrUnknown, errors.Join(err, g.err))
	}
}

// commit makes tx durable. An error of bbolt does not say whether it did: the
// second sync may fail after the new meta page is in place. A sync is never
// repeated, because the kernel forgets a failed page after telling once.
func (w *writer) commit(tx *bbolt.Tx) error {
	id := tx.ID()
	failpoint.Hit(failpoint.BeforeCommit)
	w.s.metaMu.Lock()
	err := guard(tx.Commit)
	w.s.metaMu.Unlock()
	if err == nil {
		failpoint.Hit(failpoint.AfterCommit)
		return nil
	}
	if errors.Is(err, store.ErrCorrupt) { // it panicked, perhaps with locks held
		if err := guard(tx.Rollback); err != nil && !errors.Is(err, berrors.ErrTxClosed) {
			w.s.state.wedged.Store(true)
		}
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return classify(err, w.visible(id))
}

// visible reports whether transaction id became the current one, or might have:
// its meta page is the commit's own sequence number.
func (w *writer) visible(id int) bool {
	seen := id
	err := guard(func() error {
		tx, err := w.s.db.Begin(false)
		if err != nil {
			return err
		}
		seen = tx.ID()
		return tx.Rollback()
	})
	return err != nil || seen >= id
}

// classify maps an error of a write to the store's errors. What may have become
// visible, and what is not understood, is unknown.
func classify(err error, visible bool) error {
	switch {
	case visible:
	case isFull(err):
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

// isFull recognises a full disk and a used-up quota. bbolt flattens some errors
// of growing the file to text, so the text is looked at too.
func isFull(err error) bool {
	for _, no := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, no) || strings.Contains(err.Error(), no.Error()) {
			return true
		}
	}
	return false
}
