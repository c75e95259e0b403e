package storetest

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"loopx/kernel/store"

	"pgregory.net/rapid"
)

// machine drives the store and the model with the same random transactions and
// compares everything that can be read, also across restarts.
func machine(t *testing.T, h Harness) {
	dir, round := t.TempDir(), 0
	key := rapid.Custom(func(t *rapid.T) []byte {
		return rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 'b', 0xff}), 1, 4).Draw(t, "key")
	})
	value := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 20), rapid.SliceOfN(rapid.Byte(), 2000, 6000))
	refused := errors.New("refused")
	rapid.Check(t, func(t *rapid.T) {
		round++
		now := int64(0)
		clock := func() int64 { now++; return now }
		path := filepath.Join(dir, strconv.Itoa(round))
		real, model := h.Open(rapidTB{t: t}, path, clock), NewModel(clock)
		defer func() { _ = errors.Join(real.Close(), model.Close()) }()

		both := func(t *rapid.T, fn func(store.Tx) error) {
			a, b := model.Update(context.Background(), fn), real.Update(context.Background(), fn)
			if a != b {
				t.Fatalf("Update: model says %v, store says %v", a, b)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"transaction": func(t *rapid.T) {
				type step struct {
					k, v []byte
					del  bool
				}
				steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
					return step{key.Draw(t, "k"), value.Draw(t, "v"), rapid.IntRange(0, 3).Draw(t, "del") == 0}
				}), 0, 12).Draw(t, "steps")
				refuse := rapid.IntRange(0, 5).Draw(t, "refuse") == 0
				both(t, func(tx store.Tx) error {
					for _, s := range steps {
						err := tx.Put(s.k, s.v)
						if s.del {
							err = tx.Delete(s.k)
						}
						if err != nil {
							return err
						}
					}
					if refuse {
						return refused
					}
					return nil
				})
			},
			"move": func(t *rapid.T) {
				// Reads decide what is written, so a stale read would show.
				r := drawRange(t, key)
				both(t, func(tx store.Tx) error {
					var k, v []byte
					if err := tx.Scan(r, func(key, value []byte) bool {
						k, v = slices.Clone(key), slices.Clone(value)
						return true
					}); err != nil || k == nil {
						return err
					}
					return errors.Join(tx.Delete(k), tx.Put(append([]byte{'m'}, k...)[:min(4, len(k)+1)], v))
				})
			},
			"scan": func(t *rapid.T) {
				r := drawRange(t, key)
				if a, b := list(t, model, r), list(t, real, r); !slices.Equal(a, b) {
					t.Fatalf("Scan(%q..%q limit %d reverse %v)\nmodel %q\nstore %q", r.From, r.To, r.Limit, r.Reverse, a, b)
				}
			},
			"get": func(t *rapid.T) {
				k := key.Draw(t, "k")
				if a, b := get(t, model, k), get(t, real, k); a != b {
					t.Fatalf("Get(%q): model %q, store %q", k, a, b)
				}
			},
			"restart": func(t *rapid.T) {
				if h.Volatile {
					return
				}
				if err := real.Close(); err != nil {
					t.Fatal(err)
				}
				real = h.Open(rapidTB{t: t}, path, clock)
			},
			"": func(t *rapid.T) {
				all := store.Range{Limit: 1 << 30}
				if a, b := list(t, model, all), list(t, real, all); !slices.Equal(a, b) {
					t.Fatalf("stores differ\nmodel %q\nstore %q", a, b)
				}
			},
		})
		if err := real.Verify(context.Background()); err != nil {
			t.Fatalf("Verify: %v", err)
		}
	})
}

func drawRange(t *rapid.T, key *rapid.Generator[[]byte]) store.Range {
	r := store.Range{Limit: rapid.IntRange(1, 8).Draw(t, "limit"), Reverse: rapid.Bool().Draw(t, "reverse")}
	if rapid.Bool().Draw(t, "from") {
		r.From = key.Draw(t, "From")
	}
	if rapid.Bool().Draw(t, "to") {
		r.To = key.Draw(t, "To")
	}
	return r
}

func list(t *rapid.T, s store.Store, r store.Range) (kv []string) {
	if err := s.View(context.Background(), func(tx store.ReadTx) error {
		return tx.Scan(r, func(k, v []byte) bool {
			kv = append(kv, string(k), string(v))
			return true
		})
	}); err != nil {
		t.Fatal(err)
	}
	return kv
}

// get returns "-" for an absent key and "+value" for a present one.
func get(t *rapid.T, s store.Store, key []byte) string {
	got := "-"
	if err := s.View(context.Background(), func(tx store.ReadTx) error {
		v, err := tx.Get(key)
		if v != nil {
			got = "+" + string(v)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

// rapidTB lends a rapid.T to a Harness, which wants a testing.TB to fail with.
type rapidTB struct {
	testing.TB // nil: only what is below may be called
	t          *rapid.T
}

func (r rapidTB) Helper()                   { r.t.Helper() }
func (r rapidTB) Fatal(args ...any)         { r.t.Fatal(args...) }
func (r rapidTB) Fatalf(f string, a ...any) { r.t.Fatalf(f, a...) }
func (r rapidTB) Logf(f string, a ...any)   { r.t.Logf(f, a...) }
func (r rapidTB) Errorf(f string, a ...any) { r.t.Errorf(f, a...) }
