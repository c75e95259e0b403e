// Command loopx-bot is the daemon: it keeps the workspace, serves the local page
// and API, and connects chat platforms. `loopx-bot demo` shows it all without an
// account; `loopx-bot cli ...` is the loopx command line in the same binary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"loopx/bot"
	"loopx/bot/cards"
	"loopx/bot/client"
	"loopx/bot/demo"
	"loopx/bot/setup"
	"loopx/cmd/loopx/cli"
	"loopx/kernel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const usage = `loopx-bot keeps the control state of long-running agents and shows it in chat.

  loopx-bot [--home DIR] [--sim] [--no-open]   run the daemon
  loopx-bot demo [--platforms] [--dir D] [--speed N] [--no-open]
                                               a scripted story, no account needed
  loopx-bot demo play [--dir D] [--speed N]    the same unattended; checks itself
  loopx-bot setup slack|discord|lark           connect a platform: tokens are tried
                                               first; loopx-bot setup help
  loopx-bot cards [--format text|json]         every card with sample data
  loopx-bot cli ...                            the loopx command line
  loopx-bot version

The state folder is --home, else LOOPX_HOME, else ~/.loopx; config.toml in it
names the chat connections. Without one the daemon serves the local page alone.
`

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case "cli":
			self := []string{}
			if exe, err := os.Executable(); err == nil {
				self = []string{exe, "cli"}
			}
			return cli.Exec(ctx, cli.Options{Args: args[1:], Env: os.Environ(), In: stdin, Out: stdout, Err: stderr, Self: self})
		case "demo":
			return demo.Run(ctx, args[1:], stdout, stderr)
		case "setup":
			if err := setup.Run(ctx, setup.Options{Args: args[1:], Env: os.Getenv, In: stdin, Out: stdout, Err: stderr}); err != nil {
				return fail(stderr, err)
			}
			return 0
		case "cards":
			return cards.Run(args[1:], stdout, stderr)
		case "version", "--version":
			fmt.Fprintln(stdout, "loopx-bot", client.Version)
			return 0
		case "help", "-h", "--help":
			fmt.Fprint(stdout, usage)
			return 0
		}
	}
	return serve(ctx, args, stdout, stderr)
}

func serve(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	// The live heap is a few MiB; collecting at four times that halves the time
	// spent collecting and stays far below any bound.
	debug.SetGCPercent(400)
	fs := flag.NewFlagSet("loopx-bot", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { fmt.Fprint(stderr, usage) }
	home := fs.String("home", "", "state folder")
	sim := fs.Bool("sim", false, "allow base_url of simulators on this machine")
	noOpen := fs.Bool("no-open", false, "do not open the page in a browser")
	verbose := fs.Bool("verbose", false, "log more")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(stderr, "loopx-bot: there is no command %q; see loopx-bot help\n", fs.Arg(0))
		return 2
	}
	h, err := client.FindHome(*home, os.Getenv)
	if err != nil {
		return fail(stderr, err)
	}
	if err := h.Ensure(); err != nil {
		return fail(stderr, err)
	}
	level := slog.LevelInfo
	if *verbose {
		level = slog.LevelDebug
	}
	logs, err := bot.OpenLog(h.Dir, level, stderr)
	if err != nil {
		return fail(stderr, err)
	}
	defer logs.Close()
	cfg, err := bot.LoadConfig(h.Config())
	if err != nil {
		return fail(stderr, err)
	}
	opt := bot.Options{Home: h, Config: cfg, Sim: *sim, Logger: logs.Logger}
	if exe, err := os.Executable(); err == nil {
		opt.Verify = bot.VerifyBy(exe, "cli", "doctor", "--verify-file")
	}
	b, err := bot.New(opt)
	if err != nil {
		return fail(stderr, err)
	}
	if err := b.Start(ctx); err != nil {
		return fail(stderr, err)
	}
	b.Greet(stdout)
	if !*noOpen {
		bot.OpenBrowser(b.OpenFile())
	}
	code := 0
	select {
	case <-ctx.Done():
	case <-b.Failed():
		fmt.Fprintln(stderr, "loopx-bot: the disk did not confirm a write; stopping so that the next start reads what is true")
		code = kernel.Unknown.ExitCode()
	}
	stopCtx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := b.Stop(stopCtx); err != nil {
		fmt.Fprintln(stderr, "loopx-bot: stopping:", err)
	}
	return code
}

// fail prints a refusal in the shape every surface uses.
func fail(w io.Writer, err error) int {
	e := kernel.AsError(err)
	fmt.Fprintf(w, "refused: %s (%s)\n", e.Message, e.Code)
	kept := e.Kept
	if kept == "" {
		kept = "nothing was changed"
	}
	fmt.Fprintf(w, "  %s\n", kept)
	if e.Fix != "" {
		fmt.Fprintf(w, "  try: %s\n", e.Fix)
	}
	return e.Class.ExitCode()
}
