package lark

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
)

func us() identity {
	return identity{connection: "work", app: "cli_a0b1c2d3e4f50617", bot: "ou_bot"}
}

// TestDecodeGolden decodes each recorded event; files named after a public
// failure show its right outcome.
func TestDecodeGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/events/*.in.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded events: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d, err := decode(raw, strings.Contains(file, "old_card"), us())
			out := map[string]any{}
			if d.press {
				out["press"] = true
			}
			if len(d.odd) > 0 {
				out["odd"] = d.odd
			}
			if d.private != "" {
				out["private"] = d.private + " with " + d.with
			}
			switch {
			case err != nil:
				out["error"] = err.Error()
			case d.ignored != "":
				out["ignored"] = d.ignored
			default:
				out["event"] = d.event
			}
			adaptertest.Golden(t, strings.TrimSuffix(file, ".in.json")+".out.json", out, *update)
		})
	}
}

// What somebody is comes from the authenticated payload alone, and a guess never
// makes a Human.
func TestSender(t *testing.T) {
	for _, tt := range []struct {
		open, typ, tenant, own string
		want                   chat.UserKind
	}{
		{"ou_wei", "user", "a", "a", chat.Human}, {"ou_eve", "user", "b", "a", chat.External}, {"ou_bty", "app", "a", "a", chat.Bot},
		{"ou_bty", "bot", "a", "a", chat.Bot}, {"ou_bot", "app", "a", "a", chat.Self}, {"ou_wei", "user", "", "a", chat.Unknown},
		{"ou_wei", "user", "a", "", chat.Unknown}, {"", "user", "a", "a", chat.Unknown}, {"ou_wei", "", "a", "a", chat.Unknown},
		{"ou_wei", "anonymous", "a", "a", chat.Unknown},
	} {
		if got := sender(tt.open, tt.typ, tt.tenant, tt.own, us()).Kind; got != tt.want {
			t.Errorf("%+v is %q", tt, got)
		}
	}
}

func TestMillis(t *testing.T) {
	for in, want := range map[string]int64{
		"1700000000123": 1700000000123, "1700000000123456": 1700000000123, "": 0, "x": 0, "-1": 0, "0": 0, "99999999999999999999": 0,
	} {
		if got := millis(in); got != want {
			t.Errorf("millis(%q) = %d, want %d", in, got, want)
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
		f.Add(raw, false)
		f.Add(raw, true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, card bool) {
		d, err := decode(raw, card, us())
		switch {
		case err != nil:
			return
		case (d.event == nil) == (d.ignored == ""):
			t.Fatal("an event that is nothing, or two things")
		case d.event == nil:
			return
		}
		e := d.event
		if e.ID == "" || e.Kind == "" || e.Place.Connection != "work" {
			t.Fatalf("incomplete: %+v", e)
		}
		if e.Kind == chat.CardPressed && (e.Press == nil || e.Sender.ID == "") {
			t.Fatalf("a press by nobody: %+v", e)
		}
		if e.Message != nil {
			for _, m := range e.Message.Mentions {
				if m.Self && m.ID != us().bot || m.ID == "" {
					t.Fatalf("mention %+v", m)
				}
			}
		}
		again, err := decode(raw, card, us())
		if err != nil || asJSON(t, again.event) != asJSON(t, e) {
			t.Fatal("the same event decodes differently")
		}
	})
}

func asJSON(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
