package lark_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/lark"
	sim "loopx/fixtures/sim/lark"
)

// Each failure has one kind, given once.
func TestFailureKinds(t *testing.T) {
	type row struct {
		fault sim.Fault
		kind  chat.ErrorKind
		code  string
		after time.Duration
	}
	f := func(kind sim.FaultKind) sim.Fault { return sim.Fault{Kind: kind} }
	code := func(c int, msg string) sim.Fault {
		return sim.Fault{Kind: sim.FaultError, Code: c, Msg: msg, Status: 400}
	}
	for name, tt := range map[string]row{
		"429":                {sim.Fault{Kind: sim.FaultRateLimit, For: 7 * time.Second}, chat.RateLimited, "99991400", 7 * time.Second},
		"429 without a time": {sim.Fault{Kind: sim.FaultRateLimit}, chat.RateLimited, "99991400", 5 * time.Second},
		"old rate limit":     {code(99991400, "x"), chat.RateLimited, "99991400", 5 * time.Second},
		"rate of a chat":     {code(230020, "x"), chat.RateLimited, "230020", time.Second},
		"send throttled":     {code(11232, "x"), chat.RateLimited, "11232", 5 * time.Second},
		"500 html":           {sim.Fault{Kind: sim.FaultStatus, Status: 500}, chat.UnknownOutcome, "http_500", 0},
		"504 html":           {sim.Fault{Kind: sim.FaultStatus, Status: 504}, chat.UnknownOutcome, "http_504", 0},
		"404 html":           {sim.Fault{Kind: sim.FaultStatus, Status: 404}, chat.Temporary, "http_404", 0},
		"redirect":           {sim.Fault{Kind: sim.FaultStatus, Status: 302}, chat.Temporary, "http_302", 0},
		"200 html":           {f(sim.FaultHTML), chat.UnknownOutcome, "http_200", 0},
		"no data":            {f(sim.FaultNoData), chat.UnknownOutcome, "bad_answer", 0},
		"reset":              {f(sim.FaultReset), chat.UnknownOutcome, "no_answer", 0},
		"written, reset":     {f(sim.FaultWriteReset), chat.UnknownOutcome, "no_answer", 0},
		"written, hangs":     {f(sim.FaultWriteHang), chat.UnknownOutcome, "no_answer", 0},
		"scope missing":      {code(99991672, "Access denied. One of the following scopes is required: [im:message, im:message:send_as_bot]."), chat.Auth, "99991672", 0},
		"bot switched off":   {code(230006, "x"), chat.Auth, "230006", 0},
		"address not listed": {code(99991401, "x"), chat.Auth, "99991401", 0},
		"out of the chat":    {code(230002, "x"), chat.Gone, "230002", 0},
		"recalled":           {code(230011, "x"), chat.Gone, "230011", 0},
		"not found":          {code(231003, "x"), chat.Gone, "231003", 0},
		"disbanded":          {code(232009, "x"), chat.Gone, "232009", 0},
		"unknown chat":       {code(230001, "Your request contains an invalid request parameter, ext=invalid receive_id."), chat.Gone, "230001", 0},
		"bad parameter":      {code(230001, "Your request contains an invalid request parameter, ext=text is empty."), chat.Invalid, "230001", 0},
		"too long":           {code(230025, "x"), chat.Invalid, "230025", 0},
		"sensitive":          {code(230028, "x"), chat.Invalid, "230028", 0},
		"internal, 500":      {sim.Fault{Kind: sim.FaultError, Code: 2200, Status: 500}, chat.UnknownOutcome, "2200", 0},
		"unheard of":         {code(123456, "x"), chat.Temporary, "123456", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, sim.Options{})
			a := newAdapter(t, s, func(c *lark.Config) { c.Timing.Call = time.Second })
			tt.fault.Method = "im.message.create"
			s.Inject(tt.fault)
			_, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: place("oc_gen"), Text: "x"})
			e, ok := errors.AsType[*chat.Error](err)
			if !ok || e.Kind != tt.kind || e.Code != tt.code || e.After != tt.after {
				t.Errorf("%#v, want %s %s %v", e, tt.kind, tt.code, tt.after)
			}
			if tt.kind == chat.Auth && e.Fix == "" {
				t.Error("no fix")
			}
			if strings.Contains(name, "scope") && !strings.Contains(e.Fix, "im:message:send_as_bot") {
				t.Errorf("the fix does not name the scope: %q", e.Fix)
			}
		})
	}
	// A call without an effect is never unknown.
	s := newSim(t, sim.Options{})
	a := newAdapter(t, s)
	s.Inject(sim.Fault{Method: "im.message.list", Kind: sim.FaultReset, Times: -1}) // a read is tried again by net/http
	if _, _, err := a.Find(t.Context(), place("oc_gen"), "k", time.Now()); chat.KindOf(err) != chat.Temporary || err == nil {
		t.Errorf("Find = %v, want kind temporary", err)
	}
	s.Close()
	if _, err := newAdapter(t, s).Send(t.Context(), chat.Outgoing{Key: "k", Place: place("oc_gen"), Text: "x"}); chat.KindOf(err) != chat.Temporary {
		t.Errorf("nobody listens: %v, want kind temporary", err)
	}
}

