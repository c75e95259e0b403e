package discord_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/discord"
	sim "loopx/fixtures/sim/discord"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fast() discord.Timing {
	return discord.Timing{
		RetryMin: 10 * time.Millisecond, RetryMax: 50 * time.Millisecond, Call: 2 * time.Second,
		Identify: time.Millisecond, Invalid: 10 * time.Millisecond,
	}
}

func newAdapter(t *testing.T, s *sim.Server, mod ...func(*discord.Config)) *discord.Adapter {
	t.Helper()
	cfg := discord.Config{
		Name: "work", BotToken: chat.NewSecret(s.Token()), BaseURL: s.APIURL(), Sim: true, Timing: fast(), HTTPClient: httpClient(t),
	}
	for _, m := range mod {
		m(&cfg)
	}
	a, err := discord.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// run starts the adapter, waits until it listens and stops it at the end of the
// test.
func run(t *testing.T, s *sim.Server, a *discord.Adapter, sink chat.Sink) (stop func()) {
	t.Helper()
	stop = adaptertest.Start(t, a, sink)
	adaptertest.Eventually(t, s, "a session", s.Listening)
	return stop
}

// httpClient is a client whose idle connections end with the test, and which
// shows every outgoing payload to Discord's own schema first.
func httpClient(t *testing.T) *http.Client {
	t.Helper()
	tr := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: &judge{t: t, next: tr}}
}

// judge validates by route.
type judge struct {
	t    *testing.T
	next http.RoundTripper
}

func (j *judge) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		_ = req.Body.Close()
		req.Body = io.NopCloser(bytes.NewReader(body))
		check(j.t, req.Method, req.URL.Path, payload(j.t, req, body))
	}
	return j.next.RoundTrip(req)
}

// payload is the JSON of a request: its body, or the part of a form that comes with
// files (docs, "Uploading Files").
func payload(t *testing.T, req *http.Request, body []byte) []byte {
	kind, params, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return body
	}
	form, err := multipart.NewReader(bytes.NewReader(body), params["boundary"]).ReadForm(1 << 20)
	if err != nil || len(form.Value["payload_json"]) != 1 {
		t.Errorf("%s %s: a form without its one payload_json: %v", req.Method, req.URL.Path, err)
		return nil
	}
	return []byte(form.Value["payload_json"][0])
}

// schemas compiles what LOOPX_ORACLES names, once.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	dir := os.Getenv("LOOPX_ORACLES")
	if dir == "" {
		return nil, nil
	}
	f, err := os.Open(filepath.Join(dir, "discord-openapi.json"))
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(f)
	_ = f.Close()
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("d.json", doc); err != nil {
		return nil, err
	}
	out := map[string]*jsonschema.Schema{}
	for _, name := range []string{
		"MessageCreateRequest", "MessageEditRequestPartial", "CreateMessageInteractionCallbackRequest", "UpdateMessageInteractionCallbackRequest",
		"ModalInteractionCallbackRequest", "IncomingWebhookRequestPartial", "CreatePrivateChannelRequest", "ApplicationCommandCreateRequest",
	} {
		if out[name], err = c.Compile("d.json#/components/schemas/" + name); err != nil {
			return nil, err
		}
	}
	return out, nil
})

func check(t *testing.T, verb, path string, body []byte) {
	all, err := schemas()
	if err != nil {
		t.Errorf("the published schema cannot be used: %v", err)
		return
	}
	if all == nil {
		return // TestPublishedSchema says so, once and loudly
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("%s %s: no JSON: %v: %.200s", verb, path, err, body)
		return
	}
	in, _ := v.(map[string]any)
	name := ""
	switch {
	case strings.HasSuffix(path, "/callback"):
		name = map[string]string{
			"4": "CreateMessageInteractionCallbackRequest", "5": "CreateMessageInteractionCallbackRequest", "6": "UpdateMessageInteractionCallbackRequest",
			"7": "UpdateMessageInteractionCallbackRequest", "9": "ModalInteractionCallbackRequest",
		}[string(in["type"].(json.Number))]
	case strings.Contains(path, "/webhooks/"):
		name = "IncomingWebhookRequestPartial"
	case strings.HasSuffix(path, "/commands"):
		name = "ApplicationCommandCreateRequest"
	case strings.HasSuffix(path, "/users/@me/channels"):
		name = "CreatePrivateChannelRequest"
	case verb == http.MethodPost:
		name = "MessageCreateRequest"
	case verb == http.MethodPatch:
		name = "MessageEditRequestPartial"
	}
	s := all[name]
	if s == nil {
		t.Errorf("no schema for %s %s: %.200s", verb, path, body)
		return
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s %s does not fit %s: %v\n%.3000s", verb, path, name, err, body)
	}
	// What the schema lets through: mentions and previews switched off.
	if data, ok := in["data"].(map[string]any); ok {
		in = data
	}
	if _, ok := in["flags"]; ok || strings.Contains(name, "Message") && name != "UpdateMessageInteractionCallbackRequest" {
		m, _ := in["allowed_mentions"].(map[string]any)
		if parse, ok := m["parse"].([]any); !ok || len(parse) != 0 {
			t.Errorf("%s %s may mention people: %.300s", verb, path, body)
		}
	}
}

// TestPublishedSchema shows that the judge judges: a payload it must refuse is
// refused.
func TestPublishedSchema(t *testing.T) {
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	if all == nil {
		t.Skip("LOOPX_ORACLES is not set: no outgoing payload is checked against Discord's published schema")
	}
	row := func(n int) string {
		return `{"type":1,"components":[` + strings.TrimSuffix(strings.Repeat(`{"type":2,"style":2,"label":"x","custom_id":"y"},`, n), ",") + `]}`
	}
	for _, bad := range []string{
		`{"components":[` + row(6) + `]}`, `{"components":[` + row(0) + `]}`,
		`{"content":"` + strings.Repeat("x", 4001) + `"}`, `{"nonce":"` + strings.Repeat("x", 26) + `"}`, `{"components":[{"type":99}]}`,
		`{"components":[{"type":10,"content":""}]}`,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(bad))
		if err != nil {
			t.Fatal(err)
		}
		if all["MessageCreateRequest"].Validate(v) == nil {
			t.Errorf("the schema takes %.60s", bad)
		}
	}
}
