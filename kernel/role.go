package kernel

import (
	"slices"

	"loopx/kernel/store"
)

// Role is what one person may do in one goal. A person has at most one role a
// goal; granting another replaces it.
type Role struct {
	Goal     string `json:"goal"`
	Person   string `json:"person"`
	Role     string `json:"role"`  // owner, approver, steerer, observer
	State    string `json:"state"` // pending, active, suspended; revoked removes the row
	By       string `json:"by"`    // who granted it
	Revision uint64 `json:"revision"`
	Created  int64  `json:"created"`
	Updated  int64  `json:"updated"`
}

// Roles and their states.
const (
	RoleOwner    = "owner"
	RoleApprover = "approver"
	RoleSteerer  = "steerer"
	RoleObserver = "observer"

	RolePending   = "pending" // waits until the person accepts
	RoleActive    = "active"
	RoleSuspended = "suspended" // counts for nothing until an owner grants it again
	RoleGone      = "revoked"
)

// Bounds of the people side.
const (
	rolesMax      = 256 // persons with a role in one goal
	rolesOfPerson = 1000
	principalsMax = 64 // chat accounts of one person
	pausesMost    = 256
)

// Includes says whether holding the role have is enough where want is asked for.
// An owner is everything; approver and steerer each include observer and not
// each other. An unknown role includes nothing and is included in nothing.
func Includes(have, want string) bool {
	switch have {
	case RoleOwner:
		return want == RoleOwner || want == RoleApprover || want == RoleSteerer || want == RoleObserver
	case RoleApprover, RoleSteerer:
		return want == have || want == RoleObserver
	case RoleObserver:
		return want == RoleObserver
	}
	return false
}

// RoleOf is the role that a person holds in a goal now, or "". A local owner is
// owner of every goal; a pending or suspended role and a suspended person count
// for nothing. Whether the person's chat account is still linked is asked where
// the account is known.
func (r *Reader) RoleOf(goal, person string) string {
	p := r.Person(person)
	if !p.Active() {
		return ""
	}
	if p.Owner {
		return RoleOwner
	}
	if v := r.Role(goal, person); v != nil && v.State == RoleActive {
		return v.Role
	}
	return ""
}

// Role returns the row of a person's role in a goal, whatever its state, or nil.
func (r *Reader) Role(goal, person string) *Role { return get[Role](r, tblRole, goal, person) }

// RolesOf lists the roles that were given in a goal, pending and suspended ones
// included, by person. Local owners stand in no row.
func (r *Reader) RolesOf(goal string) []*Role {
	return rows[Role](r, store.Under(rolesMax, tblRole, goal))
}

// RolesBy lists the roles of a person, pending and suspended ones included, by
// goal.
func (r *Reader) RolesBy(person string) []*Role {
	var out []*Role
	for _, goal := range r.lastParts(store.Under(rolesOfPerson, tblRoleBack, person)) {
		if v := r.Role(goal, person); v != nil {
			out = append(out, v)
		}
	}
	return out
}

// ownerOf refuses everybody but an owner of the goal: the workspace's owner, or a
// linked person who holds the role.
func ownerOf(r *Reader, e *env, goal, act string) error {
	if e.by.Kind == ByPerson && Includes(r.RoleOf(goal, e.by.ID), RoleOwner) {
		return nil
	}
	return e.owner(act)
}

// GrantRole gives a person a role in a goal: an owner's act. The person is named
// by id, or by a chat account. An account that nobody is linked to is invited:
// the role is pending until its holder accepts in a private conversation.
type GrantRole struct {
	Goal   string `json:"goal"`
	Role   string `json:"role"`
	Person string `json:"person,omitempty"`

	Platform   string `json:"platform,omitempty"`
	Connection string `json:"connection,omitempty"`
	Tenant     string `json:"tenant,omitempty"`
	User       string `json:"user,omitempty"`
	UserName   string `json:"user_name,omitempty"` // for showing; never an authority
}

// Name implements Command.
func (*GrantRole) Name() string { return "role.grant" }

