package lark_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/lark"
	sim "loopx/fixtures/sim/lark"
)

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
	adaptertest.Start(t, a, sink)
	connected(t, s)

	dm := s.DM("ou_wei")
	sent := s.Say("ou_wei", dm, "status <please> & thanks")
	e := sink.Next(t, adaptertest.Kind(chat.MessageSent))
	want := chat.User{Tenant: "tenant_own", ID: "ou_wei", Kind: chat.Human, Name: "Wei"}
	if e.Sender != want || !e.Private || e.Message.ID != sent.ID || e.Message.Text != "status <please> & thanks" || e.Place != place(dm) {
		t.Fatalf("decoded %+v %+v", e, e.Message)
	}
	acked(t, s, sent)

	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "gate-7", Place: e.Place, Text: "Publish?", Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := s.Message(ref.Message)
	for _, part := range []string{"Homepage release · waits for you", "Publish the new pricing page?", "builder asks:", "▸ Publish (approves)  goes live at once", "preview (example.com)", "○ open · G-7"} {
		if !strings.Contains(shown.Shown(), part) {
			t.Errorf("the card lacks %q:\n%s", part, shown.Shown())
		}
	}
	press, err := s.PressButton("ou_wei", ref.Message, "Publish")
	if err != nil {
		t.Fatal(err)
	}
	p := sink.Next(t, adaptertest.Kind(chat.CardPressed))
	if p.Press.Action != "tok_publish" || p.Press.Message != ref.Message || !p.Private || p.ID == "" || p.Sender != want {
		t.Fatalf("press %+v %+v", p, p.Press)
	}
	acked(t, s, press)
	if got := s.Toasts("ou_wei"); len(got) != 1 || got[0].Text != "Recorded: <b> & done" || got[0].Code != "" {
		t.Errorf("toasts %+v", got)
	}

	decided := adaptertest.GateCard()
	decided.State, decided.Title, decided.Struck, decided.Buttons, decided.Input = chat.CardDecided, "Homepage release · published by Wei", true, nil, nil
	decided.Outcome = "Publish, by Wei at 10:03"
	if err := a.Update(t.Context(), ref, chat.Outgoing{Text: "published", Card: &decided}); err != nil {
		t.Fatal(err)
	}
	// B19: the card call, and no live button is left.
	shown, _ = s.Message(ref.Message)
	if len(shown.Buttons()) != 0 || !strings.Contains(shown.Shown(), "● decided") || shown.Edits != 1 || len(s.Calls("im.message.update")) != 0 {
		t.Errorf("after the decision:\n%s", shown.Shown())
	}
	if found, ok, err := a.Find(t.Context(), e.Place, "gate-7", time.Now().Add(-time.Minute)); err != nil || !ok || found != ref {
		t.Errorf("Find = %v %v %v, want %v", found, ok, err, ref)
	}
}

// The acknowledgement of a press can replace the card.
func TestAnswerCard(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	done := chat.Card{State: chat.CardDecided, Title: "Homepage release · published by Wei"}
	sink.Answer = func(context.Context, chat.Event) (chat.Answer, error) { return chat.Answer{Card: &done}, nil }
	adaptertest.Start(t, a, sink)
	connected(t, s)
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: place("oc_gen"), Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	press, err := s.PressButton("ou_wei", ref.Message, "Publish")
	if err != nil {
		t.Fatal(err)
	}
	acked(t, s, press)
	m, _ := s.Message(ref.Message)
	if len(m.Buttons()) != 0 || !strings.Contains(m.Shown(), "published by Wei") || s.Toasts("ou_wei")[0].Code != "" {
		t.Errorf("the card shows\n%s\ntoasts %+v", m.Shown(), s.Toasts("ou_wei"))
	}
}

