package setup

import (
	"strings"
	"testing"

	"loopx/kernel"
)

// A value of the wrong kind is named for what it is, and never repeated.
func TestShapes(t *testing.T) {
	hex32, hex64 := strings.Repeat("0a", 16), strings.Repeat("0a", 32)
	for _, c := range []struct {
		name  string
		wrong func(string) string
		value string
		says  string // "" is right
	}{
		{"slack app", wrongSlackApp, "xapp-1-A0-1-abc", ""},
		{"slack bot", wrongSlackBot, "xoxb-1-2-abc", ""},
		{"slack app", wrongSlackApp, "xoxb-1-2-abc", "that is the bot token"},
		{"slack bot", wrongSlackBot, "xapp-1-A0-1-abc", "that is the app-level token"},
		{"slack bot", wrongSlackBot, "xoxp-1-2-abc", "token of a person"},
		{"slack bot", wrongSlackBot, "xoxe.xoxb-1-abc", "token rotation"},
		{"slack bot", wrongSlackBot, hex32, "signing secret"},
		{"slack bot", wrongSlackBot, "https://hooks.slack.com/services/T/B/x", "an address"},
		{"slack bot", wrongSlackBot, "xoxb-", "goes on after xoxb-"},
		{"slack bot", wrongSlackBot, "xoxb-1 2", "spaces"},
		{"slack bot", wrongSlackBot, "xoxb-1\u200b2", "characters that no token has"},
		{"slack bot", wrongSlackBot, "xoxb-" + strings.Repeat("1", 400), "too long"},
		{"slack bot", wrongSlackBot, "", "nothing"},
		{"discord", wrongDiscord, "c2ltdWxhdGVk.simulated.token-of-a-bot", ""},
		{"discord", wrongDiscord, "Bot c2ltdWxhdGVk.simulated.token", `leave out "Bot "`},
		{"discord", wrongDiscord, "700000000000000001", "that is an id"},
		{"discord", wrongDiscord, hex64, "public key"},
		{"discord", wrongDiscord, strings.Repeat("aB3-", 8), "client secret"},
		{"discord", wrongDiscord, "a.b", "three parts"},
		{"lark id", wrongLarkID, "cli_a0b1c2d3e4f50617", ""},
		{"lark id", wrongLarkID, "a0b1c2d3e4f50617", "starts with cli_"},
		{"lark secret", wrongLarkSecret, "abcdefghijklmnop", ""},
		{"lark secret", wrongLarkSecret, "cli_a0b1c2d3e4f50617", "that is the app id"},
		{"lark secret", wrongLarkSecret, "t-g1044abc", "access token"},
		{"signing secret", wrongSigning, hex32, ""},
		{"signing secret", wrongSigning, "xoxb-1-2-abc", "that is a token"},
		{"signing secret", wrongSigning, "not-hex-at-all-but-long", "0-9 and a-f"},
		{"lark key", wrongLarkWord, "any-word-of-yours", ""},
		{"lark key", wrongLarkWord, "cli_a0b1c2d3e4f50617", "that is the app id"},
	} {
		got := c.wrong(c.value)
		if c.says == "" && got != "" || c.says != "" && !strings.Contains(got, c.says) {
			t.Errorf("%s %q: %q, want %q", c.name, c.value, got, c.says)
		}
		if len(c.value) > 8 && strings.Contains(got, c.value) {
			t.Errorf("%s: the value is repeated: %q", c.name, got)
		}
	}
}

// A token goes to its platform, or to a simulator on this machine when that was
// asked for, and nowhere else.
func TestAddresses(t *testing.T) {
	for _, base := range []string{"http://127.0.0.1:8080/api/", "http://localhost:1", "http://[::1]:9/"} {
		if err := checkBase(base, true); err != nil {
			t.Errorf("%s: %v", base, err)
		}
		if err := checkBase(base, false); kernel.AsError(err) == nil || kernel.AsError(err).Code != "base_url_refused" {
			t.Errorf("%s without --sim: %v", base, err)
		}
	}
	for _, base := range []string{"http://slack.com.evil.example/", "https://127.0.0.1/", "http://10.0.0.1/", "http://u:p@127.0.0.1/", "http://127.0.0.1/?x", "127.0.0.1:80", "http://127.0.0.1.nip.example/"} {
		if err := checkBase(base, true); err == nil {
			t.Errorf("%s is taken", base)
		}
	}
	for _, p := range platforms() {
		for _, domain := range []string{"", "feishu", "lark"} {
			if at := p.official(domain); !strings.HasPrefix(at, "https://") || !strings.HasSuffix(at, "/") {
				t.Errorf("%s lives at %s", p.name, at)
			}
		}
	}
}

// What stands in a wrong place of the command line may be a token.
func TestArgumentsAreNotRepeated(t *testing.T) {
	const token = "xoxb-1-2-secret"
	for _, args := range [][]string{
		{token}, {"slack", token}, {"slack", "--yes=" + token}, {"slack", "--bot-token", token}, {"slack", "--" + token},
		{"slack", "--bot-token-env", token}, {"slack", "--bot-token-file", token}, {"slack", "--bot-token-file", token, "--bot-token-env", token},
		{"discord", "--app-token-file", token}, {"slack", "--name", token + " "}, {"slack", "--domain", token}, {"lark", "--domain", token},
		{"slack", "--base-url", token}, {"slack", "--sim", "--base-url", token}, {"lark", "--app-id", token},
	} {
		var out strings.Builder
		dir := t.TempDir()
		err := Run(t.Context(), Options{Args: append(args, "--home", dir+"/home"), Env: func(string) string { return "" }, In: strings.NewReader(""), Out: &out, Err: &out})
		e := kernel.AsError(err)
		if e == nil || e.Code == "internal" || e.Code == "no_input" || e.Fix == "" && e.Code != "token_malformed" {
			t.Errorf("%q: %v", args, err)
			continue
		}
		if strings.Contains(e.Message+e.Fix+out.String(), token) {
			t.Errorf("%q: repeated: %v, %s", args, err, e.Fix)
		}
	}
}
