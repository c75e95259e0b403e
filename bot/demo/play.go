package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"loopx/bot/client"
	"loopx/fixtures/demo"
	slacksim "loopx/fixtures/sim/slack"
	"loopx/kernel"
)

// wei is the owner in the simulated Slack.
const wei = "U0WEI"

// play is `demo play`: the story unattended, with a simulated Slack, a
// conflicting claim, a duplicate event, a crash, a restart and a stale press.
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
	fmt.Fprintf(o.stdout, "A scripted replay at %g times real time, in %s. No model runs.\n\n", o.speed, o.dir)
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

// player drives one unattended story.
type player struct {
	o      options
	story  demo.Story
	home   client.Home
	cli    *cli
	sim    *slacksim.Server
	daemon *daemon
	ids    map[string]string

	mu     sync.Mutex // guards the screen
	checks []check
}

type check struct {
	what string
	ok   bool
}

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
	p := &player{o: o, home: home}
	if p.story, err = demo.RepairCafe(); err != nil {
		return nil, err
	}
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

func (p *player) say(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.o.stdout, format+"\n", a...)
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
	if p.ids, err = setUp(ctx, p.cli, p.story); err != nil {
		return err
	}
	if err := p.conflict(ctx); err != nil {
		return err
	}
	actx, stopAgents := context.WithCancel(ctx)
	defer stopAgents()
	var agents sync.WaitGroup
	agents.Go(func() {
		runAgents(actx, p.cli, p.story, p.ids, p.o.speed, func(line string) { p.say("%s", line) })
	})
	for _, step := range []func(context.Context) error{p.duplicate, p.crash, p.confirm, p.finish} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	stopAgents()
	agents.Wait()
	p.daemon.stop()
	return p.audit(ctx)
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
		p.say("owner      Wei linked a chat account and confirmed it at the machine")
	}
	return err
}

// conflict lets two agents take one todo at the same time.
func (p *player) conflict(ctx context.Context) error {
	todo := p.ids["parts"]
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, who := range []string{"researcher", "planner"} {
		wg.Go(func() {
			_, errs[i] = p.cli.run(ctx, "todo", "claim", "--goal-id", p.story.Goal, "--agent-id", who, "--todo-id", todo)
		})
	}
	wg.Wait()
	won, held := 0, 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case code(err) == "lease_held":
			held++
		default:
			return err
		}
	}
	p.say("conflict   two agents claimed %s at once: %d took it, %d was told who holds it", todo, won, held)
	p.check(won == 1 && held == 1, "two claims of one todo: one winner, one conflict that names the holder")
	return nil
}

// duplicate answers the first gate from the chat, and the platform delivers the
// press twice.
func (p *player) duplicate(ctx context.Context) error {
	card, err := p.card(ctx, "hall", func(m slacksim.Message) bool { return len(m.Buttons()) > 0 })
	if err != nil {
		return err
	}
	before, err := p.blocked(ctx)
	if err != nil {
		return err
	}
	p.sim.Duplicate(1)
	if _, err := p.sim.PressButton(wei, card.Channel, card.TS, "Book it"); err != nil {
		return err
	}
	p.say("owner      Wei presses “Book it” on the phone; the platform delivers it twice")
	if _, err := p.card(ctx, "hall", settled); err != nil {
		return err
	}
	after, err := p.blocked(ctx)
	if err != nil {
		return err
	}
	p.check(!after["book"] && !after["tell"] && before["book"] && before["tell"], "the answer released the two todos it blocked")
	p.check(after["publish"] && after["schools"], "and nothing else: the other gate still holds its two")
	_, err = p.card(ctx, "hall", func(m slacksim.Message) bool {
		return strings.Contains(m.Shown(), "taken by planner") || strings.Contains(m.Shown(), "taken by writer")
	})
	p.check(err == nil, "the card then shows which agent took the decision up")
	return err
}

// crash kills the daemon between the two presses of a protected answer. The
// agents go on without it, and everything is there after the restart.
func (p *player) crash(ctx context.Context) error {
	card, err := p.card(ctx, "website", func(m slacksim.Message) bool { return len(m.Buttons()) == 3 })
	if err != nil {
		return err
	}
	old := card.Buttons()[0]
	if _, err := p.sim.PressButton(wei, card.Channel, card.TS, "Publish…"); err != nil {
		return err
	}
	if _, err := p.card(ctx, "website", func(m slacksim.Message) bool { return strings.Contains(m.Shown(), "confirm") }); err != nil {
		return err
	}
	p.daemon.kill()
	p.say("crash      the daemon is killed between the two presses of a protected answer")
	a, err := p.cli.run(ctx, "status", "--goal-id", p.story.Goal)
	p.check(err == nil && a != nil, "without the daemon the command line answers from the file")
	if p.daemon, err = p.start(ctx); err != nil {
		return err
	}
	p.say("restart    the daemon is back")
	card, err = p.card(ctx, "website", func(m slacksim.Message) bool { return strings.Contains(m.Shown(), "confirm") })
	if err != nil {
		return err
	}
	p.check(p.count("website") == 1, "after the crash the same card is there, once")
	return p.stale(ctx, card, old)
}