// B13, B14, B20: whatever the sink does, the person gets a valid answer in time.
func TestB20EveryPressIsAnswered(t *testing.T) {
	for name, tt := range map[string]struct {
		answer  chat.Answer
		err     error
		slow    bool
		want    string
		private int // messages in the private chat
	}{
		"nothing to say": {},
		"failed":         {err: errors.New("the disk is full"), want: "could not be confirmed"},
		"too slow":       {slow: true, want: "could not be confirmed"},
		"long":           {answer: chat.Answer{Notice: strings.Repeat("long ", 100)}, want: "long long", private: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, sim.Options{})
			a, sink := newAdapter(t, s, func(c *lark.Config) { c.Timing.Accept = 100 * time.Millisecond }), adaptertest.NewRecorder()
			sink.Answer = func(ctx context.Context, _ chat.Event) (chat.Answer, error) {
				if tt.slow {
					<-ctx.Done()
					return chat.Answer{}, ctx.Err()
				}
				return tt.answer, tt.err
			}
			adaptertest.Start(t, a, sink)
			connected(t, s)
			ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: place("oc_gen"), Card: new(adaptertest.GateCard())})
			if err != nil {
				t.Fatal(err)
			}
			press, err := s.PressButton("ou_wei", ref.Message, "Publish")
			if err != nil {
				t.Fatal(err)
			}
			acked(t, s, press)
			got := s.Toasts("ou_wei")[0]
			if got.Code != "" || !strings.Contains(got.Text, tt.want) || tt.want == "" && got.Text != "" {
				t.Errorf("the person saw %+v", got)
			}
			dm := s.DM("ou_wei")
			adaptertest.Eventually(t, s, "the private message", func() bool { return len(s.BotMessages(dm)) == tt.private })
		})
	}
}

// B15: a press that means nothing here reaches the bot, and one that cannot be
// read is answered.
func TestB15UnknownPressIsAnswered(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	sink.Answer = func(_ context.Context, e chat.Event) (chat.Answer, error) {
		if e.Press != nil && e.Press.Action == "" {
			return chat.Answer{Notice: "not supported any more"}, nil
		}
		return chat.Answer{}, nil
	}
	adaptertest.Start(t, a, sink)
	connected(t, s)
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: place("oc_gen"), Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	press, err := s.PressOld("ou_wei", ref.Message, sim.Button{Value: map[string]any{"action": "close_all"}})
	if err != nil {
		t.Fatal(err)
	}
	acked(t, s, press)
	if got := s.Toasts("ou_wei"); got[0].Text != "not supported any more" {
		t.Errorf("toasts %+v", got)
	}
	odd := s.Emit("card.action.trigger", map[string]any{"operator": map[string]any{}, "action": map[string]any{"value": 7}})
	acked(t, s, odd)
	for _, e := range s.Envelopes() {
		if e.ID == odd.Envelopes[0] && !strings.Contains(string(e.Answer), "not supported any more") {
			t.Errorf("answer %s", e.Answer)
		}
	}
}

// B21: an update of a card whose press is not answered yet waits for the answer.
func TestB21AnswerFirstThenUpdate(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s, func(c *lark.Config) { c.Timing.Settle = 400 * time.Millisecond }), adaptertest.NewRecorder()
	entered, release := make(chan struct{}), make(chan struct{})
	sink.Answer = func(context.Context, chat.Event) (chat.Answer, error) {
		close(entered)
		<-release
		return chat.Answer{}, nil
	}
	adaptertest.Start(t, a, sink)
	connected(t, s)
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: place("oc_gen"), Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	press, err := s.PressButton("ou_wei", ref.Message, "Publish")
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	updated := make(chan error, 1)
	go func() {
		updated <- a.Update(context.Background(), ref, chat.Outgoing{Card: &chat.Card{State: chat.CardDecided, Title: "done"}})
	}()
	// Another card does not wait.
	other, err := a.Send(t.Context(), chat.Outgoing{Key: "k2", Place: place("oc_gen"), Card: new(adaptertest.GateCard())})
	if err != nil || a.Update(t.Context(), other, chat.Outgoing{Card: new(adaptertest.GateCard())}) != nil {
		t.Fatal(err)
	}
	if s.Acked(press.Envelopes[0]) || len(s.Calls("im.message.patch")) != 1 {
		t.Error("the update did not wait")
	}
	close(release)
	if err := <-updated; err != nil {
		t.Fatal(err)
	}
	if !s.Acked(press.Envelopes[0]) {
		t.Error("updated before the answer")
	}
}

