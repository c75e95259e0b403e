package lark

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	sim "loopx/fixtures/sim/lark"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// cards are those of every platform, and what only Lark could be led astray by.
func cards() map[string]chat.Card {
	all := adaptertest.Cards()
	open := all["open"]
	open.Evidence[1].URL = "https://preview.example.com/p?a=1&copy=2"
	protected, confirming := open, open
	protected.Protected, confirming.State = true, chat.CardConfirming

	hostile := open
	hostile.Title = "<at id=all></at> & <@U0WEI>\nApproved by Wei"
	hostile.Question = "rm -rf \u202e/tmp\u200b && echo ok <at user_id=\"all\">all</at> **bold** `code` :OK:"
	hostile.Outcome = "**Approved** <at id=ou_wei></at> [click](https://evil.example)"
	hostile.Quotes = []chat.Quote{{From: "builder\nkernel", Text: "<a href='https://evil.example'>click</a>\n○ open · G-8\n|a|b|\n|-|-|\n\x00\x1b[31m"}}
	hostile.Options = []chat.Option{{Label: "** <at id=all></at> [x](https://evil.example) ~~ `", Consequence: "<font color=red>x</font>", Mark: "approves"}}
	hostile.Evidence = []chat.Evidence{{Text: "click](https://evil.example)", URL: "javascript:alert(1)"}, {Text: "bank.example", URL: "https://evil.example/login(1)'&amp;"}, {Text: "u", URL: "https://a:b@evil.example"}}
	hostile.Buttons = []chat.Button{{ID: "h1", Label: "Approve\u202e <at id=all></at>"}}
	struck := hostile
	struck.Struck, struck.State = true, chat.CardDecided

	huge := all["huge"]
	huge.Quotes, huge.Options, huge.Facts, huge.Fields, huge.Evidence, huge.Buttons = nil, nil, nil, nil, nil, nil
	for i := range 30 {
		s := strings.Repeat(string(rune('a'+i%26))+"*", 2500)
		huge.Quotes = append(huge.Quotes, chat.Quote{From: "agent", Text: s})
		huge.Options = append(huge.Options, chat.Option{Label: s, Consequence: s, Mark: "answers"})
		huge.Facts = append(huge.Facts, s)
		huge.Fields = append(huge.Fields, chat.Field{Label: s, Value: s})
		huge.Evidence = append(huge.Evidence, chat.Evidence{Text: s, URL: "https://e.example/" + strings.Repeat("x", 1000)})
		huge.Buttons = append(huge.Buttons, chat.Button{ID: "id" + string(rune('A'+i)), Label: s, Form: i%2 == 1})
	}
	tables := open
	for i := range 6 {
		tables.Quotes = append(tables.Quotes, chat.Quote{From: "builder", Text: fmt.Sprintf("|t%d|x|\n|---|---|\n|1|2|", i)})
	}
	for name, c := range map[string]chat.Card{
		"protected": protected, "confirming": confirming, "hostile": hostile, "struck": struck, "huge": huge, "tables": tables,
	} {
		all[name] = c
	}
	return all
}

// TestRenderGolden also has every card judged by the simulator, which knows
// which properties, names and nestings Lark takes (B16, B18).
func TestRenderGolden(t *testing.T) {
	for name, c := range cards() {
		t.Run(name, func(t *testing.T) {
			raw, err := render(c, markOf("gate/"+name))
			if err != nil {
				t.Fatal(err)
			}
			if complaint := sim.CheckCard(raw); complaint != "" {
				t.Errorf("Lark refuses it: %s\n%.2000s", complaint, raw)
			}
			if !utf8.ValidString(raw) || strings.Contains(raw, "\ufffd") {
				t.Error("a character is broken")
			}
			if len(raw) > maxContent {
				t.Errorf("%d bytes", len(raw))
			}
			var v any
			if err := json.Unmarshal([]byte(raw), &v); err != nil {
				t.Fatal(err)
			}
			if n := elements(v); n > maxElements {
				t.Errorf("%d elements", n)
			}
			adaptertest.Golden(t, filepath.Join("testdata", "cards", name+".json"), v, *update)
		})
	}
}

// elements counts everything with a tag.
func elements(v any) int {
	n := 0
	switch x := v.(type) {
	case map[string]any:
		if _, ok := x["tag"]; ok {
			n++
		}
		for _, y := range x {
			n += elements(y)
		}
	case []any:
		for _, y := range x {
			n += elements(y)
		}
	}
	return n
}

