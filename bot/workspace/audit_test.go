package workspace

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestLooks measures the page: contrast, sizes, names, overflow, motion, the
// focus ring, silence of the console, and that it asks nobody else.
func TestLooks(t *testing.T) {
	audit, err := os.ReadFile("testdata/audit.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{390, 900, 1280} {
			t.Run(fmt.Sprintf("%d-dark=%v", width, dark), func(t *testing.T) {
				w := newWorld(t)
				p := w.page(t, t.TempDir(), func(o *Options, _ *Page) { o.OpenAsOwner = true })
				b := newBrowser(t, p, width, 844, dark, map[bool]string{false: "en-US", true: "zh-CN"}[dark])
				b.open(p)
				b.sees("Publish the new pricing page?")
				for hash, sign := range map[string]string{
					"#/": "#needs .card", "#/goal/site/work": ".columns", "#/goal/docs/work": ".columns", "#/goal/site/chat": ".log .card",
					"#/goal/site/evidence": ".proof", "#/goal/docs/evidence": ".empty", "#/goal/audit/work": ".empty", "#/goals": "h1", "#/chat": "#say", "#/more": ".choice",
				} {
					b.to(hash)
					b.until("document.querySelector('#main " + sign + ", #needs" + sign + ", " + sign + "')")
					for _, complaint := range eval[[]string](b, string(audit)) {
						t.Errorf("%s: %s", hash, complaint)
					}
				}
				b.to("#/")
				b.until("document.querySelector('.fold')")
				for i := range 25 { // the ring is there wherever Tab leads
					b.do(chromedp.KeyEvent(kb.Tab))
					ring := eval[string](b, `(() => { const el = document.activeElement; if (el === document.body) return 'body'; const s = getComputedStyle(el); return s.outlineStyle === 'solid' && parseFloat(s.outlineWidth) >= 2 && el.checkVisibility() ? '' : el.outerHTML.slice(0, 120) })()`)
					if ring == "body" {
						break
					}
					if ring != "" {
						t.Errorf("Tab %d: no ring on %s", i+1, ring)
					}
				}
				if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}}); err != nil {
					t.Fatal(err)
				}
				if moving := eval[int](b, `[...document.querySelectorAll('*')].filter(el => getComputedStyle(el).transitionDuration.split(',').some(d => parseFloat(d) > 0)).length`); moving > 0 {
					t.Errorf("%d elements move although motion is to be reduced", moving)
				}
				b.clean()
			})
		}
	}
}
