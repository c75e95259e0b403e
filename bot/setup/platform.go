package setup

import (
	"context"
	"regexp"
	"strings"

	"loopx/adapters/chat"
)

// credential is one thing that the platform gives out.
type credential struct {
	key    string // of its flags and of its file: "bot-token"
	label  string // as it is asked for
	secret bool
	// wrong says what a value that is none of these looks like; "" is fine. It
	// never repeats the value.
	wrong func(string) string
}

// config is the name of the key in config.toml, without _file.
func (c credential) config() string { return strings.ReplaceAll(c.key, "-", "_") }

// values are credentials by key.
type values map[string]chat.Secret

// found is what a platform said about a set of credentials.
type found struct {
	is       string   // the bot and where it is
	warnings []string // what is no reason to stop
	next     []string // steps of this platform, after the start
}

// platform is what differs between platforms.
type platform struct {
	name, title string
	credentials []credential
	official    func(domain string) string
	verify      func(context.Context, *caller, *job, values) (found, error)
	webhook     bool // it calls us
}

func (p platform) has(key string) bool {
	for _, c := range p.credentials {
		if c.key == key {
			return true
		}
	}
	return false
}

// platforms is the list of what can be connected.
func platforms() []platform {
	at := func(url string) func(string) string { return func(string) string { return url } }
	bot := func(wrong func(string) string) credential { return credential{"bot-token", "Bot token", true, wrong} }
	return []platform{
		{
			string(chat.Slack), "Slack",
			[]credential{{"app-token", "App-level token (xapp-…)", true, wrongSlackApp}, bot(wrongSlackBot)},
			at("https://slack.com/api/"), verifySlack, false,
		},
		{string(chat.Discord), "Discord", []credential{bot(wrongDiscord)}, at("https://discord.com/api/"), verifyDiscord, false},
		{
			string(chat.Lark), "Lark",
			[]credential{{"app-id", "App ID (cli_…)", false, wrongLarkID}, {"app-secret", "App secret", true, wrongLarkSecret}},
			larkAddress, verifyLark, false,
		},
	}
}

func platformOf(name string) (platform, bool) {
	for _, p := range platforms() {
		if p.name == name {
			return p, true
		}
	}
	return platform{}, false
}

// allCredentials are those of all platforms, each once.
func allCredentials() []credential {
	var out []credential
	seen := map[string]bool{}
	for _, p := range platforms() {
		for _, mode := range p.modes() {
			for _, c := range mode.credentials {
				if !seen[c.key] {
					out = append(out, c)
				}
				seen[c.key] = true
			}
		}
	}
	return out
}

// wrongText finds what no credential of any platform has.
func wrongText(v string, most int) string {
	switch {
	case v == "":
		return "nothing was given"
	case len(v) >= most:
		return "it is too long to be one"
	case strings.ContainsAny(v, " \t"):
		return "it has spaces in it: copy the token alone"
	case strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "it has characters that no token has: copy it again"
	}
	return ""
}

func wrongSlackApp(v string) string { return wrongSlack(v, "xapp-") }
func wrongSlackBot(v string) string { return wrongSlack(v, "xoxb-") }

func wrongSlack(v, want string) string {
	if w := wrongText(v, 400); w != "" {
		return w
	}
	is := func(prefix string) bool { return strings.HasPrefix(v, prefix) }
	switch {
	case is(want) && len(v) > len(want):
		return ""
	case v == want:
		return "it goes on after " + want
	case is("xoxb-"):
		return "that is the bot token; the app-level token starts with xapp- (Basic Information, App-Level Tokens)"
	case is("xapp-"):
		return "that is the app-level token; the bot token starts with xoxb- (Install App)"
	case is("xoxp-"), is("xoxs-"), is("xoxc-"):
		return "that is the token of a person; the bot needs the one that starts with " + want
	case is("xoxe"):
		return "that token expires by itself: switch token rotation off in the app's settings, install it again and take the one that starts with " + want
	case is("https://"):
		return "that is an address; the token starts with " + want
	case regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(v):
		return "that is the client secret or the signing secret, which are not needed; the token starts with " + want
	}
	return "it starts with " + want
}

func wrongDiscord(v string) string {
	if strings.HasPrefix(v, "Bot ") {
		return `leave out "Bot " before it`
	}
	if w := wrongText(v, 400); w != "" {
		return w
	}
	switch {
	case strings.Count(v, ".") == 2 && len(v) >= 20:
		return ""
	case regexp.MustCompile(`^[0-9]{15,22}$`).MatchString(v):
		return "that is an id; the token is on the page Bot, under Reset Token"
	case regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(v):
		return "that is the public key; the token is on the page Bot, under Reset Token"
	case len(v) == 32 && !strings.Contains(v, "."):
		return "that looks like the client secret; the token is on the page Bot, under Reset Token"
	}
	return "it has three parts with dots between them (page Bot, Reset Token)"
}

func wrongLarkID(v string) string {
	if w := wrongText(v, 200); w != "" {
		return w
	}
	if !strings.HasPrefix(v, "cli_") || len(v) == len("cli_") {
		return "it starts with cli_ (Credentials & Basic Info)"
	}
	return ""
}

func wrongLarkSecret(v string) string {
	if w := wrongText(v, 200); w != "" {
		return w
	}
	switch {
	case strings.HasPrefix(v, "cli_"):
		return "that is the app id; the secret stands below it"
	case strings.HasPrefix(v, "t-"), strings.HasPrefix(v, "u-"), strings.HasPrefix(v, "a-"):
		return "that is an access token, which lives two hours; the app secret is on Credentials & Basic Info"
	}
	return ""
}
