package demo_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// on is an expression about one phone.
func on(platform, js string) string {
	return `(p => p && (` + js + `))(document.querySelector('[data-platform="` + platform + `"]'))`
}

// card finds the card with this text on a phone.
func card(platform, text, js string) string {
	return on(platform, `(m => m && (`+js+`))([...p.querySelectorAll('.message:not(.mine)')].find(m => m.innerText.includes(`+quote(text)+`)))`)
}

// pressOn presses a button of a card on a phone.
func (b *tab) pressOn(platform, text, label string) {
	b.t.Helper()
	find := card(platform, text, `[...m.querySelectorAll('button')].find(x => x.innerText.trim() === `+quote(label)+`)`)
	b.until("a button "+label+" on "+platform, find)
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`(`+find+`.click(), true)`)); err != nil {
		b.t.Fatal(err)
	}
}

// shot takes a picture for people to look at, where LOOPX_SHOTS names a folder.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("LOOPX_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// Three phones show one decision; a press on any of them shows on all, the second
// press of a protected one on the phone where the first was made.
func TestPhones(t *testing.T) {
	chromium(t) // before the build, so that a skip is quick
	d := newDemo(t)
	address := d.startWith("phones-open.html", "--platforms")
	b := openTab(t, address)
	all := []string{"slack", "discord", "lark"}
	const hall, website = "Book the library hall", "Publish the call for volunteers"
	for _, p := range all {
		b.until("the first card on "+p, card(p, hall, `m.querySelectorAll('button').length > 1`))
		b.until("the second card on "+p, card(p, website, `m.querySelectorAll('button').length > 1`))
	}
	b.shot("phones-open")
	b.pressOn("discord", hall, "Book it")
	for _, p := range all {
		b.until("the decision on "+p, card(p, hall, `m.innerText.includes('decided by Wei') && [...m.querySelectorAll('button')].every(x => x.innerText === 'Change')`))
	}
	b.pressOn("lark", website, "Publish…")
	b.until("the second step on lark", card("lark", website, `[...m.querySelectorAll('button')].some(x => x.innerText.startsWith('Confirm'))`))
	b.shot("phones-confirm")
	b.pressOn("slack", website, "Publish…")
	b.pressOn("slack", website, "Confirm: Publish")
	for _, p := range all {
		b.until("the protected decision on "+p, card(p, website, `m.innerText.includes('decided by Wei') && [...m.querySelectorAll('button')].every(x => x.innerText === 'Change')`))
	}
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](on("slack", `(p.querySelector('.say input').value = 'status', p.querySelector('.say button').click(), true)`))); err != nil {
		t.Fatal(err)
	}
	b.until("the answer to status", on("slack", `[...p.querySelectorAll('.message.mine')].some(m => m.innerText === 'status') && [...p.querySelectorAll('.message:not(.mine)')].at(-1).innerText.includes('Objective')`))
	b.shot("phones-decided")
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(390, 844)); err != nil {
		t.Fatal(err)
	}
	b.until("the phones stand one below the other", `new Set([...document.querySelectorAll('.phone')].map(p => p.getBoundingClientRect().left)).size === 1 && document.documentElement.scrollWidth <= innerWidth`)
	b.shot("phones-narrow")

	// Who does not know the address, or comes from another page, sees nothing.
	base := address[:strings.LastIndex(strings.TrimSuffix(address, "/"), "/")+1]
	for name, ask := range map[string]func(*http.Request){
		"another host":   func(r *http.Request) { r.Host = "evil.example" },
		"another origin": func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"no key":         func(r *http.Request) { r.URL.Path = "/state" },
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"state", nil)
		if err != nil {
			t.Fatal(err)
		}
		ask(req)
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d at %s", name, resp.StatusCode, base)
		}
	}
	d.stop()
}
