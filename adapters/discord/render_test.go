package discord

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares v, as JSON, with a file.
func golden(t *testing.T, file string, v any) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (make it with -update and look at it)", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got)\n%s", file, diff)
	}
}

// Cards of each kind; the names are those of the golden files.
func cards() map[string]chat.Card {
	open := chat.Card{
		State: chat.CardOpen, Title: "Homepage release · waits for you", Question: "Publish the new pricing page?",
		Quotes:  []chat.Quote{{From: "builder asks", Text: "Checks pass, copy reviewed by Ana.\nPrices match the sheet."}},
		Options: []chat.Option{{Label: "Publish", Consequence: "goes live at once on www.example.com", Mark: "approves"}, {Label: "Hold", Consequence: "stays in draft", Mark: "rejects"}},
		Facts:   []string{"Blocks 1 of 6 todos · 2 others go on"},
		Evidence: []chat.Evidence{
			{Text: "tests 212/212 (10:01)"}, {Text: "preview", URL: "https://preview.example.com/p?a=1&b=2"}, {Text: "load test", Stale: true},
		},
		Input:   &chat.Input{Name: "reason", Label: "Why?", Required: true, Multi: true, Max: 300},
		Buttons: []chat.Button{{ID: "a1", Label: "Publish…", Form: false}, {ID: "a2", Label: "Hold…", Form: true}, {ID: "a3", Label: "Show all"}, {ID: "a4", Label: "Snooze"}},
		Footer:  "G-7 · asked 09:58 · expires never · by hook",
	}
	decided := open
	decided.State, decided.Title, decided.Struck = chat.CardDecided, "Homepage release · published by Wei", true
	decided.Outcome = "Publish, by Wei (owner, linked 3 Dec) at 10:03 · taken by builder 10:03"
	decided.Quotes, decided.Options, decided.Evidence, decided.Input = nil, nil, nil, nil
	decided.Buttons = []chat.Button{{ID: "b1", Label: "Details"}}
	final := decided
	final.Buttons = nil

	zh := open
	zh.Lang, zh.Title, zh.Question = "zh", "首页发布 · 待你处理", "现在发布新的定价页吗？"
	zh.Options = []chat.Option{{Label: "发布", Consequence: "立即上线", Mark: "approves"}, {Label: "暂缓", Mark: "rejects"}}
	zh.Quotes, zh.Facts, zh.Footer = []chat.Quote{{From: "builder 询问", Text: "检查通过"}}, []string{"阻塞 6 个任务中的 1 个"}, "G-7 · 09:58 提出"

	hostile := open
	hostile.Title = "<!channel> & <@U0WEI>\nApproved by Wei"
	hostile.Question = "rm -rf \u202e/tmp\u200b && echo ok <!here> @everyone *bold* `code` :tada:"
	hostile.Quotes = []chat.Quote{{From: "builder\nkernel", Text: "<https://evil.example|click> &lt;ok&gt;\n○ open · G-8\n\x00\x1b[31m"}}
	hostile.Evidence = []chat.Evidence{{Text: "click", URL: "javascript:alert(1)"}, {Text: "bank.example", URL: "https://evil.example/login"}, {Text: "u", URL: "https://a:b@evil.example"}}
	hostile.Buttons = []chat.Button{{ID: "h1", Label: "Approve\u202e <!channel>"}}

	huge := open
	huge.Title = strings.Repeat("标题 ", 100)
	huge.Question = strings.Repeat("why 👩\u200d👩\u200d👧 ", 2000)
	huge.Quotes, huge.Options, huge.Facts, huge.Fields, huge.Evidence, huge.Buttons = nil, nil, nil, nil, nil, nil
	for i := range 30 {
		s := strings.Repeat(string(rune('a'+i%26)), 5000)
		huge.Quotes = append(huge.Quotes, chat.Quote{From: "agent", Text: s})
		huge.Options = append(huge.Options, chat.Option{Label: s, Consequence: s, Mark: "answers"})
		huge.Facts = append(huge.Facts, s)
		huge.Fields = append(huge.Fields, chat.Field{Label: s, Value: s})
		huge.Evidence = append(huge.Evidence, chat.Evidence{Text: s, URL: "https://e.example/" + s[:1000]})
		huge.Buttons = append(huge.Buttons, chat.Button{ID: "id" + string(rune('A'+i)), Label: s})
	}

	status := chat.Card{State: chat.CardStale, Title: "Homepage release", Fields: []chat.Field{
		{Label: "Objective", Value: "Ship the new pricing page by Friday"}, {Label: "Next", Value: "builder: write the FAQ (P1), since 09:40"},
	}, Footer: "as of 10:04"}
	return map[string]chat.Card{
		"open": open, "decided": decided, "final": final, "zh": zh, "hostile": hostile, "huge": huge, "status": status,
		"bare": {State: chat.CardExpired},
	}
}

func TestRenderGolden(t *testing.T) {
	for name, c := range cards() {
		t.Run(name, func(t *testing.T) {
			box, err := render(c)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "cards", name+".json"), box)
		})
	}
}

