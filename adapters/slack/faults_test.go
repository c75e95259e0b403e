package slack_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/slack"
	sim "loopx/fixtures/sim/slack"
)

// Every way a write can fail has one kind.
func TestFailureKinds(t *testing.T) {
	post := func(f sim.Fault) sim.Fault { f.Method = "chat.postMessage"; return f }
	tests := []struct {
		name  string
		fault sim.Fault
		want  chat.ErrorKind
		again chat.ErrorKind // for chat.update, when other
		after time.Duration
	}{
		{"429", sim.Fault{Kind: sim.FaultRateLimit, For: 7 * time.Second}, chat.RateLimited, "", 7 * time.Second},
		{"200 ratelimited with the time", sim.Fault{Kind: sim.FaultError, Code: "ratelimited", For: 9 * time.Second}, chat.RateLimited, "", 9 * time.Second},
		{"200 ratelimited", sim.Fault{Kind: sim.FaultError, Code: "ratelimited"}, chat.RateLimited, "", 30 * time.Second},
		{"502", sim.Fault{Kind: sim.FaultStatus, Status: 502}, chat.UnknownOutcome, chat.Temporary, 0},
		{"403", sim.Fault{Kind: sim.FaultStatus, Status: 403}, chat.Temporary, "", 0},
		{"a page instead of an answer", sim.Fault{Kind: sim.FaultHTML}, chat.UnknownOutcome, chat.Temporary, 0},
		{"reset", sim.Fault{Kind: sim.FaultReset}, chat.UnknownOutcome, chat.Temporary, 0},
		{"reset after the write", sim.Fault{Kind: sim.FaultWriteReset}, chat.UnknownOutcome, chat.Temporary, 0},
		{"no answer", sim.Fault{Kind: sim.FaultWriteHang}, chat.UnknownOutcome, chat.Temporary, 0},
		{"fatal_error", sim.Fault{Kind: sim.FaultError, Code: "fatal_error"}, chat.UnknownOutcome, chat.Temporary, 0},
		{"invalid_auth", sim.Fault{Kind: sim.FaultError, Code: "invalid_auth"}, chat.Auth, "", 0},
		{"is_archived", sim.Fault{Kind: sim.FaultError, Code: "is_archived"}, chat.Gone, "", 0},
		{"msg_too_long", sim.Fault{Kind: sim.FaultError, Code: "msg_too_long"}, chat.Invalid, "", 0},
		{"a new word", sim.Fault{Kind: sim.FaultError, Code: "from_the_future"}, chat.Temporary, "", 0},
	}
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a := newAdapter(t, s, func(c *slack.Config) { c.Timing.Call = 2 * time.Second })
	place := chat.Place{Conversation: "C0GEN"}
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "base", Place: place, Text: "base"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.Inject(post(tt.fault))
			_, err := a.Send(t.Context(), chat.Outgoing{Key: tt.name, Place: place, Text: "x"})
			e, ok := errors.AsType[*chat.Error](err)
			if !ok || e.Kind != tt.want || e.After != tt.after {
				t.Errorf("Send = %v, want %s after %v", err, tt.want, tt.after)
			}
			f := tt.fault
			f.Method = "chat.update"
			s.Inject(f)
			want := tt.want
			if tt.again != "" {
				want = tt.again
			}
			if err := a.Update(t.Context(), ref, chat.Outgoing{Text: "x"}); chat.KindOf(err) != want || err == nil {
				t.Errorf("Update = %v, want %s", err, want)
			}
		})
	}
	if n := len(s.Calls("chat.postMessage")); n != len(tests)+1 {
		t.Errorf("%d posts for %d sends: something was repeated blindly", n, len(tests)+1)
	}
}

func TestNothingListens(t *testing.T) {
	s := sim.New(sim.Options{})
	a := newAdapter(t, s)
	s.Close()
	_, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Conversation: "C0GEN"}, Text: "x"})
	if chat.KindOf(err) != chat.Temporary {
		t.Errorf("Send to a refused port = %v, want temporary: nothing was written", err)
	}
}

func TestMissingScopeIsNamed(t *testing.T) {
	s := sim.New(sim.Options{Scopes: []string{"users:read"}})
	t.Cleanup(s.Close)
	a := newAdapter(t, s)
	_, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Conversation: "C0GEN"}, Text: "x"})
	e, ok := errors.AsType[*chat.Error](err)
	if !ok || e.Kind != chat.Auth || e.Code != "missing_scope" || !strings.Contains(e.Fix, "chat:write") {
		t.Errorf("Send = %+v", err)
	}
}

