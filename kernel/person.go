package kernel

import (
	"strings"

	"loopx/kernel/store"
)

// Person states.
const (
	PersonActive    = "active"
	PersonSuspended = "suspended"
)

// States of a chat account.
const (
	LinkInvited   = "invited" // an owner named it; its holder has not accepted
	LinkPending   = "pending" // its holder typed a code; the owner has not confirmed
	Linked        = "linked"
	LinkRevoked   = "revoked"
	LinkSuspended = "suspended" // deactivated, removed or banned by its platform, or by an owner
)

// Target is where a person's private messages go.
type Target struct {
	Goal    string `json:"goal"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
}

// Active says whether a person counts. Rows of before states existed have none; a
// state this version does not know is no active one.
func (v *Person) Active() bool { return v != nil && (v.State == "" || v.State == PersonActive) }

// PrincipalsOf lists the chat accounts of a person, whatever their state.
func (r *Reader) PrincipalsOf(person string) []*Principal {
	var keys [][]byte
	r.scan(store.Under(principalsMax, tblPrincipalBack, person), func(_, v []byte) bool {
		keys = append(keys, append([]byte(nil), v...))
		return true
	})
	out := make([]*Principal, 0, len(keys))
	for _, k := range keys {
		if b := r.raw(k); b != nil {
			if p := decodeRow[Principal](r, b); p != nil && p.Person == person {
				out = append(out, p)
			}
		}
	}
	return out
}

// Persons lists the people of the workspace by id.
func (r *Reader) Persons(limit int) []*Person { return rows[Person](r, store.Under(limit, tblPerson)) }

// linked says whether a person has a chat account that counts.
func linked(r *Reader, person string) bool {
	for _, p := range r.PrincipalsOf(person) {
		if p.Status == Linked {
			return true
		}
	}
	return false
}

func needPerson(r *Reader, id string) (*Person, error) {
	if p := r.Person(id); id != "" && p != nil {
		return p, nil
	}
	return nil, Errorf(NotFound, "person_not_found", "no person %s is known here", show(id)).Try("loopx person list")
}

// SetPerson changes a person's settings: the person's own act, or the workspace
// owner's. Only that owner changes a state.
type SetPerson struct {
	Person   string  `json:"person"`
	Called   *string `json:"called,omitempty"`
	Language *string `json:"language,omitempty"`  // en, zh; empty follows the platform
	Zone     *string `json:"zone,omitempty"`      // IANA name; the door checks that it exists
	Prefers  *string `json:"preferred,omitempty"` // connection on which the person is asked first
	Target   *Target `json:"target,omitempty"`    // an empty goal clears it
	State    *string `json:"state,omitempty"`     // active, suspended
}

// Name implements Command.
func (*SetPerson) Name() string { return "person.set" }

func (c *SetPerson) decide(r *reader, e *env) (*decided, error) {
	if own := e.by.Kind == ByPerson && e.by.ID == c.Person && c.State == nil; !own {
		if err := e.owner("changing a person"); err != nil {
			return nil, err
		}
	}
	old, err := needPerson(r, c.Person)
	if c.Person == "owner" && r.Person(c.Person) == nil {
		old, err = ownerRow(r, e.now), nil // at the machine the owner needs no chat account
	}
	if err != nil {
		return nil, err
	}
	n := *old
	set(&n.Name, c.Called)
	set(&n.Language, c.Language)
	set(&n.Zone, c.Zone)
	set(&n.Preferred, c.Prefers)
	set(&n.State, c.State)
	if c.Target != nil {
		n.Target = c.Target
		if c.Target.Goal == "" {
			n.Target = nil
		}
	}
	if err := checkPerson(r, &n, c); err != nil {
		return nil, err
	}
	result := map[string]any{"person": n.ID, "name": n.Name, "language": n.Language, "zone": n.Zone, "preferred": n.Preferred, "state": or(n.State, PersonActive)}
	if n.Target != nil {
		result["target"] = *n.Target
	}
	if digest(n) == digest(*old) {
		return &decided{result: result}, nil
	}
	n.Revision, n.Updated = old.Revision+1, e.now
	out := &decided{changed: true, result: result, events: []Event{{Type: PersonChanged, Subject: n.ID, Person: &n}}}
	if old.Active() && !n.Active() {
		out.events = append(out.events, pauseOrphans(r, e, old, r.RolesBy(old.ID))...)
	}
	return out, nil
}

func checkPerson(r *Reader, n *Person, c *SetPerson) error {
	err := firstErr(needText("name", n.Name, 80, false), oneOf("language", n.Language, "", "en", "zh"), checkZone(n.Zone), checkText("preferred", n.Preferred, 200, false),
		oneOf("state", n.State, "", PersonActive, PersonSuspended))
	if err != nil || c.Target == nil || n.Target == nil {
		return err
	}
	g, err := r.needGoal(n.Target.Goal)
	if err != nil {
		return err
	}
	if !n.Owner && r.RoleOf(g.ID, n.ID) == "" {
		// As if the goal were not there: who may not read it is not told of it.
		return Errorf(NotFound, "goal_not_found", "there is no goal %s in this workspace", show(g.ID)).Try("loopx goal list")
	}
	return checkTarget(r, g.ID, n.Target.Agent, n.Target.Session)
}

// checkTarget accepts an agent of the goal and a session of that agent.
func checkTarget(r *Reader, goal, agent, session string) error {
	if agent != "" {
		if _, err := r.actor(goal, agent); err != nil {
			return err
		}
	}
	if session == "" {
		return nil
	}
	if s := r.Session(goal, session); s == nil || s.Agent != agent {
		return Errorf(NotFound, "session_not_found", "%s has no session %s of the agent %s", goal, show(session), show(agent)).Try("loopx session list --goal-id %s", goal)
	}
	return nil
}

// checkZone accepts what may be an IANA zone name. Which names exist depends on
// the machine, so the door that takes one looks it up.
func checkZone(s string) error {
	ok := len(s) <= 64
	for i := 0; ok && i < len(s); i++ {
		c := s[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_+-/", c) >= 0 && i > 0
	}
	if ok {
		return nil
	}
	return Errorf(Invalid, "bad_zone", "%s is no time zone like Europe/Berlin", show(s))
}

// SuspendPrincipal takes the rights of a chat account away until an owner gives
// them back: its platform deactivated, removed or banned it.
type SuspendPrincipal struct {
	Platform   string `json:"platform"`
	Connection string `json:"connection"`
	Tenant     string `json:"tenant"`
	User       string `json:"user"`
	Reason     string `json:"reason,omitempty"`
}

// Name implements Command.
func (*SuspendPrincipal) Name() string { return "principal.suspend" }

func (c *SuspendPrincipal) decide(r *reader, e *env) (*decided, error) {
	if e.by.Kind != ByBot {
		if err := e.owner("suspending a chat account"); err != nil {
			return nil, err
		}
	}
	if err := checkText("reason", c.Reason, summaryMax, false); err != nil {
		return nil, err
	}
	old, err := needPrincipal(r, c.Platform, c.Connection, c.Tenant, c.User)
	if err != nil {
		return nil, err
	}
	out := &decided{result: map[string]any{"status": LinkSuspended, "person": old.Person, "user": old.User}}
	switch old.Status {
	case LinkSuspended:
		return out, nil
	case LinkRevoked:
		return nil, Errorf(Conflict, "link_revoked", "that account was revoked")
	}
	n := *old
	n.Status, n.Reason, n.Since = LinkSuspended, c.Reason, e.now
	out.changed = true
	out.events = append([]Event{{Type: PrincipalChanged, Subject: n.Person, Principal: &n}}, pauseWithout(r, e, old)...)
	return out, nil
}

// UnsuspendPrincipal gives a suspended account its rights back: an owner's act.
type UnsuspendPrincipal struct {
	Platform   string `json:"platform"`
	Connection string `json:"connection"`
	Tenant     string `json:"tenant"`
	User       string `json:"user"`
}

// Name implements Command.
func (*UnsuspendPrincipal) Name() string { return "principal.unsuspend" }

func (c *UnsuspendPrincipal) decide(r *reader, e *env) (*decided, error) {
	if err := e.owner("giving a chat account its rights back"); err != nil {
		return nil, err
	}
	old, err := needPrincipal(r, c.Platform, c.Connection, c.Tenant, c.User)
	if err != nil {
		return nil, err
	}
	n := *old
	n.Status, n.Reason, n.Since = Linked, "", e.now
	if n.Private == "" {
		n.Status = LinkInvited // it was suspended before its holder ever wrote
	}
	out := &decided{result: map[string]any{"status": n.Status, "person": n.Person, "user": n.User}}
	switch old.Status {
	case n.Status:
		return out, nil
	case LinkSuspended:
	default:
		return nil, Errorf(Conflict, "not_suspended", "that account is %s, not suspended", old.Status).Try("loopx link list")
	}
	out.changed = true
	out.events = []Event{{Type: PrincipalChanged, Subject: n.Person, Principal: &n}}
	return out, nil
}

// Unlink is a person who takes back his own chat account.
type Unlink struct {
	Platform   string `json:"platform"`
	Connection string `json:"connection"`
	Tenant     string `json:"tenant"`
	User       string `json:"user"`
}

// Name implements Command.
func (*Unlink) Name() string { return "link.unlink" }

func (c *Unlink) decide(r *reader, e *env) (*decided, error) {
	old, err := needPrincipal(r, c.Platform, c.Connection, c.Tenant, c.User)
	if err != nil {
		return nil, err
	}
	if own := (e.by.Kind == ByPerson || e.by.Kind == ByOwner) && e.by.ID == old.Person; !own {
		return nil, Errorf(Denied, "not_yours", "only its holder unlinks a chat account").Try("loopx link revoke")
	}
	if old.Status == LinkRevoked {
		return &decided{result: map[string]any{"status": LinkRevoked, "person": old.Person, "user": old.User}}, nil
	}
	events := revokeLink(r, e, old)
	return &decided{changed: true, events: append(events, pauseWithout(r, e, old)...),
		result: map[string]any{"status": LinkRevoked, "person": old.Person, "user": old.User}}, nil
}

// revokeLink ends an account. With a person's last account the roles go as well:
// a later invitation to one goal must not bring back the others.
func revokeLink(r *Reader, e *env, old *Principal) []Event {
	n := *old
	n.Status, n.Since = LinkRevoked, e.now
	events := []Event{{Type: PrincipalChanged, Subject: n.Person, Principal: &n}}
	for _, p := range r.PrincipalsOf(old.Person) {
		if p.Status != LinkRevoked && !p.same(old) {
			return events
		}
	}
	for _, v := range r.RolesBy(old.Person) {
		events = append(events, roleGone(r, e, v))
	}
	return events
}

func (v *Principal) same(o *Principal) bool {
	return v.Platform == o.Platform && v.Connection == o.Connection && v.Tenant == o.Tenant && v.User == o.User
}

func needPrincipal(r *Reader, platform, connection, tenant, user string) (*Principal, error) {
	if p := r.Principal(platform, connection, tenant, user); p != nil {
		return p, nil
	}
	return nil, Errorf(NotFound, "link_not_found", "no such chat account is known").Try("loopx link list")
}

// pauseWithout pauses the goals that lose their last owner with an account.
func pauseWithout(r *Reader, e *env, gone *Principal) []Event {
	p := r.Person(gone.Person)
	if p == nil || gone.Status != Linked {
		return nil
	}
	for _, o := range r.PrincipalsOf(p.ID) {
		if o.Status == Linked && !o.same(gone) {
			return nil
		}
	}
	return pauseOrphans(r, e, p, r.RolesBy(p.ID))
}

// pauseOrphans pauses those of a person's goals in which nobody else is a
// reachable owner once that person is gone.
func pauseOrphans(r *Reader, e *env, gone *Person, held []*Role) []Event {
	if localOwnerBut(r, gone.ID) {
		return nil
	}
	var goals []*Goal
	if gone.Owner {
		goals = r.Goals(pausesMost)
	} else {
		for _, v := range held {
			if g := r.Goal(v.Goal); v.Role == RoleOwner && v.State == RoleActive && g != nil {
				goals = append(goals, g)
			}
		}
	}
	var events []Event
	for _, g := range goals {
		if g.Status != GoalActive || ownerBut(r, g.ID, gone.ID) || len(events) >= pausesMost {
			continue
		}
		if n := g.withPause(PauseOrphan); n != nil {
			n.Revision, n.Updated = g.Revision+1, e.now
			events = append(events, Event{Type: GoalPaused, Goal: g.ID, Subject: g.ID, GoalRow: n})
			events = append(events, r.releaseSlots(g.ID)...)
		}
	}
	return events
}

// localOwnerBut says whether the workspace has an owner with a linked account
// beside one person.
func localOwnerBut(r *Reader, person string) bool {
	p := r.Person("owner")
	return p != nil && p.ID != person && p.Owner && p.Active() && linked(r, p.ID)
}

// ownerBut says the same of a goal.
func ownerBut(r *Reader, goal, person string) bool {
	for _, v := range r.RolesOf(goal) {
		if v.Person != person && v.Role == RoleOwner && r.RoleOf(goal, v.Person) == RoleOwner && linked(r, v.Person) {
			return true
		}
	}
	return false
}
