package cli

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"loopx/bot/client"
	"loopx/kernel"

	"github.com/spf13/cobra"
)

// Options are a run of the CLI from inside another program.
type Options struct {
	Args []string // without the program's name
	Env  []string // like os.Environ
	In   io.Reader
	Out  io.Writer
	Err  io.Writer
	// Self is how to start this CLI again as a child process. Empty: the running
	// program without arguments of its own.
	Self []string
}

// Run runs one command line and returns the process's exit code.
func Run(ctx context.Context, args, env []string, in io.Reader, out, errOut io.Writer) int {
	return Exec(ctx, Options{Args: args, Env: env, In: in, Out: out, Err: errOut})
}

// Exec is Run with options.
func Exec(ctx context.Context, o Options) int {
	a := newApp(ctx, o)
	if len(o.Args) == 1 && o.Args[0] == "--version" {
		_, _ = io.WriteString(o.Out, "loopx "+client.Version+"\n")
		return 0
	}
	root := a.root()
	root.SetArgs(o.Args)
	root.SetIn(o.In)
	root.SetOut(o.Out)
	root.SetErr(o.Err)
	if err := root.ExecuteContext(ctx); err != nil {
		return a.fail(err)
	}
	return 0
}

// globals are the flags every verb has, before or after it.
type globals struct {
	home      string
	format    string
	json      bool
	wait      time.Duration
	key       string
	plan      string
	dryRun    bool
	tokenFile string
	asOwner   bool
	runtime   string
	registry  string
}

// verb is one entry of the top level. build is called only for the verb that
// runs, because most of a short command's time would go into flags it has not.
type verb struct {
	name  string
	group string
	short string
	build func(*app) *cobra.Command
}

// verbs is the whole top level, in the order of help.
func verbs() []verb {
	const see, work, decide, turn, local = "See", "Work", "Decide", "Turn", "Local"
	return []verb{
		{"status", see, "what needs you, what runs, what comes", statusCmd},
		{"why", see, "why this is next, and why the rest is not", whyCmd},
		{"log", see, "what happened, from the journal", logCmd},
		{"history", see, "the newest writebacks of a goal", historyCmd},
		{"review-packet", see, "what an owner looks at before deciding", reviewCmd},
		{"ready-score", see, "how ready a goal is to run again and again, of 100", readyCmd},
		{"attention", see, "what people are asked, and when they may be interrupted", attentionCmd},
		{"board", see, "each goal in five lines", boardCmd},
		{"find", see, "look for a text in goals, todos, gates, evidence, runs", findCmd},
		{"start-goal", work, "make a goal with its agents and first todos in one step", startGoalCmd},
		{"goal", work, "create, list, show, configure, stop, resume, close goals", goalCmd},
		{"preset", work, "list, show, start recurring work that is ready made", presetCmd},
		{"agent", work, "register and list the agents of a goal", agentCmd},
		{"configure-goal", work, "the same as goal configure", configureGoalCmd},
		{"register-agent", work, "the same as agent register", registerAgentCmd},
		{"todo", work, "add, claim, update, complete, supersede, list, show todos", todoCmd},
		{"event", work, "fire what parked todos wait for", eventCmd},
		{"gate", decide, "open, answer, list, show, withdraw, release gates", gateCmd},
		{"grant", decide, "list and revoke standing approvals", grantCmd},
		{"link", decide, "link your chat account with a one-time code; list, revoke accounts", linkCmd},
		{"role", decide, "grant, revoke, list what people may do in a goal", roleCmd},
		{"bind", decide, "bind conversations to goals: set, remove, confirm, list, show", bindCmd},
		{"person", decide, "list people and change their settings", personCmd},
		{"tick", turn, "open a turn and claim its todo in one step", tickCmd},
		{"quota", turn, "should-run, spend-slot, status, plan, monitor-poll", quotaCmd},
		{"wait", turn, "return when a gate is answered, or an agent should run", waitCmd},
		{"refresh-state", turn, "write a turn's outcome back", refreshCmd},
		{"turn", turn, "commit a turn in one step, show one", turnCmd},
		{"session", turn, "open, list, close sessions of a host", sessionCmd},
		{"inbox", turn, "take, settle, list messages of people; dead letters", inboxCmd},
		{"capability", local, "list and show what this version can do, and what it writes", capabilityCmd},
		{"connect", local, "join this project's folder to a goal", connectCmd},
		{"backup", local, "create, verify, restore a copy of the state", backupCmd},
		{"compact", local, "put a snapshot in the place of old records", compactCmd},
		{"migrate", local, "bring an older state into this version's layout", migrateCmd},
		{"import", local, "take in a project of LoopX", importCmd},
		{"export", local, "one goal as a JSON document", exportCmd},
		{"forget", local, "erase what a person said, or what was said in a conversation", forgetCmd},
		{"usage", local, "what was done here, counted; nothing is sent", usageCmd},
		{"check", local, "look for secrets and private paths before publishing", checkCmd},
		{"doctor", local, "check folder, lock, socket, file, daemon", doctorCmd},
		{"first-run-report", local, "what to tell when the first run went wrong; nothing is sent", firstRunCmd},
		{"man", local, "print the manual page", manCmd},
		{"version", local, "print the version", versionCmd},
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "loopx",
		Short:         "The control plane of long-running agent work",
		Long:          "loopx keeps what long-running agent work needs: goals, todos, leases, gates that\npeople answer, turns and their quota. It works with or without a running loopx-bot.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f := root.PersistentFlags()
	f.StringVar(&a.g.home, "home", "", "state folder (else LOOPX_HOME, the project's, ~/.loopx)")
	f.StringVar(&a.g.format, "format", "", "json or markdown")
	f.BoolVar(&a.g.json, "json", false, "one JSON object on stdout")
	f.DurationVar(&a.g.wait, "lock-timeout", 5*time.Second, "how long to wait for the state folder")
	f.StringVar(&a.g.runtime, "runtime-root", "", "")
	f.StringVar(&a.g.registry, "registry", "", "")
	for _, name := range []string{"runtime-root", "registry"} {
		_ = f.MarkHidden(name) // taken for runners written for other layouts
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return kernel.Errorf(kernel.Invalid, "usage", "%s", err).Try("%s --help", c.CommandPath())
	})
	root.SetHelpCommand(a.helpCmd())
	root.CompletionOptions.HiddenDefaultCmd = false
	a.addVerbs(root)
	return root
}

