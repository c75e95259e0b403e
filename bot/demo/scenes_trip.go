package demo

import (
	"context"
	"fmt"
	"strings"

	slacksim "loopx/fixtures/sim/slack"
)

// trip are the scenes of the class trip: a plan is handed over by its digest and
// rejected, the owner corrects in the chat what is asked for, everybody plans
// again, the second review passes, and who asked in a thread reads it there.
type trip struct {
	*player
	r *running
	// thread is where Wei asked, in the parents' channel.
	thread string
}

const parents = "C0GEN"

func (p *trip) scenes() []scene {
	return []scene{p.asks, p.chooses, p.corrects, p.answers, p.passes}
}

// asks writes to the bot in a channel that is bound to the goal.
func (p *trip) asks(ctx context.Context) error {
	if _, err := p.cli.owner(ctx, "bind", "set", "--goal-id", p.r.Goal, "--agent-id", "writer", "--platform", "slack", "--connection", "work", "--conversation", parents, "--execute"); err != nil {
		return err
	}
	p.thread = p.sim.Say(wei, parents, "<@"+p.sim.BotUser()+"> when are the children back?").TS
	p.tell("owner", "Wei asks in the parents' channel when the children are back")
	err := p.until(ctx, "the answer in the thread", func() bool { return len(p.heard()) == 1 })
	p.check(err == nil, "a question in a channel is answered in its thread")
	return err
}

// heard are the answers in the thread; how far the message is stands beside them.
func (p *trip) heard() (out []string) {
	for _, m := range p.sim.BotMessages(parents) {
		if m.ThreadTS == p.thread && strings.Contains(m.Shown(), "todos are done") {
			out = append(out, m.Shown())
		}
	}
	return out
}

// chooses answers a question that has three answers.
func (p *trip) chooses(ctx context.Context) error {
	if err := p.press(ctx, "coach", "Blue Line"); err != nil {
		return err
	}
	option, err := p.r.chosen(ctx, "coach")
	p.check(err == nil && option == "blue", "a question with three answers: the agents read which one it was")
	return err
}

// corrects changes in the chat what is asked for, after a plan was rejected.
func (p *trip) corrects(ctx context.Context) error {
	if _, err := p.card(ctx, "back", func(m slacksim.Message) bool { return has(m, "Back by 16:30") }); err != nil {
		return err
	}
	objective := strings.Replace(p.r.Objective, "18:00", "16:30", 1)
	p.sim.Say(wei, p.sim.DM(wei), "/configure "+p.r.Goal+" objective "+objective)
	var card slacksim.Message
	if err := p.until(ctx, "what would change", func() bool {
		for _, m := range p.dm() {
			if has(m, "Confirm") && strings.Contains(m.Shown(), "16:30.") {
				card = m
				return true
			}
		}
		return false
	}); err != nil {
		return err
	}
	if _, err := p.sim.PressButton(wei, card.Channel, card.TS, "Confirm"); err != nil {
		return err
	}
	p.tell("owner", "Wei corrects in the chat what is asked for: back at school by 16:30")
	n := 0
	err := p.until(ctx, "every agent plans again", func() bool {
		list, err := p.r.list(ctx, "--limit", "100")
		n = 0
		for _, t := range list {
			if t.str("title") == checkTitle {
				n++
			}
		}
		return err == nil && n >= len(p.r.Agents)
	})
	p.check(err == nil && n == len(p.r.Agents), "the correction reached each of the %d agents, and each planned again", n)
	return err
}

// answers takes the question up that the review left.
func (p *trip) answers(ctx context.Context) error {
	before, err := p.r.blocked(ctx)
	if err != nil {
		return err
	}
	if err := p.press(ctx, "back", "Back by 16:30"); err != nil {
		return err
	}
	after, err := p.r.blocked(ctx)
	p.check(err == nil && before["again"] && !after["again"], "the second timetable waited for that answer and for nothing else")
	return err
}

// passes waits for the second review and asks again in the same thread.
func (p *trip) passes(ctx context.Context) error {
	if err := p.done(ctx, p.r, "letter"); err != nil {
		return err
	}
	proof := map[string]string{}
	for _, key := range []string{"offers", "timetable", "again", "review", "second"} {
		id, err := p.r.id(ctx, key)
		if err != nil {
			return err
		}
		v, err := p.cli.run(ctx, "todo", "show", "--goal-id", p.r.Goal, "--todo-id", id)
		if err != nil {
			return err
		}
		list, _ := v["evidence"].([]any)
		for _, e := range list {
			proof[key] += fmt.Sprint(e)
		}
	}
	kept := true
	for _, key := range []string{"offers", "timetable", "again"} {
		kept = kept && strings.Contains(proof[key], digestOf(p.r.Todo(key).Artifact))
	}
	p.check(kept, "three artifacts were handed over by their digests")
	p.check(strings.Contains(proof["review"], "rejected") && strings.Contains(proof["second"], "passed"), "the first review rejected, the second passed")
	p.sim.Reply(wei, parents, p.thread, "<@"+p.sim.BotUser()+"> and now?")
	p.tell("owner", "Wei asks again in the same thread")
	err := p.until(ctx, "the second answer in the thread", func() bool { return len(p.heard()) == 2 })
	p.check(err == nil, "the result came back to the thread that had asked")
	return err
}
