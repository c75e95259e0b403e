package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"

	"loopx/kernel/store"
)

// The layout of a bbolt file, version 2. bbolt itself trusts what it maps: a
// damaged pointer makes it panic, die of a fault or read for ever. So the pages
// are looked at here first, through plain reads that cannot fault, with every
// pointer and length checked before it is followed.
const (
	pageMagic   = 0xED0CDAED
	pageVersion = 2
	noFreelist  = ^uint64(0)

	headerSize = 16
	elemSize   = 16
	metaSize   = 64
	bucketSize = 16

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagMeta     = 0x04
	flagFreelist = 0x10

	leafBucket = 0x01

	minPage, maxPage = 1 << 10, 1 << 24 // what bbolt itself searches for
	minPages         = 4                // two metas, a freelist, a root
)

// meta is one of the two roots of a file; the valid one with the higher txid rules.
type meta struct {
	pageSize int
	root     uint64
	freelist uint64
	pages    uint64 // high water: pages in use are below
	txid     uint64
}

// damage is a structural error; it is store.ErrCorrupt.
func damage(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{store.ErrCorrupt}, args...)...)
}

// parseMeta reads a meta from the start of its page.
func parseMeta(page []byte) (meta, error) {
	order := binary.NativeEndian
	b := page[headerSize : headerSize+metaSize]
	h := fnv.New64a()
	_, _ = h.Write(b[:56])
	switch {
	case order.Uint32(b) != pageMagic:
		return meta{}, errors.New("not a database page (magic)")
	case order.Uint32(b[4:]) != pageVersion:
		return meta{}, fmt.Errorf("format version %d, not %d", order.Uint32(b[4:]), pageVersion)
	case order.Uint64(b[56:]) != h.Sum64():
		return meta{}, errors.New("checksum does not match")
	}
	m := meta{
		pageSize: int(order.Uint32(b[8:])),
		root:     order.Uint64(b[16:]),
		freelist: order.Uint64(b[32:]),
		pages:    order.Uint64(b[40:]),
		txid:     order.Uint64(b[48:]),
	}
	if m.pageSize < minPage || m.pageSize > maxPage || m.pageSize&(m.pageSize-1) != 0 {
		return meta{}, fmt.Errorf("page size %d", m.pageSize)
	}
	return m, nil
}

// metas holds what was found in the two slots.
type metas struct {
	slot [2]meta
	err  [2]error
}

// current returns the ruling meta.
func (m metas) current() (meta, error) {
	switch {
	case m.err[0] != nil && m.err[1] != nil:
		return meta{}, damage("both meta pages are lost (first: %v; second: %v)", m.err[0], m.err[1])
	case m.err[0] != nil:
		return m.slot[1], nil
	case m.err[1] != nil || m.slot[0].txid > m.slot[1].txid:
		return m.slot[0], nil
	default:
		return m.slot[1], nil
	}
}

// lost says which slot is unreadable; nil when both are fine.
func (m metas) lost() error { return errors.Join(m.err[0], m.err[1]) }

// readMetas reads both slots. The page size is known from the first, or
// searched for when that one is lost, as bbolt does.
func readMetas(r io.ReaderAt, size int64) metas {
	var m metas
	buf := make([]byte, headerSize+metaSize)
	read := func(slot int, at int64) bool {
		if _, err := r.ReadAt(buf, at); err != nil {
			m.err[slot] = err
			return false
		}
		m.slot[slot], m.err[slot] = parseMeta(buf)
		return m.err[slot] == nil
	}
	if read(0, 0) {
		read(1, int64(m.slot[0].pageSize))
		return m
	}
	m.err[1] = errors.New("not found")
	for ps := int64(minPage); ps <= maxPage && ps < size; ps *= 2 {
		if read(1, ps) && int64(m.slot[1].pageSize) == ps {
			return m
		}
	}
	if m.err[1] == nil {
		m.err[1] = errors.New("page size does not fit its place")
	}
	return m
}

