package bolt_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"loopx/kernel/store"
	"loopx/kernel/store/bolt"

	"go.uber.org/goleak"
)

// held starts a process that holds the lock of dir.
func held(t *testing.T, dir string) *child {
	t.Helper()
	c := start(t, "hold", dir)
	if line, err := c.out.ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	return c
}

func TestTheSecondProcessLearnsWhoHoldsTheLock(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	c := held(t, dir)
	for _, timeout := range []time.Duration{0, 30 * time.Millisecond} {
		_, err := bolt.TakeLock(dir, bolt.Holder{}, timeout, nil)
		var locked *bolt.LockedError
		if !errors.As(err, &locked) || !errors.Is(err, store.ErrLocked) {
			t.Fatalf("got %v, want a LockedError", err)
		}
		h := locked.Holder
		if h.PID != c.Process.Pid || h.Command != "loopx hold" || h.Version != "1.2.3" || h.Since == 0 {
			t.Fatalf("holder %+v, pid %d", h, c.Process.Pid)
		}
		for _, part := range []string{strconv.Itoa(h.PID), "loopx hold", "since 2"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not name %q", err, part)
			}
		}
	}
	if h, is, err := bolt.ReadHolder(dir); err != nil || !is || h.PID != c.Process.Pid {
		t.Fatalf("ReadHolder = %+v, %v, %v", h, is, err)
	}

	calls := 0
	_, err := bolt.TakeLock(dir, bolt.Holder{}, time.Minute, func() bool { calls++; return calls == 2 })
	if !errors.Is(err, bolt.ErrRedialed) || calls != 2 {
		t.Fatalf("redial: %v after %d calls", err, calls)
	}

	// A waiter gets the lock when its holder is killed, and abandoned waiters of
	// above do not stand in its way.
	got := make(chan error, 1)
	go func() {
		l, err := bolt.TakeLock(dir, bolt.Holder{Command: "second"}, time.Minute, nil)
		if err == nil {
			err = l.Unlock()
		}
		got <- err
	}()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	wantKilled(t, c)
}

func TestAKilledHolderLeavesItsRecordButNotItsLock(t *testing.T) {
	dir := t.TempDir()
	c := held(t, dir)
	_ = c.Process.Kill()
	wantKilled(t, c)
	if h, is, err := bolt.ReadHolder(dir); err != nil || is || h.PID != c.Process.Pid {
		t.Fatalf("ReadHolder = %+v, held %v, %v", h, is, err)
	}
	l, err := bolt.TakeLock(dir, bolt.Holder{Command: "next", BootID: "b", Socket: "/s"}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, is, err := bolt.ReadHolder(dir)
	if err != nil || !is || h.PID != os.Getpid() || h.Command != "next" || h.BootID != "b" || h.Socket != "/s" {
		t.Fatalf("ReadHolder = %+v, held %v, %v", h, is, err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if h, is, err := bolt.ReadHolder(dir); err != nil || is || h != (bolt.Holder{}) {
		t.Fatalf("after Unlock: %+v, held %v, %v", h, is, err)
	}
	info, err := os.Stat(filepath.Join(dir, "loopx.lock"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("lock file: %v, %v", info, err)
	}
}

func TestAWaiterThatGaveUpDoesNotKeepTheLock(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	first, err := bolt.TakeLock(dir, bolt.Holder{}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := bolt.TakeLock(dir, bolt.Holder{}, 5*time.Millisecond, nil); !errors.Is(err, store.ErrLocked) {
			t.Fatalf("got %v, want ErrLocked", err)
		}
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	last, err := bolt.TakeLock(dir, bolt.Holder{}, 30*time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := last.Unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestTheLockFileIsNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "loopx.lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.TakeLock(dir, bolt.Holder{}, 0, nil); err == nil {
		t.Fatal("a planted link was followed")
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "mine" {
		t.Fatalf("the file behind the link was changed: %q, %v", b, err)
	}
}

func TestTheFileItselfIsLockedToo(t *testing.T) {
	path := dbPath(t.TempDir())
	s, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []bolt.Options{{LockTimeout: -1}, {LockTimeout: 20 * time.Millisecond}, {LockTimeout: -1, ReadOnly: true}} {
		if _, err := bolt.Open(path, o); !errors.Is(err, store.ErrLocked) {
			t.Fatalf("Open(%+v) = %v, want ErrLocked", o, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := bolt.Open(path, bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bolt.Open(path, bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("a second reader: %v", err)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestSixteenProcessesTakeTurns(t *testing.T) {
	const processes = 16
	dir := t.TempDir()
	began := time.Now()
	var kids []*child
	for range processes {
		kids = append(kids, start(t, "contend", dir))
	}
	var took []int
	for _, c := range kids {
		out, err := io.ReadAll(c.out)
		if err := errors.Join(err, c.Wait()); err != nil {
			t.Fatalf("a contender failed: %v", err)
		}
		for line := range strings.Lines(string(out)) {
			us, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			took = append(took, us)
		}
	}
	slices.Sort(took)
	if len(took) != processes*contendTimes {
		t.Fatalf("%d of %d commands answered", len(took), processes*contendTimes)
	}
	t.Logf("%d commands in %v: p50 %d us, p95 %d us, max %d us", len(took), time.Since(began),
		took[len(took)/2], took[len(took)*95/100], took[len(took)-1])
	s, err := bolt.Open(dbPath(dir), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.View(t.Context(), func(tx store.ReadTx) error {
		v, err := tx.Get([]byte("n"))
		if string(v) != strconv.Itoa(processes*contendTimes) {
			t.Errorf("counter is %q, want %d", v, processes*contendTimes)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestProcessesMakeTheStoreTogether(t *testing.T) {
	// All find no file at the same time and make one: nobody's may be lost.
	for range rounds(t, 5) {
		dir := t.TempDir()
		var kids []*child
		for range 4 {
			kids = append(kids, start(t, "contend", dir))
		}
		kids = append(kids, start(t, "open", dir), start(t, "open", dir))
		for _, c := range kids {
			_, _ = io.Copy(io.Discard, c.out)
			if err := c.Wait(); err != nil {
				t.Fatalf("a process failed: %v", err)
			}
		}
		s, err := bolt.Open(dbPath(dir), bolt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.View(t.Context(), func(tx store.ReadTx) error {
			v, err := tx.Get([]byte("n"))
			if string(v) != strconv.Itoa(4*contendTimes) {
				t.Errorf("counter is %q, want %d", v, 4*contendTimes)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
