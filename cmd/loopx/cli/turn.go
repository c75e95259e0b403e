package cli

import (
	"fmt"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func turnCmd(a *app) *cobra.Command { return noun("turn", turnRun(a), turnCommit(a), turnShow(a)) }

// turnCommit settles a turn in one step: everything or nothing.
func turnCommit(a *app) *cobra.Command {
	var t todoRef
	var proof []string
	var outcome, next, note string
	var complete, noFollowup bool
	var nextTodo string
	slots, tokens := 1, int64(-1)
	return a.verbOf("commit", "complete the turn's todo or write its outcome back, and pay: all of it or nothing", func(f *pflag.FlagSet) {
		a.todoFlags(f, &t)
		f.BoolVar(&complete, "complete", false, "end the todo (else its outcome is written back)")
		f.BoolVar(&noFollowup, "no-follow-up", false, "with --complete: nothing follows")
		f.StringVar(&nextTodo, "next-agent-todo", "", "with --complete: title of a new todo that follows")
		f.StringVar(&outcome, "delivery-outcome", kernel.Progress, "without --complete: outcome_progress or primary_goal_outcome")
		f.StringVar(&next, "next-action", "", "without --complete: what comes next, in words")
		f.StringVar(&note, "note", "", "note")
		f.StringArrayVar(&proof, "evidence", nil, "proof, for example check:TEXT; may be repeated")
		f.IntVar(&slots, "slots", 1, "how many slots it is paid with")
		f.Int64Var(&tokens, "tokens", -1, "tokens the host counted for it")
	}, func() error {
		if t.turn == "" {
			return kernel.Errorf(kernel.Invalid, "missing_turn_id", "no turn was named").Try("pass --turn-instance-id")
		}
		ev, err := evidence(proof)
		if err != nil {
			return err
		}
		c := &kernel.CommitTurn{Goal: t.goal, Agent: t.agent, Turn: t.turn, Slots: slots}
		if tokens >= 0 {
			c.Tokens = &tokens
		}
		if complete {
			c.Complete = &kernel.CompleteTodo{Todo: t.todo, Lease: t.lease, Evidence: ev, Note: note, NoFollowup: noFollowup, Next: nextTodo}
		} else {
			c.Refresh = &kernel.Refresh{Todo: t.todo, Lease: t.lease, Outcome: outcome, Next: next, Note: note, Evidence: ev}
		}
		rec, err := commitTurn(a, c, t.agent)
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string {
			return said(rec, fmt.Sprintf("turn %s is settled and paid with %s", t.turn, count(slots, "slot", "slots")))
		})
	})
}

// commitTurn commits a turn, running the todo's own validation first where it
// declares one. Its parts run under the turn's own keys.
func commitTurn(a *app, c *kernel.CommitTurn, agent string) (kernel.Receipt, error) {
	rec, err := a.do(c, agent, c.Turn)
	if e := kernel.AsError(err); e == nil || e.Code != "validation_missing" {
		return rec, err
	}
	v, err := ask[view.Todo](a, &view.TodoOne{Goal: c.Goal, Todo: c.Complete.Todo})
	if err != nil {
		return rec, err
	}
	if !a.g.dryRun {
		if err := a.validate(v.Validation); err != nil {
			return rec, err
		}
	}
	c.Complete.Validated = kernel.ValidationDigest(v.Validation)
	return a.do(c, agent, c.Turn)
}

func turnShow(a *app) *cobra.Command {
	var s scope
	var turn string
	return a.verbOf("show", "what became of a turn", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		f.StringVar(&turn, "turn-instance-id", "", "the turn")
	}, func() error {
		v, err := ask[view.Turn](a, &view.TurnOne{Goal: s.goal, Agent: s.agent, Turn: turn})
		if err != nil {
			return err
		}
		return a.out(newFields().set("turn", v), func() string {
			var b strings.Builder
			fmt.Fprintf(&b, "%s  %s  %s", show(v.ID, 40), v.Agent, v.Status)
			if v.Outcome != "" {
				b.WriteString("  " + v.Outcome)
			}
			if v.Todo != "" {
				b.WriteString("  " + v.Todo)
			}
			if v.Spent {
				b.WriteString("  paid")
			}
			b.WriteString("\n")
			for _, m := range v.Phases {
				fmt.Fprintf(&b, "  %-14s %s\n", m.Phase, a.clock(m.At))
			}
			if d := v.Drive; d != nil && d.Failure != nil {
				fmt.Fprintf(&b, "  failed: %s (%s)\n", show(d.Failure.Message, 200), d.Failure.Code)
			} else if d != nil && d.Result != nil {
				fmt.Fprintf(&b, "  the host said: %s: %s\n", strings.ReplaceAll(d.Result.Kind, "_", " "), show(d.Result.Summary, 200))
			}
			return b.String()
		})
	})
}
