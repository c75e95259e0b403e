package slack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
)

func us() identity {
	return identity{connection: "work", team: "T0SIM", user: "U0BOT", bot: "B0BOT"}
}

// TestDecodeGolden decodes each recorded envelope.
func TestDecodeGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/events/*.in.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded envelopes: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var f frame
			if err := json.Unmarshal(raw, &f); err != nil {
				t.Fatal(err)
			}
			d, err := decode(f, us())
			out := map[string]any{}
			switch {
			case err != nil:
				out["error"] = err.Error()
			case d.ignored != "":
				out["ignored"] = d.ignored
			case d.form != nil:
				view, err := d.form.view()
				if err != nil {
					t.Fatal(err)
				}
				out["form"] = view
			default:
				out["event"] = d.event
			}
			adaptertest.Golden(t, strings.TrimSuffix(file, ".in.json")+".out.json", out, *update)
		})
	}
}

func TestReadText(t *testing.T) {
	tests := []struct {
		raw, want string
		mentions  []chat.Mention
	}{
		{"plain", "plain", nil},
		{"a &lt;b&gt; &amp;amp; c", "a <b> &amp; c", nil},
		{"<@U0BOT> hi <@U1|bob>", "@U0BOT hi @U1", []chat.Mention{{ID: "U0BOT", Self: true}, {ID: "U1"}}},
		{"<!here> <!channel|channel> <!everyone>", "@here @channel @everyone", []chat.Mention{{ID: "here", All: true}, {ID: "channel", All: true}, {ID: "everyone", All: true}}},
		{"<!subteam^S1|@devs>", "@devs", []chat.Mention{{ID: "S1", All: true}}},
		{"see <https://example.com/a?b=1&amp;c=2>", "see https://example.com/a?b=1&c=2", nil},
		{"<https://example.com|example.com>", "https://example.com", nil},
		{"<https://evil.example|bank.example>", "bank.example (https://evil.example)", nil},
		{"mail <mailto:user@example.com|user@example.com>", "mail user@example.com", nil}, // B52
		{"<https://example.com/@handle/x>", "https://example.com/@handle/x", nil},         // B52
		{"<#C1|general> <#C2>", "#general #C2", nil},
		{"<!date^1392734382^{date}|Feb 18>", "Feb 18", nil},
		{"这是**重点**内容 `**x**`", "这是**重点**内容 `**x**`", nil}, // B65
		{"&lt;@U0BOT&gt; typed", "<@U0BOT> typed", nil},   // no mention
		{"open < end", "open < end", nil},
		{"<>", "", nil},
	}
	for _, tt := range tests {
		got, mentions := readText(tt.raw, us())
		if got != tt.want || cmp.Diff(tt.mentions, mentions) != "" {
			t.Errorf("readText(%q) = %q %+v, want %q %+v", tt.raw, got, mentions, tt.want, tt.mentions)
		}
	}
}

func TestMillis(t *testing.T) {
	for ts, want := range map[string]int64{"1700000000.123456": 1700000000123, "1700000000": 1700000000000, "": 0, "x": 0, "-1.2": 0, "9999999999999999.1": 0} {
		if got := millis(ts); got != want {
			t.Errorf("millis(%q) = %d, want %d", ts, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	files, _ := filepath.Glob("testdata/events/*.in.json")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var fr frame
		if json.Unmarshal(raw, &fr) != nil {
			return
		}
		d, err := decode(fr, us())
		if err == nil && d.event == nil && d.form == nil && d.ignored == "" {
			t.Fatal("an envelope that is nothing")
		}
		if d.event != nil && (d.event.ID == "" && fr.Envelope != "" || d.event.Kind == "") {
			t.Fatalf("incomplete: %+v", d.event)
		}
	})
}
