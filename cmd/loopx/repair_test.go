package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"loopx/bot/client"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
)

// spoil changes the first row of a table behind the kernel's back.
func spoil(t *testing.T, home client.Home, table string, value []byte) {
	t.Helper()
	st, err := bolt.Open(home.DB(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Update(context.Background(), func(tx store.Tx) error {
		var key []byte
		if err := tx.Scan(store.Under(1, table), func(k, _ []byte) bool { key = append(key, k...); return true }); err != nil {
			return err
		}
		if key == nil {
			t.Fatalf("the table %s is empty", table)
		}
		if value == nil {
			return tx.Delete(key)
		}
		return tx.Put(key, value)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// A repair shows, copies, and mends indexes; after it the state is as if nothing
// had happened. What is more than an index is left for a backup.
func TestDoctorRepair(t *testing.T) {
	home := filledHome(t)
	if r := must(t, home, "doctor", "--repair", "--execute"); r.out["changed"] != false || r.str("backup") != "" {
		t.Errorf("a sound state was mended: %s", r.raw)
	}
	list := func() string {
		_, todos, _ := strings.Cut(must(t, home, "todo", "list", "--goal-id", "site", "--all").raw, `"todos":`)
		// The wall's time of a lease is told from the steady time and may differ by 1.
		return regexp.MustCompile(`"claim_until":\d+,`).ReplaceAllString(todos, "")
	}
	want := list()
	spoil(t, home, "ix", nil)                                  // a todo out of its list
	spoil(t, home, "tg", []byte("elsewhere"))                  // a todo of another goal
	spoil(t, home, "n", []byte(`{"open":99,"next_order":50}`)) // a counter
	file := func() string {
		b, err := os.ReadFile(home.DB())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := file()
	shown := must(t, home, "doctor", "--repair")
	if shown.out["index_rows"] != 3.0 || shown.out["would_change"] != true || file() != before {
		t.Errorf("shown: %s", shown.raw)
	}
	d := startProcess(t, home)
	if r := loopx(home, "doctor", "--repair", "--execute"); r.code != 6 || r.str("code") != "locked" || !strings.Contains(r.str("fix"), "stop loopx-bot") {
		t.Errorf("beside a daemon: %d %s", r.code, r.raw)
	}
	d.stop(t)
	done := must(t, home, "doctor", "--repair", "--execute")
	if done.out["changed"] != true || done.out["index_rows"] != 3.0 {
		t.Errorf("mended: %s", done.raw)
	}
	if kept, err := os.Lstat(done.str("backup")); err != nil || kept.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v %v", kept, err)
	}
	if got := list(); got != want {
		t.Errorf("afterwards:\n%s\nwant\n%s", got, want)
	}
	if r := must(t, home, "doctor", "--repair"); r.out["would_change"] != false {
		t.Errorf("again: %s", r.raw)
	}

	spoil(t, home, "g", []byte(`{"id":"site","window_ms":1,"status":"active"}`))
	if r := loopx(home, "doctor", "--repair", "--execute"); r.code != 6 || r.str("code") != "beyond_repair" || !strings.Contains(r.str("message"), "g/site") {
		t.Errorf("a changed goal: %d %s", r.code, r.raw)
	}
}
