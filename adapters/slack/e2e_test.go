package slack_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"loopx/adapters/chat"
	"loopx/adapters/slack"
	sim "loopx/fixtures/sim/slack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a sink that keeps what it got and answers as told.
type recorder struct {
	mu     sync.Mutex
	events []chat.Event
	answer func(chat.Event) (chat.Answer, error)
	more   chan struct{}
}

func newRecorder() *recorder { return &recorder{more: make(chan struct{}, 1000)} }

func (r *recorder) Accept(_ context.Context, e chat.Event) (chat.Answer, error) {
	r.mu.Lock()
	r.events = append(r.events, e)
	answer := r.answer
	r.mu.Unlock()
	r.more <- struct{}{}
	if answer == nil {
		return chat.Answer{}, nil
	}
	return answer(e)
}

func (r *recorder) all() []chat.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]chat.Event(nil), r.events...)
}

// next waits until a wanted event is there.
func (r *recorder) next(t *testing.T, want func(chat.Event) bool) chat.Event {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		for _, e := range r.all() {
			if want(e) {
				return e
			}
		}
		select {
		case <-r.more:
		case <-deadline:
			t.Fatalf("the event did not come; there are %+v", r.all())
		}
	}
}

func kind(k chat.EventKind) func(chat.Event) bool {
	return func(e chat.Event) bool { return e.Kind == k && e.Sender.Kind != chat.Self }
}

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

// run starts the adapter and stops it at the end of the test.
func run(t *testing.T, a *slack.Adapter, sink chat.Sink) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, sink) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("Run returned %v after its context ended", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("Run did not return")
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func eventually(t *testing.T, s *sim.Server, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Wait(ctx, cond); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func gateCard() chat.Card {
	return chat.Card{
		State: chat.CardOpen, Title: "Homepage release · waits for you", Question: "Publish the new pricing page?",
		Quotes:  []chat.Quote{{From: "builder asks", Text: "Checks pass, copy reviewed by Ana"}},
		Options: []chat.Option{{Label: "Publish", Consequence: "goes live at once", Mark: "approves"}, {Label: "Hold", Mark: "rejects"}},
		Facts:   []string{"Blocks 1 of 6 todos · 2 others go on"}, Footer: "G-7 · asked 09:58",
		Evidence: []chat.Evidence{{Text: "tests 212/212 (10:01)"}, {Text: "preview", URL: "https://example.com/p"}},
		Input:    &chat.Input{Name: "reason", Label: "Why?", Required: true, Multi: true, Max: 300},
		Buttons: []chat.Button{
			{ID: "tok_publish", Label: "Publish"}, {ID: "tok_hold", Label: "Hold…", Form: true, Style: chat.ButtonDanger},
		},
	}
}

// The way of one gate: a private message, a card, a press, an update.
func TestGateWay(t *testing.T) {
	s := sim.New(sim.Options{})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), newRecorder()
	sink.answer = func(e chat.Event) (chat.Answer, error) {
		if e.Kind == chat.CardPressed {
			return chat.Answer{Notice: "Recorded: <b> & done"}, nil
		}
		return chat.Answer{}, nil
	}
	run(t, a, sink)

	dm := s.DM("U0WEI")
	said := s.Say("U0WEI", dm, "status <please> & thanks")
	e := sink.next(t, kind(chat.MessageSent))
	want := chat.User{Tenant: "T0SIM", ID: "U0WEI", Kind: chat.Human, Name: "Wei"}
	if e.Sender != want || !e.Private || e.Message.ID != said.TS || e.Message.Text != "status <please> & thanks" ||
		e.Place != (chat.Place{Connection: "work", Conversation: dm}) {
		t.Fatalf("decoded %+v %+v", e, e.Message)
	}
	eventually(t, s, "ack", func() bool { return s.Acked(said.Envelopes[0]) })

	ctx := t.Context()
	ref, err := a.Send(ctx, chat.Outgoing{Key: "gate-7", Place: e.Place, Text: "Publish?", Card: new(gateCard())})
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
	p := sink.next(t, kind(chat.CardPressed))
	if p.Press.Action != "tok_publish" || p.Press.Message != ref.Message || !p.Private || p.ID == "" || p.Sender.ID != "U0WEI" {
		t.Fatalf("press %+v %+v", p, p.Press)
	}
	eventually(t, s, "ack of the press", func() bool { return s.Acked(press.Envelopes[0]) })
	eventually(t, s, "notice", func() bool { return len(s.Ephemeral("U0WEI")) == 1 })
	if got := s.Ephemeral("U0WEI")[0].Shown(); got != "Recorded: <b> & done" {
		t.Errorf("notice %q", got)
	}

	decided := gateCard()
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
	a, sink := newAdapter(t, s), newRecorder()
	run(t, a, sink)
	eventually(t, s, "connection", func() bool { n, _ := s.Connections(); return n == 1 })
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Conversation: "C0GEN"}, Card: new(gateCard())})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PressButton("U0ANA", "C0GEN", ref.Message, "Hold…"); err != nil {
		t.Fatal(err)
	}
	eventually(t, s, "form", func() bool { _, ok := s.OpenForm("U0ANA"); return ok })
	if _, err := s.SubmitForm("U0ANA", nil); err == nil {
		t.Error("an empty required field was taken")
	}
	if _, err := s.SubmitForm("U0ANA", map[string]string{"Why?": "not yet"}); err != nil {
		t.Fatal(err)
	}
	e := sink.next(t, kind(chat.CardPressed))
	if e.Press.Action != "tok_hold" || e.Press.Values["reason"] != "not yet" || e.Press.Message != ref.Message || e.Place.Conversation != "C0GEN" {
		t.Errorf("press %+v", e.Press)
	}
	eventually(t, s, "form closed", func() bool { _, ok := s.OpenForm("U0ANA"); return !ok })
	for _, e := range sink.all() {
		if e.Kind == chat.CardPressed && e.Press.Values == nil {
			t.Error("the press counted before the form was submitted")
		}
	}
}

func TestRefusedEventComesAgain(t *testing.T) {
	s := sim.New(sim.Options{AckWithin: 50 * time.Millisecond, Redeliver: []time.Duration{0, 0, 0}})
	t.Cleanup(s.Close)
	a, sink := newAdapter(t, s), newRecorder()
	fail := true
	var mu sync.Mutex
	sink.answer = func(chat.Event) (chat.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if fail {
			fail = false
			return chat.Answer{}, errors.New("disk full")
		}
		return chat.Answer{}, nil
	}
	run(t, a, sink)
	said := s.Say("U0WEI", s.DM("U0WEI"), "hello")
	eventually(t, s, "ack", func() bool { return s.Acked(said.Envelopes[0]) })
	all := sink.all()
	if len(all) != 2 || all[0].ID != all[1].ID || all[1].Attempt != 1 {
		t.Errorf("deliveries: %+v", all)
	}
}
