package demo_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// chromium is the browser to test in, or a skip that says why.
func chromium(t *testing.T) string {
	t.Helper()
	path := os.Getenv("LOOPX_CHROMIUM")
	if path == "" {
		path = "/usr/bin/chromium"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("skipped: there is no Chromium at %s; install it or set LOOPX_CHROMIUM", path)
	}
	return path
}

// demoProcess is `loopx-bot demo` as a person starts it.
type demoProcess struct {
	t    *testing.T
	exe  string
	dir  string
	cmd  *exec.Cmd
	out  bytes.Buffer
	gone chan struct{}
}

func newDemo(t *testing.T) *demoProcess {
	t.Helper()
	dir, err := os.MkdirTemp("", "loopx-demo-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &demoProcess{t: t, exe: filepath.Join(t.TempDir(), "loopx-bot"), dir: filepath.Join(dir, "home")}
	if out, err := exec.Command("go", "build", "-o", d.exe, "loopx/cmd/loopx-bot").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return d
}

// start starts the demo and returns the address that opens its page.
func (d *demoProcess) start() string { d.t.Helper(); return d.startWith("page-open.html") }

// startWith starts it with more flags and returns the address in this file.
func (d *demoProcess) startWith(file string, more ...string) string {
	d.t.Helper()
	open := filepath.Join(d.dir, file)
	_ = os.Remove(open)
	d.cmd = exec.Command(d.exe, append([]string{"demo", "--dir", d.dir, "--speed", "600", "--no-open"}, more...)...)
	d.out.Reset()
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.out
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.gone = make(chan struct{})
	go func() { _ = d.cmd.Wait(); close(d.gone) }()
	d.t.Cleanup(d.kill)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		raw, err := os.ReadFile(open)
		if _, rest, ok := strings.Cut(string(raw), "url="); err == nil && ok {
			url, _, _ := strings.Cut(rest, `"`)
			return url
		}
		select {
		case <-tick.C:
		case <-d.gone:
			d.t.Fatalf("the demo ended:\n%s", d.out.String())
		case <-deadline:
			d.t.Fatal("the demo never opened its page")
		}
	}
}

// stop is Ctrl-C.
func (d *demoProcess) stop() {
	d.t.Helper()
	_ = d.cmd.Process.Signal(os.Interrupt)
	select {
	case <-d.gone:
	case <-time.After(20 * time.Second):
		d.t.Fatal("the demo does not stop")
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		d.t.Fatalf("the demo ended with %d:\n%s", code, d.out.String())
	}
}

func (d *demoProcess) kill() {
	_ = d.cmd.Process.Signal(syscall.SIGKILL)
	<-d.gone
}

// tab is one browser window.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func openTab(t *testing.T, url string) *tab {
	t.Helper()
	alloc, cancel := chromedp.NewExecAllocator(t.Context(),
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.Flag("headless", "new"), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en-US"))
	t.Cleanup(cancel)
	ctx, cancel2 := chromedp.NewContext(alloc)
	t.Cleanup(cancel2)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	return b
}