// stale presses a button of the card as it was two versions ago.
func (p *player) stale(ctx context.Context, card slacksim.Message, old slacksim.Button) error {
	seen := len(p.sim.Ephemeral(wei))
	if err := p.until(ctx, "the bot is connected again", func() bool { open, _ := p.sim.Connections(); return open > 0 }); err != nil {
		return err
	}
	if _, err := p.sim.PressOld(wei, card.Channel, card.TS, old); err != nil {
		return err
	}
	p.say("stale      a press from an old version of the card arrives")
	if err := p.until(ctx, "the stale press is answered", func() bool { return len(p.sim.Ephemeral(wei)) > seen }); err != nil {
		return err
	}
	notice := p.sim.Ephemeral(wei)[seen].Shown()
	after, err := p.blocked(ctx)
	if err != nil {
		return err
	}
	p.check(strings.Contains(notice, "out of date") && after["publish"], "a stale press changes nothing and says so: %q", notice)
	return nil
}

// confirm makes the second press of the protected answer.
func (p *player) confirm(ctx context.Context) error {
	card, err := p.card(ctx, "website", func(m slacksim.Message) bool { return p.button(m, "Confirm: Publish") || p.button(m, "Publish…") })
	if err != nil {
		return err
	}
	if !p.button(card, "Confirm: Publish") { // the first press is too old by now: start over
		if _, err := p.sim.PressButton(wei, card.Channel, card.TS, "Publish…"); err != nil {
			return err
		}
		if card, err = p.card(ctx, "website", func(m slacksim.Message) bool { return p.button(m, "Confirm: Publish") }); err != nil {
			return err
		}
	}
	if _, err := p.sim.PressButton(wei, card.Channel, card.TS, "Confirm: Publish"); err != nil {
		return err
	}
	p.say("owner      Wei confirms “Publish”")
	if _, err := p.card(ctx, "website", settled); err != nil {
		return err
	}
	after, err := p.blocked(ctx)
	if err != nil {
		return err
	}
	p.check(!after["publish"] && !after["schools"], "the confirmed answer released what the protected gate blocked")
	return nil
}

func (p *player) button(m slacksim.Message, label string) bool {
	for _, b := range m.Buttons() {
		if b.Label == label {
			return true
		}
	}
	return false
}

// finish waits until the plan is done.
func (p *player) finish(ctx context.Context) error {
	want := 0
	for _, t := range p.story.Todos {
		if t.State == "done" || t.State == "ready" || t.State == "blocked" {
			want++
		}
	}
	done := 0
	err := p.until(ctx, "the plan is done", func() bool {
		a, err := p.cli.run(ctx, "todo", "list", "--goal-id", p.story.Goal, "--status", "done", "--limit", "100")
		if err != nil {
			return false
		}
		todos, _ := a["todos"].([]any)
		done = len(todos)
		q, err := p.cli.run(ctx, "quota", "status", "--goal-id", p.story.Goal)
		if err != nil {
			return false
		}
		spent, _ := q["spent_slots"].(float64)
		return done == want && int(spent) == want // the last turn has settled, too
	})
	p.check(err == nil, "all %d todos that could be done are done", want)
	return err
}

// blocked says which todos of the story are held back now, by key.
func (p *player) blocked(ctx context.Context) (map[string]bool, error) {
	a, err := p.cli.run(ctx, "todo", "list", "--goal-id", p.story.Goal, "--status", "blocked")
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	todos, _ := a["todos"].([]any)
	for _, v := range todos {
		t, _ := v.(map[string]any)
		for key, id := range p.ids {
			if id == t["todo_id"] {
				out[key] = true
			}
		}
	}
	return out, nil
}

func (p *player) dm() []slacksim.Message { return p.sim.BotMessages(p.sim.DM(wei)) }

func (p *player) question(gate string) string {
	for _, g := range p.story.Gates {
		if g.Key == gate {
			return g.Question
		}
	}
	return gate
}

func (p *player) count(gate string) (n int) {
	for _, m := range p.dm() {
		if strings.Contains(m.Shown(), p.question(gate)) {
			n++
		}
	}
	return n
}

// card waits for a gate's card in the chat to look as wanted.
func (p *player) card(ctx context.Context, gate string, fits func(slacksim.Message) bool) (slacksim.Message, error) {
	var card slacksim.Message
	err := p.until(ctx, "the card of "+gate, func() bool {
		for _, m := range p.dm() {
			if strings.Contains(m.Shown(), p.question(gate)) && fits(m) {
				card = m
				return true
			}
		}
		return false
	})
	return card, err
}

// waitMost bounds each wait of the script; at speed 600 none takes a tenth of it.
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

// settled says that a card's decision was made: all that is left is to take it
// back.
func settled(m slacksim.Message) bool {
	return !slices.ContainsFunc(m.Buttons(), func(b slacksim.Button) bool { return b.Label != "Change" && b.Label != "Not me…" })
}
