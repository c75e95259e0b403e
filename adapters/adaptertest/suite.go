package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"loopx/adapters/chat"
)

func message(t *testing.T, b *bench) {
	b.start()
	const text = "is it *live* <yet> & __init__ 重点?"
	a := b.act(b.Say(b.Ann, b.Private, text))
	e := b.event("the message", said(text))
	if diff := cmp.Diff(b.Ann, e.Sender, cmpopts.IgnoreFields(chat.User{}, "Name")); diff != "" {
		t.Errorf("sender (-want +got)\n%s", diff)
	}
	if e.Place.Conversation != b.Private.Conversation || e.Place.Connection == "" || e.Place.Thread != "" || !e.Private {
		t.Errorf("place %+v private %v", e.Place, e.Private)
	}
	if e.ID == "" || e.Message.ID == "" || e.At == 0 {
		t.Errorf("an id or the time is missing: %+v %+v", e, e.Message)
	}
	if h, ok := b.Adapter.(chat.Homed); ok && h.Tenant() != b.Ann.Tenant {
		t.Errorf("the connection's own tenant is %q, that of its members %q", h.Tenant(), b.Ann.Tenant)
	}
	b.eventually("the acknowledgement", a.Acked)
}

func mention(t *testing.T, b *bench) {
	b.start()
	b.act(b.Mention(b.Ann, b.Group, "status please"))
	e := b.event("the mention", func(e chat.Event) bool {
		return e.Kind == chat.MessageSent && strings.Contains(e.Message.Text, "status please")
	})
	if e.Private || len(e.Message.Mentions) != 1 || !e.Message.Mentions[0].Self || e.Message.Mentions[0].All {
		t.Errorf("mention %+v", e.Message)
	}
	// The bot's name as text is no mention.
	b.act(b.Say(b.Ann, b.Group, "loopx is nice, @loopx too"))
	if e := b.event("the name", said("loopx is nice, @loopx too")); len(e.Message.Mentions) != 0 {
		t.Errorf("a name in the text became a mention: %+v", e.Message.Mentions)
	}
	for _, one := range b.got(func(e chat.Event) bool { return e.Message != nil && strings.Contains(e.Message.Text, "status please") }) {
		if one.Message.ID != e.Message.ID && strings.Contains(e.Message.Text, "status please") {
			t.Errorf("one message came with two ids: %q and %q", one.Message.ID, e.Message.ID)
		}
	}
}

func group(t *testing.T, b *bench) {
	b.start()
	b.act(b.Say(b.Bob, b.Group, "in the group"))
	e := b.event("the message", said("in the group"))
	if e.Private || e.Place.Conversation != b.Group.Conversation || e.Sender.ID != b.Bob.ID {
		t.Errorf("event %+v", e)
	}
}

func press(t *testing.T, b *bench) {
	b.start()
	ref := b.mustSend("k1", "Publish?", new(card()), b.home())
	a := b.act(b.Press(b.Ann, ref, "tok_a"))
	e := b.event("the press", pressed("tok_a"))
	if e.Press.Message != ref.Message || e.Place.Conversation != ref.Place.Conversation || e.Sender.ID != b.Ann.ID || e.Sender.Kind != chat.Human || e.ID == "" {
		t.Errorf("press %+v %+v", e, e.Press)
	}
	b.eventually("the acknowledgement", a.Acked)
	// Two presses are two events.
	b.act(b.Press(b.Ann, ref, "tok_a"))
	b.eventually("the second press", func() bool { return len(b.got(pressed("tok_a"))) == 2 })
	if two := b.got(pressed("tok_a")); two[0].ID == two[1].ID {
		t.Error("two presses have one id")
	}
	if _, err := b.Press(b.Ann, ref, "tok_nowhere"); err == nil {
		t.Error("the surface lets people press what is not there: the harness proves nothing")
	}
}

func pressAgain(t *testing.T, b *bench) {
	b.start()
	ref := b.mustSend("k1", "Publish?", new(card()), b.home())
	b.Repeat()
	b.act(b.Press(b.Ann, ref, "tok_a"))
	b.eventually("both deliveries", func() bool { return len(b.got(pressed("tok_a"))) == 2 })
	if two := b.got(pressed("tok_a")); two[0].ID != two[1].ID {
		t.Errorf("one press came with two ids: %q and %q", two[0].ID, two[1].ID)
	}
}