func (c *GrantRole) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	if err := ownerOf(r, e, g.ID, "granting a role"); err != nil {
		return nil, err
	}
	if err := oneOf("role", c.Role, RoleOwner, RoleApprover, RoleSteerer, RoleObserver); err != nil {
		return nil, err
	}
	p, events, err := c.whom(r, e)
	if err != nil {
		return nil, err
	}
	if p.Owner {
		return nil, Errorf(Conflict, "local_owner", "%s owns this workspace and with it every goal", show(p.Name)).Try("loopx role list --goal-id %s", g.ID)
	}
	state := RoleActive
	if len(events) > 0 || !linked(r, p.ID) {
		state = RolePending
	}
	result := map[string]any{"goal_id": g.ID, "person": p.ID, "name": p.Name, "role": c.Role, "state": state}
	n := Role{Goal: g.ID, Person: p.ID, Role: c.Role, State: state, By: or(e.by.ID, e.by.Kind), Revision: 1, Created: e.now, Updated: e.now}
	switch old := r.Role(g.ID, p.ID); {
	case old == nil:
		if len(r.RolesOf(g.ID)) >= rolesMax {
			return nil, Errorf(Exhausted, "too_many_roles", "a goal has at most %d people with a role", rolesMax).Try("loopx role list --goal-id %s", g.ID)
		}
	case old.Role == c.Role && old.State == state && len(events) == 0:
		return &decided{result: result}, nil
	default:
		result["was"] = old.Role
		n.Created, n.Revision = old.Created, old.Revision+1
	}
	events = append(events, Event{Type: RoleGranted, Goal: g.ID, Subject: p.ID, Role: &n})
	return &decided{changed: true, events: events, result: result}, nil
}

// whom finds the person a role is for. The events are those of an invitation.
func (c *GrantRole) whom(r *reader, e *env) (*Person, []Event, error) {
	byAccount := c.Platform != "" || c.Connection != "" || c.User != ""
	switch {
	case c.Person != "" && byAccount:
		return nil, nil, Errorf(Invalid, "person_twice", "a person is named by id or by a chat account, not by both")
	case c.Person != "":
		p, err := needPerson(r, c.Person)
		return p, nil, err
	case !byAccount:
		return nil, nil, Errorf(Invalid, "missing_person", "nobody was named").Try("loopx person list")
	}
	if err := checkAccount(c.Platform, c.Connection, c.Tenant, c.User); err != nil {
		return nil, nil, err
	}
	old := r.Principal(c.Platform, c.Connection, c.Tenant, c.User)
	if old != nil && old.Status != LinkRevoked {
		switch p := r.Person(old.Person); {
		case p == nil:
		case old.Status == LinkSuspended || !p.Active():
			return nil, nil, Errorf(Conflict, "person_suspended", "%s is suspended", show(p.Name)).Try("loopx link list")
		default:
			return p, nil, nil
		}
	}
	n := &Principal{Platform: c.Platform, Connection: c.Connection, Tenant: c.Tenant, User: c.User, Name: plain(c.UserName, 80), Status: LinkInvited, Since: e.now}
	p := &Person{ID: e.id("person_"), Name: or(n.Name, c.User), State: PersonActive, Revision: 1, Created: e.now, Updated: e.now}
	n.Person = p.ID
	return p, []Event{{Type: PersonAdded, Subject: p.ID, Person: p}, {Type: PrincipalChanged, Subject: p.ID, Principal: n}}, nil
}

// RevokeRole takes a person's role in a goal away: an owner's act, or the
// person's own.
type RevokeRole struct {
	Goal   string `json:"goal"`
	Person string `json:"person"`
}

// Name implements Command.
func (*RevokeRole) Name() string { return "role.revoke" }

func (c *RevokeRole) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	own := e.by.Kind == ByPerson && e.by.ID == c.Person
	if !own {
		if err := ownerOf(r, e, g.ID, "revoking a role"); err != nil {
			return nil, err
		}
	}
	p, err := needPerson(r, c.Person)
	if err != nil {
		return nil, err
	}
	result := map[string]any{"goal_id": g.ID, "person": p.ID, "name": p.Name, "role": "", "state": RoleGone}
	old := r.Role(g.ID, p.ID)
	if old == nil {
		return &decided{result: result}, nil
	}
	result["was"] = old.Role
	out := &decided{changed: true, result: result, events: []Event{roleGone(r, e, old)}}
	if own && old.Role == RoleOwner && old.State == RoleActive {
		out.events = append(out.events, pauseOrphans(r, e, p, []*Role{old})...)
	}
	return out, nil
}

