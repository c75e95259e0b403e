package cli

import (
	"fmt"
	"runtime"
	"strings"

	"loopx/bot/client"
	"loopx/kernel"

	"github.com/spf13/cobra"
)

func versionCmd(a *app) *cobra.Command {
	return a.verbOf("version", "", nil, func() error {
		f := newFields().set("name", "loopx").set("version", client.Version).set("api", client.API()).
			set("layout", kernel.Schema).set("go", runtime.Version())
		return a.out(f, func() string { return "loopx " + client.Version + "\n" })
	})
}

// helpCmd is cobra's help with the topics that no verb owns.
func (a *app) helpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB | exit-codes]",
		Short: "help about a verb, or about exit codes",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "exit-codes" {
				_, err := fmt.Fprint(a.opt.Out, a.exitCodes())
				return err
			}
			found, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return kernel.Errorf(kernel.Invalid, "unknown_command", "there is no verb %q", show(strings.Join(args, " "), 60)).Try("loopx --help")
			}
			return found.Help()
		},
	}
}

// exitCodes is the table of `loopx help exit-codes`, made from the classes.
func (a *app) exitCodes() string {
	return "Exit codes follow the class of a refusal:\n" + a.table(exitRows())
}

func exitRows() [][]string {
	rows := [][]string{{"0", "done; also should-run that says no"}}
	for _, code := range []int{1, 2, 3, 4, 5, 6, 70} {
		var names []string
		for _, c := range []kernel.Class{kernel.Exhausted, kernel.Internal, kernel.Invalid, kernel.NotFound, kernel.Conflict, kernel.Stale, kernel.Denied, kernel.Unavailable, kernel.Locked, kernel.Unknown} {
			if c.ExitCode() == code {
				names = append(names, string(c))
			}
		}
		rows = append(rows, []string{fmt.Sprint(code), strings.Join(names, ", ") + map[int]string{
			1: ": a limit is reached, or our own fault", 2: ": wrong flags or values", 3: ": it does not exist",
			4: ": true state says no", 5: ": this caller may not", 6: ": the state cannot be reached now",
			70: ": may or may not be done; ask again with the same key",
		}[code]})
	}
	return rows
}