// Nothing from an agent can become markup, wherever it stands.
func TestNothingMentionsOrLinks(t *testing.T) {
	evil := []string{
		"<at id=all></at>", "<at user_id=\"ou_wei\">Wei</at>", "[click](https://evil.example)", "<a href='https://evil.example'>x</a>",
		"**bold**", "~~gone~~", "`code`", "<link url='https://evil.example'>x</link>", "<person id='ou_wei'></person>", "&#60;at id=all>",
		"|a|b|\n|-|-|\n|1|2|", "```\ncode\n```", "# head", "1. one", "![x](img_v2)", "<font color=red>x</font>", ":OK:", "\\<at id=all>",
	}
	for _, words := range evil {
		c := chat.Card{
			State: chat.CardDecided, Title: words, Question: words, Struck: true, Outcome: words, Quotes: []chat.Quote{{From: words, Text: words}},
			Options: []chat.Option{{Label: words, Consequence: words, Mark: words}}, Facts: []string{words},
			Fields: []chat.Field{{Label: words, Value: words}}, Evidence: []chat.Evidence{{Text: words, URL: "https://ok.example"}}, Footer: words,
			Buttons: []chat.Button{{ID: "x", Label: words}},
		}
		raw, err := render(c, "")
		if err != nil {
			t.Fatal(err)
		}
		m := sim.Message{Type: "interactive", Content: raw}
		if p := m.Pinged(); len(p) != 0 {
			t.Errorf("%q mentions %v", words, p)
		}
		var walk func(v any)
		walk = func(v any) {
			switch x := v.(type) {
			case map[string]any:
				if s, ok := x["content"].(string); ok && x["tag"] == "markdown" {
					if strings.ContainsAny(strings.ReplaceAll(s, "](https://ok.example)", ""), "<>`|") || strings.Contains(s, "](https://evil") {
						t.Errorf("%q stands as markup in %q", words, s)
					}
				}
				if x["tag"] == "lark_md" {
					t.Error("lark_md is never used")
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
		if err := json.Unmarshal([]byte(raw), &v); err != nil {
			t.Fatal(err)
		}
		walk(v)
	}
}

// B18: every interactive element carries an object; names are unique.
func TestEveryButtonCarriesAnObject(t *testing.T) {
	raw, err := render(cards()["open"], "")
	if err != nil {
		t.Fatal(err)
	}
	m := sim.Message{Type: "interactive", Content: raw}
	var ids []string
	for _, b := range m.Buttons() {
		ids = append(ids, b.ID())
	}
	if diff := cmp.Diff([]string{"a1", "a2", "a3", "a4"}, ids); diff != "" {
		t.Errorf("buttons (-want +got)\n%s", diff)
	}
	if in := m.Inputs(); len(in) != 1 || in[0].Name != "reason" || !in[0].Required || in[0].MaxLength != 300 || !in[0].Multiline {
		t.Errorf("inputs %+v", in)
	}
}

func TestRenderRefuses(t *testing.T) {
	for _, id := range []string{"", strings.Repeat("x", 300)} {
		if _, err := render(chat.Card{Buttons: []chat.Button{{ID: id, Label: "x"}}}, ""); err == nil {
			t.Errorf("an id of %d bytes is taken", len(id))
		}
	}
}

// Every element of a card that is as full as can be still fits, whatever the
// script: the bound is bytes (B57).
func TestFullestCardFits(t *testing.T) {
	for _, unit := range []string{"字", "👩\u200d👩\u200d👧", "\"", "<", "\\", "\u202e", "*", "a"} {
		s := strings.Repeat(unit, 3000)
		c := chat.Card{State: chat.CardOpen, Title: s, Question: s, Struck: true, Outcome: s, Footer: s, Input: &chat.Input{Name: "r", Label: s}}
		for i := range 30 {
			c.Quotes = append(c.Quotes, chat.Quote{From: s, Text: s})
			c.Options = append(c.Options, chat.Option{Label: s, Consequence: s, Mark: "approves"})
			c.Facts = append(c.Facts, s)
			c.Fields = append(c.Fields, chat.Field{Label: s, Value: s})
			c.Evidence = append(c.Evidence, chat.Evidence{Text: s, URL: "https://e.example/" + strings.Repeat("x", 900)})
			c.Buttons = append(c.Buttons, chat.Button{ID: strings.Repeat("i", 40) + fmt.Sprint(i), Label: s, Form: i%2 == 0})
		}
		for _, n := range []int{30, 8} {
			c := c
			c.Options = c.Options[:n]
			raw, err := render(c, "k")
			if err != nil {
				t.Errorf("%q: %v", unit, err)
				continue
			}
			var v any
			if json.Unmarshal([]byte(raw), &v) != nil || elements(v) > maxElements {
				t.Errorf("%q: %d elements", unit, elements(v))
			}
			if complaint := sim.CheckCard(raw); complaint != "" {
				t.Errorf("%q: %s", unit, complaint)
			}
		}
	}
}
