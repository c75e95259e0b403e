package discord_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/discord"
	sim "loopx/fixtures/sim/discord"
)

func general() chat.Place { return chat.Place{Conversation: sim.General} }

func newSim(t *testing.T, opt sim.Options) *sim.Server {
	s := sim.New(opt)
	t.Cleanup(s.Close)
	return s
}

// The way of one gate: a private message, a card, a press, an update.
func TestGateWay(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	sink.Answer = func(_ context.Context, e chat.Event) (chat.Answer, error) {
		if e.Kind == chat.CardPressed {
			return chat.Answer{Notice: "Recorded: <b> & done"}, nil
		}
		return chat.Answer{}, nil
	}
	run(t, s, a, sink)

	dm := s.DM(sim.Wei)
	words := s.Say(sim.Wei, dm, "status <please> & thanks")
	e := sink.Next(t, adaptertest.Kind(chat.MessageSent))
	want := chat.User{Tenant: sim.AppID, ID: sim.Wei, Kind: chat.Human, Name: "Wei"}
	if e.Sender != want || !e.Private || e.Message.ID != words.ID || e.Message.Text != "status <please> & thanks" ||
		e.Place != (chat.Place{Connection: "work", Conversation: dm}) {
		t.Fatalf("decoded %+v %+v", e, e.Message)
	}
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
	press, err := s.PressButton(sim.Wei, dm, ref.Message, "Publish")
	if err != nil {
		t.Fatal(err)
	}
	p := sink.Next(t, adaptertest.Kind(chat.CardPressed))
	if p.Press.Action != "tok_publish" || p.Press.Message != ref.Message || !p.Private || p.Sender != e.Sender || p.Place != e.Place {
		t.Fatalf("press %+v %+v", p, p.Press)
	}
	adaptertest.Eventually(t, s, "ack of the press", func() bool { return s.Acked(press.Events[0]) })
	if got := s.Interactions()[0]; got.Type != 6 {
		t.Errorf("acknowledged with type %d, want a deferred update", got.Type)
	}
	adaptertest.Eventually(t, s, "notice", func() bool { return len(s.Ephemeral(sim.Wei)) == 1 })
	if got := s.Ephemeral(sim.Wei)[0].Shown(); got != "Recorded: <b> & done" {
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

// A press may carry its new card in the acknowledgement.
func TestAcknowledgementCarriesTheCard(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	sink.Answer = func(_ context.Context, e chat.Event) (chat.Answer, error) {
		if e.Kind != chat.CardPressed {
			return chat.Answer{}, nil
		}
		c := adaptertest.GateCard()
		c.State, c.Buttons = chat.CardDecided, nil
		return chat.Answer{Card: &c}, nil
	}
	run(t, s, a, sink)
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: general(), Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PressButton(sim.Wei, sim.General, ref.Message, "Publish"); err != nil {
		t.Fatal(err)
	}
	adaptertest.Eventually(t, s, "the new card", func() bool {
		m, _ := s.Message(sim.General, ref.Message)
		return strings.Contains(m.Shown(), "● decided") && len(m.Buttons()) == 0
	})
	if n := len(s.Calls("messages.edit")); n != 0 || s.Interactions()[0].Type != 7 {
		t.Errorf("%d edits, type %d", n, s.Interactions()[0].Type)
	}
}

func TestForm(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	run(t, s, a, sink)
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: general(), Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PressButton(sim.Ana, sim.General, ref.Message, "Hold…"); err != nil {
		t.Fatal(err)
	}
	adaptertest.Eventually(t, s, "form", func() bool { _, ok := s.OpenForm(sim.Ana); return ok })
	if f, _ := s.OpenForm(sim.Ana); f.Title != "Hold" || f.Inputs[0].Max != 300 || !f.Inputs[0].Multi {
		t.Errorf("form %+v", f)
	}
	if _, err := s.SubmitForm(sim.Ana, nil); err == nil {
		t.Error("an empty required field was taken")
	}
	if _, err := s.SubmitForm(sim.Ana, map[string]string{"Why?": "not yet"}); err != nil {
		t.Fatal(err)
	}
	e := sink.Next(t, adaptertest.Kind(chat.CardPressed))
	if e.Press.Action != "tok_hold" || e.Press.Values["reason"] != "not yet" || e.Press.Message != ref.Message || e.Place.Conversation != sim.General {
		t.Errorf("press %+v", e.Press)
	}
	adaptertest.Eventually(t, s, "form closed", func() bool { _, ok := s.OpenForm(sim.Ana); return !ok })
	for _, e := range sink.All() {
		if e.Kind == chat.CardPressed && e.Press.Values == nil {
			t.Error("the press counted before the form was submitted")
		}
	}
}

// B22: what comes too late is told, and the card is still changed by its id.
func TestTooLate(t *testing.T) {
	s := newSim(t, sim.Options{InteractionLife: time.Nanosecond, TokenLife: time.Nanosecond})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	sink.Answer = func(_ context.Context, e chat.Event) (chat.Answer, error) {
		if e.Kind == chat.CardPressed {
			return chat.Answer{Notice: "G-7 waits for Ana"}, nil
		}
		return chat.Answer{}, nil
	}
	run(t, s, a, sink)
	dm := s.DM(sim.Wei)
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Conversation: dm}, Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"Publish", "Hold…"} {
		if _, err := s.PressButton(sim.Wei, dm, ref.Message, label); err != nil {
			t.Fatal(err)
		}
	}
	sink.Next(t, adaptertest.Kind(chat.CardPressed))
	// In a private conversation the notice needs no interaction.
	adaptertest.Eventually(t, s, "both notices", func() bool { return len(s.BotMessages(dm)) == 3 })
	all := s.BotMessages(dm)[1].Shown() + s.BotMessages(dm)[2].Shown()
	if !strings.Contains(all, "G-7 waits for Ana") || !strings.Contains(all, "Nothing was decided") {
		t.Errorf("told: %s", all)
	}
	if err := a.Update(t.Context(), ref, chat.Outgoing{Text: "over"}); err != nil {
		t.Errorf("Update by the message's id = %v", err)
	}
	if c := a.Counts(); c["ack:late"] != 1 || c["form:not_opened"] != 1 {
		t.Errorf("counts %v", c)
	}
	// In a channel there is no way to tell one person alone any more.
	e := chat.Event{Place: general(), Sender: chat.User{ID: sim.Wei}, Press: &chat.Press{Reply: "gone"}}
	if err := a.Notice(t.Context(), e, "x"); chat.KindOf(err) != chat.Gone {
		t.Errorf("Notice = %v", err)
	}
	if n := len(s.BotMessages(sim.General)); n != 0 {
		t.Errorf("everybody was told (%d messages)", n)
	}
}

