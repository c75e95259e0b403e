package kernel

import (
	"slices"

	"loopx/kernel/store"
)

// Binding joins a conversation, or one thread of it, to a target. Its choices
// are independent: none widens another.
type Binding struct {
	ID           string   `json:"id"` // bind_...
	Platform     string   `json:"platform"`
	Connection   string   `json:"connection"`
	Conversation string   `json:"conversation"`
	Thread       string   `json:"thread,omitempty"`
	Role         string   `json:"role"`              // goal, manager, direct
	Goals        []string `json:"goals"`             // one for role goal; what a manager may speak of
	Agent        string   `json:"agent,omitempty"`   // of the first goal
	Session      string   `json:"session,omitempty"` // of that agent
	Capture      string   `json:"capture"`           // addressed; all only with role manager
	Ingress      string   `json:"ingress"`           // steer, queue, inbox
	Reply        string   `json:"reply"`             // thread, mirror, none
	Audience     string   `json:"audience"`          // linked, members
	ContextFrom  string   `json:"context_from"`      // linked, all
	Trigger      string   `json:"trigger"`           // mentions, human_messages
	Allow        []string `json:"allow,omitempty"`   // user ids; empty means nobody
	Language     string   `json:"language,omitempty"`
	Visibility   string   `json:"visibility"`     // of the place: private, group, public
	Card         string   `json:"card,omitempty"` // status: a card there keeps saying how the goals are
	State        string   `json:"state"`          // active, broken, suspended
	Reason       string   `json:"reason,omitempty"`
	Revision     uint64   `json:"revision"`
	Created      int64    `json:"created"`
	Updated      int64    `json:"updated"`
}

// Values of a binding's choices.
const (
	BindGoal    = "goal"
	BindManager = "manager"
	BindDirect  = "direct"

	CaptureAddressed = "addressed"
	CaptureAll       = "all"

	IngressSteer = "steer"
	IngressQueue = "queue"
	IngressInbox = "inbox"

	ReplyThread = "thread"
	ReplyMirror = "mirror"
	ReplyNone   = "none"

	AudienceLinked  = "linked"
	AudienceMembers = "members"

	TriggerMentions = "mentions"
	TriggerHuman    = "human_messages"

	CardOfStatus = "status"

	BindActive    = "active"
	BindBroken    = "broken"    // the place or the bot's seat in it is gone
	BindSuspended = "suspended" // the place became wider; waits for an owner
)

// bindingsMax bounds the bindings of one conversation, and of one goal.
const bindingsMax = 64

// Binding returns a binding by its id, or nil.
func (r *Reader) Binding(id string) *Binding { return get[Binding](r, tblBinding, id) }

// BindingAt lists the bindings of exactly this thread, or with an empty thread
// those of the conversation itself, whatever their state: only active ones route.
func (r *Reader) BindingAt(connection, conversation, thread string) []*Binding {
	return bindings(r, store.Under(bindingsMax, tblBindPlace, connection, conversation, thread))
}

// BindingsOf lists the bindings of a conversation and of its threads, whatever
// their state.
func (r *Reader) BindingsOf(connection, conversation string) []*Binding {
	return bindings(r, store.Under(bindingsMax, tblBindPlace, connection, conversation))
}

// BindingsOfGoal lists the bindings that name a goal, whatever their state.
func (r *Reader) BindingsOfGoal(goal string) []*Binding {
	return bindings(r, store.Under(bindingsMax, tblBindGoal, goal))
}

// Bindings lists bindings by id, at most limit.
func (r *Reader) Bindings(limit int) []*Binding {
	return rows[Binding](r, store.Under(limit, tblBinding))
}

func bindings(r *Reader, rg store.Range) []*Binding {
	var out []*Binding
	for _, id := range r.lastParts(rg) {
		if v := r.Binding(id); v != nil {
			out = append(out, v)
		}
	}
	return out
}

