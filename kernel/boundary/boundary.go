// Package boundary tells what should not leave a machine: what looks like a
// secret, a path of somebody's home, an address of an inner network. The command
// line asks it before an export and in `loopx check`, and whoever sends text to a
// platform asks it before sending.
//
// It is a net with known holes: it stops slips, not somebody who hides something.
package boundary

import (
	"regexp"
	"slices"
	"strings"
)

// Scanner holds the rules. It is safe for concurrent use, and its making is the
// expensive part: make one and keep it.
type Scanner struct{ rules []rule }

type rule struct {
	what string
	re   *regexp.Regexp
	// value: the last group is what a name is set to. A name alone is no secret,
	// and neither is a reference to a place that holds one, or a placeholder.
	value bool
}

// New compiles the rules.
func New() *Scanner {
	plain := func(what, re string) rule { return rule{what: what, re: regexp.MustCompile(re)} }
	value := func(what, re string) rule { return rule{what: what, re: regexp.MustCompile(re), value: true} }
	return &Scanner{rules: []rule{
		plain("private key", `-----BEGIN [A-Z ]*PRIVATE KEY`),
		plain("Slack token", `\bx(?:ox[abceoprs]|app)-[0-9A-Za-z-]{10,}`),
		plain("Slack webhook", `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]+`),
		plain("Discord token", `\b[MNO][A-Za-z\d_-]{22,}\.[\w-]{6}\.[\w-]{25,}`),
		plain("Discord webhook", `discord(?:app)?\.com/api/webhooks/\d+/[\w-]+`),
		plain("Lark token", `\b[tu]-[a-z0-9]{4}[A-Za-z0-9_-]{24,}`),
		plain("Lark webhook", `open\.(?:larksuite|feishu)\.(?:com|cn)/open-apis/bot/v2/hook/[\w-]+`),
		plain("Telegram token", `\b\d{8,10}:AA[\w-]{33}\b`),
		plain("GitHub token", `\b(?:gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`),
		plain("GitLab token", `\bglpat-[\w-]{20,}`),
		plain("AWS key", `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`),
		plain("Google key", `\b(?:AIza[\w-]{35}|ya29\.[\w-]{30,})`),
		value("API key", `\b((?:sk|rk|pk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{20,})`),
		plain("npm token", `\bnpm_[A-Za-z0-9]{36}`),
		plain("JSON web token", `\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+`),
		plain("lease token", `\blease_[a-z0-9]{8,}`),
		plain("password in an address", `\b[a-z][a-z0-9+.-]*://[^\s/:@$<{]+:[^\s/@$<{]+@`),
		value("authorization header", `(?i)\b(?:authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)?|bearer)\s+([A-Za-z0-9._~+/=-]{20,})`),
		value("password or key", `(?i)(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|account[_-]?key)["']?\s*[:=]\s*["']?([^\s"'<>{}$]{8,})`),
		plain("private path", `(?:^|[^\w.])(?:/home/[\w.-]+|/Users/[\w.-]+|/root(?:/|\b)|[A-Za-z]:\\Users\\[\w.-]+)`),
		plain("private path", `(?:^|[\s"'(=:])~/\.?[\w-]`),
		plain("private address", `\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}\b`),
	}}
}

// Find names the first thing that a text seems to hold, or "".
func (s *Scanner) Find(text string) string {
	for i := range s.rules {
		if s.rules[i].matches(text) {
			return s.rules[i].what
		}
	}
	return ""
}

// All names everything that a text seems to hold, each once, in the order of the
// rules.
func (s *Scanner) All(text string) []string {
	var out []string
	for i := range s.rules {
		if r := &s.rules[i]; !slices.Contains(out, r.what) && r.matches(text) {
			out = append(out, r.what)
		}
	}
	return out
}

func (r *rule) matches(text string) bool {
	if !r.value {
		return r.re.MatchString(text)
	}
	for _, m := range r.re.FindAllStringSubmatch(text, -1) {
		if secret(m[len(m)-1]) {
			return true
		}
	}
	return false
}

// secret tells a value from a word, a reference and a placeholder: all real ones
// hold a digit.
func secret(v string) bool {
	if !strings.ContainsAny(v, "0123456789") {
		return false
	}
	low := strings.ToLower(v)
	for _, word := range []string{"example", "placeholder", "redacted", "dummy", "your-", "your_", "xxxx", "changeme", "getenv", "environ", "process.env", "secrets.", "vault:"} {
		if strings.Contains(low, word) {
			return false
		}
	}
	return !strings.HasPrefix(v, "%") && !strings.Contains(v, "(")
}
