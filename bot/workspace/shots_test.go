package workspace

import (
	"fmt"
	"os"
	"testing"
)

// TestShots takes the pictures that people look at before a release.
func TestShots(t *testing.T) {
	if os.Getenv("LOOPX_SHOTS") == "" {
		t.Skip("NOT RUN: set LOOPX_SHOTS to a folder to take pictures")
	}
	for _, lang := range []string{"en-US", "zh-CN"} {
		for _, dark := range []bool{false, true} {
			for _, width := range []int64{390, 1280} {
				name := fmt.Sprintf("%s-%v-%d", lang, map[bool]string{false: "light", true: "dark"}[dark], width)
				t.Run(name, func(t *testing.T) {
					w := newWorld(t)
					p := w.page(t, t.TempDir(), func(o *Options, _ *Page) { o.OpenAsOwner = true })
					height := int64(844)
					b := newBrowser(t, p, width, height, dark, lang)
					b.open(p)
					b.sees("Publish the new pricing page?")
					b.shot(name + "-overview")
					b.to("#/goal/site/work")
					b.sees("Write the FAQ")
					b.until(`!!document.querySelector('.columns')`)
					b.shot(name + "-goal")
					b.to("#/chat")
					b.until(`!!document.querySelector('.log .card')`)
					b.shot(name + "-chat")
					b.to("#/more")
					b.until(`!!document.querySelector('.more')`)
					b.shot(name + "-more")
					b.clean()
				})
			}
		}
	}
}
