package slack

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Slack's limits, in characters as its JavaScript clients count them (UTF-16
// units, the strictest reading of "characters"). Sources: Block Kit reference
// ("Block elements", "Blocks", "Views") unless told otherwise.
const (
	maxBlocks     = 50   // blocks of a message
	maxHeader     = 150  // header text
	maxSection    = 3000 // text object; rich_text has no documented one and is kept to it
	maxFields     = 10   // fields of a section
	maxField      = 2000 // one of them
	maxActions    = 25   // elements of an actions block
	maxLabel      = 75   // button text
	maxValue      = 2000 // button value
	maxID         = 255  // action_id
	maxBlockID    = 255
	maxModalTitle = 24
	maxInputLabel = 2000
	maxMetadata   = 3000 // private_metadata
	// maxText is Slack's recommendation for one message and the bound of
	// chat.update (msg_too_long); chat.postMessage cuts at maxPost without a word.
	maxText = 4000
	maxPost = 40000
	// maxCard keeps all blocks together below the undocumented bound at about
	// 13,200 characters (github.com/slackapi/bolt-js, issue 2509).
	maxCard = 12000
)

func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// cutAt returns the greatest byte index at which s can be cut so that at most
// limit units stand before it and no picture, flag, escape or combined
// character is broken.
func cutAt(s string, limit int) int {
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
