package routing

import (
	"slices"
	"unicode/utf8"
)

func (d *decision) tainted() bool { return !d.linked || len(d.e.Message.Attachments) > 0 }

// start gives a message to a target if the sender may, now or, when it came
// late, after an owner's tap.
func (d *decision) start(t Target, mode, reason string) Verdict {
	if !d.steers(t) {
		if d.late {
			return Verdict{Reason: ReasonLate}
		}
		v := d.tell(Refuse, ReasonRight)
		v.Target = t
		return v
	}
	if d.late {
		return d.missed(t, mode)
	}
	return deliver(d, t, mode, reason)
}

// missed keeps a message that came late. A command has no target: it is listed
// and not done.
func (d *decision) missed(t Target, mode string) Verdict {
	return Verdict{Action: Missed, Reason: ReasonLate, Word: d.in.Command, Target: t, Place: d.place(mode), Text: d.said.text, Tainted: d.tainted()}
}

// deliver finds the way of an authorised message. A way that is closed is said,
// never replaced by another one.
func deliver(d *decision, t Target, mode, reason string) Verdict {
	v := Verdict{Reason: reason, Target: t, Place: d.place(mode), Text: d.said.text, Tainted: d.tainted()}
	refuse := func(why, offer string) Verdict {
		v := d.tell(Refuse, why)
		v.Target, v.Offer = t, offer
		return v
	}
	manager := len(t.Goals) > 0
	if t.Ingress == IngressInbox && !manager {
		v.Action = Inbox
		return v
	}
	if t.Ingress != IngressQueue && (t.Ingress != IngressSteer || manager) {
		return refuse(ReasonUnusable, "")
	}
	if manager && t.Agent == "" {
		return refuse(ReasonNoAgent, "")
	}
	s := session(d.f.Sessions, t)
	switch {
	case s == nil && manager:
		return refuse(ReasonNoAgent, "")
	case s == nil:
		return refuse(ReasonNoSession, IngressInbox)
	}
	v.Target.Session, v.Target.Agent = s.ID, s.Agent
	if t.Ingress == IngressQueue {
		if s.Waiting >= MaxWaiting {
			return refuse(ReasonFull, "")
		}
		v.Action = Queue
		if manager {
			v.Action = Turn
		}
		return v
	}
	offer := ""
	if s.Waiting < MaxWaiting {
		offer = IngressQueue
	}
	switch {
	case s.Turn == "" || !s.Steer:
		return refuse(ReasonNoTurn, offer)
	case utf8.RuneCountInString(d.said.text) > MaxSteer:
		return refuse(ReasonLong, offer)
	}
	v.Action, v.Target.Turn = Steer, s.Turn
	return v
}

// session is the exact session of a target: the one it names, or the only open
// one of its agent and goal.
func session(list []Session, t Target) *Session {
	var one *Session
	for i := range list {
		s := &list[i]
		ofGoal := s.Goal == t.Goal && t.Goal != "" || slices.Contains(t.Goals, s.Goal)
		if s.ID == "" || !ofGoal || t.Agent != "" && s.Agent != t.Agent || t.Session != "" && s.ID != t.Session {
			continue
		}
		if one != nil {
			return nil
		}
		one = s
	}
	return one
}
