package routing

import (
	"slices"
	"strings"
	"testing"

	"loopx/adapters/chat"
)

// readWith reads a text in which these are mentioned: the bot, everybody, others.
func readWith(text string, ids ...string) said {
	m := &chat.Message{Text: text}
	for _, id := range ids {
		m.Mentions = append(m.Mentions, chat.Mention{ID: id, Self: id == botID, All: id == "here"})
	}
	return read(m)
}

func TestMentions(t *testing.T) {
	const at = "@" + botID
	for _, c := range []struct {
		name, text string
		ids        []string
		mentioned  bool
		rest       string // for an agent
		words      string // for commands
	}{
		{"in front", at + " fix it", []string{botID}, true, "fix it", "fix it"},
		{"glued to Chinese", at + "状态", []string{botID}, true, "状态", "状态"},
		{"behind", "fix it " + at, []string{botID}, true, "fix it", "fix it"},
		{"in the middle", "please " + at + " fix it", []string{botID}, true, "please fix it", "please fix it"},
		{"twice", at + " " + at, []string{botID, botID}, true, "", ""},
		{"others before it", "@U0ANA @here " + at + " /todos", []string{"U0ANA", "here", botID}, true, "@U0ANA @here /todos", "/todos"},
		{"others behind it", at + " /role @U0ANA approver site", []string{botID, "U0ANA"}, true, "/role @U0ANA approver site", "/role @U0ANA approver site"},
		{"listed, not in the text: a ping of a reply", "fix it", []string{botID}, false, "fix it", "fix it"},
		{"typed, not listed", at + " fix it", nil, false, at + " fix it", at + " fix it"},
		{"a longer id", at + "X fix it", []string{botID}, false, at + "X fix it", at + "X fix it"},
		{"in code", "try `" + at + " x`", []string{botID}, false, "try `" + at + " x`", "try `" + at + " x`"},
		{"in double code", "try ``a ` " + at + "`` x", []string{botID}, false, "try ``a ` " + at + "`` x", "try ``a ` " + at + "`` x"},
		{"in a fence", "look\n```\n" + at + "\n```\nok", []string{botID}, false, "look\n```\n" + at + "\n```\nok", "look\n```\n" + at + "\n```\nok"},
		{"in a fence of tildes", "~~~\n" + at + "\n~~~\nok", []string{botID}, false, "~~~\n" + at + "\n~~~\nok", "~~~\n" + at + "\n~~~\nok"},
		{"in a fence without an end", "```\n" + at + " x", []string{botID}, false, "```\n" + at + " x", "```\n" + at + " x"},
		{"after a fence", "```\nx\n``` " + at, []string{botID}, true, "```\nx\n```", "```\nx\n```"},
		{"a lone backtick is none", "it`s " + at, []string{botID}, true, "it`s", "it`s"},
		{"in a quote", "> " + at + " x\nno", []string{botID}, false, "> " + at + " x\nno", "> " + at + " x\nno"},
		{"in a quote to the end", ">>> a\n" + at, []string{botID}, false, ">>> a\n" + at, ">>> a\n" + at},
		{"after a quote", "> x\n" + at + " no", []string{botID}, true, "> x\nno", "> x\nno"},
		{"in code, beside its typed characters", at + " said `" + at + "`", []string{botID}, false, "said `" + at + "`", "said `" + at + "`"},
		{"in code and outside, both listed", at + " said `" + at + "`", []string{botID, botID}, true, "said `" + at + "`", "said `" + at + "`"},
		{"in front of more than is read", at + " " + strings.Repeat("x", MaxText), []string{botID}, true, strings.Repeat("x", MaxText-7), strings.Repeat("x", MaxText-7)},
		{"B54 everybody", "@here fix it", []string{"here"}, false, "@here fix it", "fix it"},
	} {
		got := readWith(c.text, c.ids...)
		if got.mentioned != c.mentioned || got.text != c.rest || got.words != c.words {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// Code and quotes are found whatever stands in them, and nothing runs past the
// end.
func FuzzAside(f *testing.F) {
	for _, s := range []string{"`a`", "```\na\n```", "> q\nx", "~~~\na", "``a`b``", "a`b\n`c", "````\n```\n````", ">>> a\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, s := range aside(text) {
			if s.from < last || s.to <= s.from || s.to > len(text) {
				t.Fatalf("%q: %+v", text, s)
			}
			last = s.to
		}
		got := readWith(text+" @"+botID, botID)
		if len(text) < MaxText && !strings.ContainsAny(text, "`~>@") && !got.mentioned {
			t.Fatalf("%q hides a mention", text)
		}
		if got.mentioned && strings.HasSuffix(got.text, "@"+botID) {
			t.Fatalf("%q keeps the mention: %+v", text, got)
		}
	})
}

func privately(text string) (chat.Event, Facts) {
	e := message(text, true, chat.Human)
	e.Sender.Tenant = "T1"
	f := Facts{Now: noon, Tenant: "T1", Sender: Sender{Person: "wei", State: Linked, Roles: map[string][]Role{"site": {Steerer}, "blog": {Steerer}}},
		Reach: []Target{{Goal: "site", Agent: "builder", Ingress: IngressQueue}, {Goal: "site", Agent: "tester", Ingress: IngressInbox},
			{Goal: "blog", Ingress: IngressInbox}, {Goal: "shop", Ingress: IngressInbox}},
		Sessions: []Session{{ID: "s1", Goal: "site", Agent: "builder", Turn: "t9", Steer: true}}}
	return e, f
}

func TestExplicitAddress(t *testing.T) {
	for _, c := range []struct {
		text, action, reason, agent, rest string
	}{
		{"/to site builder fix\nit", "queue", "explicit_address", "builder", "fix\nit"},
		{"/to site: tester: fix it", "inbox", "explicit_address", "tester", "fix it"},
		{"/to blog fix it", "inbox", "explicit_address", "", "fix it"},
		{"/发给 blog 修一下", "inbox", "explicit_address", "", "修一下"},
		{"/to site fix it", "choice", ReasonAmbiguous, "", ""}, // two agents, and none is named
		{"/to site", "command", "command", "", ""},
		{"/to site builder", "command", "command", "", ""},
		{"/to shop fix it", "refuse", ReasonRight, "", "fix it"}, // reach is no right
		{"/to nowhere fix it", "refuse", ReasonNoTarget, "", ""},
		{"/queue fix it", "choice", ReasonNoTarget, "", ""},
		{"/to ../etc fix", "refuse", ReasonUsage, "", ""},
	} {
		e, f := privately(c.text)
		v := Decide(e, f)
		if string(v.Action) != c.action || v.Reason != c.reason || v.Action.Starts() && (v.Target.Agent != c.agent || v.Text != c.rest) {
			t.Errorf("%q: %+v", c.text, v)
		}
	}
	e, f := privately("/to site builder")
	if v := Decide(e, f); v.Intent.Args.Agent != "builder" || v.Intent.Args.Text != "" {
		t.Errorf("the command names %+v", v.Intent.Args)
	}
	e, f = privately("/queue fix it")
	f.Current = &f.Reach[0]
	f.Current.Ingress = IngressSteer
	if v := Decide(e, f); v.Action != Queue || v.Text != "fix it" || v.Target.Session != "s1" {
		t.Errorf("queued: %+v", v)
	}
	// In a group that does not show the goal the answer is the asker's alone.
	e, f = privately("@" + botID + " /to site builder fix it")
	e.Private, e.Message.Mentions = false, []chat.Mention{{ID: botID, Self: true}}
	if v := Decide(e, f); v.Action != Queue || !v.Place.Private {
		t.Errorf("from a group: %+v", v)
	}
	e.Message.Text, e.Message.Mentions = "/to site builder fix it", nil
	if v := Decide(e, f); v.Action != Drop {
		t.Errorf("without a mention: %+v", v)
	}
}

// A command names people by mentions only: an id that was typed is nobody.
func TestPeopleAreMentioned(t *testing.T) {
	e, f := privately("/role @U0ANA approver site")
	if v := Decide(e, f); v.Action != Refuse || v.Reason != ReasonUsage || v.Intent.Args.Bad != "person_not_mentioned" {
		t.Errorf("typed: %+v", v)
	}
	e.Message.Mentions = []chat.Mention{{ID: "U0ANA", All: true}}
	if v := Decide(e, f); v.Reason != ReasonUsage {
		t.Errorf("a group: %+v", v)
	}
	e.Message.Mentions[0].All = false
	if v := Decide(e, f); v.Action != Command || v.Word != "role" || v.Intent.Args.User != "U0ANA" || v.Intent.Args.Role != Approver {
		t.Errorf("mentioned: %+v", v)
	}
}

func TestSteerLimits(t *testing.T) {
	e, f := privately(strings.Repeat("好", MaxSteer))
	f.Current = &f.Reach[0]
	f.Current.Ingress = IngressSteer
	if v := Decide(e, f); v.Action != Steer || len(v.Text) > MaxText { // 36,000 bytes: as much as is kept of them
		t.Errorf("%d characters of three bytes: %s with %d bytes", MaxSteer, v.Action, len(v.Text))
	}
	e.Message.Text = strings.Repeat("x", MaxSteer)
	if v := Decide(e, f); v.Action != Steer || v.Target.Turn != "t9" {
		t.Errorf("%d characters: %+v", MaxSteer, v.Reason)
	}
	e.Message.Text += "x"
	if v := Decide(e, f); v.Action != Refuse || v.Reason != ReasonLong || v.Offer != IngressQueue {
		t.Errorf("one more: %+v", v.Reason)
	}
	f.Sessions[0].Waiting = MaxWaiting
	if v := Decide(e, f); v.Offer != "" {
		t.Errorf("a full queue is offered: %+v", v)
	}
}

// Plain answers need exactly one gate in this place; with two the choices are
// listed, as far as the person may answer them.
func TestAnswersToGates(t *testing.T) {
	gate := func(id, code string, may bool) Gate {
		return Gate{ID: id, Code: code, Goal: "site", Here: true, May: may, Options: []Option{{"a", "Approve", "approve"}, {"r", "Reject", "reject"}, {"b", "Blue green", "other"}}}
	}
	for _, c := range []struct {
		text   string
		gates  []Gate
		action Action
		reason string
		option string
	}{
		{"yes", []Gate{gate("g7", "G-7", true)}, Answer, "gate_answer", "a"},
		{"不同意", []Gate{gate("g7", "G-7", true)}, Answer, "gate_answer", "r"},
		{"G-7 blue green", []Gate{gate("g7", "G-7", true)}, Answer, "gate_answer", "b"},
		{"G-7 looks risky", []Gate{gate("g7", "G-7", true)}, Queue, "private_message", ""},
		{"cancel", []Gate{gate("g7", "G-7", true)}, Refuse, ReasonNoOption, ""},
		{"yes", []Gate{gate("g7", "G-7", true), gate("g8", "G-8", true)}, Choice, ReasonGates, ""},
		{"yes", []Gate{gate("g7", "G-7", false), gate("g8", "G-8", false)}, Refuse, ReasonRight, ""},
		{"yes G-8", []Gate{gate("g7", "G-7", true), gate("g8", "G-8", true)}, Answer, "gate_answer", "a"},
		{"yes G-7", []Gate{gate("g7", "G-7", true), gate("h7", "G-7", true)}, Choice, ReasonGates, ""},
		{"yes G-9", []Gate{gate("g7", "G-7", true)}, Refuse, ReasonNoGate, ""},
		{"yes", nil, Queue, "private_message", ""},
		{"yes, we said so", []Gate{gate("g7", "G-7", true)}, Queue, "private_message", ""},
	} {
		e, f := privately(c.text)
		f.Current, f.Gates = &f.Reach[0], c.gates
		v := Decide(e, f)
		if v.Action != c.action || v.Reason != c.reason || v.Answer.Option != c.option {
			t.Errorf("%q with %d gates: %+v", c.text, len(c.gates), v)
		}
		if slices.ContainsFunc(v.Gates, func(g Gate) bool { return !g.May }) {
			t.Errorf("%q lists gates that are not the person's", c.text)
		}
	}
	e, f := privately("yes")
	f.Current, f.Gates = &f.Reach[0], []Gate{gate("g7", "G-7", true)}
	e.Message.Attachments = []chat.Attachment{{ID: "F1"}}
	if v := Decide(e, f); v.Action == Answer {
		t.Error("a file answers a gate")
	}
}

// Whose answer it is and where it goes is frozen with the message.
func TestFrozenPlace(t *testing.T) {
	e, f := privately("fix it")
	e.Place.Thread = "t1"
	f.Current = &f.Reach[0]
	v := Decide(e, f)
	if v.Place.Place != e.Place || v.Place.Message != "m1" || v.Place.User != "U1" || v.Place.Mode != ReplyThread {
		t.Errorf("%+v", v.Place)
	}
}

// An edit starts nothing; it says what the message says now, and a code that it
// brings into the open is burned.
func TestEdits(t *testing.T) {
	for text, want := range map[string]Verdict{
		"@" + botID + " fix it":                   {Action: Edited, Text: "fix it"},
		"@" + botID + " /queue fix it":            {Action: Edited, Text: "fix it"},
		"yes G-7":                                 {Action: Edited, Text: "yes G-7"},
		"abcde-fghjk":                             {Action: Burn, Word: "abcdefghjk"},
		"/to site builder " + "@" + botID + " go": {Action: Edited, Text: "/to site builder go"},
	} {
		e := message(text, false, chat.Human)
		e.Kind, e.Message.Mentions = chat.MessageEdited, []chat.Mention{{ID: botID, Self: true}}
		if v := Decide(e, Facts{Now: noon, Sender: Sender{Person: "wei", State: Linked, Owner: true}}); v.Action != want.Action || v.Text != want.Text || v.Word != want.Word {
			t.Errorf("%q: %+v", text, v)
		}
	}
}
