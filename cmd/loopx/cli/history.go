package cli

import (
	"encoding/json"
	"strconv"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func historyCmd(a *app) *cobra.Command {
	var s scope
	q := &view.History{}
	return a.verbOf("history", "", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		f.IntVar(&q.Limit, "limit", 0, "how many (default 20, at most 500)")
	}, func() error {
		q.Goal = s.goal
		v, raw, err := askRaw[view.HistoryView](a, q)
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			if len(v.Runs) == 0 {
				return "Nothing was written back yet.\n"
			}
			rows := make([][]string, 0, len(v.Runs))
			for _, r := range v.Runs {
				paid := ""
				if r.Spent {
					paid = "paid"
				}
				words := r.Note
				if words == "" {
					words = r.Next
				}
				rows = append(rows, []string{a.clock(r.At), cut(r.Agent, 14), strings.ReplaceAll(r.Outcome, "_", " "), paid, r.Todo, show(words, 80)})
			}
			return a.table(rows)
		})
	})
}

func logCmd(a *app) *cobra.Command {
	var s scope
	q := &view.Log{}
	return a.verbOf("log", "", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		f.Uint64Var(&q.After, "after", 0, "records behind this number, oldest first")
		f.IntVar(&q.Limit, "limit", 0, "how many records (default 50, at most 500)")
	}, func() error {
		q.Goal = s.goal
		v, raw, err := askRaw[view.LogView](a, q)
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			rows := make([][]string, 0, len(v.Entries))
			for _, e := range v.Entries {
				rows = append(rows, []string{strconv.FormatUint(e.Seq, 10), a.clock(e.At), cut(e.By, 14), strings.ReplaceAll(e.Event, "_", " "), cut(e.Subject, 20), show(e.Text, 80)})
			}
			return a.table(rows)
		})
	})
}

func whyCmd(a *app) *cobra.Command {
	var t turnArgs
	var todo string
	return a.verbOf("why", "", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &t.scope)
		f.StringVar(&todo, "todo-id", "", "only about this todo")
		f.StringArrayVar(&t.caps, "available-capability", nil, "what the agent can do now; may be repeated")
	}, func() error {
		raw, err := a.query(&view.ShouldRun{Caller: t.why()})
		if err != nil {
			return err
		}
		var d kernel.Decision
		if err := json.Unmarshal(raw, &d); err != nil {
			return kernel.AsError(err)
		}
		f := newFields().add(raw)
		if d.Lost == nil {
			f.set("lost", []kernel.Lost{})
		}
		if todo != "" {
			lost := make([]kernel.Lost, 0, 1)
			for _, l := range d.Lost {
				if l.Todo == todo {
					lost = append(lost, l)
				}
			}
			d.Lost = lost
			f.set("lost", lost)
		}
		return a.out(f, func() string {
			text := ""
			switch {
			case todo == "":
				text = a.decisionText(raw, "")
			case d.Selected != nil && d.Selected.ID == todo:
				return todo + " is next: " + show(d.Reason, 200) + "\n"
			case len(d.Lost) == 0:
				return todo + " is no candidate: it is closed, or of another goal\n"
			}
			rows := make([][]string, 0, len(d.Lost))
			for _, l := range d.Lost {
				rows = append(rows, []string{l.Todo, cut(show(l.Title, 30), 30), show(l.Reason, 100)})
			}
			if len(rows) > 0 {
				text += a.bold("Not now") + "\n" + a.screen(rows, false, "loopx why --json")
			}
			return text
		})
	})
}

// why is the caller who also wants to know what was not chosen.
func (t *turnArgs) why() kernel.Caller {
	c := t.caller()
	c.Why = true
	return c
}
