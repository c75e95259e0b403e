package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// bucketName holds the records; it also names their format: value, then the
// checksum of checksum().
const bucketName = "kv1"

// walker follows a file's pages from one meta. It visits each page once at
// most, so it ends on any file, however damaged.
type walker struct {
	r    io.ReaderAt
	m    meta
	tick func() error // called for each page read; an error ends the walk
	used bitmap

	// full reads leaves and records too; else only what leads to them, which is
	// about one page in seventy.
	full   bool
	record func(key, value []byte) error
	bucket bool // bucketName was found
}

type bitmap []uint64

func (b bitmap) has(i uint64) bool { return b[i/64]&(1<<(i%64)) != 0 }

// set marks i and reports whether it was free before.
func (b bitmap) set(i uint64) bool {
	if b.has(i) {
		return false
	}
	b[i/64] |= 1 << (i % 64)
	return true
}

func newBitmap(n uint64) bitmap { return make(bitmap, n/64+1) }

// walk checks the structure under w.m: the root, the bucket, its branches and
// the freelist; with full also the leaves, the records and that no page is lost.
func (w *walker) walk() error {
	w.used = newBitmap(w.m.pages)
	w.used.set(0)
	w.used.set(1)
	root, err := w.read(w.m.root)
	if err != nil {
		return err
	}
	if root.flags != flagLeaf {
		return damage("root page %d has type %#x", root.id, root.flags)
	}
	if err := root.elems(func(_ int, e elem) error { return w.root(e) }); err != nil {
		return err
	}
	if !w.bucket {
		return damage("the file holds no %q records: it was not written by this program", bucketName)
	}
	return w.freelist()
}

// root takes an element of the root page, which holds nothing but our bucket.
func (w *walker) root(e elem) error {
	if e.flags != leafBucket || string(e.key) != bucketName || len(e.value) < bucketSize {
		return damage("the root page holds something else than our records: %s", printable(e.key))
	}
	w.bucket = true
	if id := binary.NativeEndian.Uint64(e.value); id != 0 {
		height := 0
		if !w.full {
			var err error
			if height, err = w.height(id); err != nil {
				return err
			}
		}
		return w.tree(id, nil, nil, height)
	}
	// A small bucket lies inline in its parent.
	b := e.value[bucketSize:]
	if len(b) < headerSize {
		return damage("the inline bucket is cut off")
	}
	p := parsePage(w.m.root, b)
	if p.flags != flagLeaf || p.overflow != 0 {
		return damage("the inline bucket has type %#x", p.flags)
	}
	return w.leaf(p, nil, nil)
}

// claim marks the pages of id as used by the tree.
func (w *walker) claim(id, overflow uint64) error {
	if id < 2 || id >= w.m.pages || overflow >= w.m.pages-id {
		return damage("page %d (+%d) is outside of the file's %d pages", id, overflow, w.m.pages)
	}
	for i := id; i <= id+overflow; i++ {
		if !w.used.set(i) {
			return damage("page %d is used twice", i)
		}
	}
	return nil
}

// read returns page id with its overflow, claimed.
func (w *walker) read(id uint64) (page, error) {
	if w.tick != nil {
		if err := w.tick(); err != nil {
			return page{}, err
		}
	}
	if id < 2 || id >= w.m.pages {
		return page{}, damage("page %d is outside of the file's %d pages", id, w.m.pages)
	}
	ps := w.m.pageSize
	buf := make([]byte, ps)
	if _, err := w.r.ReadAt(buf, int64(id)*int64(ps)); err != nil {
		return page{}, damage("page %d cannot be read: %v", id, err)
	}
	if got := binary.NativeEndian.Uint64(buf); got != id {
		return page{}, damage("page %d says it is page %d", id, got)
	}
	p := parsePage(id, buf)
	if err := w.claim(id, p.overflow); err != nil {
		return page{}, err
	}
	if p.overflow > 0 {
		whole := make([]byte, ps*int(p.overflow+1))
		if _, err := w.r.ReadAt(whole, int64(id)*int64(ps)); err != nil {
			return page{}, damage("page %d cannot be read: %v", id, err)
		}
		p.data = whole
	}
	return p, nil
}

