package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"loopx/adapters/chat"
	"loopx/bot/workspace"
	"loopx/fixtures/glass"
	"loopx/kernel/view"
)

// picture is what one face looks like, for people to look at.
type picture struct {
	State  string `json:"state"`
	Native any    `json:"native"`
	Notice string `json:"notice"`
}

// keepShot keeps a face for its picture, where LOOPX_SHOTS names a folder.
func (g *gallery) keepShot(state string, c shown, notice string) {
	g.t.Helper()
	if os.Getenv("LOOPX_SHOTS") == "" {
		return
	}
	if g.v.platform == chat.Console {
		g.pageShot(state, c)
		return
	}
	g.pictures = append(g.pictures, picture{state, g.v.native(g.v.dm(g.who), c.id), notice})
}

// shots draws the faces of a platform side by side, each as wide as a phone.
func (g *gallery) shots(surface, lang string) {
	g.t.Helper()
	if len(g.pictures) == 0 {
		return
	}
	raw, err := json.Marshal(g.pictures)
	if err != nil {
		g.t.Fatal(err)
	}
	file := func(name string) string {
		b, err := glass.Files.ReadFile(name)
		if err != nil {
			g.t.Fatal(err)
		}
		return string(b)
	}
	page := `<!doctype html><meta charset="utf-8"><style>` + file("glass.css") + `
body { margin: 0; padding: 8px; font: 13px/18px system-ui; background: #999; display: grid; grid-template-columns: repeat(3, 390px); gap: 8px; align-items: start; }
.phone { width: 390px; box-sizing: border-box; padding: 12px; background: #fff; }
.phone.discord { background: #1e1f22; color: #fff; }
h1 { font: 600 13px/18px system-ui; margin: 0 0 8px; opacity: .6; }
.only { border: 1px dashed #888; border-radius: 8px; padding: 6px 10px; margin-top: 8px; }
</style><body><script>` + file("glass.js") + `
for (const p of ` + strings.ReplaceAll(string(raw), "</", `<\/`) + `) {
  const phone = document.createElement('div')
  phone.className = 'phone ' + SURFACE
  const head = document.createElement('h1')
  head.textContent = p.state
  phone.append(head, glass(SURFACE, p.native))
  if (p.notice) { const n = document.createElement('div'); n.className = 'only'; n.textContent = p.notice; phone.append(n) }
  document.body.append(phone)
}
</script>`
	page = strings.Replace(page, "<script>", `<script>const SURFACE = "`+surface+`";`, 1)
	path := filepath.Join(g.t.TempDir(), "faces.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		g.t.Fatal(err)
	}
	ctx := window(g.t, 1202, "en-US")
	if err := chromedp.Do(ctx, chromedp.Navigate("file://"+path)); err != nil {
		g.t.Fatal(err)
	}
	shoot(g.t, ctx, "faces-"+surface+"-"+lang, true)
}

// window is a headless browser of this width.
func window(t *testing.T, width int64, lang string) context.Context {
	t.Helper()
	alloc, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()),
		chromedp.ExecPath(cmp.Or(os.Getenv("LOOPX_CHROMIUM"), "/usr/bin/chromium")), chromedp.UserDataDir(t.TempDir()), chromedp.Env("TZ=UTC", "LC_ALL=C.UTF-8"),
		chromedp.Flag("headless", "new"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", lang), chromedp.Flag("accept-lang", lang), chromedp.Flag("hide-scrollbars", true))
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 844)); err != nil {
		t.Fatal(err)
	}
	return ctx
}

func shoot(t *testing.T, ctx context.Context, name string, whole bool) {
	t.Helper()
	take := chromedp.CaptureScreenshot()
	if whole {
		take = chromedp.FullScreenshot(100)
	}
	png, err := chromedp.Run(ctx, take)
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Getenv("LOOPX_SHOTS"), strings.ReplaceAll(name, " ", "-")+".png"), png, 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}

// pageShot takes the real page in a real browser, with the face's card in sight.
func (g *gallery) pageShot(state string, c shown) {
	g.t.Helper()
	lang := "en"
	if g.zh {
		lang = "zh"
	}
	if g.browser == nil {
		home, err := os.MkdirTemp("", "loopx-page-")
		if err != nil {
			g.t.Fatal(err)
		}
		p := workspace.New(workspace.Options{Service: view.Local{K: g.k}, Chat: g.console, Home: home, OpenAsOwner: true, Version: "0.1.0", Now: g.now})
		if err := p.Start(context.WithoutCancel(g.t.Context())); err != nil {
			g.t.Fatal(err)
		}
		g.whole.Cleanup(func() { _ = p.Stop(context.Background()); _ = os.RemoveAll(home) })
		g.browser = window(g.whole, 390, map[string]string{"en": "en-US", "zh": "zh-CN"}[lang])
		file, err := p.OpenURL()
		if err != nil {
			g.t.Fatal(err)
		}
		if err := chromedp.Do(g.browser, chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS("#app.app"))); err != nil {
			g.t.Fatal(err)
		}
	}
	find := `document.querySelector('.log [data-msg="` + c.id + `"]')`
	js := `(location.hash = '#/chat', !!` + find + ` && ` + find + `.innerText.includes(` + quoteJS(firstLine(c.text)) + `) && (` + find + `.scrollIntoView({block: 'center'}), true))`
	if _, err := chromedp.Run(g.browser, chromedp.Poll[bool](js, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(10*time.Second))); err != nil {
		g.t.Error(err)
	}
	shoot(g.t, g.browser, "faces-page-"+lang+"-"+state, false)
}

func firstLine(s string) string { l, _, _ := strings.Cut(s, "\n"); return l }

func quoteJS(s string) string { b, _ := json.Marshal(s); return string(b) } // of a string that is always possible
