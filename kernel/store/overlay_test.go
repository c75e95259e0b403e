package store_test

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"loopx/kernel/store"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// plain is the simplest ReadTx there is: what an overlay is compared with.
type plain map[string]string

func (p plain) Get(key []byte) ([]byte, error) {
	if v, ok := p[string(key)]; ok {
		return []byte(v), nil
	}
	return nil, nil
}
func (p plain) Now() int64 { return 7 }
func (p plain) Scan(r store.Range, fn func(k, v []byte) bool) error {
	if err := r.Check(); err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(p))
	if r.Reverse {
		slices.Reverse(keys)
	}
	n := 0
	for _, k := range keys {
		if !r.Contains([]byte(k)) {
			continue
		}
		if n++; !fn([]byte(k), []byte(p[k])) || n == r.Limit {
			return nil
		}
	}
	return nil
}

func pairs(t interface{ Fatalf(string, ...any) }, tx store.ReadTx, r store.Range) [][2]string {
	var got [][2]string
	if err := tx.Scan(r, func(k, v []byte) bool {
		got = append(got, [2]string{string(k), string(v)})
		return true
	}); err != nil {
		t.Fatalf("Scan(%+v): %v", r, err)
	}
	return got
}

func TestOverlayReadsAsIfItsWritesWereThere(t *testing.T) {
	key := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 1, 3, -1)
	bound := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 2, -1)
	rapid.Check(t, func(t *rapid.T) {
		base := plain(rapid.MapOfN(key, rapid.StringN(0, 2, -1), 0, 12).Draw(t, "base"))
		want := maps.Clone(base)
		o := store.NewOverlay(base, store.Limits{})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, v := key.Draw(t, "k"), rapid.StringN(0, 2, -1).Draw(t, "v")
				if err := o.Put([]byte(k), []byte(v)); err != nil {
					t.Fatal(err)
				}
				want[k] = v
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "k")
				if err := o.Delete([]byte(k)); err != nil {
					t.Fatal(err)
				}
				delete(want, k)
			},
			"absorb": func(t *rapid.T) {
				over := store.NewOverlay(o, store.Limits{})
				for k, v := range rapid.MapOfN(key, rapid.Ptr(rapid.StringN(0, 2, -1), true), 0, 4).Draw(t, "writes") {
					err := over.Delete([]byte(k))
					delete(want, k)
					if v != nil {
						err = errors.Join(err, over.Put([]byte(k), []byte(*v)))
						want[k] = *v
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				all := store.Range{Limit: math.MaxInt, Reverse: rapid.Bool().Draw(t, "reverse")}
				if d := cmp.Diff(pairs(t, plain(want), all), pairs(t, over, all)); d != "" {
					t.Fatalf("the overlay in front differs (-want +got):\n%s", d)
				}
				o.Absorb(over)
			},
			"onto": func(t *rapid.T) { // a snapshot that holds what was written already
				o.Onto(maps.Clone(want))
			},
			"get": func(t *rapid.T) {
				k := []byte(key.Draw(t, "k"))
				got, _ := o.Get(k)
				exp, _ := want.Get(k)
				if (got == nil) != (exp == nil) || !bytes.Equal(got, exp) {
					t.Fatalf("Get(%q) = %q, want %q", k, got, exp)
				}
			},
			"scan": func(t *rapid.T) {
				r := store.Range{
					Limit:   rapid.OneOf(rapid.IntRange(1, 6), rapid.Just(math.MaxInt)).Draw(t, "limit"),
					Reverse: rapid.Bool().Draw(t, "reverse"),
				}
				if rapid.Bool().Draw(t, "from") {
					r.From = []byte(bound.Draw(t, "From"))
				}
				if rapid.Bool().Draw(t, "to") {
					r.To = []byte(bound.Draw(t, "To"))
				}
				if d := cmp.Diff(pairs(t, plain(want), r), pairs(t, o, r)); d != "" {
					t.Fatalf("Scan(%+v) differs (-want +got):\n%s", r, d)
				}
			},
		})
		applied := maps.Clone(base)
		var last []byte
		for k, v := range o.Changes() {
			if bytes.Compare(last, k) >= 0 {
				t.Fatalf("Changes out of order: %q after %q", k, last)
			}
			last = k
			if v == nil {
				delete(applied, string(k))
			} else {
				applied[string(k)] = string(v)
			}
		}
		if d := cmp.Diff(want, applied); d != "" {
			t.Fatalf("Changes do not give what was read (-want +got):\n%s", d)
		}
		if len(base) > 0 && len(applied) == 0 && o.Len() == 0 {
			t.Fatal("Len is 0 although keys were removed")
		}
	})
}