func roleGone(r *Reader, e *env, old *Role) Event {
	n := *old
	n.State, n.Revision, n.Updated = RoleGone, old.Revision+1, e.now
	return Event{Type: RoleRevoked, Goal: n.Goal, Subject: n.Person, Role: &n}
}

// AcceptRole is an invited account that accepts, or declines, in its private
// conversation with the bot: all that the person was invited to at once.
type AcceptRole struct {
	Platform   string `json:"platform"`
	Connection string `json:"connection"`
	Tenant     string `json:"tenant"`
	User       string `json:"user"`
	UserName   string `json:"user_name,omitempty"`
	Private    string `json:"private"`
	Decline    bool   `json:"decline,omitempty"`
}

// Name implements Command.
func (*AcceptRole) Name() string { return "role.accept" }

func (c *AcceptRole) decide(r *reader, e *env) (*decided, error) {
	if e.by.Kind != ByBot {
		return nil, Errorf(Denied, "chat_only", "an invitation is accepted in a private chat with the bot")
	}
	if err := firstErr(checkAccount(c.Platform, c.Connection, c.Tenant, c.User), checkToken("conversation", c.Private, 400)); err != nil {
		return nil, err
	}
	old := r.Principal(c.Platform, c.Connection, c.Tenant, c.User)
	if old == nil || old.Status != LinkInvited && old.Status != Linked {
		return nil, Errorf(NotFound, "not_invited", "this account is not invited").Try("ask an owner: /role @you observer GOAL")
	}
	p, err := needPerson(r, old.Person)
	if err != nil {
		return nil, err
	}
	var pending []*Role
	for _, v := range r.RolesBy(p.ID) {
		if v.State == RolePending {
			pending = append(pending, v)
		}
	}
	if len(pending) == 0 && old.Status == LinkInvited {
		return nil, Errorf(NotFound, "not_invited", "the invitation was taken back").Try("ask an owner: /role @you observer GOAL")
	}
	out := &decided{result: map[string]any{"person": p.ID, "status": old.Status, "roles": []string{}}}
	status := Linked
	if c.Decline {
		status = LinkRevoked
	}
	if old.Status == LinkInvited {
		n := *old
		n.Status, n.Private, n.Since, n.Name = status, c.Private, e.now, or(plain(c.UserName, 80), old.Name)
		out.events = append(out.events, Event{Type: PrincipalChanged, Subject: p.ID, Principal: &n})
		out.result.(map[string]any)["status"] = status
		if name := plain(c.UserName, 80); name != "" && p.Name == old.User {
			// The invitation knew the id alone.
			m := *p
			m.Name, m.Revision, m.Updated = name, p.Revision+1, e.now
			out.events = append(out.events, Event{Type: PersonChanged, Subject: m.ID, Person: &m})
		}
	}
	goals := []string{}
	for _, v := range pending {
		goals = append(goals, v.Goal)
		if c.Decline {
			out.events = append(out.events, roleGone(r, e, v))
			continue
		}
		n := *v
		n.State, n.Revision, n.Updated = RoleActive, v.Revision+1, e.now
		out.events = append(out.events, Event{Type: RoleAccepted, Goal: n.Goal, Subject: p.ID, Role: &n})
	}
	out.result.(map[string]any)["goals"] = goals
	delete(out.result.(map[string]any), "roles")
	out.changed = len(out.events) > 0
	return out, nil
}

// checkAccount accepts the parts that name a chat account. A tenant may be
// empty: the local page has none.
func checkAccount(platform, connection, tenant, user string) error {
	if tenant != "" {
		if err := checkToken("tenant", tenant, 200); err != nil {
			return err
		}
	}
	return firstErr(checkToken("platform", platform, 80), checkToken("connection", connection, 200), checkToken("user", user, 200))
}

// sound: a role whose state or name this version does not know is no role.
func (v *Role) sound() bool {
	return v.Goal != "" && v.Person != "" && Includes(v.Role, RoleObserver) && slices.Contains([]string{RolePending, RoleActive, RoleSuspended, RoleGone}, v.State)
}
