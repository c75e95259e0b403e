// Package bolt is store.Store on one bbolt file, the embedded default.
//
// What it adds to bbolt: commits shared by all waiting callers while the next
// callers have their turns, a checksum on every record, a look at the file before
// it is mapped, a birth that a full disk or a crash cannot spoil, and errors that
// say whether a write happened. Locks between processes that keep no file open
// are in Lock.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"loopx/kernel/store"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Options are what Open may be told; the zero value is a store for use.
type Options struct {
	// Clock gives UTC milliseconds for Now. Nil is the wall clock.
	Clock func() int64
	// ReadOnly opens an existing file for reading, also in a folder and on a
	// medium that cannot be written. Every Update returns store.ErrReadOnly.
	ReadOnly bool
	// LockTimeout is how long Open waits for another process that has the file
	// open; then it returns store.ErrLocked. 0 is one second, negative is not at all.
	LockTimeout time.Duration
	// Limits replaces the bounds of one transaction; zero fields keep the
	// defaults of 4,096 operations, 16 MiB, and 4 MiB for a value.
	Limits store.Limits
	// NoSync skips every sync. A crash of the machine then loses or destroys the
	// file; it is for tests that do not crash.
	NoSync bool
	// Logger is told what an operator should know. Nil discards it.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = time.Second
	}
	if o.Limits.Ops == 0 {
		o.Limits.Ops = 4096
	}
	if o.Limits.Bytes == 0 {
		o.Limits.Bytes = 16 << 20
	}
	if o.Limits.Value == 0 {
		o.Limits.Value = 4 << 20
	}
	return o
}

// Store is an open file. It implements store.Store.
type Store struct {
	db       *bbolt.DB
	file     *os.File // of db: valid while a transaction is open
	path     string
	clock    func() int64
	limits   store.Limits
	readOnly bool

	state    *state
	writer   *writer // nil when readOnly
	watchers watchers
	metaMu   sync.Mutex // held while a commit writes its meta page

	closeOnce sync.Once
	closeErr  error
}

// state is whether a Store serves.
type state struct {
	log    *slog.Logger
	once   sync.Once
	failed chan struct{}
	err    error // set before failed is closed
	closed atomic.Bool
	wedged atomic.Bool // bbolt's locks may be held for ever
}

var _ store.Store = (*Store)(nil)

// Limits are the bounds of one transaction.
func (s *Store) Limits() store.Limits { return s.limits }

// Failed is closed once an outcome is unknown; see store.ErrUnknown.
func (s *Store) Failed() <-chan struct{} { return s.state.failed }

// fail stops the store for good because of err, which is store.ErrUnknown.
func (s *state) fail(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.failed)
		s.log.Error("the store stopped: an outcome is unknown", "error", err)
	})
}

// lost is why nothing may be written any more, or nil.
func (s *state) lost() error {
	select {
	case <-s.failed:
		return s.err
	default:
		return nil
	}
}

// refusal is why a call is not served: failed or closed.
func (s *state) refusal() error {
	if err := s.lost(); err != nil {
		return err
	}
	return store.ErrClosed
}

// ready returns why a call with ctx must not start, or nil.
func (s *state) ready(ctx context.Context) error {
	switch err := s.lost(); {
	case err != nil:
		return err
	case s.closed.Load():
		return store.ErrClosed
	}
	return ctx.Err()
}

// View runs fn on a snapshot. ctx counts until fn starts. A View that stays
// open keeps the pages it can see from being reused: the file grows. A View
// inside a View may wait for ever once the file is larger than 1 GiB.
func (s *Store) View(ctx context.Context, fn func(store.ReadTx) error) error {
	return s.view(ctx, func(tx *bbolt.Tx) error {
		t, err := begin(tx, s.clock())
		if err != nil {
			return err
		}
		return guardFault(func() error { return fn(t) })
	})
}

// view runs fn in a reading transaction of bbolt.
func (s *Store) view(ctx context.Context, fn func(*bbolt.Tx) error) error {
	if err := s.state.ready(ctx); err != nil {
		return err
	}
	tx, err := s.beginRead()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	return fn(tx)
}

