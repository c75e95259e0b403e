// Package demo runs three authored stories without any account: its own state
// folder, the page with a chat pane, and scripted agents that act only through
// the real command line. It is a replay and says so. `demo play` runs the same
// unattended, with failures, and checks what must hold.
package demo

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"loopx/bot"
	"loopx/bot/client"
	"loopx/kernel"
)

// options are the flags of both forms.
type options struct {
	dir    string
	speed  float64 // story seconds in one second
	noOpen bool
	// platforms shows three simulated platforms instead of the page's chat.
	platforms bool
	stdout    io.Writer
	stderr    io.Writer
}

// Run is `loopx-bot demo [play] ...`; it returns the exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := options{stdout: stdout, stderr: stderr}
	run, isPlay := show, len(args) > 0 && args[0] == "play"
	if isPlay {
		run, args = play, args[1:]
	}
	fs := flag.NewFlagSet("loopx-bot demo", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.dir, "dir", "", "state folder of the demo (default ~/.loopx-demo; play: a temporary one)")
	fs.Float64Var(&o.speed, "speed", 0, "story seconds in one second (default 60; play: 600)")
	fs.BoolVar(&o.noOpen, "no-open", false, "do not open the page in a browser")
	fs.BoolVar(&o.platforms, "platforms", false, "Slack, Discord and Lark at once, simulated, as three phones in the browser")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if fs.NArg() > 0 || o.platforms && isPlay || o.speed < 0 || o.speed > 100_000 {
		fmt.Fprintln(stderr, "loopx-bot demo: use [play | --platforms] [--dir D] [--speed N] [--no-open]; the speed is 1 to 100000")
		return 2
	}
	if o.platforms {
		run = showPlatforms
	}
	return run(ctx, o)
}

// show is the interactive demo.
func show(ctx context.Context, o options) int {
	if o.speed == 0 {
		o.speed = 60
	}
	if o.dir == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return refuse(o.stderr, kernel.Errorf(kernel.Invalid, "no_home", "there is no home folder").Try("pass --dir D"))
		}
		o.dir = filepath.Join(user, ".loopx-demo")
	}
	home, err := client.FindHome(o.dir, os.Getenv)
	if err != nil {
		return refuse(o.stderr, err)
	}
	if err := home.Ensure(); err != nil {
		return refuse(o.stderr, err)
	}
	logs, err := bot.OpenLog(home.Dir, 8, io.Discard) // errors only: the screen is for the story
	if err != nil {
		return refuse(o.stderr, err)
	}
	defer logs.Close()
	b, err := bot.New(bot.Options{Home: home, PageAsOwner: true, Logger: logs.Logger})
	if err != nil {
		return refuse(o.stderr, err)
	}
	if err := b.Start(ctx); err != nil {
		return refuse(o.stderr, err)
	}
	defer stopBot(b, o.stderr)
	fmt.Fprintln(o.stdout, "A scripted replay: no model runs. Twelve agents in three stories act through the loopx command line.")
	fmt.Fprintln(o.stdout, "On this page everybody is the owner, without the owner proof; a real workspace asks for it.")
	b.Greet(o.stdout)
	c, err := newCLI(home.Dir)
	if err != nil {
		return refuse(o.stderr, err)
	}
	stories, err := startStories(ctx, c)
	if err != nil {
		return refuse(o.stderr, err)
	}
	if !o.noOpen {
		bot.OpenBrowser(b.OpenFile())
	}
	fmt.Fprintf(o.stdout, "\nDecisions wait for you on the page, and more will come. The stories run at %g times real time. Stop with Ctrl-C; the next start goes on from here.\n\n", o.speed)
	runAgents(ctx, stories, o.speed, func(line string) { fmt.Fprintln(o.stdout, line) })
	return 0
}

// stopBot ends the demo's daemon and says what did not end in time.
func stopBot(b *bot.Bot, stderr io.Writer) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := b.Stop(ctx); err != nil {
		fmt.Fprintln(stderr, "stopping:", err)
	}
}

// startStories makes the goals and plans of the stories, or finds them, and lets
// each begin.
func startStories(ctx context.Context, c *cli) ([]*running, error) {
	stories, err := setUpAll(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, r := range stories {
		if err := r.begin(ctx); err != nil {
			return nil, err
		}
	}
	return stories, nil
}

func refuse(w io.Writer, err error) int {
	e := kernel.AsError(err)
	fmt.Fprintf(w, "refused: %s (%s)\n  nothing was changed\n", e.Message, e.Code)
	if e.Class == kernel.Internal {
		fmt.Fprintf(w, "  %v\n", err)
	}
	if e.Fix != "" {
		fmt.Fprintf(w, "  try: %s\n", e.Fix)
	}
	return e.Class.ExitCode()
}