// A card that Slack refuses is sent as its whole text, and so is its update.
func TestRefusedCardBecomesText(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a := newAdapter(t, s)
	s.Inject(sim.Fault{Method: "chat.postMessage", Kind: sim.FaultError, Code: "invalid_blocks"},
		sim.Fault{Method: "chat.update", Kind: sim.FaultError, Code: "msg_blocks_too_long"})
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Conversation: "C0GEN"}, Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	want := chat.PlainText(adaptertest.GateCard())
	if m, _ := s.Message("C0GEN", ref.Message); m.Shown() != want {
		t.Errorf("shown\n%s\nwant\n%s", m.Shown(), want)
	}
	if err := a.Update(t.Context(), ref, chat.Outgoing{Card: new(adaptertest.GateCard()), Text: "as text"}); err != nil {
		t.Fatal(err)
	}
	if m, _ := s.Message("C0GEN", ref.Message); m.Shown() != "as text" || len(m.Buttons()) != 0 {
		t.Errorf("shown %q", m.Shown())
	}
	if got, ok, err := a.Find(t.Context(), ref.Place, "k", time.Now().Add(-time.Minute)); !ok || err != nil || got.Message != ref.Message {
		t.Errorf("the text is not found by its key: %v %v %v", got, ok, err)
	}
}

// What goes out can neither mention anybody nor be read as markup.
func TestCallsSwitchEverythingOff(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a := newAdapter(t, s)
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Conversation: "C0GEN"}, Text: "<!channel> <@U0WEI> @everyone https://example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Update(t.Context(), ref, chat.Outgoing{Text: "<!here>"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Notice(t.Context(), chat.Event{Place: ref.Place, Sender: chat.User{ID: "U0WEI"}}, "<!here>"); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"chat.postMessage", "chat.update", "chat.postEphemeral"} {
		for _, c := range s.Calls(method) {
			for k, want := range map[string]string{"unfurl_links": "false", "unfurl_media": "false", "link_names": "false", "parse": "none", "mrkdwn": "false"} {
				if c.Args[k] != want {
					t.Errorf("%s sends %s=%q", method, k, c.Args[k])
				}
			}
			if strings.ContainsAny(c.Args["text"], "<>") {
				t.Errorf("%s sends %q", method, c.Args["text"])
			}
		}
	}
}

func TestNoticeFallsBack(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	sink.Answer = func(_ context.Context, e chat.Event) (chat.Answer, error) {
		if e.Kind == chat.CardPressed {
			return chat.Answer{Notice: "only for you"}, nil
		}
		return chat.Answer{}, nil
	}
	adaptertest.Start(t, a, sink)
	adaptertest.Eventually(t, s, "connection", func() bool { n, _ := s.Connections(); return n == 1 })
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Conversation: "C0GEN"}, Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(sim.Fault{Method: "chat.postEphemeral", Kind: sim.FaultError, Code: "user_not_in_channel", Times: -1})
	if _, err := s.PressButton("U0WEI", "C0GEN", ref.Message, "Publish"); err != nil {
		t.Fatal(err)
	}
	adaptertest.Eventually(t, s, "notice", func() bool { return len(s.Ephemeral("U0WEI")) == 1 })
	if m := s.Ephemeral("U0WEI")[0]; m.Shown() != "only for you" {
		t.Errorf("notice %q", m.Shown())
	}
	if m, _ := s.Message("C0GEN", ref.Message); len(m.Buttons()) == 0 {
		t.Error("the notice replaced the card")
	}
}

// B23: the form could not be opened in time; the presser is told, nothing counts.
func TestExpiredTrigger(t *testing.T) {
	s := sim.New(sim.Options{TriggerLife: time.Nanosecond})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	adaptertest.Eventually(t, s, "connection", func() bool { n, _ := s.Connections(); return n == 1 })
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Conversation: "C0GEN"}, Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	press, err := s.PressButton("U0WEI", "C0GEN", ref.Message, "Hold…")
	if err != nil {
		t.Fatal(err)
	}
	adaptertest.Eventually(t, s, "notice", func() bool { return len(s.Ephemeral("U0WEI")) == 1 })
	if got := s.Ephemeral("U0WEI")[0].Shown(); !strings.Contains(got, "Nothing was decided") {
		t.Errorf("notice %q", got)
	}
	adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(press.Envelopes[0]) })
	for _, e := range sink.All() {
		if e.Kind == chat.CardPressed {
			t.Errorf("the press counted: %+v", e)
		}
	}
}