func TestThreads(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	first := s.Say(sim.Wei, sim.General, "before the bot came")
	old := s.StartThread(sim.General, first.ID, "old thread")
	run(t, s, a, sink)
	second := s.Say(sim.Wei, sim.General, "now")
	fresh := s.StartThread(sim.General, second.ID, "new thread")
	for _, th := range []string{old, fresh} {
		s.Say(sim.Ana, th, "in "+th)
		e := sink.Next(t, adaptertest.Said("in "+th))
		if e.Place.Conversation != sim.General || e.Place.Thread != th || e.Private || e.Message.Root != th {
			t.Errorf("place %+v", e.Place)
		}
		ref, err := a.Send(t.Context(), chat.Outgoing{Key: th, Place: e.Place, Card: new(adaptertest.GateCard())})
		if err != nil || ref.Place != e.Place {
			t.Fatalf("%+v %v", ref, err)
		}
		if _, err := s.PressButton(sim.Ana, th, ref.Message, "Publish"); err != nil {
			t.Fatal(err)
		}
		p := sink.Next(t, func(e chat.Event) bool { return e.Kind == chat.CardPressed && e.Press.Message == ref.Message })
		if p.Place != e.Place {
			t.Errorf("pressed in %+v", p.Place)
		}
		if got, ok, err := a.Find(t.Context(), e.Place, th, time.Now().Add(-time.Minute)); !ok || err != nil || got != ref {
			t.Errorf("Find = %v %v %v", got, ok, err)
		}
	}
}

func TestSlash(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	sink.Answer = func(context.Context, chat.Event) (chat.Answer, error) {
		return chat.Answer{Notice: "five <lines>"}, nil
	}
	stop := run(t, s, a, sink)
	offered := func() bool { return slices.Contains(s.Commands(), "loopx") }
	adaptertest.Eventually(t, s, "the command", offered)
	if _, err := s.Slash(sim.Wei, sim.General, "loopx", "text", "status"); err != nil {
		t.Fatal(err)
	}
	e := sink.Next(t, adaptertest.Kind(chat.CommandSent))
	if e.Message.Text != "/loopx status" || e.Sender.Kind != chat.Human {
		t.Errorf("command %+v %+v", e, e.Message)
	}
	adaptertest.Eventually(t, s, "the answer", func() bool { return len(s.Ephemeral(sim.Wei)) == 1 })
	if got := s.Ephemeral(sim.Wei)[0].Shown(); got != "five <lines>" || len(s.Calls("webhooks.create")) != 0 {
		t.Errorf("answered %q", got)
	}

	// It stays with the app: the next run finds it and makes none.
	stop()
	run(t, s, newAdapter(t, s), sink)
	adaptertest.Eventually(t, s, "a second look", func() bool { return len(s.Calls("commands.list")) == 2 })
	if n := len(s.Calls("commands.create")); n != 1 {
		t.Errorf("made %d times", n)
	}
}

