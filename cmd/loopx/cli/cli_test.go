package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"loopx/kernel"
)

func TestSplitText(t *testing.T) {
	long := strings.Repeat("é", 300)
	for _, tt := range []struct {
		text, title, body string
		prio              int // -1: none
	}{
		{"Write it", "Write it", "", -1},
		{"[P0] Write it", "Write it", "", 0},
		{"[p3]Write it", "Write it", "", 3},
		{"[P4] Write it", "Write it", "", 3},
		{"[P9] Write it", "[P9] Write it", "", -1},
		{"[Px] Write it", "[Px] Write it", "", -1},
		{"First\nSecond", "First", "First\nSecond", -1},
		{" [P1] First \n\n more ", "First", "First \n\n more", 1},
		{long, strings.Repeat("é", 240), long, -1},
		{"", "", "", -1},
	} {
		title, body, p := splitText(tt.text)
		prio := -1
		if p != nil {
			prio = *p
		}
		if title != tt.title || body != tt.body || prio != tt.prio {
			t.Errorf("splitText(%.20q) = %.30q, %.30q, %d; want %.30q, %.30q, %d", tt.text, title, body, prio, tt.title, tt.body, tt.prio)
		}
	}
}

func TestGateOptions(t *testing.T) {
	got, err := gateOptions([]string{"yes=Yes: now:approve", "no=No:reject", "eta=At 10:30"}, []string{"yes=it goes live"})
	if err != nil {
		t.Fatal(err)
	}
	want := []kernel.Option{{ID: "yes", Label: "Yes: now", Outcome: "approve", Consequence: "it goes live"}, {ID: "no", Label: "No", Outcome: "reject"}, {ID: "eta", Label: "At 10:30"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range [][2][]string{{{"yes"}, nil}, {{"yes=Yes"}, {"no=x"}}, {nil, {"no"}}} {
		if _, err := gateOptions(bad[0], bad[1]); kernel.AsError(err).Class != kernel.Invalid {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestEvidenceKinds(t *testing.T) {
	got, err := evidence([]string{"done", "check: 212/212", "see: this", `{"kind":"metric","summary":"p50","ref":"x"}`})
	if err != nil {
		t.Fatal(err)
	}
	want := []kernel.EvidenceArg{{Summary: "done"}, {Kind: "check", Summary: "212/212"}, {Summary: "see: this"}, {Kind: "metric", Summary: "p50", Ref: "x"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestShowNeutralises(t *testing.T) {
	for _, s := range []string{"a\x1b[2Jb", "a\rb", "a\nrefused: b", "a\u202eb", "a\x00b", "a\u200bb", "a\xffb"} {
		got := show(s, 80)
		if strings.ContainsAny(got, "\x1b\r\n\x00\u202e\u200b") || strings.Contains(got, "\xff") {
			t.Errorf("show(%q) = %q", s, got)
		}
	}
	if got := show(strings.Repeat("宽", 10), 9); columns(got) > 9 || !strings.HasSuffix(got, "…") {
		t.Errorf("a wide text was cut to %q, %d columns", got, columns(got))
	}
}

func TestTableStaysWithinItsWidth(t *testing.T) {
	a := newApp(t.Context(), Options{Out: &bytes.Buffer{}})
	text := a.table([][]string{{"todo_1", "P1", "宽宽", strings.Repeat("long ", 40)}, {"todo_22", "P2", "x", "short"}})
	for line := range strings.Lines(text) {
		if n := columns(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if want := "todo_22  P2  x     short\n"; !strings.HasSuffix(text, want) {
		t.Errorf("not aligned:\n%s", text)
	}
}

func TestValidationIsBounded(t *testing.T) {
	dir := t.TempDir()
	a := newApp(t.Context(), Options{Out: &bytes.Buffer{}, Env: append(os.Environ(), "LOOPX_LEASE=lease_secret")})
	a.patience = 300 * time.Millisecond
	began := time.Now()
	// A grandchild that outlives its parent and holds the output open.
	err := a.validate([]string{"sh", "-c", "sleep 600 & sleep 600"})
	if e := kernel.AsError(err); e.Code != "validation_failed" || !strings.Contains(e.Message, "did not end within") {
		t.Errorf("a program that hangs: %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	a.patience = 20 * time.Second
	err = a.validate([]string{"sh", "-c", `yes | head -c 1000000; printf 'last\033[2J'; exit 9`})
	e := kernel.AsError(err)
	if e.Code != "validation_failed" || len(e.Details["output"]) > 3*validationTail || !strings.Contains(e.Message, "exit code 9") || strings.Contains(e.Details["output"], "\x1b") {
		t.Errorf("a program that floods: %v, %d bytes kept", err, len(e.Details["output"]))
	}
	out := filepath.Join(dir, "env")
	if err := a.validate([]string{"sh", "-c", "env > " + out}); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(out); bytes.Contains(b, []byte("lease_secret")) {
		t.Error("the validation sees the caller's lease")
	}
}

// Every verb that help offers has its own help, and every JSON answer is one line.
func TestHelpOfEveryVerb(t *testing.T) {
	home := t.TempDir()
	run := func(args ...string) (string, string, int) {
		var out, errOut bytes.Buffer
		code := Run(context.Background(), args, []string{"HOME=" + home}, strings.NewReader(""), &out, &errOut)
		return out.String(), errOut.String(), code
	}
	for _, v := range verbs() {
		if out, errOut, code := run(v.name, "--help"); code != 0 || !strings.Contains(out, "Usage:") {
			t.Errorf("%s --help: %d %s", v.name, code, errOut)
		}
		if out, _, code := run("help", v.name); code != 0 || !strings.Contains(out, "Usage:") {
			t.Errorf("help %s: %d", v.name, code)
		}
	}
	out, _, code := run("todo", "add", "--json")
	var m map[string]any
	if json.Unmarshal([]byte(out), &m) != nil || strings.Count(out, "\n") != 1 || code != 3 {
		t.Errorf("an error as JSON: %d %q", code, out)
	}
	// The JSON wish counts wherever it stands, also when parsing fails before it.
	if out, errOut, _ := run("todo", "add", "--bogus", "--format", "json"); !strings.Contains(out, `"code":"usage"`) || errOut != "" {
		t.Errorf("a usage error as JSON: %q %q", out, errOut)
	}
}

func TestLeaseTokenIsNotInHelp(t *testing.T) {
	var out bytes.Buffer
	Run(context.Background(), []string{"todo", "claim", "--help"}, []string{"LOOPX_LEASE=lease_secret", "HOME=/nowhere"}, strings.NewReader(""), &out, &out)
	if strings.Contains(out.String(), "lease_secret") {
		t.Error("help prints the lease token")
	}
}

// What must be read whole goes on in further lines under its own column.
func TestWrapped(t *testing.T) {
	p := &printer{width: 40}
	got := p.wrapped([][]string{{"todo_1", "P1", strings.Repeat("word ", 9) + "宽宽宽宽宽宽 end"}, {"todo_22", "P2", "short"}, {"x", "P3", ""}})
	want := "todo_1   P1  word word word word word\n" +
		"             word word word word\n" +
		"             宽宽宽宽宽宽 end\n" +
		"todo_22  P2  short\n" +
		"x        P3\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
