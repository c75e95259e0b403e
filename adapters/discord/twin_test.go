package discord_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/discord"
	"loopx/fixtures/node"
)

// A Discord that nobody here wrote: npm discord-digital-twin 0.1.1. It knows no
// resume and no limits, so it judges the flow and nothing else.
func TestDigitalTwin(t *testing.T) {
	control := node.Start(t, "twin.mjs").Next("listening").URL
	ask := func(path string, in, out any) {
		t.Helper()
		raw, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		tr := &http.Transport{DisableKeepAlives: true}
		resp, err := (&http.Client{Transport: tr, Timeout: 10 * time.Second}).Post(control+path, "application/json", bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v %.500s", path, resp.StatusCode, err, body)
		}
		if out != nil {
			if err := json.Unmarshal(body, out); err != nil {
				t.Fatalf("%s: %v: %.500s", path, err, body)
			}
		}
	}
	var info struct{ RestURL, BotToken, ChannelID, UserID string }
	ask("/info", struct{}{}, &info)
	base := strings.TrimSuffix(strings.TrimSuffix(info.RestURL, "/"), "/v10")
	a, err := discord.New(discord.Config{
		Name: "work", BotToken: chat.NewSecret(info.BotToken), BaseURL: strings.Replace(base, "localhost", "127.0.0.1", 1), Sim: true,
		Timing: fast(), HTTPClient: httpClient(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	sink := adaptertest.NewRecorder()
	stop := adaptertest.Start(t, a, sink)
	adaptertest.Soon(t, "ready", func() bool { return a.Health().State == chat.Ready })
	ask("/send", map[string]string{"content": "status"}, nil)
	e := sink.Next(t, adaptertest.Said("status"))
	if e.Sender.ID != info.UserID || e.Sender.Kind != chat.Human || e.Place.Conversation != info.ChannelID {
		t.Errorf("heard %+v", e)
	}
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "twin", Place: e.Place, Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	ask("/click", map[string]string{"messageId": ref.Message, "customId": "b|tok_publish"}, nil)
	p := sink.Next(t, adaptertest.Kind(chat.CardPressed))
	if p.Press.Action != "tok_publish" || p.Press.Message != ref.Message || p.Sender.ID != info.UserID || p.Sender.Tenant != e.Sender.Tenant {
		t.Errorf("pressed %+v %+v", p, p.Press)
	}
	decided := adaptertest.GateCard()
	decided.State, decided.Buttons = chat.CardDecided, nil
	if err := a.Update(t.Context(), ref, chat.Outgoing{Card: &decided}); err != nil {
		t.Error(err)
	}
	if _, err := a.Send(t.Context(), chat.Outgoing{Key: "text", Place: e.Place, Text: "a _plain_ text"}); err != nil {
		t.Error(err)
	}
	stop()
	if c := a.Counts(); c["ack:failed"]+c["ack:late"] != 0 {
		t.Errorf("counts %v", c)
	}
}
