package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loopx/bot/client"
	"loopx/kernel/store/failpoint"
)

// The command that carries a turn through is killed at each of its phases and run
// again. The host is started at most once, nothing is paid twice, and nothing is
// paid that was not validated and committed.
func TestTurnRunKilledAtEachPhase(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "loopx")
	if out, err := exec.Command("go", "build", "-tags", "failpoints", "-o", exe, "loopx/cmd/loopx").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, row := range []struct {
		point         string
		hosts, checks int
		status, code  string // of the second run: its end, or its refusal
		spent         float64
	}{
		{failpoint.TurnOpened, 1, 1, "committed", "", 1},
		{failpoint.TurnMarked, 0, 0, "", "turn_interrupted", 0},
		{failpoint.TurnAnswered, 1, 0, "", "turn_interrupted", 0},
		{failpoint.TurnRecorded, 1, 1, "committed", "", 1},
		{failpoint.TurnChecked, 1, 2, "committed", "", 1},
		{failpoint.TurnValidated, 1, 1, "committed", "", 1},
		{failpoint.TurnCommitted, 1, 1, "committed", "", 1},
	} {
		t.Run(row.point, func(t *testing.T) {
			home := tempHome(t)
			must(t, home, "goal", "create", "--goal-id", "site", "--objective", "Ship it", "--agent-id", "builder")
			todo := must(t, home, "todo", "add", "--goal-id", "site", "--text", "Build the page").str("todo_id")
			hostLog, checkLog := filepath.Join(t.TempDir(), "host"), filepath.Join(t.TempDir(), "check")
			run := func(points string) (int, map[string]any) {
				c := exec.Command(exe, "turn", "run", "--goal-id", "site", "--turn-instance-id", "t1",
					"--host-command", `["turnhost","ok"]`, "--validator", `["turncheck","pass"]`, "--json")
				c.Env = append(environ(home.Dir), "HOSTLOG="+hostLog, "CHECKLOG="+checkLog, "LOOPX_FAILPOINTS="+points)
				var out bytes.Buffer
				c.Stdout = &out
				_ = c.Run()
				var said map[string]any
				_ = json.Unmarshal(out.Bytes(), &said)
				return c.ProcessState.ExitCode(), said
			}
			if code, said := run(row.point + "=1"); code != -1 {
				t.Fatalf("it was not killed: exit code %d, %v", code, said)
			}
			for i := range 2 {
				code, said := run("")
				if row.code != "" && (code == 0 || said["code"] != row.code) || row.status != "" && said["status"] != row.status {
					t.Fatalf("run %d after the kill: exit code %d, %v", i+1, code, said)
				}
			}
			if n := lines(hostLog); n != row.hosts {
				t.Errorf("the host was started %d times, want %d", n, row.hosts)
			}
			if n := lines(checkLog); n != row.checks {
				t.Errorf("the validator was started %d times, want %d", n, row.checks)
			}
			q := must(t, home, "quota", "status", "--goal-id", "site").out
			if q["spent_slots"] != row.spent || q["reserved_slots"] != 0.0 {
				t.Errorf("spent %v, reserved %v", q["spent_slots"], q["reserved_slots"])
			}
			if v := must(t, home, "todo", "show", "--todo-id", todo); row.spent == 0 && v.str("claimed_by") != "" {
				t.Errorf("a turn that failed holds its todo: %s", v.raw)
			}
			verified(t, home)
		})
	}
}

func lines(path string) int {
	b, _ := os.ReadFile(path)
	return strings.Count(string(b), "\n")
}

// verified copies the state and checks that the copy follows from its journal.
func verified(t *testing.T, home client.Home) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "copy.db")
	must(t, home, "backup", "create", "--output", file)
	must(t, home, "backup", "verify", "--file", file)
}
