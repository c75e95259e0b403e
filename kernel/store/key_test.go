package store_test

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"

	"loopx/kernel/store"

	"pgregory.net/rapid"
)

// nasty favours the bytes that the escaping is about.
func nasty() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		alphabet := rapid.SampledFrom([]byte{0, 1, 2, 3, 'a', 'b', 0x7f, 0xfe, 0xff})
		return string(rapid.SliceOfN(alphabet, 0, 6).Draw(t, "part"))
	})
}

func TestKeyKeepsTheOrderOfItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(nasty(), 1, 4).Draw(t, "a")
		b := rapid.SliceOfN(nasty(), 1, 4).Draw(t, "b")
		want := slices.Compare(a, b)
		if got := bytes.Compare(store.Key(a...), store.Key(b...)); got != want {
			t.Fatalf("Key order %d, tuple order %d: %q against %q", got, want, a, b)
		}
	})
}

func TestNumbersSortAsNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		if got := strings.Compare(store.I64(a), store.I64(b)); got != cmp.Compare(a, b) {
			t.Fatalf("I64: %d against %d sorts %d", a, b, got)
		}
		if got := strings.Compare(store.U64(uint64(a)), store.U64(uint64(b))); got != cmp.Compare(uint64(a), uint64(b)) {
			t.Fatalf("U64: %d against %d sorts %d", uint64(a), uint64(b), got)
		}
	})
}

func TestUnderHoldsExactlyTheKeysBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SliceOfN(nasty(), 1, 2).Draw(t, "prefix")
		parts := rapid.SliceOfN(nasty(), 1, 4).Draw(t, "parts")
		want := len(parts) > len(prefix) && slices.Equal(parts[:len(prefix)], prefix)
		if got := store.Under(1, prefix...).Contains(store.Key(parts...)); got != want {
			t.Fatalf("Under(%q) contains %q: %v, want %v", prefix, parts, got, want)
		}
	})
}

func TestAfterLeavesTheKeyItselfOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at, other := store.Key("p", nasty().Draw(t, "at")), store.Key("p", nasty().Draw(t, "other"))
		forward := store.Under(1, "p").After(at)
		if got, want := forward.Contains(other), bytes.Compare(other, at) > 0; got != want {
			t.Fatalf("forward: %q after %q = %v, want %v", other, at, got, want)
		}
		back := store.Under(1, "p").Last().After(at)
		if got, want := back.Contains(other), bytes.Compare(other, at) < 0; got != want {
			t.Fatalf("reverse: %q after %q = %v, want %v", other, at, got, want)
		}
	})
}

func FuzzLastPart(f *testing.F) {
	for _, s := range []string{"", "a", "\x00", "\x01", "\x01\x01", "\x01\x02", "\x00\x01\x02", "a\x00b\x01c", "\xff\x00"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, first, last string) {
		key := store.Key(first, last)
		if got := store.LastPart(key); got != last {
			t.Fatalf("LastPart(Key(%q, %q)) = %q", first, last, got)
		}
		if n := bytes.Count(key, []byte{0}); n != 1 {
			t.Fatalf("key %q has %d separators, want 1", key, n)
		}
		if got := store.LastPart(store.Key(last)); got != last {
			t.Fatalf("LastPart(Key(%q)) = %q", last, got)
		}
	})
}
