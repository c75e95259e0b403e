// Package routing decides who is meant by an event and what it may cause. It is
// pure: text in, intent out; event and facts in, verdict out. No clock, no I/O,
// no kernel, so that a million events can be decided in a test.
package routing

import "loopx/adapters/chat"

// Decide gives the verdict for an event. The order is that of the contract: own
// messages, malformed ones, presses, what is no message, one-time codes, private
// conversations, then the bindings of the place from exact to wide.
func Decide(e chat.Event, f Facts) Verdict {
	switch {
	case e.Sender.Kind == chat.Self:
		return Verdict{Reason: ReasonSelf}
	case e.ID == "" || e.Place.Conversation == "":
		return Verdict{Reason: ReasonMalformed}
	}
	switch e.Kind {
	case chat.CardPressed:
		if e.Press == nil {
			return Verdict{Reason: ReasonMalformed}
		}
		// Also for people nobody knows: the answer tells them so, privately.
		return Verdict{Action: Press, Reason: "card"}
	case chat.BotAdded:
		return Verdict{Action: Added, Reason: "membership"}
	case chat.BotRemoved:
		return Verdict{Action: Removed, Reason: "membership"}
	case chat.MessageEdited, chat.MessageDeleted:
		// Never a reason to start anything: a mention that an edit adds starts no
		// turn (B86). What is stored of the message decides.
		if e.Message == nil || e.Message.ID == "" {
			return Verdict{Reason: ReasonMalformed}
		}
		if e.Kind == chat.MessageDeleted {
			return Verdict{Action: Deleted, Reason: "stored_message"}
		}
		return edited(&e)
	case chat.MessageSent, chat.CommandSent:
		if e.Message == nil || e.Message.ID == "" {
			return Verdict{Reason: ReasonMalformed}
		}
	default:
		return Verdict{Reason: ReasonKind}
	}
	d := newDecision(e, f)
	var v Verdict
	switch {
	case d.in.Code != "" && !e.Private:
		// Whoever typed it, and however late: others can read it.
		v = Verdict{Action: Burn, Reason: "code_in_the_open", Word: d.in.Code}
	case e.Private:
		v = private(d)
	default:
		v = group(d)
	}
	v.Intent = d.in
	return v
}

// edited gives what a stored message says now, as an agent would get it. A code
// that an edit brings into the open is burned like any other.
func edited(e *chat.Event) Verdict {
	words := read(e.Message)
	in := Parse(words.words)
	if in.Code != "" && !e.Private {
		return Verdict{Action: Burn, Reason: "code_in_the_open", Word: in.Code, Intent: in}
	}
	v := Verdict{Action: Edited, Reason: "stored_message", Text: words.text, Intent: in}
	if in.Command == "queue" && in.Args.Text != "" {
		v.Text = in.Args.Text
	}
	return v
}

// decision is one message on its way to a verdict.
type decision struct {
	e    *chat.Event
	f    *Facts
	said said
	in   Intent
	kind chat.UserKind // with the tenant compared
	late bool          // history, or pushed too late to mean now

	linked    bool
	empty     bool // neither words besides mentions nor attachments
	addressed bool // by a mention, a verified reply or a slash command
	mentioned bool // the same without replies: what a stranger's notice needs
	underGate bool // a reply to a gate's card, or in its thread
	second    bool // it would be a reply, but several people write there
}

func newDecision(e chat.Event, f Facts) *decision {
	d := &decision{e: &e, f: &f, said: read(e.Message), kind: e.Sender.Kind}
	if f.Tenant != "" && e.Sender.Tenant != f.Tenant && (d.kind == chat.Human || d.kind == chat.Guest) {
		d.kind = chat.External
	}
	if e.Sender.ID == "" {
		d.kind = chat.Unknown
	}
	// A slash command without a time comes with a trigger that lives for seconds;
	// a message without one could be of any age.
	d.late = e.History || f.History || f.Now == 0 || e.At < f.Now-MaxLate && (e.At != 0 || e.Kind == chat.MessageSent)
	d.linked = d.kind == chat.Human && f.Sender.State == Linked && f.Sender.Person != ""
	d.empty = blank(d.said.bare) && len(e.Message.Attachments) == 0
	d.parse()
	d.mentioned = d.said.mentioned || e.Kind == chat.CommandSent
	d.underGate = f.Reply.Gate != "" || f.Thread.Gate != ""
	d.addressed = d.mentioned || d.repliesToUs()
	return d
}

