package bot

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"loopx/adapters/chat"
)

// Whatever the text, its parts joined are the text, each fits, and no character
// is broken.
func TestSplitJoinsToTheText(t *testing.T) {
	piece := rapid.SampledFrom([]string{"word ", "line\n", "\n\n", "```go\n", "```\n", "~~~\n", "👨\u200d👩\u200d👧", "e\u0301", "🇩🇪", "한", "发布新的定价页", "a&b<c>", "\u202e", "👍🏽", "x", "`", "    indented\n", "\r\n"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 400).Draw(t, "text"), "")
		most := rapid.IntRange(60, 2000).Draw(t, "most")
		parts := splitText(text, most)
		if strings.Join(parts, "") != text {
			t.Fatalf("the parts are not the text")
		}
		at := 0
		for _, p := range parts {
			if units(p) > most || p == "" || !utf8.ValidString(p) {
				t.Fatalf("a part weighs %d of %d", units(p), most)
			}
			if !between(text, at) {
				t.Fatalf("a character is broken at %d: %q", at, text[max(0, at-8):min(len(text), at+8)])
			}
			at += len(p)
		}
		for i, p := range dress(parts) {
			if open := fenceAfter("", p); open != "" {
				t.Fatalf("part %d leaves %q open: %q", i, open, p)
			}
			if len(p)-len(parts[i]) > fenceRoom {
				t.Fatalf("dressing added %d bytes", len(p)-len(parts[i]))
			}
		}
	})
}

func TestSplitCutsWhereItIsSafe(t *testing.T) {
	text := "First paragraph.\n\nSecond paragraph with words.\n```go\nfunc main() {}\nfunc more() {}\n```\nThe end."
	got := dress(splitText(text, 80))
	want := []string{
		"First paragraph.\n\nSecond paragraph with words.\n```go\nfunc main() {}\n```",
		"```go\nfunc more() {}\n```\nThe end.",
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Fatalf("got %q", got)
	}
	if partsOf("short", chat.Caps{TextMax: 100}) != nil {
		t.Fatal("a short text was split")
	}
}
