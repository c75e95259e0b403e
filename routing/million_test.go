package routing

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"loopx/adapters/chat"
)

// pickOf draws one of a list.
func pickOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// often is true n times of a hundred.
func often(r *rand.Rand, n int) bool { return r.IntN(100) < n }

// drawScene makes a scene in which each thing is usually right, so that what one
// wrong thing does is seen alone and together with others.
func drawScene(r *rand.Rand) *scene {
	s := &scene{
		event: chat.MessageSent, kind: chat.Human, tenant: "T1", own: "T1", state: Linked, person: true, private: often(r, 25),
		mention: noMention, text: talk, budget: r.IntN(2),
	}
	if often(r, 12) {
		s.event = pickOf(r, chat.CommandSent, chat.CommandSent, chat.CommandSent, chat.MessageEdited, chat.MessageDeleted, chat.CardPressed, chat.BotAdded, "new")
	}
	if often(r, 15) {
		s.kind = pickOf(r, chat.Guest, chat.External, chat.Bot, chat.Unknown, chat.Self, chat.UserKind("new"))
	}
	s.noID = often(r, 1)
	if often(r, 6) {
		s.tenant = "T2"
	}
	if often(r, 10) {
		s.own = ""
	}
	if often(r, 22) {
		s.state = pickOf(r, "", "", "", Pending, Suspended, Revoked, "odd")
		s.person = s.state != ""
	}
	s.person = s.person && !often(r, 1)
	s.owner = often(r, 10)
	for i := range s.roles {
		if often(r, 75) {
			s.roles[i] = []Role{pickOf(r, Steerer, Steerer, Steerer, Steerer, Owner, Owner, Approver, Observer, "king")}
		}
		if often(r, 5) {
			s.roles[i] = append(s.roles[i], pickOf(r, Steerer, Approver))
		}
	}
	if !s.private && often(r, 50) {
		s.thread = pickOf(r, "t1", "t2")
	}
	s.age = int64(r.IntN(20)) * minute
	if often(r, 6) {
		s.age = 30*minute + 1 + int64(r.IntN(1000))*minute
	}
	if often(r, 2) {
		s.age = 30 * minute
	}
	s.noTime, s.noNow, s.history = often(r, 2), often(r, 1), often(r, 3)
	if often(r, 70) {
		s.mention = realMention
	} else if often(r, 60) {
		s.mention = mentionKind(r.IntN(int(lastMention)))
	}
	if often(r, 35) {
		s.text = textKind(r.IntN(int(lastText)))
	}
	s.file = often(r, 6)
	if often(r, 35) {
		s.parent, s.parentOurs, s.rootIsParent = true, often(r, 80), often(r, 40)
		s.parentGate = s.parentOurs && often(r, 12)
	}
	if s.thread != "" {
		s.threadGate, s.threadOurs = often(r, 8), often(r, 70)
		s.others = max(0, r.IntN(4)-2)
	}
	for range pickOf(r, 0, 1, 1, 1, 1, 1, 2, 3) {
		s.bindings = append(s.bindings, drawBinding(r, s.private))
	}
	if often(r, 25) {
		for i := range 1 + r.IntN(2) {
			s.gates = append(s.gates, Gate{ID: pickOf(r, "x", "y"), Code: pickOf(r, "G-1", "G-2"), Goal: pickOf(r, "g0", "g1"), Here: often(r, 60), Protected: often(r, 20), May: often(r, 70),
				Options: []Option{{ID: "a", Label: "Approve", Outcome: "approve"}, {ID: "r", Label: "Reject", Outcome: "reject"}}[:2-i]})
		}
	}
	target := func() Target {
		return Target{Goal: pickOf(r, "g0", "g0", "g1", "g2"), Agent: pickOf(r, "", "a0", "a0", "a1"), Ingress: pickOf(r, IngressInbox, IngressInbox, IngressQueue, IngressQueue, IngressSteer, IngressSteer, "odd")}
	}
	if s.private && often(r, 70) {
		t := target()
		s.current = &t
	}
	for range r.IntN(4) {
		s.reach = append(s.reach, target())
	}
	for i, goal := range []string{"g0", "g1", "g2", "g0", "g1"} {
		if i < 3 && often(r, 20) || i >= 3 && !often(r, 12) {
			continue // usually one session a goal
		}
		one := Session{ID: "s" + string(rune('0'+i)), Goal: goal, Agent: pickOf(r, "a0", "a0", "a0", "a1"), Steer: often(r, 85), Waiting: pickOf(r, 0, 0, 0, 0, 0, 19, 20, 25)}
		if often(r, 75) {
			one.Turn = "turn"
		}
		s.sessions = append(s.sessions, one)
	}
	return s
}

