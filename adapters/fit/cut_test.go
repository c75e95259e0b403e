package fit_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

func TestCutAt(t *testing.T) {
	tests := []struct {
		s     string
		limit int
		want  string
	}{
		{"abcdef", 3, "abc"},
		{"ab👍🏽cd", 4, "ab"},                // skin tone
		{"ab👩\u200d👩\u200d👧", 6, "ab"},     // family
		{"a🇩🇪🇫🇷", 5, "a🇩🇪"},                // flags are pairs
		{"a🇩🇪🇫🇷", 3, "a"},                  // half of one
		{"发布页面", 2, "发布"},                  // one unit each
		{"a⟦U+202E⟧b", 5, "a"},             // an escape stays whole
		{"𝔸𝔹", 3, "𝔸"},                     // surrogates
		{strings.Repeat("👍🏽", 300), 0, ""}, // nothing fits
	}
	for _, tt := range tests {
		if got := tt.s[:fit.CutAt(tt.s, tt.limit)]; got != tt.want {
			t.Errorf("fit.CutAt(%q, %d) leaves %q, want %q", tt.s, tt.limit, got, tt.want)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a👩\u200d👩\u200d👧⟦U+202E⟧", 5)
	f.Add(strings.Repeat("\u200d", 500), 100)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		s = chat.Visible(s)
		if limit < 0 || limit > 1<<20 {
			return
		}
		at := fit.CutAt(s, limit)
		if fit.Units(s[:at]) > limit || !utf8.ValidString(s[:at]) || s[:at]+s[at:] != s {
			t.Fatalf("fit.CutAt(%q, %d) = %d", s, limit, at)
		}
		if limit >= 60 {
			if got := fit.CutNoted(s, limit, "en"); fit.Units(got) > limit {
				t.Fatalf("fit.CutNoted gave %d units of %d", fit.Units(got), limit)
			}
		}
	})
}
