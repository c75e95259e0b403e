package routing

import (
	"slices"
	"strings"
)

// commands says whether the text is a command, or meant to be one.
func (in Intent) commands() bool { return in.Command != "" || in.Slash && len(in.Near) > 0 }

// commanding is a message of a linked person who addressed the bot.
type commanding struct{ *decision }

// command decides about a command of a linked person who addressed the bot.
// Whether he may do what it asks is the kernel's to say; nothing here starts but
// what /to and /queue carry.
func command(of *decision) (Verdict, bool) {
	d := commanding{of}
	in := d.in
	switch {
	case in.Command == "" && len(in.Near) > 0 && (in.Slash || d.e.Private && d.f.Current == nil):
		return d.tell(Unknown, "no_command"), true
	case in.Command == "":
		return Verdict{}, false
	case in.Args.Bad != "":
		v := d.tell(Refuse, ReasonUsage)
		v.Word = in.Command
		return v, true
	case in.Command == "to" && in.Args.Text != "":
		return d.to(), true
	case in.Command == "queue" && in.Args.Text != "":
		return d.queue(), true
	}
	v := d.tell(Command, "command")
	v.Word = in.Command
	return v, true
}

// to gives a message to an explicit address. An agent's id behind the goal is
// the agent; any other word begins the message.
func (d commanding) to() Verdict {
	a := d.in.Args
	first, rest := cutWord(a.Text)
	first = strings.TrimRight(first, ":：")
	var goal, agent []Target
	for _, t := range d.f.Reach {
		if t.Goal != a.Goal || a.Goal == "" {
			continue
		}
		goal = append(goal, t)
		if t.Agent != "" && t.Agent == first {
			agent = append(agent, t)
		}
	}
	list := goal
	if len(agent) > 0 {
		if rest == "" { // names the target and says nothing
			d.in.Args.Agent, d.in.Args.Text = first, ""
			v := d.tell(Command, "command")
			v.Word = "to"
			return v
		}
		list, d.said.text = agent, rest
	} else {
		d.said.text = a.Text
		if i := slices.IndexFunc(goal, func(t Target) bool { return t.Agent == "" }); i >= 0 {
			list = goal[i : i+1]
		}
	}
	switch len(list) {
	case 0:
		return d.tell(Refuse, ReasonNoTarget)
	case 1:
		return d.explicit(list[0], "explicit_address")
	}
	return d.choice(ReasonAmbiguous, list)
}

// queue gives a message to the session queue of the target of this place.
func (d commanding) queue() Verdict {
	d.said.text = d.in.Args.Text
	if d.e.Private {
		m := direct(d.f.Bindings)
		switch {
		case m.one == nil && m.reason != ReasonUnbound && m.reason != ReasonAmbiguous:
			return d.refused(m.reason)
		case d.f.Current != nil:
			return d.queued(*d.f.Current)
		case m.one != nil && len(m.one.Goals) == 1:
			return d.queued(m.one.target())
		}
		return d.choice(ReasonNoTarget, d.f.Reach)
	}
	m := matching(d.e.Place, d.f.Bindings)
	switch {
	case m.one != nil:
		return d.queued(m.one.target())
	case m.reason == ReasonAmbiguous:
		return d.choice(ReasonAmbiguous, targets(m.many))
	case m.reason == ReasonUnbound:
		return d.tell(Refuse, ReasonNoTarget)
	}
	return d.refused(m.reason)
}

func (d commanding) queued(t Target) Verdict {
	t.Ingress = IngressQueue
	return d.explicit(t, "explicit_queue")
}

func (d commanding) explicit(t Target, reason string) Verdict {
	v := d.start(t, ReplyThread, reason)
	v.Place.Private = !d.e.Private && !d.shownHere(t)
	return v
}

// shownHere says whether the target's goals are bound in this place.
func (d commanding) shownHere(t Target) bool {
	for _, g := range append([]string{t.Goal}, t.Goals...) {
		if g == "" {
			continue
		}
		if !slices.ContainsFunc(d.f.Bindings, func(b Binding) bool {
			return b.State == Active && (b.Thread == "" || b.Thread == d.e.Place.Thread) && slices.Contains(b.Goals, g)
		}) {
			return false
		}
	}
	return true
}
