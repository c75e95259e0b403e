package cli

import (
	"fmt"
	"io"
	"strings"

	"loopx/kernel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// starting is what start-goal makes of its flags and of what a person answers.
type starting struct {
	cmd     kernel.StartGoal
	agents  []string
	host    string
	todos   []string
	connect bool
}

func startGoalCmd(a *app) *cobra.Command {
	x := &starting{}
	var guided bool
	var allowed int
	var set *pflag.FlagSet
	c := a.verbOf("start-goal", "", func(f *pflag.FlagSet) {
		set = f
		f.StringVar(&x.cmd.Create.Goal, "goal-id", "", "name of the goal")
		f.StringVar(&x.cmd.Create.Objective, "objective", "", "what is to be reached")
		f.StringVar(&x.cmd.Create.Title, "title", "", "how it is called (else the objective's first line)")
		f.StringArrayVar(&x.agents, "agent-id", nil, "agent that works on it; may be repeated")
		f.StringVar(&x.host, "host", "", "what runs these agents")
		f.StringArrayVar(&x.todos, "todo", nil, "a first todo, its priority in front where one is meant: '[P0] TEXT'; may be repeated")
		f.StringVar(&x.cmd.Create.Repo, "repo", "", "repository it works on")
		f.StringArrayVar(&x.cmd.Create.NonGoals, "non-goal", nil, "what it is not about; may be repeated")
		f.StringVar(&x.cmd.Create.Limit, "limit", "", "what its work may write: report_only, draft_only, watch_only or ask_first")
		f.IntVar(&allowed, "allowed-slots", 0, "turns it may spend in 24 hours (default 1440)")
		f.BoolVar(&x.connect, "connect", false, "connect this folder to it afterwards")
		f.BoolVar(&guided, "guided", false, "ask on this terminal for what the flags leave out, and show it before it is done")
		a.writeFlags(f)
		a.acceptUnused(f, "execute!")
	}, func() error {
		if set.Changed("allowed-slots") {
			x.cmd.Create.Allowed = &allowed
		}
		if guided && a.interactive() {
			if err := x.guide(a); err != nil {
				return err
			}
		}
		x.fill()
		if len(x.cmd.Agents) == 0 {
			return kernel.Errorf(kernel.Invalid, "agent_missing", "no agent was named").Try("pass --agent-id NAME, or use --guided on a terminal")
		}
		if guided && a.interactive() && !a.g.dryRun {
			if err := a.confirm(x.plan(), "yes"); err != nil {
				return err
			}
		}
		return x.start(a)
	})
	c.Long = "Makes a goal with its agents and first todos in one step, and says what the agents run\n" +
		"next. With --guided it asks on the terminal; anywhere else the flags say everything.\n" +
		"--dry-run shows what would be made."
	return c
}

// guide asks for what the flags left out. An empty answer takes what is suggested.
func (x *starting) guide(a *app) error {
	out, done := a.prompt()
	defer done()
	ask := func(question, suggestion string) string {
		if suggestion != "" {
			question += " [" + suggestion + "]"
		}
		_, _ = io.WriteString(out, question+": ")
		if s := strings.TrimSpace(readLine(a.opt.In)); s != "" {
			return s
		}
		return suggestion
	}
	create := &x.cmd.Create
	if create.Objective == "" {
		create.Objective = ask("What is to be reached", "")
	}
	if create.Objective == "" {
		return kernel.Errorf(kernel.Invalid, "missing_objective", "a goal needs an objective").Try("pass --objective TEXT")
	}
	if create.Goal == "" {
		create.Goal = ask("Its short name", slug(create.Objective))
	}
	if len(x.agents) == 0 {
		x.agents = strings.FieldsFunc(ask("Agents that work on it, with commas between", "builder"), func(r rune) bool { return r == ',' || r == ' ' })
	}
	if x.host == "" {
		x.host = ask("What runs them (claude-code, codex, opencode, gemini, shell)", "generic")
	}
	for n := 1; len(x.todos) < n && n <= 9; n++ {
		text := ask(fmt.Sprintf("Todo %d, [P0] to [P3] in front (empty ends)", n), "")
		if text == "" {
			break
		}
		x.todos = append(x.todos, text)
	}
	if !x.connect {
		x.connect = strings.HasPrefix(strings.ToLower(ask("Connect this folder to it (yes, no)", "yes")), "y")
	}
	return nil
}

// slug suggests a goal's name from its objective: its first words in ASCII.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	out := ""
	for _, w := range words {
		if len(out)+len(w) > 24 || strings.Count(out, "-") == 2 {
			break
		}
		out = strings.TrimPrefix(out+"-"+w, "-")
	}
	if out == "" {
		return "goal"
	}
	return out
}

// fill makes the command of what was given.
func (x *starting) fill() {
	for _, id := range x.agents {
		x.cmd.Agents = append(x.cmd.Agents, kernel.RegisterAgent{Agent: id, Host: x.host})
	}
	for _, text := range x.todos {
		title, body, prio := splitText(text)
		x.cmd.Todos = append(x.cmd.Todos, kernel.AddTodo{Title: title, Body: body, Priority: prio})
	}
}

// plan is what a person confirms.
func (x *starting) plan() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nGoal    %s: %s\n", show(x.cmd.Create.Goal, 64), show(x.cmd.Create.Objective, 200))
	fmt.Fprintf(&b, "Agents  %s\n", show(strings.Join(x.agents, ", "), 200))
	for _, v := range x.cmd.Todos {
		p := kernel.Priority(2)
		if v.Priority != nil {
			p = kernel.Priority(*v.Priority)
		}
		fmt.Fprintf(&b, "Todo    %s  %s\n", prio(p), show(v.Title, 120))
	}
	if x.connect {
		b.WriteString("Folder  this one is connected to it\n")
	}
	return b.String()
}

func (x *starting) start(a *app) error {
	rec, err := a.do(&x.cmd, "", "")
	if err != nil {
		return err
	}
	goal := x.cmd.Create.Goal
	f := receipt(rec).set("next", x.next())
	folder := ""
	if x.connect && !rec.Preview {
		place, err := projectPlace(".")
		if err == nil {
			var c connected
			if c, err = connect(a, place, goal); err == nil {
				f.set("project", c.Dir)
				folder = c.text()
			}
		}
		if e := kernel.AsError(err); e != nil {
			e.Kept = "the goal " + goal + " is there; only the folder was not connected"
			return e
		}
	}
	return a.out(f, func() string {
		text := said(rec, "goal "+show(goal, 64)+": "+show(resultOf(rec, "title"), 60)+", "+count(len(x.cmd.Agents), "agent", "agents")+", "+count(len(x.cmd.Todos), "todo", "todos"))
		if rec.Preview {
			return text
		}
		text += folder + "Each agent runs, for each turn under a new id:\n"
		for _, argv := range x.next() {
			text += "  " + strings.Join(argv, " ") + "\n"
		}
		return text
	})
}

// next is what the first agent runs: open a turn, settle it.
func (x *starting) next() [][]string {
	who := []string{"--goal-id", x.cmd.Create.Goal, "--agent-id", x.cmd.Agents[0].Agent, "--turn-instance-id", "TURN"}
	return [][]string{
		append([]string{"loopx", "tick"}, who...),
		append(append([]string{"loopx", "turn", "commit"}, who...), "--todo-id", "TODO", "--complete", "--evidence", "TEXT", "--no-follow-up"),
	}
}
