package bot

import (
	"cmp"
	"context"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"loopx/adapters/chat"
	"loopx/bot/workspace"
	"loopx/kernel"
	"loopx/kernel/view"
)

// Commands that change something are typed on the page in a real browser, show
// what they would do, wait for a press, and then show their receipt; what changed
// in between is shown anew before it is done.
func TestPreviewsInTheBrowser(t *testing.T) {
	if _, err := os.Stat(cmp.Or(os.Getenv("LOOPX_CHROMIUM"), "/usr/bin/chromium")); err != nil {
		t.Skipf("NOT RUN: there is no Chromium (%v); install it or set LOOPX_CHROMIUM", err)
	}
	h := newHall(t, chat.Slack)
	home, err := os.MkdirTemp("", "loopx-page-")
	if err != nil {
		t.Fatal(err)
	}
	p := workspace.New(workspace.Options{Service: view.Local{K: h.k}, Chat: h.console, Home: home, OpenAsOwner: true, Version: "0.1.0", Now: h.now})
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(home)
	})
	ctx := window(t, 390, "en-US")
	file, err := p.OpenURL()
	if err != nil {
		t.Fatal(err)
	}
	until := func(what, js string) {
		t.Helper()
		if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("!!("+js+")", chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(15*time.Second))); err != nil {
			text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector('.log') ? document.querySelector('.log').innerText.slice(-1500) : document.body.innerText`))
			t.Fatalf("%s: never (%v); the page says\n%s", what, err, text)
		}
	}
	if err := chromedp.Do(ctx, chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS("#app.app"))); err != nil {
		t.Fatal(err)
	}
	until("the chat", `(location.hash = '#/chat', document.querySelector('[data-fid=send]:not([aria-disabled])'))`)
	const last = `[...document.querySelectorAll('.log .card')].at(-1)`
	const confirm = `[...` + last + `.querySelectorAll('.btn')].find(b => b.innerText.trim() === 'Confirm' && b.getAttribute('aria-disabled') !== 'true')`
	cards := 0
	ask := func(text string) {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.SendKeys(chromedp.CSS("#say"), text), chromedp.KeyEvent(kb.Enter)); err != nil {
			t.Fatal(err)
		}
		cards++
		until("the preview of "+text, `document.querySelectorAll('.log .card').length === `+string(rune('0'+cards))+` && `+confirm)
	}
	// A card must have stood for a moment before its buttons count.
	press := func(key string) {
		t.Helper()
		until("a card that stands still", `((window.stood ??= {})['`+key+`'] ??= performance.now()) + 700 < performance.now() && `+confirm)
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(`+confirm+`.click(), true)`)); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"/new Write a cookbook", "/todo site: Paint the door", "/configure site objective Ship it twice", "/stop site", "/resume site"} {
		ask(text)
		press(text)
		until("the receipt of "+text, last+`.innerText.includes('receipt') && !`+confirm)
	}
	ask("/quota site 20")
	h.do(&kernel.ConfigureGoal{Goal: "site", Allowed: new(15)}, asOwner)
	press("quota")
	until("the change in between", last+`.innerText.includes('15') && `+confirm)
	press("quota again")
	until("the receipt of the quota", last+`.innerText.includes('receipt') && !`+confirm)
	ask("/stop all")
	press("stop all")
	until("everything is stopped", last+`.innerText.includes('receipt') && !`+confirm)
	h.read(func(r *kernel.Reader) {
		goals := r.Goals(10)
		site := r.Goal("site")
		if len(goals) != 2 || site.Allowed != 20 || site.Objective != "Ship it twice" || len(site.Pause) == 0 || r.Counts("site").Open != 1 {
			t.Errorf("%d goals, site is %+v with %d todos", len(goals), site, r.Counts("site").Open)
		}
		for _, g := range goals {
			if len(g.Pause) == 0 {
				t.Errorf("%s goes on", g.ID)
			}
		}
	})
}
