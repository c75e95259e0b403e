package discord

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
)

func us() decoder {
	return newDecoder(identity{connection: "work", app: "700000000000000001", user: "700000000000000002"})
}

// TestDecodeGolden decodes each recorded dispatch.
func TestDecodeGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/events/*.in.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded dispatches: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var f struct {
				T string
				D json.RawMessage
			}
			if err := json.Unmarshal(raw, &f); err != nil {
				t.Fatal(err)
			}
			d, err := us().decode(f.T, f.D)
			out := map[string]any{}
			switch {
			case err != nil:
				out["error"] = err.Error()
			case d.ignored != "":
				out["ignored"] = d.ignored
			case d.form != nil:
				out["form"] = d.form.modal()
			default:
				out["events"] = d.events
			}
			adaptertest.Golden(t, strings.TrimSuffix(file, ".in.json")+".out.json", out, *update)
		})
	}
}

func TestIDsAndTimes(t *testing.T) {
	at := time.UnixMilli(1732380802000)
	if got := millis(idAt(at)); got != at.UnixMilli() {
		t.Errorf("the id of a time has the time %d", got)
	}
	for id, want := range map[string]int64{"": 0, "x": 0, "-1": 0, "99999999999999999999999": 0, "4194304": epoch + 1} {
		if got := millis(id); got != want {
			t.Errorf("millis(%q) = %d, want %d", id, got, want)
		}
	}
	for id, want := range map[string]bool{"1": true, "": false, "C0NOWHERE": false, "../x": false, "1700000000.000001": false, strings.Repeat("1", 21): false} {
		if isID(id) != want {
			t.Errorf("isID(%q) = %v", id, !want)
		}
	}
}

func TestMark(t *testing.T) {
	m := &mark{}
	for seq := int64(1); seq <= 5; seq++ {
		if !m.take(seq) || m.take(seq) {
			t.Fatalf("take(%d)", seq)
		}
	}
	for _, step := range []struct{ done, want int64 }{{3, 0}, {1, 1}, {2, 3}, {9, 3}, {4, 4}} {
		if m.done(step.done); m.stored() != step.want {
			t.Errorf("after %d: stored %d, want %d", step.done, m.stored(), step.want)
		}
	}
	m.drop(5) // could not be kept
	if !m.take(5) {
		t.Error("what was given back is not taken again")
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
	f.Add([]byte(`{"t":"CHANNEL_DELETE","d":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var fr struct {
			T string
			D json.RawMessage
		}
		if json.Unmarshal(raw, &fr) != nil {
			return
		}
		d, err := us().decode(fr.T, fr.D)
		if err == nil && len(d.events) == 0 && d.form == nil && d.ignored == "" {
			t.Fatal("a dispatch that is nothing")
		}
		for _, e := range d.events {
			if e.ID == "" || e.Kind == "" || e.Place.Conversation == "" || e.Place.Connection == "" {
				t.Fatalf("incomplete: %+v", e)
			}
		}
		if d.form != nil {
			_ = d.form.modal()
		}
	})
}
