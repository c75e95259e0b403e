package kernel

import (
	"maps"
	"slices"
	"strings"
)

// Asked says who may answer a gate, and how many of them must agree.
type Asked struct {
	// Role is owner or approver; owners include approvers. In a goal's policy it
	// is owner by default, in a gate whatever the policy says.
	Role string `json:"role,omitempty"`
	// Persons, when given, are the only ones; they still need the role.
	Persons []string `json:"persons,omitempty"`
	// Quorum is how many persons must agree; 0 and 1 are one.
	Quorum int `json:"quorum,omitempty"`
	// NotAsker keeps a person from answering what they asked themself.
	NotAsker bool `json:"not_asker,omitempty"`
	// Chain asks one person after the other: the first in Persons who is there.
	// The others may answer all the same.
	Chain bool `json:"chain,omitempty"`
}

// askedMost bounds the persons that a policy names.
const askedMost = 16

// anyKind is the policy of the kinds that a goal's policy does not name.
const anyKind = "any"

// policyOf is what a goal says about who answers a kind of gate.
func policyOf(g *Goal, kind string) Asked {
	p, ok := g.Ask[kind]
	if !ok {
		p = g.Ask[anyKind]
	}
	p.Role = or(p.Role, RoleOwner)
	return p
}

// checkPolicy refuses a policy that nobody could meet.
func checkPolicy(policy map[string]Asked) error {
	for _, kind := range slices.Sorted(maps.Keys(policy)) {
		a := policy[kind]
		if kind != anyKind {
			if err := oneOf("kind", kind, gateKinds()...); err != nil {
				return err
			}
		}
		if a.Role != "" {
			if err := oneOf("role", a.Role, RoleOwner, RoleApprover); err != nil {
				return err
			}
		}
		if err := a.check(); err != nil {
			return err
		}
	}
	return nil
}

func (a *Asked) check() error {
	switch {
	case len(a.Persons) > askedMost:
		return Errorf(Invalid, "too_many", "at most %d persons are named", askedMost)
	case a.Quorum < 0 || a.Quorum > askedMost:
		return Errorf(Invalid, "bad_quorum", "a quorum is 1 to %d persons", askedMost)
	case len(uniq(a.Persons)) != len(a.Persons):
		return Errorf(Invalid, "bad_persons", "a person is named twice")
	case len(a.Persons) > 0 && a.Quorum > len(a.Persons):
		return Errorf(Invalid, "bad_quorum", "%d must agree and %d are named", a.Quorum, len(a.Persons))
	case a.Chain && len(a.Persons) == 0:
		return Errorf(Invalid, "bad_chain", "a chain of approvers names them")
	}
	for _, p := range a.Persons {
		if err := checkToken("person", p, 80); err != nil {
			return err
		}
	}
	return nil
}

// narrows refuses a gate's own asked_of where it is wider than the goal's policy.
func narrows(r *Reader, g *Goal, v *Gate) error {
	a := v.Asked
	if a == nil {
		return nil
	}
	p := policyOf(g, v.Kind)
	if a.Role != "" {
		if err := oneOf("role", a.Role, RoleOwner, RoleApprover); err != nil {
			return err
		}
	}
	if err := a.check(); err != nil {
		return err
	}
	wider := func(what string) error {
		return Errorf(Denied, "ask_wider", "%s asks %s for %s, and a gate may only narrow that: %s", g.ID, askedWords(p), scopeWords(v.Kind), what).
			Try("leave --ask out: the goal says who is asked")
	}
	switch {
	case a.Role == RoleApprover && p.Role == RoleOwner:
		return wider("it asks an approver")
	case a.Quorum != 0 && a.Quorum < p.Quorum:
		return wider("fewer would have to agree")
	}
	for _, id := range a.Persons {
		if len(p.Persons) > 0 && !slices.Contains(p.Persons, id) {
			return wider(show(id) + " is not among them")
		}
		if !Includes(rightOf(r, g.ID, id), or(a.Role, p.Role)) {
			return wider(show(id) + " may not answer")
		}
	}
	return nil
}

