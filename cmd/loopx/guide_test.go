package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loopx/bot/client"
)

const guide = "../../docs/guides/custom-runtime.sh"

// environ is a clean environment for a program of a test: no marker of a host, no
// identity of whoever runs the tests. Under the race detector each program would
// sleep a second before it ends; races are reported without that, too.
func environ(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(home), "TMPDIR=" + os.TempDir(), "LOOPX_HOME=" + home, "NO_COLOR=1", "TZ=UTC", "GORACE=atexit_sleep_ms=0"}
}

func tempHome(t *testing.T) client.Home {
	t.Helper()
	h, err := client.FindHome(filepath.Join(t.TempDir(), "home"), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The guide's script runs as it stands, on the file and through a daemon.
func TestCustomRuntime(t *testing.T) {
	for _, mode := range []string{"file", "daemon"} {
		t.Run(mode, func(t *testing.T) {
			home := tempHome(t)
			if mode == "daemon" {
				d := startProcess(t, home)
				defer d.stop(t)
			}
			c := exec.CommandContext(t.Context(), "sh", guide, "demo", "builder")
			c.Env = environ(home.Dir)
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range []string{`"appended":true,"goal_id":"demo"`, `"slots":1`, `"spent_slots":1`, `"effective_action":"terminal"`} {
				if !strings.Contains(string(out), want) {
					t.Errorf("the output lacks %s:\n%s", want, out)
				}
			}
		})
	}
}

// Every command the guide's text shows is in the script that is run.
func TestGuideShowsWhatRuns(t *testing.T) {
	text, err := os.ReadFile(strings.TrimSuffix(guide, ".sh") + ".md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"status", "todo add", "todo claim", "quota should-run", "todo complete", "refresh-state", "quota spend-slot"} {
		for name, b := range map[string][]byte{"guide": text, "script": script} {
			if !strings.Contains(string(b), "loopx "+verb) {
				t.Errorf("the %s lacks loopx %s", name, verb)
			}
		}
	}
}
