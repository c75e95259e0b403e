package cli

import (
	"fmt"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func goalCmd(a *app) *cobra.Command {
	return noun("goal", goalCreate(a), goalList(a), goalShow(a), goalStop(a), goalResume(a), goalClose(a), goalConfigure(a))
}

func goalCreate(a *app) *cobra.Command {
	var s scope
	c := &kernel.CreateGoal{}
	var allowed int
	var set *pflag.FlagSet
	return a.verbOf("create", "make a goal", func(f *pflag.FlagSet) {
		set = f
		a.goalFlag(f, &s)
		a.writeFlags(f)
		f.StringVar(&c.Objective, "objective", "", "what is to be reached")
		f.StringVar(&c.Title, "title", "", "how it is called (else the objective's first line)")
		f.IntVar(&allowed, "allowed-slots", 0, "turns it may spend in 24 hours (default 1440)")
		f.StringArrayVar(&c.Agents, "agent-id", nil, "first agent; may be repeated")
		f.StringVar(&c.Repo, "repo", "", "repository it works on")
		f.StringArrayVar(&c.Write, "write-scope", nil, "glob that may be written; may be repeated")
		f.StringArrayVar(&c.NonGoals, "non-goal", nil, "what it is not about; may be repeated")
		f.StringVar(&c.Handoff, "handoff", "", "soft or strict (each write shows its lease)")
		f.StringVar(&c.Language, "language", "", "en or zh")
		f.StringVar(&c.Limit, "limit", "", "what its work may write: report_only, draft_only, watch_only or ask_first")
		f.StringVar(&c.Visibility, "visibility", "", "private, group or public")
	}, func() error {
		c.Goal = s.goal
		if set.Changed("allowed-slots") {
			c.Allowed = &allowed
		}
		rec, err := a.do(c, a.env["LOOPX_AGENT"], "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string {
			text := "goal " + show(c.Goal, 64) + ": " + show(resultOf(rec, "title"), 60)
			if len(c.Agents) == 0 {
				return said(rec, text) + "  next: loopx agent register --goal-id " + show(c.Goal, 64) + " --agent-id NAME\n"
			}
			return said(rec, text)
		})
	})
}

func goalList(a *app) *cobra.Command {
	return a.verbOf("list", "all goals", nil, func() error {
		v, raw, err := askRaw[view.GoalsView](a, &view.Goals{})
		if noWorkspace(err) {
			v, raw, err = view.GoalsView{}, []byte(`{"goals":[]}`), nil
		}
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			if len(v.Goals) == 0 {
				return "No goal yet.\n  try: loopx goal create --goal-id NAME --objective TEXT\n"
			}
			rows := make([][]string, 0, len(v.Goals))
			for _, g := range v.Goals {
				rows = append(rows, []string{g.ID, g.Status, count(g.Counts.Open, "todo", "todos"), count(g.Gates, "gate", "gates"), show(g.Title, 60)})
			}
			return a.screen(rows, false, "loopx goal list --json")
		})
	})
}

func goalShow(a *app) *cobra.Command {
	var s scope
	return a.verbOf("show", "the five lines of a goal", func(f *pflag.FlagSet) { a.goalFlag(f, &s) }, func() error {
		v, raw, err := askRaw[view.GoalPageView](a, &view.GoalPage{Goal: s.goal})
		if err != nil {
			return err
		}
		return a.out(newFields().set("goal_id", v.Summary.ID).add(raw), func() string { return a.fiveLines(v.Summary, v.AsOf) })
	})
}

// fiveLines is a goal in the five lines it has on every surface.
func (p *printer) fiveLines(g view.Summary, asOf int64) string {
	head := show(g.Title, 56)
	if g.Status != kernel.GoalActive {
		head += " (" + g.Status + ")"
	}
	right := "as of " + p.clock(asOf)
	gap := max(2, p.width-columns(head)-columns(right)-2)
	return p.bold(head) + strings.Repeat(" ", gap) + right + "\n" + p.table([][]string{
		{"Objective", show(g.Objective, 200)},
		{"Next", show(g.Next, 200)},
		{"Needs you", show(g.NeedsYou, 200)},
		{"Evidence", show(g.Evidence, 200)},
		{"Continues", show(g.Continues, 200)},
	})
}

