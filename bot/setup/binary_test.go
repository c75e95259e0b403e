package setup_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loopx/bot/client"
	discordsim "loopx/fixtures/sim/discord"
	larksim "loopx/fixtures/sim/lark"
	slacksim "loopx/fixtures/sim/slack"
)

// exe is the real program, built once for all tests here.
var exe string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "loopx-setup-")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		exe = filepath.Join(dir, "loopx-bot")
		if out, err := exec.Command("go", "build", "-o", exe, "loopx/cmd/loopx-bot").CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// shortHome is a folder whose socket has a path that fits; it does not exist yet.
func shortHome(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "home")
}

type outcome struct {
	code     int
	out, err string
}

func (o outcome) all() string { return o.out + o.err }

// loopxBot runs the program. The environment is empty but for what is given: no
// proxy, no HOME.
func loopxBot(t *testing.T, env []string, in string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, exe, args...)
	c.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	c.Stdin = strings.NewReader(in)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // the code says it
	return outcome{c.ProcessState.ExitCode(), out.String(), errs.String()}
}

// side is one simulated platform.
type side struct {
	name    string
	base    string
	args    []string // besides those for all
	right   []string // lines of standard input
	wrong   []string
	secrets []string
	revoke  func()
	restore func()
	seen    func() int // calls so far
	next    string     // a step that only this platform has
}

func sides(t *testing.T) []side {
	s := slacksim.New(slacksim.Options{})
	d := discordsim.New(discordsim.Options{})
	l := larksim.New(larksim.Options{AppID: "cli_00000000000b0701"})
	t.Cleanup(s.Close)
	t.Cleanup(d.Close)
	t.Cleanup(l.Close)
	const bad = "c2ltdWxhdGVk.another.token-of-nobody"
	return []side{
		{
			name: "slack", base: s.APIURL(), right: []string{s.AppToken(), s.BotToken()}, wrong: []string{s.AppToken(), "xoxb-of-nobody"},
			secrets: []string{s.AppToken(), s.BotToken(), "xoxb-of-nobody"}, revoke: func() { s.Revoke("") }, restore: s.Restore,
			seen: func() int { return len(s.Calls("")) },
		},
		{
			name: "discord", base: d.APIURL(), right: []string{d.Token()}, wrong: []string{bad},
			secrets: []string{d.Token(), bad}, revoke: d.Revoke, restore: d.Restore, next: "client_id=" + discordsim.AppID,
			seen: func() int { return len(d.Calls("")) },
		},
		{
			name: "lark", base: l.URL(), args: []string{"--app-id", l.AppID(), "--domain", "lark"}, right: []string{l.AppSecret()}, wrong: []string{"secret-of-nobody"},
			secrets: []string{l.AppSecret(), "secret-of-nobody"}, revoke: l.Revoke, restore: l.Restore, next: "open.larksuite.com/app, Events",
			seen: func() int { return len(l.Calls("")) },
		},
	}
}

func lines(s []string) string { return strings.Join(s, "\n") + "\n" }

