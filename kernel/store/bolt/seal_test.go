package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"loopx/kernel/store"
)

// A file that only this program has written since it was checked is not checked
// again; whatever else touches it is seen.
func TestSeal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	write := func(key string) {
		t.Helper()
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Put([]byte(key), []byte("v")) }); err != nil {
			t.Fatal(err)
		}
	}
	holds := func() bool {
		t.Helper()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := readMeta(f, info.Size())
		return err == nil && sealed(path, f, m)
	}
	for _, key := range []string{"a", "b"} {
		write(key)
		if !holds() {
			t.Fatalf("no seal after writing %s", key)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The root page is damaged in place, by somebody else.
	m, _, err := readMeta(mustOpen(t, path), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	copy(raw[int(m.root)*m.pageSize:], []byte("damage damage damage"))
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if holds() {
		t.Fatal("the seal holds over another's write")
	}
	if _, err := Open(path, Options{}); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("the damaged file opens: %v", err)
	}
}

// A store whose outcome is unknown leaves no seal.
func TestNoSealAfterAnUnknownOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	close(s.state.failed)
	_ = s.Close()
	if _, err := os.Stat(SealPath(path)); err == nil {
		t.Fatal("a seal was left")
	}
}

func mustOpen(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}
