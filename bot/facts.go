package bot

import (
	"maps"
	"slices"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/routing"
)

// Bounds of what is read for one decision.
const (
	reachMost    = 30  // goals a person may mean
	sessionsMost = 200 // sessions of one goal
	gatesMost    = 20  // open gates of one goal
)

// sessionIdle is how long a session counts as open without a sign of life.
const sessionIdle = 24 * time.Hour

// facts reads what routing needs beside the event, by index, in the transaction
// that handles it.
type facts struct {
	r     *kernel.Reader
	e     chat.Event
	actor kernel.Actor
	known bool
	// tenantOf is the connection's own, as its platform says; "" is not known.
	tenantOf string
	goals    []string // whose sessions and gates matter
	// steered counts the goals the sender could mean, paused ones too.
	steered int
	result  routing.Facts
}

func factsOf(r *kernel.Reader, e chat.Event, actor kernel.Actor, known bool, tenant string) (routing.Facts, error) {
	f := &facts{tenantOf: tenant, r: r, e: e, actor: actor, known: known, result: routing.Facts{Now: r.Now(), History: e.History}}
	if known {
		f.sender()
	}
	if e.Message == nil || e.Kind != chat.MessageSent && e.Kind != chat.CommandSent {
		return f.result, r.Err()
	}
	for _, b := range r.BindingsOf(e.Place.Connection, e.Place.Conversation) {
		if e.History && e.At < b.Created { // what was said before it was there is not for it
			continue
		}
		f.result.Bindings = append(f.result.Bindings, bindingFact(b))
		f.meant(b.Goals...)
	}
	f.tenant()
	if err := f.budget(); err != nil {
		return f.result, err
	}
	if known {
		f.reach()
		f.current()
	}
	if err := f.around(); err != nil {
		return f.result, err
	}
	if err := f.sessions(); err != nil {
		return f.result, err
	}
	if known {
		if err := f.gates(); err != nil {
			return f.result, err
		}
	}
	return f.result, r.Err()
}

func (f *facts) sender() {
	s := routing.Sender{Person: f.actor.ID, State: routing.Linked, Owner: f.actor.Kind == kernel.ByOwner, Roles: map[string][]routing.Role{}}
	for _, v := range f.r.RolesBy(f.actor.ID) {
		if v.State == kernel.RoleActive {
			s.Roles[v.Goal] = append(s.Roles[v.Goal], routing.Role(v.Role))
		}
	}
	f.result.Sender = s
}

// tenant is the one the connection belongs to, as its platform says, or else as
// the owner's confirmed accounts on it do. With none, or with two, nobody knows,
// and the event's kind of sender decides alone.
func (f *facts) tenant() {
	if f.result.Tenant = f.tenantOf; f.tenantOf != "" {
		return
	}
	found := map[string]bool{}
	for _, p := range f.r.PrincipalsOf("owner") {
		if p.Connection == f.e.Place.Connection && p.Status == kernel.Linked {
			found[p.Tenant] = true
			f.result.Tenant = p.Tenant
		}
	}
	if len(found) > 1 {
		f.result.Tenant = ""
	}
}

// budget is what a member has left, where a binding is open to members.
func (f *facts) budget() (err error) {
	if slices.ContainsFunc(f.result.Bindings, func(b routing.Binding) bool { return b.Audience == routing.AudienceMembers }) {
		f.result.Budget, err = inbox.MemberBudget(f.r.Tx(), f.r.Now(), f.e)
	}
	return err
}

func (f *facts) meant(goals ...string) {
	for _, g := range goals {
		seen := false
		for _, old := range f.goals {
			seen = seen || old == g
		}
		if !seen && g != "" {
			f.goals = append(f.goals, g)
		}
	}
}

// bindingFact is a binding in routing's words. A value routing does not know
// makes it unusable there.
func bindingFact(b *kernel.Binding) routing.Binding {
	out := routing.Binding{ID: b.ID, Thread: b.Thread, Role: b.Role, Goals: b.Goals, Agent: b.Agent, Session: b.Session, Capture: b.Capture, Ingress: b.Ingress, Reply: b.Reply,
		Audience: b.Audience, ContextFrom: b.ContextFrom, Trigger: b.Trigger, Allow: b.Allow, State: b.State}
	if b.Audience == kernel.AudienceLinked {
		out.Audience = routing.AudiencePeople
	}
	if b.Trigger == kernel.TriggerMentions {
		out.Trigger = routing.TriggerAddressed
	}
	return out
}

