package kernel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"

	"loopx/kernel/store"
)

// A compacted state begins with a snapshot: the tables as they were after one
// record of the journal, in chunks. The records up to there are gone. A later
// record, which the hash chain covers, names the snapshot's digest and the hash
// of the last record it stands for, so neither can be exchanged.

// Base is what a snapshot stands for.
type Base struct {
	Seq    uint64 `json:"seq"`  // the last record in it
	Hash   string `json:"hash"` // of that record
	Digest string `json:"digest"`
	Rows   int    `json:"rows"`
	Chunks int    `json:"chunks"`
	Schema int    `json:"schema"`
}

// chunkBytes is the size after which a chunk is closed; a row may pass it.
const chunkBytes = 256 << 10

// Base returns the snapshot that the journal starts at; nil when it starts at its
// first record.
func (r *Reader) Base() *Base { return get[Base](r, tblBase) }

// CompactState records that the journal before a snapshot was left out. It is run
// on a copy before the copy becomes the state, so it has no name on the wire.
type CompactState struct {
	Base Base `json:"base"`
}

// Name implements Command.
func (*CompactState) Name() string { return "state.compact" }

func (c *CompactState) decide(r *reader, e *env) (*decided, error) {
	if err := e.owner("compacting the journal"); err != nil {
		return nil, err
	}
	if !c.Base.sound() || c.Base.Seq > r.Head().Seq {
		return nil, Errorf(Invalid, "bad_snapshot", "the snapshot is none of this journal")
	}
	b := c.Base
	return &decided{changed: true, events: []Event{{Type: StateCompacted, Subject: utoa(b.Seq), Base: &b}}, result: map[string]any{"upto": b.Seq, "rows": b.Rows}}, nil
}

// CompactTo is the last record before a date (UTC ms) that may be left out: what
// was pruned, and nothing that upto forbids. It returns 0 when there is none.
func (r *Reader) CompactTo(before int64, upto uint64) uint64 {
	last := uint64(0)
	if b := r.Base(); b != nil {
		last = b.Seq
	}
	begin := last
	upto = min(upto, r.Head().Seq)
	for last < upto {
		page := rows[struct {
			Seq uint64 `json:"seq"`
			At  int64  `json:"at"`
		}](r, store.Under(500, tblJournal).After(store.Key(tblJournal, store.U64(last))))
		for _, v := range page {
			if v.At >= before || v.Seq > upto {
				return last * min(last-begin, 1)
			}
			last = v.Seq
		}
		if len(page) == 0 {
			break
		}
	}
	return last * min(last-begin, 1)
}

