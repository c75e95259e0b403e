package lark_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/lark"
	sim "loopx/fixtures/sim/lark"
)

// The SDK starts a cleaner of its token cache, which we do not use, for ever.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/larksuite/oapi-sdk-go/v3/cache.(*cron).start"))
}

// httpClient is a client whose idle connections end with the test, and which
// shows every outgoing call to the published schemas first.
func httpClient(t *testing.T) *http.Client {
	t.Helper()
	tr := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: &judge{t: t, next: tr}}
}

// judge knows the published calls and looks into every content we send.
type judge struct {
	t    *testing.T
	next http.RoundTripper
}

func (j *judge) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	check(j.t, req, body)
	return j.next.RoundTrip(req)
}

// oracles are what LOOPX_ORACLES names: the published calls by method and path,
// and the shape of the old card, of which the text objects still hold.
type oracles struct {
	calls map[string]*jsonschema.Schema // "POST /open-apis/im/v1/messages" with ids as *
	text  *jsonschema.Schema
}

var published = sync.OnceValues(func() (*oracles, error) {
	dir := os.Getenv("LOOPX_ORACLES")
	if dir == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(filepath.Join(dir, "lark-api.schema.json"))
	if err != nil {
		return nil, err
	}
	var api map[string]struct {
		Method, Path string
		Schema       map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &api); err != nil {
		return nil, err
	}
	out := &oracles{calls: map[string]*jsonschema.Schema{}}
	c := jsonschema.NewCompiler()
	for name, call := range api {
		key := call.Method + " " + regexp.MustCompile(`:[a-z_]+`).ReplaceAllString(call.Path, "*")
		out.calls[key] = nil
		if call.Schema["data"] == nil {
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(call.Schema["data"]))
		if err != nil {
			return nil, err
		}
		if err := c.AddResource(name, doc); err != nil {
			return nil, err
		}
		if out.calls[key], err = c.Compile(name); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(filepath.Join(dir, "lark-Card.schema.json"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, err
	}
	if err := c.AddResource("card", doc); err != nil {
		return nil, err
	}
	out.text, err = c.Compile("card#/definitions/Card/properties/header/properties/title")
	return out, err
})

func check(t *testing.T, req *http.Request, body []byte) {
	all, err := published()
	if err != nil {
		t.Errorf("the published schemas cannot be used: %v", err)
		return
	}
	if all == nil {
		return // TestPublishedSchemas says so, once and loudly
	}
	path := regexp.MustCompile(`/(om_|oc_|ou_|reaction-)[A-Za-z0-9_]+`).ReplaceAllString(req.URL.Path, "/*")
	path = regexp.MustCompile(`/messages/[^/*]+`).ReplaceAllString(path, "/messages/*")
	path = regexp.MustCompile(`/resources/[^/]+`).ReplaceAllString(path, "/resources/*")
	key := req.Method + " " + path
	switch key {
	case "POST /callback/ws/endpoint", "GET /open-apis/bot/v3/info",
		"POST /open-apis/im/v1/files", "GET /open-apis/im/v1/messages/*/resources/*": // not in the published set
		return
	}
	s, known := all.calls[key]
	if !known {
		t.Errorf("%s is no published call", key)
		return
	}
	if len(body) == 0 {
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("%s: no JSON: %v: %.200s", key, err, body)
		return
	}
	if s != nil {
		if err := s.Validate(v); err != nil {
			t.Errorf("%s does not fit the published schema: %v", key, err)
		}
	}
}

// TestPublishedSchemas shows that the judges judge.
func TestPublishedSchemas(t *testing.T) {
	all, err := published()
	if err != nil {
		t.Fatal(err)
	}
	if all == nil {
		t.Skip("LOOPX_ORACLES is not set: no outgoing call is checked against Lark's published schemas")
	}
	for _, call := range []string{"POST /open-apis/im/v1/messages", "PATCH /open-apis/im/v1/messages/*", "GET /open-apis/contact/v3/users/*"} {
		if _, ok := all.calls[call]; !ok {
			t.Errorf("%s is not among the published calls", call)
		}
	}
	if _, ok := all.calls["POST /open-apis/im/v1/message"]; ok {
		t.Error("a call that does not exist is published")
	}
}

func fast() lark.Timing {
	return lark.Timing{
		RetryMin: 10 * time.Millisecond, RetryMax: 50 * time.Millisecond, Call: 2 * time.Second,
		Ping: 30 * time.Millisecond, Pong: 2 * time.Second, Settle: 50 * time.Millisecond,
	}
}

func newAdapter(t *testing.T, s *sim.Server, mod ...func(*lark.Config)) *lark.Adapter {
	t.Helper()
	cfg := lark.Config{
		Name: "work", AppID: s.AppID(), AppSecret: chat.NewSecret(s.AppSecret()), Domain: lark.Feishu,
		BaseURL: s.URL(), Sim: true, Timing: fast(), HTTPClient: httpClient(t),
	}
	for _, m := range mod {
		m(&cfg)
	}
	a, err := lark.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newSim(t *testing.T, opt sim.Options) *sim.Server {
	t.Helper()
	s := sim.New(opt)
	t.Cleanup(s.Close)
	return s
}

func connected(t *testing.T, s *sim.Server) {
	t.Helper()
	adaptertest.Eventually(t, s, "connection", func() bool { n, _ := s.Connections(); return n == 1 })
}

func acked(t *testing.T, s *sim.Server, sent sim.Sent) {
	t.Helper()
	for _, e := range sent.Envelopes {
		adaptertest.Eventually(t, s, "acknowledgement", func() bool { return s.Acked(e) })
	}
}

func place(chatID string) chat.Place { return chat.Place{Connection: "work", Conversation: chatID} }
