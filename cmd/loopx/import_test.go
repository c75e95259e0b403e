package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// project writes a project of LoopX by its documented grammar; malformed also by
// what people and crashes make of it. It returns the folder.
func project(t *testing.T, malformed bool) string {
	t.Helper()
	dir := t.TempDir()
	runtime := filepath.Join(dir, "runtime")
	now := time.Now().UTC()
	at := func(d time.Duration) string { return now.Add(-d).Format(time.RFC3339) }
	file := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	goals := `{"id":"site","domain":"web","repo":"/src/site","status":"active","quota":{"compute":0.5,"window_hours":24,"slot_minutes":1},
	  "coordination":{"registered_agents":["coder-a","coder-b"],"agent_model":"peer_v1","write_scope":["web/**"]}},
	 {"id":"watch","activation":{"schema_version":"loopx_goal_activation_v1","state":"stopped"},"coordination":{"registered_agents":["eye"],"agent_work_modes":{"eye":"monitor_only"}}}`
	if malformed {
		goals += `,{"id":"../../etc","coordination":{"registered_agents":["a"]}},{"id":7},{"id":"site","coordination":{"registered_agents":["z"]}},
		 {"id":"bare","quota":{"compute":0},"activation":{"state":"hibernating"},"coordination":{"registered_agents":["Upper","ok","ok"]}}`
	}
	file(".loopx/registry.json", `{"schema_version":"0.1","common_runtime_root":"`+runtime+`","goals":[`+goals+`]}`)
	state := `---
status: active
objective: "Short"
handoff_mode: hard_lease
---
# Active goal state

## Objective
Ship the new pricing page.
It must load in a second.

## Non-Goals
- A new logo

## User Todo / Owner Review Reading Queue
- [ ] [P0] May the page be published?
  <!-- loopx:todo todo_id=todo_gate1 status=open task_class=user_gate unblocks_todo_id=todo_pub decision_scope=public_claim:action:pricing -->
- [ ] Which blue?
  <!-- loopx:todo todo_id=todo_gate2 status=open task_class=user_gate blocks_agent=coder-b -->
- [x] May we use the new database?
  <!-- loopx:todo todo_id=todo_gate3 status=done task_class=user_gate decision_outcome=approve decision_scope=resource:project:* completed_at=` + at(48*time.Hour) + ` -->
- [ ] Please read the draft
  <!-- loopx:todo todo_id=todo_ask1 status=open task_class=user_action -->

## Agent Todo
- [ ] [P1] Build the page
  with all three plans on it
  <!-- loopx:todo todo_id=todo_build status=open task_class=advancement_task claimed_by=coder-a required_write_scopes=web/**,css/** required_capabilities=go updated_at=` + at(3*time.Hour) + ` -->
- [ ] [P2] Publish%21
  <!-- loopx:todo todo_id=todo_pub status=blocked task_class=advancement_task required_decision_scopes=public_claim:action:pricing -->
- [ ] [P4] Watch the build
  <!-- loopx:todo todo_id=todo_ci status=open task_class=continuous_monitor target_key=ci cadence=30m watch_only=true -->
- [-] Translate
  <!-- loopx:todo todo_id=todo_trans status=deferred resume_when=todo_done:todo_build -->
- [-] Merge
  <!-- loopx:todo todo_id=todo_merge status=deferred resume_when=pr_merged:acme/site%2317 -->
- [ ] No comment at all
- [ ] Checked work
  <!-- loopx:todo todo_id=todo_val status=open validation_argv=%5B%22go%22%2C%22test%22%5D action_kind=code replan_obligation_id=replan-0123456789abcdef -->

## Next Action
Build the page.

## Completed Work Archive
- [x] Draw the page
  <!-- loopx:todo todo_id=todo_draw status=done no_followup=true evidence=reviewed%20by%20two completed_at=` + at(72*time.Hour) + ` -->
- [x] Old plan
  <!-- loopx:todo todo_id=todo_old status=done superseded_by=todo_build -->
`
	if malformed {
		state = strings.Replace(state, "## Next Action", `- [ ] 
  <!-- loopx:todo todo_id=todo_empty status=open -->
- [ ] The same id again
  <!-- loopx:todo todo_id=todo_build status=open -->
- [ ] A bad id
  <!-- loopx:todo todo_id=TODO-7 status=open -->
- [ ] A comment without an end
  <!-- loopx:todo todo_id=todo_cut status=open
- [ ] Bad escapes
  <!-- loopx:todo todo_id=todo_esc note=%zz status=open lonely -->
- [ ] Out of the repository
  <!-- loopx:todo todo_id=todo_out status=open required_write_scopes=../../etc -->
- [ ] Unknown states
  <!-- loopx:todo todo_id=todo_odd status=sleeping task_class=dream resume_when=moon:full -->
- [ ] Needs a shell
  <!-- loopx:todo todo_id=todo_sh validation_command=make%20test%20%7C%20tee%20log -->
- [ ] Text with `+"\x1b[2J\u202e"+` in it
  <!-- loopx:todo todo_id=todo_esc2 status=open -->
- [x] Replaced by nobody
  <!-- loopx:todo todo_id=todo_gone status=done superseded_by=todo_nowhere -->
- [ ] Far away
  <!-- loopx:todo todo_id=todo_far status=open completed_at=2999-01-01T00:00:00Z required_decision_scopes=nonsense -->

## Next Action`, 1)
		state = strings.Replace(state, "unblocks_todo_id=todo_pub decision_scope=public_claim:action:pricing", "unblocks_todo_id=todo_nowhere decision_scope=junk", 1)
	}
	file(".codex/goals/site/ACTIVE_GOAL_STATE.md", state)
	index := fmt.Sprintf(`{"generated_at":%q,"goal_id":"site","classification":"state_refreshed","agent_id":"coder-a","todo_id":"todo_build","delivery_outcome":"outcome_progress","recommended_action":"go on"}
{"generated_at":%q,"goal_id":"site","classification":"quota_slot_spent","agent_id":"coder-a","slots":2}
{"generated_at":%q,"goal_id":"site","classification":"quota_slot_spent","agent_id":"coder-a","slots":3}
{"generated_at":%q,"goal_id":"site","classification":"quota_slot_spent","agent_id":"coder-a","slots":1}
{"generated_at":%q,"goal_id":"site","classification":"quota_slot_voided","void_generated_at":%q,"slots":1}
{"generated_at":%q,"goal_id":"site","classification":"operator_gate_approved"}
`, at(3*time.Hour), at(2*time.Hour), at(40*time.Hour), at(time.Hour), at(30*time.Minute), at(time.Hour), at(50*time.Hour))
	if malformed {
		index += "{\"generated_at\":\"cut off\n\n{\"classification\":\"no date\"}\n" + fmt.Sprintf(`{"generated_at":%q,"goal_id":"other","classification":"x"}
{"generated_at":"2999-01-01T00:00:00Z","classification":"x"}
{"generated_at":%q,"classification":"quota_slot_spent","slots":1.5}
{"generated_at":%q,"classification":"","agent_id":"a"}`, at(time.Hour), at(5*time.Hour), at(time.Hour))
	}
	file("runtime/goals/site/runs/index.jsonl", index)
	file("runtime/goals/site/task-leases/todo_build.json", `{"schema_version":"task_lease_v0","goal_id":"site","todo_id":"todo_build","owner":"coder-a","status":"active"}`)
	if malformed {
		file("runtime/goals/site/task-leases/todo_none.json", `{"todo_id":"todo_none","owner":"x"}`)
		file("runtime/goals/site/task-leases/broken.json", `{"todo`)
		file("runtime/goals/site/task-leases/.task-leases.lock", "")
	}
	return dir
}

