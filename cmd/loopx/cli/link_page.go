package cli

import (
	"loopx/bot/client"
	"loopx/kernel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// linkPage lets a browser that shows a code act as the owner.
func linkPage(a *app) *cobra.Command {
	return a.argVerb("page CODE", "let the page that shows CODE act as the owner", func(f *pflag.FlagSet) {
		a.ownerFlags(f)
	}, cobra.ExactArgs(1), func(args []string) error {
		by, err := a.owner("letting a page act as the owner", func() string {
			return "The page that shows " + args[0] + " will act as the owner on this machine."
		}, "yes")
		if err != nil {
			return err
		}
		if by.Kind != kernel.ByOwner {
			return kernel.Errorf(kernel.Denied, "owner_only", "letting a page act as the owner needs the owner's proof")
		}
		c := client.New(a.access.home)
		c.OwnerToken = a.access.token
		if err := c.ApprovePage(a.ctx, args[0]); err != nil {
			if client.NoDaemon(err) {
				return kernel.Errorf(kernel.Unavailable, "no_daemon", "no bot is running here, so no page shows a code").Try("loopx-bot")
			}
			return err
		}
		return a.out(newFields().set("approved", true), func() string { return "The page acts as the owner now.\n" })
	})
}
