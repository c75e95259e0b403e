package cli

import (
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func grantCmd(a *app) *cobra.Command { return noun("grant", grantList(a), grantRevoke(a)) }

func grantList(a *app) *cobra.Command {
	var s scope
	return a.verbOf("list", "standing approvals of a goal", func(f *pflag.FlagSet) { a.goalFlag(f, &s) }, func() error {
		v, err := ask[view.GrantsView](a, &view.Grants{Goal: s.goal})
		if err != nil {
			return err
		}
		return a.out(newFields().set("goal_id", v.GoalID).set("grants", v.Grants), func() string {
			if len(v.Grants) == 0 {
				return "No approval stands.\n"
			}
			var b strings.Builder
			for _, g := range v.Grants {
				b.WriteString(g.ID + "  " + show(g.Scope, 40) + "  " + g.Status + "\n")
			}
			return b.String()
		})
	})
}

func grantRevoke(a *app) *cobra.Command {
	var s scope
	c := &kernel.RevokeGrant{}
	return a.verbOf("revoke", "take a standing approval back: an owner's act", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Grant, "grant-id", "", "the approval")
	}, func() error {
		c.Goal = s.goal
		by, err := a.owner("revoking a grant", func() string {
			return "What rests on " + show(c.Grant, 40) + " cannot be taken until it is asked for again."
		}, "revoke")
		if err != nil {
			return err
		}
		rec, err := a.doAs(c, by, "", a.g.dryRun)
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string { return said(rec, resultOf(rec, "scope")+" is revoked") })
	})
}
