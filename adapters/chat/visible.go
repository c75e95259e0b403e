package chat

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns s with everything a reader could not see made visible, so
// that two different texts never look the same because of it: control
// characters, bidirectional overrides, zero-width and filler characters, free
// combining marks, other invisible code points and invalid bytes appear as
// ⟦U+202E⟧ or ⟦xFF⟧. A literal ⟦ is itself shown as ⟦U+27E6⟧, so the result is
// injective. Line breaks and tabs stay; "\r\n" becomes "\n". Joiners and
// variation selectors stay inside emoji, where they are part of one picture.
//
// It does not find lookalike letters of other scripts: see Mixed.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(s) + 16)
	var prev rune
	for i, w := 0, 0; i < len(s); i += w {
		r, size := utf8.DecodeRuneInString(s[i:])
		w = size
		if r == utf8.RuneError && size <= 1 {
			fmt.Fprintf(&b, "⟦x%02X⟧", s[i])
			prev = 0
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[i+size:])
		if hidden(prev, r, next) {
			fmt.Fprintf(&b, "⟦U+%04X⟧", r)
		} else {
			b.WriteRune(r)
		}
		prev = r
	}
	return b.String()
}

// plain is the common case: printable ASCII with line breaks and tabs.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

func hidden(prev, r, next rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r == '⟦': // our own bracket, so that nobody can draw an escape
		return true
	case r == 0x200d: // joins two pictures into one
		return !pictorial(prev) || !pictorial(next)
	case r == 0xfe0e || r == 0xfe0f: // text or picture form of what stands before
		return !pictorial(prev) && !keycapBase(prev)
	case r == 0x20e3: // keycap frame
		return prev != 0xfe0f && !keycapBase(prev)
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5,
		r == 0x3164, r == 0xffa0, r == 0x2800, r == 0x00ad:
		return true // fillers that draw nothing
	case r >= 0x180b && r <= 0x180f, r >= 0xfe00 && r <= 0xfe0d, r >= 0xe0100 && r <= 0xe01ef:
		return true // variation selectors
	case r >= 0x0300 && r <= 0x036f, r >= 0x1ab0 && r <= 0x1aff,
		r >= 0x1dc0 && r <= 0x1dff, r >= 0x20d0 && r <= 0x20ff, r >= 0xfe20 && r <= 0xfe2f:
		return true // free combining marks: what they build has a composed form or is noise
	case r == ' ':
		return false
	case unicode.Is(unicode.Zs, r): // no-break, thin, ideographic ... spaces
		return r != 0x3000 // the ideographic space is ordinary in Chinese text
	case unicode.In(r, unicode.Zl, unicode.Zp, unicode.Cf, unicode.Co, unicode.Cs):
		return true
	}
	return !unicode.IsPrint(r) // unassigned
}

func pictorial(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff || r == 0xfe0f ||
		r == 0x00a9 || r == 0x00ae || r == 0x203c || r == 0x2049 || r == 0x2122 || r == 0x2139 ||
		r == 0x3030 || r == 0x303d || r == 0x3297 || r == 0x3299
}

func keycapBase(r rune) bool { return r >= '0' && r <= '9' || r == '#' || r == '*' }

// Mixed reports the first word of s that mixes Latin letters with Cyrillic or
// Greek ones, the usual way to write a name that looks like another. The empty
// string means there is none.
func Mixed(s string) string {
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		var latin, other bool
		for _, r := range word {
			switch {
			case unicode.Is(unicode.Latin, r):
				latin = true
			case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee):
				other = true
			}
		}
		if latin && other {
			return word
		}
	}
	return ""
}
