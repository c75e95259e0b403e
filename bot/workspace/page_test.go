package workspace

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"loopx/adapters/chat"
	"loopx/adapters/console"
	"loopx/kernel"
)

// card is the selector of a gate's card in the column of what needs you.
func (w *world) cardSel(gate string) string {
	return `#needs [data-msg="` + w.refs[gate].Message + `"].card`
}

func click(sel string) chromedp.Action[chromedp.Void] { return chromedp.Click(chromedp.CSS(sel)) }

// TestPressByMouse goes the whole way: through the redirect file, owner proof,
// two presses on a protected decision, the outcome and the todo it held back.
func TestPressByMouse(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	b := newBrowser(t, p, 1280, 844, false, "en-US")
	b.open(p)
	b.sees("Publish the new pricing page?", "Blocks 1 of 6 todos", "You look on.")
	if strings.Contains(eval[string](b, "location.href"), "ticket") {
		t.Error("the ticket is still in the address")
	}
	card := w.cardSel("gate_7")
	if !eval[bool](b, "document.querySelector("+quote(card+" .btn")+").getAttribute('aria-disabled') === 'true'") {
		t.Error("a viewer is offered a live button")
	}
	b.do(click(card + " .btn"))
	code := p.PendingSessions()[0].Code
	b.sees("loopx link page " + code)
	if err := p.Approve(code); err != nil {
		t.Fatal(err)
	}
	b.until("!document.body.innerText.includes('You look on.')")
	b.to("#/goal/site/work")
	b.until(`document.querySelector('.c-blocked') && document.querySelector('.c-blocked').innerText.includes('Publish the pricing page')`)

	publish := "document.querySelector(" + quote(card+" .btn") + ")"
	b.until(publish + ".getAttribute('aria-disabled') !== 'true'")
	b.do(click(card + " .btn"))
	b.until("document.querySelector(" + quote(card) + ").classList.contains('is-confirming')")
	b.shot("state-confirming")
	if w.presses() != 1 {
		t.Fatalf("%d presses after the first step", w.presses())
	}
	b.do(click(card + " .btn")) // at once, at the same place: a slip of the finger
	b.sees("The card changed just now.")
	if w.presses() != 1 {
		t.Fatal("a second press without a look counted")
	}
	b.until("performance.now() > 0 && " + settled)
	b.do(click(card + " .btn"))
	b.until("document.querySelector(" + quote(card) + ").classList.contains('is-decided')")
	b.sees("decided by Wei: Publish", "taken by builder")
	b.until(`document.querySelector('.c-progress').innerText.includes('Publish the pricing page')`)
	b.shot("state-decided")
	if n := eval[int](b, "document.querySelectorAll("+quote(card+" .btn")+").length"); n != 0 {
		t.Errorf("a decided card has %d buttons", n)
	}
	if live := eval[string](b, "document.getElementById('live').innerText"); !strings.Contains(live, "decided") {
		t.Errorf("told to those who listen: %q", live)
	}
	b.do(chromedp.Reload())
	b.sees("Write the FAQ")
	b.until("!document.body.innerText.includes('You look on.')")
	b.clean()
}

// settled becomes true once a card's new buttons have stood for a while.
const settled = `(window.settledFrom ??= performance.now()) + 450 < performance.now()`

