// Package setup connects a chat platform: `loopx-bot setup slack|discord|lark`
// shows what to do there, takes the tokens without showing them, tries them with
// calls that change nothing, and only then writes them to private files and an
// entry to config.toml. Whatever goes wrong before that leaves no trace.
package setup

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"loopx/adapters/chat"
	"loopx/bot"
	"loopx/bot/client"
	"loopx/kernel"
)

// Options are what one run is given; nothing else is read from the process.
type Options struct {
	Args []string // after "setup"
	Env  func(string) string
	In   io.Reader // an *os.File that is a terminal is asked without echo
	Out  io.Writer // texts
	Err  io.Writer // questions
}

const usage = `loopx-bot setup connects a chat platform to a state folder.

  loopx-bot setup slack   [flags]
  loopx-bot setup discord [flags]
  loopx-bot setup lark    [flags]

It shows what to do at the platform, asks for the tokens without showing them,
tries them, shows what it would write, and writes when you say yes. A token is
never an argument: it is typed, comes as a line of standard input, or is named.

  --home DIR             the state folder (else LOOPX_HOME, else ~/.loopx)
  --name NAME            the connection's name (default: the platform's)
  --yes                  write without asking
  --app-token-file F     slack: where the app-level token is (a private file)
  --app-token-env V      slack: or the environment variable that holds it
  --bot-token-file F     slack, discord: the same for the bot token
  --bot-token-env V
  --app-id ID            lark: the app id; it is no secret
  --app-secret-file F    lark: where the app secret is
  --app-secret-env V
  --webhook              slack, lark: the platform calls us, through a proxy of yours
  --listen ADDR:PORT     with --webhook: where (default 127.0.0.1:8080)
  --signing-secret-file F       slack with --webhook: instead of the app token
  --signing-secret-env V
  --encrypt-key-file F          lark with --webhook
  --encrypt-key-env V
  --verification-token-file F   lark with --webhook
  --verification-token-env V
  --domain feishu|lark   lark: the platform the app lives on (default feishu)
  --sim --base-url URL   a simulator on this machine instead of the platform
`

// job is one run.
type job struct {
	opt      Options
	platform platform
	home     client.Home
	name     string
	domain   string
	base     string
	sim      bool
	webhook  bool
	listen   string // with webhook
	// addListen: config.toml does not say yet where to listen.
	addListen bool
	yes       bool
	given     map[string]source // where a credential is, by its key
	before    []byte            // config.toml as it was read
	mode      os.FileMode       // and its mode
	config    string            // its path, links resolved
}

// source is where a credential was said to be.
type source struct{ file, env, value string }

// Run does one set-up. Errors are of kernel.Error; before a successful check of
// the tokens nothing is written.
func Run(ctx context.Context, opt Options) error {
	j := &job{opt: opt, given: map[string]source{}}
	if err := j.parse(); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(opt.Out, usage)
			return nil
		}
		return err
	}
	if err := j.look(); err != nil {
		return err
	}
	values, err := j.named()
	if err != nil {
		return err
	}
	fmt.Fprintf(opt.Out, "Connect %s\n\n%s\n", j.platform.title, plain(j.platform.guide()))
	if err := j.askAll(ctx, values); err != nil {
		return err
	}
	fmt.Fprintf(opt.Err, "Asking %s …\n", j.platform.title)
	who, err := j.platform.verify(ctx, newCaller(j.platform.title, j.address()), j, values)
	if err != nil {
		return err
	}
	fmt.Fprintf(opt.Out, "\n%s accepts them: %s.\n", j.platform.title, who.is)
	for _, w := range who.warnings {
		fmt.Fprintf(opt.Out, "note: %s\n", w)
	}
	e := j.entry(values)
	fmt.Fprintf(opt.Out, "\nAdded to %s:\n%s\nWritten, mode 0600, and read by nobody else:\n", j.config, e.text)
	for _, f := range e.files {
		fmt.Fprintf(opt.Out, "  %s\n", f.path)
	}
	if !j.yes {
		if err := newAsker(opt).confirm(ctx); err != nil {
			return err
		}
	}
	if err := j.write(e); err != nil {
		return err
	}
	j.next(who)
	return nil
}

