package slack_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	api "github.com/slack-go/slack"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/slack"
	sim "loopx/fixtures/sim/slack"
)

// hook is a handler whose clock stands still, and what the simulator would send.
type hook struct {
	t    *testing.T
	s    *sim.Server
	w    *slack.Webhook
	sink *adaptertest.Recorder
	now  time.Time
}

func newHook(t *testing.T) *hook {
	h := &hook{t: t, sink: adaptertest.NewRecorder(), now: time.Now()}
	s := newSuiteSim(t)
	a := newAdapter(t, s, func(c *slack.Config) {
		c.AppToken, c.SigningSecret = chat.Secret{}, chat.NewSecret(s.SigningSecret())
		c.Clock = func() time.Time { return h.now }
	})
	w, err := slack.NewWebhook(a, h.sink)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	h.s, h.w = s, w
	return h
}

func (h *hook) post(body []byte, contentType string, head http.Header) (int, string) {
	h.t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	for k, v := range head {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", contentType)
	rec := httptest.NewRecorder()
	h.w.ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}

func (h *hook) said(text string) []byte {
	before := len(h.s.Envelopes())
	h.s.Say("U0WEI", "C0GEN", text)
	return h.s.Envelopes()[before].Payload
}

// B36: forged, old, future, replayed, unsigned, too long.
func TestB36WebhookRefuses(t *testing.T) {
	h := newHook(t)
	body := h.said("hello")
	secret := h.s.SigningSecret()
	at := func(d time.Duration) http.Header { return sim.Signed(secret, body, h.now.Add(d)) }
	with := func(edit func(http.Header)) http.Header { x := at(time.Second); edit(x); return x }
	for name, tt := range map[string]struct {
		body []byte
		head http.Header
		want string
	}{
		"forged":           {body, sim.Signed(strings.Repeat("0", 32), body, h.now), "bad_signature"},
		"another body":     {h.said("other"), at(0), "bad_signature"},
		"five minutes old": {body, at(-301 * time.Second), "bad_clock"},
		"from the future":  {body, at(302 * time.Second), "bad_clock"},
		"twenty years old": {body, at(-20 * 365 * 24 * time.Hour), "bad_clock"},
		"no time":          {body, with(func(x http.Header) { x.Del("X-Slack-Request-Timestamp") }), "unsigned"},
		"another time":     {body, with(func(x http.Header) { x.Set("X-Slack-Request-Timestamp", "1") }), "bad_signature"},
		"no signature":     {body, with(func(x http.Header) { x.Del("X-Slack-Signature") }), "unsigned"},
		"two signatures":   {body, with(func(x http.Header) { x.Add("X-Slack-Signature", x.Get("X-Slack-Signature")) }), "bad_headers"},
		"unsigned":         {body, nil, "unsigned"},
		"nothing":          {nil, nil, "unsigned"},
	} {
		if code, got := h.post(tt.body, "application/json", tt.head); code != http.StatusUnauthorized || got != `{"error":"`+tt.want+`"}` {
			t.Errorf("%s: %d %s, want %s", name, code, got, tt.want)
		}
	}
	if code, _ := h.post(bytes.Repeat([]byte("x"), 2<<20), "application/json", at(0)); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a huge body = %d", code)
	}
	for name, tt := range map[string]struct{ typ, body string }{
		"no JSON": {"application/json", "{"}, "another type": {"text/plain", "{}"}, "no form": {"application/x-www-form-urlencoded", "payload=%zz"},
		"no JSON in the form": {"application/x-www-form-urlencoded", "payload=x"},
	} {
		if code, _ := h.post([]byte(tt.body), tt.typ, sim.Signed(secret, []byte(tt.body), h.now)); code != http.StatusBadRequest {
			t.Errorf("%s: %d", name, code)
		}
	}
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	rec := httptest.NewRecorder()
	if h.w.ServeHTTP(rec, req); rec.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET = %d", rec.Code)
	}
	if n := len(h.sink.All()); n != 0 {
		t.Fatalf("%d events were taken", n)
	}
	for _, d := range []time.Duration{-299 * time.Second, 299 * time.Second} {
		for range 2 { // a replay is answered like the first and has no effect
			if code, got := h.post(body, "application/json", at(d)); code != http.StatusOK || got != "" {
				t.Errorf("%v: %d %s", d, code, got)
			}
		}
	}
	if n := len(h.sink.All()); n != 2 {
		t.Errorf("%d events were taken", n)
	}
}

// The question at set-up is signed like everything else.
func TestWebhookChallenge(t *testing.T) {
	h := newHook(t)
	ask := []byte(`{"type":"url_verification","challenge":"c1","token":"deprecated"}`)
	if code, got := h.post(ask, "application/json", sim.Signed(h.s.SigningSecret(), ask, h.now)); code != 200 || got != `{"challenge":"c1"}` {
		t.Errorf("%d %s", code, got)
	}
	if code, got := h.post(ask, "application/json", nil); code != 401 || strings.Contains(got, "c1") {
		t.Errorf("unsigned: %d %s", code, got)
	}
}

// The SDK takes the simulator's signature too.
func TestSDKAgreesOnSigning(t *testing.T) {
	body := []byte(`{"a":"重点"}`)
	v, err := api.NewSecretsVerifier(sim.Signed("secret", body, time.Now()), "secret")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Write(body); err != nil || v.Ensure() != nil {
		t.Error("slack-go refuses the signature")
	}
}

// Outside of Run nothing is taken, so that Slack brings it again.
func TestWebhookOutsideRun(t *testing.T) {
	s := newSuiteSim(t)
	a := newAdapter(t, s, func(c *slack.Config) {
		c.AppToken, c.SigningSecret = chat.Secret{}, chat.NewSecret(s.SigningSecret())
	})
	body := []byte(`{}`)
	req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	req.Header = sim.Signed(s.SigningSecret(), body, time.Now())
	rec := httptest.NewRecorder()
	if a.ServeHTTP(rec, req); rec.Code != http.StatusServiceUnavailable {
		t.Errorf("%d", rec.Code)
	}
}
