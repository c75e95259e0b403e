package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"loopx/kernel/store"

	"go.etcd.io/bbolt"
)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func txid(t *testing.T, s *Store) (id int) {
	t.Helper()
	if err := s.view(t.Context(), func(tx *bbolt.Tx) error { id = tx.ID(); return nil }); err != nil {
		t.Fatal(err)
	}
	return id
}

func put(key string) func(store.Tx) error {
	return func(tx store.Tx) error { return tx.Put([]byte(key), []byte("v")) }
}

// queued waits until n callers stand in the writer's queue.
func queued(t *testing.T, s *Store, n int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); len(s.writer.queue) < n; {
		if time.Now().After(end) {
			t.Fatalf("%d callers are waiting, want %d", len(s.writer.queue), n)
		}
		<-time.After(time.Millisecond)
	}
}

func TestCallersShareACommit(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	const n = groupEnough - 1
	before := txid(t, s)
	var wg sync.WaitGroup
	err := s.Update(t.Context(), func(tx store.Tx) error {
		for i := range n {
			wg.Go(func() {
				if err := s.Update(context.Background(), put(fmt.Sprint(i))); err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
			})
		}
		queued(t, s, n)
		return tx.Put([]byte("first"), nil)
	})
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if got := txid(t, s) - before; got != 1 {
		t.Fatalf("%d callers took %d commits, want 1", n+1, got)
	}
}

