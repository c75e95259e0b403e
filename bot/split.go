package bot

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"loopx/adapters/chat"
)

// splitText cuts a text into parts of at most most units, on the safest border
// that is not too early: a blank line, a line, a word, a character. Never inside
// a cluster of runes that is one character for people. The parts joined are the
// text; dress makes them readable one by one.
func splitText(text string, most int) []string {
	var out []string
	for text != "" {
		n := fitting(text, most)
		if n < len(text) {
			n = border(text, n)
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// units is what a text weighs at most on any platform: escapes and visible forms
// of hidden characters counted, in the UTF-16 units that platforms count in.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += weight(r)
	}
	return n
}

func weight(r rune) int {
	switch {
	case r == '&' || r == '<' || r == '>':
		return 5 // &amp;
	case r == '\n' || r == '\t':
		return 1
	case r < 0x80 && (unicode.IsPunct(r) || unicode.IsSymbol(r)):
		return 2 // a backslash before it
	case r < 0x80 && unicode.IsPrint(r):
		return 1
	case r >= 0x2e80 && r < 0xd800:
		return 1
	}
	return 12 // it may be shown as its number
}

// fitting is the length of the longest beginning that weighs at most most; at
// least one character.
func fitting(text string, most int) int {
	n := 0
	for i, r := range text {
		if n += weight(r); n > most && i > 0 {
			return i
		}
	}
	return len(text)
}

// border moves a cut back to a safe place in the second half of the part, or
// else to the nearest place between characters.
func border(text string, n int) int {
	half := n / 2
	for _, sep := range []string{"\n\n", "\n", " "} {
		if i := strings.LastIndex(text[:n], sep); i >= half && i > 0 && between(text, i+len(sep)) {
			return i + len(sep)
		}
	}
	for at := n; at > 0; at-- {
		if between(text, at) {
			return at
		}
	}
	return n // one character that is longer than a message
}

// between says whether a cut at i parts no character: not inside a rune, not
// before a mark or a joiner, not behind a joiner, not inside a flag.
func between(text string, i int) bool {
	if i <= 0 || i >= len(text) || !utf8.RuneStart(text[i]) {
		return i <= 0 || i >= len(text)
	}
	next, _ := utf8.DecodeRuneInString(text[i:])
	prev, size := utf8.DecodeLastRuneInString(text[:i])
	switch {
	case prev == '\r' && next == '\n', prev == 0x200d, next == 0x200d:
		return false
	case unicode.In(next, unicode.Mn, unicode.Me, unicode.Mc), next >= 0xfe00 && next <= 0xfe0f, next >= 0x1f3fb && next <= 0x1f3ff, next >= 0xe0020 && next <= 0xe007f:
		return false
	case next >= 0x1f1e6 && next <= 0x1f1ff && prev >= 0x1f1e6 && prev <= 0x1f1ff:
		n := 0 // an odd number of regional letters before it: a flag would break
		for rest := text[:i]; rest != ""; n++ {
			r, w := utf8.DecodeLastRuneInString(rest)
			if r < 0x1f1e6 || r > 0x1f1ff {
				break
			}
			rest = rest[:len(rest)-w]
		}
		return n%2 == 0
	case next >= 0x1160 && next <= 0x11ff:
		return false // the inner letters of a Hangul syllable
	}
	return size > 0
}

// dress closes a code fence that a cut left open and opens it again in the next
// part. Only what it adds differs from the text.
func dress(parts []string) []string {
	out := make([]string, len(parts))
	open := "" // the line that opened the fence we are in
	for i, p := range parts {
		text := p
		if open != "" {
			text = open + "\n" + text
		}
		open = fenceAfter(open, p)
		if open != "" {
			if !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			text += marks(open)
		}
		out[i] = text
	}
	return out
}

// fenceAfter is the fence that is open behind a text which began in the fence
// open ("" for none).
func fenceAfter(open, text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		t := strings.TrimLeft(line, " ")
		if len(line)-len(t) > 3 {
			continue
		}
		m := marks(t)
		switch {
		case len(m) < 3:
		case open == "" && !(m[0] == '`' && strings.Contains(t[len(m):], "`")):
			open = cutFence(t)
		case open != "" && m[0] == open[0] && len(m) >= len(marks(open)) && strings.TrimSpace(t[len(m):]) == "":
			open = ""
		}
	}
	return open
}

// cutFence keeps an opening line short: its language may be anything.
func cutFence(t string) string {
	t = strings.TrimRight(t, " \r")
	if len(t) > 40 {
		return marks(t)
	}
	return t
}

// marks are the fence characters a line begins with.
func marks(t string) string {
	if t == "" || t[0] != '`' && t[0] != '~' {
		return ""
	}
	n := 0
	for n < len(t) && n < 20 && t[n] == t[0] {
		n++
	}
	return t[:n]
}

// fenceRoom is what dress may add to a part.
const fenceRoom = 2 * (2*40 + 2 + 2*20)

// partsOf are the messages a long text becomes on a surface, or nil when it fits
// one.
func partsOf(text string, caps chat.Caps) []string {
	most := caps.TextMax
	if most == 0 || units(text) <= most {
		return nil
	}
	return dress(splitText(text, max(most-fenceRoom, most/2)))
}
