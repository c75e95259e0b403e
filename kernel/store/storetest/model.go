package storetest

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"
	"time"

	"loopx/kernel/store"
)

// pair is one record of the model.
type pair struct{ Key, Value []byte }

// model keeps everything in one sorted slice that is replaced, never changed;
// a snapshot is the slice as it was.
type model struct {
	clock  func() int64
	limits store.Limits

	turn    sync.Mutex // held by the one Update that runs
	mu      sync.Mutex // guards what follows
	data    []pair
	closed  bool
	watches map[chan struct{}]func() bool

	failed chan struct{}
}

// NewModel returns an empty in-memory Store to compare others with. It is
// simple rather than fast: an Update costs time proportional to the number of
// records. A nil clock is the wall clock.
func NewModel(clock func() int64) store.Store {
	if clock == nil {
		clock = func() int64 { return time.Now().UnixMilli() }
	}
	return &model{
		clock:   clock,
		limits:  store.Limits{Ops: 4096, Bytes: 16 << 20, Value: 4 << 20},
		watches: make(map[chan struct{}]func() bool),
		failed:  make(chan struct{}),
	}
}

// LoadModel reads what Backup of a model wrote.
func LoadModel(r io.Reader, clock func() int64) (store.Store, error) {
	m := NewModel(clock).(*model)
	if err := gob.NewDecoder(r).Decode(&m.data); err != nil {
		return nil, fmt.Errorf("%w: %v", store.ErrCorrupt, err)
	}
	return m, nil
}

func (m *model) snapshot() ([]pair, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, store.ErrClosed
	}
	return m.data, nil
}

func (m *model) View(ctx context.Context, fn func(store.ReadTx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := m.snapshot()
	if err != nil {
		return err
	}
	return fn(modelTx{data, m.clock()})
}

func (m *model) Update(ctx context.Context, fn func(store.Tx) error) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := m.snapshot()
	if err != nil {
		return err
	}
	tx := store.NewOverlay(modelTx{data, m.clock()}, m.limits)
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.Err(); err != nil {
		return err
	}
	if tx.Len() == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data = apply(data, tx)
	for ch := range m.watches {
		select {
		case ch <- struct{}{}:
		default: // one wake-up is already waiting
		}
	}
	return nil
}

// apply merges the changes of tx into a new slice.
func apply(data []pair, tx *store.Overlay) []pair {
	next := make([]pair, 0, len(data)+tx.Len())
	for k, v := range tx.Changes() {
		n := find(data, k)
		next = append(next, data[:n]...)
		data = data[n:]
		if len(data) > 0 && bytes.Equal(data[0].Key, k) {
			data = data[1:]
		}
		if v != nil {
			next = append(next, pair{k, v})
		}
	}
	return append(next, data...)
}

// find is the index of the first record that is not below key.
func find(data []pair, key []byte) int {
	return sort.Search(len(data), func(i int) bool { return bytes.Compare(data[i].Key, key) >= 0 })
}

func (m *model) Watch(ctx context.Context) <-chan struct{} {
	ch := make(chan struct{}, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		close(ch)
		return ch
	}
	m.watches[ch] = context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if _, ok := m.watches[ch]; ok {
			delete(m.watches, ch)
			close(ch)
		}
	})
	return ch
}

func (m *model) Limits() store.Limits    { return m.limits }
func (m *model) Failed() <-chan struct{} { return m.failed }

func (m *model) Backup(ctx context.Context, w io.Writer) error {
	data, err := m.snapshot()
	if err := errors.Join(ctx.Err(), err); err != nil {
		return err
	}
	return gob.NewEncoder(w).Encode(data)
}

func (m *model) Verify(ctx context.Context) error {
	data, err := m.snapshot()
	if err := errors.Join(ctx.Err(), err); err != nil {
		return err
	}
	if !slices.IsSortedFunc(data, func(a, b pair) int { return bytes.Compare(a.Key, b.Key) }) {
		return fmt.Errorf("%w: records out of order", store.ErrCorrupt)
	}
	return nil
}

func (m *model) Close() error {
	m.turn.Lock()
	defer m.turn.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for ch, stop := range m.watches {
		stop()
		delete(m.watches, ch)
		close(ch)
	}
	return nil
}

// modelTx is a snapshot of a model.
type modelTx struct {
	data []pair
	now  int64
}

func (t modelTx) Now() int64 { return t.now }

func (t modelTx) Get(key []byte) ([]byte, error) {
	if i := find(t.data, key); i < len(t.data) && bytes.Equal(t.data[i].Key, key) {
		return t.data[i].Value, nil
	}
	return nil, nil
}

func (t modelTx) Scan(r store.Range, fn func(key, value []byte) bool) error {
	if err := r.Check(); err != nil {
		return err
	}
	lo, hi := find(t.data, r.From), len(t.data)
	if r.To != nil {
		hi = find(t.data, r.To)
	}
	if lo >= hi {
		return nil
	}
	part := t.data[lo:hi]
	for i := range min(r.Limit, len(part)) {
		p := part[i]
		if r.Reverse {
			p = part[len(part)-1-i]
		}
		if !fn(p.Key, p.Value) {
			return nil
		}
	}
	return nil
}
