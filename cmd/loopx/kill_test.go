package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"loopx/bot/client"
	"loopx/kernel/store/failpoint"
)

// killed is a loopx built so that it can be killed at a named point.
type killed struct{ exe string }

func buildKilled(t *testing.T) killed {
	t.Helper()
	k := killed{filepath.Join(t.TempDir(), "loopx")}
	if out, err := exec.Command("go", "build", "-tags", "failpoints", "-o", k.exe, "loopx/cmd/loopx").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return k
}

// at runs a command and reports whether it was killed at the n-th hit of point.
func (k killed) at(t *testing.T, home client.Home, point string, n int, args ...string) bool {
	t.Helper()
	c := exec.Command(k.exe, append(args, "--json")...)
	c.Env = append(environ(home.Dir), fmt.Sprintf("LOOPX_FAILPOINTS=%s=%d", point, n), "TMPDIR="+t.TempDir())
	out, _ := c.CombinedOutput()
	if code := c.ProcessState.ExitCode(); code > 0 {
		// The check of the result runs in a child of the same build, which may be what
		// died: then the command refused, and nothing happened.
		var said struct{ Code string }
		if json.Unmarshal(out, &said) != nil || said.Code != "backup_damaged" {
			t.Fatalf("%v at %s=%d: exit code %d\n%s", args, point, n, code, out)
		}
	}
	return c.ProcessState.ExitCode() < 0
}

// killRow is one way of killing a command that writes a whole file.
type killRow struct {
	point string
	most  int // a round dies at a hit from 1 to most
	done  bool
}

// K8: the commands that replace the state, killed at each point. Afterwards the
// file is the old state, byte for byte, or the new one, whole; either way nothing
// is lost, and the same command carries it through.
func TestKilledWhileTheStateIsReplaced(t *testing.T) {
	exe := buildKilled(t)
	seed := uint64(number(t, "LOOPX_SEED", int(time.Now().UnixNano()&0x7fffffff)))
	n := min(number(t, "LOOPX_ROUNDS", 1), 300) // what the matrix promises
	t.Logf("seed %d, %d rounds a point", seed, n)
	building := []killRow{{failpoint.BeforeCommit, 6, false}, {failpoint.AfterCommit, 6, false}}
	swapping := []killRow{{failpoint.StateReady, 1, false}, {failpoint.StateKept, 1, false}, {failpoint.StateRenamed, 1, true}}
	for name, c := range map[string]struct {
		make func(t *testing.T) client.Home
		args func(home, from client.Home) []string
		// settled is true once the command has nothing left to do.
		settled func(result) bool
		rows    []killRow
	}{
		"migrate": {
			make:    func(t *testing.T) client.Home { h := filledHome(t); olderLayout(t, h); return h },
			args:    func(client.Home, client.Home) []string { return []string{"migrate"} },
			settled: func(r result) bool { return r.out["needed"] == false },
			rows:    append([]killRow{{failpoint.BirthRenamed, 1, false}}, slices.Concat(building, swapping)...),
		},
		"compact": {
			make: func(t *testing.T) client.Home { h, _ := agedHome(t); return h },
			args: func(home, _ client.Home) []string {
				return []string{"compact", "--before", time.Now().Add(-50 * 24 * time.Hour).UTC().Format(time.DateOnly), "--execute", "--owner-token-file", home.TokenFile()}
			},
			settled: func(r result) bool { return r.out["changed"] == false },
			rows:    slices.Concat(building, swapping),
		},
		"restore": {
			make: filledHome,
			args: func(home, from client.Home) []string {
				return []string{"backup", "restore", "--file", from.DB(), "--execute", "--owner-token-file", home.TokenFile()}
			},
			rows: swapping,
		},
	} {
		t.Run(name, func(t *testing.T) {
			from := c.make(t)
			old, err := os.ReadFile(from.DB())
			if err != nil {
				t.Fatal(err)
			}
			todos := ""
			for _, row := range c.rows {
				rnd := rand.New(rand.NewPCG(seed, uint64(len(name)+len(row.point))))
				for range n {
					home := copyOf(t, old)
					args := c.args(home, from)
					died := false
					for hit := 1 + rnd.IntN(row.most); hit > 0 && !died; hit-- {
						home = copyOf(t, old)
						args = c.args(home, from)
						died = exe.at(t, home, row.point, hit, args...)
					}
					if !died {
						t.Fatalf("%s: it was not killed: the row has no teeth", row.point)
					}
					now, err := os.ReadFile(home.DB())
					if err != nil {
						t.Fatalf("%s: %v", row.point, err)
					}
					if same := bytes.Equal(now, old); same == row.done {
						t.Fatalf("%s: the file is the old one: %v", row.point, same)
					}
					r := must(t, home, args...)
					if c.settled != nil && c.settled(r) != row.done {
						t.Fatalf("%s: the next run said %s", row.point, r.raw)
					}
					if got := todosOf(t, home); todos == "" {
						todos = got
					} else if got != todos {
						t.Fatalf("%s: the todos are %s, were %s", row.point, got, todos)
					}
					verified(t, home)
					must(t, home, "todo", "add", "--goal-id", "site", "--text", "after")
					toldLeftovers(t, home)
				}
			}
		})
	}
}