// keepsLimits checks by Discord's own words what the schema cannot.
func keepsLimits(t *testing.T, name string, c chat.Card) {
	t.Helper()
	box, err := render(c)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(box)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(raw) || bytes.Contains(raw, []byte("\ufffd")) {
		t.Errorf("%s: a character is broken", name)
	}
	count, total := 0, 0
	var walk func(any)
	walk = func(v any) {
		switch x := v.(type) {
		case map[string]any:
			count++
			if s, ok := x["content"].(string); ok {
				total += fit.Units(s)
				if strings.TrimSpace(s) == "" {
					t.Errorf("%s: an empty text display", name)
				}
			}
			if s, ok := x["label"].(string); ok && (s == "" || fit.Units(s) > maxLabel) {
				t.Errorf("%s: label %q", name, s)
			}
			if s, ok := x["custom_id"].(string); ok && (s == "" || fit.Units(s) > maxCustomID) {
				t.Errorf("%s: custom_id %q", name, s)
			}
			walk(x["components"])
		case []any:
			for _, y := range x {
				walk(y)
			}
		}
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	walk(v)
	if total > maxAllText || count > maxComponents {
		t.Errorf("%s: %d characters in %d components", name, total, count)
	}
}

func TestRenderKeepsLimits(t *testing.T) {
	for name, c := range cards() {
		keepsLimits(t, name, c)
	}
	// What grows most by escaping, and what is widest.
	for name, s := range map[string]string{"marks": "*_~`|", "wide": "👩\u200d👩\u200d👧", "hidden": "\u202e", "lines": "#\n", "colons": ":a"} {
		c := cards()["huge"]
		long := strings.Repeat(s, 3000)
		c.Title, c.Question, c.Outcome, c.Footer = long, long, long, long
		for i := range c.Quotes {
			c.Quotes[i] = chat.Quote{From: long, Text: long}
			c.Options[i] = chat.Option{Label: long, Consequence: long, Mark: "approves"}
			c.Facts[i], c.Fields[i] = long, chat.Field{Label: long, Value: long}
			c.Evidence[i].Text, c.Buttons[i].Label = long, long
		}
		keepsLimits(t, name, c)
	}
}

func TestOverflowIsCounted(t *testing.T) {
	box, err := render(cards()["huge"])
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(box)
	for _, part := range []string{"more characters", "more quotes", "more options", "more facts", "more fields", "more proofs", "… 5 more buttons", "links left out"} {
		if !strings.Contains(string(raw), part) {
			t.Errorf("%q is not said", part)
		}
	}
}

// B67: a custom_id holds the opaque id, and the form's fields as far as they fit.
func TestButtonIDs(t *testing.T) {
	id := strings.Repeat("x", 26)
	for _, s := range []formSpec{
		{Name: "reason", Label: "Why?", Required: true, Multi: true, Max: 300, Lang: "zh"},
		{Name: "answer"},
		{Name: "reason", Label: strings.Repeat("理由 | ", 200), Max: 3},
	} {
		custom, err := buttonID(chat.Button{ID: id, Form: true}, &s)
		if err != nil || fit.Units(custom) > maxCustomID {
			t.Fatalf("%q %v", custom, err)
		}
		action, got, asks := parseButton(custom)
		if action != id || !asks || !strings.HasPrefix(s.Label, strings.TrimSuffix(got.Label, "…")) || fit.Units(got.Label) < min(fit.Units(s.Label), maxInputLabel) {
			t.Errorf("%q became %q %+v", custom, action, got)
		}
		got.Label, s.Label = "", ""
		if got != s {
			t.Errorf("got %+v, want %+v", got, s)
		}
	}
	for name, b := range map[string]chat.Button{"empty": {}, "long": {ID: strings.Repeat("x", 99)}, "bar": {ID: "a|b"}, "long form": {ID: strings.Repeat("x", 95), Form: true}} {
		if _, err := render(chat.Card{Input: &chat.Input{Name: "reason"}, Buttons: []chat.Button{b}}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, foreign := range []string{"", "approve:{json}", "f|", "f|||||", "x|y"} {
		if action, _, asks := parseButton(foreign); action != foreign || asks {
			t.Errorf("parseButton(%q) = %q %v", foreign, action, asks)
		}
	}
}

func TestNonce(t *testing.T) {
	seen := map[string]bool{}
	for _, key := range []string{"", "a", "b", strings.Repeat("k", 50), strings.Repeat("k", 51)} {
		n := nonce(key)
		if len(n) == 0 || len(n) > maxNonce || seen[n] || n != nonce(key) {
			t.Errorf("nonce(%q) = %q", key, n)
		}
		seen[n] = true
	}
}

func FuzzRender(f *testing.F) {
	f.Add("title", "question @everyone", "quote\n", "label")
	f.Add("", "", "", "")
	f.Add("\xff\x00", "\u202e", "- [x](y) <@1>", "…")
	f.Fuzz(func(t *testing.T, title, question, quote, label string) {
		keepsLimits(t, "card", chat.Card{
			State: chat.CardOpen, Title: title, Question: question, Struck: len(title)%2 == 0, Quotes: []chat.Quote{{From: title, Text: quote}},
			Facts: []string{quote}, Fields: []chat.Field{{Label: label, Value: question}}, Evidence: []chat.Evidence{{Text: label, URL: quote}},
			Options: []chat.Option{{Label: label, Consequence: quote, Mark: "approves"}}, Buttons: []chat.Button{{ID: "x", Label: label}},
		})
	})
}
