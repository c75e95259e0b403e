package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"loopx/kernel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func quotaMonitorPoll(a *app) *cobra.Command {
	var s scope
	var execute bool
	var nextDue string
	var proof []string
	c := &kernel.PollMonitor{}
	return a.verbOf("monitor-poll", "record one look at what a monitor watches (shows it; --execute does it)", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		a.writeFlags(f)
		f.StringVar(&c.Todo, "todo-id", "", "monitor that was looked at")
		f.StringVar(&c.Turn, "turn-instance-id", "", "turn in which it was")
		f.BoolVar(&c.Material, "material-change", false, "what was seen matters: it counts as a writeback and can be paid")
		f.StringVar(&c.Hash, "result-hash", "", "of what was seen; another one than last time is a change")
		f.StringVar(&nextDue, "next-due-at", "", "when to look again: RFC 3339, or a duration from now (default: its cadence)")
		f.StringVar(&c.Next, "next-agent-todo", "", "title of the todo that the change calls for")
		f.StringVar(&c.Note, "reason-summary", "", "what was seen, in words")
		f.StringArrayVar(&proof, "evidence", nil, "proof, for example check:TEXT; may be repeated")
		f.BoolVar(&execute, "execute", false, "do it")
		a.acceptUnused(f, quotaFlags)
	}, func() error {
		c.Goal, c.Agent = s.goal, s.agent
		var err error
		if c.NextDue, err = a.date("--next-due-at", nextDue); err != nil {
			return err
		}
		if c.Evidence, err = evidence(proof); err != nil {
			return err
		}
		a.g.dryRun = a.g.dryRun || !execute
		rec, err := a.do(c, s.agent, c.Turn)
		if err != nil {
			return err
		}
		return a.out(receipt(rec).set("executed", !rec.Preview), func() string {
			text := show(c.Todo, 60) + " was looked at: no change"
			if n := resultOf(rec, "consecutive_no_change"); n != "" && n != "1" {
				text += fmt.Sprintf(" (%s times in a row)", n)
			}
			if c.Material {
				text = show(c.Todo, 60) + " was looked at: it changed"
			}
			return a.executed(rec, text+"; next look "+resultOf(rec, "next_due_at"))
		})
	})
}

func eventCmd(a *app) *cobra.Command { return noun("event", eventFire(a)) }

func eventFire(a *app) *cobra.Command {
	var s scope
	c := &kernel.FireEvent{}
	return a.verbOf("fire", "say that something has happened; todos parked until event:KEY go on", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		a.writeFlags(f)
		f.StringVar(&c.Key, "key", "", "what happened, as in --resume-when event:KEY")
	}, func() error {
		c.Goal, c.Agent = s.goal, s.agent
		rec, err := a.do(c, s.agent, "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string {
			var r struct {
				Resumed []string `json:"resumed_todos"`
			}
			if err := json.Unmarshal(rec.Result, &r); err != nil || len(r.Resumed) == 0 {
				return show(c.Key, 120) + " happened; nothing waits for it\n"
			}
			return said(rec, show(c.Key, 120)+" happened; "+strings.Join(r.Resumed, ", ")+" "+goesOn(len(r.Resumed)))
		})
	})
}

func goesOn(n int) string {
	if n == 1 {
		return "goes on"
	}
	return "go on"
}
