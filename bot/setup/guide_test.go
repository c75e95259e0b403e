package setup

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "copy the guides into the wizard")

// What the wizard shows and what the guide says is one text.
func TestGuideAndWizardAgree(t *testing.T) {
	for _, p := range platforms() {
		file := filepath.Join("..", "..", "docs", "guides", p.name+".md")
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := string(raw)
		from, to := strings.Index(page, "\n\n")+2, strings.Index(page, "\n## 2.")
		if from < 2 || to < from || !strings.Contains(page[from:to], "\n## 1. Create the app\n") {
			t.Fatalf("%s has lost its first step", file)
		}
		agree := func(part, text, what string) {
			if *update {
				if err := os.WriteFile(filepath.Join("guide", p.name+part+".md"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if text != p.page(part) {
				t.Errorf("bot/setup/guide/%s%s.md is not what %s says %s: go test ./bot/setup -update", p.name, part, file, what)
			}
		}
		agree("", page[from:to], "up to its second step")
		if _, ok := p.called(); ok {
			_, rest, found := strings.Cut(page, "\n## Without a websocket\n")
			text, _, more := strings.Cut(rest, "\n## ")
			if !found || !more || !strings.Contains(text, "loopx-bot setup "+p.name+" --webhook") {
				t.Fatalf("%s does not say how to do without a websocket", file)
			}
			agree(".webhook", "## Without a websocket\n"+text, "of doing without a websocket")
		}
		if !strings.Contains(page[to:], "loopx-bot setup "+p.name) {
			t.Errorf("%s does not name the command", file)
		}
	}
}

// On a terminal nothing is wider than it, no marks are left, and what is to be
// pasted stands there as in the guide.
func TestGuideOnATerminal(t *testing.T) {
	for _, p := range modes() {
		shown := plain(p.guide())
		_, blocks := fenced(p.guide())
		if len(blocks) == 0 {
			t.Errorf("%s: nothing to paste", p.name)
		}
		for _, b := range blocks {
			if !strings.Contains(shown, b) {
				t.Errorf("%s: a block to paste is not as it was:\n%s", p.name, b)
			}
			shown = strings.Replace(shown, b, "", 1)
		}
		for line := range strings.Lines(shown) {
			line = strings.TrimSuffix(line, "\n")
			if columns(line) > width || strings.ContainsAny(line, "`*|#") {
				t.Errorf("%s: %q", p.name, line)
			}
		}
	}
}

func modes() (out []platform) {
	for _, p := range platforms() {
		out = append(out, p.modes()...)
	}
	return out
}

// What is checked is what the guide lets people paste.
func TestScopesAreThoseOfTheGuide(t *testing.T) {
	slack, _ := platformOf("slack")
	if got, want := manifestScopes(slack.guide()), []string{"app_mentions:read", "channels:history", "chat:write", "commands", "files:read", "files:write", "groups:history", "im:history", "im:write", "pins:write", "reactions:write", "users:read"}; !slices.Equal(got, want) {
		t.Errorf("scopes of the manifest: %v, want %v", got, want)
	}
	lark, _ := platformOf("lark")
	for _, p := range larkProbes() {
		if !strings.Contains(lark.guide(), `"`+p.scope+`"`) {
			t.Errorf("the guide of Lark lets nobody add %s", p.scope)
		}
	}
	discord, _ := platformOf("discord")
	if at := invitation(discord.guide(), "700000000000000001"); !strings.Contains(at, "client_id=700000000000000001&scope=bot") {
		t.Errorf("the invitation is %q", at)
	}
}