// A preview is no edit; an edit and a delete are told; nothing is said of what
// nobody said.
func TestMessageLife(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	run(t, s, a, sink)
	s.Join(sim.Gus, sim.General)
	words := s.Say(sim.Wei, sim.General, "<@"+sim.BotUser+"> look at https://example.com")
	s.Unfurl(sim.General, words.ID)
	s.EditMessage(sim.General, words.ID, "never mind")
	s.DeleteMessage(sim.General, words.ID)
	sink.Next(t, adaptertest.Kind(chat.MessageDeleted))
	var kinds []string
	for _, e := range sink.All() {
		if e.Message.ID != words.ID {
			t.Errorf("message id %q, want %q", e.Message.ID, words.ID)
		}
		kinds = append(kinds, string(e.Kind))
	}
	if got := strings.Join(kinds, " "); got != "message edit delete" {
		t.Errorf("events %q", got)
	}
	if c := a.Counts(); c["ignored:edit:none"] != 1 || c["ignored:message:type_7"] != 1 {
		t.Errorf("counts %v", c)
	}
}

func TestComingAndGoing(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	run(t, s, a, sink)
	s.Leave()
	e := sink.Next(t, adaptertest.Kind(chat.BotRemoved))
	if e.Place.Conversation != sim.Guild {
		t.Errorf("removed from %+v", e.Place)
	}
	s.Enter()
	if e := sink.Next(t, adaptertest.Kind(chat.BotAdded)); e.Place.Conversation != sim.General {
		t.Errorf("added to %+v", e.Place)
	}
	if n := len(sink.All()); n != 2 {
		t.Errorf("%d events: the guild told at the start is no news", n)
	}
}

// B54: nothing that goes out notifies anybody, on any way out.
func TestNobodyIsNotified(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	const all = "<@" + sim.Wei + "> @everyone @here <@&1>"
	sink.Answer = func(_ context.Context, e chat.Event) (chat.Answer, error) {
		if e.Sender.Kind == chat.Self {
			return chat.Answer{}, nil
		}
		return chat.Answer{Notice: all, Reply: all}, nil
	}
	run(t, s, a, sink)
	c := adaptertest.GateCard()
	c.Title, c.Question, c.Quotes[0].Text, c.Facts[0], c.Footer, c.Options[0].Label = all, all, all, all, all, all
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: general(), Card: &c})
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Send(t.Context(), chat.Outgoing{Key: "t", Place: general(), Text: all, Silent: true})
	if err != nil {
		t.Fatal(err)
	}
	if m, _ := s.Message(sim.General, text.Message); m.Flags&(1<<12) == 0 || m.Flags&(1<<2) == 0 {
		t.Errorf("flags %b", m.Flags)
	}
	if err := a.Update(t.Context(), text, chat.Outgoing{Text: all}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PressButton(sim.Wei, sim.General, ref.Message, "Publish"); err != nil {
		t.Fatal(err)
	}
	adaptertest.Eventually(t, s, "notice and reply", func() bool {
		return len(s.Ephemeral(sim.Wei)) == 1 && len(s.BotMessages(sim.General)) == 3
	})
	for _, m := range append(s.BotMessages(sim.General), s.Ephemeral(sim.Wei)...) {
		if p := m.Pings(); len(p) != 0 || string(m.Args["allowed_mentions"]) == "" {
			t.Errorf("%s notifies %v with %s", m.ID, p, m.Args["allowed_mentions"])
		}
		if !strings.Contains(m.Shown(), "@everyone @here") {
			t.Errorf("shown as %q", m.Shown())
		}
	}
}

