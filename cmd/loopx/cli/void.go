package cli

import (
	"loopx/kernel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// quotaVoid takes a payment back.
func quotaVoid(a *app) *cobra.Command {
	var s scope
	var execute bool
	c := &kernel.VoidSlot{}
	return a.verbOf("void-slot", "take a payment back (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.Uint64Var(&c.Spend, "spend-id", 0, "the payment, as spend-slot named it")
		f.StringVar(&c.Reason, "reason-summary", "", "why")
		f.BoolVar(&execute, "execute", false, "do it")
		a.acceptUnused(f, quotaFlags)
	}, func() error {
		c.Goal = s.goal
		return a.ownerAct(c, execute, "voiding a payment", "The payment stays in history and no longer counts.", s.goal,
			func(rec kernel.Receipt) string { return count(1, "payment", "payments") + " taken back" })
	})
}
