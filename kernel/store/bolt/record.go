package bolt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"loopx/kernel/store"
)

// sumSize is the length of the checksum behind each stored value.
const sumSize = 4

// checksum is CRC-32C over key and value. The key's length is mixed in, so that
// bytes cannot move from one to the other unseen.
func checksum(key, value []byte) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli) // built once by the library
	return crc32.Update(crc32.Update(uint32(len(key)), castagnoli, key), castagnoli, value)
}

// pack returns what is stored for value.
func pack(key, value []byte) []byte {
	b := make([]byte, 0, len(value)+sumSize)
	return binary.LittleEndian.AppendUint32(append(b, value...), checksum(key, value))
}

// unpack checks the checksum behind a stored value and returns the value.
func unpack(key, stored []byte) ([]byte, error) {
	n := len(stored) - sumSize
	if n < 0 {
		return nil, fmt.Errorf("%w: record %s is cut off", store.ErrCorrupt, printable(key))
	}
	if binary.LittleEndian.Uint32(stored[n:]) != checksum(key, stored[:n]) {
		return nil, fmt.Errorf("%w: record %s does not match its checksum", store.ErrCorrupt, printable(key))
	}
	return stored[:n:n], nil
}
