package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
)

// agedHome is a workspace in which a hundred days of work lie behind today.
func agedHome(t *testing.T) (client.Home, time.Time) {
	t.Helper()
	home := tempHome(t)
	if err := home.Ensure(); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(-100 * 24 * time.Hour).UnixMilli()
	begin := time.UnixMilli(now).UTC()
	st, err := bolt.Open(home.DB(), bolt.Options{Clock: func() int64 { return now }, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	k, err := kernel.Open(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	do := func(cmd kernel.Command, by string, key string) string {
		r, err := k.Do(t.Context(), cmd, kernel.Options{By: kernel.Actor{Kind: by, ID: by, Surface: "cli"}, Key: key})
		if err != nil {
			t.Fatalf("%s: %v", cmd.Name(), err)
		}
		return string(r.Result)
	}
	do(&kernel.CreateGoal{Goal: "site", Objective: "Ship it", Agents: []string{"builder"}}, kernel.ByCLI, "")
	for d := range 100 {
		turn := fmt.Sprintf("t%d", d)
		do(&kernel.AddTodo{Goal: "site", Title: fmt.Sprintf("day %d", d)}, kernel.ByCLI, "add"+turn)
		do(&kernel.OpenTurn{Goal: "site", Turn: turn, Claim: true}, kernel.ByCLI, "")
		do(&kernel.CommitTurn{Goal: "site", Turn: turn, Refresh: &kernel.Refresh{Outcome: kernel.Progress, Evidence: []kernel.EvidenceArg{{Summary: "x"}}}}, kernel.ByCLI, "")
		now += 24 * 3600 * 1000
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return home, begin
}

// Old records make room for a snapshot; the state stays what it was, verifies, is
// backed up and restored, and can be compacted again. The old file is kept.
func TestCompact(t *testing.T) {
	home, begin := agedHome(t)
	owner := []string{"--owner-token-file", home.TokenFile()}
	if _, err := home.Token(); err != nil {
		t.Fatal(err)
	}
	day := func(n int) string { return begin.Add(time.Duration(n) * 24 * time.Hour).Format(time.DateOnly) }
	shown := must(t, home, "compact", "--before", day(50))
	if shown.out["preview"] != true || shown.out["records"].(float64) < 150 || shown.out["changed"] != false {
		t.Fatalf("the preview says %s", shown.raw)
	}
	if r := loopx(home, "compact", "--before", day(50), "--execute"); r.code != 5 {
		t.Errorf("without the owner's proof: exit code %d %s", r.code, r.raw)
	}
	if r := loopx(home, "compact", "--before", "yesterday"); r.code != 2 || r.str("code") != "bad_date" {
		t.Errorf("a bad date: %s", r.raw)
	}
	list := func() string {
		return todosOf(t, home) + must(t, home, "history", "--goal-id", "site", "--limit", "200").raw
	}
	before := list()
	done := must(t, home, append([]string{"compact", "--before", day(50), "--execute"}, owner...)...)
	if done.out["changed"] != true || done.out["records"].(float64) < 150 || done.out["turns_forgotten"].(float64) < 50 {
		t.Fatalf("it says %s", done.raw)
	}
	if _, err := os.Stat(done.str("kept")); err != nil {
		t.Errorf("the old file is gone: %v", err)
	}
	if list() != before {
		t.Error("the todos or the history have changed")
	}
	verified(t, home)
	copied := filepath.Join(t.TempDir(), "copy.db")
	must(t, home, "backup", "create", "--output", copied)
	must(t, home, "todo", "add", "--goal-id", "site", "--text", "after the copy")
	must(t, home, append([]string{"backup", "restore", "--file", copied, "--execute"}, owner...)...)
	must(t, home, "tick", "--goal-id", "site", "--turn-instance-id", "new")
	verified(t, home)

	// The last 32 days stay, whatever is asked for.
	again := must(t, home, append([]string{"compact", "--before", day(99), "--execute"}, owner...)...)
	if n := again.out["records"].(float64); n < 30 || n > 100 {
		t.Errorf("the second compaction left out %v records: %s", n, again.raw)
	}
	verified(t, home)
	none := must(t, home, append([]string{"compact", "--before", day(99), "--execute"}, owner...)...)
	if none.out["changed"] != false {
		t.Errorf("there was nothing left to do, and still: %s", none.raw)
	}
	if r := must(t, home, "doctor"); r.out["healthy"] != true {
		t.Errorf("doctor says %s", r.raw)
	}
	if left, _ := filepath.Glob(home.DB() + ".*-*"); len(left) != 3 {
		t.Errorf("files are left behind: %v", left)
	}

	// While a bot serves the folder nothing is replaced.
	d := startProcess(t, home)
	if r := loopx(home, append([]string{"compact", "--before", day(99), "--execute"}, owner...)...); r.str("class") != "locked" {
		t.Errorf("under a daemon: %s", r.raw)
	}
	d.stop(t)
}

// todosOf are the todos as they are listed, without the ends of leases: those
// are worked out from the clock at each look.
func todosOf(t *testing.T, home client.Home) string {
	t.Helper()
	todos := must(t, home, "todo", "list", "--goal-id", "site", "--limit", "200").out["todos"].([]any)
	for _, v := range todos {
		delete(v.(map[string]any), "claim_until")
	}
	raw, err := json.Marshal(todos)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A state of an older layout answers a tick with migration_needed, and migrate
// builds it anew. Nothing is lost; the old file is kept.
func TestMigrate(t *testing.T) {
	home := filledHome(t)
	todos := todosOf(t, home)
	if r := must(t, home, "migrate"); r.out["needed"] != false || r.out["changed"] != false {
		t.Errorf("a current state: %s", r.raw)
	}
	olderLayout(t, home)
	old, err := os.ReadFile(home.DB())
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"tick", "--goal-id", "site", "--agent-id", "builder", "--turn-instance-id", "t2"},
		{"quota", "should-run", "--goal-id", "site", "--agent-id", "builder"},
	} {
		if r := loopx(home, args...); r.code != 6 || r.str("code") != "migration_needed" || r.str("fix") != "loopx migrate" {
			t.Errorf("%v on an older layout: exit code %d %s", args, r.code, r.raw)
		}
	}
	if r := must(t, home, "migrate", "--dry-run"); r.out["needed"] != true || r.out["changed"] != false {
		t.Errorf("the preview says %s", r.raw)
	}
	r := must(t, home, "migrate")
	if r.out["changed"] != true {
		t.Fatalf("it says %s", r.raw)
	}
	if kept, err := os.ReadFile(r.str("kept")); err != nil || string(kept) != string(old) {
		t.Errorf("the old file is not as it was: %v", err)
	}
	if now := todosOf(t, home); now != todos {
		t.Errorf("the todos are %s, were %s", now, todos)
	}
	if again := must(t, home, "tick", "--goal-id", "site", "--agent-id", "builder", "--turn-instance-id", "t1"); again.out["idempotent_replay"] != true {
		t.Errorf("an old turn is forgotten: %s", again.raw)
	}
	verified(t, home)
}

// olderLayout rewrites the tables of a state as a layout 0 might have had them; the
// journal is what it always was.
func olderLayout(t *testing.T, home client.Home) {
	t.Helper()
	st, err := bolt.Open(home.DB(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Update(context.Background(), func(tx store.Tx) error {
		var all [][2]string
		if err := tx.Scan(store.Range{Limit: 1 << 20}, func(k, v []byte) bool { all = append(all, [2]string{string(k), string(v)}); return true }); err != nil {
			return err
		}
		for _, r := range all {
			switch table, rest, _ := strings.Cut(r[0], "\x00"); table {
			case "t":
				if err := errors.Join(tx.Delete([]byte(r[0])), tx.Put([]byte("todo\x00"+rest), []byte(r[1]))); err != nil {
					return err
				}
			case "ix", "pl":
				if err := tx.Delete([]byte(r[0])); err != nil {
					return err
				}
			}
		}
		return tx.Put(store.Key("sv"), []byte("0"))
	})
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
}
