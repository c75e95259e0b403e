package view

import "loopx/kernel"

// mostPeople bounds the people and bindings that one answer lists.
const mostPeople = 500

// People lists the people of the workspace, or one, with accounts and roles.
type People struct {
	Person string `json:"person,omitempty"`
}

// PeopleView is the answer to People.
type PeopleView struct {
	People []PersonView `json:"people"`
}

// PersonView is one person.
type PersonView struct {
	kernel.Person
	Accounts []kernel.Principal `json:"accounts"`
	Roles    []kernel.Role      `json:"roles"`
}

// Name implements Query.
func (*People) Name() string { return "people" }

func (q *People) run(r *kernel.Reader) (any, error) {
	list := []*kernel.Person{}
	if q.Person == "" {
		list = r.Persons(mostPeople)
	} else if p := r.Person(q.Person); p != nil {
		list = append(list, p)
	} else {
		return nil, kernel.Errorf(kernel.NotFound, "person_not_found", "no such person is known here").Try("loopx person list")
	}
	out := PeopleView{People: []PersonView{}}
	for _, p := range list {
		v := PersonView{Person: *p, Accounts: []kernel.Principal{}, Roles: []kernel.Role{}}
		for _, a := range r.PrincipalsOf(p.ID) {
			v.Accounts = append(v.Accounts, *a)
		}
		for _, role := range r.RolesBy(p.ID) {
			v.Roles = append(v.Roles, *role)
		}
		out.People = append(out.People, v)
	}
	return out, nil
}

// Roles lists who may do what in a goal.
type Roles struct {
	Goal string `json:"goal"`
}

// RolesView is the answer to Roles.
type RolesView struct {
	GoalID string     `json:"goal_id"`
	Roles  []RoleView `json:"roles"`
}

// RoleView is a role with what people see of its person.
type RoleView struct {
	kernel.Role
	Name string `json:"name"`
	// Local owners hold every goal without a row.
	Local bool `json:"local,omitempty"`
}

// Name implements Query.
func (*Roles) Name() string { return "roles" }

func (q *Roles) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	out := RolesView{GoalID: g.ID, Roles: []RoleView{}}
	if p := r.Person("owner"); p != nil && p.Owner {
		out.Roles = append(out.Roles, RoleView{Role: kernel.Role{Goal: g.ID, Person: p.ID, Role: kernel.RoleOwner, State: kernel.RoleActive, Created: p.Created}, Name: p.Name, Local: true})
	}
	for _, v := range r.RolesOf(g.ID) {
		name := v.Person
		if p := r.Person(v.Person); p != nil {
			name = p.Name
		}
		out.Roles = append(out.Roles, RoleView{Role: *v, Name: name})
	}
	return out, nil
}

// Bindings lists what conversations are bound to: all, of a goal, or one.
type Bindings struct {
	Goal    string `json:"goal,omitempty"`
	Binding string `json:"binding,omitempty"`
}

// BindingsView is the answer to Bindings.
type BindingsView struct {
	Bindings []kernel.Binding `json:"bindings"`
}

// Name implements Query.
func (*Bindings) Name() string { return "bindings" }

func (q *Bindings) run(r *kernel.Reader) (any, error) {
	var list []*kernel.Binding
	switch {
	case q.Binding != "":
		v := r.Binding(q.Binding)
		if v == nil {
			return nil, kernel.Errorf(kernel.NotFound, "binding_not_found", "there is no such binding").Try("loopx bind list")
		}
		list = append(list, v)
	case q.Goal != "":
		g, err := goalOf(r, q.Goal)
		if err != nil {
			return nil, err
		}
		list = r.BindingsOfGoal(g.ID)
	default:
		list = r.Bindings(mostPeople)
	}
	out := BindingsView{Bindings: []kernel.Binding{}}
	for _, v := range list {
		out.Bindings = append(out.Bindings, *v)
	}
	return out, nil
}
