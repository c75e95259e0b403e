// Package fit brings cards and texts into the limits of a platform without
// breaking a character, and counts what it leaves out.
package fit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Units counts as JavaScript clients do: in UTF-16 units, the strictest reading
// of "characters" in a platform's limits.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// CutAt returns the greatest byte index at which s can be cut so that at most
// limit units stand before it and no picture, flag, escape or combined
// character is broken.
func CutAt(s string, limit int) int {
	n, i := 0, 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		w := max(utf16.RuneLen(r), 1)
		if n+w > limit {
			break
		}
		n += w
		i += size
	}
	if i == len(s) {
		return i
	}
	start := i
	for i > 0 && start-i < 200 && glued(s, i) {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	if i == 0 {
		return start // one endless cluster: break it rather than make no progress
	}
	return i
}

// glued reports whether a cut at i would break something.
func glued(s string, i int) bool {
	prev, _ := utf8.DecodeLastRuneInString(s[:i])
	next, _ := utf8.DecodeRuneInString(s[i:])
	switch {
	case prev == 0x200d || next == 0x200d, next == 0xfe0e || next == 0xfe0f, next == 0x20e3:
		return true
	case next >= 0x1f3fb && next <= 0x1f3ff: // skin tone
		return true
	case unicode.In(next, unicode.Mn, unicode.Mc):
		return true
	case regional(prev) && regional(next):
		n := 0
		for j := i; j > 0; {
			r, size := utf8.DecodeLastRuneInString(s[:j])
			if !regional(r) {
				break
			}
			n++
			j -= size
		}
		return n%2 == 1
	}
	open := strings.LastIndex(s[:i], "⟦") // one of chat.Visible's escapes
	return open >= 0 && i-open < 16 && !strings.Contains(s[open:i], "⟧") && strings.Contains(s[i:min(len(s), i+16)], "⟧")
}

func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// CutNoted shortens s to limit units, the note in the given language that says
// how many are gone included.
func CutNoted(s string, limit int, lang string) string {
	total := Units(s)
	if total <= limit {
		return s
	}
	note := func(gone int) string {
		return Either(lang, fmt.Sprintf(" … [%d more characters]", gone), fmt.Sprintf(" … [另有 %d 字]", gone))
	}
	room := max(limit-Units(note(total)), 0)
	at := CutAt(s, room)
	if room == 0 {
		at = 0
	}
	return s[:at] + note(total-Units(s[:at]))
}

// Short cuts own words to a limit; "…" stands for what is gone.
func Short(s string, limit int) string {
	if Units(s) <= limit {
		return s
	}
	return s[:CutAt(s, limit-1)] + "…"
}

// Either picks the words of a language: Chinese for "zh", else English.
func Either(lang, en, zh string) string {
	if lang == "zh" {
		return zh
	}
	return en
}
