// Command loopx is the control plane of long-running agent work on the command
// line: goals, todos, leases, gates and turns, with or without a running bot.
package main

import (
	"context"
	"os"

	"loopx/cmd/loopx/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
