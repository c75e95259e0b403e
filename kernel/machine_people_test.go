package kernel_test

import (
	"fmt"
	"slices"

	"loopx/kernel"

	"pgregory.net/rapid"
)

// peopleRows are the rows of the people side, read without the kernel's readers.
type peopleRows struct {
	persons  []*kernel.Person
	accounts []*kernel.Principal
	roles    []*kernel.Role
	bindings []*kernel.Binding
}

func (p *peopleRows) row(key []string, val []byte) (err error) {
	switch key[0] {
	case "p":
		err = keep(&p.persons, val)
	case "pp":
		err = keep(&p.accounts, val)
	case "po":
		err = keep(&p.roles, val)
	case "b":
		err = keep(&p.bindings, val)
	}
	return err
}

func keep[T any](list *[]*T, val []byte) error {
	v, err := parse[T](val)
	*list = append(*list, v)
	return err
}

func (p *peopleRows) derived(d map[string]string) {
	for _, v := range p.accounts {
		account := []string{v.Platform, v.Connection, v.Tenant, v.User}
		d[key(append([]string{"pi", v.Person}, account...)...)] = key(append([]string{"pp"}, account...)...)
	}
	for _, v := range p.roles {
		d[key("pg", v.Person, v.Goal)] = ""
	}
	for _, v := range p.bindings {
		d[key("bp", v.Connection, v.Conversation, v.Thread, v.ID)] = ""
		for _, g := range v.Goals {
			d[key("bg", g, v.ID)] = ""
		}
	}
}

// account is one of a few chat accounts, so that they meet again.
func account(t *rapid.T) kernel.Principal {
	return kernel.Principal{Platform: "slack", Connection: "work", Tenant: "T1", User: rapid.SampledFrom([]string{"U1", "U2", "U3"}).Draw(t, "account")}
}

func (m *machine) personOf(t *rapid.T) string {
	ids := []string{"person_none"}
	for _, p := range m.at.people.persons {
		ids = append(ids, p.ID, p.ID)
	}
	return rapid.SampledFrom(ids).Draw(t, "person")
}

// asPerson draws an act of a person, an owner or somebody else.
func (m *machine) asPerson(t *rapid.T, often ...string) kernel.Options {
	opt := m.by(t, append(often, kernel.ByPerson)...)
	if opt.By.Kind == kernel.ByPerson {
		opt.By.ID = m.personOf(t)
	}
	return opt
}

func (m *machine) people(t *rapid.T) {
	a := account(t)
	switch rapid.IntRange(0, 8).Draw(t, "people") {
	case 0:
		m.try(t, &kernel.SuspendPrincipal{Platform: a.Platform, Connection: a.Connection, Tenant: a.Tenant, User: a.User}, m.by(t, kernel.ByBot))
	case 1:
		m.try(t, &kernel.UnsuspendPrincipal{Platform: a.Platform, Connection: a.Connection, Tenant: a.Tenant, User: a.User}, m.by(t, kernel.ByOwner))
	case 2:
		m.try(t, &kernel.Unlink{Platform: a.Platform, Connection: a.Connection, Tenant: a.Tenant, User: a.User}, m.asPerson(t))
	case 3:
		m.try(t, &kernel.SettleLink{Platform: a.Platform, Connection: a.Connection, Tenant: a.Tenant, User: a.User, Revoke: rapid.Bool().Draw(t, "revoke")}, m.by(t, kernel.ByOwner))
	case 4:
		digest := fmt.Sprintf("%064x", rapid.IntRange(1, 3).Draw(t, "code"))
		m.try(t, &kernel.CreateLinkCode{Digest: digest}, m.by(t, kernel.ByOwner))
		m.try(t, &kernel.RedeemLinkCode{Digest: digest, Platform: a.Platform, Connection: a.Connection, Tenant: a.Tenant, User: a.User, Private: "D1"}, m.by(t, kernel.ByBot))
	case 5:
		c := &kernel.SetPerson{Person: m.personOf(t)}
		switch rapid.IntRange(0, 2).Draw(t, "setting") {
		case 0:
			c.Target = &kernel.Target{Goal: m.goalOf(t), Agent: m.agentOf(t)}
		case 1:
			zone := rapid.SampledFrom([]string{"Europe/Berlin", "../x", ""}).Draw(t, "zone")
			c.Zone = &zone
		default:
			state := rapid.SampledFrom([]string{"active", "suspended", "ghost"}).Draw(t, "state")
			c.State = &state
		}
		m.try(t, c, m.asPerson(t, kernel.ByOwner))
	case 6:
		until := m.now + rapid.Int64Range(-1000, 3_600_000).Draw(t, "until")
		c := &kernel.SetAttention{Person: m.personOf(t), Mute: &kernel.Mute{Goal: m.goalOf(t), Until: until}}
		if rapid.Bool().Draw(t, "quiet") {
			at := rapid.IntRange(-1, 1440).Draw(t, "at")
			c.QuietFrom, c.QuietTo = &at, &at
		}
		m.try(t, c, m.asPerson(t, kernel.ByOwner))
	default:
		m.try(t, &kernel.AcceptRole{Platform: a.Platform, Connection: a.Connection, Tenant: a.Tenant, User: a.User, Private: "D1", Decline: rapid.IntRange(0, 3).Draw(t, "decline") == 0}, m.by(t, kernel.ByBot))
	}
}