// B93: not in logs either, and no token of an interaction.
func TestLogsHoldNoSecret(t *testing.T) {
	s := newSim(t, sim.Options{})
	var log adaptertest.Log
	a, sink := newAdapter(t, s, func(c *discord.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}), adaptertest.NewRecorder()
	sink.Answer = func(context.Context, chat.Event) (chat.Answer, error) { return chat.Answer{Notice: "x"}, nil }
	s.RefuseSockets(1)
	stop := run(t, s, a, sink)
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: general(), Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(sim.Fault{Method: "interactions.callback", Kind: sim.FaultReset}, sim.Fault{Method: "webhooks.create", Kind: sim.FaultWriteReset, Times: 2})
	if _, err := s.PressButton(sim.Wei, sim.General, ref.Message, "Publish"); err != nil {
		t.Fatal(err)
	}
	adaptertest.Soon(t, "the notice fails", func() bool { return a.Counts()["notice:failed"] > 0 })
	s.Inject(sim.Fault{Method: "messages.create", Kind: sim.FaultWriteReset})
	_, err = a.Send(t.Context(), chat.Outgoing{Key: "k2", Place: general(), Text: "the words of an agent"})
	stop()
	all := log.String() + fmt.Sprint(err)
	for _, secret := range []string{s.Token(), "interaction-token-", "session-0", "the words of an agent"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q came out in\n%s", secret, all)
		}
	}
	// Where the press was forgotten before its notice was tried, no address with a
	// token stands in the log at all.
	if !strings.Contains(all, "not connected to Discord") || !strings.Contains(all, "[secret]") && !strings.Contains(all, "no_interaction") {
		t.Errorf("the log does not tell of the trouble:\n%s", all)
	}
}

func TestRefusedEventIsKept(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	var mu sync.Mutex
	left := 3
	sink.Answer = func(_ context.Context, e chat.Event) (chat.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if left > 0 && e.Message.Text == "first" {
			left--
			return chat.Answer{}, errors.New("disk full")
		}
		return chat.Answer{}, nil
	}
	run(t, s, a, sink)
	s.Say(sim.Wei, s.DM(sim.Wei), "first")
	s.Say(sim.Wei, s.DM(sim.Wei), "second")
	sink.Next(t, adaptertest.Said("second"))
	var got []string
	for _, e := range sink.All() {
		got = append(got, fmt.Sprint(e.Message.Text, e.Attempt))
	}
	if want := "first0 first1 first2 first3 second0"; strings.Join(got, " ") != want {
		t.Errorf("tried %q, want %q", strings.Join(got, " "), want)
	}
}

func TestBurst(t *testing.T) {
	s := newSim(t, sim.Options{HeartbeatEvery: 50 * time.Millisecond})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	run(t, s, a, sink)
	var last sim.Sent
	for i := range 2000 {
		if i == 700 {
			s.DropSockets() // in the middle, and nothing is lost or out of order
		}
		last = s.Say(sim.Wei, []string{sim.General, sim.Ops}[i%2], fmt.Sprintf("%04d", i))
	}
	adaptertest.Eventually(t, s, "the last ack", func() bool { return s.Acked(last.Events[0]) })
	if n := len(sink.All()); n != 2000 {
		t.Errorf("%d events", n)
	}
	next := map[string]string{}
	for _, e := range sink.All() {
		if e.Message.Text <= next[e.Place.Conversation] {
			t.Fatalf("%s came after %s", e.Message.Text, next[e.Place.Conversation])
		}
		next[e.Place.Conversation] = e.Message.Text
	}
}

// A press that cannot be stored is not acknowledged: the person sees that it
// failed. A message waits for its turn meanwhile, and does not hold presses.
func TestPressThatIsNotStored(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s, func(c *discord.Config) { c.Timing.Accept = 150 * time.Millisecond }), adaptertest.NewRecorder()
	var mu sync.Mutex
	full := true
	sink.Answer = func(_ context.Context, e chat.Event) (chat.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if full && e.Sender.Kind != chat.Self {
			return chat.Answer{}, errors.New("disk full")
		}
		return chat.Answer{}, nil
	}
	run(t, s, a, sink)
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: general(), Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	s.Say(sim.Wei, sim.General, "kept")
	press, err := s.PressButton(sim.Wei, sim.General, ref.Message, "Publish")
	if err != nil {
		t.Fatal(err)
	}
	adaptertest.Soon(t, "the press is given up", func() bool { return a.Counts()["unacked:refused"] >= 2 })
	if s.Acked(press.Events[0]) {
		t.Error("acknowledged what was not stored")
	}
	mu.Lock()
	full = false
	mu.Unlock()
	n := len(sink.All())
	adaptertest.Soon(t, "the message is stored", func() bool { return len(sink.All()) > n })
	again, err := s.PressButton(sim.Wei, sim.General, ref.Message, "Publish")
	if err != nil {
		t.Fatal(err)
	}
	adaptertest.Eventually(t, s, "ack", func() bool { return s.Acked(again.Events[0]) })
}
