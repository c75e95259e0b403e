package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// cli runs the command line of this very binary, one process a command, as an
// agent's host would.
type cli struct {
	exe  string
	home string
	env  []string
}

func newCLI(home string) (*cli, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &cli{exe: exe, home: home}
	for _, kv := range os.Environ() {
		// The demo may be started from inside an agent's host; its agents are its own.
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(name, "LOOPX_"), name == "CLAUDECODE", name == "CODEX_THREAD_ID", name == "OPENCODE", name == "GEMINI_CLI":
		default:
			c.env = append(c.env, kv)
		}
	}
	c.env = append(c.env, "LOOPX_HOME="+home)
	return c, nil
}

// answer is the flat JSON envelope of a command.
type answer map[string]any

func (a answer) str(key string) string { s, _ := a[key].(string); return s }

func (a answer) yes(key string) bool { b, _ := a[key].(bool); return b }

func (a answer) sub(key string) answer { m, _ := a[key].(map[string]any); return m }

// refused is a command that said no.
type refused struct {
	args answer
	line string
}

func (r *refused) Error() string {
	return r.line + ": " + r.args.str("message") + " (" + r.args.str("code") + ")"
}

// code is the error's stable code.
func code(err error) string {
	if r, ok := errors.AsType[*refused](err); ok {
		return r.args.str("code")
	}
	return ""
}

// run runs one command and returns its JSON answer.
func (c *cli) run(ctx context.Context, args ...string) (answer, error) {
	cmd := exec.CommandContext(ctx, c.exe, append([]string{"cli", "--json"}, args...)...)
	cmd.Env = c.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var a answer
	if jsonErr := json.Unmarshal(out.Bytes(), &a); jsonErr != nil {
		return nil, fmt.Errorf("%s: no JSON answer (%v): %s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	if err != nil || !a.yes("ok") {
		return a, &refused{args: a, line: strings.Join(args, " ")}
	}
	return a, nil
}

// owner runs an owner's act with the proof from the state folder.
func (c *cli) owner(ctx context.Context, args ...string) (answer, error) {
	return c.run(ctx, append(args, "--owner-token-file", c.home+"/owner.token")...)
}