// reach are the targets the sender may start a turn at: one an agent, or the
// goal alone while nobody works on it.
func (f *facts) reach() {
	n := 0
	add := func(goal *kernel.Goal) {
		if goal != nil && goal.Status != kernel.GoalCompleted && f.result.Sender.Holds(goal.ID, routing.Steerer) {
			f.steered++
		}
		if goal == nil || goal.Status != kernel.GoalActive || n == reachMost || !f.result.Sender.Holds(goal.ID, routing.Steerer) {
			return
		}
		n++
		f.meant(goal.ID)
		members := f.r.Agents(goal.ID)
		if len(members) == 0 {
			f.result.Reach = append(f.result.Reach, routing.Target{Goal: goal.ID, Ingress: routing.IngressInbox})
		}
		for _, a := range members {
			f.result.Reach = append(f.result.Reach, routing.Target{Goal: goal.ID, Agent: a.ID, Ingress: f.ingress(goal.ID, a.ID, "")})
		}
	}
	if f.result.Sender.Owner {
		for _, g := range f.r.Goals(reachMost) {
			add(g)
		}
		return
	}
	for _, goal := range slices.Sorted(maps.Keys(f.result.Sender.Roles)) {
		add(f.r.Goal(goal))
	}
}

// ingress is how a private message reaches an agent: the queue of its one open
// session, else the inbox, where it waits for whoever comes.
func (f *facts) ingress(goal, agent, session string) string {
	n := 0
	for _, s := range f.open(goal) {
		if s.Agent == agent && (session == "" || s.ID == session) {
			n++
		}
	}
	if n == 1 {
		return routing.IngressQueue
	}
	return routing.IngressInbox
}

func (f *facts) open(goal string) []*kernel.Session {
	var out []*kernel.Session
	for _, s := range f.r.Sessions(goal, sessionsMost) {
		if s.State == "open" && f.r.Now()-s.Seen < sessionIdle.Milliseconds() {
			out = append(out, s)
		}
	}
	return out
}

// current is the target of the sender's private messages: what /to set. Without
// that, the only one there is: where a person could mean one agent of one goal
// and nothing else, there is nothing to guess. With a second goal, even a paused
// one, they are asked.
func (f *facts) current() {
	if !f.e.Private {
		return
	}
	p := f.r.Person(f.actor.ID)
	if p != nil && p.Target != nil {
		t := routing.Target{Goal: p.Target.Goal, Agent: p.Target.Agent, Session: p.Target.Session}
		if members := f.r.Agents(t.Goal); t.Agent == "" && len(members) == 1 {
			t.Agent = members[0].ID
		}
		t.Ingress = f.ingress(t.Goal, t.Agent, t.Session)
		f.result.Current = &t
		f.meant(t.Goal)
		return
	}
	if len(f.result.Reach) == 1 && f.steered == 1 {
		f.result.Current = &f.result.Reach[0]
	}
}

// around is what is known of the message that is replied to and of the thread.
func (f *facts) around() error {
	p, m := f.e.Place, f.e.Message
	it, err := inbox.Ours(f.r.Tx(), p.Connection, p.Conversation, m.Parent)
	if err != nil {
		return err
	}
	if it != nil {
		f.result.Reply = routing.Reply{Ours: true, Gate: it.Gate}
	}
	if it, err = inbox.Ours(f.r.Tx(), p.Connection, p.Conversation, m.Root); err != nil || it == nil {
		return err
	}
	others, err := inbox.Writers(f.r.Tx(), p, m.Root, f.e.Sender.ID)
	f.result.Thread = routing.Thread{Ours: true, Gate: it.Gate, Others: others}
	return err
}

func (f *facts) sessions() error {
	for _, goal := range f.goals {
		queues := map[string]map[string]int{} // agent -> session -> waiting
		for _, s := range f.open(goal) {
			fact := routing.Session{ID: s.ID, Goal: goal, Agent: s.Agent, Steer: true}
			if s.Turn != "" && f.r.Turn(goal, s.Agent, s.Turn).Live(f.r.Steady()) {
				fact.Turn = s.Turn
			}
			if queues[s.Agent] == nil {
				var err error
				if queues[s.Agent], err = inbox.Queues(f.r.Tx(), goal, s.Agent); err != nil {
					return err
				}
			}
			fact.Waiting = queues[s.Agent][s.ID]
			f.result.Sessions = append(f.result.Sessions, fact)
		}
	}
	return nil
}

// gates are those a text of a known person could answer.
func (f *facts) gates() error {
	goals := slices.Clone(f.goals)
	for _, goal := range slices.Sorted(maps.Keys(f.result.Sender.Roles)) { // who approves need not steer
		if !slices.Contains(goals, goal) && len(goals) < 2*reachMost {
			goals = append(goals, goal)
		}
	}
	for _, goal := range goals {
		for _, g := range f.r.OpenGates(goal, gatesMost) {
			if g.Expired(f.r.Now()) {
				continue
			}
			here, err := inbox.CardIn(f.r.Tx(), goal, g.ID, f.e.Place)
			if err != nil {
				return err
			}
			fact := routing.Gate{ID: g.ID, Code: g.Code, Goal: goal, Here: here, Protected: g.Protected(), May: f.r.MayAnswer(g, f.actor) == nil}
			for _, o := range g.Options {
				fact.Options = append(fact.Options, routing.Option{ID: o.ID, Label: o.Label, Outcome: o.Outcome})
			}
			f.result.Gates = append(f.result.Gates, fact)
		}
	}
	return nil
}
