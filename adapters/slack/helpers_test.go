package slack_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// httpClient is a client whose idle connections end with the test, and which
// shows every outgoing payload to the published schemas first.
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
		check(j.t, req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:], body)
	}
	return j.next.RoundTrip(req)
}

// schemas compiles what LOOPX_ORACLES names, once.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	dir := os.Getenv("LOOPX_ORACLES")
	if dir == "" {
		return nil, nil
	}
	out := map[string]*jsonschema.Schema{}
	c := jsonschema.NewCompiler()
	for _, name := range []string{"slack-Blocks.limits", "slack-Modal.limits", "slack-PostMessage", "slack-ViewsOpen"} {
		f, err := os.Open(filepath.Join(dir, name+".schema.json"))
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(f)
		_ = f.Close()
		if err != nil {
			return nil, err
		}
		if err := c.AddResource(name, doc); err != nil {
			return nil, err
		}
		if out[name], err = c.Compile(name); err != nil {
			return nil, err
		}
	}
	return out, nil
})

func check(t *testing.T, method string, body []byte) {
	all, err := schemas()
	if err != nil {
		t.Errorf("the published schemas cannot be used: %v", err)
		return
	}
	if all == nil {
		return // TestPublishedSchemas says so, once and loudly
	}
	switch method {
	case "chat.postMessage", "chat.update", "chat.postEphemeral":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			t.Errorf("%s: not a form: %v", method, err)
			return
		}
		args := map[string]any{}
		for k := range form {
			switch v := form.Get(k); k {
			case "token", "ts", "user":
			case "blocks", "metadata":
				args[k] = parse(t, []byte(v))
			case "unfurl_links", "unfurl_media", "mrkdwn", "link_names":
				args[k] = v == "true"
			default:
				args[k] = v
			}
		}
		if args["blocks"] != nil {
			valid(t, method, all["slack-Blocks.limits"], args["blocks"])
		}
		valid(t, method, all["slack-PostMessage"], args)
	case "views.open":
		in, _ := parse(t, body).(map[string]any)
		if in == nil {
			t.Errorf("views.open: no JSON object: %.200s", body)
			return
		}
		valid(t, method, all["slack-Modal.limits"], in["view"])
		valid(t, method, all["slack-ViewsOpen"], in)
	}
}

func valid(t *testing.T, what string, s *jsonschema.Schema, v any) {
	if err := s.Validate(v); err != nil {
		b, _ := json.MarshalIndent(v, "", " ")
		t.Errorf("%s does not fit the published schema: %v\n%.3000s", what, err, b)
	}
}

func parse(t *testing.T, raw []byte) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Errorf("no JSON: %v: %.200s", err, raw)
	}
	return v
}

// TestPublishedSchemas shows that the judges judge: a payload they must refuse
// is refused.
func TestPublishedSchemas(t *testing.T) {
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	if all == nil {
		t.Skip("LOOPX_ORACLES is not set: no outgoing payload is checked against Slack's published schemas")
	}
	for _, bad := range []string{
		`[{"type":"header","text":{"type":"mrkdwn","text":"x"}}]`,
		`[{"type":"section","text":{"type":"plain_text","text":"` + strings.Repeat("x", 3001) + `"}}]`,
		`[{"type":"nonsense"}]`,
	} {
		if all["slack-Blocks.limits"].Validate(parse(t, []byte(bad))) == nil {
			t.Errorf("the schema takes %.60s", bad)
		}
	}
}
