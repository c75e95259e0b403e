package discord

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain words, 10 % off; ok?":        "plain words, 10 % off; ok?",
		"my_var __init__ *b* ~~s~~ `c` ||x": `my\_var \_\_init\_\_ \*b\* \~\~s\~\~ \` + "`" + `c\` + "`" + ` \|\|x`,
		"@everyone <@1> <#2> <t:3>":         `\@everyone \<\@1\> \<#2\> \<t\:3\>`,
		"# head\n  - item\n12. twelve\n> q": `\# head` + "\n" + `  \- item` + "\n" + `12\. twelve` + "\n" + `\> q`,
		"a # b - c 1. d":                    "a # b - c 1. d",
		"[click](https://evil.example)":     `\[click\](https\://evil.example)`,
		":tada: at 10:03":                   `\:tada: at 10\:03`,
		`back\slash`:                        `back\\slash`,
		"":                                  "",
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

// Addresses stay clickable as they are; what only looks like one does not.
func TestEscapeText(t *testing.T) {
	for in, want := range map[string]string{
		"see https://example.com/@handle/x_y_z.":       "see <https://example.com/@handle/x_y_z>.", // B52
		"(https://e.example/a) and http://b.example/?": "(<https://e.example/a>) and <http://b.example/>?",
		"mail user@example.com":                        `mail user\@example.com`, // B52
		"https://a:b@evil.example":                     `https\://a\:b\@evil.example`,
		"xhttps://e.example":                           `xhttps\://e.example`,
		"[a](https://e.example)":                       `\[a\](<https://e.example>)`,
		"https://e.example/<@1>":                       `<https://e.example/>\<\@1\>`,
		"javascript:alert(1)":                          `javascript\:alert(1)`,
		"https://":                                     `https\://`,
	} {
		if got := escapeText(in); got != want {
			t.Errorf("escapeText(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestReadText(t *testing.T) {
	us := identity{connection: "work", app: "7", user: "70"}
	list := []person{{ID: "70"}, {ID: "80"}}
	tests := []struct {
		in       message
		want     string
		mentions []chat.Mention
	}{
		{message{Content: "plain *x* __init__"}, "plain *x* __init__", nil},
		{message{Content: "<@70> hi <@!80>", Mentions: list}, "@70 hi @80", []chat.Mention{{ID: "70", Self: true}, {ID: "80"}}},
		{message{Content: "`<@70>` in code"}, "`<@70>` in code", nil},
		{message{Content: "<@&90> go", MentionRoles: []string{"90"}}, "@90 go", []chat.Mention{{ID: "90", All: true}}},
		{message{Content: "@everyone!", Everyone: true}, "@everyone!", []chat.Mention{{ID: "everyone", All: true}}},
		{message{Content: "@everyone as text"}, "@everyone as text", nil},
		{message{Content: "<#55> <:ok:66> <a:yes:67>"}, "#55 :ok: :yes:", nil},
		{message{Content: "mail user@example.com https://example.com/@h/x", Mentions: list}, "mail user@example.com https://example.com/@h/x", nil}, // B52
		{message{Content: "这是**重点**内容"}, "这是**重点**内容", nil},
	}
	for _, tt := range tests {
		got, mentions := readText(&tt.in, us, tokens())
		if got != tt.want || cmp.Diff(tt.mentions, mentions) != "" {
			t.Errorf("readText(%q) = %q %+v, want %q %+v", tt.in.Content, got, mentions, tt.want, tt.mentions)
		}
	}
}

func TestCutText(t *testing.T) {
	for _, s := range []string{strings.Repeat("*", 9000), strings.Repeat("x", 9000), strings.Repeat("👩\u200d👩\u200d👧", 3000), "short <b>"} {
		got := cutText(s)
		if fit.Units(got) > maxAllText || len(s) > 100 && (fit.Units(got) < maxAllText/2 || !strings.Contains(got, "more characters")) {
			t.Errorf("%.10s: %d units: %q", s, fit.Units(got), got[max(0, len(got)-60):])
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a *b* https://e.example/_x_ @here")
	f.Add("\\\\<@1>\n# x\n1. y")
	f.Fuzz(func(t *testing.T, s string) {
		s = chat.Visible(s)
		for _, got := range []string{escape(s), escapeText(s)} {
			// What is left after taking the backslashes away is the text, and no
			// mark stands without one.
			var b strings.Builder
			free := false // the mark before this was a backslash
			for i := 0; i < len(got); i++ {
				c := got[i]
				if c == '\\' && !free {
					free = true
					continue
				}
				if !free && strings.IndexByte("*_~`|[]", c) >= 0 && !strings.Contains(got, "<http") {
					t.Fatalf("escape(%q) = %q leaves a %q", s, got, c)
				}
				free = false
				b.WriteByte(c)
			}
			if free {
				t.Fatalf("escape(%q) = %q ends in a bare backslash", s, got)
			}
			if !strings.Contains(got, "<http") && b.String() != s {
				t.Fatalf("escape(%q) shows %q", s, b.String())
			}
		}
	})
}
