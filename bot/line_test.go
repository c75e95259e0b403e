package bot

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loopx/kernel"
)

// shows is what stands in a conversation now, and in how many messages.
func shows(a *scripted, conversation string) (texts []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.outs {
		if m.Place.Conversation == conversation {
			texts = append(texts, a.stored[m.Key])
		}
	}
	return texts
}

func (o *night) wantShown(conversation string, want ...string) {
	o.t.Helper()
	synctest.Wait()
	if got := shows(o.work, conversation); strings.Join(got, "\n") != strings.Join(want, "\n") {
		o.t.Errorf("%s shows\n%s\nwant\n%s", conversation, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// pass lets fake time go by.
func (o *night) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// A question that is asked privately is one quiet line where its goal is bound:
// who is asked and how it ended, nothing of what; edited in place, never two.
func TestLineOfGate(t *testing.T) {
	inNight(t, func(o *night) {
		bind := func(c kernel.SetBinding) {
			c.Platform, c.Connection = "slack", "work"
			o.do(&c)
		}
		bind(kernel.SetBinding{Conversation: "C1", Role: kernel.BindManager, Goals: []string{"site", "blog"}, Agent: "builder", Visibility: "public"})
		bind(kernel.SetBinding{Conversation: "C1", Thread: "T1", Goals: []string{"site"}})
		bind(kernel.SetBinding{Conversation: "C2", Goals: []string{"site"}, Language: "zh"})
		bind(kernel.SetBinding{Conversation: "C3", Goals: []string{"blog"}})
		ana := o.invite("site", "owner", "UANA", "DANA")
		o.until(1, 10, 0)
		gate := o.ask("site", "Pay 900 EUR with ./pay.sh?", 1)
		o.pass(time.Second)
		o.wantShown("C1", "Ship · G-1 waits for Wei or UANA")
		o.wantShown("C2", "G-1 等待 Wei 或 UANA")
		o.wantShown("C3")
		for _, m := range o.work.outs {
			if strings.HasPrefix(m.Place.Conversation, "C") && !m.Silent {
				t.Errorf("the line in %s makes a sound", m.Place.Conversation)
			}
			if m.Place.Conversation == "C1" && m.Place.Thread != "T1" {
				t.Errorf("the line stands in thread %q, want the goal's own", m.Place.Thread)
			}
		}
		// Who is asked changes, and so does the line.
		o.by(kernel.Options{By: kernel.Actor{Kind: kernel.ByPerson, ID: ana, Name: "Ana", Surface: "slack"}}, &kernel.SetAway{Until: time.Now().Add(48 * time.Hour).UnixMilli()})
		o.pass(time.Minute)
		o.wantShown("C1", "Ship · G-1 waits for Wei")
		o.do(&kernel.AnswerGate{Gate: gate, Option: "approve"})
		o.pass(time.Second)
		o.wantShown("C1", "Ship · G-1: decided by Wei, 10:01")
		o.wantShown("C2", "G-1：由 Wei 决定，10:01")
		// Settled before anybody could read of it: no line at all.
		o.work.become("contested")
		gone := o.ask("blog", "Rename it?", 1)
		o.do(&kernel.AnswerGate{Gate: gone, Option: "approve"})
		o.work.become("ready")
		o.pass(time.Hour)
		o.wantShown("C3")
		// A conversation that is bound later shows what is open there, once.
		o.ask("blog", "Post it?", 1)
		bind(kernel.SetBinding{Conversation: "C4", Goals: []string{"blog"}})
		o.pass(time.Hour)
		o.wantShown("C3", "G-2 waits for Wei")
		o.wantShown("C4", "G-2 waits for Wei")
	})
}
