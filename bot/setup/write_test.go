package setup

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopx/bot"
	slacksim "loopx/fixtures/sim/slack"
	"loopx/kernel"
)

// world is a simulated Slack and a state folder.
type world struct {
	sim *slacksim.Server
	dir string
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{slacksim.New(slacksim.Options{}), filepath.Join(t.TempDir(), "a \"state\" folder")}
	t.Cleanup(w.sim.Close)
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w world) config() string { return filepath.Join(w.dir, "config.toml") }

// run connects Slack in this process. in is what is typed after the tokens.
func (w world) run(ctx context.Context, in string, args ...string) (string, *kernel.Error) {
	var out strings.Builder
	err := Run(ctx, Options{
		Args: append([]string{"slack", "--home", w.dir, "--sim", "--base-url", w.sim.APIURL()}, args...),
		Env:  func(string) string { return "" }, In: strings.NewReader(w.sim.AppToken() + "\n" + w.sim.BotToken() + "\n" + in), Out: &out, Err: &out,
	})
	return out.String(), kernel.AsError(err)
}

// tree is all files below a folder with mode and content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b := []byte{}
		if d.Type().IsRegular() {
			if b, err = os.ReadFile(p); err != nil {
				return err
			}
		}
		out[strings.TrimPrefix(p, dir)] = info.Mode().String() + " " + string(b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t *testing.T, a, b map[string]string) {
	t.Helper()
	for p := range b {
		if a[p] != b[p] {
			t.Errorf("%s: %q became %q", p, a[p], b[p])
		}
	}
	for p := range a {
		if _, ok := b[p]; !ok {
			t.Errorf("%s is gone", p)
		}
	}
}

// What config.toml holds stays byte for byte, whatever its form is.
func TestConfigIsContinued(t *testing.T) {
	const other = "[[connection]]\nname = \"old\"\nplatform = \"discord\"\nbot_token_env = \"D\"\n"
	for name, before := range map[string]string{
		"none": "", "comment": "# mine\n", "no end of line": "# mine\n[page]\noff = true", "dos": "# mine\r\n[page]\r\noff = true\r\n",
		"another": other, "another, no end": strings.TrimSuffix(other, "\n"), "spaces": "\n\n  " + other + "\n\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if name != "none" {
				if err := os.WriteFile(w.config(), []byte(before), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := w.run(t.Context(), "yes\n"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			after, err := os.ReadFile(w.config())
			if err != nil || !bytes.HasPrefix(after, []byte(before)) {
				t.Fatalf("was %q, is %q (%v)", before, after, err)
			}
			info, err := os.Stat(w.config())
			if want := map[bool]os.FileMode{true: 0o600, false: 0o640}[name == "none"]; err != nil || info.Mode().Perm() != want {
				t.Errorf("mode %v, want %v", info.Mode(), want)
			}
			cfg, err := bot.LoadConfig(w.config())
			if err != nil {
				t.Fatal(err)
			}
			c := cfg.Connections[len(cfg.Connections)-1]
			if c.Name != "slack" || c.BotTokenFile != filepath.Join(w.dir, "secrets", "slack-bot.token") {
				t.Errorf("connection %+v", c)
			}
			files := tree(t, w.dir)
			for p, want := range map[string]string{"/secrets/slack-app.token": "-rw------- " + w.sim.AppToken() + "\n", "/secrets/slack-bot.token": "-rw------- " + w.sim.BotToken() + "\n"} {
				if files[p] != want {
					t.Errorf("%s: %q", p, files[p])
				}
			}
			if !strings.HasPrefix(files["/secrets"], "drwx------") {
				t.Errorf("secrets: %q", files["/secrets"])
			}
			for p := range files {
				if strings.Contains(p, ".toml.") || strings.Contains(p, ".token.") {
					t.Errorf("%s is left over", p)
				}
			}
		})
	}
}

// A second connection stands beside the first.
func TestTwoConnections(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"one", "two"} {
		if out, err := w.run(t.Context(), "", "--yes", "--name", name); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	cfg, err := bot.LoadConfig(w.config())
	if err != nil || len(cfg.Connections) != 2 || cfg.Connections[1].Name != "two" {
		t.Errorf("%+v, %v", cfg, err)
	}
}