func form(t *testing.T, b *bench) {
	b.start()
	ref := b.mustSend("k1", "Publish?", new(card()), b.home())
	if _, err := b.Submit(b.Ann, ref, "tok_b", map[string]string{"reason": ""}); err == nil {
		t.Error("a required text may be empty")
	}
	const why = "not before Friday, <b>please</b> & thanks"
	a := b.act(b.Submit(b.Ann, ref, "tok_b", map[string]string{"reason": why}))
	e := b.event("the press", pressed("tok_b"))
	if e.Press.Values["reason"] != why || e.Press.Message != ref.Message || e.Sender.ID != b.Ann.ID || e.Place.Conversation != ref.Place.Conversation {
		t.Errorf("press %+v", e.Press)
	}
	b.eventually("the acknowledgement", a.Acked)
	if n := len(b.got(pressed("tok_b"))); n != 1 {
		t.Errorf("the press counted %d times", n)
	}
}

func ackAfterAccept(t *testing.T, b *bench) {
	entered, release := make(chan struct{}), make(chan struct{})
	var limit time.Time
	b.onEvent(func(ctx context.Context, e chat.Event) (chat.Answer, error) {
		limit, _ = ctx.Deadline()
		close(entered)
		<-release
		return chat.Answer{}, nil
	})
	b.start()
	began := time.Now()
	a := b.act(b.Say(b.Ann, b.Private, "slow"))
	select {
	case <-entered:
	case <-time.After(10 * time.Second):
		t.Fatal("Accept was not called")
	}
	if limit.IsZero() || limit.Sub(began) > time.Duration(b.Adapter.Caps().AckIn) {
		t.Errorf("Accept's deadline is %v away, the platform waits %v", limit.Sub(began), b.Adapter.Caps().AckIn)
	}
	if a.Acked() {
		t.Error("acknowledged while Accept ran")
	}
	close(release)
	b.eventually("the acknowledgement", a.Acked)
}

func redelivery(t *testing.T, b *bench) {
	first := true
	b.onEvent(func(context.Context, chat.Event) (chat.Answer, error) {
		if first {
			first = false
			return chat.Answer{}, errors.New("the disk is full")
		}
		return chat.Answer{}, nil
	})
	b.start()
	a := b.act(b.Say(b.Ann, b.Private, "keep me"))
	b.eventually("the second delivery", func() bool { return len(b.got(said("keep me"))) == 2 })
	b.eventually("the acknowledgement", a.Acked)
	two := b.got(said("keep me"))
	if two[0].ID != two[1].ID || two[0].Message.ID != two[1].Message.ID {
		t.Errorf("the repeat has other ids: %+v %+v", two[0], two[1])
	}
}