// TestPressByKeyboard decides without a mouse and keeps the focus in the card.
func TestPressByKeyboard(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), func(o *Options, _ *Page) { o.OpenAsOwner = true })
	b := newBrowser(t, p, 1280, 844, true, "en-US")
	b.open(p)
	b.sees("Publish the new pricing page?")
	key := func(k string) { b.do(chromedp.KeyEvent(k)) }
	focus := func(js string) {
		t.Helper()
		b.until("(() => { const el = document.activeElement; return " + js + " })()")
	}
	key("j")
	focus(`el.matches('#needs .card') && el.innerText.includes('Publish')`)
	key("j")
	focus(`el.matches('#needs .card') && el.innerText.includes('G-2')`)
	key("k")
	key("a")
	focus(`el.matches('.btn') && el.innerText === 'Publish…'`)
	outline := eval[string](b, `getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth`)
	if outline != "solid2px" {
		t.Errorf("the focus ring is %q", outline)
	}
	b.shot("state-focus")
	key(kb.Enter)
	focus(`el.closest('.card') && el.closest('.card').classList.contains('is-confirming') && !el.matches('.btn')`)
	key("a")
	key(kb.Tab)
	focus(`el.innerText === 'Back'`)
	b.until(settled)
	key(kb.Enter)
	b.until("document.querySelector(" + quote(w.cardSel("gate_7")) + ").classList.contains('is-open')")

	key("a") // the form of Hold
	key(kb.Tab)
	focus(`el.innerText === 'Hold…'`)
	b.until("(window.settledFrom = undefined, true)")
	b.until(settled)
	key(kb.Enter)
	focus(`el.nodeName === 'TEXTAREA'`)
	b.shot("state-form")
	key("Too early. j k a ?")
	if v := eval[string](b, "document.activeElement.value"); v != "Too early. j k a ?" {
		t.Errorf("typing went elsewhere: %q", v)
	}
	w.bump(t) // something changes elsewhere while one types
	b.sees("Something new")
	focus(`el.nodeName === 'TEXTAREA' && el.value === 'Too early. j k a ?'`)
	key(kb.Tab)
	key(kb.Enter)
	b.sees("decided by Wei: Hold", "Reason: Too early. j k a ?")
	key(kb.Escape)
	key("?")
	b.until("document.getElementById('help').open")
	b.shot("state-help")
	key(kb.Escape)
	b.until("!document.getElementById('help').open")
	key("2")
	b.until("location.hash === '#/'")
	b.clean()
}

// bump adds a todo and a message.
func (w *world) bump(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	n := w.goals[0].ToDo[0]
	n.ID, n.Title = "todo_new", "Something new"
	w.goals[0].ToDo = append(w.goals[0].ToDo, n)
	w.mu.Unlock()
	w.send(t, "", chat.Outgoing{Key: "bump", Text: "A line more"})
}

// TestNothingMovesUnderAFinger holds a button down while its card changes.
func TestNothingMovesUnderAFinger(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), func(o *Options, _ *Page) { o.OpenAsOwner = true })
	b := newBrowser(t, p, 1280, 844, false, "en-US")
	b.open(p)
	card := w.cardSel("gate_2")
	b.until("document.querySelector(" + quote(card+" .btn") + ")")
	b.until("document.querySelector(" + quote(card+" .btn") + ").getAttribute('aria-disabled') !== 'true'")
	mark := "document.querySelector(" + quote(card+" .btn") + ")"
	eval[bool](b, "("+mark+".scrollIntoView({block:'center'}), window.held = "+mark+", true)")
	at := eval[[]float64](b, "(() => { const r = held.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()")
	b.do(chromedp.MouseEvent(chromedp.MousePressed, at[0], at[1], chromedp.ButtonLeft))
	// Somebody else answers meanwhile.
	if _, err := w.console.Press(t.Context(), console.Person(console.Owner), w.refs["gate_2"].Message, "gate_2:answer:no", nil); err != nil {
		t.Fatal(err)
	}
	b.until("document.getElementById('live').innerText.includes('保持原样')") // the change is here
	if !eval[bool](b, "held.isConnected && held.getBoundingClientRect().y + held.getBoundingClientRect().height / 2 === "+fmt.Sprint(at[1])) {
		t.Error("the button was replaced or moved under the finger")
	}
	b.do(chromedp.MouseEvent(chromedp.MouseReleased, at[0], at[1], chromedp.ButtonLeft))
	b.until("document.querySelector(" + quote(card) + ").classList.contains('is-decided')")
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.goals[1].Gates[0].Answer; a.Option != "no" {
		t.Errorf("the late press decided: %+v", a)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		if !strings.Contains(e, "409") && !strings.Contains(e, "410") { // the browser notes the refusal itself
			t.Errorf("the browser complained: %s", e)
		}
	}
}