func TestSlashAnswersInTheAcknowledgement(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	sink.Answer = func(context.Context, chat.Event) (chat.Answer, error) {
		return chat.Answer{Notice: "five <lines>"}, nil
	}
	adaptertest.Start(t, a, sink)
	adaptertest.Eventually(t, s, "connection", func() bool { n, _ := s.Connections(); return n == 1 })
	sent, err := s.Slash("U0WEI", "C0GEN", "/loopx", "status")
	if err != nil {
		t.Fatal(err)
	}
	e := sink.Next(t, adaptertest.Kind(chat.CommandSent))
	if e.Message.Text != "/loopx status" || e.Sender.Kind != chat.Human || e.Message.ID == "" {
		t.Errorf("command %+v %+v", e, e.Message)
	}
	adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(sent.Envelopes[0]) })
	for _, env := range s.Envelopes() {
		if env.ID == sent.Envelopes[0] && !strings.Contains(string(env.Ack), `five \u0026lt;lines\u0026gt;`) {
			t.Errorf("acknowledged with %s", env.Ack)
		}
	}
	if n := len(s.Ephemeral("U0WEI")); n != 0 {
		t.Errorf("it was said again (%d times)", n)
	}
}

// A mention comes as two events with one message id; an unfurl is no edit; an
// edit and a delete are told.
func TestMessageLife(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	said := s.Say("U0WEI", "C0GEN", "<@U0BOT> look at https://example.com")
	s.Unfurl("C0GEN", said.TS)
	s.EditMessage("C0GEN", said.TS, "<@U0BOT> never mind")
	s.DeleteMessage("C0GEN", said.TS)
	sink.Next(t, adaptertest.Kind(chat.MessageDeleted))
	var kinds []string
	for _, e := range sink.All() {
		if e.Message.ID != said.TS {
			t.Errorf("message id %q, want %q", e.Message.ID, said.TS)
		}
		kinds = append(kinds, string(e.Kind))
	}
	if got := strings.Join(kinds, " "); got != "message message edit delete" {
		t.Errorf("events %q", got)
	}
	if n := a.Counts()["ignored:edit:same_text"]; n != 1 {
		t.Errorf("%d unfurls counted", n)
	}
}

// What cannot be read is acknowledged and counted, and does not end anything.
func TestUnreadableEnvelopes(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	first := s.Say("U0WEI", "C0GEN", "before")
	adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(first.Envelopes[0]) })
	for _, frame := range []string{"not json", `{"type":"hello"`, `[]`, `{"type":"from_the_future","envelope_id":"x","payload":{}}`, `"text"`} {
		s.SendRaw(frame)
	}
	bad := s.Emit(map[string]any{"type": "message", "channel": "C0GEN", "user": "U0WEI", "text": 7})
	odd := s.Emit(map[string]any{"type": "from_the_future", "channel": 3})
	// slack-go cannot read these blocks; the message is not lost for that.
	strange := s.Emit(map[string]any{"type": "message", "channel": "C0GEN", "channel_type": "channel", "user": "U0WEI", "text": "strange blocks", "ts": "1700000000.000100", "blocks": 7})
	for _, sent := range []sim.Sent{bad, odd, strange} {
		adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(sent.Envelopes[0]) })
	}
	sink.Next(t, func(e chat.Event) bool { return e.Message != nil && e.Message.Text == "strange blocks" })
	if c := a.Counts(); c["undecodable:events_api"] != 1 || c["ignored:event:from_the_future"] != 1 {
		t.Errorf("counts %v", c)
	}
	if a.Health().State != chat.Ready {
		t.Errorf("health %+v", a.Health())
	}
}

