package store

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
)

// MaxKey is the longest key in bytes that a transaction accepts. Every
// implementation can hold keys of this size.
const MaxKey = 32 << 10

// ErrNoLimit is returned by Scan for a Range whose Limit is not positive. It is
// a bug of the caller, not a state of the store.
var ErrNoLimit = errors.New("store: scan without a limit")

// Check returns ErrNoLimit when r does not say how far the caller is willing to go.
func (r Range) Check() error {
	if r.Limit <= 0 {
		return ErrNoLimit
	}
	return nil
}

// Contains reports whether key lies in [From, To). Limit and Reverse do not matter.
func (r Range) Contains(key []byte) bool {
	return bytes.Compare(key, r.From) >= 0 && (r.To == nil || bytes.Compare(key, r.To) < 0)
}

// Overlay is a Tx that keeps its writes in memory, in front of a snapshot. An
// implementation hands it to the caller's function and copies Changes into its
// own transaction only when the function said yes; so a refused or panicking
// function leaves nothing behind, even when it shares a commit with others.
//
// It is not safe for concurrent use, as no Tx is.
type Overlay struct {
	base   ReadTx
	limits Limits
	writes map[string][]byte // nil value: deleted
	keys   []string          // the keys of writes
	order  int               // how many keys from the first stand in order
	dels   int
	bytes  int
	scans  int // depth of running scans
	err    error
}

var _ Tx = (*Overlay)(nil)

// NewOverlay returns an empty overlay over base. A zero field of limits is no bound.
func NewOverlay(base ReadTx, limits Limits) *Overlay {
	return &Overlay{base: base, limits: limits}
}

// Get returns the overlay's own write when there is one, else what base holds.
func (o *Overlay) Get(key []byte) ([]byte, error) {
	if v, ok := o.writes[string(key)]; ok {
		return v, nil
	}
	return o.base.Get(key)
}

// Now is the clock of the snapshot.
func (o *Overlay) Now() int64 { return o.base.Now() }

// Put buffers a copy of key and value. It returns ErrTooLarge when the
// transaction would pass its limits; the overlay then refuses to be committed
// even if the caller ignores that error.
func (o *Overlay) Put(key, value []byte) error {
	v := make([]byte, len(value)) // never nil: nil means deleted
	copy(v, value)
	return o.write(key, v)
}

// Delete buffers the removal of key; removing an absent key is no error.
func (o *Overlay) Delete(key []byte) error { return o.write(key, nil) }

// Err is the reason why this overlay must not be committed, or nil.
func (o *Overlay) Err() error { return o.err }

// Len is the number of keys that Changes yields.
func (o *Overlay) Len() int { return len(o.writes) }

// Onto moves the overlay in front of another snapshot, which must already hold
// what the overlay was written on.
func (o *Overlay) Onto(base ReadTx) { o.base = base }

// Absorb takes the writes of over, an overlay in front of o that is done with.
// The limits of o do not count: they were over's to keep.
func (o *Overlay) Absorb(over *Overlay) {
	for _, k := range over.keys {
		o.set(k, over.writes[k])
	}
}

// Changes yields every written key in ascending order with its last value; a
// nil value is a removal. The bytes belong to the overlay.
func (o *Overlay) Changes() iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for _, k := range o.sorted() {
			if !yield([]byte(k), o.writes[k]) {
				return
			}
		}
	}
}

func (o *Overlay) write(key, value []byte) error {
	if o.scans > 0 {
		// The merge below walks the same list that a write would change.
		return o.refuse(errors.New("store: write inside Scan"))
	}
	switch {
	case len(key) == 0:
		return o.refuse(errors.New("store: empty key"))
	case len(key) > MaxKey:
		return o.refuse(fmt.Errorf("%w: key of %d bytes, limit %d", ErrTooLarge, len(key), MaxKey))
	case o.limits.Value > 0 && len(value) > o.limits.Value:
		return o.refuse(fmt.Errorf("%w: value of %d bytes, limit %d", ErrTooLarge, len(value), o.limits.Value))
	}
	old, had := o.writes[string(key)]
	ops, size := len(o.writes), o.bytes+len(value)
	if had {
		size -= len(old)
	} else {
		ops++
		size += len(key)
	}
	switch {
	case o.limits.Ops > 0 && ops > o.limits.Ops:
		return o.refuse(fmt.Errorf("%w: more than %d operations", ErrTooLarge, o.limits.Ops))
	case o.limits.Bytes > 0 && size > o.limits.Bytes:
		return o.refuse(fmt.Errorf("%w: more than %d bytes", ErrTooLarge, o.limits.Bytes))
	}
	o.bytes = size
	o.set(string(key), value)
	return nil
}

