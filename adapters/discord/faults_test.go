package discord_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/discord"
	sim "loopx/fixtures/sim/discord"
)

// Every way a write can fail has one kind.
func TestFailureKinds(t *testing.T) {
	code := func(status, code int) sim.Fault { return sim.Fault{Kind: sim.FaultError, Status: status, Code: code} }
	tests := []struct {
		name  string
		fault sim.Fault
		want  chat.ErrorKind
		again chat.ErrorKind // for an edit, when other
		after time.Duration
	}{
		{"429", sim.Fault{Kind: sim.FaultRateLimit, For: 7500 * time.Millisecond}, chat.RateLimited, "", 7500 * time.Millisecond},
		{"500", sim.Fault{Kind: sim.FaultStatus, Status: 500}, chat.UnknownOutcome, chat.Temporary, 0},
		{"502", sim.Fault{Kind: sim.FaultStatus, Status: 502}, chat.UnknownOutcome, chat.Temporary, 0},
		{"a page with 403", sim.Fault{Kind: sim.FaultStatus, Status: 403}, chat.Temporary, "", 0},
		{"a page instead of an answer", sim.Fault{Kind: sim.FaultHTML}, chat.UnknownOutcome, "", 0},
		{"reset", sim.Fault{Kind: sim.FaultReset}, chat.UnknownOutcome, chat.Temporary, 0},
		{"reset after the write", sim.Fault{Kind: sim.FaultWriteReset}, chat.UnknownOutcome, chat.Temporary, 0},
		{"no answer", sim.Fault{Kind: sim.FaultWriteHang}, chat.UnknownOutcome, chat.Temporary, 0},
		{"overloaded", code(503, 130000), chat.UnknownOutcome, chat.Temporary, 0},
		{"unknown channel", code(404, 10003), chat.Gone, "", 0},
		{"unknown message", code(404, 10008), chat.Gone, "", 0},
		{"missing access", code(403, 50001), chat.Gone, "", 0},
		{"missing permissions", code(403, 50013), chat.Gone, "", 0},
		{"closed private messages", code(403, 50007), chat.Gone, "", 0},
		{"archived thread", code(400, 50083), chat.Gone, "", 0},
		{"slow mode", code(400, 20016), chat.RateLimited, "", time.Minute},
		{"too many old edits", code(400, 30046), chat.RateLimited, "", time.Minute},
		{"empty", code(400, 50006), chat.Invalid, "", 0},
		{"blocked by a rule", code(400, 200000), chat.Invalid, "", 0},
		{"a new code", code(400, 999999), chat.Temporary, "", 0},
		{"from the future", code(418, 0), chat.Temporary, "", 0},
	}
	s := newSim(t, sim.Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// A fresh one for each: a 429 would hold the next.
			a := newAdapter(t, s, func(c *discord.Config) { c.Timing.Call = 2 * time.Second })
			ref, err := a.Send(t.Context(), chat.Outgoing{Key: "base" + tt.name, Place: general(), Text: "base"})
			if err != nil {
				t.Fatal(err)
			}
			before := len(s.Calls("messages.create"))
			tt.fault.Method = "messages.create"
			s.Inject(tt.fault)
			_, err = a.Send(t.Context(), chat.Outgoing{Key: tt.name, Place: general(), Text: "x"})
			e, ok := errors.AsType[*chat.Error](err)
			if !ok || e.Kind != tt.want || e.After != tt.after {
				t.Errorf("Send = %v, want %s after %v", err, tt.want, tt.after)
			}
			if n := len(s.Calls("messages.create")); n != before+1 {
				t.Errorf("%d posts for one send: something was repeated blindly", n-before)
			}
			tt.fault.Method, tt.fault.Times = "messages.edit", 2 // what is refused is tried as components too
			s.Inject(tt.fault)
			defer s.ClearFaults()
			want := tt.want
			if tt.again != "" {
				want = tt.again
			}
			err = a.Update(t.Context(), ref, chat.Outgoing{Text: "x"})
			if tt.fault.Kind == sim.FaultHTML {
				return // nothing of an edit's answer is read
			}
			if chat.KindOf(err) != want || err == nil {
				t.Errorf("Update = %v, want %s", err, want)
			}
		})
	}
}

func TestNothingListens(t *testing.T) {
	s := sim.New(sim.Options{})
	a := newAdapter(t, s)
	s.Close()
	_, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: general(), Text: "x"})
	if chat.KindOf(err) != chat.Temporary {
		t.Errorf("Send to a refused port = %v, want temporary: nothing was written", err)
	}
}

