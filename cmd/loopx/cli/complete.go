package cli

import (
	"fmt"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func todoComplete(a *app) *cobra.Command {
	var t todoRef
	var proof, nextExcluded []string
	var outcome, reason, nextUser string
	c := &kernel.CompleteTodo{}
	return a.verbOf("complete", "end a todo with its evidence and say what goes on", func(f *pflag.FlagSet) {
		a.todoFlags(f, &t)
		a.ownerFlags(f)
		f.StringVar(&t.claimer, "claimed-by", "", "")
		_ = f.MarkHidden("claimed-by")
		f.StringArrayVar(&proof, "evidence", nil, "proof, for example check:TEXT; may be repeated")
		f.StringVar(&c.Note, "note", "", "note")
		f.StringVar(&c.Obligation, "replan-obligation-id", "", "replan that this settles")
		f.BoolVar(&c.NoFollowup, "no-follow-up", false, "nothing follows")
		f.StringVar(&c.Next, "next-agent-todo", "", "title of a new todo that follows")
		f.StringArrayVar(&c.Successors, "successor-todo-id", nil, "existing todo that follows; may be repeated")
		f.StringVar(&outcome, "decision-outcome", "", "of a gate: approve, reject or cancel")
		f.StringVar(&reason, "reason", "", "of a gate: why")
		f.StringVar(&nextUser, "next-user-todo", "", "")
		f.StringArrayVar(&nextExcluded, "next-excluded-agent", nil, "")
		for _, name := range []string{"next-user-todo", "next-excluded-agent"} {
			_ = f.MarkHidden(name)
		}
		a.acceptUnused(f, todoFlags)
	}, func() error {
		if nextUser != "" {
			return notYet("--next-user-todo", "complete it, then loopx gate open --goal-id "+show(t.goal, 64)+" --question TEXT")
		}
		if len(nextExcluded) > 0 {
			return notYet("--next-excluded-agent", "loopx todo add --goal-id "+show(t.goal, 64)+" --excluded-agent ..., then --successor-todo-id")
		}
		if isGate(t.todo) {
			return a.completeGate(&t, outcome, reason)
		}
		if outcome != "" {
			return kernel.Errorf(kernel.Invalid, "not_a_gate", "%s is no gate, so it has no --decision-outcome", show(t.todo, 80))
		}
		agent, err := t.actor()
		if err != nil {
			return err
		}
		c.Goal, c.Todo, c.Agent, c.Turn, c.Lease = t.goal, t.todo, agent, t.turn, t.lease
		if c.Evidence, err = evidence(proof); err != nil {
			return err
		}
		return a.complete(c)
	})
}

// complete completes, running the validation first where the todo declares one.
// The kernel says whether it does; a todo without one costs no second question.
func (a *app) complete(c *kernel.CompleteTodo) error {
	rec, err := a.do(c, c.Agent, c.Turn)
	if e := kernel.AsError(err); e != nil && e.Code == "validation_missing" {
		t, err := ask[view.Todo](a, &view.TodoOne{Goal: c.Goal, Todo: c.Todo})
		if err != nil {
			return err
		}
		if !a.g.dryRun { // a preview runs nothing; it shows what follows when it passes
			if err := a.validate(t.Validation); err != nil {
				return err
			}
		}
		c.Validated = kernel.ValidationDigest(t.Validation)
		rec, err = a.do(c, c.Agent, c.Turn)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return a.out(receipt(rec), func() string {
		text := fmt.Sprintf("%s is done: %s", c.Todo, show(resultOf(rec, "title"), 50))
		if c.Next != "" {
			text += "\n  next: " + show(c.Next, 70)
		}
		return said(rec, text)
	})
}

// isGate tells ids and codes of gates from those of todos.
func isGate(id string) bool {
	return strings.HasPrefix(id, "gate_") || strings.HasPrefix(strings.ToUpper(id), "G-")
}

// completeGate is the reference's way to answer a gate.
func (a *app) completeGate(t *todoRef, outcome, reason string) error {
	if outcome == "" {
		return kernel.Errorf(kernel.Invalid, "missing_decision_outcome", "%s is a gate: completing it says how it was decided", show(t.todo, 80)).
			Try("add --decision-outcome approve, reject or cancel, or use loopx gate answer")
	}
	return a.answer(&kernel.AnswerGate{Goal: t.goal, Gate: t.todo, Reason: reason}, func(g view.Gate) (string, error) {
		for _, o := range g.Options {
			if o.Outcome == outcome {
				return o.ID, nil
			}
		}
		return "", kernel.Errorf(kernel.Invalid, "bad_option", "%s offers no answer that means %q", g.Code, show(outcome, 20)).Try("loopx gate show --gate-id %s", g.ID)
	})
}