// until waits for an expression to hold on the page.
func (b *tab) until(what, js string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 40*time.Second)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("!!("+js+")", chromedp.WithPollingInterval(50*time.Millisecond))); err != nil {
		b.shot("failed")
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body ? document.body.innerText.slice(0, 3000) : ""`))
		b.t.Fatalf("%s: never (%v); the page says\n%s", what, err, text)
	}
}

// press clicks the button with this label, as a person finds it.
func (b *tab) press(label string) {
	b.t.Helper()
	find := `[...document.querySelectorAll("button, a")].find(x => x.innerText.trim() === ` + quote(label) + ` && x.offsetParent)`
	b.until("a button "+label, find)
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`(() => { const x = `+find+`; x.scrollIntoView(); x.click(); return true })()`)); err != nil {
		b.t.Fatal(err)
	}
}

// write says something in the page's chat.
func (b *tab) write(text string) {
	b.t.Helper()
	// The page takes nothing while it is not connected or still sends; what was
	// typed then stays in the field.
	b.until("a place to write", `(() => { const x = document.querySelector('#say'); return !!x && x.form.querySelector('[type=submit]').getAttribute('aria-disabled') !== 'true' })()`)
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`(() => { const x = document.querySelector('#say'); x.value = `+quote(text)+`; x.form.requestSubmit(); return true })()`)); err != nil {
		b.t.Fatal(err)
	}
	b.until("what was written", `[...document.querySelectorAll('.log *')].some(x => x.innerText === `+quote(text)+`)`)
}

// shots takes pictures at both widths, where LOOPX_SHOTS names a folder.
func (b *tab) shots(name string) {
	b.t.Helper()
	if os.Getenv("LOOPX_SHOTS") == "" {
		return
	}
	b.shot(name)
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(390, 844)); err != nil {
		b.t.Fatal(err)
	}
	b.shot(name + "-390")
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
		b.t.Fatal(err)
	}
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

func says(text string) string { return `document.body.innerText.includes(` + quote(text) + `)` }

// A newcomer opens the demo, sees a gate, answers it with one tap, and sees the
// outcome and the todo it held back go on; after a kill everything is there.
func TestNewcomer(t *testing.T) {
	chromium(t) // before the build, so that a skip is quick
	d := newDemo(t)
	b := openTab(t, d.start())
	b.until("the first gate", says("Book the library hall for Saturday 18 April?"))
	b.until("the second gate", says("Publish the call for volunteers on the town website?"))
	b.until("a gate of another story", says("Spend 180 euros of the club's money on fleece?"))
	for _, story := range []string{"Repair café opening", "Class trip to the lighthouse", "First frost in the allotments"} {
		b.until("the story "+story, says(story))
	}
	b.shots("demo-start")
	b.until("all three stories at work", `["Repair café opening", "Class trip to the lighthouse", "First frost in the allotments"].every(t => [...document.querySelectorAll('[data-key="g-running"] .row-meta')].some(x => x.innerText.includes(t)))`)
	b.shots("demo-start")
	b.until("the note that it is a replay", says("replay"))
	b.press("Book it")
	b.until("a gate that comes later", says("Which coach do we take?"))
	b.until("a watch that calls for a decision", says("Shut off the water for all gardens tonight?"))
	b.shots("demo-later")
	b.press("Blue Line")
	b.until("the outcome on the card", says("decided by"))
	b.press("Publish…")
	b.until("the second step of a protected answer", says("press once more"))
	d.kill()

	b = openTab(t, d.start())
	b.until("the open gate after the crash", says("Publish the call for volunteers on the town website?"))
	b.press("Chat")
	b.until("the decision after the crash", says("decided by"))
	b.until("a todo of the answered gate is taken up", says("taken by"))
	b.until("the decisions of all stories after the crash", says("Which coach do we take?")+" && "+says("Shut off the water for all gardens tonight?"))
	b.shots("demo-after")
	b.press("Shut it off")
	b.until("the review's question, at the latest now", says("By when must the children be back?"))
	// What somebody writes to an agent is answered by it.
	b.write("/to class-trip planner")
	b.until("whom it goes to", says("planner"))
	b.write("how far are you?")
	b.until("the answer of an agent", says("I am a script, and no model reads this."))
	b.shots("demo-chat")
	// What is asked for is corrected in the chat, and each agent plans again.
	b.write("/configure class-trip objective Take class 4b to the lighthouse, back at school by 16:30.")
	b.press("Confirm")
	b.until("the receipt of the correction", says("receipt r"))
	b.press("Overview")
	b.until("four agents that check their part", `[...document.querySelectorAll('main .row-main')].filter(x => x.innerText === "Check my part against what changed").length === 4`)
	d.stop()
}

// The unattended play passes and says what it checked.
func TestPlay(t *testing.T) {
	d := newDemo(t)
	out, err := exec.Command(d.exe, "demo", "play", "--dir", d.dir, "--speed", "2000").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "33 checks, 0 failed") || !strings.Contains(string(out), "whatever order the agents worked: 3afed5a95ec1\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	// The folder is a workspace now, and play does not start over existing data.
	out, err = exec.Command(d.exe, "demo", "play", "--dir", d.dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "folder_used") {
		t.Fatalf("a second play on the folder: %v\n%s", err, out)
	}
}
