package kernel_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
	"loopx/kernel/store/storetest"

	"pgregory.net/rapid"
)

// replayed: the journal alone gives the same tables.
func (m *machine) replayed(t *rapid.T) {
	to := storetest.NewModel(func() int64 { return 0 })
	defer func() { _ = to.Close() }()
	if err := kernel.Replay(context.Background(), m.st, to); err != nil {
		t.Fatal(err)
	}
	got, err := readRows(to)
	if err != nil {
		t.Fatal(err)
	}
	want := *m.at
	want.raw = maps.Clone(want.raw)
	delete(want.raw, "ck") // the time of the last commit is not replayed
	if !maps.Equal(got.raw, want.raw) {
		t.Fatalf("replay differs\n%s", strings.Join(want.changes(got), "\n"))
	}
}

// The invariants over random command sequences.
func TestInvariants(t *testing.T) {
	check(t, 60, func(t *rapid.T) {
		m := &machine{}
		st := storetest.NewModel(func() int64 { return m.now })
		defer func() { _ = st.Close() }()
		m.begin(t, st)
		t.Repeat(m.actions())
		m.replayed(t)
	})
}

// The same with a crash between any two writes: nothing of the command remains,
// and the command still passes afterwards.
func TestInvariantsUnderCrashes(t *testing.T) {
	check(t, 15, func(t *rapid.T) {
		m := &machine{}
		st := storetest.NewModel(func() int64 { return m.now })
		defer func() { _ = st.Close() }()
		m.begin(t, &faulty{Store: st, each: true})
		t.Repeat(m.actions())
		m.replayed(t)
	})
}

// The same on a file that is closed and opened between commands. Every read is
// answered by the file and by the model, and both must agree.
func TestInvariantsOnFile(t *testing.T) {
	dir, round := t.TempDir(), 0
	check(t, 8, func(t *rapid.T) {
		round++
		m := &machine{}
		clock := func() int64 { return m.now }
		path := filepath.Join(dir, strconv.Itoa(round))
		open := func() (store.Store, error) { return bolt.Open(path, bolt.Options{Clock: clock, NoSync: true}) }
		file, err := open()
		if err != nil {
			t.Fatal(err)
		}
		st := &both{Store: storetest.NewModel(clock), file: file}
		defer func() { _ = errors.Join(st.file.Close(), st.Close()) }()
		m.reopen = func() error {
			err := st.file.Close()
			if err == nil {
				st.file, err = open()
			}
			return err
		}
		m.begin(t, st)
		t.Repeat(m.actions())
		m.replayed(t)
		a, errA := readRows(st.Store)
		b, errB := readRows(st.file)
		if err := errors.Join(errA, errB, st.file.Verify(context.Background())); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(a.raw, b.raw) {
			t.Fatalf("file and model differ\n%s", strings.Join(a.changes(b), "\n"))
		}
	})
}

// A commit whose outcome is unknown has either happened or not; the same key
// tells, and there is one effect.
func TestUnknownOutcome(t *testing.T) {
	check(t, 10, func(t *rapid.T) {
		m := &machine{}
		st := storetest.NewModel(func() int64 { return m.now })
		defer func() { _ = st.Close() }()
		f := &faulty{Store: st}
		m.begin(t, f)
		acts := m.actions()
		n := 0
		acts["lost answer"] = func(t *rapid.T) {
			n++
			opt := owner()
			opt.Key = "lost" + strconv.Itoa(n)
			cmd := &kernel.AddTodo{Goal: "site", Title: "once"}
			f.unknown, f.kept = true, rapid.Bool().Draw(t, "kept")
			_, err := m.k.Do(context.Background(), cmd, opt)
			f.unknown = false
			if e := kernel.AsError(err); e == nil || e.Class != kernel.Unknown {
				t.Fatalf("an unknown outcome is told as %v", err)
			}
			rec, err := m.k.Do(context.Background(), cmd, opt)
			if err != nil || rec.Replay != f.kept {
				t.Fatalf("kept: %v, the retry says %+v, %v", f.kept, rec, err)
			}
			before := len(m.at.order)
			if m.at = m.read(t); len(m.at.order) != before+1 {
				t.Fatalf("one command added %d todos", len(m.at.order)-before)
			}
		}
		t.Repeat(acts)
	})
}