// SetBinding makes a binding, or with an id replaces the choices of one: an act
// of an owner of all its goals. A binding keeps its place for life.
type SetBinding struct {
	Binding      string   `json:"binding,omitempty"`
	Platform     string   `json:"platform"`
	Connection   string   `json:"connection"`
	Conversation string   `json:"conversation"`
	Thread       string   `json:"thread,omitempty"`
	Role         string   `json:"role,omitempty"` // default goal
	Goals        []string `json:"goals,omitempty"`
	Agent        string   `json:"agent,omitempty"`
	Session      string   `json:"session,omitempty"`
	Capture      string   `json:"capture,omitempty"`      // default addressed
	Ingress      string   `json:"ingress,omitempty"`      // default inbox, of a Manager queue
	Reply        string   `json:"reply,omitempty"`        // default thread
	Audience     string   `json:"audience,omitempty"`     // default linked
	ContextFrom  string   `json:"context_from,omitempty"` // default linked
	Trigger      string   `json:"trigger,omitempty"`      // default mentions
	Allow        []string `json:"allow,omitempty"`
	Language     string   `json:"language,omitempty"`
	Visibility   string   `json:"visibility,omitempty"` // default group
	Card         string   `json:"card,omitempty"`       // status, or none
}

// Choices is the command that would make a binding as it is: what is changed in it
// is changed, the rest stays.
func (v *Binding) Choices() *SetBinding {
	return &SetBinding{
		Binding: v.ID, Platform: v.Platform, Connection: v.Connection, Conversation: v.Conversation, Thread: v.Thread, Role: v.Role,
		Goals: v.Goals, Agent: v.Agent, Session: v.Session, Capture: v.Capture, Ingress: v.Ingress, Reply: v.Reply, Audience: v.Audience,
		ContextFrom: v.ContextFrom, Trigger: v.Trigger, Allow: v.Allow, Language: v.Language, Visibility: v.Visibility, Card: v.Card,
	}
}

// Name implements Command.
func (*SetBinding) Name() string { return "bind.set" }

func (c *SetBinding) decide(r *reader, e *env) (*decided, error) {
	n := &Binding{
		Platform: c.Platform, Connection: c.Connection, Conversation: c.Conversation, Thread: c.Thread,
		Role: or(c.Role, BindGoal), Goals: uniq(c.Goals), Agent: c.Agent, Session: c.Session,
		Capture: or(c.Capture, CaptureAddressed), Ingress: or(c.Ingress, usualIngress(c.Role)), Reply: or(c.Reply, ReplyThread), Audience: or(c.Audience, AudienceLinked),
		ContextFrom: or(c.ContextFrom, "linked"), Trigger: or(c.Trigger, TriggerMentions), Allow: uniq(c.Allow), Language: c.Language, Visibility: or(c.Visibility, "group"), Card: c.Card,
		State: BindActive, Revision: 1, Created: e.now, Updated: e.now,
	}
	if len(n.Allow) == 0 {
		n.Allow = nil
	}
	if n.Card == "none" {
		n.Card = ""
	}
	var old *Binding
	if c.Binding != "" {
		if old = r.Binding(c.Binding); old == nil {
			return nil, noBinding(c.Binding)
		}
		if err := ownsAll(r, e, old.Goals, "changing a binding"); err != nil {
			return nil, err
		}
	}
	if err := firstErr(n.check(), ownsAll(r, e, n.Goals, "binding a conversation"), checkBindTarget(r, n)); err != nil {
		return nil, err
	}
	result := map[string]any{"card": n.Card, "place": n.place(), "role": n.Role, "goals": n.Goals, "capture": n.Capture, "ingress": n.Ingress, "reply": n.Reply, "state": n.State}
	if wide := narrower(r, n); len(wide) > 0 {
		// Executing it is the owner's word that these goals may be seen there.
		result["wider_than"] = wide
	}
	if old == nil {
		here := r.BindingsOf(n.Connection, n.Conversation)
		for _, v := range here {
			if v.sameChoices(n) {
				result["binding_id"] = v.ID
				return &decided{result: result}, nil
			}
			if v.Thread == n.Thread && v.Role == n.Role && slices.Equal(v.Goals, n.Goals) {
				return nil, Errorf(Conflict, "binding_exists", "%s is bound like that already, as %s", n.place(), v.ID).Try("loopx bind set --bind-id %s ...", v.ID)
			}
		}
		if len(here) >= bindingsMax {
			return nil, Errorf(Exhausted, "too_many_bindings", "a conversation has at most %d bindings", bindingsMax).Try("loopx bind list")
		}
		for _, g := range n.Goals {
			if len(r.BindingsOfGoal(g)) >= bindingsMax {
				return nil, Errorf(Exhausted, "too_many_bindings", "a goal has at most %d bindings", bindingsMax).Try("loopx bind list --goal-id %s", g)
			}
		}
		n.ID = e.id("bind_")
	} else {
		if old.place() != n.place() || old.Platform != n.Platform {
			return nil, Errorf(Invalid, "place_fixed", "%s belongs to %s; another place needs a binding of its own", old.ID, old.place()).Try("loopx bind set without --bind-id")
		}
		n.ID, n.Created, n.Revision = old.ID, old.Created, old.Revision+1
		if old.sameChoices(n) && old.State == n.State {
			result["binding_id"] = old.ID
			return &decided{result: result}, nil
		}
	}
	result["binding_id"] = n.ID
	return &decided{changed: true, result: result, events: []Event{{Type: BindingSet, Goal: first(n.Goals), Subject: n.ID, Binding: n}}}, nil
}

