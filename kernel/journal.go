package kernel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"loopx/kernel/store"
)

// Record is one accepted command in the journal. Its hash covers its bytes, and
// each record names the hash of the one before it.
type Record struct {
	Seq     uint64  `json:"seq"`
	Prev    string  `json:"prev"`
	At      int64   `json:"at"`
	Steady  int64   `json:"at_steady"`
	Command string  `json:"command"`
	Key     string  `json:"key,omitempty"`
	Payload string  `json:"payload,omitempty"` // digest of the command under Key
	By      Actor   `json:"by"`
	Events  []Event `json:"events"`
	Receipt Receipt `json:"receipt"`
}

// Head is the newest journal position.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// keyRow is the row under an idempotency key: what was asked, and the record
// that holds the receipt.
type keyRow struct {
	Payload string `json:"payload"`
	Seq     uint64 `json:"seq"`
	// Receipt stands here once the record may be gone.
	Receipt *Receipt `json:"receipt,omitempty"`
}

// Head returns the journal's head; zero for an empty workspace.
func (r *Reader) Head() Head {
	if h := get[Head](r, tblHead); h != nil {
		return *h
	}
	return Head{}
}

// Record returns one journal record or nil.
func (r *Reader) Record(seq uint64) *Record { return get[Record](r, tblJournal, store.U64(seq)) }

// Journal returns records behind seq in order, at most limit.
func (r *Reader) Journal(after uint64, limit int) []*Record {
	rg := store.Under(limit, tblJournal).After(store.Key(tblJournal, store.U64(after)))
	return rows[Record](r, rg)
}

// Glance is what a follower of the journal looks for in a record; the rest of it
// is not decoded.
type Glance struct {
	Seq    uint64 `json:"seq"`
	Events []struct {
		Type      string     `json:"type"`
		Goal      string     `json:"goal"`
		Subject   string     `json:"subject"`
		Gate      *Gate      `json:"gate"`
		Principal *Principal `json:"principal"`
	} `json:"events"`
}

// Glances returns glances of the records behind seq in order, at most limit.
func (r *Reader) Glances(after uint64, limit int) []*Glance {
	return rows[Glance](r, store.Under(limit, tblJournal).After(store.Key(tblJournal, store.U64(after))))
}

// NewestRecords returns the newest records, newest first.
func (r *Reader) NewestRecords(limit int) []*Record {
	return rows[Record](r, store.Under(limit, tblJournal).Last())
}

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// commit applies a record and appends it. A replayed record comes with the bytes
// it has, raw, and keeps them, and with them the hash that the next one names.
func (t *tables) commit(rec *Record, raw []byte) {
	for i := range rec.Events {
		t.apply(&rec.Events[i])
	}
	if raw == nil {
		var err error
		raw, err = Marshal(rec)
		t.fail(err)
	}
	t.putRaw(raw, store.Key(tblJournal, store.U64(rec.Seq)))
	t.put(Head{Seq: rec.Seq, Hash: hashOf(raw)}, tblHead)
	if rec.Key != "" {
		t.put(keyRow{Payload: rec.Payload, Seq: rec.Seq}, tblReceipt, rec.Key)
	}
}

// Replay applies every journal record of from into the empty store to, checking
// the chain on the way, and starts at the snapshot where there is one. Afterwards
// both hold byte-equal kernel tables.
func Replay(ctx context.Context, from, to store.Store) error {
	return replay(ctx, from, to, math.MaxUint64)
}

// replay is Replay that ends behind the record upto.
func replay(ctx context.Context, from, to store.Store, upto uint64) error {
	if err := initSchema(ctx, to); err != nil {
		return err
	}
	var base *Base
	err := from.View(ctx, func(tx store.ReadTx) error {
		r := &Reader{tx: tx}
		base = r.Base()
		return r.err
	})
	prev, seq, named := "", uint64(0), base == nil
	if err == nil && base != nil {
		if base.Seq > upto {
			return fmt.Errorf("%w: the journal starts behind record %d", store.ErrCorrupt, upto)
		}
		prev, seq = base.Hash, base.Seq
		err = base.load(ctx, from, to)
	}
	if err != nil {
		return err
	}
	for {
		var batch [][]byte
		var head Head
		err := from.View(ctx, func(tx store.ReadTx) error {
			r := &Reader{tx: tx}
			if batch, head = nil, r.Head(); r.err != nil {
				return r.err
			}
			rg := store.Under(replayBatch, tblJournal).After(store.Key(tblJournal, store.U64(seq)))
			return tx.Scan(rg, func(_, v []byte) bool { batch = append(batch, append([]byte(nil), v...)); return true })
		})
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			switch {
			case head != (Head{Seq: seq, Hash: prev}):
				return fmt.Errorf("%w: the journal ends at record %d and not where its head says", store.ErrCorrupt, seq)
			case !named:
				return fmt.Errorf("%w: no record of the journal names the snapshot it starts at", store.ErrCorrupt)
			}
			return nil
		}
		recs := make([]*Record, 0, len(batch))
		for _, raw := range batch {
			if seq == upto {
				break
			}
			rec := new(Record)
			if err := json.Unmarshal(raw, rec); err != nil || !rec.sound() {
				return fmt.Errorf("%w: journal record %d does not decode", store.ErrCorrupt, seq+1)
			}
			if rec.Seq != seq+1 || rec.Prev != prev {
				return fmt.Errorf("%w: the journal chain breaks at record %d", store.ErrCorrupt, seq+1)
			}
			for i := range rec.Events {
				b := rec.Events[i].Base
				named = named || b != nil && *b == *base
			}
			recs = append(recs, rec)
			prev, seq = hashOf(raw), rec.Seq
		}
		if err := recommit(ctx, to, recs, batch); err != nil {
			return err
		}
		if seq == upto {
			return nil
		}
	}
}

// replayBatch is how many records are applied in one transaction where the store
// takes that many: most of a replay's time goes into commits.
const replayBatch = 256

// ReplayLimits are bounds under which a scratch store takes a whole batch of
// ordinary records.
func ReplayLimits() store.Limits { return store.Limits{Ops: 1 << 16, Bytes: 64 << 20} }

// recommit applies records, whose bytes are raw, in one transaction, or where
// they are too much for one, in halves.
func recommit(ctx context.Context, to store.Store, recs []*Record, raw [][]byte) error {
	err := to.Update(ctx, func(tx store.Tx) error {
		t := &tables{reader: Reader{tx: tx, seen: map[string]any{}}, w: tx}
		for i, rec := range recs {
			t.now, t.steady = rec.At, rec.Steady
			t.commit(rec, raw[i])
		}
		return t.err
	})
	if !errors.Is(err, store.ErrTooLarge) || len(recs) < 2 {
		return err
	}
	half := len(recs) / 2
	if err := recommit(ctx, to, recs[:half], raw); err != nil {
		return err
	}
	return recommit(ctx, to, recs[half:], raw[half:])
}
