package bolt

import (
	"bytes"
	"fmt"
	"os"
)

// Checking the branches of a large file before mapping it costs a read for about
// one page in seventy, and a command opens the file for one key. Whoever closes
// a file that it opened soundly leaves a seal beside it: size, time of the last
// write and transaction. While all three still fit, nobody but this program has
// written since, and only the meta pages are checked again. Anything else that
// touches the file breaks the seal; so does a process that was killed.

// sealed says whether the file is as the last one left it who had checked it.
func sealed(path string, f *os.File, m meta) bool {
	want, err := sealOf(f, m)
	if err != nil {
		return false
	}
	got, err := os.ReadFile(SealPath(path))
	return err == nil && bytes.Equal(got, want)
}

// SealPath is the file that Close leaves beside the database at path. It goes
// with the database: who removes or renames that one removes this one.
func SealPath(path string) string { return path + ".seal" }

func sealOf(f *os.File, m meta) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%d %d %d\n", info.Size(), info.ModTime().UnixNano(), m.txid), nil
}

// seal leaves the seal; it is only ever a saving, so a failure is no error.
func (s *Store) seal() {
	if s.readOnly {
		return
	}
	select {
	case <-s.state.failed:
		return // what is in the file is not known
	default:
	}
	info, err := s.file.Stat()
	if err != nil {
		return
	}
	m, lost, err := readMeta(s.file, info.Size())
	if err != nil || lost != nil {
		return
	}
	if sealed(s.path, s.file, m) {
		return // nothing was written
	}
	text, err := sealOf(s.file, m)
	if err != nil {
		return
	}
	tmp := SealPath(s.path) + ".new"
	if os.WriteFile(tmp, text, 0o600) != nil || os.Rename(tmp, SealPath(s.path)) != nil {
		_ = os.Remove(tmp)
	}
}
