package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is one run of the CLI.
type app struct {
	ctx     context.Context
	opt     Options
	env     map[string]string
	g       globals
	ignored []string // flags that were taken and have no use here
	asJSON  bool
	printer
	// patience is how long a validation may run.
	patience time.Duration
	// linked are goal flags that the project's link fills when nothing else does.
	linked []linkedFlag
	// service is opened by workspace; nil until then.
	access *access
}

func newApp(ctx context.Context, o Options) *app {
	a := &app{ctx: ctx, opt: o, env: map[string]string{}, patience: validationTime, printer: printer{width: 80, now: time.Now}, asJSON: wantsJSON(o.Args)}
	for _, kv := range o.Env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			a.env[k] = v
		}
	}
	a.color = a.env["NO_COLOR"] == "" && a.env["TERM"] != "dumb" && isTerminal(o.Out)
	return a
}

func (a *app) getenv(name string) string { return a.env[name] }

// wantsJSON looks for the JSON flags before anything is parsed, so that errors of
// the parser come as JSON too.
func wantsJSON(args []string) bool {
	for i, s := range args {
		switch {
		case s == "--":
			return false
		case s == "--json", s == "--json=true", s == "--format=json":
			return true
		case s == "--format":
			return i+1 < len(args) && args[i+1] == "json"
		}
	}
	return false
}

// verbOf makes a leaf command.
func (a *app) verbOf(use, short string, flags func(*pflag.FlagSet), run func() error) *cobra.Command {
	return a.argVerb(use, short, flags, noArgs, func([]string) error { return run() })
}

func (a *app) argVerb(use, short string, flags func(*pflag.FlagSet), args cobra.PositionalArgs, run func([]string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(c *cobra.Command, args []string) error {
		switch a.g.format {
		case "", "json", "markdown":
		default:
			return kernel.Errorf(kernel.Invalid, "usage", "--format must be json or markdown")
		}
		a.asJSON = a.g.json || a.g.format == "json"
		a.fillLinked(c.Flags())
		return run(args)
	}}
	if flags != nil {
		flags(c.Flags())
	}
	return c
}

// home resolves the state folder. The reference's folder flags count when what
// they name is a state folder of ours.
func (a *app) home() (client.Home, error) {
	flag := a.g.home
	if flag == "" && a.g.runtime != "" {
		if h, err := client.FindHome(a.g.runtime, a.getenv); err == nil && h.Exists() {
			flag = a.g.runtime
		} else {
			a.ignore("--runtime-root")
		}
	}
	if a.g.registry != "" {
		a.ignore("--registry")
	}
	if flag == "" && a.env["LOOPX_HOME"] == "" {
		if p, _ := a.project(); p != nil {
			return client.FindHome("", func(name string) string {
				if name == "LOOPX_HOME" {
					return p.Home
				}
				return a.getenv(name)
			})
		}
	}
	return client.FindHome(flag, a.getenv)
}

func (a *app) ignore(flag string) { a.ignored = append(a.ignored, flag) }

// workspace is the way to the kernel.
func (a *app) workspace() (view.Service, error) {
	if a.access != nil {
		return a.access, nil
	}
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	command := "loopx"
	if w := firstWord(a.opt.Args); w != "" {
		command += " " + w
	}
	a.access = &access{home: home, wait: a.g.wait, command: command}
	return a.access, nil
}

// do runs a command of an agent, or of nobody in particular. A command whose turn
// does not give it a key gets a random one, which its own retries reuse.
func (a *app) do(cmd kernel.Command, agent, turn string) (kernel.Receipt, error) {
	return a.doAs(cmd, client.ActorOf(agent, false), turn, a.g.dryRun)
}