func drawBinding(r *rand.Rand, private bool) Binding {
	b := Binding{
		ID: "b", Role: ForGoal, Goals: []string{pickOf(r, "g0", "g1")}, Agent: pickOf(r, "", "a0", "a0"), Capture: Addressed, Ingress: pickOf(r, IngressSteer, IngressQueue, IngressInbox),
		Reply: pickOf(r, ReplyThread, ReplyMirror, ReplyNone), Audience: AudiencePeople, ContextFrom: ContextLinked, Trigger: TriggerAddressed, State: Active,
	}
	switch {
	case private && !often(r, 5):
		b.Role = ForDirect
		if often(r, 20) {
			b.Goals = nil
		}
	case often(r, 45):
		b.Role, b.Ingress, b.Capture, b.Agent = ForManager, IngressQueue, pickOf(r, Addressed, All, All), pickOf(r, "", "a0", "a0", "a0")
		b.ContextFrom = pickOf(r, ContextLinked, All)
		if often(r, 30) {
			b.Goals = []string{"g0", "g1"}
		}
	case often(r, 40):
		b.Thread = pickOf(r, "t1", "t2")
	}
	if b.Agent != "" && often(r, 20) {
		b.Session = pickOf(r, "s0", "s1")
	}
	if often(r, 20) {
		b.Audience = AudienceMembers
		if often(r, 90) {
			b.Ingress = IngressQueue
		}
	}
	if often(r, 15) {
		b.Trigger, b.Allow = TriggerHumans, pickOf(r, nil, []string{"U1"}, []string{"U1", "U2"}, []string{"U2"}, []string{"Wei"})
	}
	if often(r, 15) {
		b.State = pickOf(r, BindingBroken, BindingSuspended, BindingRemoved, "odd", "")
	}
	if often(r, 6) { // one value that nobody knows, or that does not fit
		switch r.IntN(9) {
		case 0:
			b.Role = pickOf(r, "", "lord")
		case 1:
			b.Capture = pickOf(r, "", "some", All)
		case 2:
			b.Ingress = pickOf(r, "", "direct_session")
		case 3:
			b.Reply = ""
		case 4:
			b.Audience = pickOf(r, "", "everybody")
		case 5:
			b.ContextFrom = ""
		case 6:
			b.Trigger = pickOf(r, "", "any")
		case 7:
			b.Goals = nil
		case 8:
			b.Goals = []string{"g0", "g1"}
		}
	}
	return b
}

// Names of people and of the bot are those of Slack.
const (
	botID   = "U0BOT"
	otherID = "U0ANA"
)

