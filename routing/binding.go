package routing

import (
	"slices"

	"loopx/adapters/chat"
)

// usable says whether every choice of a binding is one we know and allow
// together.
func (b *Binding) usable() bool {
	return slices.Contains([]string{IngressSteer, IngressQueue, IngressInbox}, b.Ingress) &&
		slices.Contains([]string{ReplyThread, ReplyMirror, ReplyNone}, b.Reply) &&
		slices.Contains([]string{ContextLinked, All}, b.ContextFrom) &&
		slices.Contains([]string{TriggerAddressed, TriggerHumans}, b.Trigger) &&
		// Only a turn of its own can be without write scope and shell.
		(b.Audience == AudiencePeople || b.Audience == AudienceMembers && b.Ingress == IngressQueue) &&
		b.fitsRole() && !slices.Contains(b.Goals, "")
}

func (b *Binding) fitsRole() bool {
	switch b.Role {
	case ForGoal:
		return len(b.Goals) == 1 && b.Capture == Addressed
	case ForManager: // of a whole group, through its session's queue
		return len(b.Goals) > 0 && (b.Capture == Addressed || b.Capture == All) && b.Ingress == IngressQueue && b.Thread == ""
	case ForDirect:
		return len(b.Goals) < 2 && b.Capture == Addressed && b.Thread == "" // without a goal it names no target
	}
	return false
}

func (b *Binding) target() Target {
	t := Target{Binding: b.ID, Agent: b.Agent, Session: b.Session, Ingress: b.Ingress}
	if b.Role == ForManager {
		t.Goals = slices.Clone(b.Goals)
	} else if len(b.Goals) > 0 {
		t.Goal = b.Goals[0]
	}
	return t
}

// match is what the bindings of a place say about one message.
type match struct {
	one    *Binding   // the one that takes it
	many   []*Binding // equal ones, when there is no one
	reason string     // why nothing takes it
}

// matching picks by exactness: the thread's binding, the conversation's, the
// group's one Manager. A binding that cannot be used is still the one meant, so
// that nothing less exact takes its messages.
func matching(p chat.Place, list []Binding) match {
	levels := [3][]*Binding{}
	for i := range list {
		b := &list[i]
		switch {
		case b.State == BindingRemoved:
		case b.Thread != "":
			if b.Thread == p.Thread {
				levels[0] = append(levels[0], b)
			}
		case b.Role == ForManager:
			levels[2] = append(levels[2], b)
		default:
			levels[1] = append(levels[1], b)
		}
	}
	for _, level := range levels {
		if len(level) > 0 {
			return pick(level, false)
		}
	}
	return match{reason: ReasonUnbound}
}

// direct picks the binding of a private conversation; it needs none.
func direct(list []Binding) match {
	var level []*Binding
	for i := range list {
		if list[i].State != BindingRemoved {
			level = append(level, &list[i])
		}
	}
	if len(level) == 0 {
		return match{reason: ReasonUnbound}
	}
	return pick(level, true)
}

func pick(level []*Binding, private bool) match {
	var active []*Binding
	reason := ""
	for _, b := range level {
		if b.State == Active {
			active = append(active, b)
		} else {
			reason = stateReason(b.State)
		}
	}
	switch {
	case len(active) > 1:
		return match{many: active, reason: ReasonAmbiguous}
	case len(active) == 0:
		return match{reason: reason}
	case !active[0].usable() || (active[0].Role == ForDirect) != private:
		return match{reason: ReasonUnusable}
	}
	return match{one: active[0]}
}

func stateReason(state string) string {
	switch state {
	case BindingBroken:
		return ReasonBroken
	case BindingSuspended:
		return ReasonSuspended
	}
	return ReasonUnusable
}

// keeps says whether a message may be kept as context: in a group with exactly
// one Manager that captures all, of people its binding names.
func (m match) keeps(kind chat.UserKind, linked bool) bool {
	b := m.one
	switch {
	case b == nil || b.Role != ForManager || b.Capture != All:
		return false
	case b.ContextFrom == All:
		return kind == chat.Human || kind == chat.Bot
	}
	return kind == chat.Human && linked
}