// toldLeftovers checks that doctor names what a killed command left in the folder
// once it is old, and that its fix mends it.
func toldLeftovers(t *testing.T, home client.Home) {
	t.Helper()
	files, err := filepath.Glob(home.DB() + ".*-*")
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, f := range files {
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
	}
	fix := func() string {
		for _, c := range must(t, home, "doctor").out["checks"].([]any) {
			if c := c.(map[string]any); c["name"] == "leftovers" {
				return c["fix"].(string)
			}
		}
		return ""
	}
	told := fix()
	if told == "" {
		t.Fatalf("doctor does not name what is left: %v", files)
	}
	if out, err := exec.Command("sh", "-ec", told).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", told, err, out)
	}
	if again := fix(); again != "" {
		t.Fatalf("after its fix doctor still says %s", again)
	}
	for _, f := range files {
		if _, err := os.Lstat(f); strings.Contains(f, ".before-") != (err == nil) {
			t.Errorf("the fix and %s: %v", f, err)
		}
	}
}

// copyOf is a folder of its own with a state file and an owner.
func copyOf(t *testing.T, db []byte) client.Home {
	t.Helper()
	home := tempHome(t)
	if err := home.Ensure(); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Token(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home.DB(), db, 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// K8: a backup that is killed at any point leaves no file under the name that was
// asked for, or a whole one; the state goes on, and the next backup succeeds.
func TestKilledDuringBackup(t *testing.T) {
	exe := buildKilled(t)
	seed := uint64(number(t, "LOOPX_SEED", int(time.Now().UnixNano()&0x7fffffff)))
	n := min(number(t, "LOOPX_ROUNDS", 1), 300)
	t.Logf("seed %d, %d rounds a point", seed, n)
	for _, mode := range []string{"file", "daemon"} {
		t.Run(mode, func(t *testing.T) {
			home := filledHome(t)
			if mode == "daemon" {
				d := startProcess(t, home)
				defer d.stop(t)
			}
			for _, row := range []killRow{{failpoint.BackupWriting, 3, false}, {failpoint.BackupSynced, 1, false}, {failpoint.BackupNamed, 1, true}} {
				rnd := rand.New(rand.NewPCG(seed, uint64(len(row.point))))
				for range n {
					file := filepath.Join(t.TempDir(), "copy.db")
					died := false
					for hit := 1 + rnd.IntN(row.most); hit > 0 && !died; hit-- {
						died = exe.at(t, home, row.point, hit, "backup", "create", "--output", file)
					}
					if !died {
						t.Fatalf("%s: it was not killed: the row has no teeth", row.point)
					}
					if _, err := os.Stat(file); (err == nil) != row.done {
						t.Fatalf("%s: a file has the name: %v", row.point, err == nil)
					}
					if row.done {
						must(t, home, "backup", "verify", "--file", file)
					}
					must(t, home, "todo", "add", "--goal-id", "site", "--text", "after")
					must(t, home, "backup", "create", "--output", file, "--force")
					must(t, home, "backup", "verify", "--file", file)
				}
			}
		})
	}
}