// readMeta checks the size of the file against its metas and returns the ruling one.
func readMeta(r io.ReaderAt, size int64) (m meta, lost error, err error) {
	if size == 0 {
		return meta{}, nil, damage("the file is empty (0 bytes)")
	}
	both := readMetas(r, size)
	m, err = both.current()
	if err != nil {
		return meta{}, nil, fmt.Errorf("%w; size %d bytes", err, size)
	}
	ps := int64(m.pageSize)
	switch {
	case size < minPages*ps:
		return meta{}, nil, damage("the file is cut off: %d bytes, at least %d are needed", size, minPages*ps)
	case m.pages < minPages || m.pages > uint64(size/ps):
		return meta{}, nil, damage("the file is cut off: %d bytes, its %d pages need %d", size, m.pages, m.pages*uint64(ps))
	case size%ps != 0:
		return meta{}, nil, damage("the file is cut off: %d bytes are no multiple of the page size %d", size, ps)
	case m.root < 2 || m.root >= m.pages:
		return meta{}, nil, damage("root page %d is outside of the file's %d pages", m.root, m.pages)
	case m.freelist != noFreelist && (m.freelist < 2 || m.freelist >= m.pages):
		return meta{}, nil, damage("freelist page %d is outside of the file's %d pages", m.freelist, m.pages)
	}
	return m, both.lost(), nil
}

// page is one page with its overflow pages.
type page struct {
	id       uint64
	flags    uint16
	count    int
	overflow uint64
	data     []byte // header included
}

func parsePage(id uint64, b []byte) page {
	order := binary.NativeEndian
	return page{
		id:       id,
		flags:    order.Uint16(b[8:]),
		count:    int(order.Uint16(b[10:])),
		overflow: uint64(order.Uint32(b[12:])),
		data:     b,
	}
}

// elem is one element of a branch or leaf page.
type elem struct {
	key, value []byte
	child      uint64 // branch
	flags      uint32 // leaf
}

// elems checks the layout of a whole page and calls fn for each element until
// it returns an error. bbolt writes keys and values back to back behind the
// element table, so any changed count, position or length shows.
func (p page) elems(fn func(i int, e elem) error) error {
	order := binary.NativeEndian
	next := headerSize + p.count*elemSize
	if next > len(p.data) {
		return damage("page %d: %d elements do not fit", p.id, p.count)
	}
	for i := range p.count {
		at := headerSize + i*elemSize
		b := p.data[at : at+elemSize]
		var e elem
		var pos, ksize, vsize uint64
		if p.flags == flagBranch {
			pos, ksize, e.child = uint64(order.Uint32(b)), uint64(order.Uint32(b[4:])), order.Uint64(b[8:])
		} else {
			e.flags, pos = order.Uint32(b), uint64(order.Uint32(b[4:]))
			ksize, vsize = uint64(order.Uint32(b[8:])), uint64(order.Uint32(b[12:]))
		}
		if uint64(at)+pos != uint64(next) || ksize+vsize > uint64(len(p.data)-next) {
			return damage("page %d: element %d lies outside of its place", p.id, i)
		}
		mid, end := next+int(ksize), next+int(ksize+vsize)
		e.key, e.value = p.data[next:mid], p.data[mid:end]
		next = end
		if err := fn(i, e); err != nil {
			return err
		}
	}
	// bbolt writes pages into zeroed memory: a count that was lost leaves records
	// behind, and no element is there to notice.
	if p.count == 0 && len(bytes.TrimLeft(p.data[headerSize:], "\x00")) > 0 {
		return damage("page %d: it says it is empty and is not", p.id)
	}
	// One spare page is what older versions allocated for an exact fit.
	if ps := len(p.data) / int(p.overflow+1); p.overflow > 0 && next <= len(p.data)-2*ps {
		return damage("page %d: %d overflow pages for %d bytes", p.id, p.overflow, next)
	}
	return nil
}
