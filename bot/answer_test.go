package bot

import (
	"strings"
	"testing"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
)

// gateIn opens a gate whose card hangs in a place, and returns its id.
func (l *lobby) gateIn(where, question, kind string) (id string) {
	l.t.Helper()
	l.do(&kernel.OpenGate{Goal: "site", Question: question, Kind: kind, Advisory: true}, asCLI)
	l.read(func(r *kernel.Reader) {
		for _, g := range r.OpenGates("site", 50) {
			if g.Question == question {
				id = g.ID
			}
		}
	})
	err := l.st.Update(l.t.Context(), func(tx store.Tx) error {
		r, err := l.k.ReaderOf(tx)
		if err == nil {
			_, err = inbox.Over(tx).AddCard(r, r.Gate("site", id), inbox.Spot{Place: chat.Place{Connection: "work", Conversation: where}})
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return id
}

func (l *lobby) decided(gate string) (option string) {
	l.read(func(r *kernel.Reader) {
		if g := r.Gate("site", gate); g.Answer != nil {
			option = g.Answer.Option
		}
	})
	return option
}

// B33: only a whole word of somebody with the right, to the one decision that is
// meant, decides; sentences that hold the word, and people without the right, do
// not.
func TestB33_TextAnswers(t *testing.T) {
	for _, c := range []struct {
		name, who, where, text string
		kind                   string
		want, said             string // the option chosen, and a part of the answer
	}{
		{"yes with a code", wei, "D-" + wei, "yes G-1", "direction", "approve", "G-1 is decided by Wei: Approve"},
		{"plain yes under one", wei, "D-" + wei, "yes", "direction", "approve", "G-1 is decided by Wei"},
		{"a mention in a group", wei, "C1", "@U0SELF approve G-1 because it is ready", "direction", "approve", "G-1 is decided"},
		{"Chinese", wei, "D-" + wei, "同意 G-1", "direction", "approve", "G-1"},
		{"no", wei, "D-" + wei, "no G-1", "direction", "reject", "G-1 is decided by Wei: Reject"},
		{"an approver", bob, "D-" + bob, "yes G-1", "direction", "approve", "G-1 is decided"},
		{"a sentence that holds the word", wei, "D-" + wei, "hey allow all of them to rest please", "direction", "", ""},
		{"a longer word", wei, "D-" + wei, "禁止允许这种", "direction", "", ""},
		{"a sentence about it", wei, "D-" + wei, "is G-1 approved by anybody?", "direction", "", ""},
		{"a word that begins like yes", wei, "D-" + wei, "yo", "direction", "", ""},
		{"protected", wei, "D-" + wei, "yes G-1", "publish", "", "answer it on its card"},
		{"no right", "U0OBS", "D-U0OBS", "yes G-1", "direction", "", "not for you to answer"},
		{"a stranger in the group", "U0EVE", "C1", "@U0SELF yes G-1", "direction", "", "I don't know you"},
		{"not addressed, another place", wei, "C1", "yes G-1", "direction", "", ""},
		{"an unknown number", wei, "D-" + wei, "yes G-9", "direction", "", "no open decision with this number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLobby(t)
			l.bind("site", "C1", "group")
			l.invite("site", kernel.RoleApprover, bob)
			l.invite("site", kernel.RoleObserver, "U0OBS")
			l.do(&kernel.ConfigureGoal{Goal: "site", Ask: &map[string]kernel.Asked{"any": {Role: kernel.RoleApprover}}}, asOwner)
			gate := l.gateIn("D-"+wei, "Publish?", c.kind)
			seen := told{}
			l.told(seen, c.where)
			l.say(c.who, c.where, strings.HasPrefix(c.where, "D-"), c.text)
			if got := l.decided(gate); got != c.want {
				t.Errorf("%q decided %q, want %q", c.text, got, c.want)
			}
			if got := l.told(seen, c.where); !strings.Contains(got, c.said) {
				t.Errorf("%q is answered with %q, want %q", c.text, got, c.said)
			}
		})
	}
}

// With two open decisions in one place a plain yes decides neither; both are
// listed, in the person's language.
func TestTwoOpenGatesNothingDecided(t *testing.T) {
	l, seen, dm := newLobby(t), told{}, "D-"+wei
	one, two := l.gateIn(dm, "Publish?", "direction"), l.gateIn(dm, "Rename?", "direction")
	l.told(seen, dm)
	l.say(wei, dm, true, "yes")
	got := l.told(seen, dm)
	for _, want := range []string{"nothing was decided", "G-1  Publish?", "G-2  Rename?", "yes G-"} {
		if !strings.Contains(got, want) {
			t.Errorf("the choices lack %q: %q", want, got)
		}
	}
	l.do(&kernel.SetPerson{Person: "owner", Language: new("zh")}, asOwner)
	l.say(wei, dm, true, "同意")
	if got := l.told(seen, dm); !strings.Contains(got, "没有做出任何决定") {
		t.Errorf("in Chinese: %q", got)
	}
	if l.decided(one) != "" || l.decided(two) != "" {
		t.Error("a plain yes decided one of two")
	}
	l.say(wei, dm, true, "同意 G-2")
	if got := l.told(seen, dm); !strings.Contains(got, "G-2 由 Wei 决定") || l.decided(two) != "approve" || l.decided(one) != "" {
		t.Errorf("with its number: %q", got)
	}
}

// Where a person could mean two goals, even a paused one, nothing is guessed;
// strangers' targets and members' turns have their bounds.
func TestFactsGuessNothing(t *testing.T) {
	l, dm := newLobby(t), "D-"+bob
	l.invite("site", kernel.RoleSteerer, bob)
	l.do(&kernel.CreateGoal{Goal: "blog", Objective: "Write", Agents: []string{"writer"}}, asCLI)
	l.do(&kernel.GrantRole{Goal: "blog", Role: kernel.RoleSteerer, Platform: "slack", Connection: "work", Tenant: "T1", User: bob}, asOwner)
	l.do(&kernel.PauseGoal{Goal: "site"}, asOwner)
	l.read(func(r *kernel.Reader) {
		e := chat.Event{Kind: chat.MessageSent, ID: "e", Private: true, At: l.now, Place: chat.Place{Connection: "work", Conversation: dm},
			Sender: chat.User{Tenant: "T1", ID: bob, Kind: chat.Human}, Message: &chat.Message{ID: "m", Text: "hello"}}
		actor, known := inbox.ActorOf(r, chat.Slack, e)
		f, err := factsOf(r, e, actor, known, "")
		if err != nil || f.Current != nil || len(f.Reach) != 3 || f.Reach[0].Goal != "blog" || f.Tenant != "T1" {
			t.Errorf("facts %+v, %v", f, err)
		}
	})
}

// A binding open to members gives each of them so many turns a day and no more,
// without write scope; people of other tenants get none.
func TestMembersBudget(t *testing.T) {
	l := newLobby(t)
	inbox.Attach(l.k)
	l.do(&kernel.OpenSession{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
	l.do(&kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: "C1", Goals: []string{"site"}, Agent: "builder", Ingress: "queue", Audience: "members"}, asOwner)
	queued := func() (n int) {
		l.read(func(r *kernel.Reader) {
			q, err := inbox.Queues(r.Tx(), "site", "builder")
			if err != nil {
				t.Fatal(err)
			}
			n = q["s1"]
		})
		return n
	}
	for range 12 {
		l.say("U0EVE", "C1", false, "@U0SELF how far is it")
	}
	if n := queued(); n != 10 {
		t.Errorf("a member got %d turns a day", n)
	}
	seen := told{}
	l.told(seen, "C1")
	l.n++
	e := chat.Event{Kind: chat.MessageSent, ID: "far", At: l.now, Place: chat.Place{Connection: "work", Conversation: "C1"}, Sender: chat.User{Tenant: "T2", ID: "U0FAR", Kind: chat.Human},
		Message: &chat.Message{ID: "far", Text: "@U0SELF hello", Mentions: []chat.Mention{{ID: "U0SELF", Self: true}}}}
	if _, err := l.s.Accept(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if n := queued(); n != 10 || l.told(seen, "C1") != "" {
		t.Errorf("another tenant's member got a turn or an answer (%d)", n)
	}
}
