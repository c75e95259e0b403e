package cli

import (
	"fmt"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// quotaAck is by which a host says that it wakes the agent as advised.
func quotaAck(a *app) *cobra.Command {
	var s scope
	var execute bool
	c := &kernel.AckSchedule{}
	return a.verbOf("scheduler-ack-current", "say that the host wakes the agent as advised (shows it; --execute does it)", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		a.writeFlags(f)
		f.StringVar(&c.RRule, "applied-rrule", "", "the rule the host has set")
		f.StringVar(&c.Token, "reset-token", "", "of the advice it was taken from")
		f.StringArrayVar(&c.Capabilities, "available-capability", nil, "what the agent can do now; may be repeated")
		f.BoolVar(&execute, "execute", false, "do it")
		a.acceptUnused(f, quotaFlags)
	}, func() error {
		c.Goal, c.Agent, c.Workspace = s.goal, s.agent, whereAmI()
		a.g.dryRun = a.g.dryRun || !execute
		rec, err := a.do(c, s.agent, "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec).set("executed", !rec.Preview), func() string {
			return a.executed(rec, resultOf(rec, "agent_id")+" is woken by "+resultOf(rec, "applied_rrule"))
		})
	})
}

// quotaPlan shows what each agent of a goal would be told now.
func quotaPlan(a *app) *cobra.Command {
	var s scope
	return a.verbOf("plan", "what each agent of a goal would be told now, and the slots", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		a.acceptUnused(f, quotaFlags)
	}, func() error {
		v, raw, err := askRaw[view.PlanView](a, &view.Plan{Goal: s.goal, Agent: s.agent})
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			rows := make([][]string, 0, len(v.Agents))
			for _, p := range v.Agents {
				wake := ""
				if p.NextWake > 0 {
					wake = a.clock(p.NextWake)
				}
				rows = append(rows, []string{p.Agent, p.Kind, p.Rule, p.Todo, wake, show(p.Reason, 60)})
			}
			return a.table(rows) + fmt.Sprintf("%d of %d slots spent, %d free\n", v.Quota.Spent, v.Quota.Allowed, max(v.Quota.Free(), 0))
		})
	})
}

// holdTodo takes a todo for a person, or gives it back: with the owner's proof.
func holdTodo(a *app, goal, todo, person, note string, release bool) error {
	act, seen := "holding a todo for a person", show(todo, 80)+" is held by person "+show(person, 80)+" until it is given back."
	if release {
		act, seen = "giving a person's todo back", show(todo, 80)+" is open to agents again."
	}
	return a.ownerAct(&kernel.HoldTodo{Goal: goal, Todo: todo, Person: person, Note: note, Release: release}, true, act, seen, todo, func(rec kernel.Receipt) string {
		if release {
			return todo + " is given back"
		}
		return todo + " is held by " + resultOf(rec, "claimed_by") + ": " + show(resultOf(rec, "title"), 50)
	})
}

// slotsOf turns the reference's share of a window into slots, one a minute.
func slotsOf(compute float64, hours int) (int, error) {
	if !(compute >= 0 && compute <= 1) {
		return 0, kernel.Errorf(kernel.Invalid, "bad_quota_compute", "--quota-compute must be 0 to 1").Try("--quota-compute 0 pauses; --allowed-slots N sets a number")
	}
	return int(float64(60*hours)*compute + 0.5), nil
}
