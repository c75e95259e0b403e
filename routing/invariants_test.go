package routing

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"loopx/adapters/chat"
)

// The page of invariants has one row for each, and every test it names is there.
func TestInvariantsPage(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "docs", "reference", "chat-invariants.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[int]string{}
	row := regexp.MustCompile(`^\| (\d+) \| .+ \| (kept|changed|elsewhere) \| (.+) \|$`)
	link := regexp.MustCompile(`\[(Test\w+)\]\(\.\./\.\./([\w/.-]+)\)`)
	for line := range strings.Lines(string(raw)) {
		m := row.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1])
		if rows[n] != "" {
			t.Errorf("%d has two rows", n)
		}
		rows[n] = m[3]
		tests := link.FindAllStringSubmatch(m[3], -1)
		if m[2] == "kept" && len(tests) == 0 {
			t.Errorf("%d is kept and names no test", n)
		}
		for _, one := range tests {
			src, err := os.ReadFile(filepath.Join("..", one[2]))
			if err != nil || !strings.Contains(string(src), "func "+one[1]+"(") {
				t.Errorf("%d names %s, which is not in %s", n, one[1], one[2])
			}
		}
	}
	for n := 1; n <= 45; n++ {
		if want := n <= 33 || n >= 41; want != (rows[n] != "") {
			t.Errorf("%d: %q", n, rows[n])
		}
	}
}

// Invariant 24: each choice of a binding with a value nobody knows, and every
// combination that does not fit, starts nothing and keeps nothing.
func TestUnknownValuesFailClosed(t *testing.T) {
	for name, spoil := range map[string]func(b *Binding){
		"role":         func(b *Binding) { b.Role = "lord" },
		"no role":      func(b *Binding) { b.Role = "" },
		"capture":      func(b *Binding) { b.Capture = "some" },
		"no capture":   func(b *Binding) { b.Capture = "" },
		"ingress":      func(b *Binding) { b.Ingress = "direct_session" },
		"no ingress":   func(b *Binding) { b.Ingress = "" },
		"reply":        func(b *Binding) { b.Reply = "everywhere" },
		"no reply":     func(b *Binding) { b.Reply = "" },
		"audience":     func(b *Binding) { b.Audience = "world" },
		"no audience":  func(b *Binding) { b.Audience = "" },
		"context":      func(b *Binding) { b.ContextFrom = "guests" },
		"no context":   func(b *Binding) { b.ContextFrom = "" },
		"trigger":      func(b *Binding) { b.Trigger = "any" },
		"no trigger":   func(b *Binding) { b.Trigger = "" },
		"state":        func(b *Binding) { b.State = "resting" },
		"no state":     func(b *Binding) { b.State = "" },
		"no goal":      func(b *Binding) { b.Goals = nil },
		"a blank goal": func(b *Binding) { b.Goals = []string{""} },
		"direct":       func(b *Binding) { b.Role = ForDirect },
		"a Manager of a thread": func(b *Binding) {
			b.Role, b.Thread = ForManager, "t1"
		},
		"a Manager that steers":        func(b *Binding) { b.Role, b.Ingress = ForManager, IngressSteer },
		"a Manager with an inbox":      func(b *Binding) { b.Role, b.Ingress = ForManager, IngressInbox },
		"two goals":                    func(b *Binding) { b.Role, b.Goals = ForGoal, []string{"site", "blog"} },
		"all, of a goal":               func(b *Binding) { b.Role, b.Capture = ForGoal, All },
		"members who steer":            func(b *Binding) { b.Role, b.Audience, b.Ingress = ForGoal, AudienceMembers, IngressSteer },
		"members who fill an inbox":    func(b *Binding) { b.Role, b.Audience, b.Ingress = ForGoal, AudienceMembers, IngressInbox },
		"a direct binding of a thread": func(b *Binding) { b.Role, b.Thread = ForDirect, "t1" },
	} {
		for _, text := range []string{"@" + botID + " fix it", "fix it"} {
			b := Binding{ID: "b", Role: ForManager, Goals: []string{"site"}, Agent: "builder", Capture: All, Ingress: IngressQueue, Reply: ReplyThread,
				Audience: AudiencePeople, ContextFrom: All, Trigger: TriggerAddressed, State: Active}
			spoil(&b)
			if b.Role == ForGoal && !strings.HasPrefix(name, "all") {
				b.Capture = Addressed
			}
			e := message(text, false, chat.Human)
			e.Place.Thread = "t1"
			if text != "fix it" {
				e.Message.Mentions = []chat.Mention{{ID: botID, Self: true}}
			}
			v := Decide(e, Facts{Now: noon, Bindings: []Binding{b}, Budget: 1, Sender: Sender{Person: "wei", State: Linked, Owner: true},
				Sessions: []Session{{ID: "s1", Goal: "site", Agent: "builder", Turn: "t", Steer: true}}})
			if v.Action.Starts() || v.Action == Context || v.Keep || v.Action == Missed {
				t.Errorf("%s, %q: %+v", name, text, v)
			}
		}
	}
	// Unknown roles, states of a link and kinds of people hold nothing.
	for _, s := range []Sender{{Person: "wei", State: "odd", Owner: true}, {State: Linked, Owner: true}, {Person: "wei", State: Linked, Roles: map[string][]Role{"site": {"king", ""}}}} {
		for _, need := range []Role{Owner, Approver, Steerer, Observer, "king", ""} {
			if s.Holds("site", need) || s.Holds("", need) {
				t.Errorf("%+v holds %q", s, need)
			}
		}
	}
	if (Sender{Person: "wei", State: Linked, Owner: true}).Holds("site", "king") || Approver.Includes(Steerer) || Steerer.Includes(Approver) || Observer.Includes(Steerer) {
		t.Error("a role includes what it must not")
	}
}

// What nobody can read is nothing: it starts no turn, and who addressed the bot
// with it is answered.
func TestNothingReadable(t *testing.T) {
	for _, text := range []string{"", " ", "\u200b", "\u2060\u00a0\n", "\u202e"} {
		e, f := privately(text)
		f.Current = &f.Reach[0]
		if v := Decide(e, f); v.Action != Drop || v.Reason != ReasonEmpty {
			t.Errorf("%q privately: %+v", text, v)
		}
		e.Message.Attachments = []chat.Attachment{{ID: "F1", Kind: "audio"}}
		if v := Decide(e, f); v.Action != Queue || !v.Tainted {
			t.Errorf("%q with a voice message: %+v", text, v)
		}
		e, f = privately("@" + botID + text)
		e.Private, e.Message.Mentions = false, []chat.Mention{{ID: botID, Self: true}}
		if v := Decide(e, f); v.Action != Unknown || v.Reason != ReasonEmpty {
			t.Errorf("a mention and %q: %+v", text, v)
		}
	}
}

// Invariant 2: what has no id is malformed, and nothing of it is stored.
func TestMalformed(t *testing.T) {
	for name, spoil := range map[string]func(e *chat.Event){
		"no event id":     func(e *chat.Event) { e.ID = "" },
		"no conversation": func(e *chat.Event) { e.Place.Conversation = "" },
		"no message id":   func(e *chat.Event) { e.Message.ID = "" },
		"no message":      func(e *chat.Event) { e.Message = nil },
		"an edit of what": func(e *chat.Event) { e.Kind, e.Message.ID = chat.MessageEdited, "" },
		"an empty press":  func(e *chat.Event) { e.Kind = chat.CardPressed },
	} {
		e, f := privately("fix it")
		f.Current = &f.Reach[0]
		spoil(&e)
		if v := Decide(e, f); v.Action != Drop || v.Reason != ReasonMalformed {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
