package demo

import (
	"context"
	"fmt"
	"time"

	"loopx/fixtures/demo"
)

// checkTitle is what an agent plans when an owner changed what is asked for.
const checkTitle = "Check my part against what changed"

// replan changes the plan, which is what the kernel asks for.
func (a *agent) replan(ctx context.Context, owed answer) error {
	id := owed.str("obligation_id")
	title := checkTitle
	if owed.str("cause") != "course_changed" {
		title = "Look at the plan again"
	}
	args := append([]string{"todo", "add", "--goal-id", a.Goal, "--agent-id", a.name, "--text", title, "--priority", "P1", "--replan-obligation-id", id}, a.onlyFor(a.name)...)
	if _, err := a.cli.run(ctx, append(args, a.key("replan", id)...)...); err != nil {
		return err
	}
	a.told = ""
	a.say("plans again: what is asked for has changed")
	return nil
}

// look is one look of a watch. What is not new is quiet and costs nothing.
func (a *agent) look(ctx context.Context, turn string, selected answer) error {
	poll := []string{"quota", "monitor-poll", "--execute", "--todo-id", selected.str("todo_id")}
	t := a.Titled(selected.str("title"))
	if t == nil || len(t.Looks) == 0 {
		_, err := a.cli.run(ctx, append(append(poll, "--reason-summary", "nothing new"), a.who(turn)...)...)
		return err
	}
	v, err := a.cli.run(ctx, "todo", "show", "--goal-id", a.Goal, "--todo-id", selected.str("todo_id"))
	if err != nil {
		return err
	}
	watch := v.sub("watch")
	unchanged, _ := watch["unchanged"].(float64)
	seen, isNew := next(t.Looks, watch.str("last_hash"), int(unchanged))
	pause := max(a.real(float64(t.Every)*60), time.Second)
	poll = append(poll, "--result-hash", seen.ID, "--reason-summary", seen.Saw, "--next-due-at", pause.String())
	if !isNew || !seen.Change {
		if _, err := a.cli.run(ctx, append(poll, a.who(turn)...)...); err != nil {
			return err
		}
		a.tell(&a.saw, "looks: "+seen.Saw+"; nothing new costs nothing")
		return nil
	}
	if _, err := a.follows(ctx, t.Key, seen.ID); err != nil {
		return err
	}
	if seen.Fires != "" {
		if err := a.fire(ctx, seen.Fires); err != nil {
			return err
		}
	}
	for _, step := range [][]string{append(poll, "--material-change", "--evidence", "check: "+seen.Saw), {"quota", "spend-slot", "--execute"}} {
		if _, err := a.cli.run(ctx, append(step, a.who(turn)...)...); err != nil {
			return err
		}
	}
	a.told = ""
	a.say("looks: " + seen.Saw)
	return nil
}

// next says what a watch sees after it saw a look so many times without change.
func next(looks []demo.Look, last string, unchanged int) (seen demo.Look, isNew bool) {
	for i, l := range looks {
		if l.ID != last {
			continue
		}
		times := unchanged
		if l.Change {
			times++ // the first time was the change
		}
		if l.Times > 0 && times >= l.Times && i+1 < len(looks) {
			return looks[i+1], true
		}
		return l, false
	}
	return looks[0], true
}

// reply answers what somebody wrote with how far the goal is.
func (a *agent) reply(ctx context.Context, turn string) error {
	d, err := a.cli.run(ctx, append([]string{"inbox", "next"}, a.who(turn)...)...)
	if err != nil || d.yes("empty") {
		return err
	}
	v, err := a.cli.run(ctx, "goal", "show", "--goal-id", a.Goal)
	if err != nil {
		return err
	}
	sum := v.sub("summary")
	done, _ := sum.sub("counts")["done"].(float64)
	all, _ := sum.sub("counts")["todos"].(float64)
	text := fmt.Sprintf("I am a script, and no model reads this. %d of %d todos are done. Newest: %s. Next: %s.", int(done), int(all), sum.str("evidence"), sum.str("next"))
	settle := []string{"inbox", "settle", "--message-id", d.sub("message").str("message_id"), "--outcome", "adopted", "--reply", text}
	if _, err := a.cli.run(ctx, append(settle, a.who(turn)...)...); err != nil {
		return err
	}
	a.told = ""
	a.say("answers a message")
	return nil
}
