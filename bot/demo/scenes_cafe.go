package demo

import (
	"context"
	"slices"
	"strings"
	"sync"

	slacksim "loopx/fixtures/sim/slack"
)

// cafe are the scenes of the repair café: two agents want one todo, a platform
// delivers twice, everything is killed, an old card is pressed.
type cafe struct {
	*player
	r *running
}

func (p cafe) scenes() []scene { return []scene{p.duplicate, p.crash, p.confirm} }

// conflict lets two agents take one todo at the same time.
func (p cafe) conflict(ctx context.Context) error {
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, who := range []string{"researcher", "planner"} {
		wg.Go(func() {
			_, errs[i] = p.cli.run(ctx, "todo", "claim", "--goal-id", p.r.Goal, "--agent-id", who, "--todo-id", p.r.ids["parts"])
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
	p.tell("conflict", "two agents claimed “%s” at once: %d took it, %d was told who holds it", p.r.Todo("parts").Title, won, held)
	p.check(won == 1 && held == 1, "two claims of one todo: one winner, one conflict that names the holder")
	return nil
}

// duplicate answers the first gate from the chat, and the platform delivers the
// press twice.
func (p cafe) duplicate(ctx context.Context) error {
	card, err := p.card(ctx, "hall", func(m slacksim.Message) bool { return len(m.Buttons()) > 0 })
	if err != nil {
		return err
	}
	before, err := p.r.blocked(ctx)
	if err != nil {
		return err
	}
	p.sim.Duplicate(1)
	if _, err := p.sim.PressButton(wei, card.Channel, card.TS, "Book it"); err != nil {
		return err
	}
	p.tell("owner", "Wei presses “Book it” on the phone; the platform delivers it twice")
	if _, err := p.card(ctx, "hall", settled); err != nil {
		return err
	}
	after, err := p.r.blocked(ctx)
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

// crash kills the daemon between the two presses of a protected answer, and the
// agents in the middle of their work. Everything is there after the restart.
func (p cafe) crash(ctx context.Context) error {
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
	p.stopAgents()
	p.tell("crash", "the daemon is killed between the two presses of a protected answer, and the agents while they work")
	held := 0
	for _, r := range p.stories {
		list, err := r.list(ctx, "--status", "claimed")
		if err != nil {
			return err
		}
		held += len(list)
	}
	p.check(true, "without the daemon the command line answers from the file")
	if p.daemon, err = p.start(ctx); err != nil {
		return err
	}
	p.startAgents(ctx)
	p.tell("restart", "the daemon is back, and the agents go on with the %d todos they held", held)
	card, err = p.card(ctx, "website", func(m slacksim.Message) bool { return strings.Contains(m.Shown(), "confirm") })
	if err != nil {
		return err
	}
	p.check(p.count("website") == 1, "after the crash the same card is there, once")
	return p.stale(ctx, card, old)
}

// stale presses a button of the card as it was two versions ago.
func (p cafe) stale(ctx context.Context, card slacksim.Message, old slacksim.Button) error {
	seen := len(p.sim.Ephemeral(wei))
	if err := p.until(ctx, "the bot is connected again", func() bool { open, _ := p.sim.Connections(); return open > 0 }); err != nil {
		return err
	}
	if _, err := p.sim.PressOld(wei, card.Channel, card.TS, old); err != nil {
		return err
	}
	p.tell("stale", "a press from an old version of the card arrives")
	if err := p.until(ctx, "the stale press is answered", func() bool { return len(p.sim.Ephemeral(wei)) > seen }); err != nil {
		return err
	}
	notice := p.sim.Ephemeral(wei)[seen].Shown()
	after, err := p.r.blocked(ctx)
	if err != nil {
		return err
	}
	p.check(strings.Contains(notice, "out of date") && after["publish"], "a stale press changes nothing and says so: %q", notice)
	return nil
}

// confirm makes the second press of the protected answer.
func (p cafe) confirm(ctx context.Context) error {
	const first, second = "Publish…", "Confirm: Publish"
	card, err := p.card(ctx, "website", func(m slacksim.Message) bool { return has(m, second) || has(m, first) })
	if err != nil {
		return err
	}
	if !has(card, second) { // the first press is too old by now: start over
		if _, err := p.sim.PressButton(wei, card.Channel, card.TS, first); err != nil {
			return err
		}
		if card, err = p.card(ctx, "website", func(m slacksim.Message) bool { return has(m, second) }); err != nil {
			return err
		}
	}
	if _, err := p.sim.PressButton(wei, card.Channel, card.TS, second); err != nil {
		return err
	}
	p.tell("owner", "Wei confirms “Publish”")
	if _, err := p.card(ctx, "website", settled); err != nil {
		return err
	}
	after, err := p.r.blocked(ctx)
	if err != nil {
		return err
	}
	p.check(!after["publish"] && !after["schools"], "the confirmed answer released what the protected gate blocked")
	return nil
}

func has(m slacksim.Message, label string) bool {
	return slices.ContainsFunc(m.Buttons(), func(b slacksim.Button) bool { return b.Label == label })
}