// An unknown outcome that is sent again with its key stands there once, also
// where the history keeps no nonces.
func TestNonceIsEnforced(t *testing.T) {
	s := newSim(t, sim.Options{HistoryWithoutNonce: true})
	a := newAdapter(t, s, func(c *discord.Config) { c.Timing.Call = 2 * time.Second })
	s.Inject(sim.Fault{Method: "messages.create", Kind: sim.FaultWriteHang})
	since := time.Now()
	out := chat.Outgoing{Key: "once", Place: general(), Text: "sent once"}
	ref, err := a.Send(t.Context(), out)
	if chat.KindOf(err) != chat.UnknownOutcome {
		t.Fatal(err)
	}
	if _, ok, err := a.Find(t.Context(), ref.Place, "once", since); ok || err != nil {
		t.Fatalf("Find = %v %v", ok, err)
	}
	again, err := a.Send(t.Context(), out)
	if err != nil || len(s.BotMessages(sim.General)) != 1 || again.Message != s.BotMessages(sim.General)[0].ID {
		t.Errorf("%+v %v, %d messages", again, err, len(s.BotMessages(sim.General)))
	}
}

func TestFindPages(t *testing.T) {
	s := newSim(t, sim.Options{})
	a := newAdapter(t, s)
	for i := range 150 {
		s.Say(sim.Wei, sim.General, fmt.Sprint(i))
	}
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: general(), Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	got, ok, err := a.Find(t.Context(), general(), "k", time.Now().Add(-time.Minute))
	if err != nil || !ok || got.Message != ref.Message || len(s.Calls("messages.list")) != 2 {
		t.Errorf("Find = %v %v %v after %d pages", got, ok, err, len(s.Calls("messages.list")))
	}
	if _, ok, err := a.Find(t.Context(), general(), "k", time.Now().Add(time.Hour)); ok || err != nil {
		t.Errorf("found before it was sent: %v %v", ok, err)
	}
}

// A card that Discord refuses is sent as its whole text, and so is its update;
// a card can become text and text a card.
func TestRefusedCardBecomesText(t *testing.T) {
	s := newSim(t, sim.Options{})
	a := newAdapter(t, s)
	s.Inject(sim.Fault{Method: "messages.create", Kind: sim.FaultError, Status: 400, Code: 50035},
		sim.Fault{Method: "messages.edit", Kind: sim.FaultError, Status: 400, Code: 50035})
	ref, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: general(), Card: new(adaptertest.GateCard())})
	if err != nil {
		t.Fatal(err)
	}
	want := chat.PlainText(adaptertest.GateCard())
	if m, _ := s.Message(sim.General, ref.Message); m.Shown() != want {
		t.Errorf("shown\n%s\nwant\n%s", m.Shown(), want)
	}
	if err := a.Update(t.Context(), ref, chat.Outgoing{Card: new(adaptertest.GateCard()), Text: "as text"}); err != nil {
		t.Fatal(err)
	}
	if m, _ := s.Message(sim.General, ref.Message); m.Shown() != "as text" || len(m.Buttons()) != 0 {
		t.Errorf("shown %q", m.Shown())
	}
	for _, out := range []chat.Outgoing{{Card: new(adaptertest.GateCard())}, {Text: "only _text_"}, {Card: new(adaptertest.GateCard())}} {
		if err := a.Update(t.Context(), ref, out); err != nil {
			t.Fatal(err)
		}
		m, _ := s.Message(sim.General, ref.Message)
		if out.Card == nil && m.Shown() != out.Text || out.Card != nil && len(m.Buttons()) != 2 {
			t.Errorf("shown %q", m.Shown())
		}
	}
	if got, ok, err := a.Find(t.Context(), ref.Place, "k", time.Now().Add(-time.Minute)); !ok || err != nil || got.Message != ref.Message {
		t.Errorf("the text is not found by its key: %v %v %v", got, ok, err)
	}
}

