package setup_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	larksim "loopx/fixtures/sim/lark"
	slacksim "loopx/fixtures/sim/slack"
)

// free is an address nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Slack and Lark set up to call us: the address is told, no socket is asked for,
// and the daemon that reads what was written answers a person.
func TestSetUpToBeCalled(t *testing.T) {
	s := slacksim.New(slacksim.Options{})
	l := larksim.New(larksim.Options{AppID: "cli_00000000000b0711"})
	t.Cleanup(s.Close)
	t.Cleanup(l.Close)
	sockets := func() int { return len(s.Calls("apps.connections.open")) }
	const key = "an-encrypt-key"
	for name, p := range map[string]struct {
		args    []string
		in      []string
		call    func(address string)
		say     func()
		heard   func() bool
		wait    func(context.Context, func() bool) error
		secrets []string
	}{
		"slack": {
			[]string{"--base-url", s.APIURL()}, []string{s.SigningSecret(), s.BotToken()},
			s.CallApp, func() { s.Say("U0WEI", s.DM("U0WEI"), "hello") }, func() bool { return len(s.BotMessages(s.DM("U0WEI"))) > 0 }, s.Wait,
			[]string{s.SigningSecret(), s.BotToken()},
		},
		"lark": {
			[]string{"--base-url", l.URL(), "--app-id", l.AppID()}, []string{l.AppSecret(), key, l.VerificationToken()},
			func(a string) { l.CallApp(a, key) }, func() { l.Say("ou_wei", l.DM("ou_wei"), "hello") }, func() bool { return len(l.BotMessages(l.DM("ou_wei"))) > 0 }, l.Wait,
			[]string{l.AppSecret(), key, l.VerificationToken()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			home, at := shortHome(t), free(t)
			args := append([]string{"setup", name, "--home", home, "--sim", "--yes", "--webhook", "--listen", at}, p.args...)
			o := loopxBot(t, nil, lines(p.in), args...)
			for _, w := range []string{"https://YOUR-HOST/hook/" + name + " to " + at, "Without a websocket"} {
				if o.code != 0 || !strings.Contains(o.out, w) {
					t.Fatalf("code %d without %q:\n%s", o.code, w, o.all())
				}
			}
			second := loopxBot(t, nil, lines(p.in), append(args, "--name", "second", "--listen", free(t))...)
			if second.code == 0 || !strings.Contains(second.err, "(listen_taken)") {
				t.Errorf("another listener: code %d\n%s", second.code, second.all())
			}
			stop := ready(t, home, name)
			p.call("http://" + at + "/hook/" + name)
			p.say()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := p.wait(ctx, p.heard); err != nil {
				t.Errorf("%v\n%s", err, stop())
			}
			hidden(t, home, o.all()+stop(), p.secrets)
		})
	}
	if n := sockets(); n != 0 {
		t.Errorf("Slack was asked for a socket %d times", n)
	}
}

// What does not fit together is said before anything is asked.
func TestWebhookArguments(t *testing.T) {
	home := shortHome(t)
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"discord", "--webhook"}, "--webhook is for slack and lark"},
		{[]string{"slack", "--listen", "127.0.0.1:8080"}, "--listen is for --webhook"},
		{[]string{"slack", "--webhook", "--listen", "8080"}, "an address and a port"},
		{[]string{"slack", "--webhook", "--listen", "example.org:80"}, "an address and a port"},
		{[]string{"slack", "--webhook", "--app-token-env", "A"}, "--app-token is not for slack with --webhook"},
		{[]string{"slack", "--signing-secret-env", "A"}, "--signing-secret is not for slack without --webhook"},
		{[]string{"lark", "--webhook", "--signing-secret-env", "A"}, "--signing-secret is not for lark with --webhook"},
	} {
		o := loopxBot(t, nil, "", append([]string{"setup", "--home", home}, tc.args...)...)
		if o.code == 0 || !strings.Contains(o.err, tc.says) {
			t.Errorf("%q: code %d:\n%s", tc.args, o.code, o.all())
		}
	}
	if _, err := os.Lstat(filepath.Join(home, "config.toml")); err == nil {
		t.Error("something was written")
	}
}
