package kernel

import (
	"crypto/rand"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NewID returns prefix and n characters of 5 random bits each. The alphabet has
// no look-alikes, so that people can read ids to each other.
func NewID(prefix string, n int) string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand aborts the process instead
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return prefix + string(b)
}

// checkSlug accepts goal ids: they name folders and appear in commands.
func checkSlug(field, s string) error {
	if len(s) >= 1 && len(s) <= 64 && isSlug(s) {
		return nil
	}
	return Errorf(Invalid, "bad_"+field, "%s %s must be 1 to 64 of a-z 0-9 _ -, starting with a letter or digit", field, show(s))
}

func isSlug(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '_' && c != '-') {
			return false
		}
	}
	return s != ""
}

// checkAgentID accepts ^[a-z][a-z0-9_.:@-]{0,79}$.
func checkAgentID(s string) error {
	// What is recorded as asked or added by the command line or by a person must
	// not be an agent's name.
	ok := s != "" && len(s) <= 80 && s[0] >= 'a' && s[0] <= 'z' && s != "cli" && !strings.HasPrefix(s, "person:")
	for i := 0; ok && i < len(s); i++ {
		c := s[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == ':' || c == '@' || c == '-'
	}
	if ok {
		return nil
	}
	return Errorf(Invalid, "bad_agent_id", "agent id %s must start with a-z and hold 1 to 80 of a-z 0-9 _ . : @ -", show(s))
}

// checkToken accepts ids that callers choose: turn ids, session ids, keys.
func checkToken(field, s string, max int) error {
	ok := s != "" && len(s) <= max
	for i := 0; ok && i < len(s); i++ {
		ok = s[i] > ' ' && s[i] < 0x7f
	}
	if ok {
		return nil
	}
	return Errorf(Invalid, "bad_"+field, "%s %s must be 1 to %d printable ASCII characters without spaces", field, show(s), max)
}

// checkText accepts text of people and agents: valid UTF-8, bounded in
// characters, no control but (in bodies) line feed and tab, no bidi control
// that could make it read as something else.
func checkText(field, s string, max int, body bool) error {
	if !utf8.ValidString(s) {
		return Errorf(Invalid, "bad_text", "%s is not valid UTF-8", field)
	}
	// Bytes first: counting the runes of a huge text is work an attacker chooses.
	if len(s) > 4*max || utf8.RuneCountInString(s) > max {
		return Errorf(Invalid, "too_long", "%s has more than %d characters (%d bytes were given)", field, max, len(s))
	}
	for i, r := range s {
		switch {
		case body && (r == '\n' || r == '\t'):
		case unicode.IsControl(r):
			return Errorf(Invalid, "bad_text", "%s holds the control character U+%04X at byte %d", field, r, i)
		case isBidiControl(r):
			return Errorf(Invalid, "bad_text", "%s holds the text-direction control U+%04X at byte %d", field, r, i)
		}
	}
	return nil
}

func isBidiControl(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// needText is checkText for a field that must not be blank.
func needText(field, s string, max int, body bool) error {
	if err := checkText(field, s, max, body); err != nil {
		return err
	}
	for _, r := range s {
		if !unicode.IsSpace(r) {
			return nil
		}
	}
	return Errorf(Invalid, "missing_"+codeWord(field), "%s is missing or blank", field)
}

// codeWord is a field's name as a part of an error code.
func codeWord(field string) string { return strings.NewReplacer(" ", "_", "-", "_").Replace(field) }

// show quotes text of others for a message: bounded, controls escaped.
func show(s string) string {
	const most = 60
	cut := plain(s, most)
	if len(s) > len(cut) {
		cut += "…"
	}
	return "“" + cut + "”"
}

// plain cuts text of others to max characters and dots out what would not show
// as itself.
func plain(s string, max int) string {
	out := make([]rune, 0, min(len(s), max))
	for _, r := range s {
		if len(out) == max {
			break
		}
		if r == utf8.RuneError || unicode.IsControl(r) || isBidiControl(r) || !unicode.IsPrint(r) {
			r = '·'
		}
		out = append(out, r)
	}
	return string(out)
}