// B37, B38: answers stay in their topic; a quote opens none; when the first
// message was recalled another one of the topic is answered, never a new topic
// opened.
func TestB37B38Topics(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	connected(t, s)
	for _, where := range []string{"oc_gen", s.DM("ou_wei")} {
		first := s.Say("ou_wei", where, "first in "+where)
		s.Quote("ou_wei", where, first.ID, "a quote in "+where)
		if e := sink.Next(t, adaptertest.Said("a quote in "+where)); e.Place.Thread != "" || e.Message.Parent != first.ID {
			t.Errorf("a quote became a topic: %+v", e)
		}
		in, thread := s.OpenTopic("ou_wei", where, first.ID, "in the topic of "+where)
		e := sink.Next(t, adaptertest.Said("in the topic of "+where))
		if e.Place.Thread != thread {
			t.Fatalf("topic %+v, want %s", e.Place, thread)
		}
		send := func(a *lark.Adapter, key string) (sim.Message, error) {
			ref, err := a.Send(t.Context(), chat.Outgoing{Key: key + where, Place: e.Place, Text: key})
			m, _ := s.Message(ref.Message)
			return m, err
		}
		if m, err := send(a, "one"); err != nil || m.ThreadID != thread {
			t.Errorf("%v %+v", err, m)
		}
		// After a restart nothing is remembered.
		if m, err := send(newAdapter(t, s), "two"); err != nil || m.ThreadID != thread {
			t.Errorf("%v %+v", err, m)
		}
		s.DeleteMessage(first.ID)
		if m, err := send(a, "three"); err != nil || m.ThreadID != thread {
			t.Errorf("%v %+v", err, m)
		}
		s.DeleteMessage(in.ID)
		for _, m := range s.BotMessages(where) {
			s.DeleteMessage(m.ID)
		}
		if _, err := send(newAdapter(t, s), "four"); chat.KindOf(err) != chat.Gone || err == nil {
			t.Errorf("an empty topic: %v, want kind gone", err)
		}
		if n := len(s.BotMessages(where)); n != 0 {
			t.Errorf("%d messages outside the topic", n)
		}
	}
	// A topic group: every message has a thread.
	s.Say("ou_wei", "oc_topic", "new topic")
	e := sink.Next(t, adaptertest.Said("new topic"))
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "t", Place: e.Place, Card: new(adaptertest.GateCard())})
	m, _ := s.Message(ref.Message)
	if err != nil || e.Place.Thread == "" || m.ThreadID != e.Place.Thread {
		t.Errorf("%v %+v", err, m)
	}
	// A press names no topic; it is known from the send.
	if _, err := s.PressButton("ou_wei", ref.Message, "Publish"); err != nil {
		t.Fatal(err)
	}
	if p := sink.Next(t, adaptertest.Kind(chat.CardPressed)); p.Place != e.Place {
		t.Errorf("pressed in %+v, want %+v", p.Place, e.Place)
	}
	if found, ok, err := newAdapter(t, s).Find(t.Context(), e.Place, "t", time.Now().Add(-time.Minute)); err != nil || !ok || found.Message != ref.Message {
		t.Errorf("Find in a topic = %+v %v %v", found, ok, err)
	}
}

