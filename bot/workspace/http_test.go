package workspace

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"loopx/kernel"
)

// visitor is a browser without a screen: a cookie jar and the page's key.
type visitor struct {
	t    *testing.T
	page *Page
	http *http.Client
	key  string
}

func newVisitor(t *testing.T, p *Page) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &visitor{t: t, page: p, http: &http.Client{Jar: jar, Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// request builds what the page itself would send.
func (v *visitor) request(method, path, body string) *http.Request {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, "http://"+v.page.Addr()+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Origin", "http://"+v.page.Addr())
		r.Header.Set("Content-Type", "application/json")
	}
	if v.key != "" {
		r.Header.Set(keyHeader, v.key)
	}
	return r
}

// send gives status, body and the refusal's code.
func (v *visitor) send(r *http.Request) (int, string, string) {
	v.t.Helper()
	res, err := v.http.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	var p problem
	if json.Unmarshal(b, &p) == nil && p.Error != nil {
		return res.StatusCode, string(b), p.Error.Code
	}
	return res.StatusCode, string(b), ""
}

// ticket reads the one-time ticket out of a fresh redirect file.
func ticket(t *testing.T, p *Page) string {
	t.Helper()
	file, err := p.OpenURL()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`#ticket=([A-Z2-7]+)`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("no ticket in %s", b)
	}
	return string(m[1])
}

func (v *visitor) signIn(ticket string) me {
	v.t.Helper()
	status, body, _ := v.send(v.request("POST", "/api/session", `{"ticket":"`+ticket+`"}`))
	var o opened
	if err := json.Unmarshal([]byte(body), &o); err != nil || status != 200 {
		v.t.Fatalf("session: %d %s %v", status, body, err)
	}
	if o.Key != "" {
		v.key = o.Key
	}
	return o.me
}

// owner gives a visitor that may act.
func owner(t *testing.T, p *Page) *visitor {
	t.Helper()
	v := newVisitor(t, p)
	who := v.signIn(ticket(t, p))
	if who.Role != Viewer {
		t.Fatalf("a new session is %q, want viewer", who.Role)
	}
	if err := p.Approve(strings.ToLower(who.Code)); err != nil {
		t.Fatal(err)
	}
	if got := v.signIn(""); got.Role != Owner || got.Code != "" {
		t.Fatalf("after the owner proof: %+v", got)
	}
	return v
}

// pressBodyOf is a press that would count.
func pressBodyOf(w *world, gate, option string) string {
	b, _ := json.Marshal(pressBody{Message: w.refs[gate].Message, Action: gate + ":answer:" + option})
	return string(b)
}

