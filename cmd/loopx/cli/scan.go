package cli

import (
	"maps"
	"regexp"
	"slices"
)

// scanner finds what looks like a secret or a path of somebody's machine. It is
// a net with known holes: it stops slips, not somebody who hides something.
type scanner struct{ rules []scanRule }

type scanRule struct {
	what string
	re   *regexp.Regexp
	// digit asks for a digit in what the last group matched: words like
	// "password: required" are no secret.
	digit bool
}

func newScanner() *scanner {
	rule := func(what, re string) scanRule { return scanRule{what: what, re: regexp.MustCompile(re)} }
	return &scanner{rules: []scanRule{
		rule("private key", `-----BEGIN [A-Z ]*PRIVATE KEY`),
		rule("Slack token", `\bx(?:ox[abceoprs]|app)-[0-9A-Za-z-]{10,}`),
		rule("Slack webhook", `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]+`),
		rule("Discord token", `\b[MNO][A-Za-z\d_-]{22,}\.[\w-]{6}\.[\w-]{25,}`),
		rule("Discord webhook", `discord(?:app)?\.com/api/webhooks/\d+/[\w-]+`),
		rule("GitHub token", `\b(?:gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`),
		rule("GitLab token", `\bglpat-[\w-]{20,}`),
		rule("AWS key", `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`),
		rule("Google key", `\bAIza[\w-]{35}`),
		rule("API key", `\b(?:sk|rk|pk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{20,}`),
		rule("npm token", `\bnpm_[A-Za-z0-9]{36}`),
		rule("JSON web token", `\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+`),
		rule("lease token", `\blease_[a-z0-9]{8,}`),
		rule("password in an address", `\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@`),
		rule("authorization header", `(?i)\b(?:authorization|bearer)\s*:?\s+(?:bearer\s+)?[A-Za-z0-9._~+/-]{20,}`),
		{"password or key", regexp.MustCompile(`(?i)(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key)["']?\s*[:=]\s*["']?([^\s"'<>{}$]{8,})`), true},
		rule("private path", `(?:^|[^\w.])(?:/home/[\w.-]+|/Users/[\w.-]+|/root(?:/|\b)|[A-Za-z]:\\Users\\[\w.-]+)`),
		rule("private path", `(?:^|[\s"'(=:])~/\.?[\w-]`),
		rule("private address", `\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}\b`),
	}}
}

// scan names what a text seems to hold, or "".
func (s *scanner) scan(text string) string {
	for _, r := range s.rules {
		if !r.digit {
			if r.re.MatchString(text) {
				return r.what
			}
			continue
		}
		for _, m := range r.re.FindAllStringSubmatch(text, -1) {
			if slices.ContainsFunc([]rune(m[len(m)-1]), func(c rune) bool { return c >= '0' && c <= '9' }) {
				return r.what
			}
		}
	}
	return ""
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
