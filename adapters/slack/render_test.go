package slack

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	api "github.com/slack-go/slack"

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
			blocks, err := render(c)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "cards", name+".json"), blocks)
		})
	}
}

// TestRenderKeepsLimits checks by Slack's own words what the schemas cannot.
func TestRenderKeepsLimits(t *testing.T) {
	for name, c := range cards() {
		blocks, err := render(c)
		if err != nil {
			t.Fatal(err)
		}
		if len(blocks) > maxBlocks {
			t.Errorf("%s: %d blocks", name, len(blocks))
		}
		raw, err := json.Marshal(blocks)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(raw) || bytes.Contains(raw, []byte("\ufffd")) {
			t.Errorf("%s: a character is broken", name)
		}
		total := 0
		var walk func(any)
		walk = func(v any) {
			switch x := v.(type) {
			case map[string]any:
				if s, ok := x["text"].(string); ok {
					total += fit.Units(s)
					if s == "" {
						t.Errorf("%s: an empty text object", name)
					}
				}
				for _, y := range x {
					walk(y)
				}
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
		if total > 13000 {
			t.Errorf("%s: all texts together have %d characters", name, total)
		}
	}
}

func TestOverflowIsCounted(t *testing.T) {
	blocks, err := render(cards()["huge"])
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(blocks)
	for _, part := range []string{"more characters]", "… 20 more quotes", "… 10 more options", "… 10 more facts", "… 10 more fields", "… 20 more proofs", "… 5 more buttons", "links left out"} {
		if !strings.Contains(string(raw), part) {
			t.Errorf("%q is not said", part)
		}
	}
	// A text that loses n characters says n.
	s := strings.Repeat("x", 5000)
	got := fit.CutNoted(s, 3000, "en")
	kept := strings.Count(got, "x")
	if !strings.Contains(got, "[2025 more characters]") || kept != 5000-2025 || fit.Units(got) > 3000 {
		t.Errorf("cut to %d with %q", kept, got[kept:])
	}
}

func TestRenderRefusesUselessButtons(t *testing.T) {
	for name, b := range map[string]chat.Button{"empty": {Label: "x"}, "long": {ID: strings.Repeat("x", 256), Label: "x"}} {
		if _, err := render(chat.Card{Buttons: []chat.Button{b}}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestFormSurvivesItsBlockID(t *testing.T) {
	for _, s := range []formSpec{
		{Name: "reason", Label: "Why?", Required: true, Multi: true, Max: 300, Lang: "zh"},
		{Name: "answer"},
		{Name: "reason", Label: strings.Repeat("理由", 200), Max: 3},
	} {
		block := s.block() + ".1"
		if len(block) > maxBlockID {
			t.Errorf("the block id has %d characters", len(block))
		}
		got := parseForm(block)
		if !strings.HasPrefix(s.Label, got.Label) || len(got.Label) < min(len(s.Label), 50) {
			t.Errorf("label %q became %q", s.Label, got.Label)
		}
		got.Label, s.Label = "", ""
		if got != s {
			t.Errorf("got %+v, want %+v", got, s)
		}
	}
	for _, bad := range []string{"", "actions.0", "form1.", "form1.%%%", "form1.e30.0"} {
		if got := parseForm(bad); got.Name != "text" {
			t.Errorf("parseForm(%q) = %+v", bad, got)
		}
	}
}

func TestEscapeTo(t *testing.T) {
	for _, s := range []string{strings.Repeat("&", 9000), strings.Repeat("x", 9000), strings.Repeat("&x<>", 1500), "short <b>"} {
		got := escapeTo(s, maxText)
		if fit.Units(got) > maxText || len(s) > 100 && (fit.Units(got) < maxText/2 || !strings.Contains(got, "more characters]")) {
			t.Errorf("%.10s: %d units: %q", s, fit.Units(got), got[max(0, len(got)-60):])
		}
		var lost int
		if _, note, ok := strings.Cut(got, " … ["); ok {
			if _, err := fmt.Sscanf(note, "%d more", &lost); err != nil {
				t.Fatal(err)
			}
			got, _, _ = strings.Cut(got, " … [")
		}
		if kept := fit.Units(unescape(got)); kept+lost != fit.Units(s) {
			t.Errorf("%.10s: kept %d and counted %d of %d", s, kept, lost, fit.Units(s))
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add("title", "question <!channel>", "quote\n", "label")
	f.Add("", "", "", "")
	f.Add("\xff\x00", "\u202e", "&amp;&lt;", "…")
	f.Fuzz(func(t *testing.T, title, question, quote, label string) {
		blocks, err := render(chat.Card{
			State: chat.CardOpen, Title: title, Question: question, Quotes: []chat.Quote{{From: title, Text: quote}},
			Facts: []string{quote}, Fields: []chat.Field{{Label: label, Value: question}}, Evidence: []chat.Evidence{{Text: label, URL: quote}},
			Options: []chat.Option{{Label: label, Consequence: quote, Mark: "approves"}}, Buttons: []chat.Button{{ID: "x", Label: label}},
		})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(blocks)
		if err != nil || !utf8.Valid(raw) {
			t.Fatalf("%v %q", err, raw)
		}
		for _, b := range blocks {
			if h, ok := b.(*api.HeaderBlock); ok && (fit.Units(h.Text.Text) > maxHeader || h.Text.Text == "") {
				t.Fatalf("header %q", h.Text.Text)
			}
		}
	})
}
