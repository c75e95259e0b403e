package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
	"loopx/kernel/store/failpoint"
	"loopx/kernel/store/storetest"
)

// programs are the binaries of a journey.
type programs struct{ bot, cli string }

// death is one kill -9 of the daemon: so long after a step of the script began,
// or at a failpoint if that is passed before.
type death struct {
	step  int
	after time.Duration
	point string // NAME=N, or empty
	down  time.Duration
}

// deathsOf draws three of them for a script of so many steps.
func deathsOf(seed uint64, name string, steps int) []death {
	h := fnv.New64()
	_, _ = h.Write([]byte(name))
	rnd := rand.New(rand.NewPCG(seed, h.Sum64()))
	points := []string{failpoint.BeforeCommit, failpoint.AfterCommit, failpoint.SinkReceived, failpoint.SinkCommitted, failpoint.OutboxStarted, failpoint.OutboxWritten}
	var out []death
	at := rnd.Perm(steps)[:3]
	for step := range steps {
		for _, s := range at {
			if s != step {
				continue
			}
			d := death{step: step + 1, after: time.Duration(rnd.IntN(120)) * time.Millisecond, down: time.Duration(rnd.IntN(150)) * time.Millisecond}
			if rnd.IntN(2) == 0 {
				d.point = fmt.Sprintf("%s=%d", points[rnd.IntN(len(points))], 1+rnd.IntN(8))
			}
			out = append(out, d)
		}
	}
	return out
}

func (d death) String() string {
	s := fmt.Sprintf("step %d after %s, down for %s", d.step, d.after, d.down)
	if d.point != "" {
		s += " or at " + d.point
	}
	return s
}

// gone ends a run of a script; run gives it back as an error.
type gone struct{ err error }

// stage is one run of a script: a workspace, a surface, a daemon that is killed.
type stage struct {
	*surface
	ctx   context.Context
	exe   programs
	home  client.Home
	owner string // token file
	dir   string
	notes []string       // what the agents were given
	skip  map[string]int // messages of the setup, by place

	typed  map[string]func() // commands, and how they are typed again
	missed map[string]bool   // those that were, by message
	step   int
	what   string
	stop   chan struct{}
	ended  sync.WaitGroup
	output lockedOutput

	mu     sync.Mutex // guards all that follows
	left   []death
	died   []string
	daemon *exec.Cmd
}

type lockedOutput struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *lockedOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *lockedOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// newStage makes an empty workspace and starts the daemon; close ends both.
func newStage(ctx context.Context, exe programs, u *surface, deaths []death) (*stage, error) {
	dir, err := os.MkdirTemp("", "loopx-journey-")
	if err != nil {
		return nil, err
	}
	home, err := client.FindHome(dir, func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	if err := home.Ensure(); err != nil {
		return nil, err
	}
	p := &stage{surface: u, ctx: ctx, exe: exe, home: home, dir: dir, owner: filepath.Join(home.Dir, "owner.token"), stop: make(chan struct{}), left: deaths,
		typed: map[string]func(){}, missed: map[string]bool{}, skip: map[string]int{}}
	if _, err := home.Token(); err != nil {
		return nil, err
	}
	config := "[page]\noff = true\n\n[[connection]]\nname = \"work\"\n" + u.config
	if u.config == "" {
		config = ""
	}
	if err := os.WriteFile(home.Config(), []byte(config), 0o600); err != nil {
		return nil, err
	}
	p.ended.Go(p.keep)
	return p, nil
}

// keep runs the daemon and starts it again when it dies, as a service manager
// does. Deaths that were not drawn show in the run's output.
func (p *stage) keep() {
	for {
		p.mu.Lock()
		select {
		case <-p.stop:
			p.mu.Unlock()
			return
		default:
		}
		cmd := exec.Command(p.exe.bot, "--home", p.home.Dir, "--sim", "--no-open")
		cmd.Env = append(environ(), p.env...)
		cmd.Env = append(cmd.Env, "LOOPX_HOME="+p.home.Dir)
		if len(p.left) > 0 {
			cmd.Env = append(cmd.Env, "LOOPX_FAILPOINTS="+p.left[0].point)
		}
		cmd.Stdout, cmd.Stderr = &p.output, &p.output
		err := cmd.Start()
		p.daemon = cmd
		p.mu.Unlock()
		if err == nil {
			err = cmd.Wait()
		}
		down := 50 * time.Millisecond
		p.mu.Lock()
		if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signal() == syscall.SIGKILL && len(p.left) > 0 {
			p.died = append(p.died, fmt.Sprintf("in step %d (%s)", p.step, p.what))
			down = p.left[0].down
			p.left = p.left[1:]
			p.plan() // its step may have come by now
		}
		fmt.Fprintf(&p.output, "-- the daemon ended in step %d: %v\n", p.step, err)
		p.mu.Unlock()
		select {
		case <-p.stop:
			return
		case <-time.After(down):
		}
	}
}

// environ is this process' environment without what belongs to whoever runs it.
func environ() (out []string) {
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(name, "LOOPX_"), name == "CLAUDECODE", name == "CODEX_THREAD_ID", name == "OPENCODE", name == "GEMINI_CLI":
		default:
			out = append(out, kv)
		}
	}
	return out
}

