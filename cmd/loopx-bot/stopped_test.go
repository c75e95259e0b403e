package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/view"
)

// L1: the daemon is stopped (as by a debugger, a full cgroup or a laptop's lid) for
// longer than a lease, with a platform connected, and goes on. Meanwhile nobody can
// take its place: a second daemon and a command are refused or wait. Afterwards what
// was said arrives once, the lease has ended and its holder is fenced, and there is
// one decision on one card.
func TestL1_StoppedDaemon(t *testing.T) {
	exe := buildDaemon(t)
	seed, rounds := seeded(t)
	for platform, connect := range phones() {
		t.Run(platform, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			for i := range (rounds + 19) / 20 {
				r := newCrashRound(t, exe, connect())
				r.stopped()
				if t.Failed() {
					t.Fatalf("round %d of seed %d", i, seed)
				}
				r.close()
			}
		})
	}
}

func (r *crashRound) stopped() {
	const lease = time.Second
	c := client.New(r.home)
	r.start()
	defer func() { _ = r.daemon.Process.Kill(); <-r.dead }()
	r.ready(c)
	r.ask(r.t.Context(), c)
	r.until("the card", func() bool { return len(r.shown()) == 1 })
	r.phone.say("before")
	var held *inbox.Leaseholder
	r.until("the message", func() bool { held = r.lease(c, lease); return held != nil })

	if err := r.daemon.Process.Signal(syscall.SIGSTOP); err != nil {
		r.t.Fatal(err)
	}
	began := time.Now()
	during := r.phone.say("during")
	_ = r.phone.press(r.shown()[0].id, "Approve") // Wei sees that nothing happens
	second := exec.Command(r.exe, "--home", r.home.Dir, "--sim", "--no-open")
	second.Env = slices.Concat(os.Environ(), r.phone.env)
	var said bytes.Buffer
	second.Stdout, second.Stderr = &said, &said
	if err := second.Run(); second.ProcessState == nil || second.ProcessState.ExitCode() != kernel.Locked.ExitCode() {
		r.t.Errorf("a second daemon: %v\n%s", err, said.String())
	}
	if !strings.Contains(said.String(), "loopx-bot") {
		r.t.Errorf("the refusal does not name the holder:\n%s", said.String())
	}
	added := make(chan string, 1)
	go func() {
		code, out := r.cli("todo", "add", "--goal-id", "site", "--text", "todo-0", "--idempotency-key", "once")
		for code == kernel.Unknown.ExitCode() || code == kernel.Locked.ExitCode() { // it asks again with its key
			code, out = r.cli("todo", "add", "--goal-id", "site", "--text", "todo-0", "--idempotency-key", "once")
		}
		added <- out
	}()
	<-time.After(lease + lease/2 - time.Since(began))
	if during.acked() {
		r.t.Error("a stopped daemon has acknowledged a message")
	}
	if err := r.daemon.Process.Signal(syscall.SIGCONT); err != nil {
		r.t.Fatal(err)
	}

	// The lease is over: another turn gets the message, and the one that had it is told.
	texts := map[string]int{}
	r.until("both messages", func() bool {
		for m := r.lease(c, time.Minute); m != nil; m = r.lease(c, time.Minute) {
			texts[m.Text]++
			if m.ID == held.ID {
				_, err := c.Do(r.t.Context(), &inbox.SettleMessage{Goal: "site", Agent: "builder", Session: "s1", Message: held.ID, Attempt: held.Attempt, Outcome: inbox.Deferred}, asBuilder(""))
				if e := kernel.AsError(err); e == nil || e.Class != kernel.Conflict {
					r.t.Errorf("who held the message before may still settle it: %v", err)
				}
			}
			if _, err := c.Do(r.t.Context(), &inbox.SettleMessage{Goal: "site", Agent: "builder", Session: "s1", Message: m.ID, Attempt: m.Attempt, Outcome: inbox.Deferred}, asBuilder("")); err != nil {
				r.t.Fatal(err)
			}
		}
		return len(texts) == 2
	})
	if texts["before"] != 1 || texts["during"] != 1 {
		r.t.Errorf("the agent got %v", texts)
	}
	// Whoever saw that nothing happened presses again.
	tick := time.NewTicker(600 * time.Millisecond) // a person, not a machine
	defer tick.Stop()
	for late := time.After(20 * time.Second); r.sees("decided") != 1; {
		r.press()
		select {
		case <-tick.C:
		case <-late:
			r.t.Fatalf("there is no decision; Wei sees %v\n%s", r.shown(), r.output.String())
		}
	}
	if out := <-added; !strings.Contains(out, `"ok":true`) {
		r.t.Errorf("the command: %s", out)
	}
	r.has(c, 1)
	r.terminate()
	if n := r.sees("pricing page"); n != 1 {
		r.t.Errorf("Wei sees %d cards: %v", n, r.shown())
	}
	r.checkState()
}

// lease takes the builder's next message for a while; nil when none waits.
func (r *crashRound) lease(c *client.Client, d time.Duration) *inbox.Leaseholder {
	r.t.Helper()
	rec, err := c.Do(r.t.Context(), &inbox.NextMessage{Goal: "site", Agent: "builder", Session: "s1", LeaseMS: d.Milliseconds()}, asBuilder(""))
	if err != nil {
		r.t.Fatal(err)
	}
	var out inbox.Leasing
	if err := json.Unmarshal(rec.Result, &out); err != nil {
		r.t.Fatal(err)
	}
	return out.Message
}

// cli runs the command line in the daemon's binary.
func (r *crashRound) cli(args ...string) (int, string) {
	c := exec.Command(r.exe, slices.Concat([]string{"cli"}, args, []string{"--home", r.home.Dir, "--json"})...)
	c.Env = append(os.Environ(), "NO_COLOR=1")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	_ = c.Run()
	return c.ProcessState.ExitCode(), out.String()
}

// has checks that the todos that were acknowledged are there, once.
func (r *crashRound) has(c *client.Client, n int) {
	r.t.Helper()
	page, err := view.Ask[view.TodosView](r.t.Context(), c, &view.Todos{Goal: "site", Limit: 1000})
	if err != nil || page.More {
		r.t.Fatalf("more: %v, %v", page.More, err)
	}
	got := map[string]int{}
	for _, todo := range page.Todos {
		got[todo.Title]++
	}
	for i := range n {
		if title := fmt.Sprintf("todo-%d", i); got[title] != 1 {
			r.t.Errorf("%s is there %d times", title, got[title])
		}
	}
	if len(page.Todos) != n+1 {
		r.t.Errorf("%d todos are there, %d were acknowledged", len(page.Todos), n+1)
	}
}
