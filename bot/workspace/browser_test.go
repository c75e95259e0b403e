package workspace

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browserTab is a tab of a real browser, and what went wrong in it.
type browserTab struct {
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	errors  []string
	foreign []string
}

// newBrowser starts a fresh headless Chromium, or skips the test and says why.
func newBrowser(t *testing.T, page *Page, width, height int64, dark bool, lang string) *browserTab {
	t.Helper()
	path := cmp.Or(os.Getenv("LOOPX_CHROMIUM"), "/usr/bin/chromium")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("NOT RUN: no Chromium at %s (%v); install the package chromium or set LOOPX_CHROMIUM", path, err)
	}
	alloc, cancel := chromedp.NewExecAllocator(t.Context(),
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Env("TZ=UTC", "LC_ALL=C.UTF-8"),
		chromedp.Flag("headless", "new"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-extensions", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("lang", lang), chromedp.Flag("accept-lang", lang), chromedp.Flag("hide-scrollbars", true),
	)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(cancel)
	b := &browserTab{t: t, ctx: ctx}
	own := "http://" + page.Addr() + "/"
	if err := chromedp.Listen(ctx, func(e any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			text := e.ExceptionDetails.Text
			if x := e.ExceptionDetails.Exception; x != nil {
				text += " " + x.Description
			}
			b.errors = append(b.errors, text)
		case *runtime.EventConsoleAPICalled:
			b.errors = append(b.errors, "console."+string(e.Type)) // the page writes nothing there
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
				b.errors = append(b.errors, e.Entry.Text+" "+e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, own) && !strings.HasPrefix(u, "file://") {
				b.foreign = append(b.foreign, u)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	_, err1 := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	_, err2 := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	_, err3 := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, height))
	return b
}

func (b *browserTab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.fail(err)
	}
}

func (b *browserTab) fail(err error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body ? document.body.innerText.slice(0, 3000) : ""`))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.t.Fatalf("%v\nerrors: %v\npage:\n%s", err, b.errors, text)
}

// open goes through the redirect file, as a person's browser does.
func (b *browserTab) open(p *Page) {
	b.t.Helper()
	file, err := p.OpenURL()
	if err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS("#app.app")))
}

// sees waits until the page's visible text holds every one of these.
func (b *browserTab) sees(texts ...string) {
	b.t.Helper()
	for _, s := range texts {
		b.until("document.body.innerText.includes(" + quote(s) + ")")
	}
}

// until waits for an expression to become true.
func (b *browserTab) until(js string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("!!("+js+")", chromedp.WithPollingInterval(50*time.Millisecond))); err != nil {
		b.t.Logf("waited for %s", js)
		b.fail(err)
	}
}

// eval gives the value of an expression; promises are awaited.
func eval[T any](b *browserTab, js string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		b.fail(err)
	}
	return v
}

// to goes to a place of the page.
func (b *browserTab) to(hash string) {
	b.t.Helper()
	eval[string](b, "location.hash = "+quote(hash))
}

// shot keeps a picture when LOOPX_SHOTS names a folder.
func (b *browserTab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("LOOPX_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.fail(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// clean fails the test when the page complained or asked anybody else.
func (b *browserTab) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.errors) > 0 {
		b.t.Errorf("the browser complained: %q", b.errors)
	}
	if len(b.foreign) > 0 {
		b.t.Errorf("requests to others: %q", b.foreign)
	}
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
