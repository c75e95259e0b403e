package demo

import (
	"context"
	"fmt"
	"strconv"

	"loopx/fixtures/demo"
)

// setUp writes a story's plan through the command line and returns the ids of
// its todos and gates by key. Every step has an idempotency key, so a second
// start, or one after an interrupted first, finds what is there and goes on.
func setUp(ctx context.Context, c *cli, s demo.Story) (map[string]string, error) {
	args := []string{"goal", "create", "--goal-id", s.Goal, "--title", s.Title, "--objective", s.Objective, "--allowed-slots", strconv.Itoa(s.Slots), "--idempotency-key", "demo/" + s.Goal}
	for _, a := range s.Agents {
		args = append(args, "--agent-id", a)
	}
	if _, err := c.run(ctx, args...); err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, t := range s.Todos {
		a, err := c.run(ctx, addArgs(s, t)...)
		if err != nil {
			return nil, err
		}
		ids[t.Key] = a.str("todo_id")
		if t.State == "done" {
			if err := finish(ctx, c, s, t, ids[t.Key]); err != nil {
				return nil, err
			}
		}
	}
	for _, g := range s.Gates {
		a, err := c.run(ctx, gateArgs(s, g, ids)...)
		if err != nil {
			return nil, err
		}
		ids[g.Key] = a.str("gate_id")
	}
	return ids, nil
}

func addArgs(s demo.Story, t demo.Todo) []string {
	args := []string{"todo", "add", "--goal-id", s.Goal, "--text", t.Title, "--priority", "P" + strconv.Itoa(t.Priority), "--idempotency-key", "demo/" + s.Goal + "/" + t.Key}
	if t.Agent != "" && t.State != "watch" {
		for _, a := range s.Agents {
			if a != t.Agent {
				args = append(args, "--excluded-agent", a)
			}
		}
	}
	switch t.State {
	case "deferred":
		args = append(args, "--resume-when", t.Resume)
	case "watch":
		args = append(args, "--task-class", "continuous_monitor", "--cadence", t.Cadence, "--watch-only")
	}
	return args
}

// finish takes a todo of the past through its whole tick.
func finish(ctx context.Context, c *cli, s demo.Story, t demo.Todo, id string) error {
	turn := "story-" + t.Key
	who := []string{"--goal-id", s.Goal, "--agent-id", t.Agent}
	steps := [][]string{
		{"todo", "claim", "--todo-id", id, "--idempotency-key", "demo/" + turn + "/claim"},
		{"todo", "complete", "--todo-id", id, "--evidence", t.Evidence, "--no-follow-up", "--idempotency-key", "demo/" + turn + "/complete"},
		{"quota", "spend-slot", "--execute", "--idempotency-key", "demo/" + turn + "/spend"},
	}
	for _, step := range steps {
		if _, err := c.run(ctx, append(step, who...)...); err != nil {
			return err
		}
	}
	return nil
}

func gateArgs(s demo.Story, g demo.Gate, ids map[string]string) []string {
	args := []string{"gate", "open", "--goal-id", s.Goal, "--agent-id", g.Agent, "--question", g.Question, "--why", g.Why, "--kind", g.Kind, "--fallback", g.Fallback, "--idempotency-key", "demo/" + s.Goal + "/gate/" + g.Key}
	for _, o := range g.Options {
		args = append(args, "--option", fmt.Sprintf("%s=%s:%s", o.ID, o.Label, o.Outcome), "--consequence", o.ID+"="+o.Consequence)
	}
	for _, b := range g.Blocks {
		args = append(args, "--blocks-todo", ids[b])
	}
	for _, e := range g.Evidence {
		args = append(args, "--evidence", e)
	}
	return args
}