func goalStop(a *app) *cobra.Command {
	var s scope
	var execute bool
	return a.verbOf("stop", "pause a goal (shows it; --execute does it)", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		f.BoolVar(&execute, "execute", false, "do it")
	}, func() error {
		a.g.dryRun = a.g.dryRun || !execute
		rec, err := a.do(&kernel.PauseGoal{Goal: s.goal}, a.env["LOOPX_AGENT"], "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string { return a.executed(rec, "goal "+s.goal+" is "+resultOf(rec, "status")) })
	})
}

// executed is said, with the flag that does what a preview showed.
func (a *app) executed(rec kernel.Receipt, text string) string {
	if !rec.Preview {
		return said(rec, text)
	}
	return said(rec, text) + "  to do it add --execute\n"
}

func goalResume(a *app) *cobra.Command {
	var s scope
	var execute bool
	return a.verbOf("resume", "lift a stop (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.BoolVar(&execute, "execute", false, "do it")
	}, func() error {
		return a.ownerAct(&kernel.PauseGoal{Goal: s.goal, Resume: true}, execute, "resuming a goal",
			"Agents go on working on "+show(s.goal, 64)+".", s.goal, func(rec kernel.Receipt) string { return "goal " + s.goal + " is " + resultOf(rec, "status") })
	})
}

func goalClose(a *app) *cobra.Command {
	var s scope
	var execute bool
	c := &kernel.CloseGoal{}
	return a.verbOf("close", "end a goal with its outcome (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Outcome, "outcome", "", "what came of it, in words")
		f.BoolVar(&execute, "execute", false, "do it")
	}, func() error {
		c.Goal = s.goal
		return a.ownerAct(c, execute, "closing a goal", "The goal "+show(s.goal, 64)+" ends and takes no more work.", s.goal,
			func(kernel.Receipt) string { return "goal " + s.goal + " is closed" })
	})
}

// ownerAct previews an owner's act, or does it after the proof.
func (a *app) ownerAct(c kernel.Command, execute bool, act, seen, word string, text func(kernel.Receipt) string) error {
	preview := a.g.dryRun || !execute
	var by kernel.Actor
	var err error
	if preview {
		by, err = a.ownerPreview(act)
	} else {
		by, err = a.owner(act, func() string { return seen }, word)
	}
	if err != nil {
		return err
	}
	rec, err := a.doAs(c, by, "", preview)
	if err != nil {
		return err
	}
	return a.out(receipt(rec), func() string { return a.executed(rec, text(rec)) })
}

func agentCmd(a *app) *cobra.Command {
	return noun("agent", agentRegister(a, "register"), agentList(a))
}

func registerAgentCmd(a *app) *cobra.Command {
	c := agentRegister(a, "register-agent")
	c.Hidden = true
	return c
}

func agentRegister(a *app, use string) *cobra.Command {
	var s scope
	var execute bool
	c := &kernel.RegisterAgent{}
	return a.verbOf(use, "make an agent a member of a goal", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		a.writeFlags(f)
		f.StringVar(&c.Host, "host", "", "what runs it")
		f.StringArrayVar(&c.Capabilities, "capability", nil, "what it can do; may be repeated")
		f.StringVar(&c.Profile, "profile", "", "what it is good at, in words")
		f.BoolVar(&c.RequireNew, "require-new", false, "refuse when it is a member already")
		f.BoolVar(&execute, "execute", false, "")
		_ = f.MarkHidden("execute") // registering happens at once here
	}, func() error {
		c.Goal, c.Agent = s.goal, s.agent
		if execute {
			a.ignore("--execute")
		}
		rec, err := a.do(c, "", "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string {
			return said(rec, fmt.Sprintf("%s is an agent of %s", show(c.Agent, 80), show(c.Goal, 64)))
		})
	})
}

func agentList(a *app) *cobra.Command {
	var s scope
	return a.verbOf("list", "the agents of a goal and what they do now", func(f *pflag.FlagSet) { a.goalFlag(f, &s) }, func() error {
		v, err := ask[view.GoalPageView](a, &view.GoalPage{Goal: s.goal})
		if err != nil {
			return err
		}
		agents := v.Summary.Agents
		return a.out(newFields().set("goal_id", v.Summary.ID).set("agents", agents), func() string {
			if len(agents) == 0 {
				return "No agent yet.\n  try: loopx agent register --goal-id " + s.goal + " --agent-id NAME\n"
			}
			rows := make([][]string, 0, len(agents))
			for _, g := range agents {
				state, what := "nobody is running", ""
				if g.Running {
					state, what = "running", g.Todo
				}
				rows = append(rows, []string{g.ID, state, show(g.Host, 20), what})
			}
			return a.screen(rows, false, "loopx agent list --json")
		})
	})
}