// The whole way on each platform: a wrong token and a revoked one are refused and
// leave nothing; the right one is written; the daemon that reads it is connected;
// a second try of the same name is refused, and one beside the running daemon
// says that it must be started again. No token is ever shown.
func TestEveryPlatform(t *testing.T) {
	for _, p := range sides(t) {
		t.Run(p.name, func(t *testing.T) {
			home := shortHome(t)
			args := append([]string{"setup", p.name, "--home", home, "--sim", "--base-url", p.base}, p.args...)
			var shown strings.Builder
			try := func(in []string, more ...string) outcome {
				t.Helper()
				o := loopxBot(t, nil, lines(in), append(slices.Clone(args), more...)...)
				shown.WriteString(o.all())
				return o
			}
			refused := func(what string, o outcome, words ...string) {
				t.Helper()
				for _, w := range append(words, "refused: ", "nothing was changed") {
					if o.code == 0 || !strings.Contains(o.err, w) {
						t.Errorf("%s: code %d without %q:\n%s", what, o.code, w, o.all())
					}
				}
				if _, err := os.Lstat(home); err == nil {
					t.Fatalf("%s: the state folder was made", what)
				}
			}
			refused("wrong token", try(p.wrong, "--yes"), "(token_refused)", "try: ")
			p.revoke()
			refused("revoked", try(p.right, "--yes"), "(token_re", "try: ")
			p.restore()
			before := p.seen()
			refused("not a token", try([]string{"x y"}, "--yes"), "(token_malformed)")
			if p.seen() != before {
				t.Error("the platform was asked about something that is no token")
			}
			refused("said no", try(append(slices.Clone(p.right), "no")), "(not_confirmed)")

			o := try(append(slices.Clone(p.right), "yes"))
			if o.code != 0 || !strings.Contains(o.out, "Next:") || !strings.Contains(o.out, "loopx --home "+home+" link") || !strings.Contains(o.out, "start the bot:  loopx-bot --home "+home+" --sim") || !strings.Contains(o.out, p.next) {
				t.Fatalf("code %d:\n%s", o.code, o.all())
			}
			o = try(p.right, "--yes")
			if o.code == 0 || !strings.Contains(o.err, "(name_taken)") {
				t.Errorf("the same name again: code %d:\n%s", o.code, o.all())
			}

			stop := ready(t, home, p.name)
			o = try(p.right, "--yes", "--name", "second")
			if o.code != 0 || !strings.Contains(o.out, "is running and has not read this") {
				t.Errorf("beside the daemon: code %d:\n%s", o.code, o.all())
			}
			shown.WriteString(stop())
			hidden(t, home, shown.String(), p.secrets)
		})
	}
}

// ready starts the daemon on what was written and waits until it is connected.
// stop ends it and returns what it printed.
func ready(t *testing.T, home, name string) (stop func() string) {
	t.Helper()
	d := exec.Command(exe, "--home", home, "--sim", "--no-open", "--verbose")
	d.Env = []string{"PATH=" + os.Getenv("PATH")}
	var out bytes.Buffer
	d.Stdout, d.Stderr = &out, &out
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = d.Wait(); close(ended) }()
	stop = sync.OnceValue(func() string {
		_ = d.Process.Signal(syscall.SIGTERM)
		<-ended
		return out.String()
	})
	t.Cleanup(func() { stop() })
	h, err := client.FindHome(home, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	last := ""
	for {
		if info, err := client.New(h).Info(t.Context()); err == nil && len(info.Connections) > 0 {
			for _, c := range info.Connections {
				last = c.Name + " " + c.State + " " + c.Detail
				if c.Name == name && c.State == "ready" {
					return stop
				}
			}
		}
		select {
		case <-tick.C:
		case <-ended:
			t.Fatalf("the daemon ended:\n%s", out.String())
		case <-late:
			t.Fatalf("never ready, last %q:\n%s", last, stop())
		}
	}
}

// hidden looks for tokens in what was printed, and in every file but their own.
func hidden(t *testing.T, home, shown string, secrets []string) {
	t.Helper()
	look := func(where, text string) {
		for _, s := range secrets {
			if strings.Contains(text, s) {
				t.Errorf("a token stands in %s", where)
			}
		}
	}
	look("the output", shown)
	n := 0
	err := filepath.WalkDir(home, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if filepath.Base(filepath.Dir(p)) == "secrets" {
			if n++; info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", p, info.Mode())
			}
			return nil
		}
		b, err := os.ReadFile(p)
		look(p, string(b))
		return err
	})
	if err != nil || n == 0 {
		t.Errorf("%d token files, %v", n, err)
	}
}

