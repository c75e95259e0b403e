package discord

import (
	"regexp"
	"slices"
	"strings"

	"loopx/adapters/chat"
)

// escape prepares words for Discord's markdown, so that a reader sees exactly
// the characters that are there: no emphasis, heading, list, quote, link, emoji,
// spoiler or mention comes of them. A backslash before punctuation is the one
// way Discord offers (support article "Markdown Text 101").
func escape(s string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	fresh, digits := true, false // at the start of a line; only digits so far
	for i, r := range s {
		mark := false
		switch r {
		case '\\', '*', '_', '~', '`', '|', '<', '>', '[', ']', '@':
			mark = true
		case ':': // an emoji's name, or an address, follows; a time of day is "10:03"
			rest := s[i+1:]
			mark = rest != "" && !strings.ContainsAny(rest[:1], " \t\n")
		case '#', '-', '+':
			mark = fresh
		case '.', ')':
			mark = digits
		}
		if mark {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		switch {
		case r == '\n':
			fresh, digits = true, false
		case r == ' ' || r == '\t':
			digits = false
		case r >= '0' && r <= '9' && (fresh || digits):
			fresh, digits = false, true
		default:
			fresh, digits = false, false
		}
	}
	return b.String()
}

// escapeText escapes a whole message. Plain http and https addresses stay
// clickable: in angle brackets they are shown as they are, without a preview.
func escapeText(s string) string {
	var b strings.Builder
	for s != "" {
		i := addressIn(s)
		if i < 0 {
			break
		}
		n := strings.IndexFunc(s[i:], func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("<>\"`|\\", r) })
		if n < 0 {
			n = len(s) - i
		}
		url := strings.TrimRight(s[i:i+n], ".,;:!?'*_~)]}")
		if _, ok := chat.SafeURL(url); !ok {
			b.WriteString(escape(s[:i+n]))
		} else {
			b.WriteString(escape(s[:i]) + "<" + url + ">")
			n = len(url)
		}
		s = s[i+n:]
	}
	b.WriteString(escape(s))
	return b.String()
}

// addressIn finds where an address begins; not inside a word.
func addressIn(s string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], "http")
		if i < 0 {
			return -1
		}
		i += from
		rest := s[i:]
		before := i == 0 || strings.ContainsRune(" \t\n(", rune(s[i-1]))
		if before && (strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://")) {
			return i
		}
		from = i + len("http")
	}
}

// tokens finds what Discord puts into a text itself: users, roles, channels and
// emoji.
func tokens() *regexp.Regexp {
	return regexp.MustCompile(`<(@[!&]?|#|a?:\w{1,32}:)(\d{1,20})>`)
}

// readText turns Discord's tokens into what a person reads: "<@1>" as "@1" with
// the mention listed when Discord lists it too, so that what only looks like one
// (in code, for instance) stays text. Everything else is what was typed (B65).
func readText(m *message, id identity, token *regexp.Regexp) (string, []chat.Mention) {
	var mentions []chat.Mention
	known := func(user string) bool {
		return slices.ContainsFunc(m.Mentions, func(u person) bool { return u.ID == user })
	}
	text := token.ReplaceAllStringFunc(m.Content, func(tok string) string {
		part := token.FindStringSubmatch(tok)
		switch kind, what := part[1], part[2]; {
		case kind == "@" || kind == "@!":
			if !known(what) {
				return tok
			}
			mentions = append(mentions, chat.Mention{ID: what, Self: what == id.user})
			return "@" + what
		case kind == "@&":
			if !slices.Contains(m.MentionRoles, what) {
				return tok
			}
			mentions = append(mentions, chat.Mention{ID: what, All: true})
			return "@" + what
		case kind == "#":
			return "#" + what
		default: // ":name:" or "a:name:"
			return strings.TrimPrefix(kind, "a")
		}
	})
	if m.Everyone {
		mentions = append(mentions, chat.Mention{ID: "everyone", All: true})
	}
	return text, mentions
}