// parse reads the arguments. What stood in them is not repeated where it could
// be a token that somebody typed in the wrong place.
func (j *job) parse() error {
	fs := flag.NewFlagSet("setup", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	home := fs.String("home", "", "")
	fs.StringVar(&j.name, "name", "", "")
	fs.StringVar(&j.domain, "domain", "", "")
	fs.StringVar(&j.base, "base-url", "", "")
	fs.BoolVar(&j.sim, "sim", false, "")
	fs.BoolVar(&j.yes, "yes", false, "")
	fs.BoolVar(&j.webhook, "webhook", false, "")
	fs.StringVar(&j.listen, "listen", "", "")
	named := map[string]*source{}
	for _, c := range allCredentials() {
		s := &source{}
		named[c.key] = s
		if !c.secret {
			fs.StringVar(&s.value, c.key, "", "")
			continue
		}
		fs.StringVar(&s.file, c.key+"-file", "", "")
		fs.StringVar(&s.env, c.key+"-env", "", "")
	}
	which := ""
	rest := j.opt.Args
	for first := true; first || len(rest) > 0; first = false {
		if err := fs.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return err
			}
			return badArgs(flagReason(err))
		}
		rest = fs.Args()
		if len(rest) == 0 {
			break
		}
		if which != "" {
			return badArgs("setup takes one platform and flags; a token is never an argument")
		}
		which, rest = rest[0], rest[1:]
		if which == "help" {
			return flag.ErrHelp
		}
	}
	p, ok := platformOf(which)
	if !ok {
		return badArgs("name the platform: slack, discord or lark")
	}
	if j.webhook {
		if p, ok = p.called(); !ok {
			return badArgs("--webhook is for slack and lark: nobody calls us for " + p.name)
		}
	}
	j.platform = p
	if j.name == "" {
		j.name = p.name
	}
	for key, s := range named {
		switch {
		case *s == source{}:
			continue
		case !p.has(key):
			return badArgs("--" + key + " is not for " + p.name + map[bool]string{true: " with --webhook", false: " without --webhook"}[j.webhook])
		case s.file != "" && s.env != "":
			return badArgs("give --" + key + "-file or --" + key + "-env, not both")
		}
		j.given[key] = *s
	}
	if j.domain != "" && p.name != string(chat.Lark) {
		return badArgs("--domain is for lark")
	}
	if j.domain != "" && j.domain != "feishu" && j.domain != "lark" {
		return badArgs("--domain is feishu or lark")
	}
	if j.listen != "" && !j.webhook {
		return badArgs("--listen is for --webhook")
	}
	if j.listen != "" {
		if err := checkListen(j.listen); err != nil {
			return err
		}
	}
	if err := checkBase(j.base, j.sim); err != nil {
		return err
	}
	var err error
	j.home, err = client.FindHome(*home, j.opt.Env)
	return err
}

// flagReason is the flag package's complaint without any value in it.
func flagReason(err error) string {
	m := regexp.MustCompile(`^(flag provided but not defined|flag needs an argument): (-[a-z-]{1,20})$`).FindStringSubmatch(err.Error())
	if m == nil {
		return "a flag has a value that does not fit"
	}
	if m[1] == "flag needs an argument" {
		return "the flag -" + m[2] + " needs a value"
	}
	return "there is no flag -" + m[2]
}

func badArgs(msg string) error {
	return kernel.Errorf(kernel.Invalid, "bad_arguments", "%s", msg).Try("loopx-bot setup help")
}

// look reads what is there and refuses early what could not be written later.
func (j *job) look() error {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`).MatchString(j.name) {
		return kernel.Errorf(kernel.Invalid, "bad_name", "the name of a connection is 1 to 40 of a-z 0-9 _ -").Try("--name %s", j.platform.name)
	}
	if j.name == "console" {
		return kernel.Errorf(kernel.Conflict, "name_taken", "the name console belongs to the local page").Try("choose another with --name")
	}
	if strings.ToValidUTF8(j.home.Dir, "") != j.home.Dir || strings.ContainsFunc(j.home.Dir, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return kernel.Errorf(kernel.Invalid, "bad_home", "the path of the state folder holds characters that config.toml cannot").Try("pass --home DIR")
	}
	if err := j.home.Check(); err != nil {
		return err
	}
	cfg, err := bot.LoadConfig(j.home.Config())
	if err != nil {
		return err
	}
	for _, c := range cfg.Connections {
		if c.Name == j.name {
			return kernel.Errorf(kernel.Conflict, "name_taken", "%s has a connection %s already (%s)", j.home.Config(), c.Name, c.Platform).Try("choose another with --name, or take that entry out first")
		}
	}
	if err := lookAtListener(j, cfg.Webhook.Listen); err != nil {
		return err
	}
	if err := j.readConfig(); err != nil {
		return err
	}
	return j.lookAtSecrets()
}

// address is where the platform's API is.
func (j *job) address() string {
	base := j.base
	if base == "" {
		base = j.platform.official(j.domain)
	}
	return strings.TrimSuffix(base, "/") + "/"
}

// next says what remains to be done.
func (j *job) next(who found) {
	home, sim := "", ""
	if j.home.Explicit {
		home = " --home " + shellWord(j.home.Dir)
	}
	if j.sim {
		sim = " --sim"
	}
	start := "start the bot:  loopx-bot" + home + sim
	if client.New(j.home).Listening() {
		start = "loopx-bot is running and has not read this: stop it, then start it again:  loopx-bot" + home + sim
	}
	steps := append([]string{start}, who.next...)
	steps = append(steps, "link your account:  loopx"+home+" link\n     It prints a code; send it to the bot in a private conversation.")
	fmt.Fprintf(j.opt.Out, "\n%s is written. Next:\n", filepath.Base(j.config))
	for i, s := range steps {
		fmt.Fprintf(j.opt.Out, "  %d. %s\n", i+1, s)
	}
}

// shellWord is a path as a shell takes it.
func shellWord(s string) string {
	if regexp.MustCompile(`^[A-Za-z0-9_./~+:@%-]+$`).MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