// The simulator's own limits are met as Lark means them.
func TestRateLimitIsTold(t *testing.T) {
	s := newSim(t, sim.Options{PostsPerSecond: 2, UpdatesPerSecond: 1})
	a := newAdapter(t, s)
	send := func(key string) (chat.Ref, error) {
		return a.Send(t.Context(), chat.Outgoing{Key: key, Place: place("oc_gen"), Card: new(adaptertest.GateCard())})
	}
	ref, err := send("1")
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for i := range 10 {
		if _, last = send(fmt.Sprint("n", i)); last != nil {
			break
		}
	}
	if e, ok := errors.AsType[*chat.Error](last); !ok || e.Kind != chat.RateLimited || e.After != time.Second {
		t.Errorf("%v", last)
	}
	for range 10 {
		if last = a.Update(t.Context(), ref, chat.Outgoing{Card: new(adaptertest.GateCard())}); last != nil {
			break
		}
	}
	if chat.KindOf(last) != chat.RateLimited {
		t.Errorf("%v", last)
	}
}

// B74: a revoked token, in a 400 and in a 200 body, is dropped, one new one
// fetched, the call made once more; other errors do not refresh.
func TestB74RevokedTokenIsReplaced(t *testing.T) {
	s := newSim(t, sim.Options{})
	a := newAdapter(t, s)
	send := func(key string) error {
		_, err := a.Send(t.Context(), chat.Outgoing{Key: key, Place: place("oc_gen"), Text: key})
		return err
	}
	if err := send("one"); err != nil || s.TokensIssued() != 1 {
		t.Fatalf("%v, %d tokens", err, s.TokensIssued())
	}
	s.RevokeTokens()
	if err := send("two"); err != nil || s.TokensIssued() != 2 {
		t.Fatalf("%v, %d tokens", err, s.TokensIssued())
	}
	for i, c := range []int{99991663, 99991664, 99991671, 99991661} {
		s.Inject(sim.Fault{Method: "im.message.create", Kind: sim.FaultError, Code: c}) // in a 200
		before := len(s.Calls("auth.token"))
		if err := send(fmt.Sprint("code", i)); err != nil || len(s.Calls("auth.token")) != before+1 {
			t.Errorf("%d: %v, %d token calls", c, err, len(s.Calls("auth.token"))-before)
		}
	}
	before := len(s.Calls("auth.token"))
	s.Inject(sim.Fault{Method: "im.message.create", Kind: sim.FaultError, Code: 99991663, Times: -1})
	if err := send("never"); chat.KindOf(err) != chat.Auth || len(s.Calls("auth.token")) != before+1 {
		t.Errorf("%v after %d token calls", err, len(s.Calls("auth.token"))-before)
	}
	s.ClearFaults()
	before = len(s.Calls("auth.token"))
	s.Inject(sim.Fault{Method: "im.message.create", Kind: sim.FaultError, Code: 230002, Status: 400})
	if err := send("gone"); chat.KindOf(err) != chat.Gone || len(s.Calls("auth.token")) > before+1 {
		t.Errorf("%v", err)
	}
}