func (s *Store) beginRead() (tx *bbolt.Tx, err error) {
	err = guard(func() (err error) {
		tx, err = s.db.Begin(false)
		return err
	})
	switch {
	case err == nil:
		return tx, nil
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return nil, store.ErrClosed
	case errors.Is(err, store.ErrCorrupt):
		// Both meta pages went bad under the open file, and bbolt panicked with
		// its locks held. Nothing can be read any more.
		s.state.wedged.Store(true)
		err = fmt.Errorf("%w: %w", store.ErrUnknown, err)
		s.state.fail(err)
	}
	return nil, err
}

// Update runs fn in its turn and returns when its group is durable. fn runs in
// the caller's goroutine while every other writer waits, so it must not block,
// and must call neither Update nor View.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	if err := s.state.ready(ctx); err != nil {
		return err
	}
	if s.readOnly {
		return store.ErrReadOnly
	}
	return s.writer.update(ctx, fn)
}

// Watch wakes after commits of this Store. Other processes cannot commit while
// it is open for writing; a read-only Store never wakes.
func (s *Store) Watch(ctx context.Context) <-chan struct{} { return s.watchers.add(ctx) }

// Backup writes a consistent copy, which Open can open, while the store goes on.
// The file grows while it runs, so w should not be slow: write to a file first.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	return s.view(ctx, func(tx *bbolt.Tx) error {
		return guard(func() error {
			to := &ctxWriter{ctx: ctx, w: w}
			_, err := tx.WriteTo(to)
			if to.err != nil {
				return to.err // bbolt keeps only its text
			}
			return err
		})
	})
}

// ctxWriter ends a copy when its context does, and remembers why it ended.
type ctxWriter struct {
	ctx context.Context
	w   io.Writer
	err error
}

// copyStep is how much of a copy is read and written at once.
const copyStep = 1 << 20

// ReadFrom implements io.ReaderFrom, so that bbolt copies in large steps.
func (c *ctxWriter) ReadFrom(r io.Reader) (n int64, err error) {
	return io.CopyBuffer(struct{ io.Writer }{c}, r, make([]byte, copyStep))
}

// Write implements io.Writer.
func (c *ctxWriter) Write(b []byte) (n int, err error) {
	if c.err = c.ctx.Err(); c.err == nil {
		n, c.err = c.w.Write(b)
	}
	return n, c.err
}

// Moved returns an error when the name no longer leads to the open file: it was
// deleted or replaced, and what is written now would be lost. Ask it now and then.
func (s *Store) Moved() error {
	return s.view(context.Background(), func(*bbolt.Tx) error {
		at, err := os.Lstat(s.path)
		if err != nil {
			return fmt.Errorf("store: the open file lost its name: %w", err)
		}
		mine, err := s.file.Stat()
		if err != nil {
			return err
		}
		if !os.SameFile(at, mine) {
			return fmt.Errorf("store: %s is another file now", s.path)
		}
		return nil
	})
}

// Close finishes the group that runs, refuses whoever waits with
// store.ErrClosed, waits for open Views and frees the file. Only the first call
// does something; all return its error.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.state.closed.Store(true)
		if s.writer != nil {
			close(s.writer.quit)
			<-s.writer.gone
		}
		s.watchers.close()
		if s.state.wedged.Load() {
			s.closeErr = errors.New("store: the file stays open until the process ends: its library stopped in the middle")
			return
		}
		s.closeErr = guard(func() error {
			s.seal()
			return s.db.Close()
		})
	})
	return s.closeErr
}

// watchers are the channels of Watch.
type watchers struct {
	mu     sync.Mutex
	closed bool
	stop   map[chan struct{}]func() bool
}

func (w *watchers) add(ctx context.Context) <-chan struct{} {
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		close(ch)
		return ch
	}
	if w.stop == nil {
		w.stop = make(map[chan struct{}]func() bool)
	}
	w.stop[ch] = context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, ok := w.stop[ch]; ok {
			delete(w.stop, ch)
			close(ch)
		}
	})
	return ch
}

func (w *watchers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.stop {
		select {
		case ch <- struct{}{}:
		default: // one wake-up is already waiting
		}
	}
}

func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for ch, stop := range w.stop {
		stop()
		delete(w.stop, ch)
		close(ch)
	}
}
