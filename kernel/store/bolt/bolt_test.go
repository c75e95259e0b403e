package bolt_test

import (
	"os"
	"testing"

	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
	"loopx/kernel/store/storetest"
)

func harness(opts bolt.Options) storetest.Harness {
	open := func(t testing.TB, path string, clock func() int64) store.Store {
		o := opts
		o.Clock = clock
		s, err := bolt.Open(path, o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return storetest.Harness{
		Open: open,
		Restore: func(t testing.TB, path string, backup []byte, clock func() int64) store.Store {
			if err := os.WriteFile(path, backup, 0o600); err != nil {
				t.Fatal(err)
			}
			return open(t, path, clock)
		},
	}
}

// The suite's rules do not depend on syncs, and thousands of them cost minutes;
// the crash and full-disk tests run with syncs.
func TestBolt(t *testing.T) { storetest.Run(t, harness(bolt.Options{NoSync: true})) }

func BenchmarkBolt(b *testing.B) { storetest.Bench(b, harness(bolt.Options{})) }