func (o *Overlay) set(key string, value []byte) {
	if o.writes == nil {
		o.writes = make(map[string][]byte)
	}
	old, had := o.writes[key]
	if !had {
		o.keys = append(o.keys, key)
	}
	if had && old == nil {
		o.dels--
	}
	if value == nil {
		o.dels++
	}
	o.writes[key] = value
}

// refuse remembers the first reason, so that a caller that drops the error of
// Put cannot commit half of what it meant.
func (o *Overlay) refuse(err error) error {
	if o.err == nil {
		o.err = err
	}
	return err
}

// sorted puts the keys in order. A command scans after each few writes, so the
// few that came since then are moved into their places instead of sorting all.
func (o *Overlay) sorted() []string {
	const few = 32
	if len(o.keys)-o.order > few {
		slices.Sort(o.keys)
		o.order = len(o.keys)
	}
	for ; o.order < len(o.keys); o.order++ {
		k := o.keys[o.order]
		at, _ := slices.BinarySearch(o.keys[:o.order], k)
		copy(o.keys[at+1:o.order+1], o.keys[at:o.order])
		o.keys[at] = k
	}
	return o.keys
}

// Scan merges the overlay's writes into the scan of base.
func (o *Overlay) Scan(r Range, fn func(key, value []byte) bool) error {
	if err := r.Check(); err != nil {
		return err
	}
	if r.From != nil && r.To != nil && bytes.Compare(r.From, r.To) >= 0 {
		return nil
	}
	o.scans++
	defer func() { o.scans-- }()
	pending := o.pending(r)
	if len(pending) == 0 {
		return o.base.Scan(r, fn)
	}
	m := merge{pending: pending, writes: o.writes, left: r.Limit, reverse: r.Reverse, fn: fn}
	base := r
	// A buffered removal hides a pair of base, so base must be allowed to visit
	// that many more before the caller's limit is reached.
	if base.Limit > math.MaxInt-o.dels {
		base.Limit = math.MaxInt
	} else {
		base.Limit += o.dels
	}
	if err := o.base.Scan(base, m.visit); err != nil {
		return err
	}
	m.drain(nil)
	return nil
}

// pending returns the written keys inside r, in the order of the walk.
func (o *Overlay) pending(r Range) []string {
	keys := o.sorted()
	lo, _ := slices.BinarySearch(keys, string(r.From))
	hi := len(keys)
	if r.To != nil {
		hi, _ = slices.BinarySearch(keys, string(r.To))
	}
	if lo >= hi {
		return nil
	}
	keys = keys[lo:hi]
	if r.Reverse {
		keys = slices.Clone(keys)
		slices.Reverse(keys)
	}
	return keys
}

// merge is the state of one Scan.
type merge struct {
	pending []string
	writes  map[string][]byte
	left    int
	reverse bool
	stopped bool
	fn      func(key, value []byte) bool
}

// visit takes one pair of base and reports whether base should go on.
func (m *merge) visit(key, value []byte) bool {
	m.drain(key)
	if m.stopped {
		return false
	}
	if len(m.pending) > 0 && m.pending[0] == string(key) {
		value = m.writes[m.pending[0]]
		m.pending = m.pending[1:]
		if value == nil {
			return true
		}
	}
	m.emit(key, value)
	return !m.stopped
}

// drain emits the pending writes that come before key in the walk; a nil key
// is the end of base.
func (m *merge) drain(key []byte) {
	for len(m.pending) > 0 && !m.stopped {
		k := m.pending[0]
		if key != nil {
			c := strings.Compare(k, string(key))
			if m.reverse {
				c = -c
			}
			if c >= 0 {
				return
			}
		}
		m.pending = m.pending[1:]
		if v := m.writes[k]; v != nil {
			m.emit([]byte(k), v)
		}
	}
}

func (m *merge) emit(key, value []byte) {
	m.left--
	if !m.fn(key, value) || m.left == 0 {
		m.stopped = true
	}
}
