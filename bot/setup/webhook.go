package setup

import (
	"net"
	"regexp"
	"strconv"
	"strings"

	"loopx/adapters/chat"
	"loopx/kernel"
)

// defaultListen is where the daemon listens for a platform's calls unless told:
// on this machine alone, for the proxy before it.
const defaultListen = "127.0.0.1:8080"

// called is the platform as it calls us: other credentials, no socket. ok is
// false for one that does not.
func (p platform) called() (out platform, ok bool) {
	out = p
	out.webhook = true
	switch p.name {
	case string(chat.Slack):
		out.credentials = []credential{{"signing-secret", "Signing secret", true, wrongSigning}, p.credentials[1]}
	case string(chat.Lark):
		out.credentials = append(p.credentials[:2:2],
			credential{"encrypt-key", "Encrypt key", true, wrongLarkWord}, credential{"verification-token", "Verification token", true, wrongLarkWord})
	default:
		return p, false
	}
	return out, true
}

// modes are the platform in each way it can be connected.
func (p platform) modes() []platform {
	if c, ok := p.called(); ok {
		return []platform{p, c}
	}
	return []platform{p}
}

func wrongSigning(v string) string {
	if w := wrongText(v, 200); w != "" {
		return w
	}
	switch {
	case strings.HasPrefix(v, "xoxb-"), strings.HasPrefix(v, "xapp-"):
		return "that is a token; the signing secret stands under Basic Information, App Credentials"
	case !regexp.MustCompile(`^[0-9a-f]{16,64}$`).MatchString(v):
		return "it is made of the digits 0-9 and a-f (Basic Information, App Credentials)"
	}
	return ""
}

func wrongLarkWord(v string) string {
	if w := wrongText(v, 200); w != "" {
		return w
	}
	if strings.HasPrefix(v, "cli_") {
		return "that is the app id; this stands under Events & Callbacks, Encryption strategy"
	}
	return ""
}

// checkListen takes an address of this machine with a port.
func checkListen(v string) error {
	host, port, err := net.SplitHostPort(v)
	n, perr := strconv.Atoi(port)
	if err != nil || perr != nil || n < 1 || n > 65535 || host != "localhost" && host != "" && net.ParseIP(host) == nil {
		return badArgs("--listen takes an address and a port, such as " + defaultListen)
	}
	return nil
}

// lookAtListener settles where the daemon listens: what config.toml says holds
// for all its connections.
func lookAtListener(j *job, have string) error {
	switch {
	case !j.webhook:
	case have == "" && j.listen == "":
		j.listen, j.addListen = defaultListen, true
	case have == "":
		j.addListen = true
	case j.listen != "" && j.listen != have:
		return kernel.Errorf(kernel.Conflict, "listen_taken", "%s listens on %s already, for all its connections", j.home.Config(), have).Try("leave --listen out, or change it there")
	default:
		j.listen = have
	}
	return nil
}

// calledAt are the steps at the platform that only a running listener makes
// possible.
func calledAt(j *job, where string) string {
	return "let the proxy of your host hand https://YOUR-HOST/hook/" + j.name + " to " + j.listen + ", and\n     nothing else of it; then " + where
}