func TestGuard(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	v := owner(t, p)
	body := pressBodyOf(w, "gate_2", "yes")
	_, port, _ := strings.Cut(p.Addr(), ":")
	for _, c := range []struct {
		name         string
		method, path string
		change       func(*http.Request)
		status       int
		code         string
	}{
		{"rebinding: another Host", "POST", "/api/press", func(r *http.Request) { r.Host = "evil.example" }, 421, "foreign_host"},
		{"rebinding: another Host with our port", "GET", "/", func(r *http.Request) { r.Host = "evil.example:" + port }, 421, "foreign_host"},
		{"the bare address without the port", "GET", "/", func(r *http.Request) { r.Host = "127.0.0.1" }, 421, "foreign_host"},
		{"unknown paths answer to our Host only", "GET", "/nothing", func(r *http.Request) { r.Host = "evil.example" }, 421, "foreign_host"},
		{"another Origin", "POST", "/api/press", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403, "foreign_origin"},
		{"our address on another port", "POST", "/api/press", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403, "foreign_origin"},
		{"localhost is another origin", "POST", "/api/press", func(r *http.Request) { r.Header.Set("Origin", "http://localhost:"+port) }, 403, "foreign_origin"},
		{"a sandboxed frame", "POST", "/api/press", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403, "foreign_origin"},
		{"no Origin with a write", "POST", "/api/press", func(r *http.Request) { r.Header.Del("Origin") }, 403, "no_origin"},
		{"cross-site by its own word", "POST", "/api/press", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403, "foreign_site"},
		{"same-site is not same-origin", "GET", "/api/stream", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403, "foreign_site"},
		{"a script tag of another site", "GET", "/api/stream", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Dest", "script")
		}, 403, "foreign_site"},
		{"a frame of another site", "GET", "/", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", "iframe")
		}, 403, "foreign_site"},
		{"text/plain JSON", "POST", "/api/press", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415, "not_json"},
		{"a form", "POST", "/api/press", func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, 415, "not_json"},
		{"no type", "POST", "/api/press", func(r *http.Request) { r.Header.Del("Content-Type") }, 415, "not_json"},
		{"another charset", "POST", "/api/press", func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-16") }, 415, "not_json"},
		{"packed", "POST", "/api/press", func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, 415, "not_json"},
		{"the cookie alone", "POST", "/api/press", func(r *http.Request) { r.Header.Del(keyHeader) }, 401, "no_session"},
		{"the cookie alone, reading", "GET", "/api/stream", func(r *http.Request) { r.Header.Del(keyHeader) }, 401, "no_session"},
		{"a wrong key", "POST", "/api/press", func(r *http.Request) { r.Header.Set(keyHeader, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") }, 401, "no_session"},
		{"a preflight", "OPTIONS", "/api/press", func(*http.Request) {}, 405, "bad_method"},
		{"PUT", "PUT", "/api/press", func(*http.Request) {}, 405, "bad_method"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := ""
			if c.method == "POST" {
				sent = body
			}
			r := v.request(c.method, c.path, sent)
			c.change(r)
			status, text, code := v.send(r)
			if status != c.status || code != c.code {
				t.Errorf("%d %s, want %d %s: %s", status, code, c.status, c.code, text)
			}
			if h := r.Header.Get("Access-Control-Allow-Origin"); h != "" {
				t.Errorf("granted to %q", h)
			}
		})
	}
	if n := w.presses(); n != 0 {
		t.Fatalf("%d presses came through", n)
	}
	if status, text, _ := v.send(v.request("POST", "/api/press", body)); status != 200 || w.presses() != 1 {
		t.Fatalf("the page's own press: %d %s", status, text)
	}
}

func TestKeyAloneAuthorisesNothing(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	a, b := owner(t, p), newVisitor(t, p)
	b.key = a.key
	if status, _, code := b.send(b.request("POST", "/api/say", `{"text":"hi"}`)); status != 401 || code != "no_session" {
		t.Errorf("a key without its cookie: %d %s", status, code)
	}
	c := owner(t, p)
	c.key = a.key // two good secrets of two sessions
	if status, _, _ := c.send(c.request("POST", "/api/say", `{"text":"hi"}`)); status != 401 {
		t.Errorf("secrets of two sessions: %d", status)
	}
}

func TestStrictBodies(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	v := owner(t, p)
	ref, act := w.refs["gate_2"].Message, "gate_2:answer:yes"
	for _, c := range []struct {
		name, body string
		status     int
		code       string
	}{
		{"unknown field", `{"message_id":"` + ref + `","action":"` + act + `","person":"owner"}`, 400, "bad_json"},
		{"key in another case", `{"Message_ID":"` + ref + `","action":"` + act + `"}`, 400, "bad_json"},
		{"one key twice", `{"message_id":"x","message_id":"` + ref + `","action":"` + act + `"}`, 400, "bad_json"},
		{"something behind it", `{"message_id":"` + ref + `","action":"` + act + `"} {}`, 400, "bad_json"},
		{"not UTF-8", "{\"message_id\":\"\xff\",\"action\":\"a\"}", 400, "bad_json"},
		{"deep", strings.Repeat("[", 10000), 400, "bad_json"},
		{"empty", ``, 400, "bad_json"},
		{"no action", `{"message_id":"` + ref + `","action":""}`, 400, "no_button"},
		{"64 KiB and more", `{"message_id":"` + strings.Repeat("x", bodyMost) + `","action":"a"}`, 413, "too_large"},
		{"a button that is gone", `{"message_id":"` + ref + `","action":"gate_7:answer:publish"}`, 409, "stale"},
		{"a card that is gone", `{"message_id":"m_old","action":"` + act + `"}`, 410, "stale"},
		{"a field the form does not have", `{"message_id":"` + w.refs["gate_7"].Message + `","action":"gate_7:answer:hold","values":{"reason":"x","other":"y"}}`, 400, "unknown_field"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, text, code := v.send(v.request("POST", "/api/press", c.body)); status != c.status || code != c.code {
				t.Errorf("%d %s, want %d %s: %.300s", status, code, c.status, c.code, text)
			}
		})
	}
	if n := w.presses(); n != 0 {
		t.Errorf("%d presses came through", n)
	}
}

