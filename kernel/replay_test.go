package kernel_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

// Rebuild gives the tables and no journal, and knows which rows of the journal it
// has checked.
func TestRebuildChecksTheJournalAndLeavesItOut(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	for range 1200 { // more than two batches
		w.todo("one of many", 1)
	}
	to := storetest.NewModel(func() int64 { return 0 })
	defer func() { _ = to.Close() }()
	checked, err := kernel.Rebuild(t.Context(), w.st, to)
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsIn(t, w.st)
	journal := len(rows)
	maps.DeleteFunc(rows, func(key, _ string) bool { return strings.HasPrefix(key, "j\x00") })
	if journal -= len(rows); journal < 1200 {
		t.Fatalf("the journal has %d rows", journal)
	}
	if got := rowsIn(t, to); !maps.Equal(got, rows) {
		t.Errorf("there are %d rows of tables, want the same %d as were written", len(got), len(rows))
	}
	for key, want := range map[string]bool{
		string(store.Key("j", store.U64(1))): true, string(store.Key("j", store.U64(1201))): true,
		string(store.Key("j", store.U64(0))): false, "j": false, "j\x00": false, "j\x001": false,
		string(store.Key("j", store.U64(1), "x")): false, string(store.Key("t", store.U64(1))): false,
	} {
		if checked([]byte(key)) != want {
			t.Errorf("%q counts as checked: %v, want %v", key, !want, want)
		}
	}
}

func rowsIn(t *testing.T, st store.Store) map[string]string {
	t.Helper()
	rows, err := parse[map[string]string]([]byte(dump(t, st)))
	if err != nil {
		t.Fatal(err)
	}
	return *rows
}

func TestRebuildRefusesARecordOutOfItsPlace(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.todo("one", 1)
	var last kernel.Head
	w.read(func(r *kernel.Reader) { last = r.Head() })
	if err := w.st.Update(t.Context(), func(tx store.Tx) error {
		at := store.Key("j", store.U64(last.Seq))
		v, err := tx.Get(at)
		return errors.Join(err, tx.Put(append(at, 'x'), append([]byte(nil), v...)), tx.Delete(at))
	}); err != nil {
		t.Fatal(err)
	}
	to := storetest.NewModel(func() int64 { return 0 })
	defer func() { _ = to.Close() }()
	if _, err := kernel.Rebuild(t.Context(), w.st, to); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("it said %v", err)
	}
}
