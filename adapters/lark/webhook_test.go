package lark_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/lark"
	sim "loopx/fixtures/sim/lark"
)

const encryptKey = "a key for tests"

type hook struct {
	t    *testing.T
	s    *sim.Server
	w    *lark.Webhook
	sink *adaptertest.Recorder
	now  time.Time
}

func newHook(t *testing.T) *hook {
	h := &hook{t: t, s: newSim(t, sim.Options{}), sink: adaptertest.NewRecorder(), now: time.Now()}
	a := newAdapter(t, h.s, func(c *lark.Config) {
		c.EncryptKey, c.VerificationToken = chat.NewSecret(encryptKey), chat.NewSecret(h.s.VerificationToken())
		c.Clock = func() time.Time { return h.now }
	})
	w, err := a.Webhook(h.sink)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	h.w = w
	return h
}

// event is what the simulator would have sent over the long connection.
func (h *hook) event(act func()) []byte {
	before := len(h.s.Envelopes())
	act()
	return h.s.Envelopes()[before].Payload
}

func (h *hook) post(body []byte, head http.Header) (int, string) {
	h.t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/lark", bytes.NewReader(body))
	for k, v := range head {
		req.Header[k] = v
	}
	rec := httptest.NewRecorder()
	h.w.ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}

func (h *hook) good(payload []byte, nonce string) (int, string) {
	body := sim.Sealed(encryptKey, payload)
	return h.post(body, sim.Signed(encryptKey, body, h.now, nonce))
}