// users.info that fails leaves the message with Slack; without the scope the
// sender is Unknown and authorises nothing.
func TestSenderLookUp(t *testing.T) {
	s := sim.New(sim.Options{AckWithin: 30 * time.Millisecond, Redeliver: []time.Duration{0, 0, 0}})
	t.Cleanup(s.Close)
	s.Inject(sim.Fault{Method: "users.info", Kind: sim.FaultStatus, Status: 500})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	said := s.Say("U0WEI", "C0GEN", "hello")
	adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(said.Envelopes[0]) })
	if e := sink.Next(t, adaptertest.Kind(chat.MessageSent)); e.Sender.Kind != chat.Human {
		t.Errorf("sender %+v", e.Sender)
	}
	blind := sim.New(sim.Options{Scopes: []string{"chat:write", "channels:history"}})
	t.Cleanup(blind.Close)
	b, dark := newAdapter(t, blind), adaptertest.NewRecorder()
	adaptertest.Start(t, b, dark)
	blind.Say("U0WEI", "C0GEN", "hello")
	if e := dark.Next(t, adaptertest.Kind(chat.MessageSent)); e.Sender.Kind != chat.Unknown {
		t.Errorf("sender %+v", e.Sender)
	}
	if h := b.Health(); !strings.Contains(h.Fix, "users:read") {
		t.Errorf("health %+v", h)
	}
}

// B93: not in logs either, and not the address that holds the ticket.
func TestLogsHoldNoSecret(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	var log adaptertest.Log
	a, sink := newAdapter(t, s, func(c *slack.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}), adaptertest.NewRecorder()
	s.RefuseSockets(1)
	s.Inject(sim.Fault{Method: "apps.connections.open", Kind: sim.FaultReset})
	stop := adaptertest.Start(t, a, sink)
	said := s.Say("U0WEI", "C0GEN", "the words of a person")
	adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(said.Envelopes[0]) })
	s.Inject(sim.Fault{Method: "*", Kind: sim.FaultWriteReset, Times: 2})
	_, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Conversation: "C0GEN"}, Text: "x"})
	stop()
	all := log.String() + fmt.Sprint(err)
	for _, secret := range []string{s.AppToken(), s.BotToken(), "ticket-", "the words of a person"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q came out in\n%s", secret, all)
		}
	}
	if !strings.Contains(all, "not connected to Slack") {
		t.Errorf("the log does not tell of the trouble:\n%s", all)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := slack.Config{Name: "work", AppToken: chat.NewSecret("xapp-1"), BotToken: chat.NewSecret("xoxb-1")}
	if _, err := slack.New(good); err != nil {
		t.Fatal(err)
	}
	for name, mod := range map[string]func(*slack.Config){
		"no name":          func(c *slack.Config) { c.Name = "" },
		"swapped tokens":   func(c *slack.Config) { c.AppToken, c.BotToken = c.BotToken, c.AppToken },
		"a pasted message": func(c *slack.Config) { c.BotToken = chat.NewSecret("xoxb-1 here is your token") },
		"url without sim":  func(c *slack.Config) { c.BaseURL = "http://127.0.0.1:1/api/" },
		"sim elsewhere":    func(c *slack.Config) { c.Sim, c.BaseURL = true, "http://192.0.2.1/api/" },
		"sim by name":      func(c *slack.Config) { c.Sim, c.BaseURL = true, "http://localhost.evil.example/api/" },
		"sim over https":   func(c *slack.Config) { c.Sim, c.BaseURL = true, "https://slack.com.evil.example/api/" },
		"sim with a user":  func(c *slack.Config) { c.Sim, c.BaseURL = true, "http://a:b@127.0.0.1/api/" },
	} {
		c := good
		mod(&c)
		_, err := slack.New(c)
		if chat.KindOf(err) != chat.Invalid || err == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Error(), "here is your token") || strings.Contains(err.Error(), "xoxb-1") {
			t.Errorf("%s: the error repeats the token: %v", name, err)
		}
	}
}

func TestBurst(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	var last sim.Sent
	for i := range 2000 {
		last = s.Say("U0WEI", []string{"C0GEN", "C0OPS"}[i%2], fmt.Sprintf("%04d", i))
	}
	adaptertest.Eventually(t, s, "the last ack", func() bool { return s.Acked(last.Envelopes[0]) })
	adaptertest.Eventually(t, s, "all", func() bool { return len(sink.All()) == 2000 })
	next := map[string]string{}
	for _, e := range sink.All() {
		if e.Message.Text <= next[e.Place.Conversation] {
			t.Fatalf("%s came after %s", e.Message.Text, next[e.Place.Conversation])
		}
		next[e.Place.Conversation] = e.Message.Text
	}
}

func TestOneRunAtATime(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	adaptertest.Eventually(t, s, "connection", func() bool { n, _ := s.Connections(); return n == 1 })
	if err := a.Run(context.Background(), sink); chat.KindOf(err) != chat.Invalid || err == nil {
		t.Errorf("a second Run = %v", err)
	}
}
