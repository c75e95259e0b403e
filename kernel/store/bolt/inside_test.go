package bolt_test

import (
	"math/rand/v2"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"loopx/kernel/store/bolt/bolttest"
)

// inside starts the writer child on a bbolt that breaks at the n-th hit of point.
func inside(t *testing.T, exe, dir, point string, n int, how string) *child {
	t.Helper()
	return run(t, exec.CommandContext(t.Context(), exe, dir), "write", bolttest.Env+"="+point+"="+strconv.Itoa(n)+":"+how)
}

// hits says how often a point may pass before it breaks, and whether it is only
// passed while the file is young.
func hits(point string, rng *rand.Rand) (n int, fresh bool) {
	switch point {
	case bolttest.Resize:
		return 1, true
	case bolttest.Grow:
		return 1 + rng.IntN(3), true
	}
	return 1 + rng.IntN(100), false
}

// K2: killed at each point inside bbolt's own commit. Whatever the point, each
// transaction is there whole or not at all, and what was acknowledged is there.
func TestKilledInsideACommit(t *testing.T) {
	exe := bolttest.Build(t, "loopx/kernel/store/bolt", "test", "-c")
	for _, point := range bolttest.Points() {
		t.Run(point, func(t *testing.T) {
			dir, n := t.TempDir(), rounds(t, 3)
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 0))
			t.Logf("seed %d", seed)
			a, visible, total := acks{}, 0, 0
			for i := range n {
				hit, fresh := hits(point, rng)
				if fresh {
					dir, a = t.TempDir(), acks{}
				}
				c := inside(t, exe, dir, point, hit, "kill")
				a.read(t, c.out, 1<<30)
				wantKilled(t, c)
				total = a.check(t, dir)
				if t.Failed() {
					t.Fatalf("round %d of seed %d, hit %d", i, seed, hit)
				}
				if total > a.sum() {
					visible++
				}
			}
			t.Logf("%d kills, %d of them after the commit became visible; %d transactions, 0 lost, 0 partial", n, visible, total)
		})
	}
}

// D3: one step of a commit fails, once, and everything after it would succeed. The
// process does not go on with a state it cannot know: nothing more is
// acknowledged, it ends by itself within a second, and the file is whole.
func TestD3_OneFailingSync(t *testing.T) {
	exe := bolttest.Build(t, "loopx/kernel/store/bolt", "test", "-c")
	for _, point := range []string{bolttest.Resize, bolttest.SyncData, bolttest.WriteMeta, bolttest.SyncMeta} {
		t.Run(point, func(t *testing.T) {
			dir, n := t.TempDir(), rounds(t, 2)
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 0))
			t.Logf("seed %d", seed)
			a := acks{}
			for i := range n {
				hit, fresh := hits(point, rng)
				if fresh {
					dir, a = t.TempDir(), acks{}
				}
				c := inside(t, exe, dir, point, hit, "fail")
				late := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
				a.read(t, c.out, 1<<30)
				err := c.Wait()
				if !late.Stop() || err == nil {
					t.Fatalf("round %d of seed %d: the writer did not end by itself with an error: %v", i, seed, err)
				}
				a.check(t, dir)
				if t.Failed() {
					t.Fatalf("round %d of seed %d, hit %d", i, seed, hit)
				}
			}
		})
	}
}
