package cli

import (
	"fmt"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// goalConfigure shows what is set for a goal, previews a change, and with
// --execute makes it.
func goalConfigure(a *app) *cobra.Command { return configure(a, "configure") }

// configureGoalCmd is the reference's name for it.
func configureGoalCmd(a *app) *cobra.Command { return configure(a, "configure-goal") }

func configure(a *app, use string) *cobra.Command {
	var s scope
	var execute bool
	var title, objective, repo string
	var write, nonGoals, policy []string
	var allowed, window int
	var compute float64
	var set *pflag.FlagSet
	c := &kernel.ConfigureGoal{}
	return a.verbOf(use, "show or change a goal's settings (a change is shown; --execute makes it): an owner's act", func(f *pflag.FlagSet) {
		set = f
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&title, "title", "", "how it is called")
		f.StringVar(&objective, "objective", "", "what is to be reached; agents are told of the change")
		f.StringVar(&repo, "repo", "", "repository it works in")
		f.StringArrayVar(&write, "write-scope", nil, "path glob it may write (again for more; replaces all)")
		f.StringArrayVar(&nonGoals, "non-goal", nil, "what is not wanted (again for more; replaces all)")
		f.IntVar(&allowed, "allowed-slots", 0, "slots in the window; 0 pauses")
		f.Float64Var(&compute, "quota-compute", 1, "the same as a share of the window, at one slot a minute, 0 to 1; 0 pauses")
		f.IntVar(&window, "quota-window-hours", 24, "how long a payment counts against the slots, 1 to 720")
		f.StringVar(&c.Language, "language", "", "en or zh")
		f.StringVar(&c.Visibility, "visibility", "", "private, group or public")
		f.StringVar(&c.Handoff, "handoff", "", "soft, or strict: each write shows its lease")
		f.StringArrayVar(&policy, "ask-policy", nil, "KIND=WHO, who answers gates of a kind, or any=WHO (again for more; replaces all): "+askUsage)
		f.StringVar(&c.Limit, "limit", "", "what its work may write: report_only, draft_only, watch_only, ask_first or none")
		f.StringVar(&c.Agent, "agent-id", "", "agent whose --mode is set")
		f.StringVar(&c.Mode, "mode", "", "active or monitor_only")
		f.BoolVar(&execute, "execute", false, "do it")
	}, func() error {
		c.Goal = s.goal
		changes := 0
		given := func(name string) bool {
			if set.Changed(name) {
				changes++
				return true
			}
			return false
		}
		if given("title") {
			c.Title = &title
		}
		if given("objective") {
			c.Objective = &objective
		}
		if given("repo") {
			c.Repo = &repo
		}
		if given("write-scope") {
			c.Write = &write
		}
		if given("non-goal") {
			c.NonGoals = &nonGoals
		}
		if given("allowed-slots") {
			c.Allowed = &allowed
		}
		if given("ask-policy") {
			ask, err := askPolicies(policy)
			if err != nil {
				return err
			}
			c.Ask = &ask
		}
		if given("quota-window-hours") {
			c.Window = &window
		}
		if given("quota-compute") {
			hours := window
			if !set.Changed("quota-window-hours") {
				q, err := ask[view.QuotaView](a, &view.QuotaOf{Goal: s.goal})
				if err != nil {
					return err
				}
				hours = int(q.Window / 3_600_000)
			}
			n, err := slotsOf(compute, hours)
			if err != nil {
				return err
			}
			if c.Allowed != nil && *c.Allowed != n {
				return kernel.Errorf(kernel.Invalid, "usage", "--quota-compute and --allowed-slots say different things")
			}
			c.Allowed = &n
		}
		for _, name := range []string{"language", "visibility", "handoff", "mode", "limit"} {
			given(name)
		}
		if changes == 0 {
			return a.settings(s.goal)
		}
		return a.ownerAct(c, execute, "configuring a goal", "The settings of "+show(s.goal, 64)+" change as shown.", s.goal, func(rec kernel.Receipt) string {
			return "goal " + s.goal + ": " + resultOf(rec, "status") + ", " + resultOf(rec, "allowed_slots") + " slots in " + resultOf(rec, "window_hours") + " h"
		})
	})
}

// settings shows what is set for a goal and changes nothing.
func (a *app) settings(goal string) error {
	v, err := ask[view.SettingsView](a, &view.Settings{Goal: goal})
	if err != nil {
		return err
	}
	return a.out(newFields().set("goal_id", v.ID).set("settings", v.Settings), func() string {
		var b strings.Builder
		for _, s := range v.Settings {
			from := ""
			if s.Default {
				from = "  (default)"
			}
			fmt.Fprintf(&b, "%-14s %s%s\n", s.Name, show(s.Value, 400), from)
		}
		return b.String()
	})
}

// todoTransfer hands a claimed todo to another agent.
func todoTransfer(a *app) *cobra.Command {
	var t todoRef
	var to, lease, note string
	return a.verbOf("transfer", "hand a claimed todo to another agent, with its lease", func(f *pflag.FlagSet) {
		a.todoFlags(f, &t)
		f.StringVar(&to, "to", "", "agent that gets it")
		f.StringVar(&lease, "lease", "", "how long, 1m to 24h (default 45m)")
		f.StringVar(&note, "note", "", "what the other agent should know")
	}, func() error {
		ms, err := span("--lease", lease)
		if err != nil {
			return err
		}
		rec, err := a.do(&kernel.TransferTodo{Goal: t.goal, Todo: t.todo, Agent: t.agent, Lease: t.lease, To: to, LeaseMS: ms, Note: note}, t.agent, "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string {
			return said(rec, fmt.Sprintf("%s is held by %s", t.todo, resultOf(rec, "claimed_by")))
		})
	})
}