// B73: the answer is lost, the same key is sent again, by this process and by the
// next one: one message.
func TestB73SameKeySameMessage(t *testing.T) {
	s := newSim(t, sim.Options{})
	slow := func(c *lark.Config) { c.Timing.Call = 2 * time.Second }
	a := newAdapter(t, s, slow)
	for name, out := range map[string]chat.Outgoing{
		"text":        {Key: "k-text", Place: place("oc_gen"), Text: "said once"},
		"card":        {Key: "k-card", Place: place("oc_gen"), Card: new(adaptertest.GateCard())},
		"to a person": {Key: strings.Repeat("long key ", 10), To: &chat.User{ID: "ou_ana"}, Text: "to Ana once"},
	} {
		since := time.Now()
		s.Inject(sim.Fault{Method: "im.message.create", Kind: sim.FaultWriteHang})
		ref, err := a.Send(t.Context(), out)
		if chat.KindOf(err) != chat.UnknownOutcome || err == nil || ref.Place.Conversation == "" {
			t.Fatalf("%s: %+v %v", name, ref, err)
		}
		next := newAdapter(t, s, slow)
		if name == "card" { // the mark in the history
			if found, ok, err := next.Find(t.Context(), ref.Place, out.Key, since); err != nil || !ok || found.Message == "" {
				t.Errorf("%s: Find = %+v %v %v", name, found, ok, err)
			}
		} else if _, _, err := next.Find(t.Context(), ref.Place, out.Key, since); err != nil {
			t.Errorf("%s: Find within the hour: %v", name, err)
		}
		one, err := next.Send(t.Context(), out)
		two, err2 := a.Send(t.Context(), out)
		if err != nil || err2 != nil || one.Message != two.Message {
			t.Errorf("%s: %+v %v, %+v %v", name, one, err, two, err2)
		}
		n := 0
		for _, m := range s.BotMessages(one.Place.Conversation) {
			if m.UUID == one.Message || m.ID == one.Message {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: it stands there %d times", name, n)
		}
	}
	if n := len(s.BotMessages("oc_gen")); n != 2 {
		t.Errorf("%d messages, want 2", n)
	}
}

// After the hour a second send could be a second message: what the history
// cannot tell is not guessed.
func TestFindAfterTheHour(t *testing.T) {
	s := newSim(t, sim.Options{})
	long := time.Now().Add(-2 * time.Hour)
	if _, ok, err := newAdapter(t, s).Find(t.Context(), place("oc_gen"), "k", long); err != nil || ok {
		t.Errorf("nothing of ours stands there: %v %v", ok, err)
	}
	ref, err := newAdapter(t, s).Send(t.Context(), chat.Outgoing{Key: "k", Place: place("oc_gen"), Text: "some words"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := newAdapter(t, s).Find(t.Context(), place("oc_gen"), "k", long); chat.KindOf(err) != chat.Invalid || err == nil {
		t.Errorf("Find = %v, want kind invalid", err)
	}
	if _, _, err := newAdapter(t, s).Find(t.Context(), place("ou_ana"), "k", long); chat.KindOf(err) != chat.Invalid || err == nil {
		t.Errorf("Find with a person nobody spoke to = %v, want kind invalid", err)
	}
	card, err := newAdapter(t, s).Send(t.Context(), chat.Outgoing{Key: "c", Place: place("oc_gen"), Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	if found, ok, err := newAdapter(t, s).Find(t.Context(), place("oc_gen"), "c", long); err != nil || !ok || found.Message != card.Message || ref.Message == card.Message {
		t.Errorf("a card is found at any time: %+v %v %v", found, ok, err)
	}
}

// Texts are edited, cards patched, also by a process that wrote neither.
func TestUpdateByKind(t *testing.T) {
	s := newSim(t, sim.Options{})
	text, err := newAdapter(t, s).Send(t.Context(), chat.Outgoing{Key: "t", Place: place("oc_gen"), Text: "first"})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range []*lark.Adapter{newAdapter(t, s), newAdapter(t, s)} {
		out := chat.Outgoing{Text: "second"}
		if i == 1 {
			out = chat.Outgoing{Card: &chat.Card{State: chat.CardOpen, Title: "a card"}}
		}
		if err := a.Update(t.Context(), text, out); err != nil {
			t.Fatal(err)
		}
		m, _ := s.Message(text.Message)
		if want := []string{"second", "a card\n○ open"}[i]; m.Shown() != want || m.Type != "post" {
			t.Errorf("%s shows %q, want %q", m.Type, m.Shown(), want)
		}
	}
	// B59: after twenty edits Lark takes no more of this message.
	a := newAdapter(t, s)
	var last error
	for range 25 {
		if last = a.Update(t.Context(), text, chat.Outgoing{Text: "again"}); last != nil {
			break
		}
	}
	if e, ok := errors.AsType[*chat.Error](last); !ok || e.Kind != chat.Gone || e.Code != "230072" {
		t.Errorf("after too many edits: %v", last)
	}
	card, err := a.Send(t.Context(), chat.Outgoing{Key: "c", Place: place("oc_gen"), Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	for range 25 { // a card has no such bound
		if err := a.Update(t.Context(), card, chat.Outgoing{Card: new(adaptertest.GateCard())}); err != nil {
			t.Fatal(err)
		}
	}
}

// B56: a card that Lark refuses arrives as its complete text, once.
func TestB56RefusedCardBecomesText(t *testing.T) {
	s := newSim(t, sim.Options{})
	a := newAdapter(t, s)
	refused := sim.Fault{Method: "im.message.create", Kind: sim.FaultError, Code: 230099, Status: 400, Msg: "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over limit; ErrorValue: secret words"}
	s.Inject(refused)
	card := adaptertest.GateCard()
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: place("oc_gen"), Text: chat.PlainText(card), Card: &card})
	m, _ := s.Message(ref.Message)
	if err != nil || m.Type != "post" || m.Shown() != chat.PlainText(card) || len(s.BotMessages("oc_gen")) != 1 {
		t.Fatalf("%v: %s\n%s", err, m.Type, m.Shown())
	}
	ref, err = a.Send(t.Context(), chat.Outgoing{Key: "k2", Place: place("oc_gen"), Card: &card})
	if err != nil {
		t.Fatal(err)
	}
	refused.Method = "im.message.patch"
	s.Inject(refused)
	if err := a.Update(t.Context(), ref, chat.Outgoing{Text: "in words", Card: &card}); err != nil {
		t.Fatal(err)
	}
	if m, _ := s.Message(ref.Message); m.Shown() != "in words" {
		t.Errorf("shows %q", m.Shown())
	}
	if a.Counts()["card:refused"] != 2 {
		t.Errorf("counts %v", a.Counts())
	}
}

// Nothing we write notifies anybody, whatever the words are (B51, B54).
func TestNothingNotifies(t *testing.T) {
	s := newSim(t, sim.Options{})
	a := newAdapter(t, s)
	for i, words := range []string{
		`<at user_id="all">all</at>`, `<at id=ou_wei></at>`, "```\n@OtherBot\n```", "`<at user_id=\"ou_bty\"></at>`", "@loopx @all", "[x](https://evil.example)",
	} {
		c := chat.Card{State: chat.CardDecided, Title: words, Question: words, Struck: true, Outcome: words, Options: []chat.Option{{Label: words}}}
		for j, out := range []chat.Outgoing{{Text: words}, {Card: &c}} {
			out.Key, out.Place = strings.Repeat("k", i*2+j+1), place("oc_gen")
			ref, err := a.Send(t.Context(), out)
			if err != nil {
				t.Fatal(err)
			}
			m, _ := s.Message(ref.Message)
			if p := m.Pinged(); len(p) != 0 || !strings.Contains(m.Shown(), words) && j == 0 {
				t.Errorf("%q notified %v and shows %q", words, p, m.Shown())
			}
		}
	}
}
