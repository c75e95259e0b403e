package kernel

import "slices"

// Away is a person who does not answer until a date, and who does instead.
type Away struct {
	Person string `json:"person"`
	Until  int64  `json:"until"` // UTC ms; 0 is back
	To     string `json:"to,omitempty"`
	Since  int64  `json:"since"`
}

// absentMost bounds how long somebody can be away.
const absentMost = 366 * dayMS

// Away returns who is away now and for whom, or nil.
func (r *Reader) Away(person string) *Away {
	if v := get[Away](r, tblAway, person); v != nil && r.now < v.Until {
		return v
	}
	return nil
}

// SetAway hands a person's gates to somebody who holds the right already, until a
// date; without one the next approver is asked, and where there is none the gates
// are parked. Nobody gets a right by it.
type SetAway struct {
	Person string `json:"person,omitempty"` // default: who says it
	Until  int64  `json:"until,omitempty"`  // UTC ms; 0 is back again
	To     string `json:"to,omitempty"`
}

// Name implements Command.
func (*SetAway) Name() string { return "person.away" }

func (c *SetAway) decide(r *reader, e *env) (*decided, error) {
	if e.by.Kind != ByOwner && e.by.Kind != ByPerson {
		return nil, e.owner("saying who is away")
	}
	me := or(e.by.ID, "owner")
	person := or(c.Person, me)
	if person != me {
		if err := e.owner("saying that somebody else is away"); err != nil {
			return nil, err
		}
	}
	if err := firstErr(checkText("person", person, 80, false), checkText("person", c.To, 80, false)); err != nil {
		return nil, err
	}
	if r.Person(person) == nil && person != "owner" {
		return nil, Errorf(NotFound, "person_not_found", "there is no person %s", show(person)).Try("loopx role list")
	}
	switch {
	case c.Until != 0 && (c.Until <= e.now || c.Until > e.now+absentMost):
		return nil, Errorf(Invalid, "bad_until", "somebody is away until a date within a year")
	case c.To == person:
		return nil, Errorf(Invalid, "bad_delegate", "nobody hands their gates to themself")
	case c.To != "" && c.Until == 0:
		return nil, Errorf(Invalid, "bad_until", "gates are handed over until a date").Try("say until when")
	case c.To != "" && !answersSomewhere(r, c.To):
		return nil, Errorf(Denied, "no_right", "%s answers no gates, and being handed them gives no right", show(c.To)).Try("loopx role grant --person %s --role approver --goal-id GOAL", c.To)
	}
	n := &Away{Person: person, Until: c.Until, To: c.To, Since: e.now}
	out := &decided{result: map[string]any{"person": person, "until": c.Until, "to": c.To}}
	if old := get[Away](r, tblAway, person); old == nil && c.Until == 0 || old != nil && old.Until == n.Until && old.To == n.To {
		return out, nil
	}
	out.changed = true
	out.events = []Event{{Type: AwaySet, Subject: person, Away: n}}
	return out, nil
}

// answersSomewhere says whether a person may answer gates of any goal.
func answersSomewhere(r *Reader, person string) bool {
	p := r.Person(person)
	if !p.Active() {
		return false
	}
	return p.Owner || slices.ContainsFunc(r.RolesBy(person), func(v *Role) bool {
		return v.State == RoleActive && Includes(v.Role, RoleApprover)
	})
}

// AskedPersons are the persons a gate asks now, by id: those named, or those whose
// role it asks for, without who is away. Whoever stands in is asked instead; in a
// chain only the first who is there. None means that the gate is parked.
func (r *Reader) AskedPersons(v *Gate) []string {
	g := r.Goal(v.Goal)
	if g == nil {
		return nil
	}
	a := askedOf(g, v)
	var out []string
	may := func(id string) bool {
		return mayBeAsked(g, v, id, rightOf(r, v.Goal, id)) && !(v.AskedBy == "person:"+id && (a.NotAsker || a.Quorum > 1))
	}
	add := func(id string) {
		if away := r.Away(id); away != nil && may(id) {
			if id = away.To; id == "" || r.Away(id) != nil {
				return
			}
		}
		if !slices.Contains(out, id) && may(id) {
			out = append(out, id)
		}
	}
	if len(a.Persons) > 0 {
		for _, id := range a.Persons {
			if add(id); a.Chain && len(out) >= a.Quorum {
				break
			}
		}
		return out
	}
	roles := r.RolesOf(g.ID)
	if a.Role == RoleApprover {
		for _, v := range roles {
			if v.Role == RoleApprover {
				add(v.Person)
			}
		}
		if len(out) >= a.Quorum {
			return out
		}
	}
	for _, p := range rows[Person](r, under(rolesMax, tblPerson)) {
		if p.Owner {
			add(p.ID)
		}
	}
	for _, v := range roles {
		if v.Role == RoleOwner {
			add(v.Person)
		}
	}
	if r.Person("owner") == nil {
		add("owner") // who has the proof, before anybody has a name
	}
	return out
}