// Twenty first calls at once make one token request.
func TestTokenIsFetchedOnce(t *testing.T) {
	s := newSim(t, sim.Options{})
	s.Inject(sim.Fault{Method: "auth.token", Kind: sim.FaultDelay, For: 50 * time.Millisecond})
	a := newAdapter(t, s)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := a.Send(context.Background(), chat.Outgoing{Key: fmt.Sprint(i), Place: place("oc_gen"), Text: "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(s.Calls("auth.token")); n != 1 {
		t.Errorf("%d token requests", n)
	}
}

// B75: a token whose life is not told is used for the documented time, with one
// warning, and the token endpoint is left in peace.
func TestB75NoExpiry(t *testing.T) {
	s := newSim(t, sim.Options{TokenLife: -1})
	var log adaptertest.Log
	a := newAdapter(t, s, func(c *lark.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for i := range 5 {
		if _, err := a.Send(t.Context(), chat.Outgoing{Key: fmt.Sprint(i), Place: place("oc_gen"), Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.Calls("auth.token")); n != 1 || !strings.Contains(log.String(), "how long it lives") {
		t.Errorf("%d token requests\n%s", n, log.String())
	}
}

// A short life is renewed before it ends.
func TestShortTokenLife(t *testing.T) {
	s := newSim(t, sim.Options{TokenLife: time.Second})
	a := newAdapter(t, s)
	deadline := time.After(5 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := 0; s.TokensIssued() < 3; i++ {
		if _, err := a.Send(t.Context(), chat.Outgoing{Key: fmt.Sprint(i), Place: place("oc_gen"), Text: "x"}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d tokens", s.TokensIssued())
		}
	}
}

// Frames that are nothing, events that are nothing: the next one still arrives.
func TestMalformedFrames(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	connected(t, s)
	s.SendRaw([]byte("no protobuf"))
	s.SendRaw(nil)
	s.SendRaw([]byte{0x08, 0x01}) // required fields are missing
	s.SendFrame(map[string]string{"type": "event", "message_id": "m", "sum": "2000000000", "seq": "1"}, []byte("{}"))
	s.SendFrame(map[string]string{"type": "event", "message_id": "m", "sum": "3", "seq": "7"}, []byte("{}"))
	s.SendFrame(map[string]string{"type": "event", "message_id": "m", "sum": "3", "seq": "-1"}, []byte("{}"))
	s.SendFrame(map[string]string{"type": "event", "message_id": "nojson"}, []byte("{"))
	s.SendFrame(map[string]string{"type": "from_the_future", "message_id": "x"}, []byte("{}"))
	s.SendFrame(map[string]string{}, nil)
	bad := s.Emit("im.message.receive_v1", map[string]any{"message": 7})
	odd := s.Emit("im.from.the.future_v9", map[string]any{"x": 1})
	acked(t, s, bad)
	acked(t, s, odd)
	acked(t, s, s.Say("ou_wei", "oc_gen", "still here"))
	sink.Next(t, adaptertest.Said("still here"))
	if c := a.Counts(); c["frame:bad_part"] != 3 || c["frame:unreadable"] < 2 || c["undecodable"] < 2 || c["ignored:event:im.from.the.future_v9"] != 1 {
		t.Errorf("counts %v", c)
	}
	if _, ever := s.Connections(); ever != 1 || a.Health().State != chat.Ready {
		t.Errorf("%d connections, health %+v", ever, a.Health())
	}
}

// Events in parts, in one write and out of order, arrive whole and in order.
func TestFragments(t *testing.T) {
	for _, shuffle := range []bool{false, true} {
		s := newSim(t, sim.Options{})
		s.Fragment(7, true, shuffle)
		a, sink := newAdapter(t, s), adaptertest.NewRecorder()
		adaptertest.Start(t, a, sink)
		var last sim.Sent
		for i := range 300 {
			last = s.Say("ou_wei", "oc_gen", fmt.Sprintf("%04d 重点", i))
		}
		acked(t, s, last)
		for i, e := range sink.All() {
			if e.Message.Text != fmt.Sprintf("%04d 重点", i) {
				t.Fatalf("%d: %q", i, e.Message.Text)
			}
		}
		if len(sink.All()) != 300 {
			t.Errorf("%d events", len(sink.All()))
		}
	}
}

// B01, B03: what comes again keeps its message id, or its old time; the inbox
// decides on both.
func TestB01B03Repeats(t *testing.T) {
	s := newSim(t, sim.Options{AckWithin: 100 * time.Millisecond, Redeliver: []time.Duration{0, 0, 0}})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	connected(t, s)
	s.LoseAcks(1)
	one := s.Say("ou_wei", "oc_gen", "once")
	s.DropSockets() // the ack is lost, the connection too
	acked(t, s, one)
	acked(t, s, s.SayAgain(one.ID))
	acked(t, s, s.SayAgainAs(one.ID))
	all := sink.All()
	first := all[0]
	ids := map[string]bool{}
	for _, e := range all {
		ids[e.Message.ID] = true
		if e.At != first.At || e.Message.Text != "once" {
			t.Errorf("a repeat changed: %+v", e)
		}
	}
	if len(ids) != 2 || all[len(all)-2].ID == first.ID {
		t.Errorf("ids %v of %d events", ids, len(all))
	}
}

// Recalls, joins and leaves reach the bot; edits do not exist for bots.
func TestOtherEvents(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	connected(t, s)
	one := s.Say("ou_wei", s.DM("ou_wei"), "oops")
	s.EditMessage(one.ID, "edited")
	acked(t, s, s.DeleteMessage(one.ID))
	if e := sink.Next(t, adaptertest.Kind(chat.MessageDeleted)); e.Message.ID != one.ID || !e.Private || e.Sender.Kind != chat.Unknown {
		t.Errorf("%+v %+v", e, e.Message)
	}
	acked(t, s, s.Kick("oc_gen", "ou_wei", s.BotID()))
	acked(t, s, s.Invite("oc_gen", "ou_wei", s.BotID()))
	if e := sink.Next(t, adaptertest.Kind(chat.BotAdded)); e.Place.Conversation != "oc_gen" || e.Sender.ID != "ou_wei" || e.Private {
		t.Errorf("%+v", e)
	}
	sink.Next(t, adaptertest.Kind(chat.BotRemoved))
	acked(t, s, s.React("ou_wei", one.ID, "THUMBSUP"))
	acked(t, s, s.Share("ou_wei", "oc_gen", "image", `{"image_key":"img_1"}`))
	if e := sink.Next(t, func(e chat.Event) bool { return e.Message != nil && len(e.Message.Attachments) == 1 }); e.Message.Attachments[0].Kind != "image" {
		t.Errorf("%+v", e.Message)
	}
	for _, e := range sink.All() {
		if e.Kind == chat.MessageEdited {
			t.Error("an edit arrived")
		}
	}
}

// Without the contact scope there is no name and nothing else is missing; B48 is
// warned of once.
func TestWithoutScopes(t *testing.T) {
	s := newSim(t, sim.Options{Scopes: []string{"im:message", "im:message.p2p_msg:readonly", "im:message.group_at_msg:readonly"}, StringMentions: true})
	var log adaptertest.Log
	a, sink := newAdapter(t, s, func(c *lark.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	connected(t, s)
	s.Say("ou_wei", s.DM("ou_wei"), "hello")
	if e := sink.Next(t, adaptertest.Said("hello")); e.Sender.Kind != chat.Human || e.Sender.Name != "" {
		t.Errorf("%+v", e.Sender)
	}
	if quiet := s.Say("ou_wei", "oc_gen", "not for the bot"); len(quiet.Envelopes) != 0 {
		t.Error("a group message arrived without its scope")
	}
	for range 2 {
		acked(t, s, s.Say("ou_wei", "oc_gen", "<@"+s.BotID()+"> status"))
	}
	if e := sink.Next(t, adaptertest.Said("@ou_bot status")); !e.Message.Mentions[0].Self {
		t.Errorf("%+v", e.Message)
	}
	if n := strings.Count(log.String(), "mention_as_string"); n != 1 {
		t.Errorf("%d warnings\n%s", n, log.String())
	}
}

// B93: not in logs, not in errors, and not the address that holds the ticket.
func TestLogsHoldNoSecret(t *testing.T) {
	s := newSim(t, sim.Options{})
	var log adaptertest.Log
	a, sink := newAdapter(t, s, func(c *lark.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}), adaptertest.NewRecorder()
	s.RefuseSockets(1)
	s.Inject(sim.Fault{Method: "ws.endpoint", Kind: sim.FaultReset}, sim.Fault{Method: "bot.info", Kind: sim.FaultHTML})
	stop := adaptertest.Start(t, a, sink)
	acked(t, s, s.Say("ou_wei", "oc_gen", "the words of a person"))
	s.Inject(sim.Fault{Method: "*", Kind: sim.FaultWriteReset, Times: 2}, sim.Fault{Method: "auth.token", Kind: sim.FaultReset})
	s.RevokeTokens()
	_, err := a.Send(t.Context(), chat.Outgoing{Key: "k", Place: place("oc_gen"), Text: "x"})
	stop()
	all := log.String() + fmt.Sprintf("%v %+v %#v", err, err, a)
	for _, secret := range []string{s.AppSecret(), "simulated-token", "ticket-", "simulated-access-key", "the words of a person"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q came out in\n%s", secret, all)
		}
	}
	if !strings.Contains(all, "not connected to Lark") {
		t.Errorf("the log does not tell of the trouble:\n%s", all)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := lark.Config{Name: "work", AppID: "cli_a0b1c2d3e4f50617", AppSecret: chat.NewSecret("s3cr3t")}
	for _, d := range []lark.Domain{"", lark.Feishu, lark.Lark} {
		c := good
		c.Domain = d
		if _, err := lark.New(c); err != nil {
			t.Error(err)
		}
	}
	for name, mod := range map[string]func(*lark.Config){
		"no name":          func(c *lark.Config) { c.Name = "" },
		"swapped":          func(c *lark.Config) { c.AppID, c.AppSecret = "s3cr3t", chat.NewSecret(c.AppID) },
		"no secret":        func(c *lark.Config) { c.AppSecret = chat.Secret{} },
		"a pasted message": func(c *lark.Config) { c.AppSecret = chat.NewSecret("s3cr3t here you are") },
		"other domain":     func(c *lark.Config) { c.Domain = "larksuite.com" },
		"url without sim":  func(c *lark.Config) { c.BaseURL = "http://127.0.0.1:1" },
		"sim elsewhere":    func(c *lark.Config) { c.Sim, c.BaseURL = true, "http://192.0.2.1" },
		"sim by name":      func(c *lark.Config) { c.Sim, c.BaseURL = true, "http://localhost.evil.example" },
		"sim over https":   func(c *lark.Config) { c.Sim, c.BaseURL = true, "https://127.0.0.1" },
		"sim with a user":  func(c *lark.Config) { c.Sim, c.BaseURL = true, "http://a:b@127.0.0.1" },
		"sim with a path":  func(c *lark.Config) { c.Sim, c.BaseURL = true, "http://127.0.0.1/open-apis" },
	} {
		c := good
		mod(&c)
		_, err := lark.New(c)
		if chat.KindOf(err) != chat.Invalid || err == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Error(), "here you are") || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: the error repeats the secret: %v", name, err)
		}
	}
}

func TestOneRunAtATime(t *testing.T) {
	s := newSim(t, sim.Options{})
	a, sink := newAdapter(t, s), adaptertest.NewRecorder()
	adaptertest.Start(t, a, sink)
	connected(t, s)
	if err := a.Run(context.Background(), sink); chat.KindOf(err) != chat.Invalid || err == nil {
		t.Errorf("a second Run = %v", err)
	}
}