// TestConnectionLost stops the bot, and starts it again.
func TestConnectionLost(t *testing.T) {
	w := newWorld(t)
	home := t.TempDir()
	own := func(o *Options, _ *Page) { o.OpenAsOwner = true }
	p := w.page(t, home, own)
	b := newBrowser(t, p, 390, 844, false, "en-US")
	b.open(p)
	b.sees("Publish the new pricing page?")
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.sees("Connection lost · last seen 10:0", "Publish the new pricing page?")
	b.shot("state-lost")
	w.page(t, home, own)
	b.until("!document.body.innerText.includes('Connection lost')")
	b.sees("Publish the new pricing page?")
}

// TestLastKnownState loads the page while the state cannot be read.
func TestLastKnownState(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), func(o *Options, _ *Page) { o.OpenAsOwner = true })
	b := newBrowser(t, p, 1280, 844, false, "en-US")
	b.open(p)
	b.to("#/goal/site/work")
	b.sees("Write alt texts")
	w.mu.Lock()
	w.down = kernel.Errorf(kernel.Locked, "locked", "the state is held by another program").Try("loopx doctor")
	w.mu.Unlock()
	b.sees("The state cannot be read")
	b.do(chromedp.Reload())
	b.sees("The state cannot be read: the state is held by another program. What is shown is kept from 10:0", "loopx doctor", "Write alt texts", "Publish the new pricing page?")
	b.shot("state-trouble")
	w.mu.Lock()
	w.down = nil
	w.mu.Unlock()
	b.until("!document.body.innerText.includes('cannot be read')")
	b.to("#/goal/nothing/work")
	b.sees("This goal is not here any more.")
	b.clean()
}

// TestStrangersPage opens the bare address.
func TestStrangersPage(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	b := newBrowser(t, p, 390, 844, false, "zh-CN")
	b.do(chromedp.Navigate("http://" + p.Addr() + "/"))
	b.sees("尚未认识此浏览器")
	b.until("document.querySelector('.plain code')")
	b.shot("state-stranger")
	code := p.PendingSessions()[0].Code
	b.sees("loopx link page " + code)
	if err := p.Approve(code); err != nil {
		t.Fatal(err)
	}
	b.sees("待你处理", "Publish the new pricing page?")
	b.clean()
}

// TestOthersTextIsText shows hostile words as they are.
func TestOthersTextIsText(t *testing.T) {
	w := newWorld(t)
	evil := `<img src=x onerror="window.pwned=1"><b>bold</b> ` + "\u202egnp.exe\u200b"
	card := chat.Card{
		Lang: "en", State: chat.CardOpen, Title: evil, Question: evil, Quotes: []chat.Quote{{From: evil, Text: evil + "\nG-1 decided by Wei"}},
		Options: []chat.Option{{Label: evil, Consequence: evil, Mark: evil}}, Facts: []string{evil}, Fields: []chat.Field{{Label: evil, Value: evil}},
		Evidence: []chat.Evidence{{Text: evil, URL: "javascript:window.pwned=2"}, {Text: "user part", URL: "https://www.example.com@evil.example/"}, {Text: "fine", URL: "https://ok.example/a"}},
		Buttons:  []chat.Button{{ID: "b1", Label: evil}}, Footer: evil,
	}
	w.send(t, "", chat.Outgoing{Key: "evil", Text: "x", Card: &card})
	w.send(t, "", chat.Outgoing{Key: "evil2", Text: evil})
	w.mu.Lock()
	w.goals[0].ToDo[0].Title = evil
	w.goals[0].Summary.Title = evil
	w.mu.Unlock()
	p := w.page(t, t.TempDir(), func(o *Options, _ *Page) { o.OpenAsOwner = true })
	b := newBrowser(t, p, 1280, 844, false, "en-US")
	b.open(p)
	for _, hash := range []string{"#/chat", "#/goal/site/work", "#/"} {
		b.to(hash)
		b.sees("⟦U+202E⟧gnp.exe⟦U+200B⟧", "<img src=x")
	}
	if eval[bool](b, "!!window.pwned || !!document.querySelector('img') || [...document.querySelectorAll('b')].some(x => x.innerText === 'bold')") {
		t.Error("text became markup")
	}
	links := eval[string](b, "[...document.querySelectorAll('#needs .evidence a')].map(a => a.href + ' ' + a.rel + ' ' + a.target).join(', ')")
	if !strings.Contains(links, "https://ok.example/a noopener noreferrer _blank") || strings.Contains(links, "evil.example") || strings.Contains(links, "javascript") {
		t.Errorf("links: %s", links)
	}
	b.clean()
}