// WriteCompacted writes what is in from into the empty store to, with a snapshot
// in the place of the records up to upto. scratch is an empty store for the
// tables as they were then. The caller runs CompactState on to with what it returns.
func WriteCompacted(ctx context.Context, from, scratch, to store.Store, upto uint64) (*Base, error) {
	if err := replay(ctx, from, scratch, upto, false); err != nil {
		return nil, err
	}
	out := &copier{ctx: ctx, to: to}
	err := eachRow(ctx, from, func(k, v []byte) error {
		if n, ok := journalSeq(k); ok && n <= upto || isTable(k, tblSnap) {
			return nil
		}
		return out.put(k, v)
	})
	if err != nil {
		return nil, err
	}
	b := &Base{Seq: upto, Schema: Schema}
	sum := sha256.New()
	var chunk []byte
	flush := func() error {
		if len(chunk) == 0 {
			return nil
		}
		sum.Write(chunk)
		b.Chunks++
		err := out.put(store.Key(tblSnap, store.U64(uint64(b.Chunks))), chunk)
		chunk = nil
		return err
	}
	err = eachRow(ctx, scratch, func(k, v []byte) error {
		if _, journal := journalSeq(k); journal || isTable(k, tblSchema) || isTable(k, tblSnap) {
			return nil
		}
		chunk = append(binary.AppendUvarint(chunk, uint64(len(k))), k...)
		chunk = append(binary.AppendUvarint(chunk, uint64(len(v))), v...)
		b.Rows++
		if len(chunk) >= chunkBytes {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = out.flush()
	}
	if err != nil {
		return nil, err
	}
	b.Digest = hex.EncodeToString(sum.Sum(nil))
	err = scratch.View(ctx, func(tx store.ReadTx) error {
		r := &Reader{tx: tx}
		b.Hash = r.Head().Hash
		return r.err
	})
	return b, err
}

func isTable(key []byte, table string) bool {
	return bytes.HasPrefix(key, []byte(table)) && (len(key) == len(table) || key[len(table)] == 0)
}

// journalSeq reads the number of a journal row's key.
func journalSeq(key []byte) (uint64, bool) {
	if !isTable(key, tblJournal) {
		return 0, false
	}
	n, err := strconv.ParseUint(store.LastPart(key), 16, 64)
	return n, err == nil
}

// eachRow walks a store in pages, so that no transaction stays open for long.
func eachRow(ctx context.Context, st store.Store, fn func(k, v []byte) error) error {
	var next []byte
	for {
		n := 0
		var failed error
		err := st.View(ctx, func(tx store.ReadTx) error {
			return tx.Scan(store.Range{From: next, Limit: 1000}, func(k, v []byte) bool {
				n++
				next = append(bytes.Clone(k), 0)
				failed = fn(bytes.Clone(k), bytes.Clone(v))
				return failed == nil
			})
		})
		switch {
		case failed != nil:
			return failed
		case err != nil:
			return err
		case n < 1000:
			return nil
		}
	}
}

// copier writes rows in transactions of a size that every store takes.
type copier struct {
	ctx  context.Context
	to   store.Store
	rows [][2][]byte
	size int
}

func (c *copier) put(k, v []byte) error {
	c.rows = append(c.rows, [2][]byte{k, v})
	if c.size += len(k) + len(v); len(c.rows) < 1000 && c.size < 2<<20 {
		return nil
	}
	return c.flush()
}

func (c *copier) flush() error {
	if len(c.rows) == 0 {
		return nil
	}
	err := c.to.Update(c.ctx, func(tx store.Tx) error {
		for _, r := range c.rows {
			if err := tx.Put(r[0], r[1]); err != nil {
				return err
			}
		}
		return nil
	})
	c.rows, c.size = nil, 0
	return err
}

// load puts a snapshot's rows into an empty store and checks its digest.
func (b *Base) load(ctx context.Context, from, to store.Store) error {
	damaged := func(what string) error { return fmt.Errorf("%w: the snapshot %s", store.ErrCorrupt, what) }
	if b.Schema != Schema {
		return damaged(fmt.Sprintf("has the layout %d", b.Schema))
	}
	out := &copier{ctx: ctx, to: to}
	sum, n := sha256.New(), 0
	for i := 1; i <= b.Chunks; i++ {
		var chunk []byte
		err := from.View(ctx, func(tx store.ReadTx) error {
			v, err := tx.Get(store.Key(tblSnap, store.U64(uint64(i))))
			chunk = bytes.Clone(v)
			return err
		})
		if err != nil {
			return err
		}
		if chunk == nil {
			return damaged("lacks a part")
		}
		k, err := out.unpack(chunk, sum)
		if err != nil {
			return damaged("does not decode")
		}
		n += k
	}
	if hex.EncodeToString(sum.Sum(nil)) != b.Digest || n != b.Rows {
		return damaged("does not match its digest")
	}
	return out.flush()
}

// unpack writes the rows of one chunk and returns how many there were.
func (c *copier) unpack(chunk []byte, sum hash.Hash) (int, error) {
	sum.Write(chunk)
	n := 0
	for len(chunk) > 0 {
		var kv [2][]byte
		for i := range kv {
			size, w := binary.Uvarint(chunk)
			if w <= 0 || size > uint64(len(chunk)-w) {
				return 0, store.ErrCorrupt
			}
			kv[i], chunk = chunk[w:w+int(size)], chunk[w+int(size):]
		}
		if err := c.put(kv[0], kv[1]); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}
