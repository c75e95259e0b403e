package storetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"loopx/kernel/store"
)

// valueSize is the size in bytes of a record in the benchmarks.
const valueSize = 256

// Bench measures a store at 1,000 and 100,000 records, and first the floor that
// the same disk allows in the same run: one pwrite with fdatasync. A commit of a
// file store needs at least two of these.
func Bench(b *testing.B, h Harness) {
	b.Run("floor/pwrite+fdatasync", floor)
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			s := filled(b, h, n)
			b.Run("update/callers=1", func(b *testing.B) { benchUpdate(b, s, n, 1) })
			b.Run("update/callers=16", func(b *testing.B) { benchUpdate(b, s, n, 16) })
			b.Run("update/callers=64", func(b *testing.B) { benchUpdate(b, s, n, 64) })
			b.Run("get", func(b *testing.B) { benchGet(b, s, n) })
			b.Run("scan50", func(b *testing.B) { benchScan(b, s, n) })
			b.Run("verify", func(b *testing.B) { benchVerify(b, s) })
			b.Run("backup", func(b *testing.B) { benchBackup(b, s) })
		})
	}
}

func floor(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	page := make([]byte, os.Getpagesize())
	if err := f.Truncate(1 << 20); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := f.WriteAt(page, int64(i%256)*int64(len(page))); err != nil {
			b.Fatal(err)
		}
		if err := datasync(f); err != nil {
			b.Fatal(err)
		}
	}
	perSecond(b)
}

func perSecond(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}

func benchKey(i int) []byte { return store.Key("row", store.U64(uint64(i))) }

// filled opens a store with n records and closes it when b ends.
func filled(b *testing.B, h Harness, n int) store.Store {
	b.Helper()
	s := h.Open(b, filepath.Join(b.TempDir(), "store"), nil)
	b.Cleanup(func() { _ = s.Close() })
	step := min(n, s.Limits().Ops)
	for from := 0; from < n; from += step {
		if err := s.Update(context.Background(), func(tx store.Tx) error {
			for i := from; i < min(n, from+step); i++ {
				if err := tx.Put(benchKey(i), make([]byte, valueSize)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// spread visits records in an order that no page cache favours.
func spread(i, n int) int { return int(uint64(i) * 2654435761 % uint64(n)) }

// benchUpdate is read-modify-write of one record by so many callers at once.
func benchUpdate(b *testing.B, s store.Store, n, callers int) {
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range callers {
		wg.Go(func() {
			value := make([]byte, valueSize)
			for {
				i := int(next.Add(1))
				if i > b.N {
					return
				}
				if err := s.Update(context.Background(), func(tx store.Tx) error {
					key := benchKey(spread(i, n))
					if _, err := tx.Get(key); err != nil {
						return err
					}
					return tx.Put(key, value)
				}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	perSecond(b)
}

func benchGet(b *testing.B, s store.Store, n int) {
	for i := 0; b.Loop(); i++ {
		if err := s.View(context.Background(), func(tx store.ReadTx) error {
			v, err := tx.Get(benchKey(spread(i, n)))
			if err == nil && v == nil {
				b.Fatal("a record is missing")
			}
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchScan(b *testing.B, s store.Store, n int) {
	for i := 0; b.Loop(); i++ {
		got := 0
		if err := s.View(context.Background(), func(tx store.ReadTx) error {
			r := store.Range{From: benchKey(spread(i, n-50)), Limit: 50}
			return tx.Scan(r, func(_, _ []byte) bool { got++; return true })
		}); err != nil || got != 50 {
			b.Fatalf("scanned %d: %v", got, err)
		}
	}
}

// counter counts the bytes of a backup.
type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func benchBackup(b *testing.B, s store.Store) {
	var c counter
	for b.Loop() {
		c = 0
		if err := s.Backup(context.Background(), &c); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(c))
}

func benchVerify(b *testing.B, s store.Store) {
	var c counter
	if err := s.Backup(context.Background(), &c); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(c))
	for b.Loop() {
		if err := s.Verify(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