// height counts the branch levels above the leaves by going down the left side.
// All leaves of a B+ tree lie equally deep, so one path tells.
func (w *walker) height(id uint64) (int, error) {
	const deepest = 64 // more than 2^64 records could need
	buf := make([]byte, headerSize+elemSize)
	for h := range deepest {
		if id < 2 || id >= w.m.pages {
			return 0, damage("page %d is outside of the file's %d pages", id, w.m.pages)
		}
		if _, err := w.r.ReadAt(buf, int64(id)*int64(w.m.pageSize)); err != nil {
			return 0, damage("page %d cannot be read: %v", id, err)
		}
		switch p := parsePage(id, buf); {
		case p.flags == flagLeaf:
			return h, nil
		case p.flags != flagBranch || p.count == 0:
			return 0, damage("page %d has type %#x and %d elements", id, p.flags, p.count)
		}
		id = binary.NativeEndian.Uint64(buf[headerSize+8:])
	}
	return 0, damage("the tree is deeper than %d levels", deepest)
}

// tree checks page id and what is below; its keys must lie in [lo, hi), where
// nil is open. Without full, pages at height 0 are leaves and are only claimed.
func (w *walker) tree(id uint64, lo, hi []byte, height int) error {
	if !w.full && height == 0 {
		return w.claim(id, 0)
	}
	p, err := w.read(id)
	if err != nil {
		return err
	}
	switch p.flags {
	case flagLeaf:
		return w.leaf(p, lo, hi)
	case flagBranch:
	default:
		return damage("page %d has type %#x", id, p.flags)
	}
	if p.count == 0 {
		return damage("branch page %d is empty", id)
	}
	kids := make([]elem, 0, p.count)
	if err := p.elems(func(i int, e elem) error {
		// The first key of a branch may stay above a key that was added below it
		// later; the bound that counts is the parent's.
		if i > 0 {
			if err := errors.Join(between(p.id, e.key, lo, hi), between(p.id, e.key, kids[i-1].key, hi)); err != nil {
				return err
			}
		}
		kids = append(kids, e)
		return nil
	}); err != nil {
		return err
	}
	for i, kid := range kids {
		from, to := lo, hi
		if i > 0 {
			from = kid.key
		}
		if i+1 < len(kids) {
			to = kids[i+1].key
		}
		if err := w.tree(kid.child, from, to, height-1); err != nil {
			return err
		}
	}
	return nil
}

// leaf checks the order of a leaf's keys and hands out its records.
func (w *walker) leaf(p page, lo, hi []byte) error {
	if !w.full {
		return nil
	}
	if p.count == 0 && (lo != nil || hi != nil) {
		return damage("page %d has no records, and is not the only one", p.id)
	}
	var last []byte
	return p.elems(func(i int, e elem) error {
		if e.flags != 0 {
			return damage("page %d: record %s has type %#x", p.id, printable(e.key), e.flags)
		}
		if i > 0 && bytes.Compare(last, e.key) >= 0 {
			return damage("page %d: record %s is out of order", p.id, printable(e.key))
		}
		if err := between(p.id, e.key, lo, hi); err != nil {
			return err
		}
		last = e.key
		return w.record(e.key, e.value)
	})
}

func between(id uint64, key, lo, hi []byte) error {
	if len(key) == 0 || bytes.Compare(key, lo) < 0 || hi != nil && bytes.Compare(key, hi) >= 0 {
		return damage("page %d: record %s is out of order", id, printable(key))
	}
	return nil
}

// freelist checks that no free page is in use and, with full, that every page is
// one of both.
func (w *walker) freelist() error {
	if w.m.freelist == noFreelist {
		return damage("the freelist is missing")
	}
	p, err := w.read(w.m.freelist)
	if err != nil {
		return err
	}
	if p.flags != flagFreelist {
		return damage("freelist page %d has type %#x", p.id, p.flags)
	}
	ids, count := p.data[headerSize:], uint64(p.count)
	if count == 0xffff {
		count = binary.NativeEndian.Uint64(ids)
		ids = ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return damage("freelist page %d: %d entries do not fit", p.id, count)
	}
	for i := range count {
		id := binary.NativeEndian.Uint64(ids[i*8:])
		if id < 2 || id >= w.m.pages {
			return damage("free page %d is outside of the file's %d pages", id, w.m.pages)
		}
		if !w.used.set(id) {
			return damage("page %d is free and in use", id)
		}
	}
	if !w.full {
		return nil
	}
	for i := range w.m.pages {
		if !w.used.has(i) {
			return damage("page %d is neither free nor in use", i)
		}
	}
	return nil
}

// printable shows a key as its parts, quoted and cut, for messages.
func printable(key []byte) string {
	const most = 120
	if len(key) > most {
		return strconv.Quote(string(key[:most])) + fmt.Sprintf("... (%d bytes)", len(key))
	}
	return strconv.Quote(string(key))
}