// rowsOf counts what lies in a project without the reader that is tested.
func rowsOf(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	read := func(path string) string {
		b, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	reg := read(".loopx/registry.json")
	n += strings.Count(reg, `{"id":`)
	for _, list := range regexp.MustCompile(`"registered_agents":\[([^\]]*)\]`).FindAllStringSubmatch(reg, -1) {
		n += strings.Count(list[1], `"`) / 2
	}
	n += len(regexp.MustCompile(`(?m)^- \[[ x-]\] `).FindAllString(read(".codex/goals/site/ACTIVE_GOAL_STATE.md"), -1))
	for line := range strings.SplitSeq(read("runtime/goals/site/runs/index.jsonl"), "\n") {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	leases, _ := filepath.Glob(filepath.Join(dir, "runtime/goals/site/task-leases/*.json"))
	return n + len(leases)
}

func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %v %x\n", path, info.ModTime(), raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every row of a project is accounted for, well formed or not, in the preview and
// after; the preview says what the import does, and the project is only read.
func TestImportAccountsForEveryRow(t *testing.T) {
	for _, malformed := range []bool{false, true} {
		t.Run(fmt.Sprintf("malformed %v", malformed), func(t *testing.T) {
			dir := project(t, malformed)
			before, want := tree(t, dir), rowsOf(t, dir)
			home := tempHome(t)
			shown := must(t, home, "import", "loopx", "--project", dir)
			if home.Exists() {
				t.Error("the preview made a workspace")
			}
			must(t, home, "goal", "create", "--goal-id", "else", "--objective", "Another goal")
			done := must(t, home, "import", "loopx", "--project", dir, "--execute", "--owner-token-file", home.TokenFile())
			for _, r := range []result{shown, done} {
				n := r.out["totals"].(map[string]any)
				rows := r.out["rows"].([]any)
				if n["rows"] != float64(want) || len(rows) != want || n["kept"].(float64)+n["changed"].(float64)+n["refused"].(float64) != float64(want) {
					t.Errorf("there are %d rows, the report has %d: %v", want, len(rows), n)
				}
				for _, row := range rows {
					v := row.(map[string]any)
					if why, _ := v["why"].(string); (v["verdict"] == "kept") != (why == "") {
						t.Errorf("a row without a reason, or a kept one with: %v", v)
					}
				}
			}
			if fmt.Sprint(shown.out["rows"]) != fmt.Sprint(done.out["rows"]) {
				t.Errorf("the preview said\n%v\nand it did\n%v", shown.out["rows"], done.out["rows"])
			}
			if malformed == (shown.out["totals"].(map[string]any)["refused"] == 0.0) {
				t.Errorf("totals %v", shown.out["totals"])
			}
			if tree(t, dir) != before {
				t.Error("the project was written to")
			}
			again := must(t, home, "import", "loopx", "--project", dir, "--execute", "--owner-token-file", home.TokenFile())
			if fmt.Sprint(again.out["totals"]) != fmt.Sprint(done.out["totals"]) {
				t.Errorf("the same import again: %v, was %v", again.out["totals"], done.out["totals"])
			}
			verified(t, home)
		})
	}
}

// What comes with an import is work and history, and nothing of it is a right.
func TestImportBringsNoAuthority(t *testing.T) {
	dir := project(t, false)
	home := tempHome(t)
	must(t, home, "goal", "create", "--goal-id", "else", "--objective", "Another goal")
	if r := loopx(home, "import", "loopx", "--project", dir, "--execute"); r.code != 5 {
		t.Errorf("without the owner's proof: exit code %d %s", r.code, r.raw)
	}
	must(t, home, "import", "loopx", "--project", dir, "--execute", "--owner-token-file", home.TokenFile())
	todo := func(id string) map[string]any {
		return must(t, home, "todo", "show", "--goal-id", "site", "--todo-id", id).out
	}
	if v := todo("todo_build"); v["status"] != "open" || v["claimed_by"] != nil || v["priority"] != 1.0 || !strings.Contains(fmt.Sprint(v["body"]), "three plans") {
		t.Errorf("the claimed todo came as %v", v)
	}
	if v := todo("todo_pub"); v["status"] != "deferred" {
		t.Errorf("the blocked todo came as %v", v)
	}
	if v := todo("todo_trans"); v["resume_when"] != "todo_done:todo_build" {
		t.Errorf("the parked todo came as %v", v)
	}
	if v := todo("todo_draw"); v["status"] != "done" {
		t.Errorf("the done todo came as %v", v)
	}
	if g := must(t, home, "grant", "list", "--goal-id", "site"); len(g.out["grants"].([]any)) != 0 {
		t.Errorf("an approval came along: %s", g.raw)
	}
	gates := must(t, home, "gate", "list", "--goal-id", "site").out["gates"].([]any)
	if len(gates) != 2 {
		t.Errorf("%d gates came, want the two open ones: %v", len(gates), gates)
	}
	history := must(t, home, "history", "--goal-id", "site", "--limit", "100").raw
	for _, want := range []string{"decided_elsewhere_approve", "operator_gate_approved", "state_refreshed"} {
		if !strings.Contains(history, want) {
			t.Errorf("history lacks %s: %s", want, history)
		}
	}
	if r := loopx(home, "quota", "spend-slot", "--goal-id", "site", "--agent-id", "coder-a", "--execute"); r.str("code") != "writeback_missing" {
		t.Errorf("an imported writeback can be paid: %s", r.raw)
	}
	q := must(t, home, "quota", "status", "--goal-id", "site").out
	if q["spent_slots"] != 2.0 || q["allowed_slots"] != 720.0 {
		t.Errorf("spent %v of %v, want 2 of 720", q["spent_slots"], q["allowed_slots"])
	}
	if d := must(t, home, "quota", "should-run", "--goal-id", "watch", "--agent-id", "eye").out; d["state"] != "paused" {
		t.Errorf("a stopped goal came running: %v", d)
	}
	d := must(t, home, "tick", "--goal-id", "site", "--agent-id", "coder-a", "--available-capability", "go", "--turn-instance-id", "t1")
	if d.out["should_run"] != true {
		t.Errorf("the imported goal does not go on: %s", d.raw)
	}
}

// Ids that another goal of this workspace has are changed everywhere, and an
// import that stopped half-way goes on.
func TestImportRenamesAndGoesOn(t *testing.T) {
	dir := project(t, false)
	home := tempHome(t)
	must(t, home, "goal", "create", "--goal-id", "else", "--objective", "Another goal")
	must(t, home, "import", "loopx", "--project", dir, "--execute", "--owner-token-file", home.TokenFile())
	reg := filepath.Join(dir, ".loopx", "registry.json")
	b, err := os.ReadFile(reg)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(reg, []byte(strings.ReplaceAll(string(b), `"id":"site"`, `"id":"site2","state_file":".codex/goals/site/ACTIVE_GOAL_STATE.md"`)), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := must(t, home, "import", "loopx", "--project", dir, "--execute", "--owner-token-file", home.TokenFile())
		if !strings.Contains(r.raw, "another goal has that id") {
			t.Fatalf("no id was changed: %s", r.raw)
		}
	}
	list := must(t, home, "todo", "list", "--goal-id", "site2", "--limit", "50").raw
	if strings.Contains(list, `"todo_build"`) || strings.Contains(list, "todo_done:todo_build") {
		t.Errorf("an old id is left: %s", list)
	}
	verified(t, home)
}

// A goal keeps its window, and what was paid inside it counts.
func TestImportKeepsTheWindow(t *testing.T) {
	dir := project(t, false)
	reg := filepath.Join(dir, ".loopx", "registry.json")
	b, err := os.ReadFile(reg)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(reg, []byte(strings.Replace(string(b), `"window_hours":24`, `"window_hours":168`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	home := tempHome(t)
	must(t, home, "goal", "create", "--goal-id", "else", "--objective", "Another goal") // a workspace has its owner's proof
	must(t, home, "import", "loopx", "--project", dir, "--execute", "--owner-token-file", home.TokenFile())
	if got := must(t, home, "quota", "status", "--goal-id", "site").raw; !strings.Contains(got, `"window_ms":604800000`) || !strings.Contains(got, `"allowed_slots":5040`) {
		t.Errorf("the allowance is %s", got)
	}
	verified(t, home)
}
