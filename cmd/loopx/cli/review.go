package cli

import (
	"fmt"
	"strings"

	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func reviewCmd(a *app) *cobra.Command {
	var s scope
	var since, todo string
	var handoff bool
	c := a.verbOf("review-packet", "", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		f.BoolVar(&handoff, "handoff-only", false, "only what an agent reads first about a todo, at most 1,800 characters")
		f.StringVar(&todo, "todo-id", "", "with --handoff-only: the todo (default: what the agent would be given now)")
		f.StringVar(&since, "since", "7d", "changes of this long")
	}, func() error {
		if handoff {
			v, raw, err := askRaw[view.HandoffView](a, &view.Handoff{Goal: s.goal, Agent: s.agent, Todo: todo})
			if err != nil {
				return err
			}
			return a.out(newFields().add(raw), func() string { return quoted(v.Text) })
		}
		ms, err := span("--since", since)
		if err != nil {
			return err
		}
		v, raw, err := askRaw[view.ReviewView](a, &view.Review{Goal: s.goal, Since: a.now().UnixMilli() - ms})
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string { return reviewText(&a.printer, v) })
	})
	c.Long = "What an owner looks at before deciding: the objective, what is asked and on what\n" +
		"evidence, what changed, what is at risk, what was spent, and what each agent would do\n" +
		"now. It only reads; a decision is given with `loopx gate answer`."
	return c
}

// reviewMost is how many lines a part of the packet has on a terminal.
const reviewMost = 8

func reviewText(p *printer, v view.ReviewView) string {
	var b strings.Builder
	head := show(v.Title, 56)
	if v.Status != "active" {
		head += " (" + v.Status + ")"
	}
	fmt.Fprintf(&b, "%s  as of %s, revision %d\n", p.bold(head), p.clock(v.AsOf), v.Revision)
	rows := [][]string{{"Objective", show(v.Objective, 300)}}
	if len(v.NonGoals) > 0 {
		rows = append(rows, []string{"Not", show(strings.Join(v.NonGoals, " · "), 300)})
	}
	if v.Limit != "" {
		rows = append(rows, []string{"Limit", strings.ReplaceAll(v.Limit, "_", " ")})
	}
	rows = append(rows, []string{"Spent", fmt.Sprintf("%d of %d slots %s, %d reserved", v.Spend.Spent, v.Spend.Allowed, view.WindowWords(v.Spend.Window), v.Spend.Reserved)})
	b.WriteString(p.wrapped(rows))
	part := func(title string, n int, line func(i int) string) {
		if n == 0 {
			return
		}
		fmt.Fprintf(&b, "%s\n", p.bold(title))
		for i := range min(n, reviewMost) {
			b.WriteString(line(i))
		}
		if n > reviewMost {
			fmt.Fprintf(&b, "  … %d more: loopx review-packet --json\n", n-reviewMost)
		}
	}
	if len(v.Decisions)+len(v.Asks) == 0 {
		b.WriteString(p.bold("Needs you") + "\n  nothing\n")
	}
	part("Needs you", len(v.Decisions), func(i int) string { return reviewGate(p, v.Decisions[i]) })
	part("Asked of people", len(v.Asks), func(i int) string {
		return "  " + show(v.Asks[i].Title, 120) + " (" + p.age(v.Asks[i].Created) + ")\n"
	})
	part("Changed since "+p.clock(v.Since), len(v.Changed), func(i int) string {
		c := v.Changed[i]
		what := c.Title
		if c.Note != "" {
			what = strings.TrimPrefix(what+": "+c.Note, ": ")
		}
		return cut("  "+p.clock(c.At)+"  "+show(c.Agent, 14)+"  "+c.Words()+"  "+show(what, 200), p.width) + "\n"
	})
	part("Evidence", len(v.Evidence), func(i int) string {
		e := v.Evidence[i]
		return cut("  "+e.Fresh+", "+p.age(e.Observed)+"  "+e.Kind+"  "+show(e.Summary, 200), p.width) + "\n"
	})
	part("Risks", len(v.Risks), func(i int) string { return cut("  "+show(v.Risks[i].Text, 200), p.width) + "\n" })
	part("Next", len(v.Next), func(i int) string {
		n := v.Next[i]
		what := n.Reason
		if n.Title != "" {
			what = n.Title // the reason names it by its id
		}
		return cut("  "+show(n.Agent, 20)+"  "+n.Kind+": "+show(what, 160), p.width) + "\n"
	})
	return b.String()
}

// reviewGate is one decision: what is asked, what each answer does, what waits,
// and the command that gives it.
func reviewGate(p *printer, g view.Gate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s  %s (%s, P%d, asked by %s, %s)\n", g.Code, show(g.Question, 200), g.Kind, g.Severity, show(g.AskedBy, 30), p.ago(g.Asked))
	for _, o := range g.Options {
		line := "       " + o.ID + ": " + show(o.Label, 60) + " (" + o.Outcome + ")"
		if o.Consequence != "" {
			line += ", " + show(o.Consequence, 120)
		}
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(&b, "       blocks %s, %d of %d go on\n", blocked(g.Blocks), g.Blocks.OthersGo, g.Blocks.OpenTodos)
	for _, e := range g.Evidence {
		fmt.Fprintf(&b, "       evidence: %s (%s)%s\n", show(e.Summary, 100), p.age(e.Observed), doubted(e))
	}
	fmt.Fprintf(&b, "       loopx gate answer --gate-id %s --option OPTION\n", g.ID)
	return b.String()
}

// ago is an age as a point in time.
func (p *printer) ago(ms int64) string {
	if age := p.age(ms); age != "now" && age != "" {
		return age + " ago"
	}
	return "just now"
}

func blocked(b view.GateBlocks) string {
	switch {
	case b.WholeGoal:
		return "the whole goal"
	case b.Agent != "":
		return "the lane of " + show(b.Agent, 40)
	case len(b.Todos) > 0:
		return count(len(b.Todos), "todo", "todos")
	}
	return "nothing"
}
