package bot

import (
	"strings"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/view"
)

// reason is why a gate cannot be told to anybody; empty while it can.
func (o *night) reason(gate string) (out string) {
	o.t.Helper()
	o.read(func(r *kernel.Reader) {
		if u := r.Unreachable(r.Gate(r.GoalOfGate(gate), gate)); u != nil {
			out = u.Reason
		}
	})
	return out
}

// A decision that nobody can be told of says so within a second of the connection
// failing, where its goal is bound and to every reader, and stops when it is back.
func TestUnreachableIsSaidAndEnds(t *testing.T) {
	inNight(t, func(o *night) {
		o.do(&kernel.SetBinding{Platform: "slack", Connection: "home", Conversation: "C1", Goals: []string{"site"}})
		o.until(1, 10, 0)
		gate := o.ask("site", "Publish?", 1)
		line := func(want string) {
			t.Helper()
			o.pass(11 * time.Second)
			if got := shows(o.home, "C1"); len(got) != 1 || got[0] != want {
				t.Errorf("the line reads %q, want %q", got, want)
			}
		}
		line("G-1 waits for Wei")
		o.work.become(chat.Failed)
		line("G-1 waits, and nobody who may answer it can be reached")
		if got := o.reason(gate); got != "connections_down" {
			t.Errorf("the reason is %q", got)
		}
		o.read(func(r *kernel.Reader) {
			f := view.FiveOf(r, r.Goal("site"))
			if l := f.Lines("en", r.Now(), time.UTC)[2].Text; !strings.Contains(l, "nobody can be reached") {
				t.Errorf("the board says %q", l)
			}
		})
		o.work.become(chat.Ready)
		line("G-1 waits for Wei")
		// A connection that is coming back is given two minutes.
		o.work.become(chat.Retrying)
		o.pass(time.Minute)
		if got := o.reason(gate); got != "" {
			t.Errorf("after a minute the reason is %q", got)
		}
		o.pass(2 * time.Minute)
		if got := o.reason(gate); got != "connections_down" {
			t.Errorf("after three minutes the reason is %q", got)
		}
		// Being away ends by itself, without a word of anybody.
		o.work.become(chat.Ready)
		o.do(&kernel.SetAway{Until: time.Now().Add(time.Hour).UnixMilli()})
		line("G-1 waits, and nobody who may answer it can be reached")
		o.pass(time.Hour)
		line("G-1 waits for Wei")
	})
}

// Who cannot be written to privately counts as out of reach until they write; then
// the card that was refused arrives, once.
func TestRefusedPrivateMessage(t *testing.T) {
	inNight(t, func(o *night) {
		o.until(1, 10, 0)
		o.work.script(&chat.Error{Kind: chat.Gone, Code: "messages_tab_disabled"})
		gate := o.ask("site", "Publish?", 1)
		if got := o.reason(gate); got != "no_private_chat" {
			t.Fatalf("the reason is %q", got)
		}
		o.want("DWEI")
		o.do(&kernel.AddTodo{Goal: "site", Title: "more"})
		o.pass(time.Minute)
		o.want("DWEI")
		for _, c := range o.e.conns {
			if c.name != "work" {
				continue
			}
			_, err := c.sink.Accept(t.Context(), chat.Event{Kind: chat.MessageSent, ID: "e1", Private: true, At: time.Now().UnixMilli(),
				Place: chat.Place{Connection: "work", Conversation: "DWEI"}, Sender: chat.User{Tenant: "T1", ID: "UWEI", Kind: chat.Human}, Message: &chat.Message{ID: "m1", Text: "/help"}})
			if err != nil {
				t.Fatal(err)
			}
		}
		o.pass(time.Minute)
		if got := o.reason(gate); got != "" {
			t.Errorf("after Wei wrote the reason is %q", got)
		}
		n := 0
		for _, s := range heard(o.work, "DWEI") {
			if strings.HasSuffix(s, "Publish?") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the card came %d times: %q", n, heard(o.work, "DWEI"))
		}
	})
}

// Who takes no private message is named once where the goal is bound, so that their
// platform notifies them, with nothing of what is asked; when they write, the card
// comes.
func TestMentionWhereNoPrivateMessageIsTaken(t *testing.T) {
	onEveryPlatform(t, func(l *linked) {
		l.bind("")
		l.p.closed()
		l.open()
		l.until("the mention", func() bool { return len(l.p.pinged()) == 1 })
		if id := l.link().User; l.p.pinged()[0] != id {
			t.Errorf("%q is notified, want %q", l.p.pinged(), id)
		}
		l.until("the line", func() bool { return len(l.p.seeIn(l.p.group)) == 2 })
		for _, m := range l.p.seeIn(l.p.group) {
			if strings.Contains(m.text, "pricing") || !strings.Contains(m.text, "G-1 waits") {
				t.Errorf("in the group stands %q", m.text)
			}
		}
		l.p.say("help")
		l.card("the card", func(m shown) bool { return len(m.buttons) == 3 })
		l.until("the line again", func() bool {
			for _, m := range l.p.seeIn(l.p.group) {
				if m.text == "G-1 waits for Wei" {
					return true
				}
			}
			return false
		})
		if n := len(l.p.pinged()); n != 1 {
			t.Errorf("%d were notified", n)
		}
	})
}