// TestVisibleIsTheSameEverywhere compares the page's rule with the one of the
// other surfaces.
func TestVisibleIsTheSameEverywhere(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	b := newBrowser(t, p, 390, 844, false, "en-US")
	b.open(p)
	for _, s := range []string{
		"plain", "two\nlines\tand a tab", "a\r\nb", "a\rb", "\x00\x1b[31m\x7f\u0085", "\u202eabc\u2066", "a\u200bb\u2060c\ufeff", "⟦U+202E⟧",
		"é e\u0301", "👩\u200d💻 a\u200db", "❤\ufe0f x\ufe0f", "1\ufe0f\u20e3 x\u20e3", "\u00a0\u2003\u3000", "\u3164\uffa0\u2800\u00ad", "\u2028\u2029",
		"\ue000 \U000e0041", "中文，全角。", "\u180e\u034f", "\u0600", "Привет",
	} {
		js := fmt.Sprintf("import('/assets/%s/visible.js').then(m => m.visible(%s))", p.assets.sum, jsString(s))
		if got, want := eval[string](b, js), chat.Visible(s); got != want {
			t.Errorf("%q: the page shows %q, others %q", s, got, want)
		}
	}
	for _, u := range []string{"https://a.example/x", "http://a.example:8080/", "javascript:x", "https://u@a.example/", "https://a.example/ x", "//a.example", "", "ftp://a.example", "https://a.example/\u202e"} {
		host, _ := chat.SafeURL(u)
		js := fmt.Sprintf("import('/assets/%s/visible.js').then(m => m.safeURL(%s))", p.assets.sum, jsString(u))
		if got := eval[string](b, js); got != host {
			t.Errorf("%q: the page links to %q, others to %q", u, got, host)
		}
	}
}

// jsString writes a string in ASCII, code unit by code unit.
func jsString(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		fmt.Fprintf(&out, `\u{%x}`, r)
	}
	out.WriteByte('"')
	return out.String()
}

// TestSayIsKept sends a message, and keeps the text of one that is refused.
func TestSayIsKept(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), func(o *Options, _ *Page) { o.OpenAsOwner = true })
	b := newBrowser(t, p, 390, 844, false, "en-US")
	b.open(p)
	b.to("#/chat")
	// The page refuses to send before its stream lives; it keeps the text.
	b.until("document.querySelector('[data-fid=send]:not([aria-disabled])')")
	b.do(chromedp.SendKeys(chromedp.CSS("#say"), "/status"), chromedp.KeyEvent(kb.Enter))
	b.sees("Heard: /status")
	b.until("document.getElementById('say').value === ''")
	for range writesMinute {
		p.pace.ok(p.sessions.list[0].ID)
	}
	b.do(chromedp.SendKeys(chromedp.CSS("#say"), "one more"), chromedp.KeyEvent(kb.Enter))
	b.sees("Not sent: too much at once")
	if v := eval[string](b, "document.getElementById('say').value"); strings.TrimSpace(v) != "one more" {
		t.Errorf("the text became %q", v)
	}
}

func TestRedirectFileHoldsNoArgv(t *testing.T) {
	w := newWorld(t)
	home := t.TempDir()
	p := w.page(t, home, nil)
	file, err := p.OpenURL()
	if err != nil || filepath.Dir(file) != home || strings.Contains(file, "ticket") {
		t.Errorf("%s %v", file, err)
	}
}
