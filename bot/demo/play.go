package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"loopx/bot/client"
	slacksim "loopx/fixtures/sim/slack"
	"loopx/kernel"
)

// play is `demo play`: the stories unattended, with a simulated Slack, a
// conflicting claim, a duplicate event, a crash, a restart, a stale press, a
// rejected review and a night.
func play(ctx context.Context, o options) int {
	if o.speed == 0 {
		o.speed = 600
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "loopx-demo-")
		if err != nil {
			return refuse(o.stderr, err)
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	p, err := newPlayer(o)
	if err != nil {
		return refuse(o.stderr, err)
	}
	defer p.sim.Close()
	began := time.Now()
	fmt.Fprintf(o.stdout, "A scripted replay of three stories at %g times real time, in %s. No model runs.\n\n", o.speed, o.dir)
	err = p.run(ctx)
	if p.daemon != nil {
		p.daemon.kill()
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(o.stderr, "stopped; the state folder keeps what was done")
		return 1
	case err != nil:
		fmt.Fprintln(o.stderr, "demo play:", err)
		return 1
	}
	failed := 0
	fmt.Fprintln(o.stdout, "\nchecked:")
	for _, c := range p.checks {
		word := "ok  "
		if !c.ok {
			word, failed = "FAIL", failed+1
		}
		fmt.Fprintf(o.stdout, "  %s  %s\n", word, c.what)
	}
	fmt.Fprintf(o.stdout, "\n%d checks, %d failed, %.1f s\n", len(p.checks), failed, time.Since(began).Seconds())
	if failed > 0 {
		return 1
	}
	return 0
}

// player drives the unattended stories.
type player struct {
	o       options
	home    client.Home
	cli     *cli
	sim     *slacksim.Server
	daemon  *daemon
	stories []*running

	stopAgents func() // and wait until each has stopped

	mu     sync.Mutex // guards the screen
	checks []check
}

type check struct {
	what string
	ok   bool
}

// scene is a part of the play that people see.
type scene func(context.Context) error

func newPlayer(o options) (*player, error) {
	home, err := client.FindHome(o.dir, os.Getenv)
	if err != nil {
		return nil, err
	}
	if home.Exists() {
		return nil, kernel.Errorf(kernel.Conflict, "folder_used", "%s holds a workspace already, and play starts from an empty one", home.Dir).Try("choose an empty --dir, or none")
	}
	if err := home.Ensure(); err != nil {
		return nil, err
	}
	p := &player{o: o, home: home, stopAgents: func() {}}
	if p.cli, err = newCLI(home.Dir); err != nil {
		return nil, err
	}
	p.sim = slacksim.New(slacksim.Options{People: []slacksim.Person{{ID: wei, Name: "Wei", Kind: slacksim.Member}}})
	return p, os.WriteFile(home.Config(), []byte(fmt.Sprintf(`# written by loopx-bot demo play: a simulated Slack on this machine
[[connection]]
name = "work"
platform = "slack"
app_token_env = "LOOPX_DEMO_APP"
bot_token_env = "LOOPX_DEMO_BOT"
base_url = %q
`, p.sim.APIURL())), 0o600)
}

func (p *player) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.o.stdout, line)
}

// tell says what happens beside the agents.
func (p *player) tell(who, format string, a ...any) {
	p.say(fmt.Sprintf("%-11s  %s", who, fmt.Sprintf(format, a...)))
}

func (p *player) check(ok bool, format string, a ...any) {
	p.checks = append(p.checks, check{fmt.Sprintf(format, a...), ok})
}

// run is the script.
func (p *player) run(ctx context.Context) error {
	var err error
	if p.daemon, err = p.start(ctx); err != nil {
		return err
	}
	if err := p.link(ctx); err != nil {
		return err
	}
	if p.stories, err = setUpAll(ctx, p.cli); err != nil {
		return err
	}
	a, b, c := cafe{p, p.stories[0]}, &trip{player: p, r: p.stories[1]}, frost{p, p.stories[2]}
	if err := a.conflict(ctx); err != nil {
		return err
	}
	p.startAgents(ctx)
	defer func() { p.stopAgents() }()
	for _, scenes := range [][]scene{a.scenes(), b.scenes(), c.scenes(), {p.finish}} {
		for _, s := range scenes {
			if err := s(ctx); err != nil {
				return err
			}
		}
	}
	p.stopAgents()
	p.daemon.stop()
	return p.audit(ctx)
}

