package slack_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/slack"
	"loopx/fixtures/node"
)

// bearer puts slack-go's token, which stands in the form, where the emulator
// reads it.
type bearer struct{ next http.RoundTripper }

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		raw, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(raw))
		if form, err := url.ParseQuery(string(raw)); err == nil && req.Header.Get("Authorization") == "" {
			req.Header.Set("Authorization", "Bearer "+form.Get("token"))
		}
	}
	return b.next.RoundTrip(req)
}

// A Slack that nobody here wrote: npm emulate 0.12.2. It signs its events and has
// neither Socket Mode nor presses, and checks no blocks: it judges signatures,
// events and the Web API's flow.
func TestEmulate(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	var a *slack.Adapter
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.ServeHTTP(w, r) }))
	defer web.Close()
	base := node.StartNewer(t, "emulate.mjs", "EVENTS_URL="+web.URL, "SECRET="+secret).Next("listening").URL
	client := httpClient(t)
	client.Transport = bearer{client.Transport}
	a, err := slack.New(slack.Config{
		Name: "work", SigningSecret: chat.NewSecret(secret), BotToken: chat.NewSecret("xoxb-local-bot"),
		BaseURL: base + "/api/", Sim: true, HTTPClient: client,
	})
	if err != nil {
		t.Fatal(err)
	}
	as := func(token, method string, args url.Values) map[string]any {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/api/"+method, strings.NewReader(args.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Authorization", "Bearer "+token)
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var out map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || out["ok"] != true {
			t.Fatalf("%s: %v %v", method, out, err)
		}
		return out
	}
	sink := adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	adaptertest.Soon(t, "ready", func() bool { return a.Health().State == chat.Ready })
	channels, _ := as("xoxp-local-alice", "conversations.list", nil)["channels"].([]any)
	if len(channels) == 0 {
		t.Fatal("there is no channel")
	}
	channel, _ := channels[0].(map[string]any)["id"].(string)
	as("xoxp-local-alice", "chat.postMessage", url.Values{"channel": {channel}, "text": {"status, please"}})
	e := sink.Next(t, func(e chat.Event) bool { return e.Message != nil && e.Message.Text == "status, please" })
	if e.Place.Conversation != channel || e.Sender.ID == "" || e.Message.ID == "" {
		t.Errorf("heard %+v", e)
	}
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k1", Place: e.Place, Text: "Publish?", Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	decided := adaptertest.GateCard()
	decided.State, decided.Buttons = chat.CardDecided, nil
	if err := a.Update(t.Context(), ref, chat.Outgoing{Text: "decided", Card: &decided}); err != nil {
		t.Error(err)
	}
	c := a.Counts()
	if c["webhook:bad_signature"]+c["webhook:bad_clock"]+c["webhook:unsigned"] != 0 || c["envelope:events_api"] == 0 {
		t.Errorf("counts %v", c)
	}
}
