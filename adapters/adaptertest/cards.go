package adaptertest

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopx/adapters/chat"
)

// Cards are cards of each kind, by the names of golden files: plain ones, one in
// Chinese, one that tries to be something else, and one that fits nowhere. Each
// call makes them anew.
func Cards() map[string]chat.Card {
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

// Golden compares v, as JSON, with a file; update writes the file.
func Golden(t *testing.T, file string, v any, update bool) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if update {
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
