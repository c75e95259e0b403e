package bot

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	slacksim "loopx/fixtures/sim/slack"
)

// The listener serves one exact address a connection, for requests that are
// signed, and nothing else; it is neither the page nor the API.
func TestWebhookListener(t *testing.T) {
	s := slacksim.New(slacksim.Options{})
	defer s.Close()
	secrets := map[string]string{"B": s.BotToken(), "W": s.SigningSecret()}
	b := startBot(t, Options{
		Home: testHome(t), Sim: true, Getenv: func(k string) string { return secrets[k] },
		Config: Config{
			Webhook:     WebhookConfig{Listen: "127.0.0.1:0"},
			Connections: []ConnectionConfig{{Name: "team", Platform: "slack", Mode: "webhook", BotTokenEnv: "B", SigningSecretEnv: "W", BaseURL: s.APIURL()}},
		},
	})
	stopped := false
	defer func() {
		if !stopped {
			stopBot(t, b)
		}
	}()
	if b.HookAddr() == "" || b.HookAddr() == b.PageAddr() {
		t.Fatalf("the listener is at %q, the page at %q", b.HookAddr(), b.PageAddr())
	}
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	ask := func(method, path string, body []byte, head http.Header) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+b.HookAddr()+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range head {
			req.Header[k] = v
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := web.Do(req)
		if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
			return 0, "" // closed before all was read
		}
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		defer func() { _ = resp.Body.Close() }()
		raw, _ := io.ReadAll(resp.Body) // a refusal may be cut off, its code is there
		return resp.StatusCode, string(raw)
	}
	challenge := []byte(`{"type":"url_verification","challenge":"c1"}`)
	signed := slacksim.Signed(s.SigningSecret(), challenge, time.Now())
	eventually(t, "the connection serves", func() bool {
		code, _ := ask(http.MethodPost, "/hook/team", challenge, signed)
		return code == http.StatusOK
	})
	for _, tt := range []struct {
		name, method, path string
		body               []byte
		head               http.Header
		want               int
	}{
		{"unsigned", "POST", "/hook/team", challenge, nil, 401},
		{"forged", "POST", "/hook/team", challenge, slacksim.Signed(strings.Repeat("0", 32), challenge, time.Now()), 401},
		{"stale", "POST", "/hook/team", challenge, slacksim.Signed(s.SigningSecret(), challenge, time.Now().Add(-time.Hour)), 401},
		{"no connection", "POST", "/hook/other", challenge, signed, 404},
		{"below it", "POST", "/hook/team/", challenge, signed, 404},
		{"around it", "POST", "/hook/../hook/team", challenge, signed, 404},
		{"the page", "GET", "/", nil, nil, 404},
		{"the API", "POST", "/v1/command", challenge, nil, 404},
		{"read", "GET", "/hook/team", nil, nil, 405},
		{"too long", "POST", "/hook/team", bytes.Repeat([]byte("x"), 1<<20+1), signed, 413},
	} {
		code, body := ask(tt.method, tt.path, tt.body, tt.head)
		if code != tt.want || code >= 400 && strings.Contains(body, "c1") {
			t.Errorf("%s: %d %s, want %d", tt.name, code, body, tt.want)
		}
	}
	// Who sends more than a header may hold is cut off, perhaps before the answer.
	if code, body := ask("POST", "/hook/team", challenge, http.Header{"X-Long": {strings.Repeat("x", 64<<10)}}); code != 0 && code != 431 {
		t.Errorf("long headers: %d %s", code, body)
	}
	addr := b.HookAddr()
	stopBot(t, b)
	stopped = true
	if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		_ = c.Close()
		t.Error("somebody listens after the stop")
	}
}

// Without a connection that is called nothing listens.
func TestNoWebhookListener(t *testing.T) {
	b := startBot(t, Options{Home: testHome(t), Config: Config{Page: PageConfig{Off: true}}})
	defer stopBot(t, b)
	if b.HookAddr() != "" {
		t.Errorf("something listens at %s", b.HookAddr())
	}
}
