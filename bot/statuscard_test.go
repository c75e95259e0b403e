package bot

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/view"
)

// board is the status card in the group, once it fits.
func (l *linked) board(what string, fits func(string) bool) (out shown) {
	l.t.Helper()
	l.until(what, func() bool {
		for _, m := range l.p.seeIn(l.p.group) {
			if strings.Contains(m.text, "Homepage release") && fits(m.text) {
				out = m
				return true
			}
		}
		return false
	})
	return out
}

func (l *linked) bind(card string) string {
	l.t.Helper()
	var res struct {
		ID string `json:"binding_id"`
	}
	rec := l.do(&kernel.SetBinding{Platform: l.p.config.Platform, Connection: "work", Conversation: l.p.group, Goals: []string{"site"}, Visibility: "public", Card: card}, asOwner)
	if err := json.Unmarshal(rec.Result, &res); err != nil {
		l.t.Fatal(err)
	}
	return res.ID
}

// The status card of a bound conversation has the five lines, is pinned, follows
// the facts as the same message, says since when nobody keeps it up to date, is
// there once after a restart, and takes its leave.
func TestStatusCardOnEveryPlatform(t *testing.T) {
	onEveryPlatform(t, func(l *linked) {
		l.bind(kernel.CardOfStatus)
		first := l.board("the card", func(s string) bool { return strings.Contains(s, "as of ") })
		for _, line := range []string{"Objective", "Next", "Needs you", "Evidence", "Continues", "Ship it", "publish (P2), not taken yet"} {
			if !strings.Contains(first.text, line) {
				t.Errorf("the card has no %q: %q", line, first.text)
			}
		}
		if len(first.buttons) > 0 {
			t.Errorf("it asks something: %q", first.buttons)
		}
		l.until("the pin", func() bool { p := l.p.pinned(); return len(p) == 1 && p[0] == first.id })
		stopBot(t, l.b)
		if got := l.board("the leave", func(s string) bool { return strings.Contains(s, "away since ") }); got.id != first.id {
			t.Error("the leave is another message")
		}
		l.start()
		l.ready()
		if got := l.board("the return", func(s string) bool { return !strings.Contains(s, "away since ") }); got.id != first.id {
			t.Error("after the restart there is another card")
		}
		l.ask()
		if got := l.board("the question", func(s string) bool { return strings.Contains(s, "G-1 Publish the new pricing page?") }); got.id != first.id {
			t.Error("the change is another message")
		}
		v, err := view.Ask[view.BindingsView](t.Context(), l.c, &view.Bindings{Goal: "site"})
		if err != nil || len(v.Bindings) != 1 || v.Bindings[0].Card != kernel.CardOfStatus {
			t.Fatalf("bindings %+v, %v", v, err)
		}
		l.do(&kernel.RemoveBinding{Binding: v.Bindings[0].ID}, asOwner)
		l.board("the end", func(s string) bool { return strings.Contains(s, "no longer kept up to date") })
		l.until("the pin is off", func() bool { return len(l.p.pinned()) == 0 })
		n := 0
		for _, m := range l.p.seeIn(l.p.group) {
			if strings.Contains(m.text, "Homepage release") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the card is there %d times: %+v", n, l.p.seeIn(l.p.group))
		}
	})
}

// A refused pin is no failure: the card stands, the connection's health names what
// is missing, and after a restart, when the scope is there, it is pinned.
func TestPinThatIsRefused(t *testing.T) {
	onEveryPlatform(t, func(l *linked) {
		l.p.failPin()
		l.bind(kernel.CardOfStatus)
		card := l.board("the card", func(s string) bool { return strings.Contains(s, "as of ") })
		detail := func() string {
			info, err := l.c.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return info.Connections[1].Detail
		}
		eventually(t, "the health says so", func() bool { return strings.Contains(detail(), "the status card is not pinned: ") })
		if d := detail(); !strings.Contains(d, "scope") && !strings.Contains(d, "Pin Messages") {
			t.Errorf("the health does not name what is missing: %q", d)
		}
		l.restart()
		l.until("the pin", func() bool { p := l.p.pinned(); return len(p) == 1 && p[0] == card.id })
		eventually(t, "the health is clean", func() bool { return !strings.Contains(detail(), "not pinned") })
	})
}

// Many changes are few edits, what asks goes first, and an unchanged board is not
// written again.
func TestStatusCardIsQuiet(t *testing.T) {
	inNight(t, func(o *night) {
		o.until(1, 10, 0)
		o.do(&kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: "C1", Goals: []string{"site"}, Card: kernel.CardOfStatus, Language: "zh"})
		o.pass(time.Second)
		if got := shows(o.work, "C1"); len(got) != 1 || !strings.Contains(got[0], "截至 10:00") || !strings.Contains(got[0], "待你处理: 无") {
			t.Fatalf("the card reads %q", got)
		}
		before := o.work.seen().edits
		for range 30 {
			o.do(&kernel.AddTodo{Goal: "site", Title: "more"})
			o.pass(time.Second)
		}
		o.pass(time.Minute)
		if n := o.work.seen().edits - before; n < 1 || n > 4 {
			t.Errorf("30 changes in 30 seconds are %d edits", n)
		}
		before = o.work.seen().edits
		o.pass(3 * time.Hour)
		if n := o.work.seen().edits - before; n != 0 {
			t.Errorf("an unchanged board was written %d times", n)
		}
		for _, m := range o.work.outs {
			if m.Place.Conversation == "C1" && !m.Silent {
				t.Error("the card makes a sound")
			}
		}
		if n := len(shows(o.work, "C1")); n != 1 {
			t.Errorf("%d messages", n)
		}
		// A card that cannot be changed any more makes place for one that can.
		o.work.mu.Lock()
		o.work.noEdit = &chat.Error{Kind: chat.Gone, Code: "edit_window_closed"}
		o.work.mu.Unlock()
		o.do(&kernel.AddTodo{Goal: "site", Title: "urgent", Priority: new(0)})
		o.pass(time.Minute)
		if got := shows(o.work, "C1"); len(got) != 2 || !strings.Contains(got[1], "urgent") {
			t.Errorf("the conversation shows %q", got)
		}
	})
}

// An owner asks for the card in the chat and ends it there, each by a preview that
// one press confirms; somebody else is refused.
func TestStatusCardByChat(t *testing.T) {
	l := newLobby(t)
	l.do(&kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: "C1", Goals: []string{"site"}, Ingress: "queue"}, asOwner)
	dm := "D-" + wei
	card := func() (out string) {
		l.read(func(r *kernel.Reader) {
			b := r.BindingAt("work", "C1", "")
			if len(b) != 1 || b[0].Ingress != "queue" {
				t.Fatalf("bindings %+v", b)
			}
			out = b[0].Card
		})
		return out
	}
	ask := func(text string) {
		t.Helper()
		l.say(wei, "C1", false, "@U0SELF "+text)
		it := l.plan(dm)
		if got := l.press(wei, dm, confirm(it)); got != "" {
			t.Fatalf("%s: %q", text, got)
		}
	}
	ask("/status pin")
	if card() != kernel.CardOfStatus {
		t.Error("the card was not asked for")
	}
	ask("/status unpin")
	if card() != "" {
		t.Error("the card did not end")
	}
	l.say(bob, "C1", false, "@U0SELF /status pin")
	for _, place := range []string{dm, "D-" + bob, "C1"} {
		plans, _ := l.owed(place)
		for _, it := range plans {
			if it.Plan.State == inbox.PlanOpen {
				t.Errorf("a stranger has a plan in %s", place)
			}
		}
	}
}
