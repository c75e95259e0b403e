package bot

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"
)

func testHome(t *testing.T) client.Home {
	t.Helper()
	dir, err := os.MkdirTemp("", "loopx-bot-") // t.TempDir is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h, err := client.FindHome(dir, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Ensure(); err != nil {
		t.Fatal(err)
	}
	return h
}

func startBot(t *testing.T, opt Options) *Bot {
	t.Helper()
	b, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func stopBot(t *testing.T, b *Bot) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := b.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// Start and stop leave nothing behind: no goroutine, no socket, no mark, and the
// folder can be taken again at once.
func TestStartStop(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	home := testHome(t)
	for range 3 {
		b := startBot(t, Options{Home: home})
		c := client.New(home)
		info, err := c.Info(t.Context())
		if err != nil || info.Page == "" || len(info.Connections) != 1 {
			t.Fatalf("info %+v, %v", info, err)
		}
		if _, err := view.Ask[view.StatusView](t.Context(), c, &view.Status{}); err != nil {
			t.Fatal(err)
		}
		stopBot(t, b)
		stopBot(t, b) // again is harmless
		if _, err := c.Info(t.Context()); err == nil {
			t.Fatal("a stopped daemon answers")
		}
		for _, name := range []string{"running", "loopx.sock"} {
			if _, err := os.Lstat(filepath.Join(home.Dir, name)); err == nil {
				t.Errorf("%s is left behind", name)
			}
		}
	}
	goleak.VerifyNone(t, ignore)
}

// B11: a second daemon on the folder is refused and names the first.
func TestB11_SecondDaemonIsRefused(t *testing.T) {
	home := testHome(t)
	b := startBot(t, Options{Home: home})
	defer stopBot(t, b)
	// The mark of an unclean stop is there because the first one runs.
	verify := func(context.Context, string) error { t.Error("the file of a running daemon was checked"); return nil }
	second, err := New(Options{Home: home, Verify: verify})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = second.Start(t.Context())
	e := kernel.AsError(err)
	if e == nil || e.Class != kernel.Locked || !strings.Contains(e.Message, "loopx-bot") {
		t.Fatalf("the second start: %v", err)
	}
	if time.Since(began) > 3*time.Second {
		t.Errorf("the refusal took %s", time.Since(began))
	}
}

// After an unclean stop the file is checked before it is served; a damaged one
// is refused, kept, and never replaced by an empty one.
func TestUncleanStopIsChecked(t *testing.T) {
	home := testHome(t)
	b := startBot(t, Options{Home: home})
	stopBot(t, b)
	checked := 0
	verify := func(context.Context, string) error { checked++; return nil }
	b = startBot(t, Options{Home: home, Verify: verify})
	stopBot(t, b)
	if checked != 0 {
		t.Fatal("a clean stop was followed by a check")
	}
	mark := filepath.Join(home.Dir, "running")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(home.DB())
	if err != nil {
		t.Fatal(err)
	}
	bad, err := New(Options{Home: home, Verify: func(context.Context, string) error { return errors.New("page 7") }})
	if err != nil {
		t.Fatal(err)
	}
	if e := kernel.AsError(bad.Start(t.Context())); e == nil || e.Code != "state_damaged" {
		t.Fatalf("a damaged file: %v", e)
	}
	if after, err := os.ReadFile(home.DB()); err != nil || string(after) != string(before) {
		t.Fatal("the damaged file was touched")
	}
	b = startBot(t, Options{Home: home, Verify: verify})
	stopBot(t, b)
	if checked != 1 {
		t.Fatalf("%d checks after an unclean stop", checked)
	}
}

// D7: a state file that is moved away under the daemon ends it.
func TestD7_MovedFileEndsTheDaemon(t *testing.T) {
	home := testHome(t)
	b := startBot(t, Options{Home: home})
	defer stopBot(t, b)
	if err := os.Rename(home.DB(), home.DB()+".away"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.Failed():
	case <-time.After(5 * time.Second):
		t.Fatal("nobody noticed")
	}
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":     {"[page]\noff = true\ncolour = 1\n", "line 3: unknown key"},
		"unknown table":   {"[pages]\noff = true\n", "unknown key"},
		"not TOML":        {"a = [", "line 1"},
		"no name":         {"[[connection]]\nplatform = \"slack\"\n", "name must be"},
		"other platform":  {"[[connection]]\nname = \"a\"\nplatform = \"irc\"\n", "platform must be slack, discord or lark"},
		"no token":        {"[[connection]]\nname = \"a\"\nplatform = \"slack\"\n", "app_token_env or app_token_file"},
		"a stray key":     {"[[connection]]\nname = \"a\"\nplatform = \"discord\"\nbot_token_env = \"B\"\napp_id = \"x\"\n", "are for lark"},
		"half a lark":     {"[[connection]]\nname = \"a\"\nplatform = \"lark\"\napp_id = \"x\"\n", "app_secret_env or app_secret_file"},
		"another mode":    {one("a") + "mode = \"poll\"\n", "mode must be socket or webhook"},
		"discord calls":   {"[[connection]]\nname = \"a\"\nplatform = \"discord\"\nbot_token_env = \"B\"\nmode = \"webhook\"\n", "is for slack and lark"},
		"both ways":       {one("a") + "mode = \"webhook\"\nsigning_secret_env = \"W\"\n", "are for mode socket"},
		"a stray secret":  {one("a") + "signing_secret_env = \"W\"\n", "are for mode webhook"},
		"unsigned":        {called("a", ""), "signing_secret_env or signing_secret_file"},
		"half a webhook":  {"[[connection]]\nname = \"a\"\nplatform = \"lark\"\napp_id = \"x\"\napp_secret_env = \"S\"\nmode = \"webhook\"\nencrypt_key_env = \"K\"\n", "verification_token_env or"},
		"no listener":     {called("a", "signing_secret_env = \"W\"\n"), "needs listen in [webhook]"},
		"idle listener":   {"[webhook]\nlisten = \"127.0.0.1:1\"\n" + one("a"), "there is none"},
		"no address":      {"[webhook]\nlisten = \":80\"\n" + called("a", "signing_secret_env = \"W\"\n"), "an address and a port"},
		"two names":       {one("a") + one("a"), "used twice"},
		"the page's name": {one("console"), "belongs to the local page"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadConfig(path)
		if e := kernel.AsError(err); e == nil || e.Class != kernel.Invalid || !strings.Contains(e.Message, c.want) || e.Fix == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, err := LoadConfig(filepath.Join(dir, "none.toml")); err != nil || len(c.Connections) != 0 {
		t.Errorf("no file: %+v %v", c, err)
	}
	if err := os.WriteFile(path, []byte(one("work")), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig(path)
	if err != nil || len(c.Connections) != 1 {
		t.Fatalf("a good file: %+v %v", c, err)
	}
	c.Connections[0].BaseURL = "http://127.0.0.1:1/api/"
	if _, err := New(Options{Config: c}); kernel.AsError(err) == nil || kernel.AsError(err).Code != "sim_only" {
		t.Errorf("a simulator without --sim: %v", err)
	}
}

// called is a connection in mode webhook.
func called(name, more string) string {
	return "[[connection]]\nname = \"" + name + "\"\nplatform = \"slack\"\nmode = \"webhook\"\nbot_token_env = \"B\"\n" + more
}

func one(name string) string {
	return "[[connection]]\nname = \"" + name + "\"\nplatform = \"slack\"\napp_token_env = \"A\"\nbot_token_env = \"B\"\n"
}

func FuzzConfig(f *testing.F) {
	f.Add(one("work"))
	f.Add("[page]\noff = true\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadConfig(path); err != nil && kernel.AsError(err).Class != kernel.Invalid {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

// Secrets come by name, from the environment or a private file, and a pasted
// message is no token (B93).
func TestB93_Secrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string, mode os.FileMode) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	env := func(v string) func(string) string { return func(string) string { return v } }
	if s, err := secret("x", "TOKEN", "", env("xoxb-1")); err != nil || s.Reveal() != "xoxb-1" {
		t.Errorf("environment: %v", err)
	}
	write("xoxb-2\n", 0o600)
	if s, err := secret("x", "", file, nil); err != nil || s.Reveal() != "xoxb-2" {
		t.Errorf("file: %v", err)
	}
	for want, err := range map[string]error{
		"secret_missing":   second(secret("x", "TOKEN", "", env(""))),
		"secret_malformed": second(secret("x", "TOKEN", "", env("hi, the token is xoxb-1"))),
	} {
		if e := kernel.AsError(err); e == nil || e.Code != want || strings.Contains(e.Message, "xoxb") {
			t.Errorf("%s: %v", want, err)
		}
	}
	write("xoxb-2", 0o644)
	if e := kernel.AsError(second(secret("x", "", file, nil))); e == nil || e.Code != "secret_exposed" {
		t.Errorf("a file others can read: %v", e)
	}
}

func second[T any](_ T, err error) error { return err }

// What the daemon logs never holds a token, whoever put it there.
func TestLogsAreRedacted(t *testing.T) {
	dir := t.TempDir()
	var also strings.Builder
	l, err := OpenLog(dir, 0, &also)
	if err != nil {
		t.Fatal(err)
	}
	l.Error("dial wss://x/?ticket=abcdef&a=1 with xoxb-123-abc and xapp-1-A-2-b", "lease", "lease_0123abcd")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "logs", "bot.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"xoxb-123", "xapp-1", "ticket=abc", "lease_0123"} {
		if strings.Contains(string(raw)+also.String(), s) {
			t.Errorf("the log holds %s", s)
		}
	}
}

// A page becomes the owner's only by the owner's proof at the terminal: the code
// says which page, the token who.
func TestPageBecomesTheOwners(t *testing.T) {
	home := testHome(t)
	b := startBot(t, Options{Home: home})
	defer stopBot(t, b)
	base := "http://" + b.PageAddr()
	req, err := http.NewRequestWithContext(t.Context(), "POST", base+"/api/session", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", base)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	pending := b.page.PendingSessions()
	if res.StatusCode != 200 || len(pending) != 1 || pending[0].Code == "" {
		t.Fatalf("a new page: %d, %+v", res.StatusCode, pending)
	}
	c := client.New(home)
	if e := kernel.AsError(c.ApprovePage(t.Context(), pending[0].Code)); e == nil || e.Class != kernel.Denied {
		t.Fatalf("without proof: %v", e)
	}
	if c.OwnerToken, err = home.Token(); err != nil {
		t.Fatal(err)
	}
	if e := kernel.AsError(c.ApprovePage(t.Context(), "AAAA-AAAA")); e == nil || e.Class != kernel.NotFound {
		t.Fatalf("a code no page shows: %v", e)
	}
	if err := c.ApprovePage(t.Context(), pending[0].Code); err != nil {
		t.Fatal(err)
	}
	if n := len(b.page.PendingSessions()); n != 0 {
		t.Fatalf("%d pages wait after the approval", n)
	}
}
