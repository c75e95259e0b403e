package kernel

import (
	"crypto/sha256"
	"encoding/hex"

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
		clear(t.seen) // of rows that were put; the next command reads what is stored
		var err error
		raw, err = Marshal(rec)
		t.fail(err)
	}
	if !t.tablesOnly {
		t.putRaw(raw, store.Key(tblJournal, store.U64(rec.Seq)))
	}
	t.put(Head{Seq: rec.Seq, Hash: hashOf(raw)}, tblHead)
	if rec.Key != "" {
		t.put(keyRow{Payload: rec.Payload, Seq: rec.Seq}, tblReceipt, rec.Key)
	}
}
