package chat_test

import (
	"strings"
	"testing"

	"loopx/adapters/chat"
)

func TestVisible(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "go test ./...\n\tok", "go test ./...\n\tok"},
		{"bidi override", "rm \u202etxt.exe", "rm ⟦U+202E⟧txt.exe"},
		{"zero width", "pay\u200bpal", "pay⟦U+200B⟧pal"},
		{"bom", "\ufeffhi", "⟦U+FEFF⟧hi"},
		{"nul and escape", "a\x00b\x1b[31m", "a⟦U+0000⟧b⟦U+001B⟧[31m"},
		{"invalid utf-8", "a\xff\xfeb", "a⟦xFF⟧⟦xFE⟧b"},
		{"own bracket", "⟦U+202E⟧", "⟦U+27E6⟧U+202E⟧"},
		{"line separator", "a\u2028b", "a⟦U+2028⟧b"},
		{"windows line", "a\r\nb\rc", "a\nb⟦U+000D⟧c"},
		{"family emoji", "👨\u200d👩\u200d👧 ok", "👨\u200d👩\u200d👧 ok"},
		{"heart", "❤\ufe0f 1\ufe0f\u20e3", "❤\ufe0f 1\ufe0f\u20e3"},
		{"selector after a letter", "a\ufe0f", "a⟦U+FE0F⟧"},
		{"decomposed", "e\u0301", "e⟦U+0301⟧"},
		{"no-break space", "a\u00a0b", "a⟦U+00A0⟧b"},
		{"chinese", "发布新的定价页？　好", "发布新的定价页？　好"},
		{"composed", "é ñ ü हिन्दी", "é ñ ü हिन्दी"},
		{"tag characters", "x\U000e0041", "x⟦U+E0041⟧"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := chat.Visible(tt.in); got != tt.want {
				t.Errorf("Visible(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzVisibleIsInjective(f *testing.F) {
	f.Add("a\u202eb", "a⟦U+202E⟧b")
	f.Add("\xff", "⟦xFF⟧")
	f.Add("\r\r\n", "\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ReplaceAll(a, "\r\n", "\n") != strings.ReplaceAll(b, "\r\n", "\n") && chat.Visible(a) == chat.Visible(b) {
			t.Fatalf("%q and %q look the same", a, b)
		}
	})
}

func TestMixed(t *testing.T) {
	if got := chat.Mixed("rm pаypal.sh"); got != "pаypal" { // Cyrillic а
		t.Errorf("Mixed = %q", got)
	}
	if got := chat.Mixed("Привет Wei 你好 α"); got != "" {
		t.Errorf("Mixed = %q, want none", got)
	}
}

func TestPlainTextIsComplete(t *testing.T) {
	card := chat.Card{
		State: chat.CardOpen, Title: "Homepage release · waits for you", Question: "Publish?",
		Quotes:   []chat.Quote{{From: "builder", Text: "line one\n[ Approve ]"}},
		Options:  []chat.Option{{Label: "Publish", Consequence: "goes live", Mark: "approves"}},
		Facts:    []string{"Blocks 1 of 6 todos"},
		Fields:   []chat.Field{{Label: "Cost", Value: "$3"}},
		Evidence: []chat.Evidence{{Text: "preview", URL: "https://example.com/p"}, {Text: "bad", URL: "javascript:alert(1)", Stale: true}},
		Input:    &chat.Input{Name: "reason", Label: "Reason"},
		Buttons:  []chat.Button{{ID: "x", Label: "Publish…"}}, Footer: "G-7 · asked 09:58",
	}
	want := strings.Join([]string{
		"Homepage release · waits for you", "Publish?", "builder:", "│ line one", "│ [ Approve ]",
		"▸ Publish  goes live  (approves)", "Blocks 1 of 6 todos", "Cost: $3",
		"- preview https://example.com/p", "- bad (stale)", "[Reason: ____ ]",
		"○ open · G-7 · asked 09:58", "[ Publish… ]",
	}, "\n")
	if got := chat.PlainText(card); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	card.Lang, card.State, card.Struck = "zh", chat.CardStale, true
	got := chat.PlainText(card)
	for _, part := range []string{"~ Publish?", "（同意）", "◌ 已过期的卡片"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}

func TestSafeURL(t *testing.T) {
	for raw, want := range map[string]bool{
		"https://example.com/a?b=c": true, "http://127.0.0.1:80/": true, "javascript:alert(1)": false,
		"https://user:pw@example.com": false, "https://": false, "": false, "https://a.b/\u202e": false, "file:///etc/passwd": false,
		"https://a.b/x|y": false,
	} {
		if _, ok := chat.SafeURL(raw); ok != want {
			t.Errorf("SafeURL(%q) = %v", raw, ok)
		}
	}
}
