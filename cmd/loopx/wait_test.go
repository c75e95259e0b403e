package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"loopx/bot/api"
	"loopx/bot/client"
	"loopx/cmd/loopx/cli"
	"loopx/kernel/view"
)

// watched is a daemon in this process that says when somebody watches.
type watched struct {
	watching chan struct{}
	stop     func()
}

func serveWatched(t *testing.T, home client.Home) *watched {
	t.Helper()
	held, err := api.Hold(t.Context(), api.HoldOptions{Home: home, Command: "loopxd"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := home.Token()
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{watching: make(chan struct{}, 8)}
	srv := api.New(api.Options{Service: view.Local{K: held.Kernel}, Home: home, OwnerToken: token, Wake: func(ctx context.Context) <-chan struct{} {
		w.watching <- struct{}{}
		return held.Store.Watch(ctx)
	}})
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	w.stop = sync.OnceFunc(func() {
		if err := errors.Join(srv.Stop(context.Background()), held.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	return w
}

// waiting is a loopx wait in a process of its own.
type waiting struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

func startWait(t *testing.T, home client.Home, args ...string) *waiting {
	t.Helper()
	w := &waiting{cmd: exec.Command("loopx", append([]string{"wait", "--json", "--goal-id", "site"}, args...)...)}
	w.cmd.Env = environ(home.Dir)
	w.cmd.Stdout = &w.out
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill(); _ = w.cmd.Wait() })
	return w
}

// end waits for it and checks how it ended.
func (w *waiting) end(t *testing.T, code int, field, want string) {
	t.Helper()
	_ = w.cmd.Wait()
	var out map[string]any
	if err := json.Unmarshal(w.out.Bytes(), &out); err != nil || w.cmd.ProcessState.ExitCode() != code || out[field] != want {
		t.Fatalf("exit code %d, want %d with %s %q\n%s", w.cmd.ProcessState.ExitCode(), code, field, want, w.out.String())
	}
}

// askSite opens a gate and returns how to answer it.
func askSite(t *testing.T, home client.Home) func() {
	t.Helper()
	g := must(t, home, "gate", "open", "--goal-id", "site", "--agent-id", "builder", "--question", "Go?", "--blocks-agent", "builder").str("gate_id")
	return func() {
		t.Helper()
		must(t, home, "gate", "answer", "--gate-id", g, "--option", "approve", "--owner-token-file", home.TokenFile())
	}
}

// With a daemon the answer is told, not found: it ends the wait long before the
// next look would. The quickest of a few counts, as the machine may be busy.
func TestWaitIsTold(t *testing.T) {
	home := filledHome(t)
	d := serveWatched(t, home)
	best := time.Hour
	for range 2 { // an agent asks one person three times an hour, and did once
		answer := askSite(t, home)
		w := startWait(t, home, "--gate-id", must(t, home, "gate", "list", "--goal-id", "site").gate(t), "--timeout", "1m")
		<-d.watching
		answer()
		from := time.Now()
		w.end(t, 0, "outcome", "approve")
		best = min(best, time.Since(from))
	}
	if best > time.Second {
		t.Errorf("the wait ended %v after the answer", best)
	}
}

// gate is the id of the gate that asks Go?.
func (r result) gate(t *testing.T) string {
	t.Helper()
	list, _ := r.out["gates"].([]any)
	for _, g := range list {
		if m, _ := g.(map[string]any); m["question"] == "Go?" {
			return m["gate_id"].(string)
		}
	}
	t.Fatalf("no gate in %s", r.raw)
	return ""
}

// A wait goes on when the daemon stops, and when one starts.
func TestWaitOutlastsDaemons(t *testing.T) {
	home := filledHome(t)
	answer := askSite(t, home)
	gate := must(t, home, "gate", "list", "--goal-id", "site").gate(t)
	first := serveWatched(t, home)
	w := startWait(t, home, "--gate-id", gate, "--timeout", "2m")
	<-first.watching
	first.stop()
	second := serveWatched(t, home)
	<-second.watching
	second.stop()
	answer()
	w.end(t, 0, "outcome", "approve")
}

// Ctrl-C ends it with a word, and leaves nothing behind.
func TestWaitInterrupted(t *testing.T) {
	home := filledHome(t)
	askSite(t, home)
	gate := must(t, home, "gate", "list", "--goal-id", "site").gate(t)
	d := serveWatched(t, home)
	w := startWait(t, home, "--gate-id", gate)
	<-d.watching
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	w.end(t, 6, "code", "interrupted")
	d.stop()

	// Without a daemon the same, at whatever moment it comes.
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		var out, errOut bytes.Buffer
		code := make(chan int, 1)
		go func() {
			code <- cli.Run(ctx, []string{"wait", "--json", "--goal-id", "site", "--gate-id", gate}, environ(home.Dir), strings.NewReader(""), &out, &errOut)
		}()
		cancel()
		if n := <-code; n != 6 || !strings.Contains(out.String(), `"code":"interrupted"`) {
			t.Fatalf("exit code %d\n%s%s", n, out.String(), errOut.String())
		}
	}
}

// Between two looks the folder is free: nobody holds its lock.
func TestWaitHoldsNothing(t *testing.T) {
	home := filledHome(t)
	answer := askSite(t, home)
	gate := must(t, home, "gate", "list", "--goal-id", "site").gate(t)
	w := startWait(t, home, "--gate-id", gate, "--timeout", "2m")
	for range 30 {
		must(t, home, "todo", "add", "--goal-id", "site", "--text", "more")
	}
	answer()
	w.end(t, 0, "outcome", "approve")
}
