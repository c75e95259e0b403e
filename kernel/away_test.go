package kernel_test

import (
	"slices"
	"testing"

	"loopx/kernel"
)

func (w *world) askedOf(gate string) []string {
	w.t.Helper()
	var out []string
	w.read(func(r *kernel.Reader) { out = r.AskedPersons(r.Gate("site", gate)) })
	return out
}

// Who is away hands their gates to somebody who holds the right already, else the
// next one is asked, else the gate is parked; nobody gets a right by it.
func TestAway(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.link("UWEI")
	bob, eve, kim := w.invite("site", "approver", "UBOB"), w.invite("site", "approver", "UEVE"), w.invite("site", "observer", "UKIM")
	w.policy(map[string]kernel.Asked{"any": {Role: "approver"}})
	g := w.gate(w.todo("x", 0))
	is := func(why string, want ...string) {
		t.Helper()
		got := w.askedOf(g)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v are asked, want %v", why, got, want)
		}
	}
	is("everybody is there", bob, eve)
	w.refuse("owner_only", &kernel.SetAway{Person: eve, Until: w.now + hour}, person(bob))
	w.refuse("owner_only", &kernel.SetAway{Until: w.now + hour}, cli())
	w.refuse("no_right", &kernel.SetAway{Until: w.now + hour, To: kim}, person(bob))
	w.refuse("bad_delegate", &kernel.SetAway{Until: w.now + hour, To: bob}, person(bob))
	w.refuse("bad_until", &kernel.SetAway{Until: w.now}, person(bob))
	w.refuse("bad_until", &kernel.SetAway{To: eve}, person(bob))
	w.do(&kernel.SetAway{Until: w.now + hour, To: "owner"}, person(bob))
	is("bob hands to the owner", "owner", eve)
	w.do(&kernel.SetAway{Until: w.now + hour}, person(eve))
	is("eve is away too", "owner")
	w.do(&kernel.SetAway{Until: w.now + hour}, owner())
	is("nobody is there: it is parked")
	// Away is no loss of the right.
	w.pass(hour)
	is("they are back", bob, eve)
	w.do(&kernel.SetAway{Until: w.now + 2*hour}, person(bob))
	w.do(&kernel.SetAway{}, person(bob))
	is("bob is back early", bob, eve)
	w.do(&kernel.SetAway{Until: w.now + hour}, person(bob))
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, person(bob))
	w.replays()
}

// In a chain the first who is there is asked, and the next when they are away.
func TestChain(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	bob, eve := w.invite("site", "approver", "UBOB"), w.invite("site", "approver", "UEVE")
	w.policy(map[string]kernel.Asked{"any": {Role: "approver", Persons: []string{bob, eve}, Chain: true}})
	g := w.gate(w.todo("x", 0))
	if got := w.askedOf(g); !slices.Equal(got, []string{bob}) {
		t.Errorf("%v are asked", got)
	}
	w.do(&kernel.SetAway{Until: w.now + hour}, person(bob))
	if got := w.askedOf(g); !slices.Equal(got, []string{eve}) {
		t.Errorf("with bob away %v are asked", got)
	}
	w.do(&kernel.RevokeRole{Goal: "site", Person: eve}, owner())
	if got := w.askedOf(g); len(got) != 0 {
		t.Errorf("nobody of the chain is left and %v are asked", got)
	}
}
