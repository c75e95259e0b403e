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

const (
	// groupMax bounds how many callers share one commit.
	groupMax = 256
	// groupEnough is a group that need not wait for more when the disk is free: its
	// commit costs little more than one of a single caller, and who comes then
	// gets a turn while it runs.
	groupEnough = 32
)

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

// writer owns the write side of a Store. One goroutine gives callers their turns,
// another commits what they wrote: while a group is on its way to the disk, the
// next one is already made on top of it. No caller is answered before its own
// group is durable, and a group is lost with the one it was made on.
type writer struct {
	s     *Store
	queue chan *request
	ready chan *group   // from the one goroutine to the other
	quit  chan struct{} // closed by Close
	gone  chan struct{} // closed when both have ended
}

func newWriter(s *Store) *writer {
	return &writer{
		s:     s,
		queue: make(chan *request, groupMax),
		ready: make(chan *group),
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

// run makes groups until Close or until an outcome is unknown.
func (w *writer) run() {
	defer close(w.gone)
	committed := make(chan struct{})
	go func() {
		defer close(committed)
		for g := range w.ready {
			w.finish(g)
		}
	}()
	defer func() { close(w.ready); <-committed }()
	var before *group // whose outcome may not be known yet
	for {
		select { // where a caller waits too, it must not run
		case <-w.s.state.failed:
			return
		case <-w.quit:
			return
		default:
		}
		var over chan struct{}
		if before != nil {
			over = before.done
		}
		select {
		case <-w.s.state.failed:
			return
		case <-w.quit:
			return
		case <-over:
			before = nil // so that nobody keeps what it wrote
		case r := <-w.queue:
			if g := w.collect(before, r); len(g.members) > 0 {
				w.ready <- g
				before = g
			}
		}
	}
}

// group is one commit in the making.
type group struct {
	base    *readTx        // the snapshot of whoever has its turn
	writes  *store.Overlay // what the members wrote
	before  *group         // whose writes this one saw before they were durable; nil: none
	members []*request
	changes []change      // writes, for the one who commits
	err     error         // why the group is lost; set before done is closed
	done    chan struct{} // closed when the outcome is known
}

// change is one write; a nil value is a removal.
type change struct{ key, value []byte }

// newGroup starts a group behind before, on top of its writes while they are not
// in the file.
func newGroup(before *group) *group {
	g := &group{base: &readTx{}, done: make(chan struct{})}
	below := store.ReadTx(g.base)
	if before != nil && !before.ended() {
		before.writes.Onto(g.base)
		g.before, below = before, before.writes
	}
	g.writes = store.NewOverlay(below, store.Limits{})
	return g
}

func (g *group) ended() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// collect gives r and whoever waits behind it their turns, and goes on with
// those who come while the group before is not durable.
func (w *writer) collect(before *group, r *request) *group {
	g := newGroup(before)
	for n := 1; r != nil; n++ {
		w.serve(g, r)
		if r = nil; n < groupEnough || n < groupMax && g.before != nil && !g.before.ended() {
			r = w.next(g)
		}
	}
	g.changes = make([]change, 0, g.writes.Len())
	for k, v := range g.writes.Changes() {
		g.changes = append(g.changes, change{k, v})
	}
	return g
}

// next returns a caller that is waiting now, or comes while g could not be
// committed anyway; else nil.
func (w *writer) next(g *group) *request {
	select {
	case r := <-w.queue:
		return r
	default:
	}
	if g.before == nil {
		return nil
	}
	select {
	case r := <-w.queue:
		return r
	case <-g.before.done:
		return nil
	}
}

// serve gives r its turn and takes its writes. The snapshot is open for one turn
// only: a commit that must map a larger file waits for all of them.
func (w *writer) serve(g *group, r *request) {
	if !r.state.CompareAndSwap(waiting, running) {
		return
	}
	end, err := w.look(g)
	if err != nil {
		r.turn <- nil
		r.done <- err
		return
	}
	defer end()
	tx := store.NewOverlay(g.writes, w.s.limits)
	r.turn <- tx
	take := <-r.ran
	if take {
		g.writes.Absorb(tx)
	}
	if g.before == nil && g.writes.Len() == 0 {
		r.done <- nil // it saw committed data only: nothing to wait for
		return
	}
	g.members = append(g.members, r)
}

// look opens a snapshot for the next turn of g.
func (w *writer) look(g *group) (end func(), err error) {
	if err := w.s.state.lost(); err != nil {
		return nil, err
	}
	tx, err := w.s.beginRead()
	if err != nil {
		return nil, err
	}
	base, err := begin(tx, w.s.clock())
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	*g.base = *base
	return func() { _ = tx.Rollback() }, nil
}

// finish makes a group durable and tells its members.
func (w *writer) finish(g *group) {
	g.err = w.s.state.lost()
	if g.err == nil && g.before != nil {
		g.err = g.before.err
	}
	g.before = nil // or each group would keep all before it
	if g.err == nil && len(g.changes) > 0 {
		g.err = w.write(g.changes)
		switch {
		case errors.Is(g.err, store.ErrUnknown):
			w.s.state.fail(g.err)
		case g.err == nil:
			w.s.watchers.wake()
		}
	}
	close(g.done)
	for _, r := range g.members {
		r.done <- g.err
	}
}

// write commits changes in one transaction.
func (w *writer) write(changes []change) error {
	var tx *bbolt.Tx
	err := guard(func() (err error) {
		tx, err = w.s.db.Begin(true)
		return err
	})
	if err != nil {
		// bbolt may have kept its writer lock: the next Begin would hang.
		w.s.state.wedged.Store(true)
		return fmt.Errorf("%w: no transaction could start: %w", store.ErrUnknown, err)
	}
	if err := guard(func() error { return apply(tx, changes) }); err != nil {
		return w.rollback(tx, err)
	}
	return w.commit(tx)
}

// apply copies changes into the transaction. An error leaves it half written: the
// whole group must be rolled back.
func apply(tx *bbolt.Tx, changes []change) error {
	t, err := begin(tx, 0)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if c.value == nil {
			err = t.bucket.Delete(c.key)
		} else {
			err = t.bucket.Put(c.key, pack(c.key, c.value))
		}
		if err != nil {
			return fmt.Errorf("store: record %s: %w", printable(c.key), err)
		}
	}
	return nil
}

// rollback gives tx up because of why.
func (w *writer) rollback(tx *bbolt.Tx, why error) error {
	if err := guard(tx.Rollback); err != nil {
		w.s.state.wedged.Store(true)
		return fmt.Errorf("%w: rollback: %w", store.ErrUnknown, errors.Join(err, why))
	}
	return why
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