func TestRoles(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	body := pressBodyOf(w, "gate_2", "yes")

	stranger := newVisitor(t, p)
	if who := stranger.signIn(""); who.Role != Stranger || who.Code == "" {
		t.Fatalf("the address alone gives %+v", who)
	}
	lines := stranger.stream(t, "")
	for _, want := range []string{"hello", "me"} {
		if l := <-lines; l.Kind != want {
			t.Fatalf("a stranger is told %q (%s)", l.Kind, l.V)
		}
	}
	tick := ticket(t, p)
	viewer := newVisitor(t, p)
	if who := viewer.signIn(tick); who.Role != Viewer {
		t.Fatalf("through the redirect file: %+v", who)
	}
	if who := newVisitor(t, p).signIn(tick); who.Role != Stranger {
		t.Errorf("a ticket used twice gives %+v", who)
	}
	for _, v := range []*visitor{stranger, viewer} {
		for path, b := range map[string]string{"/api/press": body, "/api/say": `{"text":"yes G-2"}`} {
			if status, _, code := v.send(v.request("POST", path, b)); status != 403 || code != "not_owner" {
				t.Errorf("%s: %d %s", path, status, code)
			}
		}
	}
	if n := w.presses(); n != 0 {
		t.Fatalf("%d presses came through", n)
	}

	pending := p.PendingSessions()
	if len(pending) != 3 || pending[0].Code == "" || pending[0].Browser == "" {
		t.Fatalf("pending: %+v", pending)
	}
	err := p.Approve("ZZZ-ZZZZ")
	if e, ok := errors.AsType[*kernel.Error](err); !ok || e.Class != kernel.NotFound {
		t.Errorf("a wrong code: %v", err)
	}
	code := stranger.signIn("").Code
	if err := p.Approve(code); err != nil {
		t.Fatal(err)
	}
	if p.Approve(code) == nil {
		t.Error("a code worked twice")
	}
	for l := range lines { // the open stream learns it at once
		if l.Kind == "status" {
			break
		}
	}
	if status, text, _ := stranger.send(stranger.request("POST", "/api/press", body)); status != 200 {
		t.Errorf("the owner's press: %d %s", status, text)
	}
	if err := p.Forget(); err != nil {
		t.Fatal(err)
	}
	for l := range lines {
		if l.Kind == "bye" {
			break
		}
	}
	if status, _, _ := stranger.send(stranger.request("POST", "/api/say", `{"text":"hi"}`)); status != 401 {
		t.Errorf("after Forget: %d", status)
	}
}

func TestCodesAndTicketsEnd(t *testing.T) {
	w := newWorld(t)
	var later time.Duration
	p := w.page(t, t.TempDir(), nil)
	p.sessions.now = func() time.Time { return w.now().Add(later) }
	p.tickets.now = p.sessions.now
	v := newVisitor(t, p)
	tick := ticket(t, p)
	code := v.signIn("").Code
	later = ticketFor + time.Second
	if who := v.signIn(tick); who.Role != Stranger {
		t.Errorf("a late ticket gives %+v", who)
	}
	later = codeFor + time.Second
	if p.Approve(code) == nil {
		t.Error("a late code was good")
	}
	if fresh := v.signIn("").Code; fresh == code {
		t.Error("the code was not replaced")
	}
	later = idleFor + time.Hour
	if status, _, _ := v.send(v.request("POST", "/api/say", `{"text":"hi"}`)); status != 401 {
		t.Errorf("an idle session: %d", status)
	}
}

