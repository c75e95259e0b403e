package cli

import (
	"fmt"

	"loopx/kernel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func gateChange(a *app) *cobra.Command {
	var s scope
	c := &kernel.ChangeGate{}
	return a.verbOf("change", "correct a decision of yours, within ten minutes and not of a protected kind", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Gate, "gate-id", "", "gate, by id or with --goal-id by code")
		f.StringVar(&c.Option, "option", "", "the new answer's id")
		f.StringVar(&c.Reason, "reason", "", "why, in words")
	}, func() error {
		c.Goal = s.goal
		return a.ownerAct(c, true, "changing a decision", "The answer to "+show(c.Gate, 60)+" becomes "+show(c.Option, 60)+". Work that went on from the old one is stopped.", c.Gate,
			func(rec kernel.Receipt) string {
				if resultOf(rec, "was") == "" {
					return resultOf(rec, "code") + " is decided like that already"
				}
				text := fmt.Sprintf("%s was %s and is %s now", resultOf(rec, "code"), resultOf(rec, "was"), resultOf(rec, "option"))
				if resultOf(rec, "corrected") == "true" {
					text += "; what went on from it is stopped"
				}
				return text
			})
	})
}

func gateReopen(a *app) *cobra.Command {
	var s scope
	var expires string
	c := &kernel.ReopenGate{}
	return a.verbOf("reopen", "let an expired gate be answered after all: an owner's act", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Gate, "gate-id", "", "gate, by id or with --goal-id by code")
		f.StringVar(&expires, "expires", "", "RFC 3339, or a duration from now (default: never)")
	}, func() error {
		c.Goal = s.goal
		var err error
		if c.Expires, err = a.date("--expires", expires); err != nil {
			return err
		}
		return a.ownerAct(c, true, "reopening a gate", show(c.Gate, 60)+" can be answered again.", c.Gate,
			func(rec kernel.Receipt) string { return resultOf(rec, "code") + " can be answered again" })
	})
}

func gateDisown(a *app) *cobra.Command {
	var s scope
	c := &kernel.DisownAnswer{}
	return a.verbOf("disown", "say that an answer was not yours: the goal stops, the gate asks again", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Gate, "gate-id", "", "gate, by id or with --goal-id by code")
	}, func() error {
		c.Goal = s.goal
		return a.ownerAct(c, true, "taking back an answer in your name", "The goal stops, "+show(c.Gate, 60)+" asks again, what its answer granted is taken back.", c.Gate,
			func(rec kernel.Receipt) string {
				return resultOf(rec, "code") + " asks again and goal " + resultOf(rec, "stopped") + " is stopped; owner.token was replaced, so copies of the old one prove nothing"
			})
	})
}
