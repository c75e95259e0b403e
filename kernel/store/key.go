package store

import (
	"bytes"
	"strconv"
	"strings"
)

// Key joins parts into one ordered key: keys compare as the tuples of their
// parts do. A part may hold any bytes; NUL and 0x01 are escaped so that no part
// can reach over its border.
func Key(parts ...string) []byte {
	n := len(parts)
	for _, p := range parts {
		n += len(p)
	}
	b := make([]byte, 0, n)
	for i, p := range parts {
		if i > 0 {
			b = append(b, 0)
		}
		if strings.IndexByte(p, 0) < 0 && strings.IndexByte(p, 1) < 0 {
			b = append(b, p...)
			continue
		}
		for j := range len(p) {
			switch c := p[j]; c {
			case 0, 1:
				b = append(b, 1, c+1)
			default:
				b = append(b, c)
			}
		}
	}
	return b
}

// Under is the range of all keys that start with the given parts and have more.
func Under(limit int, parts ...string) Range {
	from := append(Key(parts...), 0)
	return Range{From: from, To: prefixEnd(from), Limit: limit}
}

// After narrows a range to the keys behind key (before it, when r is reversed).
func (r Range) After(key []byte) Range {
	if r.Reverse {
		r.To = bytes.Clone(key)
	} else {
		r.From = append(bytes.Clone(key), 0)
	}
	return r
}

// Last returns the same range walked from its end.
func (r Range) Last() Range { r.Reverse = true; return r }

// U64 writes n as a part that sorts as the number does.
func U64(n uint64) string {
	const digits = 16
	s := strconv.FormatUint(n, 16)
	return "0000000000000000"[:digits-len(s)] + s
}

// I64 writes a signed n as a part that sorts as the number does.
func I64(n int64) string { return U64(uint64(n) ^ (1 << 63)) }

// LastPart returns the text behind the last separator of key, unescaped.
func LastPart(key []byte) string {
	i := bytes.LastIndexByte(key, 0)
	part := string(key[i+1:])
	if strings.IndexByte(part, 1) < 0 {
		return part
	}
	return strings.NewReplacer("\x01\x01", "\x00", "\x01\x02", "\x01").Replace(part)
}

// prefixEnd is the first key behind every key with this prefix; nil when there is none.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}
