package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
)

// smallDisk mounts an empty file system of 4 MiB and returns its root.
func smallDisk(t *testing.T, kind string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skipf("skipped: mounting a small %s needs root, this is uid %d", kind, os.Getuid())
	}
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Skipf("skipped: no small %s here: %s %v: %v: %s", kind, name, args, err, out)
		}
	}
	switch kind {
	case "tmpfs":
		run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", dir)
	case "ext4":
		image := filepath.Join(t.TempDir(), "image")
		if err := os.WriteFile(image, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(image, 8<<20); err != nil { // about half is its own
			t.Fatal(err)
		}
		run("mkfs.ext4", "-q", "-F", "-m", "0", image)
		run("mount", "-o", "loop", image, dir)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// fillUp writes a file until the disk of dir is full, leaving free bytes.
func fillUp(t *testing.T, dir string, free int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	chunk := make([]byte, 4096)
	var size int64
	for {
		n, err := f.Write(chunk)
		size += int64(n)
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(max(0, size-free)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

func makeRoom(t *testing.T, dir string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
	// ext4 gives the blocks back at its next commit.
	syscall.Sync()
}

func TestFullDisk(t *testing.T) {
	for _, kind := range []string{"tmpfs", "ext4"} {
		t.Run(kind, func(t *testing.T) {
			dir := smallDisk(t, kind)
			s, err := bolt.Open(dbPath(dir), bolt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }() // before the umount, also when the test fails
			put := func(i int) error {
				return s.Update(context.Background(), func(tx store.Tx) error {
					return errors.Join(tx.Put(store.Key("a", store.U64(uint64(i))), make([]byte, 500)),
						tx.Put(store.Key("b", store.U64(uint64(i))), make([]byte, 500)))
				})
			}
			told := 0
			for ; told < 50; told++ {
				if err := put(told); err != nil {
					t.Fatal(err)
				}
			}
			fillUp(t, dir, 256<<10)
			for err = nil; err == nil && told < 100_000; {
				if err = put(told); err == nil {
					told++
				}
			}
			if !errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrUnknown) {
				t.Fatalf("after %d writes: got %v, want ErrFull", told, err)
			}
			whole := func(what string) {
				t.Helper()
				n := [2]int{}
				if err := s.View(t.Context(), func(tx store.ReadTx) error {
					for i, table := range []string{"a", "b"} {
						if err := tx.Scan(store.Under(1<<30, table), func(_, _ []byte) bool { n[i]++; return true }); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if n[0] != told || n[1] != told {
					t.Fatalf("%s: %d transactions were acknowledged, %v are there", what, told, n)
				}
				if err := s.Verify(t.Context()); err != nil {
					t.Fatalf("%s: Verify: %v", what, err)
				}
			}
			whole("full")
			for range 3 {
				if err := put(told); !errors.Is(err, store.ErrFull) {
					t.Fatalf("again: got %v, want ErrFull", err)
				}
			}
			select {
			case <-s.Failed():
				t.Fatal("a full disk stopped the store")
			default:
			}
			whole("still full")
			makeRoom(t, dir)
			for range 20 {
				if err := put(told); err != nil {
					t.Fatalf("with space again: %v", err)
				}
				told++
			}
			whole("with space again")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = bolt.Open(dbPath(dir), bolt.Options{}); err != nil {
				t.Fatal(err)
			}
			whole("reopened")
			t.Logf("%d transactions acknowledged, all there", told)
		})
	}
}

func TestBornOnAFullDisk(t *testing.T) {
	for _, kind := range []string{"tmpfs", "ext4"} {
		t.Run(kind, func(t *testing.T) {
			dir := smallDisk(t, kind)
			refused := 0
			for free := int64(0); free <= 64<<10; free += 4 << 10 {
				fillUp(t, dir, free)
				s, err := bolt.Open(dbPath(dir), bolt.Options{})
				if err == nil {
					if err := s.Close(); err != nil {
						t.Fatalf("%d bytes free: %v", free, err)
					}
				} else if refused++; !errors.Is(err, store.ErrFull) {
					t.Fatalf("%d bytes free: got %v, want ErrFull", free, err)
				}
				if _, err := os.Stat(dbPath(dir) + ".new"); !errors.Is(err, fs.ErrNotExist) {
					t.Fatalf("%d bytes free: an unfinished file stays: %v", free, err)
				}
				makeRoom(t, dir)
				if s, err = bolt.Open(dbPath(dir), bolt.Options{}); err != nil {
					t.Fatalf("%d bytes free at birth, and with space again: %v", free, err)
				}
				if err := errors.Join(s.Update(t.Context(), func(tx store.Tx) error { return tx.Put([]byte("a"), nil) }),
					s.Verify(t.Context()), s.Close(), os.Remove(dbPath(dir))); err != nil {
					t.Fatal(err)
				}
			}
			if refused == 0 {
				t.Fatal("the disk was never full: the test has no teeth")
			}
			t.Logf("17 births, %d refused, every later start works", refused)
		})
	}
}

func TestReadOnlyMedium(t *testing.T) {
	dir := smallDisk(t, "tmpfs")
	s, err := bolt.Open(dbPath(dir), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Update(t.Context(), func(tx store.Tx) error { return tx.Put([]byte("a"), []byte("1")) }), s.Close()); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	if _, err := bolt.Open(dbPath(dir), bolt.Options{}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("open for writing: got %v, want ErrReadOnly", err)
	}
	if _, err := bolt.Open(filepath.Join(dir, "other.db"), bolt.Options{}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("birth: got %v, want ErrReadOnly", err)
	}
	if _, err := bolt.TakeLock(dir, bolt.Holder{}, 0, nil); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("lock: got %v, want ErrReadOnly", err)
	}
	if h, held, err := bolt.ReadHolder(dir); h != (bolt.Holder{}) || held || err != nil {
		t.Errorf("ReadHolder = %v, %v, %v", h, held, err)
	}
	ro, err := bolt.Open(dbPath(dir), bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("read-only open: %v", err)
	}
	defer func() { _ = ro.Close() }()
	if got := fmt.Sprint(contentOf(t, ro)); got != "[a 1]" {
		t.Errorf("content %s", got)
	}
	if err := ro.Update(t.Context(), func(store.Tx) error { t.Error("ran"); return nil }); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Update: got %v, want ErrReadOnly", err)
	}
	if err := ro.Verify(t.Context()); err != nil {
		t.Errorf("Verify: %v", err)
	}
}