// addVerbs adds the verb that the arguments name, or all of them when help or
// completion must know them.
func (a *app) addVerbs(root *cobra.Command) {
	all := verbs()
	name := firstWord(a.opt.Args)
	if i := slices.IndexFunc(all, func(v verb) bool { return v.name == name }); i >= 0 {
		root.AddCommand(a.built(all[i]))
		root.CompletionOptions.DisableDefaultCmd = true
		return
	}
	for _, v := range all {
		if !root.ContainsGroup(v.group) {
			root.AddGroup(&cobra.Group{ID: v.group, Title: v.group + ":"})
		}
		c := a.built(v)
		c.GroupID = v.group
		root.AddCommand(c)
	}
}

func (a *app) built(v verb) *cobra.Command {
	c := v.build(a)
	c.Short = v.short
	return c
}

// firstWord is the first argument that is no flag of the root and no value of one.
func firstWord(args []string) string {
	for i := 0; i < len(args); i++ {
		s := args[i]
		switch {
		case s == "--":
			return ""
		case !strings.HasPrefix(s, "-"):
			return s
		case s == "--home", s == "--format", s == "--lock-timeout", s == "--runtime-root", s == "--registry":
			i++
		}
	}
	return ""
}

// noArgs refuses words that belong to no flag, and names a verb that does not exist.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	code, what := "usage", "takes no argument"
	if c.HasSubCommands() {
		code, what = "unknown_command", "has no verb"
	}
	e := kernel.Errorf(kernel.Invalid, code, "%s %s %q", c.CommandPath(), what, show(args[0], 60))
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return e.Try("%s %s", c.CommandPath(), near[0])
	}
	return e.Try("%s --help", c.CommandPath())
}

// noun is a command that only groups its verbs.
func noun(use string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Args: noArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(subs...)
	return c
}
