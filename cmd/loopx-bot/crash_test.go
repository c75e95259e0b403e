package main_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store/bolt"
	"loopx/kernel/store/failpoint"
	"loopx/kernel/store/storetest"
	"loopx/kernel/view"
)

// Rows K1 to K7 of the fault matrix: the real daemon, killed at a named point
// while a gate is asked, answered in a chat and its card updated, on each
// platform. Whatever the point and the hit, afterwards there is one decision, one
// visible card, and it shows the newest state.
func TestKillRows(t *testing.T) {
	exe := buildDaemon(t)
	seed, rounds := seeded(t)
	for platform, connect := range phones() {
		for _, row := range []struct {
			name, point string
			first, last int // the hits of the point at which a round dies
		}{
			{"K1 before commit", failpoint.SinkReceived, 1, 1},
			{"K2 inside commit, nothing written", failpoint.BeforeCommit, 1, 8},
			{"K2 inside commit, durable", failpoint.AfterCommit, 1, 8},
			{"K3 between commit and ack", failpoint.SinkCommitted, 1, 1},
			{"K5 between commit and send", failpoint.OutboxStarted, 1, 2},
			{"K6 between send and record", failpoint.OutboxWritten, 1, 1},
			{"K7 between update and record", failpoint.OutboxWritten, 2, 2},
		} {
			t.Run(platform+" "+row.name, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, uint64(len(row.name))))
				killed, rounds := 0, rounds
				if platform != "slack" && row.name[:2] != "K6" {
					rounds = (rounds + 3) / 4 // the bot does the same on each; what is sent twice is the platform's part
				}
				for i := range rounds {
					hit := row.first + rnd.IntN(row.last-row.first+1)
					died := false
					// Commits that wait together are one, so a round may pass a point less
					// often than the last hit; then an earlier one has to kill it.
					for ; !died && hit >= row.first; hit-- {
						r := newCrashRound(t, exe, connect())
						r.run(fmt.Sprintf("LOOPX_FAILPOINTS=%s=%d", row.point, hit))
						died = r.deaths > 0
						r.close()
						if t.Failed() {
							t.Fatalf("round %d of seed %d, hit %d", i, seed, hit)
						}
					}
					if died {
						killed++
					}
				}
				if killed != rounds {
					t.Fatalf("only %d of %d rounds died at %s: the row does not test what it says", killed, rounds, row.point)
				}
				t.Logf("killed in each of %d rounds; 0 lost, 0 double", killed)
			})
		}
	}
}

// seeded is the seed of a random test, which LOOPX_SEED repeats, and how often it
// runs.
func seeded(t *testing.T) (seed uint64, rounds int) {
	t.Helper()
	seed, rounds = uint64(time.Now().UnixNano()), 1
	if s := os.Getenv("LOOPX_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	if n, err := strconv.Atoi(os.Getenv("LOOPX_ROUNDS")); err == nil && n > 0 {
		rounds = n
	}
	t.Logf("seed %d, %d rounds", seed, rounds)
	return seed, rounds
}

// buildDaemon builds the daemon with failpoints, once for the test binary.
func buildDaemon(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "loopx-bot")
	cmd := exec.Command("go", "build", "-tags", "failpoints", "-o", exe, "loopx/cmd/loopx-bot")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return exe
}

// crashRound is one workspace, one simulated platform and one daemon that dies.
type crashRound struct {
	t      *testing.T
	exe    string
	phone  *phone
	home   client.Home
	token  string
	deaths int
	// died, when set, looks at a daemon that ended by itself, and at what it said.
	died func(cmd *exec.Cmd, said string)

	mu     sync.Mutex
	daemon *exec.Cmd
	output bytes.Buffer
	dead   chan struct{}
}

func newCrashRound(t *testing.T, exe string, p *phone) *crashRound {
	t.Helper()
	dir, err := os.MkdirTemp("", "loopx-crash-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return newCrashRoundIn(t, exe, p, dir)
}

// newCrashRoundIn is a round whose state folder is dir.
func newCrashRoundIn(t *testing.T, exe string, p *phone, dir string) *crashRound {
	t.Helper()
	t.Cleanup(p.close)
	home, err := client.FindHome(dir, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if err := home.Ensure(); err != nil {
		t.Fatal(err)
	}
	r := &crashRound{t: t, exe: exe, phone: p, home: home}
	if r.token, err = home.Token(); err != nil {
		t.Fatal(err)
	}
	config := "[page]\noff = true\n\n[[connection]]\nname = \"work\"\nplatform = \"" + p.platform + "\"\n" + p.config
	if err := os.WriteFile(home.Config(), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r.prepare()
	return r
}

// close frees what a round holds before the test ends: there are many.
func (r *crashRound) close() {
	r.phone.close()
	if err := os.RemoveAll(r.home.Dir); err != nil {
		r.t.Error(err)
	}
}

// prepare writes what was true before the crash: a linked owner, a goal, a todo.
func (r *crashRound) prepare() {
	r.t.Helper()
	st, k := r.open()
	defer st.Close()
	by := kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Surface: "cli"}}
	bot := kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: r.phone.platform}}
	sum := kernel.CodeDigest("abcde-fghjk")
	for _, step := range []struct {
		cmd kernel.Command
		opt kernel.Options
	}{
		{&kernel.CreateLinkCode{Digest: sum, Person: "Wei"}, by},
		{&kernel.RedeemLinkCode{Digest: sum, Platform: r.phone.platform, Connection: "work", Tenant: r.phone.tenant, User: r.phone.user, Private: r.phone.private}, bot},
		{&kernel.SettleLink{Platform: r.phone.platform, Connection: "work", Tenant: r.phone.tenant, User: r.phone.user}, by},
		// At whatever time of day this runs.
		{&kernel.SetAttention{Person: "owner", QuietFrom: new(0), QuietTo: new(0), Budget: new(1000)}, by},
		{&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder"}}, by},
		{&kernel.AddTodo{Goal: "site", Title: "publish"}, by},
	} {
		if _, err := k.Do(r.t.Context(), step.cmd, step.opt); err != nil {
			r.t.Fatalf("%s: %v", step.cmd.Name(), err)
		}
	}
}