// behind lets n callers come while the commit of a first one stands still, waits
// until a whole group of them had its turn, and goes on after then. It returns
// what each was told, the first one last; the last of the n refuses because of
// what the first one wrote.
func behind(t *testing.T, s *Store, n int, then func()) (told []error, refused error) {
	t.Helper()
	hold, err := s.db.Begin(true) // the commit cannot begin its transaction
	if err != nil {
		t.Fatal(err)
	}
	told, refused = make([]error, n+1), errors.New("refused because of the first")
	var wg sync.WaitGroup
	var answered atomic.Int32
	update := func(i int, fn func(store.Tx) error) {
		wg.Go(func() {
			told[i] = s.Update(context.Background(), fn)
			answered.Add(1)
		})
	}
	ran, seen := make(chan struct{}), make(chan string, n)
	update(n, func(tx store.Tx) error {
		close(ran)
		return tx.Put([]byte("first"), []byte("v"))
	})
	<-ran
	for i := range n {
		update(i, func(tx store.Tx) error {
			v, err := tx.Get([]byte("first"))
			seen <- string(v)
			if err = errors.Join(err, tx.Put(store.Key("k", fmt.Sprint(i)), nil)); i == n-1 {
				err = refused
			}
			return err
		})
	}
	for range min(n, groupMax) {
		if v := <-seen; v != "v" {
			t.Errorf("a caller read %q, want what the first one wrote", v)
		}
	}
	if got := answered.Load(); got != 0 {
		t.Errorf("%d callers were answered before anything was durable", got)
	}
	then()
	if err := hold.Rollback(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	return told, refused
}

func TestTheNextGroupIsMadeWhileOneCommits(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	before := txid(t, s)
	const n = groupMax + groupEnough
	told, refused := behind(t, s, n, func() {})
	for i, err := range told {
		if i == n-1 && errors.Is(err, refused) {
			continue
		}
		if err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	if got := txid(t, s) - before; got < 2 || got > 4 {
		t.Errorf("%d callers took %d commits, want 2 to 4", n+1, got)
	}
	if err := s.View(t.Context(), func(tx store.ReadTx) error {
		rows := 0
		err := tx.Scan(store.Under(2*n, "k"), func(_, _ []byte) bool { rows++; return true })
		if rows != n-1 {
			t.Errorf("%d rows are there, want %d", rows, n-1)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAGroupIsLostWithTheOneBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, path)
	told, _ := behind(t, s, 5, func() { _ = s.file.Close() }) // every write fails now
	for i, err := range told {
		if !errors.Is(err, store.ErrUnknown) {
			t.Errorf("caller %d was told %v, want ErrUnknown", i, err)
		}
	}
	_ = s.Close()
	if err := open(t, path).View(t.Context(), func(tx store.ReadTx) error {
		return tx.Scan(store.Range{Limit: 10}, func(k, _ []byte) bool { t.Errorf("%q is there", k); return true })
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAReadingUpdateCommitsNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	before := txid(t, s)
	for range 5 {
		_ = s.Update(t.Context(), func(store.Tx) error { return errors.New("no") })
		if err := s.Update(t.Context(), func(store.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if got := txid(t, s); got != before {
		t.Fatalf("transaction %d became %d", before, got)
	}
}

func TestAnUnknownOutcomeStopsTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, path)
	if err := s.Update(t.Context(), put("kept")); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	var ran atomic.Int32
	var second, third error
	var wg sync.WaitGroup
	first := s.Update(t.Context(), func(tx store.Tx) error {
		wg.Go(func() {
			second = s.Update(context.Background(), func(tx store.Tx) error {
				ran.Add(1)
				if v, _ := tx.Get([]byte("lost")); v != nil {
					return refused // because of a write that will not come true
				}
				return nil
			})
		})
		queued(t, s, 1)
		if err := s.file.Close(); err != nil { // every write of the commit fails now
			return err
		}
		return tx.Put([]byte("lost"), []byte("v"))
	})
	wg.Wait()
	wg.Go(func() { third = s.Update(context.Background(), func(store.Tx) error { ran.Add(100); return nil }) })
	wg.Wait()
	for i, err := range []error{first, second, third,
		s.View(t.Context(), func(store.ReadTx) error { ran.Add(100); return nil }),
		s.Verify(t.Context())} {
		if !errors.Is(err, store.ErrUnknown) {
			t.Errorf("call %d: got %v, want ErrUnknown", i, err)
		}
	}
	if ran.Load() != 1 {
		t.Errorf("functions ran that should not: %d", ran.Load())
	}
	select {
	case <-s.Failed():
	default:
		t.Error("Failed is open")
	}
	_ = s.Close()
	again := open(t, path)
	if err := again.View(t.Context(), func(tx store.ReadTx) error {
		kept, err := tx.Get([]byte("kept"))
		lost, err2 := tx.Get([]byte("lost"))
		if string(kept) != "v" || lost != nil {
			t.Errorf("kept %q, lost %q", kept, lost)
		}
		return errors.Join(err, err2)
	}); err != nil {
		t.Fatal(err)
	}
}

func TestCommitErrorsAreTold(t *testing.T) {
	wrap := func(no syscall.Errno) error { return &fs.PathError{Op: "write", Path: "db", Err: no} }
	tests := []struct {
		name    string
		err     error
		visible bool
		want    error
	}{
		{"full", wrap(syscall.ENOSPC), false, store.ErrFull},
		{"full, flattened to text", fmt.Errorf("file sync error: %s", wrap(syscall.ENOSPC)), false, store.ErrFull},
		{"quota", wrap(syscall.EDQUOT), false, store.ErrFull},
		{"full, yet visible", wrap(syscall.ENOSPC), true, store.ErrUnknown},
		{"read-only", wrap(syscall.EROFS), false, store.ErrReadOnly},
		{"read-only, yet visible", wrap(syscall.EROFS), true, store.ErrUnknown},
		{"broken disk", wrap(syscall.EIO), false, store.ErrUnknown},
		{"broken disk, visible", wrap(syscall.EIO), true, store.ErrUnknown},
	}
	for _, c := range tests {
		got := classify(c.err, c.visible)
		for _, e := range []error{store.ErrFull, store.ErrReadOnly, store.ErrUnknown} {
			if errors.Is(got, e) != (e == c.want) {
				t.Errorf("%s: %v is %v: %v", c.name, got, e, errors.Is(got, e))
			}
		}
	}
	s := open(t, filepath.Join(t.TempDir(), "db"))
	now := txid(t, s)
	if !s.writer.visible(now) || s.writer.visible(now+1) {
		t.Errorf("transaction %d: visible %v, the next: visible %v", now, s.writer.visible(now), s.writer.visible(now+1))
	}
}

func TestAHungReadEndsAsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, began := make(chan struct{}), time.Now()
		var progress atomic.Int64
		err := supervise(&progress, func() error { <-release; return nil })
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("got %v, want ErrCorrupt", err)
		}
		if took := time.Since(began); took < patience || took > patience+2*time.Second {
			t.Errorf("it took %v, want about %v", took, patience)
		}
		close(release)
	})
	synctest.Test(t, func(t *testing.T) {
		var progress atomic.Int64
		err := supervise(&progress, func() error {
			for range 100 { // slow, but it moves
				<-time.After(patience / 2)
				progress.Add(1)
			}
			return nil
		})
		if err != nil {
			t.Errorf("slow is not hung: %v", err)
		}
	})
}

func TestMovedFileIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, path)
	if err := s.Moved(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := s.Moved(); err == nil {
		t.Error("a missing file went unnoticed")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Moved(); err == nil {
		t.Error("another file went unnoticed")
	}
}

func TestCompact(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	s := open(t, path)
	fill := func(fn func(tx store.Tx, key []byte) error) {
		t.Helper()
		for from := 0; from < 4000; from += 1000 {
			if err := s.Update(t.Context(), func(tx store.Tx) error {
				for i := from; i < from+1000; i++ {
					if err := fn(tx, store.Key("k", store.U64(uint64(i)))); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(func(tx store.Tx, key []byte) error { return tx.Put(key, make([]byte, 500)) })
	if s.NeedsCompact() {
		t.Error("a full file needs no compaction")
	}
	fill(func(tx store.Tx, key []byte) error { return tx.Delete(key) })
	if err := s.Update(t.Context(), put("left")); err != nil {
		t.Fatal(err)
	}
	before, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if !s.NeedsCompact() {
		t.Errorf("an emptied file needs compaction: %+v", before)
	}
	copied := filepath.Join(dir, "copy")
	if err := s.Compact(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context(), copied); !errors.Is(err, fs.ErrExist) {
		t.Errorf("compacting over a file: %v", err)
	}
	if err := CompactFile(t.Context(), path, Options{LockTimeout: -1}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("compacting an open file: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".compact", []byte("of a crash"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CompactFile(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, copied} {
		c := open(t, p)
		after, err := c.Stats()
		if err != nil || after.Bytes*10 > before.Bytes || c.NeedsCompact() {
			t.Errorf("%s: %+v after, %+v before (%v)", p, after, before, err)
		}
		if err := errors.Join(c.View(t.Context(), func(tx store.ReadTx) error {
			v, err := tx.Get([]byte("left"))
			if string(v) != "v" {
				t.Errorf("%s: the record is %q", p, v)
			}
			return err
		}), c.Verify(t.Context()), c.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestTheFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	mode := func() fs.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	if mode() != 0o600 {
		t.Errorf("born with mode %v", mode())
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if mode() != 0o600 {
		t.Errorf("a restored file stays open to others: %v", mode())
	}
}