// parse reads the words, and checks a person they name against the mentions.
func (d *decision) parse() {
	d.in = Parse(d.said.words)
	if d.in.Command == "" && d.in.Code == "" && d.in.Answer.Word == "" && d.said.bare != d.said.words {
		if in := Parse(d.said.bare); in.Code != "" || in.Answer.Word != "" {
			d.in = Intent{Code: in.Code, Answer: in.Answer}
		}
	}
	if d.in.Args.User != "" && !lists(d.e.Message, d.in.Args.User) {
		d.in.Args = Args{Bad: "person_not_mentioned"}
	}
	if len(d.e.Message.Attachments) > 0 { // files and forwards answer nothing
		d.in.Answer = AnswerText{}
	}
}

// repliesToUs says whether a verified reply addresses the bot. Where every
// message of a thread names the thread's first one, that is a reply only while
// nobody else writes there. Under a gate's card plain talk is talk.
func (d *decision) repliesToUs() bool {
	m := d.e.Message
	if m.Parent == "" || !d.f.Reply.Ours || d.underGate {
		return false
	}
	if d.e.Place.Thread == "" || m.Parent != m.Root {
		return true
	}
	d.second = d.f.Thread.Ours && len(d.f.Thread.Others) > 0
	return d.f.Thread.Ours && len(d.f.Thread.Others) == 0
}

// place is where an answer belongs.
func (d *decision) place(mode string) ReplyPlace {
	p := ReplyPlace{Place: d.e.Place, User: d.e.Sender.ID, Mode: mode}
	if d.e.Kind == chat.MessageSent { // a slash command is no message to reply to
		p.Message = d.e.Message.ID
	}
	return p
}

// tell is a verdict that answers and starts nothing. It holds the words, for
// what a button may start later.
func (d *decision) tell(a Action, reason string) Verdict {
	return Verdict{Action: a, Reason: reason, Place: d.place(ReplyThread), Text: d.said.text, Tainted: d.tainted()}
}

// private decides about a one-to-one conversation with the bot.
func private(d *decision) Verdict {
	f := d.f
	switch {
	case d.kind != chat.Human:
		return Verdict{Reason: ReasonSender}
	case d.in.Code != "" && d.late:
		return Verdict{Reason: ReasonLate}
	case d.in.Code != "":
		v := d.tell(Link, "code")
		v.Word = d.in.Code
		return v
	case !d.linked:
		if d.late {
			return Verdict{Reason: ReasonLate}
		}
		return d.tell(Stray, "not_linked")
	case d.empty:
		return Verdict{Reason: ReasonEmpty}
	}
	if d.late && d.in.commands() {
		return d.missed(Target{}, ReplyThread)
	}
	if !d.late {
		if v, ok := answer(d); ok {
			return v
		}
		if v, ok := command(d); ok {
			return v
		}
	}
	m := direct(f.Bindings)
	switch {
	case d.underGate && !d.said.mentioned:
		return d.refused(ReasonUnderGate)
	case m.one == nil && m.reason != ReasonUnbound && m.reason != ReasonAmbiguous:
		return d.refused(m.reason)
	case f.Current != nil:
		mode := ReplyThread
		if m.one != nil {
			mode = m.one.Reply
		}
		return d.start(*f.Current, mode, "private_message")
	case m.one != nil && len(m.one.Goals) == 1:
		return d.start(m.one.target(), m.one.Reply, "private_message")
	case d.late:
		return Verdict{Reason: ReasonLate}
	case len(f.Reach) > 0:
		return d.choice(ReasonNoTarget, f.Reach)
	}
	return d.tell(Unknown, "no_command")
}

// refused tells a linked person why; what came late is not answered any more.
func (d *decision) refused(reason string) Verdict {
	if d.late {
		return Verdict{Reason: ReasonLate}
	}
	return d.tell(Refuse, reason)
}

// choice offers the targets the sender may start something at.
func (d *decision) choice(reason string, list []Target) Verdict {
	if d.late {
		return Verdict{Reason: ReasonLate}
	}
	v := d.tell(Choice, reason)
	for _, t := range list {
		if d.steers(t) {
			v.Choices = append(v.Choices, t)
		}
	}
	if len(v.Choices) == 0 {
		return d.tell(Refuse, ReasonRight)
	}
	return v
}

// steers says whether the sender may start a turn at the target: for the
// Manager, at every goal it speaks for.
func (d *decision) steers(t Target) bool {
	if !d.linked || t.Goal == "" && len(t.Goals) == 0 {
		return false
	}
	for _, g := range t.Goals {
		if !d.f.Sender.Holds(g, Steerer) {
			return false
		}
	}
	return t.Goal == "" || d.f.Sender.Holds(t.Goal, Steerer)
}