func (r *crashRound) open() (*bolt.Store, *kernel.Kernel) {
	r.t.Helper()
	st, err := bolt.Open(r.home.DB(), bolt.Options{LockTimeout: 5 * time.Second})
	if err != nil {
		r.t.Fatal(err)
	}
	k, err := kernel.Open(r.t.Context(), st, client.SystemClock{})
	if err != nil {
		r.t.Fatal(err)
	}
	return st, k
}

// start runs the daemon; env is what breaks it.
func (r *crashRound) start(env ...string) {
	r.t.Helper()
	cmd := exec.Command(r.exe, "--home", r.home.Dir, "--sim", "--no-open")
	cmd.Env = slices.Concat(os.Environ(), r.phone.env, env)
	r.output.Reset()
	cmd.Stdout, cmd.Stderr = &r.output, &r.output
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	dead := make(chan struct{})
	r.mu.Lock()
	r.daemon, r.dead = cmd, dead
	r.mu.Unlock()
	go func() {
		_ = cmd.Wait()
		close(dead)
	}()
}

func (r *crashRound) alive() bool {
	select {
	case <-r.dead:
		return false
	default:
		return true
	}
}

// run drives one round until the decision stands and its card shows it.
func (r *crashRound) run(env ...string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 60*time.Second)
	defer cancel()
	r.start(env...)
	defer func() { _ = r.daemon.Process.Kill(); <-r.dead }()
	c := client.New(r.home)
	pressed := false
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if !r.alive() {
			r.deaths++
			if r.died != nil {
				r.died(r.daemon, r.output.String())
			}
			if r.deaths > 1 {
				r.t.Fatalf("the daemon died a second time:\n%s", r.output.String())
			}
			pressed = false // whoever saw no answer presses again
			r.start()
		}
		gates, err := view.Ask[view.GatesView](ctx, c, &view.Gates{Goal: "site", All: true})
		if err == nil {
			switch {
			case len(gates.Gates) == 0:
				r.ask(ctx, c)
			case gates.Gates[0].Status == kernel.GateOpen && !pressed:
				pressed = r.press()
			case gates.Gates[0].Status == kernel.GateAnswered && r.settled():
				r.check()
				return
			}
		}
		select {
		case <-ctx.Done():
			r.t.Fatalf("the round never settled; Wei sees %v\n%s", r.shown(), r.output.String())
		case <-tick.C:
		case <-r.dead:
		}
	}
}

// ask opens the gate, with a key, as an agent that retries would.
func (r *crashRound) ask(ctx context.Context, c *client.Client) {
	todos, err := view.Ask[view.TodosView](ctx, c, &view.Todos{Goal: "site"})
	if err != nil || len(todos.Todos) != 1 {
		return
	}
	_, _ = c.Do(ctx, &kernel.OpenGate{Goal: "site", Agent: "builder", Question: "Publish the pricing page?", Kind: "direction", Todos: []string{todos.Todos[0].ID}},
		kernel.Options{Key: "ask-1", By: kernel.Actor{Kind: kernel.ByAgent, ID: "builder"}})
}

func (r *crashRound) shown() []shown { return r.phone.see() }

func (r *crashRound) press() bool {
	for _, m := range r.shown() {
		if slices.Contains(m.buttons, "Approve") {
			return r.phone.press(m.id, "Approve") == nil
		}
	}
	return false
}

// settled: the one card shows the decision and has no button that answers; the
// decider may still change it.
func (r *crashRound) settled() bool {
	for _, m := range r.shown() {
		answers := slices.ContainsFunc(m.buttons, func(label string) bool { return label != "Change" })
		if answers || !strings.Contains(m.text, "decided") {
			return false
		}
	}
	return len(r.shown()) > 0
}

func (r *crashRound) check() {
	r.t.Helper()
	if n := len(r.shown()); n != 1 {
		r.t.Errorf("Wei sees %d cards: %v", n, r.shown())
	}
	_ = r.daemon.Process.Signal(syscall.SIGTERM)
	<-r.dead
	st, k := r.open()
	defer st.Close()
	decisions := 0
	err := k.Read(r.t.Context(), func(v *kernel.Reader) error {
		for _, rec := range v.Journal(0, 10_000) {
			for _, e := range rec.Events {
				if e.Type == kernel.GateAnsweredEvent {
					decisions++
				}
			}
		}
		return nil
	})
	if err != nil || decisions != 1 {
		r.t.Errorf("%d decisions in the journal, %v", decisions, err)
	}
	r.whole(st)
}

// checkState verifies the state that a daemon has left.
func (r *crashRound) checkState() {
	r.t.Helper()
	st, _ := r.open()
	defer st.Close()
	r.whole(st)
}

// whole checks that every page and record is, and that the journal can be replayed.
func (r *crashRound) whole(st *bolt.Store) {
	r.t.Helper()
	if err := st.Verify(r.t.Context()); err != nil {
		r.t.Errorf("the state file: %v", err)
	}
	to := storetest.NewModel(nil)
	defer to.Close()
	if err := kernel.Replay(r.t.Context(), st, to); err != nil {
		r.t.Errorf("replay: %v", err)
	}
}
