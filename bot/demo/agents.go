package demo

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"loopx/fixtures/demo"
)

// agent is one scripted agent: it ticks, works for as long as the story says,
// and settles. It knows nothing but what the command line tells it.
type agent struct {
	name  string
	story demo.Story
	ids   map[string]string
	cli   *cli
	speed float64
	say   func(string)
	told  string
}

// run ticks until ctx ends.
func (a *agent) run(ctx context.Context) {
	// Turn ids are new for every start, so that a restarted story opens its own.
	base := strconv.FormatInt(time.Now().UnixMilli(), 36)
	for n := 1; ctx.Err() == nil; n++ {
		acted, err := a.tick(ctx, fmt.Sprintf("%s-%s-%d", a.name, base, n))
		if err != nil && ctx.Err() == nil {
			a.say(fmt.Sprintf("%-10s %v", a.name, err))
		}
		if !acted {
			a.pause(ctx, 60)
		}
	}
}

// pause waits story seconds, but looks up at least twice a second so that an
// answer is taken up while a person watches.
func (a *agent) pause(ctx context.Context, storySeconds float64) {
	d := time.Duration(storySeconds / a.speed * float64(time.Second))
	a.sleep(ctx, max(min(d, time.Second), 200*time.Millisecond))
}

func (a *agent) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// tick is one turn: ask, work, settle.
func (a *agent) tick(ctx context.Context, turn string) (acted bool, err error) {
	who := []string{"--goal-id", a.story.Goal, "--agent-id", a.name, "--turn-instance-id", turn}
	d, err := a.cli.run(ctx, append([]string{"tick"}, who...)...)
	if err != nil {
		return false, err
	}
	todo := d.sub("selected_todo").str("todo_id")
	if !d.yes("should_run") || todo == "" {
		if reason := d.str("reason"); reason != a.told {
			a.told = reason
			a.say(fmt.Sprintf("%-10s waits: %s", a.name, reason))
		}
		return false, nil
	}
	t := a.todo(todo)
	a.told = ""
	a.say(fmt.Sprintf("%-10s works on: %s", a.name, t.Title))
	a.sleep(ctx, time.Duration(float64(t.Minutes)*60/a.speed*float64(time.Second)))
	steps := [][]string{
		{"todo", "complete", "--todo-id", todo, "--evidence", t.Evidence, "--no-follow-up"},
		{"refresh-state", "--delivery-outcome", "outcome_progress", "--next-action", "look at the plan again"},
		{"quota", "spend-slot", "--execute"},
	}
	for _, step := range steps {
		if _, err := a.cli.run(ctx, append(step, who...)...); err != nil {
			return true, err
		}
	}
	a.say(fmt.Sprintf("%-10s done: %s (%s)", a.name, t.Title, t.Evidence))
	return true, nil
}

func (a *agent) todo(id string) demo.Todo {
	for _, t := range a.story.Todos {
		if a.ids[t.Key] == id {
			return t
		}
	}
	return demo.Todo{Title: id, Minutes: 5, Evidence: "done"}
}