// usualIngress of a Manager is the queue: its turns go to the session queue of
// the bound agent and no other way.
func usualIngress(role string) string {
	if role == BindManager {
		return IngressQueue
	}
	return IngressInbox
}

func noBinding(id string) error {
	return Errorf(NotFound, "binding_not_found", "there is no binding %s", show(id)).Try("loopx bind list")
}

// ownsAll refuses who does not own every one of the goals. A binding without a
// goal is the workspace owner's.
func ownsAll(r *Reader, e *env, goals []string, act string) error {
	if len(goals) == 0 {
		return e.owner(act)
	}
	for _, g := range goals {
		if err := ownerOf(r, e, g, act); err != nil {
			return err
		}
	}
	return nil
}

// check holds the choices against each other; whatever is unknown is refused.
func (v *Binding) check() error {
	err := firstErr(
		checkToken("platform", v.Platform, 80), checkToken("connection", v.Connection, 200), checkToken("conversation", v.Conversation, 400),
		oneOf("role", v.Role, BindGoal, BindManager, BindDirect), oneOf("capture", v.Capture, CaptureAddressed, CaptureAll),
		oneOf("ingress", v.Ingress, IngressSteer, IngressQueue, IngressInbox), oneOf("reply", v.Reply, ReplyThread, ReplyMirror, ReplyNone),
		oneOf("audience", v.Audience, AudienceLinked, AudienceMembers), oneOf("context_from", v.ContextFrom, "linked", "all"),
		oneOf("trigger", v.Trigger, TriggerMentions, TriggerHuman), oneOf("language", v.Language, "", "en", "zh"),
		oneOf("visibility", v.Visibility, "private", "group", "public"), oneOf("card", v.Card, "", CardOfStatus), checkList("goal", v.Goals, 64), checkList("allowed user", v.Allow, 200),
	)
	if err == nil && v.Thread != "" {
		err = checkToken("thread", v.Thread, 400)
	}
	switch {
	case err != nil:
		return err
	case v.Role == BindGoal && len(v.Goals) != 1:
		return Errorf(Invalid, "one_goal", "a binding of role goal names exactly one goal, %d were given", len(v.Goals))
	case v.Role == BindManager && len(v.Goals) == 0:
		return Errorf(Invalid, "missing_goals", "a Manager's binding names the goals it may speak of")
	case v.Role == BindDirect && v.Visibility != "private":
		return Errorf(Invalid, "not_private", "a binding of role direct is for a private conversation")
	case v.Role == BindManager && v.Thread != "":
		return Errorf(Invalid, "manager_thread", "a Manager speaks for a whole conversation, not for one thread of it").Try("bind the conversation, or the thread with role goal")
	case v.Role == BindManager && v.Ingress != IngressQueue:
		return Errorf(Invalid, "manager_ingress", "a Manager's messages become turns of their own: its ingress is queue").Try("leave ingress out")
	case v.Audience == AudienceMembers && v.Ingress != IngressQueue:
		return Errorf(Invalid, "members_ingress", "messages of members become turns of their own, without write scope: audience members needs ingress queue").Try("ingress=queue, or leave audience out")
	case v.Role == BindDirect && (v.Thread != "" || len(v.Goals) > 1):
		return Errorf(Invalid, "direct_place", "a binding of role direct is for a private conversation as a whole, with one goal at most")
	case v.Capture == CaptureAll && v.Role != BindManager:
		return Errorf(Invalid, "capture_all", "capturing all messages is for a Manager's binding only")
	case v.ContextFrom == "all" && v.Role != BindManager:
		return Errorf(Invalid, "context_all", "context from everybody is for a Manager's binding only")
	case v.Trigger == TriggerHuman && len(v.Allow) == 0:
		return Errorf(Invalid, "allow_empty", "human_messages needs the ids of those whose messages count; an empty list means nobody")
	case v.Session != "" && v.Agent == "":
		return Errorf(Invalid, "session_alone", "a session is named together with its agent")
	}
	return nil
}