// askedWords says in words who is asked.
func askedWords(a Asked) string {
	one, many := "the owner", "owners"
	if a.Role == RoleApprover {
		one, many = "an approver", "approvers"
	}
	if len(a.Persons) > 0 {
		many = strings.Join(a.Persons, ", ")
		one = strings.Join(a.Persons, " or ")
	}
	if a.Quorum > 1 {
		return utoa(uint64(a.Quorum)) + " of " + many
	}
	return one
}

// Words say who is asked.
func (a Asked) Words() string { return askedWords(a) }

// rightOf is the role a person holds in a goal now. Before anybody has a name the
// owner is whoever holds the proof.
func rightOf(r *Reader, goal, person string) string {
	if person == "owner" && r.Person(person) == nil {
		return RoleOwner
	}
	return r.RoleOf(goal, person)
}

// rightOfActor is rightOf for whoever came through a door.
func rightOfActor(r *Reader, goal string, by Actor) string {
	switch by.Kind {
	case ByOwner:
		return RoleOwner
	case ByPerson:
		return rightOf(r, goal, by.ID)
	}
	return ""
}

// MayAnswer says whether who came through a door may answer a gate now: a person,
// with the right in its goal, among those asked, and not the asker where the gate
// excludes them. The error is a refusal in words.
func (r *Reader) MayAnswer(v *Gate, by Actor) error {
	if by.Kind != ByOwner && by.Kind != ByPerson {
		return (&env{by: by}).owner("answering a gate")
	}
	g := r.Goal(v.Goal)
	if g == nil {
		return Errorf(NotFound, "goal_not_found", "there is no goal %s in this workspace", show(v.Goal))
	}
	person := or(by.ID, "owner")
	if right := rightOfActor(r, v.Goal, by); !Includes(right, askedOf(g, v).Role) && askedOf(g, v).Role == RoleOwner {
		return (&env{by: Actor{Kind: ByPerson}}).owner("answering a gate")
	}
	if !mayBeAsked(g, v, person, rightOfActor(r, v.Goal, by)) {
		return Errorf(Denied, "not_asked", "%s is not for you to answer: it asks %s", v.Code, askedWords(askedOf(g, v))).
			Try("loopx gate show --gate-id %s", v.ID)
	}
	if a := askedOf(g, v); v.AskedBy == "person:"+person && (a.NotAsker || a.Quorum > 1) {
		return Errorf(Denied, "asker_excluded", "%s asked %s, so somebody else answers it", r.personName(by), v.Code)
	}
	return nil
}

func mayBeAsked(g *Goal, v *Gate, person, right string) bool {
	p := policyOf(g, v.Kind)
	a := v.Asked
	if a == nil {
		a = &Asked{}
	}
	named := func(list []string) bool { return len(list) == 0 || slices.Contains(list, person) }
	return Includes(right, p.Role) && (a.Role == "" || Includes(right, a.Role)) && named(p.Persons) && named(a.Persons)
}

// askedOf is a gate's own wish and the goal's policy together, as it is now.
func askedOf(g *Goal, v *Gate) Asked {
	p := policyOf(g, v.Kind)
	if a := v.Asked; a != nil {
		p.Role, p.Quorum = or(a.Role, p.Role), max(p.Quorum, a.Quorum)
		p.NotAsker, p.Chain = p.NotAsker || a.NotAsker, p.Chain || a.Chain
		if len(a.Persons) > 0 {
			p.Persons = a.Persons
		}
	}
	p.Quorum = max(p.Quorum, 1)
	return p
}

// AskedOf says who may answer a gate and how many must agree, as it is now.
func (r *Reader) AskedOf(v *Gate) Asked {
	g := r.Goal(v.Goal)
	if g == nil {
		return Asked{Role: RoleOwner, Quorum: 1}
	}
	return askedOf(g, v)
}