// next begins a step of the script, and plans the death that was drawn for it.
func (p *stage) next(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step++
	p.what = what
	p.plan()
}

// plan lets the daemon die when its step has come. The caller holds mu.
func (p *stage) plan() {
	if len(p.left) == 0 || p.left[0].step > p.step {
		return
	}
	n := len(p.left)
	time.AfterFunc(p.left[0].after, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.left) == n && p.daemon != nil && p.daemon.Process != nil && p.daemon.Process.Kill() != nil { // no failpoint was faster
			p.plan() // it is down: the next one dies
		}
	})
}

func (p *stage) fail(format string, a ...any) { panic(gone{fmt.Errorf(format, a...)}) }

// patience is how long anything may take; all of it is done in a fraction of it
// on an idle machine.
const patience = 60 * time.Second

// until looks again and again; every so often it does what a person does who
// sees nothing happen.
func (p *stage) until(what string, cond func() bool, nudge func()) {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	again := time.NewTicker(2 * time.Second)
	defer again.Stop()
	deadline := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-again.C:
			if nudge != nil {
				nudge()
			}
		case <-p.ctx.Done():
			p.fail("step %d, %s: the test ends", p.step, what)
		case <-deadline:
			p.fail("step %d, %s: never", p.step, what)
		}
	}
}

// object is the JSON answer of a command.
type object map[string]any

// at follows a path like message.text or todos.0.todo_id.
func (o object) at(path string) string {
	var v any = map[string]any(o)
	for part := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(x) {
				return ""
			}
			v = x[i]
		}
	}
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// try runs the command line, a process a command, as an agent's host does.
func (p *stage) try(args ...string) (object, error) {
	cmd := exec.CommandContext(p.ctx, p.exe.cli, append(args, "--json")...)
	cmd.Env = append(environ(), "LOOPX_HOME="+p.home.Dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	runErr := cmd.Run()
	var o object
	d := json.NewDecoder(&out)
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("loopx %s: %v, %s%s", strings.Join(args, " "), runErr, out.String(), errs.String())
	}
	if runErr != nil {
		return o, fmt.Errorf("loopx %s: %s (%s)", strings.Join(args, " "), o.at("message"), o.at("code"))
	}
	return o, nil
}

// loopx runs a command that has to work, whatever happens to the daemon.
func (p *stage) loopx(args ...string) object {
	o, err := p.try(args...)
	if err != nil {
		p.fail("step %d, %s: %v", p.step, p.what, err)
	}
	return o
}

// asOwner adds the proof.
func (p *stage) asOwner(args ...string) object {
	return p.loopx(append(args, "--owner-token-file", p.owner)...)
}

func (p *stage) note(format string, a ...any) { p.notes = append(p.notes, fmt.Sprintf(format, a...)) }

// end ends the daemon and looks at what it left: nothing owed outside, a file
// that is whole, a journal that tells the same.
func (p *stage) end() error {
	p.mu.Lock()
	close(p.stop)
	_ = p.daemon.Process.Signal(syscall.SIGTERM)
	p.mu.Unlock()
	p.ended.Wait()
	defer os.RemoveAll(p.dir)
	st, err := bolt.Open(p.home.DB(), bolt.Options{LockTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	defer st.Close()
	ctx := context.Background()
	if _, err := kernel.Open(ctx, st, client.SystemClock{}); err != nil {
		return err
	}
	var owed []*inbox.Item
	err = st.View(ctx, func(tx store.ReadTx) (err error) {
		for _, c := range []string{"work", "console"} {
			list, err := inbox.Owed(tx, c, 10)
			if err != nil {
				return err
			}
			for _, it := range list {
				if it.Due != 0 {
					owed = append(owed, it)
				}
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(owed) > 0:
		return fmt.Errorf("%d messages are still owed, the first a %s: %q", len(owed), owed[0].Kind, owed[0].Text)
	}
	if err := st.Verify(ctx); err != nil {
		return fmt.Errorf("the state file: %w", err)
	}
	to := storetest.NewModel(nil)
	defer to.Close()
	return kernel.Replay(ctx, st, to)
}