func TestSessionsAndPortSurviveARestart(t *testing.T) {
	w := newWorld(t)
	home := t.TempDir()
	p := w.page(t, home, nil)
	v := owner(t, p)
	addr := p.Addr()
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.http.CloseIdleConnections() // a POST on one that the old page closed is not repeated
	v.page = w.page(t, home, nil)
	if v.page.Addr() != addr {
		t.Fatalf("%s, before %s", v.page.Addr(), addr)
	}
	if who := v.signIn(""); who.Role != Owner {
		t.Errorf("after the restart: %+v", who)
	}
	if _, err := v.page.OpenURL(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(home)
	if err != nil {
		t.Fatal(err)
	}
	cookie := v.http.Jar.Cookies(v.request("GET", "/api/stream", "").URL)[0].Value
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", f.Name(), info.Mode())
		}
		b, err := os.ReadFile(filepath.Join(home, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), v.key) || strings.Contains(string(b), cookie) {
			t.Errorf("%s holds a secret of a session", f.Name())
		}
	}
	other := New(v.page.opt)
	if err := other.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "held by another program") {
		t.Errorf("a second page on the port: %v", err)
	}
	if err := os.Chmod(filepath.Join(home, "page-sessions.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := v.page.sessions.load(); err == nil {
		t.Error("sessions that others can read were taken")
	}
}

func TestHeadersAndAssets(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	v := newVisitor(t, p)
	for _, path := range []string{"/", "/nothing", "/assets/" + p.assets.sum + "/main.js", "/assets/" + p.assets.sum + "/icon.svg", "/api/stream"} {
		res, err := v.http.Do(v.request("GET", path, ""))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY", "Content-Security-Policy": csp,
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if strings.Contains(path, "assets") && res.StatusCode != 200 {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
		if path == "/" && (strings.Contains(string(b), "<script>") || strings.Contains(string(b), "style=") || strings.Contains(string(b), "pricing")) {
			t.Errorf("the document holds inline code or data:\n%s", b)
		}
	}
	for _, word := range []string{"script-src 'self';", "style-src 'self';", "default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(csp, word) || strings.Contains(csp, "unsafe") {
			t.Errorf("the policy lacks %s", word)
		}
	}
	r := v.request("GET", "/", "")
	r.Header.Set("Sec-Fetch-Site", "cross-site") // the redirect file
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	r.Header.Set("Sec-Fetch-Dest", "document")
	if status, _, _ := v.send(r); status != 200 {
		t.Errorf("opened from the redirect file: %d", status)
	}
	if status, _, _ := v.send(v.request("GET", "/assets/"+p.assets.sum+"/page.html", "")); status != 404 {
		t.Errorf("a template is served: %d", status)
	}
	res, err := v.http.Do(v.request("POST", "/api/session", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	c := res.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/api" || c.Domain != "" {
		t.Errorf("the cookie: %v", c)
	}
}

func TestTooManyWrites(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	v := owner(t, p)
	last := 0
	for range writesMinute + 1 {
		last, _, _ = v.send(v.request("POST", "/api/say", `{"text":"hello"}`))
	}
	if last != 429 {
		t.Errorf("write %d in a minute: %d", writesMinute+1, last)
	}
}

func TestStrangersPushNobodyOut(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	v := owner(t, p)
	for range sessionsMost + 5 {
		newVisitor(t, p).signIn("")
	}
	if who := v.signIn(""); who.Role != Owner {
		t.Errorf("the owner became %+v", who)
	}
	if n := len(p.PendingSessions()); n >= sessionsMost {
		t.Errorf("%d sessions wait", n)
	}
}
