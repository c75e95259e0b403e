package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func findCmd(a *app) *cobra.Command {
	var s scope
	var kind string
	c := a.argVerb("find TEXT", "", func(f *pflag.FlagSet) {
		// Without a goal all are searched, so the environment's is no default here.
		f.StringVar(&s.goal, "goal-id", "", "only in this goal")
		f.StringVar(&kind, "kind", "", "only in: goal, agent, todo, gate, evidence or run")
	}, func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return kernel.Errorf(kernel.Invalid, "usage", "loopx find takes one text").Try("loopx find 'SOME WORDS'")
	}, func(args []string) error {
		v, raw, err := askRaw[view.FindView](a, &view.Find{Text: args[0], Goal: s.goal, Kind: kind})
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string { return a.hits(v) })
	})
	c.Long = "Looks for a text in goals, agents, todos, gates, evidence and writebacks, without\nregard to case; the most recent come first, at most 50."
	return c
}

func (a *app) hits(v view.FindView) string {
	if len(v.Hits) == 0 {
		return "Nothing holds " + fmt.Sprintf("%q", show(v.Text, 60)) + ".\n"
	}
	rows := make([][]string, 0, len(v.Hits))
	for _, h := range v.Hits {
		id := h.ID
		if h.Code != "" {
			id = h.Code
		}
		rows = append(rows, []string{h.Kind, cut(h.Goal, 16), show(id, 24), a.age(h.At), show(h.Text, 160)})
	}
	text := a.screen(rows, false, "loopx find TEXT --json")
	if v.More || v.Partial {
		text += "… there is more: name a goal with --goal-id, or more of the text\n"
	}
	return text
}

func usageCmd(a *app) *cobra.Command {
	var goal scope
	var window string
	c := a.verbOf("usage", "", func(f *pflag.FlagSet) {
		f.StringVar(&goal.goal, "goal-id", "", "what this goal gave and cost instead: output, quality, tokens, attention")
		f.StringVar(&window, "window", "7d", "with --goal-id: of this long, up to now")
	}, func() error {
		if goal.goal != "" {
			return showValue(a, goal.goal, window)
		}
		v, raw, err := askRaw[view.UsageView](a, &view.Usage{})
		if noWorkspace(err) {
			v, raw, err = view.UsageView{}, []byte(fmt.Sprintf(`{"as_of":%d,"records":0,"more":false,"commands":{},"decisions":{},"gates":{},"refusals":{},"sent":false}`, a.now().UnixMilli())), nil
		}
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string { return a.usage(v) })
	})
	c.Long = "Counts what was done in this state folder: commands by name, decisions of turns by\nrule and of gates by outcome, refused acts by code. It is read from the journal here\nand shown here; loopx sends nothing about its use anywhere."
	return c
}

func (a *app) usage(v view.UsageView) string {
	text := "Nothing was written yet.\n"
	if v.Records > 0 {
		text = count(v.Records, "record", "records") + " since " + a.clock(v.Since)
		if v.More {
			text += " (older ones are not counted)"
		}
		text += "\n"
	}
	for _, part := range []struct {
		title string
		n     map[string]int
	}{{"Commands", v.Commands}, {"Decisions of turns", v.Decisions}, {"Decisions of gates", v.Gates}, {"Refused acts", v.Refusals}} {
		if len(part.n) == 0 {
			continue
		}
		text += a.bold(part.title) + "\n" + a.table(byCount(part.n))
	}
	return text + "These numbers stay here: nothing is sent.\n"
}

// byCount is a table of counters, the largest first.
func byCount(n map[string]int) [][]string {
	names := slices.SortedFunc(maps.Keys(n), func(x, y string) int {
		if n[x] != n[y] {
			return n[y] - n[x]
		}
		return strings.Compare(x, y)
	})
	out := make([][]string, 0, len(names))
	for _, name := range names {
		out = append(out, []string{fmt.Sprintf("  %6d", n[name]), show(name, 60)})
	}
	return out
}
