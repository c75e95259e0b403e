package cards

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/view"
)

// A golden file is what a person would see; look at it when it changes.
func TestGolden(t *testing.T) {
	var got bytes.Buffer
	if code := Run(nil, &got, os.Stderr); code != 0 {
		t.Fatalf("exit %d", code)
	}
	path := filepath.Join("testdata", "cards.txt")
	if update() {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Fatalf("the cards changed; run with LOOPX_UPDATE=1 and look at %s\n%s", path, got.String())
	}
}

func update() bool { return os.Getenv("LOOPX_UPDATE") != "" && flag.Parsed() }

// Both languages have every word.
func TestWordsComplete(t *testing.T) {
	for _, lang := range []string{"en", "zh"} {
		v := reflect.ValueOf(wordsOf(lang))
		for i := range v.NumField() {
			if v.Field(i).String() == "" && v.Type().Field(i).Name != "gap" {
				t.Errorf("%s has no word for %s", lang, v.Type().Field(i).Name)
			}
		}
	}
}

// Chat text needs no inside knowledge, and a settled card has no live buttons.
func TestPlainLanguage(t *testing.T) {
	for _, s := range Samples() {
		text := strings.ToLower(chat.PlainText(s.Card))
		for _, word := range []string{" lease", "revision", "digest", "frontier", "journal", "token", "gate_", "todo_", "successfully", "!"} {
			if strings.Contains(text, word) {
				t.Errorf("%s says %q:\n%s", s.Name, word, text)
			}
		}
		if strings.HasPrefix(s.Name, "gate-change") || strings.HasPrefix(s.Name, "gate-not-me") || strings.HasPrefix(s.Name, "gate-changeable") {
			continue // what can be taken back says so with a button
		}
		if strings.HasPrefix(s.Name, "gate-onlooker") {
			continue // it is open, and not for its reader to answer
		}
		live := s.Card.State == chat.CardOpen || s.Card.State == chat.CardConfirming
		if live != (len(s.Card.Buttons) > 0) {
			t.Errorf("%s is %s and has %d buttons", s.Name, s.Card.State, len(s.Card.Buttons))
		}
	}
}

// What a person would approve is fixed by a digest, or the card says that it is not.
func TestContentsNotFixed(t *testing.T) {
	g := view.Gate{Code: "G-7", Kind: "destructive", Language: "en", Question: "Run `./tools/drop.sh`?", Status: kernel.GateOpen}
	says := func(what string) bool {
		return strings.Contains(chat.PlainText(Gate(g, GateCopy{})), what)
	}
	file, any := "contents not fixed: a file it runs", "(00:00, contents not fixed)"
	if !says(file) {
		t.Error("a script without evidence counts as fixed")
	}
	g.Evidence = []view.Evidence{{Kind: "artifact", Ref: "tools/drop.sh", Summary: "drop.sh"}}
	g.Evidence[0].Loose = true
	if !says(file) || !says(any) {
		t.Error("evidence without a digest fixes it")
	}
	g.Evidence[0].Loose = false
	if says(file) || says(any) {
		t.Error("a digest fixes nothing")
	}
	g.Evidence[0].Ref = "tools/other.sh"
	if !says(file) {
		t.Error("the digest of another file fixes it")
	}
	g.Evidence[0].Ref, g.Question = "tools/drop.sh", "Go on?"
	g.Options = []view.Option{{ID: "go", Label: "Go", Consequence: "runs sh second.sh"}}
	if !says(file) {
		t.Error("a script in a consequence is not looked at")
	}
}