// Whatever is refused leaves the folder as it was.
func TestRefusalsWriteNothing(t *testing.T) {
	put := func(name, text string, mode os.FileMode) func(*testing.T, world) {
		return func(t *testing.T, w world) {
			p := filepath.Join(w.dir, name)
			if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		prepare func(*testing.T, world)
		in      string
		args    []string
		code    string
		early   bool // before anything is asked of Slack
	}{
		"name taken":        {put("config.toml", "[[connection]]\nname = \"slack\"\nplatform = \"discord\"\nbot_token_env = \"D\"\n", 0o600), "yes\n", nil, "name_taken", true},
		"name of the page":  {nil, "yes\n", []string{"--name", "console"}, "name_taken", true},
		"name of no kind":   {nil, "yes\n", []string{"--name", "../x"}, "bad_name", true},
		"config is broken":  {put("config.toml", "[[connection]\n", 0o600), "yes\n", nil, "bad_config", true},
		"config is closed":  {put("config.toml", "connection = []\n", 0o600), "yes\n", nil, "config_closed", false},
		"token file there":  {put("secrets/slack-bot.token", "x\n", 0o600), "yes\n", nil, "secret_exists", true},
		"secrets is a file": {put("secrets", "x\n", 0o600), "yes\n", nil, "secrets_folder", true},
		"answer is no":      {nil, "no\n", nil, "not_confirmed", false},
		"answer is missing": {nil, "", nil, "not_confirmed", false},
		"revoked":           {func(_ *testing.T, w world) { w.sim.Revoke("") }, "yes\n", nil, "token_revoked", false},
		"Slack is down": {func(_ *testing.T, w world) {
			w.sim.Inject(slacksim.Fault{Method: "*", Kind: slacksim.FaultStatus, Status: 503})
		}, "yes\n", nil, "bad_answer", false},
		"a proxy answers": {func(_ *testing.T, w world) { w.sim.Inject(slacksim.Fault{Method: "*", Kind: slacksim.FaultHTML}) }, "yes\n", nil, "bad_answer", false},
		"the line breaks": {func(_ *testing.T, w world) {
			w.sim.Inject(slacksim.Fault{Method: "*", Kind: slacksim.FaultReset, Times: -1})
		}, "yes\n", nil, "platform_unreachable", false},
		"Slack is busy": {func(_ *testing.T, w world) {
			w.sim.Inject(slacksim.Fault{Method: "*", Kind: slacksim.FaultRateLimit, For: 1e9})
		}, "yes\n", nil, "rate_limited", false},
		"app token no scope": {func(_ *testing.T, w world) {
			w.sim.Inject(slacksim.Fault{Method: "apps.connections.open", Kind: slacksim.FaultError, Code: "missing_scope"})
		}, "yes\n", nil, "scope_missing", false},
		"an unknown word": {func(_ *testing.T, w world) {
			w.sim.Inject(slacksim.Fault{Method: "auth.test", Kind: slacksim.FaultError, Code: "org_login_required"})
		}, "yes\n", nil, "platform_refused", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.prepare != nil {
				c.prepare(t, w)
			}
			before := tree(t, w.dir)
			out, err := w.run(t.Context(), c.in, c.args...)
			if err == nil || err.Code != c.code {
				t.Fatalf("%v, want %s\n%s", err, c.code, out)
			}
			after := tree(t, w.dir)
			delete(after, "/owner.token") // every start in a folder makes it
			same(t, before, after)
			if n := len(w.sim.Calls("")); c.early && n > 0 {
				t.Errorf("Slack was asked %d times", n)
			}
			for _, token := range []string{w.sim.AppToken(), w.sim.BotToken()} {
				if strings.Contains(out+err.Error()+err.Fix, token) {
					t.Errorf("a token is shown:\n%s\n%v", out, err)
				}
			}
		})
	}
}

// Who edits config.toml while the wizard asks is not overwritten.
func TestConfigChangedMeanwhile(t *testing.T) {
	w := newWorld(t)
	edited := []byte("# by hand\n")
	var out strings.Builder
	in := &typist{lines: []string{w.sim.AppToken(), w.sim.BotToken(), "yes"}, before: func(i int) {
		if i == 2 {
			if err := os.WriteFile(w.config(), edited, 0o600); err != nil {
				t.Error(err)
			}
		}
	}}
	err := Run(t.Context(), Options{Args: []string{"slack", "--home", w.dir, "--sim", "--base-url", w.sim.APIURL()}, Env: func(string) string { return "" }, In: in, Out: &out, Err: &out})
	if e := kernel.AsError(err); e == nil || e.Code != "config_changed" {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if b, err := os.ReadFile(w.config()); err != nil || !bytes.Equal(b, edited) {
		t.Errorf("config.toml is %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "secrets")); err == nil {
		t.Error("the tokens are still there")
	}
}

// typist types line by line, and does something before each.
type typist struct {
	lines  []string
	before func(i int)
	i      int
	rest   string
}

func (x *typist) Read(p []byte) (int, error) {
	if x.rest == "" {
		if x.i == len(x.lines) {
			return 0, fs.ErrClosed
		}
		x.before(x.i)
		x.rest = x.lines[x.i] + "\n"
		x.i++
	}
	n := copy(p, x.rest)
	x.rest = x.rest[n:]
	return n, nil
}
