package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
	"loopx/kernel/store/failpoint"
)

// acks collects what the writer child told of, until its output ends.
type acks [helpWriters]int

func (a *acks) read(t *testing.T, out *bufio.Reader, most int) {
	t.Helper()
	for range most {
		line, err := out.ReadString('\n')
		if err != nil {
			return // a line cut off by the kill was not told
		}
		w, n, ok := strings.Cut(strings.TrimSpace(line), " ")
		writer, err1 := strconv.Atoi(w)
		number, err2 := strconv.Atoi(n)
		if !ok || err1 != nil || err2 != nil {
			t.Fatalf("the child said %q", line)
		}
		a[writer] = max(a[writer], number)
	}
}

func (a *acks) sum() (told int) {
	for _, n := range a {
		told += n
	}
	return told
}

// check opens the store after a crash and returns how many transactions exist.
func (a *acks) check(t *testing.T, dir string) (total int) {
	t.Helper()
	s, err := bolt.Open(dbPath(dir), bolt.Options{})
	if err != nil {
		t.Fatalf("open after the crash: %v", err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	if err := s.Verify(t.Context()); err != nil {
		t.Fatalf("verify after the crash: %v", err)
	}
	if err := s.View(t.Context(), func(tx store.ReadTx) error {
		for w := range helpWriters {
			var got [perCommit]int
			for part := range perCommit {
				v, err := tx.Get(writerKey(w, part))
				if err != nil {
					return err
				}
				got[part], _ = strconv.Atoi(string(v))
				if got[part] != got[0] {
					t.Errorf("writer %d: a transaction is there in part: %v", w, got)
				}
			}
			if got[0] < a[w] {
				t.Errorf("writer %d: %d was acknowledged, %d is there", w, a[w], got[0])
			}
			row := store.Key("row", strconv.Itoa(w), store.U64(uint64(got[0])))
			if v, err := tx.Get(row); err != nil || got[0] > 0 && v == nil {
				t.Errorf("writer %d: row %d is missing: %v", w, got[0], err)
			}
			total += got[0]
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return total
}

func wantKilled(t *testing.T, c *child) {
	t.Helper()
	_ = c.Wait()
	status, ok := c.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended by itself: %v", c.ProcessState)
	}
}

func TestKill9LosesNothingAcknowledged(t *testing.T) {
	dir, n := t.TempDir(), rounds(t, 30)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	var a acks
	total, between := 0, 0
	for range n {
		c := start(t, "write", dir)
		a.read(t, c.out, 1+rng.IntN(400))
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		a.read(t, c.out, 1<<30)
		wantKilled(t, c)
		total = a.check(t, dir)
		if t.Failed() {
			return
		}
		if total > a.sum() {
			between++
		}
	}
	t.Logf("%d kills, %d of them between commit and acknowledgement; %d transactions, 0 lost, 0 partial", n, between, total)
}

func needFailpoints(t *testing.T) {
	t.Helper()
	if !failpoint.Enabled {
		t.Skip("skipped: this build has no failpoints; run with -tags failpoints")
	}
}

func failAt(name string, n int) string { return fmt.Sprintf("LOOPX_FAILPOINTS=%s=%d", name, n) }

func TestKilledAroundACommit(t *testing.T) {
	needFailpoints(t)
	for _, name := range []string{failpoint.BeforeCommit, failpoint.AfterCommit} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var a acks
			for round := range rounds(t, 10) {
				c := start(t, "write", dir, failAt(name, 1+round*3%100))
				a.read(t, c.out, 1<<30)
				wantKilled(t, c)
				a.check(t, dir)
			}
		})
	}
}

func TestKilledDuringBirth(t *testing.T) {
	needFailpoints(t)
	for _, name := range []string{failpoint.BirthCreated, failpoint.BirthSynced, failpoint.BirthRenamed} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			wantKilled(t, start(t, "open", dir, failAt(name, 1)))
			_, err := os.Stat(dbPath(dir))
			if there := err == nil; there != (name == failpoint.BirthRenamed) {
				t.Fatalf("the file has its name: %v (%v)", there, err)
			}
			new(acks).check(t, dir)
			if _, err := os.Stat(dbPath(dir) + ".new"); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("the unfinished file is still there: %v", err)
			}
		})
	}
}

func TestKilledDuringCompaction(t *testing.T) {
	needFailpoints(t)
	for _, name := range []string{failpoint.CompactSynced, failpoint.CompactRenamed} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var a acks
			c := start(t, "write", dir)
			a.read(t, c.out, 300)
			_ = c.Process.Kill()
			a.read(t, c.out, 1<<30)
			wantKilled(t, c)
			before := a.check(t, dir)
			wantKilled(t, start(t, "compact", dir, failAt(name, 1)))
			if after := a.check(t, dir); after != before {
				t.Fatalf("%d transactions before, %d after", before, after)
			}
			if err := bolt.CompactFile(context.Background(), dbPath(dir), bolt.Options{}); err != nil {
				t.Fatalf("the next compaction: %v", err)
			}
			if after := a.check(t, dir); after != before {
				t.Fatalf("%d transactions before, %d after", before, after)
			}
		})
	}
}