// A text that its escapes double still goes out whole.
func TestTextThatGrows(t *testing.T) {
	s := newSim(t, sim.Options{})
	a := newAdapter(t, s)
	for _, text := range []string{strings.Repeat("_", 2000), strings.Repeat("x", 2000), strings.Repeat("a_*` ", 400)} {
		ref, err := a.Send(t.Context(), chat.Outgoing{Key: text, Place: general(), Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if m, _ := s.Message(sim.General, ref.Message); m.Shown() != text {
			t.Errorf("%d characters are shown of %d", len(m.Shown()), len(text))
		}
	}
}

func TestPrivateConversation(t *testing.T) {
	s := newSim(t, sim.Options{People: []sim.Person{{ID: sim.Wei, Name: "Wei", Kind: sim.Member}, {ID: sim.Ana, Name: "Ana", Kind: sim.Member, NoDM: true}}})
	a := newAdapter(t, s)
	for i := range 3 {
		ref, err := a.Send(t.Context(), chat.Outgoing{Key: fmt.Sprint(i), To: &chat.User{ID: sim.Wei}, Text: "x"})
		if err != nil || ref.Place.Conversation != s.DM(sim.Wei) {
			t.Fatalf("%+v %v", ref, err)
		}
	}
	if n := len(s.Calls("users.dm")); n != 1 {
		t.Errorf("opened %d times", n)
	}
	_, err := a.Send(t.Context(), chat.Outgoing{Key: "k", To: &chat.User{ID: sim.Ana}, Text: "x"})
	if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != chat.Gone || !strings.Contains(e.Fix, "direct messages") {
		t.Errorf("Send to closed private messages = %v", err)
	}
	for _, user := range []string{"899999999999999999", "U0WEI", "../../users/@me"} {
		if _, err := a.Send(t.Context(), chat.Outgoing{Key: "k", To: &chat.User{ID: user}, Text: "x"}); chat.KindOf(err) != chat.Gone {
			t.Errorf("Send to %q = %v", user, err)
		}
	}
}

// One budget: what the headers say is kept, without a single 429; a longer wait
// is handed back instead of slept away.
func TestBudget(t *testing.T) {
	s := newSim(t, sim.Options{PostsPerSecond: 3})
	a := newAdapter(t, s, func(c *discord.Config) { c.Timing.Wait = 2 * time.Second })
	send := func(ctx context.Context, i int) error {
		_, err := a.Send(ctx, chat.Outgoing{Key: fmt.Sprint(i), Place: general(), Text: "x"})
		return err
	}
	began := time.Now()
	for i := range 7 {
		if err := send(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(began); d < 1500*time.Millisecond {
		t.Errorf("seven posts in %v, three a second are allowed", d)
	}
	for _, c := range s.Calls("") {
		if c.Status == 429 {
			t.Fatal("the limit was run into")
		}
	}
	s.Inject(sim.Fault{Method: "messages.create", Kind: sim.FaultGlobal, For: time.Minute})
	if err := send(t.Context(), 8); chat.KindOf(err) != chat.RateLimited {
		t.Fatal(err)
	}
	calls := len(s.Calls(""))
	began = time.Now()
	err := send(t.Context(), 9)
	e, ok := errors.AsType[*chat.Error](err)
	if !ok || e.Kind != chat.RateLimited || e.After < 50*time.Second || time.Since(began) > time.Second {
		t.Errorf("during a global limit: %v after %v", err, time.Since(began))
	}
	if err := a.Update(t.Context(), chat.Ref{Place: general(), Message: "1"}, chat.Outgoing{Text: "x"}); chat.KindOf(err) != chat.RateLimited || len(s.Calls("")) != calls {
		t.Errorf("another route during a global limit: %v", err)
	}
}

func TestBudgetKeepsTheContext(t *testing.T) {
	s := newSim(t, sim.Options{PostsPerSecond: 1})
	a := newAdapter(t, s, func(c *discord.Config) { c.Timing.Wait = 10 * time.Second })
	if _, err := a.Send(t.Context(), chat.Outgoing{Key: "1", Place: general(), Text: "x"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	_, err := a.Send(ctx, chat.Outgoing{Key: "2", Place: general(), Text: "x"})
	if err == nil || chat.KindOf(err) != chat.Temporary || time.Since(began) > 600*time.Millisecond {
		t.Errorf("Send = %v after %v", err, time.Since(began))
	}
}

// A dead token is asked once, not once a message: a storm of 401 bans the
// address.
func TestNoStormOfRefusals(t *testing.T) {
	s := newSim(t, sim.Options{})
	a := newAdapter(t, s)
	s.Revoke()
	for i := range 100 {
		_, err := a.Send(t.Context(), chat.Outgoing{Key: fmt.Sprint(i), Place: general(), Text: "x"})
		if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != chat.Auth || e.Fix == "" {
			t.Fatal(err)
		}
	}
	if n := len(s.Calls("")); n != 1 {
		t.Errorf("%d calls with a dead token", n)
	}
}

func TestMissingIntentIsNamed(t *testing.T) {
	s := newSim(t, sim.Options{NoMessageContent: true})
	a := newAdapter(t, s)
	err := a.Run(t.Context(), adaptertest.NewRecorder())
	if chat.KindOf(err) != chat.Auth || a.Health().State != chat.Failed || !strings.Contains(a.Health().Fix, "Message Content Intent") {
		t.Errorf("Run = %v, health %+v", err, a.Health())
	}
	if n, _ := s.Identifies(); n != 1 {
		t.Errorf("%d identifies", n)
	}
}

func TestPermissionIsNamed(t *testing.T) {
	s := newSim(t, sim.Options{})
	a := newAdapter(t, s)
	s.Exclude(sim.General)
	_, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: general(), Text: "x"})
	if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != chat.Gone || e.Code != "50001" || e.Fix == "" {
		t.Errorf("Send = %v", err)
	}
}

// What cannot be read is counted and does not end anything; a component the SDK
// does not know costs no message (platforms: it empties the whole event there).
func TestUnreadableFrames(t *testing.T) {
	s := newSim(t, sim.Options{HeartbeatEvery: 40 * time.Millisecond})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	run(t, s, a, sink)
	for _, frame := range []string{"not json", `{"op":"x"}`, `[]`, `{"op":99,"d":{}}`, `"text"`, `{"op":0,"t":"READY"`} {
		s.SendRaw(frame)
	}
	bad := s.Emit("MESSAGE_CREATE", map[string]any{"id": 7})
	odd := s.Emit("FROM_THE_FUTURE", map[string]any{"x": 1})
	strange := s.Emit("MESSAGE_CREATE", map[string]any{
		"id": "1310000000000000001", "channel_id": sim.General, "guild_id": sim.Guild, "author": map[string]any{"id": sim.Wei}, "content": "strange",
		"components": []any{map[string]any{"type": 18, "component": map[string]any{"type": 99}}}, "embeds": 7,
	})
	sink.Next(t, adaptertest.Said("strange"))
	for _, e := range []sim.Sent{bad, odd, strange} {
		adaptertest.Eventually(t, s, "mark", func() bool { return s.Acked(e.Events[0]) })
	}
	c := a.Counts()
	if c["undecodable:MESSAGE_CREATE"] != 1 || c["ignored:event:FROM_THE_FUTURE"] != 1 || c["frame:unreadable"] < 4 || a.Health().State != chat.Ready {
		t.Errorf("counts %v, health %+v", c, a.Health())
	}
	if _, ever := s.Connections(); ever != 1 {
		t.Errorf("%d connections", ever)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := discord.Config{Name: "work", BotToken: chat.NewSecret("MTIz.abcdef.ghijklmnopqrstuvw")}
	if _, err := discord.New(good); err != nil {
		t.Fatal(err)
	}
	for name, mod := range map[string]func(*discord.Config){
		"no name":         func(c *discord.Config) { c.Name = "" },
		"no token":        func(c *discord.Config) { c.BotToken = chat.Secret{} },
		"with Bot":        func(c *discord.Config) { c.BotToken = chat.NewSecret("Bot MTIz.abcdef.ghijklmnopqrstuvw") },
		"a client secret": func(c *discord.Config) { c.BotToken = chat.NewSecret("abcdefghijklmnopqrstuvwxyz012345") },
		"url without sim": func(c *discord.Config) { c.BaseURL = "http://127.0.0.1:1/api/" },
		"sim elsewhere":   func(c *discord.Config) { c.Sim, c.BaseURL = true, "http://192.0.2.1/api/" },
		"sim by name":     func(c *discord.Config) { c.Sim, c.BaseURL = true, "http://localhost.evil.example/api/" },
		"sim over https":  func(c *discord.Config) { c.Sim, c.BaseURL = true, "https://discord.com.evil.example/api/" },
		"sim with a user": func(c *discord.Config) { c.Sim, c.BaseURL = true, "http://a:b@127.0.0.1/api/" },
	} {
		c := good
		mod(&c)
		_, err := discord.New(c)
		if chat.KindOf(err) != chat.Invalid || err == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Error(), "abcdef") {
			t.Errorf("%s: the error repeats the token: %v", name, err)
		}
	}
}

func TestOneRunAtATime(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	run(t, s, a, sink)
	if err := a.Run(context.Background(), sink); chat.KindOf(err) != chat.Invalid || err == nil {
		t.Errorf("a second Run = %v", err)
	}
}