// stage makes the event and the facts of a scene.
func stage(r *rand.Rand, s *scene) (chat.Event, Facts) {
	const at = "@" + botID
	text := [lastText]string{
		talk: "please fix the login page", viewWord: "status", wrongSlash: "/statsu now", toGoal: "/to g0 hello there", toAgent: "/to g0 a0 hello there", toOther: "/to g2 hello there",
		toSilent: "/to g0", queueTalk: "/queue hello there", queueSilent: "/queue", plainYes: "yes", codedYes: "yes G-1", linking: "abcde-fghjk",
		sentence: "I said yes to G-1 and the status is to stop",
	}[s.text]
	m := &chat.Message{ID: "m1"}
	self := chat.Mention{ID: botID, Self: true}
	if s.event == chat.CommandSent { // a platform's own command holds no mention of us
		s.mention = noMention
	}
	switch s.mention {
	case realMention:
		text, m.Mentions = pickOf(r, at+" "+text, text+" "+at), []chat.Mention{self}
	case codeMention:
		text, m.Mentions = text+" `"+at+"`", []chat.Mention{self}
	case fenceMention:
		text, m.Mentions = text+"\n```\nping "+at+"\n```", []chat.Mention{self}
	case quoteMention:
		text, m.Mentions = "> "+at+" do it\n"+text, []chat.Mention{self}
	case typedMention:
		text += " " + at
	case disguisedMention:
		text, m.Mentions = text+" "+at+" said `"+at+"`", []chat.Mention{self}
	case allMention:
		text, m.Mentions = "@here "+text, []chat.Mention{{ID: "here", All: true}}
	case otherMention:
		text, m.Mentions = "@"+otherID+" "+text, []chat.Mention{{ID: otherID}}
	case bothMention:
		text, m.Mentions = "@here "+at+" "+text, []chat.Mention{{ID: "here", All: true}, self}
	}
	m.Text = text
	if s.file {
		m.Attachments = []chat.Attachment{{ID: "F1"}}
	}
	if s.parent {
		m.Parent = "p1"
		if s.thread != "" {
			m.Root = "r1"
		}
		if s.rootIsParent {
			m.Root = m.Parent
		}
	}
	e := chat.Event{
		Kind: s.event, ID: "e1", Place: chat.Place{Connection: "work", Conversation: "C1", Thread: s.thread}, Private: s.private, At: noon - s.age, Message: m,
		Sender: chat.User{Tenant: s.tenant, ID: "U1", Kind: s.kind, Name: "Wei"},
	}
	if s.event == chat.CardPressed {
		e.Press = &chat.Press{Action: "x"}
	}
	if s.noID {
		e.Sender.ID = ""
	}
	if s.noTime {
		e.At = 0
	}
	f := Facts{
		Now: noon, Tenant: s.own, History: s.history, Sender: Sender{State: s.state, Owner: s.owner, Roles: map[string][]Role{"g0": s.roles[0], "g1": s.roles[1], "g2": s.roles[2]}},
		Bindings: s.bindings, Gates: s.gates, Current: s.current, Reach: s.reach, Sessions: s.sessions, Budget: s.budget,
		Thread: Thread{Ours: s.threadOurs}, Reply: Reply{Ours: s.parentOurs},
	}
	if s.noNow {
		f.Now = 0
	}
	if s.person {
		f.Sender.Person = "wei"
	}
	if s.parentGate {
		f.Reply.Gate = "x"
	}
	if s.threadGate {
		f.Thread.Gate = "x"
	}
	for range s.others {
		f.Thread.Others = append(f.Thread.Others, otherID)
	}
	return e, f
}

// settle is the ground truth about words: where a mention leaves more in the text
// than the command, the command is no whole message any more.
func (s *scene) settle() {
	if s.text == nothing && (s.mention == codeMention || s.mention == fenceMention || s.mention == quoteMention || s.mention == typedMention || s.mention == disguisedMention) {
		s.text = talk // the text is what is left: code, a quote, plain characters
	}
	switch s.mention {
	case codeMention, fenceMention, typedMention, disguisedMention:
		switch s.text { // something stands behind the word, so it is talk
		case viewWord, plainYes, linking: // also a code inside more words is none
			s.text = sentence
		case codedYes:
			s.text = sentence
		case toSilent:
			s.text = toGoal
		case queueSilent:
			s.text = queueTalk
		}
	}
}