func (m *machine) role(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "revoke") == 0 {
		m.try(t, &kernel.RevokeRole{Goal: m.goalOf(t), Person: m.personOf(t)}, m.asPerson(t, kernel.ByOwner))
		return
	}
	c := &kernel.GrantRole{Goal: m.goalOf(t), Role: rapid.SampledFrom([]string{"owner", "approver", "steerer", "observer", "king"}).Draw(t, "role")}
	if rapid.Bool().Draw(t, "by account") {
		a := account(t)
		c.Platform, c.Connection, c.Tenant, c.User = a.Platform, a.Connection, a.Tenant, a.User
	} else {
		c.Person = m.personOf(t)
	}
	m.try(t, c, m.asPerson(t, kernel.ByOwner, kernel.ByOwner))
}

func (m *machine) bind(t *rapid.T) {
	id := "bind_none"
	if list := m.at.people.bindings; len(list) > 0 {
		id = rapid.SampledFrom(list).Draw(t, "binding").ID
	}
	opt := m.asPerson(t, kernel.ByOwner, kernel.ByOwner)
	switch rapid.IntRange(0, 5).Draw(t, "bind") {
	case 0:
		m.try(t, &kernel.RemoveBinding{Binding: id}, opt)
	case 1:
		m.try(t, &kernel.SetBindingState{Binding: id, State: rapid.SampledFrom([]string{"active", "broken", "suspended", "fine"}).Draw(t, "state")}, m.by(t, kernel.ByBot, kernel.ByOwner))
	default:
		c := &kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: rapid.SampledFrom([]string{"C1", "C2"}).Draw(t, "place"),
			Thread: rapid.SampledFrom([]string{"", "th1"}).Draw(t, "thread"), Role: rapid.SampledFrom([]string{"", "manager", "direct", "boss"}).Draw(t, "sort"), Goals: []string{m.goalOf(t)},
			Capture: rapid.SampledFrom([]string{"", "all"}).Draw(t, "capture")}
		if rapid.IntRange(0, 2).Draw(t, "change") == 0 {
			c.Binding = id
		}
		if rapid.Bool().Draw(t, "both goals") {
			c.Goals = []string{"site", "blog"}
		}
		m.try(t, c, opt)
	}
}

// checkPeople: nobody holds more than an owner gave and the holder accepted.
func (m *machine) checkPeople(t *rapid.T, r *kernel.Reader) {
	p := &m.at.people
	for _, v := range p.persons {
		for _, g := range m.at.goals {
			want := ""
			for _, role := range p.roles {
				if role.Goal == g.ID && role.Person == v.ID && role.State == "active" {
					want = role.Role
				}
			}
			if v.Owner {
				want = "owner"
			}
			if v.State == "suspended" {
				want = ""
			}
			if got := r.RoleOf(g.ID, v.ID); got != want {
				t.Fatalf("%s holds %q in %s, want %q", v.ID, got, g.ID, want)
			}
		}
		n := 0
		for _, a := range p.accounts {
			if a.Person == v.ID {
				n++
			}
		}
		if got := len(r.PrincipalsOf(v.ID)); got != n {
			t.Fatalf("%s has %d accounts, want %d", v.ID, got, n)
		}
	}
	for _, v := range p.bindings {
		if v.Capture == "all" && v.Role != "manager" {
			t.Fatalf("%+v captures all", v)
		}
		at := func(b *kernel.Binding) bool { return b.ID == v.ID }
		if !slices.ContainsFunc(r.BindingAt(v.Connection, v.Conversation, v.Thread), at) || !slices.ContainsFunc(r.BindingsOf(v.Connection, v.Conversation), at) || !slices.ContainsFunc(r.BindingsOfGoal(v.Goals[0]), at) {
			t.Fatalf("%+v is not found where it is", v)
		}
		if v.Thread != "" && slices.ContainsFunc(r.BindingAt(v.Connection, v.Conversation, ""), at) {
			t.Fatalf("%+v is found outside its thread", v)
		}
	}
}
