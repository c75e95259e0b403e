package routing

import (
	"slices"

	"loopx/adapters/chat"
)

// grouped is a message where others read along, and the binding that takes it.
type grouped struct {
	*decision
	match
}

// group decides about a message where others read along. Seeing is not
// authority: what does not address the bot, and what nobody with the right
// wrote, is context at most.
func group(d *decision) Verdict {
	m := grouped{d, matching(d.e.Place, d.f.Bindings)}
	keep := m.keeps(d.kind, d.linked) && d.e.Kind == chat.MessageSent && !d.empty
	v := m.decide()
	if v.Action == Drop && keep {
		v = Verdict{Action: Context, Reason: v.Reason, Target: m.one.target(), Text: d.said.text, Tainted: d.tainted()}
	}
	if keep && v.Action != Context && !v.Action.Starts() && v.Action != Missed {
		v.Keep = true
	}
	return v
}

func (d grouped) decide() Verdict {
	if d.kind != chat.Human {
		return Verdict{Reason: ReasonSender}
	}
	if !d.linked {
		return d.stranger()
	}
	if !d.late {
		if v, ok := answer(d.decision); ok {
			return v
		}
	}
	triggered := d.one != nil && d.one.Trigger == TriggerHumans && slices.Contains(d.one.Allow, d.e.Sender.ID) && !d.underGate
	switch {
	case !d.addressed && !triggered:
		if d.second && !d.late && d.one != nil && d.steers(d.one.target()) {
			return d.tell(Refuse, ReasonSecond)
		}
		return d.plain()
	case d.late && d.addressed && d.in.commands():
		return d.missed(Target{}, ReplyThread)
	case d.late && (d.one == nil || d.empty || d.e.Kind == chat.CommandSent):
		return Verdict{Reason: ReasonLate}
	}
	if d.addressed && !d.late {
		if v, ok := command(d.decision); ok {
			return v
		}
	}
	switch {
	case d.e.Kind == chat.CommandSent: // a slash command is a command or nothing
		return d.tell(Unknown, "no_command")
	case d.empty && d.addressed:
		return d.tell(Unknown, ReasonEmpty)
	case d.empty:
		return Verdict{Reason: ReasonEmpty}
	case d.one != nil:
		return d.bound(d.one)
	case !d.addressed:
		return Verdict{Reason: d.reason}
	case d.reason == ReasonAmbiguous:
		return d.choice(ReasonAmbiguous, targets(d.many))
	case d.reason == ReasonUnbound:
		return d.unbound()
	}
	return d.refused(d.reason)
}

// plain is why a message that addresses nobody does nothing.
func (d grouped) plain() Verdict {
	switch {
	case d.one == nil:
		return Verdict{Reason: d.reason}
	case d.late:
		return Verdict{Reason: ReasonLate}
	case d.underGate:
		return Verdict{Reason: ReasonUnderGate}
	}
	return Verdict{Reason: ReasonPlain}
}

// bound decides about a message of a linked person for a binding's target.
func (d grouped) bound(b *Binding) Verdict {
	t := b.target()
	if !d.steers(t) && !d.late {
		if v, ok := d.member(b); ok {
			return v
		}
	}
	reason := "addressed"
	if !d.addressed {
		reason = "human_message"
	}
	return d.start(t, b.Reply, reason)
}

// member starts a turn that only the audience of the binding allows.
func (d grouped) member(b *Binding) (Verdict, bool) {
	s := d.f.Sender.State
	switch {
	case b.Audience != AudienceMembers || !d.addressed || d.late || d.empty || d.e.Kind != chat.MessageSent,
		d.kind != chat.Human || d.f.Tenant == "",
		s != "" && s != Linked && s != Pending:
		return Verdict{}, false
	case d.f.Budget <= 0:
		return d.tell(Refuse, ReasonBudget), true
	}
	v := deliver(d.decision, b.target(), b.Reply, "audience_members")
	v.Members = v.Action.Starts()
	return v, true
}

// stranger decides about somebody who is not linked: nothing he says is a
// command or an answer, whatever it says.
func (d grouped) stranger() Verdict {
	if d.one != nil {
		if v, ok := d.member(d.one); ok {
			return v
		}
	}
	switch {
	case d.late:
		return Verdict{Reason: ReasonLate}
	case d.mentioned:
		return d.tell(Stray, "not_linked")
	case d.addressed:
		return Verdict{Reason: ReasonSender}
	}
	return d.plain()
}

// unbound offers the goals that have a thread here to somebody who addressed
// the bot above them.
func (d grouped) unbound() Verdict {
	var threads []*Binding
	for i := range d.f.Bindings {
		if b := &d.f.Bindings[i]; d.e.Place.Thread == "" && b.Thread != "" && b.State == Active && b.usable() && b.Role == ForGoal {
			threads = append(threads, b)
		}
	}
	if len(threads) == 0 {
		return Verdict{Reason: ReasonUnbound}
	}
	return d.choice(ReasonUnbound, targets(threads))
}

func targets(list []*Binding) []Target {
	var out []Target
	for _, b := range list {
		if b.usable() && b.Role != ForDirect {
			out = append(out, b.target())
		}
	}
	return out
}
