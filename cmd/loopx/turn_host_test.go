package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// turnHost is a scripted host: `turnhost MODE` notes in the file $HOSTLOG that it
// was started and answers as MODE says.
func turnHost() {
	note("HOSTLOG", os.Args[1])
	raw, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	var req struct {
		Schema   string         `json:"schema_version"`
		Key      string         `json:"turn_key"`
		Turn     string         `json:"turn_instance_id"`
		Goal     string         `json:"goal_id"`
		Agent    string         `json:"agent_id"`
		Session  string         `json:"session_id"`
		Deadline string         `json:"deadline"`
		Route    map[string]any `json:"route"`
		Todo     map[string]any `json:"todo"`
		Envelope map[string]any `json:"turn_envelope"`
		Contract map[string]any `json:"result_contract"`
	}
	if err := json.Unmarshal(raw, &req); err != nil {
		panic(err)
	}
	todo, _ := req.Todo["todo_id"].(string)
	for name, want := range map[string]string{"LOOPX_GOAL": req.Goal, "LOOPX_AGENT": req.Agent, "LOOPX_TURN": req.Turn, "LOOPX_SESSION": req.Session, "LOOPX_TODO": todo} {
		if os.Getenv(name) != want {
			panic(name + " is " + os.Getenv(name) + ", the request says " + want)
		}
	}
	if at, err := time.Parse(time.RFC3339, req.Deadline); err != nil || time.Until(at) <= 0 {
		panic("the deadline is " + req.Deadline)
	}
	props, _ := req.Contract["properties"].(map[string]any)
	key, _ := props["turn_key"].(map[string]any)
	res := map[string]any{"schema_version": "loopx_turn_result_v0", "turn_key": key["const"], "result_kind": "validated_progress",
		"completed_phases": []string{"host_execute", "typed_result"}, "summary": "half of it works",
		"evidence": []map[string]any{{"kind": "check", "summary": "tests 12/12"}}}
	switch os.Args[1] {
	case "ok":
		res["tokens"] = 1200
	case "complete":
		res["result_kind"], res["no_follow_up"] = "validated_completion", true
	case "wait", "repair_required", "replan_required", "user_action_required":
		res["result_kind"] = os.Args[1]
	case "kind":
		res["result_kind"] = "great_success"
	case "otherturn":
		res["turn_key"] = strings.Repeat("0", 32)
	case "othertodo":
		res["todo_id"] = "todo_other"
	case "phases":
		res["completed_phases"] = []string{"host_execute", "typed_result", "validation", "quota_spend"}
	case "unknown":
		res["paid"] = true
	case "bidi":
		res["summary"] = "a\u202eb"
	case "long":
		res["summary"] = strings.Repeat("a", 401)
	case "surface":
		res["delivery_outcome"] = "surface_only"
	case "garbage":
		fmt.Println("Sure! Here is the result you asked for.")
		return
	case "silent":
		return
	case "twice":
		_ = json.NewEncoder(os.Stdout).Encode(res)
	case "dupkey":
		fmt.Printf(`{"schema_version":"loopx_turn_result_v0","turn_key":"x","turn_key":%q,"result_kind":"wait","summary":"s"}`, req.Key)
		return
	case "flood":
		for {
			if _, err := fmt.Println(strings.Repeat("x", 1000)); err != nil {
				forever()
			}
		}
	case "noise":
		for {
			if _, err := fmt.Fprintln(os.Stderr, strings.Repeat("x", 1000)); err != nil {
				forever()
			}
		}
	case "exit":
		fmt.Fprintln(os.Stderr, "no model today")
		os.Exit(3)
	case "killed":
		_ = exec.Command("kill", "-9", fmt.Sprint(os.Getpid())).Run()
	case "hang":
		// A grandchild that would outlive its parent, too.
		c := exec.Command("sleep", "300")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			panic(err)
		}
		note("HOSTPIDS", fmt.Sprint(os.Getpid(), " ", c.Process.Pid))
		forever()
	case "orphan":
		c := exec.Command("sleep", "300") // holds the pipe open
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			panic(err)
		}
		note("HOSTPIDS", fmt.Sprint(c.Process.Pid))
	case "spend":
		// It pays itself: by its turn, and completes on its own.
		for _, args := range [][]string{
			{"refresh-state", "--turn-instance-id", req.Turn, "--todo-id", todo, "--delivery-outcome", "outcome_progress", "--json"},
			{"todo", "complete", "--turn-instance-id", req.Turn, "--todo-id", todo, "--evidence", "me", "--json"},
			{"quota", "spend-slot", "--turn-instance-id", req.Turn, "--execute", "--json"},
		} {
			out, _ := exec.Command("loopx", args...).Output()
			var said struct {
				Code string `json:"code"`
			}
			_ = json.Unmarshal(out, &said)
			note("HOSTLOG", said.Code)
		}
	default:
		panic("no mode " + os.Args[1])
	}
	_ = json.NewEncoder(os.Stdout).Encode(res)
}

