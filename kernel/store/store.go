// Package store is the contract between the kernel and whatever keeps its
// bytes: ordered keys, serialisable transactions, wake-ups, limits and errors.
// No word of the domain appears here; no implementation does either.
package store

import (
	"context"
	"errors"
	"io"
)

// Errors that every Store returns. Implementations wrap them; callers test
// with errors.Is.
var (
	// ErrUnknown: the outcome of a commit is not known. The transaction may or
	// may not be durable. The store has stopped serving writes; the process
	// must exit, reopen and let the command's idempotency key answer the retry.
	ErrUnknown = errors.New("store: commit outcome unknown")
	// ErrFull: the disk is full. Nothing of the transaction was written; the
	// store goes on serving and the same call may succeed once space is back.
	ErrFull = errors.New("store: no space left")
	// ErrReadOnly: the medium or the open mode refuses writes. Nothing was written.
	ErrReadOnly = errors.New("store: read-only")
	// ErrTooLarge: the transaction passed Limits. Nothing was written.
	ErrTooLarge = errors.New("store: transaction too large")
	// ErrCorrupt: bytes do not match their checksum or the file's structure is
	// damaged. The file is kept as it is.
	ErrCorrupt = errors.New("store: data is damaged")
	// ErrClosed: the store was closed before the call could run. Nothing was written.
	ErrClosed = errors.New("store: closed")
	// ErrLocked: another process holds the store. Nothing was read or written.
	ErrLocked = errors.New("store: locked by another process")
)

// Range is a half-open key range [From, To). A nil From starts at the first
// key, a nil To ends after the last. Reverse walks from the end.
type Range struct {
	From, To []byte
	// Limit bounds the pairs visited; it must be > 0. Nothing may scan without
	// saying how far it is willing to go.
	Limit   int
	Reverse bool
}

// ReadTx is one consistent snapshot.
type ReadTx interface {
	// Get returns the value of key, or nil when it is absent (a stored empty
	// value is non-nil and empty). The bytes are valid until the transaction ends.
	Get(key []byte) ([]byte, error)
	// Scan calls fn for each pair of r in order until fn returns false or
	// r.Limit pairs were visited. fn must not write. Key and value are valid
	// until fn returns.
	Scan(r Range, fn func(key, value []byte) bool) error
	// Now is the wall clock in UTC milliseconds, fixed for the transaction.
	Now() int64
}

// Tx reads its own writes. Everything it wrote becomes visible at once, or not
// at all when the function that holds it returns an error or panics.
type Tx interface {
	ReadTx
	Put(key, value []byte) error
	Delete(key []byte) error
}

// Limits are the hard bounds of one transaction.
type Limits struct {
	Ops   int // puts and deletes
	Bytes int // keys and values written
	Value int // one value
}

// Store keeps ordered keys. All methods may be called at the same time.
type Store interface {
	// View runs fn on a snapshot.
	View(ctx context.Context, fn func(ReadTx) error) error
	// Update runs fn in a serialisable transaction and returns once it is
	// durable. fn may run more than once and must have no side effect outside
	// the transaction. An error of fn comes back unchanged and nothing is
	// written. A context that ends before fn has started returns its error and
	// writes nothing; later it is ignored, so that no outcome is left unknown.
	Update(ctx context.Context, fn func(Tx) error) error
	// Watch returns a channel that receives after commits. It is a wake-up, not
	// a log: several commits may become one receive. It is closed when ctx ends
	// or the store closes.
	Watch(ctx context.Context) <-chan struct{}
	Limits() Limits
	// Backup writes a consistent copy while the store goes on serving.
	Backup(ctx context.Context, w io.Writer) error
	// Verify reads everything and returns ErrCorrupt, wrapped with what is
	// damaged, or nil.
	Verify(ctx context.Context) error
	// Failed is closed when the store met ErrUnknown and must not be used further.
	Failed() <-chan struct{}
	Close() error
}