// startAgents lets all agents of all stories work.
func (p *player) startAgents(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	var agents sync.WaitGroup
	agents.Go(func() { runAgents(ctx, p.stories, p.o.speed, p.say) })
	p.stopAgents = func() { stop(); agents.Wait() }
}

// link joins Wei's simulated account to the owner, as a person would do it.
func (p *player) link(ctx context.Context) error {
	a, err := p.cli.owner(ctx, "link", "--name", "Wei")
	if err != nil {
		return err
	}
	p.sim.Say(wei, p.sim.DM(wei), a.str("link_code"))
	if err := p.until(ctx, "the bot answers the link code", func() bool { return len(p.dm()) > 0 }); err != nil {
		return err
	}
	_, err = p.cli.owner(ctx, "link", "confirm", "--platform", "slack", "--connection", "work", "--tenant", p.sim.Team(), "--user", wei)
	if err == nil { // the play runs at any time of day
		_, err = p.cli.owner(ctx, "attention", "set", "--quiet", "off", "--budget", "1000")
	}
	if err == nil {
		p.tell("owner", "Wei linked a chat account and confirmed it at the machine")
	}
	return err
}

// list lists todos of the story.
func (r *running) list(ctx context.Context, filter ...string) ([]answer, error) {
	a, err := r.cli.run(ctx, append([]string{"todo", "list", "--goal-id", r.Goal}, filter...)...)
	if err != nil {
		return nil, err
	}
	var out []answer
	todos, _ := a["todos"].([]any)
	for _, v := range todos {
		m, _ := v.(map[string]any)
		out = append(out, m)
	}
	return out, nil
}

// blocked says which todos of the story are held back now, by key.
func (r *running) blocked(ctx context.Context) (map[string]bool, error) {
	list, err := r.list(ctx, "--status", "blocked", "--limit", "100")
	out := map[string]bool{}
	for _, v := range list {
		if t := r.Titled(v.str("title")); t != nil {
			out[t.Key] = true
		}
	}
	return out, err
}

// done waits until a todo of a story is done.
func (p *player) done(ctx context.Context, r *running, key string) error {
	t := r.Todo(key)
	return p.until(ctx, t.Title+" is done", func() bool {
		list, err := r.list(ctx, "--status", "done", "--limit", "100")
		for _, v := range list {
			if err == nil && v.str("title") == t.Title {
				return true
			}
		}
		return false
	})
}

// ends is how many todos of a story are done at its end, and how many slots that
// takes: one each, and one for each look that mattered.
func (r *running) ends() (todos, slots int) {
	for i := range r.Todos {
		t := &r.Todos[i]
		if t.State == "watch" || t.State == "deferred" && t.Minutes == 0 {
			for _, l := range t.Looks {
				if l.Change {
					slots++
				}
			}
			continue
		}
		todos++
	}
	if r.Goal == "class-trip" { // the correction makes each agent look at its part
		todos += len(r.Agents)
	}
	return todos, slots + todos
}

// finish waits until the plans are done.
func (p *player) finish(ctx context.Context) error {
	for _, r := range p.stories {
		todos, slots := r.ends()
		err := p.until(ctx, "the plan of "+r.Title+" is done", func() bool {
			list, err := r.list(ctx, "--status", "done", "--limit", "100")
			if err != nil {
				return false
			}
			q, err := p.cli.run(ctx, "quota", "status", "--goal-id", r.Goal)
			if err != nil {
				return false
			}
			spent, _ := q["spent_slots"].(float64)
			return len(list) == todos && int(spent) == slots // the last turn has settled, too
		})
		p.check(err == nil, "%s: all %d todos that could be done are done", r.Title, todos)
		if err != nil {
			return err
		}
	}
	return nil
}

// waitMost bounds each wait of the script; at speed 600 none takes a third of it.
const waitMost = 90 * time.Second

func (p *player) until(ctx context.Context, what string, cond func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, waitMost)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			return errors.New(what + ": never happened\n" + p.daemon.log())
		case <-tick.C:
		}
	}
	return nil
}
