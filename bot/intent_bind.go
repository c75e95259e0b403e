package bot

import (
	"slices"
	"strings"
	"time"

	"loopx/kernel"
	"loopx/routing"
)

// bind reads /bind GOAL [AGENT] key=value...: the place is where it was typed.
// What no key names stays as it is, or is the default.
func bindWanted(q *request, a routing.Args) wanted {
	keys := map[string]string{}
	for _, word := range a.Words {
		name, value, _ := strings.Cut(word, "=")
		keys[strings.ToLower(name)] = value
	}
	for _, act := range []string{"remove", "confirm"} {
		id, ok := keys[act]
		if !ok {
			continue
		}
		b := q.r.Binding(id)
		if b == nil || !reads(q, b) {
			return q.tell("There is no binding "+id+". Nothing was changed.", "没有绑定 "+id+"。什么都没有改变。")
		}
		if act == "remove" {
			return wanted{goal: first(b.Goals), commands: []kernel.Command{&kernel.RemoveBinding{Binding: id}}}
		}
		return wanted{goal: first(b.Goals), commands: []kernel.Command{&kernel.SetBindingState{Binding: id, State: kernel.BindActive}}}
	}
	if a.Goal == "" && len(keys) == 0 {
		return bindingsWanted(q)
	}
	return q.on(a.Goal, kernel.RoleOwner, func(goal string) wanted {
		c := &kernel.SetBinding{Platform: string(q.platform), Connection: q.e.Place.Connection, Conversation: q.e.Place.Conversation, Thread: q.e.Place.Thread, Goals: []string{goal}, Agent: a.Agent}
		if q.e.Private {
			c.Role, c.Visibility = kernel.BindDirect, "private"
		}
		if old := boundAs(q, keys["role"], goal); old != nil {
			c = old.Choices()
			if a.Agent != "" {
				c.Agent, c.Session = a.Agent, ""
			}
		}
		fields := map[string]*string{"role": &c.Role, "capture": &c.Capture, "ingress": &c.Ingress, "reply": &c.Reply, "audience": &c.Audience, "context": &c.ContextFrom,
			"context_from": &c.ContextFrom, "trigger": &c.Trigger, "language": &c.Language, "visibility": &c.Visibility, "session": &c.Session, "card": &c.Card}
		for name, value := range keys {
			switch field := fields[name]; {
			case field != nil:
				*field = value
			case name == "goals":
				c.Goals = strings.Split(value, ",")
			case name == "allow":
				c.Allow = strings.Split(value, ",")
			default:
				return q.tell("I don't know "+name+". A binding has role, goals, capture, ingress, reply, audience, context, trigger, allow, language, visibility, card. Nothing was changed.",
					"不认识 "+name+"。可设置 role、goals、capture、ingress、reply、audience、context、trigger、allow、language、visibility、card。什么都没有改变。")
			}
		}
		return wanted{commands: []kernel.Command{c}}
	})
}

// pinWanted puts a status card into the place, or ends it: a change of the binding
// like any other.
func pinWanted(q *request, on bool) wanted {
	var here []*kernel.Binding
	for _, thread := range []string{q.e.Place.Thread, ""} {
		for _, b := range q.r.BindingAt(q.e.Place.Connection, q.e.Place.Conversation, thread) {
			if b.State == kernel.BindActive && b.Role != kernel.BindDirect && reads(q, b) {
				here = append(here, b)
			}
		}
		if len(here) > 0 {
			break
		}
	}
	switch len(here) {
	case 0:
		return q.tell("No goal is bound here, so there is nothing a status card could say. An owner binds this conversation with /bind GOAL.", "此会话没有绑定目标，没有可显示的状态。所有者可用 /bind 目标 来绑定。")
	case 1:
	default:
		return q.tell("Several bindings stand here. Choose one with: /bind GOAL card=status", "此会话有多个绑定，请用 /bind 目标 card=status 指定。")
	}
	c := here[0].Choices()
	if c.Card = ""; on {
		c.Card = kernel.CardOfStatus
	}
	return wanted{goal: first(c.Goals), commands: []kernel.Command{c}}
}

// boundAs finds the one binding of exactly this place that a command changes.
func boundAs(q *request, role, goal string) *kernel.Binding {
	var found []*kernel.Binding
	for _, b := range q.r.BindingAt(q.e.Place.Connection, q.e.Place.Conversation, q.e.Place.Thread) {
		if slices.Contains(b.Goals, goal) && (role == "" || role == b.Role) {
			found = append(found, b)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return nil
}

// reads says whether the person may know of a binding.
func reads(q *request, b *kernel.Binding) bool {
	if len(b.Goals) == 0 {
		return q.actor.Kind == kernel.ByOwner
	}
	for _, g := range b.Goals {
		if !q.holds(g, kernel.RoleObserver) {
			return false
		}
	}
	return true
}

func bindingsWanted(q *request) wanted {
	var lines []string
	for _, b := range q.r.BindingsOf(q.e.Place.Connection, q.e.Place.Conversation) {
		if !reads(q, b) {
			continue
		}
		line := b.ID + "  " + strings.Join(b.Goals, ", ") + " (" + b.Role + ", " + b.Ingress + ")"
		if b.State != kernel.BindActive {
			line += "  " + b.State
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return q.tell("Nothing is bound here. An owner binds this conversation with /bind GOAL.", "此会话没有绑定。所有者可用 /bind 目标 来绑定。")
	}
	return wanted{text: strings.Join(lines, "\n")}
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// morning is the hour that a day stands for.
const morning = 8

// momentOf gives the words of a time their meaning in the person's zone. now is
// in that zone; a moment that is over is none.
func momentOf(a routing.Args, now time.Time) (time.Time, bool) {
	if a.For > 0 {
		return now.Add(time.Duration(a.For) * time.Millisecond), true
	}
	day := func(n int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+n, morning, 0, 0, 0, now.Location())
	}
	weekday := func(d time.Weekday) time.Time {
		n := (int(d) - int(now.Weekday()) + 7) % 7
		if n == 0 {
			n = 7
		}
		return day(n)
	}
	switch a.Until {
	case "":
		return time.Time{}, false
	case "tomorrow":
		return day(1), true
	case "next_week":
		return weekday(time.Monday), true
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if a.Until == strings.ToLower(d.String()) {
			return weekday(d), true
		}
	}
	if t, err := time.Parse("15:04", a.Until); err == nil {
		at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
		if !at.After(now) {
			at = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), 0, 0, now.Location())
		}
		return at, true
	}
	if t, err := time.Parse("2006-01-02", a.Until); err == nil {
		at := time.Date(t.Year(), t.Month(), t.Day(), morning, 0, 0, 0, now.Location())
		return at, at.After(now)
	}
	if t, err := time.Parse("01-02", a.Until); err == nil {
		at := time.Date(now.Year(), t.Month(), t.Day(), morning, 0, 0, 0, now.Location())
		if !at.After(now) {
			at = time.Date(now.Year()+1, t.Month(), t.Day(), morning, 0, 0, 0, now.Location())
		}
		return at, true
	}
	return time.Time{}, false
}
