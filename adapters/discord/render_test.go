package discord

import (
	"bytes"
	"encoding/json"
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestRenderGolden(t *testing.T) {
	for name, c := range adaptertest.Cards() {
		t.Run(name, func(t *testing.T) {
			box, err := render(c)
			if err != nil {
				t.Fatal(err)
			}
			adaptertest.Golden(t, filepath.Join("testdata", "cards", name+".json"), box, *update)
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
	for name, c := range adaptertest.Cards() {
		keepsLimits(t, name, c)
	}
	// What grows most by escaping, and what is widest.
	for name, s := range map[string]string{"marks": "*_~`|", "wide": "👩\u200d👩\u200d👧", "hidden": "\u202e", "lines": "#\n", "colons": ":a"} {
		c := adaptertest.Cards()["huge"]
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
	box, err := render(adaptertest.Cards()["huge"])
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