func (a *app) doAs(cmd kernel.Command, by kernel.Actor, turn string, preview bool) (kernel.Receipt, error) {
	svc, err := a.workspace()
	if err != nil {
		return kernel.Receipt{}, err
	}
	opt := kernel.Options{Key: a.g.key, Preview: preview, Plan: a.g.plan, By: by}
	if opt.Key == "" && turn == "" && !preview {
		opt.Key = kernel.NewID("cli_", 16)
	}
	rec, err := svc.Do(a.ctx, cmd, opt)
	if e := kernel.AsError(err); e != nil && e.Class == kernel.Unknown && opt.Key != "" {
		// Only the key can tell later, and nobody has seen it yet.
		return rec, e.With("idempotency_key", opt.Key).Try("run the same command again with --idempotency-key %s", opt.Key)
	}
	if err == nil {
		rec = placeFiles(a, cmd, rec)
		steers(a, rec)
	}
	return rec, err
}

// ask runs a query of a workspace.
func ask[T any](a *app, q view.Query) (T, error) {
	svc, err := a.workspace()
	if err != nil {
		var zero T
		return zero, err
	}
	return view.Ask[T](a.ctx, svc, q)
}

// askRaw is ask that keeps the answer's bytes, for --json.
func askRaw[T any](a *app, q view.Query) (T, json.RawMessage, error) {
	var v T
	svc, err := a.workspace()
	if err != nil {
		return v, nil, err
	}
	raw, err := svc.Query(a.ctx, q)
	if err != nil {
		return v, nil, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, nil, kernel.Errorf(kernel.Unavailable, "version_mismatch", "the answer does not fit this version of loopx").Try("loopx doctor")
	}
	return v, raw, nil
}

// noWorkspace says that an error is the absence of any state.
func noWorkspace(err error) bool {
	e, ok := errors.AsType[*kernel.Error](err)
	return ok && e.Code == codeNoState
}

// scope are the flags that say which goal and agent a verb is about.
type scope struct {
	goal  string
	agent string
}

// envFlag is a string flag whose default stands in the environment. Help does not
// show the default: it may be a lease's token.
func (a *app) envFlag(f *pflag.FlagSet, into *string, name, env, usage string) {
	f.StringVar(into, name, a.env[env], usage)
	f.Lookup(name).DefValue = ""
}

func (a *app) goalFlag(f *pflag.FlagSet, s *scope) {
	a.envFlag(f, &s.goal, "goal-id", "LOOPX_GOAL", "goal (else LOOPX_GOAL, else the project's)")
	a.linked = append(a.linked, linkedFlag{f, &s.goal})
}

func (a *app) scopeFlags(f *pflag.FlagSet, s *scope) {
	a.goalFlag(f, s)
	a.envFlag(f, &s.agent, "agent-id", "LOOPX_AGENT", "acting agent (else LOOPX_AGENT)")
}

// writeFlags are those of every verb that changes something.
func (a *app) writeFlags(f *pflag.FlagSet) {
	f.StringVar(&a.g.key, "idempotency-key", "", "the same key again gives the same receipt")
	f.StringVar(&a.g.plan, "plan", "", "do it only if it still does what this preview showed")
	f.BoolVar(&a.g.dryRun, "dry-run", false, "show what would happen and write nothing")
}

func (a *app) ownerFlags(f *pflag.FlagSet) {
	f.StringVar(&a.g.tokenFile, "owner-token-file", "", "owner.token of the state folder, as the owner's proof")
	f.BoolVar(&a.g.asOwner, "as-owner", false, "act as the owner on this terminal although LOOPX_AGENT is set")
}

// fail prints an error and returns its exit code.
func (a *app) fail(err error) int {
	if code, ok := errors.AsType[exitError](err); ok {
		return int(code)
	}
	e := kernel.AsError(err)
	if a.asJSON {
		a.printJSON(errorFields(e))
	} else {
		fmt.Fprint(a.opt.Err, refusal(e))
	}
	if cause := errors.Unwrap(error(e)); cause != nil && a.env["LOOPX_DEBUG"] != "" {
		fmt.Fprintf(a.opt.Err, "  cause: %s\n", show(cause.Error(), 400))
	}
	return e.Class.ExitCode()
}

// isTerminal says whether a stream of this process is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && ttyFd(f.Fd())
}
