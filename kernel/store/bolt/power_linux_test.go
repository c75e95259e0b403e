package bolt_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"loopx/kernel/store"
	"loopx/kernel/store/bolt"

	"golang.org/x/sys/unix"
)

// disk is an ext4 file system in a file, which can lose its power.
type disk struct{ image, dir string }

func newDisk(t *testing.T) *disk {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skipf("skipped: mounting a file system that loses power needs root, this is uid %d", os.Getuid())
	}
	d := &disk{image: filepath.Join(t.TempDir(), "image"), dir: t.TempDir()}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, 64<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", d.image).CombinedOutput(); err != nil {
		t.Skipf("skipped: no ext4 here: %v: %s", err, out)
	}
	if out, err := d.mount(); err != nil {
		t.Skipf("skipped: no loop mount here: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", d.dir).Run() })
	return d
}

func (d *disk) mount() ([]byte, error) {
	return exec.Command("mount", "-o", "loop", d.image, d.dir).CombinedOutput()
}

// cut ends all writing at once: FS_IOC_SHUTDOWN without a flush drops what is in
// the page cache and in the journal that is not on the disk yet. Every sync
// fails from then on.
func (d *disk) cut(t *testing.T) {
	t.Helper()
	const shutdown, noLogFlush = 0x8004587D, 2
	f, err := os.Open(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	err = unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noLogFlush)
	if errors.Is(err, syscall.ENOTTY) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EPERM) {
		t.Skipf("skipped: this file system cannot be shut down: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// back mounts the file system again, which repairs itself from its journal.
func (d *disk) back(t *testing.T) {
	t.Helper()
	for _, step := range []*exec.Cmd{exec.Command("umount", d.dir), exec.Command("mount", "-o", "loop", d.image, d.dir)} {
		if out, err := step.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", step.Args, err, out)
		}
	}
}

// D6: the power fails while many write. What was acknowledged is there, nothing is
// there in part, and until the end the writers were told that their outcome is
// unknown (D3): the process ends by itself and acknowledges nothing more.
func TestD6_PowerLoss(t *testing.T) {
	d, n := newDisk(t), rounds(t, 5)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	var a acks
	total := 0
	for i := range n {
		c := start(t, "write", d.dir)
		a.read(t, c.out, 1+rng.IntN(300))
		d.cut(t)
		late := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
		a.read(t, c.out, 1<<30)
		err := c.Wait()
		if !late.Stop() || err == nil {
			t.Fatalf("round %d: the writer did not end by itself with an error: %v", i, err)
		}
		d.back(t)
		total = a.check(t, d.dir)
		if t.Failed() {
			t.Fatalf("round %d of seed %d", i, seed)
		}
	}
	t.Logf("%d power losses; %d transactions, 0 lost, 0 partial", n, total)
}

// L1: a holder that is stopped keeps its lock, whoever waits is told who it is and
// within its own time, and the lock is free once the holder went on and ended.
func TestL1_StoppedHolder(t *testing.T) {
	dir := t.TempDir()
	c := start(t, "hold", dir)
	if _, err := c.out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range rounds(t, 2) {
		began := time.Now()
		l, err := bolt.TakeLock(dir, bolt.Holder{Command: "second"}, 20*time.Millisecond, nil)
		if err == nil {
			_ = l.Unlock()
		}
		if !errors.Is(err, store.ErrLocked) {
			t.Fatalf("a stopped holder lost its lock: %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Fatalf("refused only after %v", took)
		}
	}
	if err := errors.Join(c.Process.Signal(syscall.SIGCONT), c.in.Close(), c.Wait()); err != nil {
		t.Fatal(err)
	}
	l, err := bolt.TakeLock(dir, bolt.Holder{Command: "second"}, time.Second, nil)
	if err != nil {
		t.Fatalf("the lock stays behind: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
}
