package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"loopx/bot/api"
	"loopx/bot/client"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
	"loopx/kernel/view"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is also the programs the tests run: loopx itself, and a daemon
// that holds a folder and serves its socket like the bot does.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"loopx": main, "loopxd": daemonMain, "turnhost": turnHost, "turncheck": turnCheck})
}

// TestScripts runs every script twice: on the state file, and through a daemon.
// [file] and [daemon] tell them apart.
func TestScripts(t *testing.T) {
	for _, mode := range []string{"file", "daemon"} {
		t.Run(mode, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir:                 "testdata/script",
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				Setup: func(env *testscript.Env) error {
					home := filepath.Join(env.WorkDir, "home")
					env.Setenv("LOOPX_HOME", home)
					env.Setenv("TZ", "UTC")
					env.Setenv("NO_COLOR", "1")
					env.Setenv("GORACE", "atexit_sleep_ms=0") // see environ
					if mode == "daemon" {
						return startDaemon(env, home)
					}
					return nil
				},
				Condition: func(cond string) (bool, error) {
					switch cond {
					case "file", "daemon":
						return cond == mode, nil
					case "root":
						return os.Geteuid() == 0, nil
					case "mount":
						return canMount(t), nil
					}
					return false, fmt.Errorf("unknown condition %s", cond)
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"code": runCode, "json": jsonSet, "field": jsonField, "fields": jsonFields,
					"hand": handWrite, "shot": shot, "tmpfs": mountTmpfs, "remount": remount, "newer": newerSchema,
					"say": say, "reach": reach, "lies": turnLies, "gone": pidsGone,
				},
			})
		})
	}
}

// startDaemon serves a home in this process until the script ends.
func startDaemon(env *testscript.Env, dir string) error {
	home, err := client.FindHome(dir, func(string) string { return "" })
	if err != nil {
		return err
	}
	held, srv, err := serve(context.Background(), home)
	if err != nil {
		return err
	}
	env.Values[servedKernel{}] = held.Kernel
	env.Defer(func() {
		if err := errors.Join(srv.Stop(context.Background()), held.Close()); err != nil {
			panic(err)
		}
	})
	return nil
}

// serve is a daemon's start in its order.
func serve(ctx context.Context, home client.Home) (*api.Held, *api.Server, error) {
	held, err := api.Hold(ctx, api.HoldOptions{Home: home, Command: "loopxd"})
	if err != nil {
		return nil, nil, err
	}
	proof := api.NewProof(home, held.Kernel, nil)
	srv := api.New(api.Options{Service: view.Local{K: held.Kernel}, Wake: held.Store.Watch, Home: home, Token: proof.Current})
	if err := srv.Start(); err != nil {
		return nil, nil, errors.Join(err, held.Close())
	}
	return held, srv, nil
}

// runCode is `code N program args...`: the program must exit with N.
func runCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	if out := ts.ReadFile("stdout") + ts.ReadFile("stderr"); strings.Contains(out, "goroutine ") || strings.Contains(out, "panic:") {
		ts.Fatalf("it panicked")
	}
}

// object is the last program's standard output, which must be one JSON object.
func object(ts *testscript.TestScript) map[string]any {
	var m map[string]any
	out := ts.ReadFile("stdout")
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		ts.Fatalf("standard output is not one JSON object: %v\n%s", err, out)
	}
	return m
}

// at follows a path like lease.token or todos.0.todo_id.
func at(ts *testscript.TestScript, path string) string {
	var v any = object(ts)
	for part := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[part]; !ok {
				return "(none)"
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(x) {
				return "(none)"
			}
			v = x[i]
		default:
			return "(none)"
		}
	}
	switch x := v.(type) {
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	b, err := json.Marshal(v)
	ts.Check(err)
	return string(b)
}

// jsonSet is `json NAME path`: it keeps a value of the last output.
func jsonSet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: json NAME path")
	}
	v := at(ts, args[1])
	if v == "(none)" {
		ts.Fatalf("there is no %s", args[1])
	}
	ts.Setenv(args[0], v)
}

// jsonField is `field path value`.
func jsonField(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: field path value")
	}
	if got := at(ts, args[0]); (got == args[1]) == neg {
		ts.Fatalf("%s is %q, want %q (negated: %v)", args[0], got, args[1], neg)
	}
}

// jsonFields is `fields path name...`: exactly these names, in any order; the path
// . is the object itself.
func jsonFields(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fields path name...")
	}
	var m map[string]any
	if args[0] == "." {
		m = object(ts)
	} else {
		ts.Check(json.Unmarshal([]byte(at(ts, args[0])), &m))
	}
	got := make([]string, 0, len(m))
	for k := range m {
		got = append(got, k)
	}
	want := slices.Clone(args[1:])
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		ts.Fatalf("the fields are %v\nwant %v", got, want)
	}
}

// handWrite is `hand file text`: it writes text with Go's escapes.
func handWrite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hand file escaped-text")
	}
	s, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(s), 0o600))
}

// shot is `shot save|same NAME file`: whether a file changed in between.
func shot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: shot save|same name file")
	}
	now := ts.ReadFile(args[2])
	kept := filepath.Join(ts.Getenv("TMPDIR"), args[1])
	if args[0] == "save" {
		ts.Check(os.WriteFile(kept, []byte(now), 0o600))
		return
	}
	if now != ts.ReadFile(kept) {
		ts.Fatalf("%s has changed", args[2])
	}
}

// newerSchema is `newer file`: it says that a later loopx wrote the state.
func newerSchema(ts *testscript.TestScript, neg bool, args []string) {
	st, err := bolt.Open(ts.MkAbs(args[0]), bolt.Options{})
	ts.Check(err)
	err = st.Update(context.Background(), func(tx store.Tx) error { return tx.Put(store.Key("sv"), []byte("99")) })
	ts.Check(errors.Join(err, st.Close()))
}
