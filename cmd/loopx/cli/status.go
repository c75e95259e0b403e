package cli

import (
	"fmt"

	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func statusCmd(a *app) *cobra.Command {
	var s scope
	var all bool
	return a.verbOf("status", "", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		f.BoolVar(&all, "all", false, "whole lists")
		a.acceptUnused(f, "limit scan-root scan-path include-detail verbose!")
	}, func() error {
		v, raw, err := askRaw[view.StatusView](a, &view.Status{Goal: s.goal})
		if noWorkspace(err) && s.goal == "" {
			v = view.StatusView{AsOf: a.now().UnixMilli()}
			raw = fmt.Appendf(nil, `{"as_of":%d,"needs_you":[],"running":[],"watching":[],"scheduled":[],"stopped":[],"goals":[]}`, v.AsOf)
			err = nil
		}
		if err != nil {
			return err
		}
		f := newFields()
		if s.goal != "" {
			f.set("goal_id", s.goal)
		}
		return a.out(f.add(raw), func() string { return a.statusText(v, s.goal, all) })
	})
}

// statusText is the five groups in their fixed order; one goal has its five lines
// on top.
func (p *printer) statusText(v view.StatusView, goal string, all bool) string {
	if len(v.Goals) == 0 {
		return "No goal yet.\n  try: loopx goal create --goal-id NAME --objective TEXT\n"
	}
	text, left := "", lineMost
	if goal != "" {
		text, left = p.fiveLines(v.Goals[0], v.AsOf)+"\n", lineMost-7
	}
	groups := []struct {
		name  string
		items []view.Item
	}{{"Needs you", v.NeedsYou}, {"Running", v.Running}, {"Watching", v.Watching}, {"Scheduled", v.Scheduled}, {"Stopped", v.Stopped}}
	for _, g := range groups {
		if len(g.items) == 0 {
			if g.name == "Needs you" {
				text += p.bold(g.name) + "\n  nothing\n"
			}
			continue
		}
		shown := g.items
		if !all {
			shown = shown[:min(len(shown), max(left, 2))]
		}
		left -= len(shown) + 1
		rows := make([][]string, 0, len(shown))
		for _, i := range shown {
			rows = append(rows, p.itemRow(i, goal == ""))
		}
		text += p.bold(g.name) + "\n" + p.table(rows)
		for _, i := range shown {
			if i.Fix != "" {
				text += "  " + cut(i.Code, 20) + " is " + show(i.Note, 100) + "\n    try: " + show(i.Fix, 120) + "\n"
			}
		}
		if n := len(g.items) - len(shown); n > 0 {
			text += fmt.Sprintf("  … %d more: loopx status --all\n", n)
		}
	}
	return text
}

func (p *printer) itemRow(i view.Item, withGoal bool) []string {
	name := i.Code
	if name == "" {
		name = i.ID
	}
	row := []string{"  " + cut(name, 20)}
	if withGoal {
		row = append(row, cut(i.Goal, 14))
	}
	when := p.age(i.Since)
	if i.Next > 0 {
		when = "next " + p.clock(i.Next)
	}
	row = append(row, prio(i.Prio), cut(i.Agent, 14), when)
	title := show(i.Title, 100)
	if i.Note != "" && i.Fix == "" { // else it stands below
		title += " · " + show(i.Note, 60)
	}
	return append(row, title)
}
