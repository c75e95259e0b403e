package slack_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/slack"
	sim "loopx/fixtures/sim/slack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fast() slack.Timing {
	return slack.Timing{RetryMin: 10 * time.Millisecond, RetryMax: 50 * time.Millisecond, Call: 2 * time.Second, Recheck: 50 * time.Millisecond}
}

func newAdapter(t *testing.T, s *sim.Server, mod ...func(*slack.Config)) *slack.Adapter {
	t.Helper()
	cfg := slack.Config{
		Name: "work", AppToken: chat.NewSecret(s.AppToken()), BotToken: chat.NewSecret(s.BotToken()),
		BaseURL: s.APIURL(), Sim: true, Timing: fast(), HTTPClient: httpClient(t),
	}
	for _, m := range mod {
		m(&cfg)
	}
	a, err := slack.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The way of one gate: a private message, a card, a press, an update.
func TestGateWay(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	sink.Answer = func(_ context.Context, e chat.Event) (chat.Answer, error) {
		if e.Kind == chat.CardPressed {
			return chat.Answer{Notice: "Recorded: <b> & done"}, nil
		}
		return chat.Answer{}, nil
	}
	adaptertest.Start(t, a, sink)

	dm := s.DM("U0WEI")
	said := s.Say("U0WEI", dm, "status <please> & thanks")
	e := sink.Next(t, adaptertest.Kind(chat.MessageSent))
	want := chat.User{Tenant: "T0SIM", ID: "U0WEI", Kind: chat.Human, Name: "Wei"}
	if e.Sender != want || !e.Private || e.Message.ID != said.TS || e.Message.Text != "status <please> & thanks" ||
		e.Place != (chat.Place{Connection: "work", Conversation: dm}) {
		t.Fatalf("decoded %+v %+v", e, e.Message)
	}
	adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(said.Envelopes[0]) })

	ctx := t.Context()
	ref, err := a.Send(ctx, chat.Outgoing{Key: "gate-7", Place: e.Place, Text: "Publish?", Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := s.Message(dm, ref.Message)
	for _, part := range []string{"Homepage release · waits for you", "Publish the new pricing page?", "builder asks:", "▸ Publish  goes live at once  (approves)", "preview (example.com)", "○ open · G-7"} {
		if !strings.Contains(shown.Shown(), part) {
			t.Errorf("the card lacks %q:\n%s", part, shown.Shown())
		}
	}
	press, err := s.PressButton("U0WEI", dm, ref.Message, "Publish")
	if err != nil {
		t.Fatal(err)
	}
	p := sink.Next(t, adaptertest.Kind(chat.CardPressed))
	if p.Press.Action != "tok_publish" || p.Press.Message != ref.Message || !p.Private || p.ID == "" || p.Sender.ID != "U0WEI" {
		t.Fatalf("press %+v %+v", p, p.Press)
	}
	adaptertest.Eventually(t, s, "ack of the press", func() bool { return s.Acked(press.Envelopes[0]) })
	adaptertest.Eventually(t, s, "notice", func() bool { return len(s.Ephemeral("U0WEI")) == 1 })
	if got := s.Ephemeral("U0WEI")[0].Shown(); got != "Recorded: <b> & done" {
		t.Errorf("notice %q", got)
	}

	decided := adaptertest.GateCard()
	decided.State, decided.Title, decided.Struck, decided.Buttons, decided.Input = chat.CardDecided, "Homepage release · published by Wei", true, nil, nil
	decided.Outcome = "Publish, by Wei at 10:03"
	if err := a.Update(ctx, ref, chat.Outgoing{Text: "published", Card: &decided}); err != nil {
		t.Fatal(err)
	}
	shown, _ = s.Message(dm, ref.Message)
	if len(shown.Buttons()) != 0 || !strings.Contains(shown.Shown(), "● decided") || shown.Edits != 1 {
		t.Errorf("after the decision:\n%s", shown.Shown())
	}
	if found, ok, err := a.Find(ctx, e.Place, "gate-7", time.Now().Add(-time.Minute)); err != nil || !ok || found != ref {
		t.Errorf("Find = %v %v %v, want %v", found, ok, err, ref)
	}
}

func TestForm(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	adaptertest.Eventually(t, s, "connection", func() bool { n, _ := s.Connections(); return n == 1 })
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Conversation: "C0GEN"}, Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PressButton("U0ANA", "C0GEN", ref.Message, "Hold…"); err != nil {
		t.Fatal(err)
	}
	adaptertest.Eventually(t, s, "form", func() bool { _, ok := s.OpenForm("U0ANA"); return ok })
	if _, err := s.SubmitForm("U0ANA", nil); err == nil {
		t.Error("an empty required field was taken")
	}
	if _, err := s.SubmitForm("U0ANA", map[string]string{"Why?": "not yet"}); err != nil {
		t.Fatal(err)
	}
	e := sink.Next(t, adaptertest.Kind(chat.CardPressed))
	if e.Press.Action != "tok_hold" || e.Press.Values["reason"] != "not yet" || e.Press.Message != ref.Message || e.Place.Conversation != "C0GEN" {
		t.Errorf("press %+v", e.Press)
	}
	adaptertest.Eventually(t, s, "form closed", func() bool { _, ok := s.OpenForm("U0ANA"); return !ok })
	for _, e := range sink.All() {
		if e.Kind == chat.CardPressed && e.Press.Values == nil {
			t.Error("the press counted before the form was submitted")
		}
	}
}

func TestRefusedEventComesAgain(t *testing.T) {
	s := sim.New(sim.Options{AckWithin: 50 * time.Millisecond, Redeliver: []time.Duration{0, 0, 0}})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	fail := true
	var mu sync.Mutex
	sink.Answer = func(context.Context, chat.Event) (chat.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if fail {
			fail = false
			return chat.Answer{}, errors.New("disk full")
		}
		return chat.Answer{}, nil
	}
	adaptertest.Start(t, a, sink)
	said := s.Say("U0WEI", s.DM("U0WEI"), "hello")
	adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(said.Envelopes[0]) })
	all := sink.All()
	if len(all) != 2 || all[0].ID != all[1].ID || all[1].Attempt != 1 {
		t.Errorf("deliveries: %+v", all)
	}
}