func TestWebhookTakesEventsAndPresses(t *testing.T) {
	h := newHook(t)
	said := h.event(func() { h.s.Say("ou_wei", h.s.DM("ou_wei"), "hello") })
	if code, body := h.good(said, "n1"); code != 200 || body != `{"msg":"success"}` {
		t.Errorf("%d %s", code, body)
	}
	if e := h.sink.All()[0]; e.Message.Text != "hello" || !e.Private || e.Sender.Kind != chat.Human {
		t.Errorf("%+v", e)
	}
	h.sink.Answer = func(context.Context, chat.Event) (chat.Answer, error) { return chat.Answer{Notice: "noted"}, nil }
	press, err := json.Marshal(map[string]any{
		"schema": "2.0",
		"header": map[string]any{"event_id": "e9", "token": h.s.VerificationToken(), "event_type": "card.action.trigger", "tenant_key": h.s.Tenant(), "app_id": h.s.AppID()},
		"event": map[string]any{
			"operator": map[string]any{"open_id": "ou_wei", "tenant_key": h.s.Tenant()}, "action": map[string]any{"value": map[string]any{"id": "tok"}},
			"context": map[string]any{"open_message_id": "om_1", "open_chat_id": "oc_gen"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if code, body := h.good(press, "n2"); code != 200 || body != `{"toast":{"type":"info","content":"noted"}}` {
		t.Errorf("%d %s", code, body)
	}
	// What could not be stored is refused and comes again, the very same request.
	h.sink.Answer = func(context.Context, chat.Event) (chat.Answer, error) {
		return chat.Answer{}, errors.New("the disk is full")
	}
	other := h.event(func() { h.s.Say("ou_wei", "oc_gen", "keep me") })
	if code, _ := h.good(other, "n3"); code != 500 {
		t.Errorf("a refused event was answered %d", code)
	}
	h.sink.Answer = nil
	if code, _ := h.good(other, "n3"); code != 200 {
		t.Errorf("its repeat was answered %d", code)
	}
}

// The question at set-up is the one request that Lark does not sign.
func TestWebhookChallenge(t *testing.T) {
	h := newHook(t)
	ask := func(token string) []byte {
		return []byte(`{"type":"url_verification","challenge":"c <1>","token":"` + token + `"}`)
	}
	sealed := sim.Sealed(encryptKey, ask(h.s.VerificationToken()))
	if code, body := h.post(sealed, nil); code != 200 || body != `{"challenge":"c <1>"}` {
		t.Errorf("%d %s", code, body)
	}
	for name, body := range map[string][]byte{
		"plain":       ask(h.s.VerificationToken()),
		"other token": sim.Sealed(encryptKey, ask("guessed")),
		"other key":   sim.Sealed("guessed", ask(h.s.VerificationToken())),
	} {
		if code, got := h.post(body, nil); code != 401 || strings.Contains(got, "challenge") {
			t.Errorf("%s: %d %s", name, code, got)
		}
	}
}

// B36: forged, old, future, replayed, unsigned, plain.
func TestB36WebhookRefuses(t *testing.T) {
	h := newHook(t)
	payload := h.event(func() { h.s.Say("ou_wei", "oc_gen", "hello") })
	body := sim.Sealed(encryptKey, payload)
	at := func(d time.Duration) http.Header {
		return sim.Signed(encryptKey, body, h.now.Add(d), "nonce "+d.String())
	}
	with := func(edit func(http.Header)) http.Header { x := at(time.Second); edit(x); return x }
	fake := bytes.Replace(payload, []byte(h.s.VerificationToken()), []byte("guessed"), 1)
	for name, tt := range map[string]struct {
		body []byte
		head http.Header
		want string
	}{
		"forged":            {body, sim.Signed("guessed", body, h.now, "n"), "bad_signature"},
		"another body":      {sim.Sealed(encryptKey, []byte("{}")), at(0), "bad_signature"},
		"five minutes old":  {body, at(-301 * time.Second), "bad_clock"},
		"from the future":   {body, at(302 * time.Second), "bad_clock"},
		"twenty years old":  {body, at(-20 * 365 * 24 * time.Hour), "bad_clock"},
		"no time":           {body, with(func(x http.Header) { x.Del("X-Lark-Request-Timestamp") }), "bad_headers"},
		"two signatures":    {body, with(func(x http.Header) { x.Add("X-Lark-Signature", x.Get("X-Lark-Signature")) }), "bad_headers"},
		"another nonce":     {body, with(func(x http.Header) { x.Set("X-Lark-Request-Nonce", "other") }), "bad_signature"},
		"unsigned":          {body, nil, "unsigned"},
		"plain, signed":     {payload, sim.Signed(encryptKey, payload, h.now, "p"), "not_encrypted"},
		"plain, unsigned":   {payload, nil, "not_encrypted"},
		"wrong token":       {sim.Sealed(encryptKey, fake), sim.Signed(encryptKey, sim.Sealed(encryptKey, fake), h.now, "t"), "bad_token"},
		"no token":          {sim.Sealed(encryptKey, []byte("{}")), sim.Signed(encryptKey, sim.Sealed(encryptKey, []byte("{}")), h.now, "u"), "bad_token"},
		"nothing":           {nil, nil, "not_encrypted"},
		"half a block":      {[]byte(`{"encrypt":"YWJj"}`), nil, "not_encrypted"},
		"an hour is no day": {body, at(-time.Hour), "bad_clock"},
	} {
		if code, got := h.post(tt.body, tt.head); code != 401 || got != `{"msg":"`+tt.want+`"}` {
			t.Errorf("%s: %d %s, want %s", name, code, got, tt.want)
		}
	}
	if n := len(h.sink.All()); n != 0 {
		t.Fatalf("%d events were taken", n)
	}
	for _, d := range []time.Duration{-299 * time.Second, 299 * time.Second} {
		if code, got := h.post(body, at(d)); code != 200 {
			t.Errorf("%v: %d %s", d, code, got)
		}
		if code, got := h.post(body, at(d)); code != 401 || got != `{"msg":"replayed"}` {
			t.Errorf("again: %d %s", code, got)
		}
	}
	if n := len(h.sink.All()); n != 2 {
		t.Errorf("%d events were taken", n)
	}
	req := httptest.NewRequest(http.MethodGet, "/lark", nil)
	rec := httptest.NewRecorder()
	h.w.ServeHTTP(rec, req)
	if rec.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET = %d", rec.Code)
	}
	if code, _ := h.post(bytes.Repeat([]byte("x"), 5<<20), nil); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a huge body = %d", code)
	}
}

// The SDK computes the same signature and opens the same envelope.
func TestSDKAgreesOnSealing(t *testing.T) {
	body := sim.Sealed(encryptKey, []byte(`{"a":"重点"}`))
	head := sim.Signed(encryptKey, body, time.Unix(1700000000, 0), "n")
	if got := larkevent.Signature("1700000000", "n", encryptKey, string(body)); got != head.Get("X-Lark-Signature") {
		t.Errorf("signature %s, want %s", head.Get("X-Lark-Signature"), got)
	}
	var in struct {
		Encrypt string `json:"encrypt"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		t.Fatal(err)
	}
	plain, err := larkevent.EventDecrypt(in.Encrypt, encryptKey)
	if err != nil || string(plain) != `{"a":"重点"}` {
		t.Errorf("%s %v", plain, err)
	}
}

func TestWebhookNeedsItsKeys(t *testing.T) {
	a := newAdapter(t, newSim(t, sim.Options{}))
	if _, err := a.Webhook(adaptertest.NewRecorder()); chat.KindOf(err) != chat.Invalid || err == nil {
		t.Errorf("%v", err)
	}
}