// A million events, decided here and by the oracle: nobody starts anything
// without authority, and nobody who has it is refused. Unlinked people who
// mention the bot are among them.
func TestMillionEvents(t *testing.T) {
	const workers = 4
	total := 1_000_000
	if testing.Short() {
		total = 100_000
		t.Log("short: a tenth of the events")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var counts [workers]struct{ starts, strangers, kept, answers, members int }
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			c := &counts[w]
			for range total / workers {
				s := drawScene(r)
				drawn := *s
				e, f := stage(r, s)
				s.settle()
				v := Decide(e, f)
				may, goals := mayStart(s)
				if v.Action.Starts() != may {
					t.Errorf("seed %d: the rules say %v to %+v\nas %+v, %+v\nwith %+v\nand the verdict is %+v", seed, may, drawn, e, *e.Message, f, v)
					return
				}
				if may {
					c.starts++
					got := append(slices.Clone(v.Target.Goals), v.Target.Goal)
					got = slices.DeleteFunc(got, func(g string) bool { return g == "" })
					if !slices.Equal(got, goals) {
						t.Errorf("seed %d: %+v starts at %v, not %v: %+v", seed, drawn, got, goals, v)
						return
					}
					known := s.state == Linked && s.person
					if right := known && oracleSteers(s, goals); v.Members == right || v.Members && !known && !v.Tainted {
						t.Errorf("seed %d: %+v as a member: %+v", seed, drawn, v)
						return
					}
					if v.Members {
						c.members++
					}
				}
				if kept := v.Action == Context || v.Keep; kept && !mayKeep(s) || v.Action == Context && may {
					t.Errorf("seed %d: %+v is kept: %+v", seed, drawn, v)
					return
				} else if kept {
					c.kept++
				} else if mayKeep(s) && !may && v.Action == Drop {
					t.Errorf("seed %d: %+v is not kept: %+v", seed, drawn, v)
					return
				}
				if open := v.Action == Choice || v.Keep || v.Action == Context || v.Action == Missed; open && !v.Tainted && (s.file || !(s.state == Linked && s.person)) {
					t.Errorf("seed %d: %+v is not tainted: %+v", seed, drawn, v)
					return
				}
				if v.Action == Answer {
					c.answers++
				}
				if s.kind == chat.Human && s.state != Linked && s.mention == realMention && !s.private && e.Kind == chat.MessageSent {
					c.strangers++
				}
			}
		})
	}
	wg.Wait()
	sum := counts[0]
	for _, c := range counts[1:] {
		sum.starts += c.starts
		sum.strangers += c.strangers
		sum.kept += c.kept
		sum.answers += c.answers
		sum.members += c.members
	}
	t.Logf("%+v of %d", sum, total)
	if !t.Failed() && (sum.starts < total/25 || sum.strangers < total/20 || sum.kept < total/50 || sum.answers < total/1000 || sum.members < total/1000) {
		t.Errorf("the events are too alike to show anything: %+v", sum)
	}
}

// Whatever a text holds: without a native mention it starts nothing in a group,
// of somebody unlinked it starts nothing anywhere, and what starts something is
// readable and no longer than what is kept.
func FuzzDecide(f *testing.F) {
	for _, text := range []string{"fix it", "@U0BOT fix it", "`@U0BOT`", "> @U0BOT\nx", "/to site builder x", "yes G-7", "/queue \u3000", "@here @U0BOT", "~~~\n@U0BOT", "\xff@U0BOT"} {
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, in bool) {
		e, facts := privately(text)
		facts.Current = &facts.Reach[0]
		facts.Bindings = []Binding{{ID: "b", Role: ForGoal, Goals: []string{"site"}, Agent: "builder", Capture: Addressed, Ingress: IngressInbox, Reply: ReplyThread,
			Audience: AudiencePeople, ContextFrom: ContextLinked, Trigger: TriggerAddressed, State: Active}}
		e.Private = false
		if v := Decide(e, facts); v.Action.Starts() || v.Action == Command || v.Action == Answer {
			t.Fatalf("%q without a mention: %+v", text, v)
		}
		if in {
			e.Message.Mentions = []chat.Mention{{ID: botID, Self: true}}
		}
		check := func(v Verdict) {
			t.Helper()
			if v.Action.Starts() && (v.Text == "" && !in || len(v.Text) > MaxText || v.Target.Goal == "") {
				t.Fatalf("%q starts %+v", text, v)
			}
		}
		check(Decide(e, facts))
		e.Private = true
		facts.Bindings = nil
		check(Decide(e, facts))
		facts.Sender = Sender{}
		if v := Decide(e, facts); v.Action.Starts() || v.Action == Command || v.Action == Answer || v.Action == Choice {
			t.Fatalf("%q of a stranger: %+v", text, v)
		}
	})
}