// turnCheck is a validator: it notes what it was given and passes or not.
func turnCheck() {
	raw, _ := io.ReadAll(os.Stdin)
	var got struct {
		Kind string `json:"result_kind"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		panic(err)
	}
	if os.Getenv("LOOPX_LEASE") != "" {
		panic("the validator was given the lease")
	}
	note("CHECKLOG", got.Kind)
	if os.Args[1] == "hang" {
		forever()
	}
	if os.Args[1] != "pass" {
		fmt.Fprintln(os.Stderr, "the page is blank")
		os.Exit(1)
	}
}

// turnLies is `lies MODE code exit`: a turn with that host fails like this, twice,
// and the host was started once.
func turnLies(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: lies mode code exit")
	}
	before := strings.Count(readOr(ts, "HOSTLOG"), "\n")
	run := []string{args[2], "loopx", "turn", "run", "--goal-id", "site", "--turn-instance-id", args[0], "--timeout", "1500ms",
		"--host-command", `["turnhost","` + args[0] + `"]`, "--validator", `["turncheck","pass"]`, "--json"}
	runCode(ts, false, run)
	jsonField(ts, false, []string{"code", args[1]})
	run[0] = "" // a failure that is told again is a conflict or what it was
	_ = ts.Exec(run[1], run[2:]...)
	jsonField(ts, false, []string{"code", args[1]})
	jsonField(ts, false, []string{"details.idempotent_replay", "true"})
	if n := strings.Count(readOr(ts, "HOSTLOG"), "\n") - before; n != 1 {
		ts.Fatalf("the host was started %d times", n)
	}
	ts.Check(ts.Exec("loopx", "turn", "show", "--goal-id", "site", "--turn-instance-id", args[0], "--json"))
	jsonField(ts, false, []string{"turn.outcome", "failed"})
	jsonField(ts, false, []string{"turn.drive.failure.code", args[1]})
}

func readOr(ts *testscript.TestScript, env string) string {
	b, _ := os.ReadFile(ts.Getenv(env))
	return string(b)
}

// pidsGone is `gone file`: none of the processes named in it is left.
func pidsGone(ts *testscript.TestScript, neg bool, args []string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for pid := range strings.FieldsSeq(ts.ReadFile(args[0])) {
		for i := 0; ; i++ {
			b, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil || strings.Contains(string(b), ") Z ") {
				break
			}
			if i > 200 {
				ts.Fatalf("process %s is left: %s", pid, b)
			}
			<-tick.C
		}
	}
}

// forever does not come back; what it starts is in the same group.
func forever() { _ = exec.Command("sleep", "3600").Run() }

// note appends a line to the file that the environment names.
func note(env, line string) {
	f, err := os.OpenFile(os.Getenv(env), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	if _, err := fmt.Fprintln(f, line); err != nil {
		panic(err)
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
}
