package demo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"loopx/fixtures/demo"
)

// agent is one scripted agent: it ticks, does what the answer says for as long as
// the story says, and settles. It knows nothing but what the command line tells it.
type agent struct {
	*running
	name  string
	speed float64
	say   func(string)
	told  string // why it waits, as it was said last
	saw   string // what its watch saw, as it was said last
}

// runAgents runs every agent of every story until ctx ends.
func runAgents(ctx context.Context, stories []*running, speed float64, say func(string)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, r := range stories {
		for _, name := range r.Agents {
			a := &agent{running: r, name: name, speed: speed, say: func(line string) {
				mu.Lock()
				defer mu.Unlock()
				say(fmt.Sprintf("%-11s  %-10s  %s", r.Goal, name, line))
			}}
			wg.Go(func() { a.run(ctx) })
		}
	}
	wg.Wait()
}

// run ticks until ctx ends.
func (a *agent) run(ctx context.Context) {
	// Turn ids are new for every start, so that a restarted story opens its own.
	base := strconv.FormatInt(time.Now().UnixMilli(), 36)
	for n := 1; ctx.Err() == nil; n++ {
		acted, err := a.tick(ctx, fmt.Sprintf("%s-%s-%d", a.name, base, n))
		if err != nil && ctx.Err() == nil {
			a.tell(&a.told, err.Error())
		}
		if !acted || err != nil {
			a.pause(ctx, 60)
		}
	}
}

// tell says a thing once while nothing changes.
func (a *agent) tell(last *string, line string) {
	if line != *last {
		*last = line
		a.say(line)
	}
}

// pause waits story seconds, but looks up at least once a second so that an
// answer is taken up while a person watches.
func (a *agent) pause(ctx context.Context, storySeconds float64) {
	a.sleep(ctx, max(min(a.real(storySeconds), time.Second), 200*time.Millisecond))
}

// real is how long story seconds take.
func (a *agent) real(storySeconds float64) time.Duration {
	return time.Duration(storySeconds / a.speed * float64(time.Second))
}

func (a *agent) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// who are the flags that name the agent and its turn.
func (a *agent) who(turn string) []string {
	return []string{"--goal-id", a.Goal, "--agent-id", a.name, "--turn-instance-id", turn}
}

// tick is one turn: ask, and do what the answer says.
func (a *agent) tick(ctx context.Context, turn string) (acted bool, err error) {
	d, err := a.cli.run(ctx, append([]string{"tick"}, a.who(turn)...)...)
	if err != nil {
		return false, err
	}
	selected := d.sub("selected_todo")
	if !d.yes("should_run") {
		a.tell(&a.told, "waits: "+waiting(d))
		return false, nil
	}
	switch d.str("kind") {
	case "reply":
		return true, a.reply(ctx, turn)
	case "replan":
		return true, a.replan(ctx, d.sub("replan"))
	case "monitor":
		return true, a.look(ctx, turn, selected)
	case "settle":
		// A turn of before a restart: what it delivered is paid, what it held goes on.
		s := d.sub("settle")
		if s.yes("writeback") {
			if _, err := a.cli.run(ctx, append([]string{"quota", "spend-slot", "--execute"}, a.who(s.str("turn_instance_id"))...)...); err != nil {
				return true, err
			}
		}
		if !s.yes("claim") {
			return true, nil
		}
		return true, a.work(ctx, turn, selected, "goes on with")
	case "deliver":
		begins := "works on"
		if d.str("rule") == "R09" {
			begins = "works meanwhile on"
		}
		return true, a.work(ctx, turn, selected, begins)
	}
	a.tell(&a.told, "waits: "+d.str("reason"))
	return false, nil
}

// waiting says without ids why an agent has nothing to do.
func waiting(d answer) string {
	switch d.str("rule") {
	case "R10":
		return "for your decision"
	case "R13":
		return "the rest is the work of others"
	case "R14":
		return "only watches and what comes later are left"
	case "R16":
		return "nothing is left to do"
	}
	return d.str("reason")
}

// line is the story's line for a todo; people may have added others.
func (a *agent) line(selected answer) *demo.Todo {
	title := selected.str("title")
	if t := a.Titled(title); t != nil {
		return t
	}
	t := &demo.Todo{Title: title, Minutes: 5, Evidence: "done, as far as a script can"}
	if title == checkTitle {
		t.Minutes, t.Evidence = 10, "check: my part fits what is asked for now"
	}
	return t
}

// work takes a todo to its end: what it builds on is read by its digest, what
// follows is on the plan and what is to be asked is asked before it ends.
func (a *agent) work(ctx context.Context, turn string, selected answer, begins string) error {
	t, id := a.line(selected), selected.str("todo_id")
	a.told = ""
	a.say(begins + ": " + t.Title)
	if t.Uses != "" {
		if err := a.read(ctx, t); err != nil {
			return err
		}
	}
	a.sleep(ctx, a.real(float64(t.Minutes)*60))
	option := ""
	if t.Decided != "" {
		var err error
		if option, err = a.chosen(ctx, t.Decided); err != nil {
			return err
		}
	}
	next, err := a.follows(ctx, t.Key, "")
	if err != nil {
		return err
	}
	summary, arg := evidenceOf(t, option)
	complete := []string{"todo", "complete", "--todo-id", id, "--evidence", arg}
	if len(next) == 0 {
		complete = append(complete, "--no-follow-up")
	}
	for _, id := range next {
		complete = append(complete, "--successor-todo-id", id)
	}
	for _, step := range [][]string{
		complete,
		{"refresh-state", "--delivery-outcome", "outcome_progress", "--next-action", "look at the plan again"},
		{"quota", "spend-slot", "--execute"},
	} {
		if _, err := a.cli.run(ctx, append(step, a.who(turn)...)...); err != nil {
			return err
		}
	}
	a.say(fmt.Sprintf("done: %s (%s)", t.Title, strings.TrimPrefix(summary, "check: ")))
	return nil
}

// read takes a peer's artifact by the digest that stands in the peer's evidence.
func (a *agent) read(ctx context.Context, t *demo.Todo) error {
	from := a.Todo(t.Uses)
	id, err := a.id(ctx, t.Uses)
	if err != nil {
		return err
	}
	v, err := a.cli.run(ctx, "todo", "show", "--goal-id", a.Goal, "--todo-id", id)
	if err != nil {
		return err
	}
	list, _ := v["evidence"].([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		if found := answer(m); found.str("ref") == from.Artifact.Ref {
			if found.str("digest") != digestOf(from.Artifact) {
				return fmt.Errorf("%s is not what %s was said to be", from.Artifact.Ref, from.Title)
			}
			a.say(fmt.Sprintf("reads %s, %.14s…, made by %s", from.Artifact.Ref, found.str("digest"), from.Agent))
			return nil
		}
	}
	return fmt.Errorf("%s left no %s", from.Title, from.Artifact.Ref)
}

// follows adds what a todo, or a look of a watch, calls for: todos first, then
// the questions that hold them back. It returns the ids of the new todos.
func (a *agent) follows(ctx context.Context, key, look string) ([]string, error) {
	var next []string
	for i := range a.Todos {
		if t := &a.Todos[i]; key != "" && t.By == key && t.Look == look {
			id, err := a.add(ctx, t)
			if err != nil {
				return nil, err
			}
			next = append(next, id)
		}
	}
	for i := range a.Gates {
		if g := &a.Gates[i]; key != "" && g.Asked == key && g.Look == look {
			if _, err := a.ask(ctx, g); err != nil {
				return nil, err
			}
			a.say("asks you: " + g.Question)
		}
	}
	return next, nil
}
