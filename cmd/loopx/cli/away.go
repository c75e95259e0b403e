package cli

import (
	"loopx/kernel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func attentionAway(a *app) *cobra.Command {
	var until string
	var back bool
	c := &kernel.SetAway{}
	cmd := a.verbOf("away", "let somebody who may already answer gates answer a person's, until a date", func(f *pflag.FlagSet) {
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Person, "person", "owner", "person (loopx person list)")
		f.StringVar(&until, "until", "", "RFC 3339, or a duration from now")
		f.StringVar(&c.To, "to", "", "who is asked instead (default: the next approver)")
		f.BoolVar(&back, "back", false, "the person answers again")
	}, func() error {
		switch {
		case back && (until != "" || c.To != ""):
			return kernel.Errorf(kernel.Invalid, "bad_until", "--back stands alone").Try("leave --until and --to out")
		case !back && until == "":
			return kernel.Errorf(kernel.Invalid, "missing_until", "no date was given").Try("pass --until 72h, or --back")
		case !back:
			var err error
			if c.Until, err = a.date("--until", until); err != nil {
				return err
			}
		}
		text := show(c.Person, 60) + " answers again."
		if !back {
			text = show(c.Person, 60) + " is not asked until " + stamp(c.Until) + "."
		}
		return a.ownerAct(c, true, "saying who is away", text, "yes", func(kernel.Receipt) string { return text })
	})
	cmd.Long = "Nobody gets a right by it: who stands in must hold it already. Without --to the next\napprover is asked, and where there is none the gates wait."
	return cmd
}