func checkBindTarget(r *Reader, v *Binding) error {
	for _, id := range v.Goals {
		if _, err := r.needGoal(id); err != nil {
			return err
		}
	}
	if v.Agent == "" {
		return nil
	}
	if len(v.Goals) == 0 {
		return Errorf(Invalid, "agent_alone", "an agent is named together with its goal")
	}
	return checkTarget(r, v.Goals[0], v.Agent, v.Session)
}

// narrower lists the goals that are meant for fewer people than the place holds.
func narrower(r *Reader, v *Binding) []string {
	var out []string
	for _, id := range v.Goals {
		if g := r.Goal(id); g != nil && width(v.Visibility) > width(g.Visibility) {
			out = append(out, id)
		}
	}
	return out
}

// width orders visibilities; what is unknown is the widest.
func width(visibility string) int {
	switch visibility {
	case "private":
		return 0
	case "group":
		return 1
	}
	return 2
}

func (v *Binding) place() string {
	s := v.Connection + " " + v.Conversation
	if v.Thread != "" {
		s += " " + v.Thread
	}
	return s
}

// sameChoices compares all that an owner chooses.
func (v *Binding) sameChoices(o *Binding) bool {
	a, b := *v, *o
	for _, x := range []*Binding{&a, &b} {
		x.ID, x.State, x.Reason, x.Revision, x.Created, x.Updated = "", "", "", 0, 0, 0
	}
	return digest(a) == digest(b)
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// RemoveBinding ends a binding: an act of an owner of all its goals.
type RemoveBinding struct {
	Binding string `json:"binding"`
}

// Name implements Command.
func (*RemoveBinding) Name() string { return "bind.remove" }

func (c *RemoveBinding) decide(r *reader, e *env) (*decided, error) {
	v := r.Binding(c.Binding)
	if v == nil {
		return nil, noBinding(c.Binding)
	}
	if err := ownsAll(r, e, v.Goals, "removing a binding"); err != nil {
		return nil, err
	}
	return &decided{changed: true, events: []Event{{Type: BindingRemoved, Goal: first(v.Goals), Subject: v.ID, Binding: v}},
		result: map[string]any{"binding_id": v.ID, "place": v.place(), "state": "removed"}}, nil
}

// SetBindingState marks a binding as broken or suspended, as the bot does when
// the place changed, or confirms it again, which only an owner does.
type SetBindingState struct {
	Binding string `json:"binding"`
	State   string `json:"state"` // active, broken, suspended
	Reason  string `json:"reason,omitempty"`
	// Visibility is how wide the place is now; empty leaves it.
	Visibility string `json:"visibility,omitempty"`
}

// Name implements Command.
func (*SetBindingState) Name() string { return "bind.state" }

func (c *SetBindingState) decide(r *reader, e *env) (*decided, error) {
	v := r.Binding(c.Binding)
	if v == nil {
		return nil, noBinding(c.Binding)
	}
	if e.by.Kind != ByBot || c.State == BindActive {
		if err := ownsAll(r, e, v.Goals, "changing a binding's state"); err != nil {
			return nil, err
		}
	}
	err := firstErr(oneOf("state", c.State, BindActive, BindBroken, BindSuspended), oneOf("visibility", c.Visibility, "", "private", "group", "public"), checkText("reason", c.Reason, summaryMax, false))
	if err != nil {
		return nil, err
	}
	n := *v
	n.State, n.Reason, n.Visibility = c.State, c.Reason, or(c.Visibility, v.Visibility)
	if c.State == BindActive {
		n.Reason = ""
	}
	if err := n.check(); err != nil && c.State == BindActive {
		return nil, err
	}
	out := &decided{result: map[string]any{"binding_id": n.ID, "place": n.place(), "state": n.State, "reason": n.Reason, "visibility": n.Visibility}}
	if n.State == v.State && n.Reason == v.Reason && n.Visibility == v.Visibility {
		return out, nil
	}
	n.Revision, n.Updated = v.Revision+1, e.now
	out.changed = true
	out.events = []Event{{Type: BindingChanged, Goal: first(n.Goals), Subject: n.ID, Binding: &n}}
	return out, nil
}

// sound: a binding that holds a value this version does not know routes nothing.
func (v *Binding) sound() bool {
	return v.ID != "" && v.Connection != "" && v.Conversation != "" && slices.Contains([]string{BindActive, BindBroken, BindSuspended}, v.State)
}