func slowConversation(t *testing.T, b *bench) {
	release := make(chan struct{})
	b.onEvent(func(ctx context.Context, e chat.Event) (chat.Answer, error) {
		if e.Place.Conversation == b.Group.Conversation {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return chat.Answer{}, nil
	})
	b.start()
	slow := b.act(b.Say(b.Ann, b.Group, "holds"))
	b.event("the slow one", said("holds"))
	all := []Act{slow}
	for i := range 5 {
		text := fmt.Sprintf("passes %d", i)
		quick := b.act(b.Say(b.Bob, b.Side, text))
		passed := quick.Acked
		if b.OneMark != "" {
			passed = func() bool { return len(b.got(said(text))) == 1 }
		}
		b.eventually("the other conversation", passed)
		all = append(all, quick)
	}
	if b.OneMark != "" {
		t.Logf("acknowledged by one mark: %s", b.OneMark)
	}
	if slow.Acked() {
		t.Error("the slow one was acknowledged early")
	}
	close(release)
	for _, a := range all {
		b.eventually("all acknowledgements", a.Acked)
	}
}

func order(t *testing.T, b *bench) {
	b.start()
	var want []string
	for i := range 20 {
		text := fmt.Sprintf("line %02d", i)
		want = append(want, text)
		b.act(b.Say(b.Ann, b.Private, text))
	}
	lines := func(e chat.Event) bool {
		return e.Kind == chat.MessageSent && strings.HasPrefix(e.Message.Text, "line ")
	}
	b.eventually("all lines", func() bool { return len(b.got(lines)) >= len(want) })
	if got := texts(b.got(lines)); !same(got, want) {
		t.Errorf("order (-want +got)\n%s", cmp.Diff(want, got))
	}
}

func send(t *testing.T, b *bench) {
	b.start()
	const text = "plain *text* with my_var_name, __init__, a <tag> & <!channel> @everyone 👩\u200d👩\u200d👧"
	ref := b.mustSend("text-1", text, nil, b.home())
	if got, _, ok := b.Shown(ref); !ok || got != text {
		t.Errorf("shown %q, want %q", got, text)
	}
	hidden := b.mustSend("text-2", "pay\u202e\u200b", nil, b.home())
	if got, _, _ := b.Shown(hidden); got != chat.Visible("pay\u202e\u200b") {
		t.Errorf("hidden characters are shown as %q", got)
	}
	ref = b.mustSend("card-1", "", new(card()), b.home())
	got, buttons, ok := b.Shown(ref)
	for _, part := range []string{"Homepage release · waits for you", "Publish the new pricing page?", "builder", "Checks pass <!channel> @everyone", "goes live at once", "approves", "Blocks 1 of 6 todos", "G-7 · asked 09:58", "open"} {
		if !ok || !strings.Contains(got, part) {
			t.Errorf("the card lacks %q:\n%s", part, got)
		}
	}
	if !same(buttons, []string{"tok_a", "tok_b", "tok_c"}) {
		t.Errorf("buttons %q", buttons)
	}
	if private, err := b.Adapter.Send(b.ctx, chat.Outgoing{Key: "to-1", To: &b.Ann, Text: "for you"}); err != nil || private.Place.Conversation != b.Private.Conversation {
		t.Errorf("a message to a person: %+v %v", private, err)
	}
	for name, out := range map[string]chat.Outgoing{
		"empty":    {Key: "bad-1", Place: b.home()},
		"too long": {Key: "bad-2", Place: b.home(), Text: strings.Repeat("long ", 50_000)},
	} {
		if _, err := b.Adapter.Send(b.ctx, out); chat.KindOf(err) != chat.Invalid || err == nil {
			t.Errorf("%s: %v, want kind invalid", name, err)
		}
	}
	nowhere := b.home()
	nowhere.Conversation = "C0NOWHERE"
	if _, err := b.Adapter.Send(b.ctx, chat.Outgoing{Key: "bad-3", Place: nowhere, Text: "x"}); chat.KindOf(err) != chat.Gone || err == nil {
		t.Errorf("no such place: %v, want kind gone", err)
	}
}

func update(t *testing.T, b *bench) {
	b.start()
	ref := b.mustSend("k1", "Publish?", new(card()), b.home())
	done := card()
	done.State, done.Title, done.Struck, done.Buttons, done.Input = chat.CardDecided, "Homepage release · published by Wei", true, nil, nil
	done.Outcome = "Publish, by Wei at 10:03"
	for range 2 { // repeating it is harmless
		if err := b.Adapter.Update(b.ctx, ref, chat.Outgoing{Text: "Published by Wei", Card: &done}); err != nil {
			t.Fatal(err)
		}
	}
	got, buttons, ok := b.Shown(ref)
	if !ok || len(buttons) != 0 || !strings.Contains(got, "Publish, by Wei at 10:03") || !strings.Contains(got, "decided") {
		t.Errorf("after the decision, buttons %q:\n%s", buttons, got)
	}
	if err := b.Adapter.Update(b.ctx, ref, chat.Outgoing{Text: "only text"}); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := b.Shown(ref); got != "only text" {
		t.Errorf("a card that became text shows %q", got)
	}
	ref.Message = "1700000000.000001"
	if err := b.Adapter.Update(b.ctx, ref, chat.Outgoing{Text: "x"}); chat.KindOf(err) != chat.Gone || err == nil {
		t.Errorf("no such message: %v, want kind gone", err)
	}
}

func find(t *testing.T, b *bench) {
	b.start()
	since := time.Now().Add(-time.Second)
	b.mustSend("other", "other", nil, b.home())
	ref := b.mustSend("wanted", "wanted", nil, b.home())
	b.mustSend("last", "last", nil, b.home())
	got, ok, err := b.Adapter.Find(b.ctx, b.home(), "wanted", since)
	if err != nil || !ok || got.Message != ref.Message || got.Place.Conversation != ref.Place.Conversation {
		t.Errorf("Find = %+v %v %v, want %+v", got, ok, err, ref)
	}
	if got, ok, err := b.Adapter.Find(b.ctx, b.home(), "never", since); err != nil || ok {
		t.Errorf("Find of what was never sent = %+v %v %v", got, ok, err)
	}
}

func lostAnswer(t *testing.T, b *bench) {
	b.start()
	since := time.Now().Add(-time.Second)
	b.LoseAnswer()
	ref, err := b.Adapter.Send(b.ctx, chat.Outgoing{Key: "lost", Place: b.home(), Text: "sent once"})
	if chat.KindOf(err) != chat.UnknownOutcome || err == nil {
		t.Fatalf("Send = %v, want kind unknown_outcome", err)
	}
	found, ok, err := b.Adapter.Find(b.ctx, ref.Place, "lost", since)
	if err != nil || !ok {
		t.Fatalf("Find = %v %v %v", found, ok, err)
	}
	if text, _, _ := b.Shown(found); text != "sent once" {
		t.Errorf("found %q", text)
	}
	if n := b.Count(b.home(), "sent once"); n != 1 {
		t.Errorf("it stands there %d times", n)
	}
}

func notice(t *testing.T, b *bench) {
	b.onEvent(func(_ context.Context, e chat.Event) (chat.Answer, error) {
		if e.Kind == chat.CardPressed {
			return chat.Answer{Notice: "G-7 waits for <Wei> & Ana"}, nil
		}
		return chat.Answer{}, nil
	})
	b.start()
	ref := b.mustSend("k1", "Publish?", new(card()), b.home())
	b.act(b.Press(b.Ann, ref, "tok_a"))
	b.eventually("the notice", func() bool { return len(b.Notices(b.Ann)) > 0 })
	if got := b.Notices(b.Ann); len(got) != 1 || got[0] != "G-7 waits for <Wei> & Ana" {
		t.Errorf("notices %q", got)
	}
	if got := b.Notices(b.Bob); len(got) != 0 {
		t.Errorf("somebody else saw %q", got)
	}
	if n := b.Count(b.home(), "G-7 waits for"); n != 0 {
		t.Errorf("everybody saw the notice (%d times)", n)
	}
}

func senders(t *testing.T, b *bench) {
	b.start()
	for _, kind := range []chat.UserKind{chat.Guest, chat.External, chat.Bot} {
		say := b.SayAs[kind]
		if why, none := b.NoKind[kind]; none {
			t.Logf("no sender of kind %q: %s", kind, why)
			continue
		}
		if say == nil {
			t.Errorf("the harness has no sender of kind %q", kind)
			continue
		}
		text := "I am a " + string(kind)
		b.act(say(b.Group, text))
		if e := b.event(text, said(text)); e.Sender.Kind != kind || e.Sender.ID == "" {
			t.Errorf("%s was decoded as %+v", kind, e.Sender)
		}
	}
}

func secrets(t *testing.T, b *bench) {
	b.start()
	b.BreakAuth()
	_, err := b.Adapter.Send(b.ctx, chat.Outgoing{Key: "k", Place: b.home(), Text: "x"})
	if chat.KindOf(err) != chat.Auth || err == nil {
		t.Errorf("Send with a dead token = %v, want kind auth", err)
	}
	var run error
	select {
	case run = <-b.done:
		b.done <- nil
	case <-time.After(10 * time.Second):
		t.Fatal("Run goes on with a dead token")
	}
	if chat.KindOf(run) != chat.Auth || run == nil {
		t.Errorf("Run = %v, want kind auth", run)
	}
	h := b.Adapter.Health()
	if h.State != chat.Failed || h.Fix == "" {
		t.Errorf("health %+v, want failed with a fix", h)
	}
	all := fmt.Sprintf("%v %+v %#v %v %+v %#v %+v %#v", err, err, err, run, run, run, h, b.Adapter)
	for _, secret := range b.Secrets {
		if strings.Contains(all, secret) {
			t.Errorf("a secret came out: %s", strings.ReplaceAll(all, secret, "<<HERE>>"))
		}
	}
	if len(b.Secrets) == 0 {
		t.Error("the harness names no secret")
	}
}

func stop(t *testing.T, b *bench) {
	entered := make(chan struct{})
	b.onEvent(func(ctx context.Context, e chat.Event) (chat.Answer, error) {
		close(entered)
		<-ctx.Done()
		return chat.Answer{}, ctx.Err()
	})
	b.start()
	b.act(b.Say(b.Ann, b.Private, "in flight"))
	select {
	case <-entered:
	case <-time.After(10 * time.Second):
		t.Fatal("Accept was not called")
	}
	b.stop() // with an event in Accept; the cleanup looks for goroutines
	if s := b.Adapter.Health().State; s == chat.Ready {
		t.Errorf("health is %q after the end", s)
	}
}

func caps(t *testing.T, b *bench) {
	b.notStarted()
	c := b.Adapter.Caps()
	typed := func(what string, err error) {
		t.Helper()
		if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != chat.Invalid {
			t.Errorf("%s is not declared and returned %v, want an *chat.Error of kind invalid", what, err)
		}
	}
	if !c.Edit {
		typed("Edit", b.Adapter.Update(b.ctx, chat.Ref{Place: b.home(), Message: "m"}, chat.Outgoing{Text: "x"}))
	}
	if !c.Find {
		_, _, err := b.Adapter.Find(b.ctx, b.home(), "k", time.Now())
		typed("Find", err)
	}
	if !c.Notices {
		typed("Notices", b.Adapter.Notice(b.ctx, chat.Event{Place: b.home(), Sender: b.Ann}, "x"))
	}
	// Send works before Run.
	b.mustSend("early", "before Run", nil, b.home())
}
