package slack

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	api "github.com/slack-go/slack"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestRenderGolden(t *testing.T) {
	for name, c := range adaptertest.Cards() {
		t.Run(name, func(t *testing.T) {
			blocks, err := render(c)
			if err != nil {
				t.Fatal(err)
			}
			adaptertest.Golden(t, filepath.Join("testdata", "cards", name+".json"), blocks, *update)
		})
	}
}

// TestRenderKeepsLimits checks by Slack's own words what the schemas cannot.
func TestRenderKeepsLimits(t *testing.T) {
	for name, c := range adaptertest.Cards() {
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
	blocks, err := render(adaptertest.Cards()["huge"])
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