func TestOverlayStopsAtItsLimits(t *testing.T) {
	lim := store.Limits{Ops: 3, Bytes: 20, Value: 10}
	tests := map[string]func(store.Tx) error{
		"ops": func(tx store.Tx) error {
			return errors.Join(tx.Put([]byte("a"), nil), tx.Put([]byte("b"), nil), tx.Delete([]byte("c")), tx.Delete([]byte("d")))
		},
		"bytes": func(tx store.Tx) error {
			return errors.Join(tx.Put([]byte("a"), make([]byte, 9)), tx.Put([]byte("b"), make([]byte, 10)))
		},
		"value": func(tx store.Tx) error { return tx.Put([]byte("a"), make([]byte, 11)) },
		"key":   func(tx store.Tx) error { return tx.Delete(make([]byte, store.MaxKey+1)) },
	}
	for name, fn := range tests {
		t.Run(name, func(t *testing.T) {
			o := store.NewOverlay(plain{}, lim)
			if err := fn(o); !errors.Is(err, store.ErrTooLarge) {
				t.Fatalf("got %v, want ErrTooLarge", err)
			}
			if !errors.Is(o.Err(), store.ErrTooLarge) {
				t.Fatalf("Err() = %v: a caller that drops the error could commit", o.Err())
			}
		})
	}
	t.Run("the same key counts once", func(t *testing.T) {
		o := store.NewOverlay(plain{}, lim)
		for range 50 {
			if err := o.Put([]byte("a"), make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.Delete([]byte("a")); err != nil {
			t.Fatal(err)
		}
		if err := o.Put([]byte("b"), make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOverlayRefusesMisuse(t *testing.T) {
	o := store.NewOverlay(plain{"a": "1"}, store.Limits{})
	if err := o.Scan(store.Range{}, func(_, _ []byte) bool { return true }); !errors.Is(err, store.ErrNoLimit) {
		t.Fatalf("scan without limit: %v", err)
	}
	if o.Err() != nil {
		t.Fatalf("a refused read must not poison the transaction: %v", o.Err())
	}
	if err := o.Put(nil, []byte("x")); err == nil {
		t.Fatal("an empty key was taken")
	}
	o = store.NewOverlay(plain{"a": "1"}, store.Limits{})
	var inside error
	if err := o.Scan(store.Range{Limit: 1}, func(_, _ []byte) bool {
		inside = o.Put([]byte("b"), nil)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if inside == nil || o.Err() == nil {
		t.Fatal("a write inside Scan was taken")
	}
}

func TestOverlayKeepsItsOwnBytes(t *testing.T) {
	o := store.NewOverlay(plain{}, store.Limits{})
	k, v := []byte("k"), []byte("v")
	if err := o.Put(k, v); err != nil {
		t.Fatal(err)
	}
	k[0], v[0] = 'x', 'x'
	if got, _ := o.Get([]byte("k")); string(got) != "v" {
		t.Fatalf("the caller's later change of its slice shows: %q", got)
	}
}

// What was written since the last scan is put in place by itself when it is
// little and with everything when it is much: both give one order.
func TestOverlayScansInOrderBetweenWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := store.NewOverlay(empty{}, store.Limits{})
		want := map[string]bool{}
		for range rapid.IntRange(1, 5).Draw(t, "scans") {
			for _, k := range rapid.SliceOfN(rapid.StringMatching("[a-d]{1,4}"), 0, 80).Draw(t, "keys") {
				want[k] = true
				if err := o.Put([]byte(k), nil); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			if err := o.Scan(store.Range{Limit: 1 << 20}, func(k, _ []byte) bool { got = append(got, string(k)); return true }); err != nil {
				t.Fatal(err)
			}
			if !slices.IsSorted(got) || len(got) != len(want) {
				t.Fatalf("%d keys written, scanned %q", len(want), got)
			}
		}
	})
}

// empty is a snapshot that holds nothing.
type empty struct{}

func (empty) Get([]byte) ([]byte, error)                           { return nil, nil }
func (empty) Scan(store.Range, func(key, value []byte) bool) error { return nil }
func (empty) Now() int64                                           { return 0 }
