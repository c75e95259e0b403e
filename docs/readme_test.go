package docs_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopx/cmd/loopx/cli"
)

// The commands of the README run as they stand there, in their order, on an
// empty folder. ID is what the first todo was called; the owner's proof, which a
// person gives at a terminal, is given by file.
func TestReadmeCommandsRun(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	env := []string{"HOME=" + t.TempDir(), "LOOPX_HOME=" + home}
	todo := ""
	ran := 0
	for _, line := range commands(read(t, "README.md")) {
		args := words(t, line)
		if len(args) == 0 || args[0] != "loopx" {
			continue
		}
		args = append(args[1:], "--format", "json")
		for i := range args {
			if args[i] == "ID" {
				args[i] = todo
			}
		}
		if args[0] == "gate" && args[1] == "open" {
			// The todo of the tick is done by then: ask about another.
			todo = run(t, env, "todo", "add", "--goal-id", "site", "--text", "Publish", "--format", "json")["todo_id"].(string)
			args[slices.Index(args, "--blocks-todo")+1] = todo
		}
		if args[0] == "gate" && args[1] == "answer" {
			args = append(args, "--owner-token-file", filepath.Join(home, "owner.token"))
		}
		out := run(t, env, args...)
		ran++
		switch args[0] + " " + args[1] {
		case "todo add":
			todo, _ = out["todo_id"].(string)
		case "quota should-run":
			if out["should_run"] != true {
				t.Errorf("should-run says %v", out)
			}
		case "quota spend-slot":
			if out["appended"] != true {
				t.Errorf("spend-slot says %v", out)
			}
		case "gate answer":
			if out["changed"] != true || out["outcome"] != "approve" {
				t.Errorf("gate answer says %v", out)
			}
		}
	}
	if ran < 10 {
		t.Errorf("only %d commands were found", ran)
	}
}

func run(t *testing.T, env []string, args ...string) map[string]any {
	t.Helper()
	var out, errs strings.Builder
	code := cli.Run(context.WithoutCancel(t.Context()), args, env, strings.NewReader(""), &out, &errs)
	var v map[string]any
	if err := json.Unmarshal([]byte(out.String()), &v); err != nil || code != 0 || v["ok"] != true {
		t.Fatalf("loopx %s: exit %d\n%s%s", strings.Join(args, " "), code, out.String(), errs.String())
	}
	return v
}

// words splits a line of the README as a shell would: spaces and double quotes.
func words(t *testing.T, line string) []string {
	t.Helper()
	var out []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			if n := len(out); n > 0 && strings.HasSuffix(out[n-1], "=") {
				out[n-1] += part
			} else {
				out = append(out, part)
			}
			continue
		}
		if i > 0 && part != "" && !strings.HasPrefix(part, " ") {
			t.Fatalf("%q: a quoted word must end", line)
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}