// What is missing at the platform is named with the way to mend it, and nothing
// is written.
func TestWhatIsMissingIsNamed(t *testing.T) {
	scopeless := slacksim.New(slacksim.Options{Scopes: []string{"chat:write", "im:history", "im:write", "reactions:write"}})
	defer scopeless.Close()
	s := slacksim.New(slacksim.Options{})
	defer s.Close()
	told := withScopes(t, s, "chat:write,users:read")
	d := discordsim.New(discordsim.Options{NoMessageContent: true})
	defer d.Close()
	l := larksim.New(larksim.Options{AppID: "cli_00000000000b0702", Scopes: []string{"im:message"}})
	defer l.Close()
	botless := larksim.New(larksim.Options{AppID: "cli_00000000000b0703"})
	defer botless.Close()
	botless.Inject(larksim.Fault{Method: "bot.info", Kind: larksim.FaultError, Code: 11205, Msg: "app do not have bot"})
	for name, c := range map[string]struct {
		platform, base string
		in             []string
		args           []string
		says           []string
	}{
		"slack, one scope":      {"slack", scopeless.APIURL(), []string{scopeless.AppToken(), scopeless.BotToken()}, nil, []string{"(scope_missing)", "lacks users:read", "Bot Token Scopes"}},
		"slack, as Slack tells": {"slack", told, []string{s.AppToken(), s.BotToken()}, nil, []string{"(scope_missing)", "im:history, im:write"}},
		"discord, intent":       {"discord", d.APIURL(), []string{d.Token()}, nil, []string{"(intent_missing)", "Privileged Gateway Intents"}},
		"lark, scope":           {"lark", l.URL(), []string{l.AppSecret()}, []string{"--app-id", l.AppID()}, []string{"(scope_missing)", "lacks im:chat:readonly", "publish"}},
		"lark, bot":             {"lark", botless.URL(), []string{botless.AppSecret()}, []string{"--app-id", botless.AppID()}, []string{"(bot_missing)", "publish"}},
		"lark, another id":      {"lark", l.URL(), []string{l.AppSecret()}, []string{"--app-id", "cli_0000000000000000"}, []string{"(token_refused)", "app id", "--domain"}},
		"slack, swapped":        {"slack", s.APIURL(), []string{s.BotToken(), s.AppToken()}, nil, []string{"(token_malformed)", "that is the bot token"}},
	} {
		t.Run(name, func(t *testing.T) {
			home := shortHome(t)
			o := loopxBot(t, nil, lines(c.in), append([]string{"setup", c.platform, "--home", home, "--yes", "--sim", "--base-url", c.base}, c.args...)...)
			for _, w := range c.says {
				if o.code == 0 || !strings.Contains(o.err, w) {
					t.Errorf("code %d without %q:\n%s", o.code, w, o.err)
				}
			}
			if _, err := os.Lstat(home); err == nil {
				t.Error("something was written")
			}
		})
	}
}

// withScopes stands before a simulator and says in each answer, as Slack does,
// which scopes the token has.
func withScopes(t *testing.T, s *slacksim.Server, scopes string) string {
	t.Helper()
	to, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	p := httputil.NewSingleHostReverseProxy(to)
	p.ModifyResponse = func(r *http.Response) error { r.Header.Set("X-OAuth-Scopes", scopes); return nil }
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	return front.URL + "/api/"
}

// Unattended: tokens come from variables and private files, and standard input
// is not read.
func TestUnattended(t *testing.T) {
	s := slacksim.New(slacksim.Options{})
	defer s.Close()
	base := withScopes(t, s, "app_mentions:read,channels:history,chat:write,commands,files:read,files:write,groups:history,im:history,im:write,pins:write,reactions:write,users:read")
	dir := t.TempDir()
	file := filepath.Join(dir, "app")
	if err := os.WriteFile(file, []byte(s.AppToken()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	home := shortHome(t)
	args := []string{"setup", "slack", "--home", home, "--name", "work", "--yes", "--sim", "--base-url", base, "--app-token-file", file, "--bot-token-env", "BOT"}
	o := loopxBot(t, []string{"BOT=" + s.BotToken()}, "", args...)
	if o.code == 0 || !strings.Contains(o.err, "(secret_exposed)") {
		t.Errorf("a file that others can read: code %d\n%s", o.code, o.err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if o = loopxBot(t, nil, "", args...); o.code == 0 || !strings.Contains(o.err, "BOT is empty") {
		t.Errorf("an empty variable: code %d\n%s", o.code, o.err)
	}
	if o = loopxBot(t, []string{"BOT=" + s.BotToken()}, "", args...); o.code != 0 {
		t.Fatalf("code %d\n%s", o.code, o.all())
	}
	if len(s.Calls("users.info")) > 0 {
		t.Error("a scope was tried although Slack told them all")
	}
	ready(t, home, "work")()
	for _, p := range []string{"work-app.token", "work-bot.token"} {
		if info, err := os.Stat(filepath.Join(home, "secrets", p)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", p, info, err)
		}
	}
}
