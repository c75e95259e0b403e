package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"loopx/kernel/store"
)

// Replay applies every journal record of from into the empty store to, checking
// the chain on the way, and starts at the snapshot where there is one. Afterwards
// both hold byte-equal kernel tables.
func Replay(ctx context.Context, from, to store.Store) error {
	return replay(ctx, from, to, math.MaxUint64, false)
}

// Rebuild is Replay for whoever compares the tables: it leaves the journal's own
// rows out of to, which would be copies of what was read. checked says of a key
// that it is that of a record which was read and stands in the chain.
func Rebuild(ctx context.Context, from, to store.Store) (checked func(key []byte) bool, err error) {
	base, err := baseOf(ctx, from)
	if err != nil {
		return nil, err
	}
	first := uint64(1)
	if base != nil {
		first = base.Seq + 1
	}
	checked = func(key []byte) bool {
		n, ok := journalSeq(key)
		return ok && n >= first && bytes.Equal(key, store.Key(tblJournal, store.U64(n)))
	}
	return checked, replay(ctx, from, to, math.MaxUint64, true)
}

// baseOf is the snapshot that a journal starts at; nil when it starts at its
// first record.
func baseOf(ctx context.Context, st store.Store) (base *Base, err error) {
	err = st.View(ctx, func(tx store.ReadTx) error {
		r := &Reader{tx: tx}
		base = r.Base()
		return r.err
	})
	return base, err
}

// replay is Replay that ends behind the record upto; tablesOnly leaves the
// journal out. Records are read and decoded, applied, and committed by three
// goroutines at once, in order.
func replay(ctx context.Context, from, to store.Store, upto uint64, tablesOnly bool) error {
	if err := initSchema(ctx, to); err != nil {
		return err
	}
	base, err := baseOf(ctx, from)
	if err != nil {
		return err
	}
	in := &journalReader{from: from, upto: upto, base: base, keys: tablesOnly}
	if base != nil {
		if base.Seq > upto {
			return fmt.Errorf("%w: the journal starts behind record %d", store.ErrCorrupt, upto)
		}
		in.prev, in.seq = base.Hash, base.Seq
		if err := base.load(ctx, from, to); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	batches := make(chan *recordBatch)
	var failed error
	go func() {
		defer close(batches)
		for {
			b, err := in.next(ctx)
			if failed = err; err != nil || b == nil {
				return
			}
			select {
			case batches <- b:
			case <-ctx.Done():
				failed = ctx.Err()
				return
			}
		}
	}()
	out := &applier{to: to, tablesOnly: tablesOnly}
	for b := range batches {
		if err = out.apply(ctx, b); err != nil {
			stop()
			break
		}
	}
	for range batches { // until the reader has ended
	}
	if err == nil {
		err = out.wait()
	}
	if err == nil {
		err = failed
	}
	return err
}

// replayBatch is how many records are applied in one transaction where the store
// takes that many: most of a replay's time would go into commits.
const replayBatch = 512

// ReplayLimits are bounds under which a scratch store takes a whole batch of
// ordinary records.
func ReplayLimits() store.Limits { return store.Limits{Ops: 1 << 17, Bytes: 64 << 20} }

// recordBatch is records with the bytes they are decoded from.
type recordBatch struct {
	recs []*Record
	raw  [][]byte
}

// journalReader decodes the records behind seq and checks the chain.
type journalReader struct {
	from  store.Store
	upto  uint64
	base  *Base
	keys  bool // each record must stand under the key of its number
	prev  string
	seq   uint64
	named bool // a record named the base
}

// next returns the next records, nil behind the last.
func (j *journalReader) next(ctx context.Context) (*recordBatch, error) {
	if j.seq == j.upto {
		return nil, nil
	}
	b := &recordBatch{}
	var keys [][]byte
	var head Head
	err := j.from.View(ctx, func(tx store.ReadTx) error {
		r := &Reader{tx: tx}
		b.raw, keys, head = nil, nil, r.Head()
		if r.err != nil {
			return r.err
		}
		rg := store.Under(replayBatch, tblJournal).After(store.Key(tblJournal, store.U64(j.seq)))
		return tx.Scan(rg, func(k, v []byte) bool {
			b.raw, keys = append(b.raw, bytes.Clone(v)), append(keys, bytes.Clone(k))
			return true
		})
	})
	switch {
	case err != nil:
		return nil, err
	case len(b.raw) > 0:
	case head != (Head{Seq: j.seq, Hash: j.prev}):
		return nil, fmt.Errorf("%w: the journal ends at record %d and not where its head says", store.ErrCorrupt, j.seq)
	case j.base != nil && !j.named:
		return nil, fmt.Errorf("%w: no record of the journal names the snapshot it starts at", store.ErrCorrupt)
	default:
		return nil, nil
	}
	for i, raw := range b.raw {
		if j.seq == j.upto {
			break
		}
		rec := new(Record)
		if err := json.Unmarshal(raw, rec); err != nil || !rec.sound() {
			return nil, fmt.Errorf("%w: journal record %d does not decode", store.ErrCorrupt, j.seq+1)
		}
		if rec.Seq != j.seq+1 || rec.Prev != j.prev || j.keys && !bytes.Equal(keys[i], store.Key(tblJournal, store.U64(rec.Seq))) {
			return nil, fmt.Errorf("%w: the journal chain breaks at record %d", store.ErrCorrupt, j.seq+1)
		}
		for k := range rec.Events {
			e := rec.Events[k].Base
			j.named = j.named || e != nil && j.base != nil && *e == *j.base
		}
		b.recs = append(b.recs, rec)
		j.prev, j.seq = hashOf(raw), rec.Seq
	}
	return b, nil
}

// applier applies batches, each while the one before is committed.
type applier struct {
	to         store.Store
	tablesOnly bool
	before     chan error // of the batch on its way; nil: none
}

// apply returns when the batch is applied; its commit may still run.
func (a *applier) apply(ctx context.Context, b *recordBatch) error {
	done, ran := make(chan error, 1), make(chan error, 1)
	var once sync.Once
	go func() {
		err := a.to.Update(ctx, func(tx store.Tx) error {
			t := &tables{reader: Reader{tx: tx, seen: map[string]any{}}, w: tx, tablesOnly: a.tablesOnly}
			for i, rec := range b.recs {
				t.now, t.steady = rec.At, rec.Steady
				t.commit(rec, b.raw[i])
			}
			once.Do(func() { ran <- t.err })
			return t.err
		})
		once.Do(func() { ran <- err }) // it was refused before its turn
		done <- err
	}()
	applied, before := <-ran, a.wait()
	a.before = done
	if applied == nil && before == nil {
		return nil
	}
	err := a.wait()
	switch {
	case before != nil:
		return before
	case !errors.Is(applied, store.ErrTooLarge) || len(b.recs) < 2:
		return err
	}
	// Too much for one transaction: in halves.
	half := len(b.recs) / 2
	if err := a.apply(ctx, &recordBatch{b.recs[:half], b.raw[:half]}); err != nil {
		return err
	}
	return a.apply(ctx, &recordBatch{b.recs[half:], b.raw[half:]})
}

// wait returns the outcome of the commit that runs.
func (a *applier) wait() error {
	if a.before == nil {
		return nil
	}
	err := <-a.before
	a.before = nil
	return err
}
