package kernel_test

import (
	"slices"
	"strings"
	"testing"

	"loopx/kernel"
)

func person(id string) kernel.Options {
	return kernel.Options{By: kernel.Actor{Kind: kernel.ByPerson, ID: id, Surface: "slack"}}
}

// invite lets an owner name a chat account and its holder accept.
func (w *world) invite(goal, role, user string) string {
	w.t.Helper()
	id := w.do(&kernel.GrantRole{Goal: goal, Role: role, Platform: "slack", Connection: "work", Tenant: "T1", User: user, UserName: "name of " + user}, owner())["person"].(string)
	w.do(&kernel.AcceptRole{Platform: "slack", Connection: "work", Tenant: "T1", User: user, Private: "D-" + user}, bot())
	return id
}

// link gives the local owner a chat account.
func (w *world) link(user string) {
	w.t.Helper()
	digest := strings.Repeat("cd", 32)
	w.do(&kernel.CreateLinkCode{Digest: digest, Person: "Wei"}, owner())
	w.do(&kernel.RedeemLinkCode{Digest: digest, Platform: "slack", Connection: "work", Tenant: "T1", User: user, Private: "D-" + user}, bot())
	w.do(&kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: "T1", User: user}, owner())
}

func (w *world) roleOf(goal, person string) (role string) {
	w.t.Helper()
	w.read(func(r *kernel.Reader) { role = r.RoleOf(goal, person) })
	return role
}

func TestIncludes(t *testing.T) {
	all := []string{"owner", "approver", "steerer", "observer"}
	want := map[string][]string{
		"owner": all, "approver": {"approver", "observer"}, "steerer": {"steerer", "observer"}, "observer": {"observer"}, "": nil, "king": nil,
	}
	for have, list := range want {
		for _, ask := range append(all, "", "king") {
			if got := kernel.Includes(have, ask); got != slices.Contains(list, ask) {
				t.Errorf("%q includes %q: %v", have, ask, got)
			}
		}
	}
}

// An invitation is the owner's, names an account by its id, and counts once its
// holder accepted.
func TestInvitation(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	invite := &kernel.GrantRole{Goal: "site", Role: "approver", Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB", UserName: "Bob\u202e"}
	accept := &kernel.AcceptRole{Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB", Private: "D7"}
	for _, by := range []kernel.Options{cli(), bot(), person("ana"), {By: kernel.Actor{Kind: kernel.ByAgent, ID: "ann"}}} {
		w.refuse("owner_only", invite, by)
	}
	w.refuse("not_invited", accept, bot())

	got := w.do(invite, owner())
	bob := got["person"].(string)
	if got["state"] != "pending" || w.roleOf("site", bob) != "" {
		t.Fatalf("an invitation counts before it is accepted: %v", got)
	}
	w.read(func(r *kernel.Reader) {
		if p := r.Principal("slack", "work", "T1", "UBOB"); p.Status != "invited" || strings.Contains(p.Name, "\u202e") {
			t.Errorf("the account is %+v", p)
		}
	})
	// The owner's confirmation is for codes; an invited account does not become the owner's by it.
	w.refuse("link_invited", &kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB"}, owner())
	w.refuse("chat_only", accept, owner())
	elsewhere := *accept
	elsewhere.Tenant = "T2"
	w.refuse("not_invited", &elsewhere, bot())

	if got := w.do(invite, owner()); got["person"] != bob || got["state"] != "pending" {
		t.Errorf("inviting again makes somebody else: %v", got)
	}
	w.do(accept, bot())
	if got := w.roleOf("site", bob); got != "approver" {
		t.Errorf("Bob holds %q", got)
	}
	w.read(func(r *kernel.Reader) {
		if p := r.PrincipalsOf(bob); len(p) != 1 || p[0].Status != "linked" || p[0].Private != "D7" {
			t.Errorf("the accounts of Bob are %+v", p)
		}
		if v := r.RolesOf("site"); len(v) != 1 || v[0].By != "owner" || len(r.RolesBy(bob)) != 1 {
			t.Errorf("the roles are %+v", v)
		}
	})
	// One who is linked already need not accept again, and a grant replaces.
	if got := w.do(&kernel.GrantRole{Goal: "site", Role: "steerer", Person: bob}, owner()); got["state"] != "active" || got["was"] != "approver" || w.roleOf("site", bob) != "steerer" {
		t.Errorf("a second grant: %v", got)
	}
	w.do(&kernel.RevokeRole{Goal: "site", Person: bob}, owner())
	if w.roleOf("site", bob) != "" {
		t.Error("a revoked role counts")
	}
	w.replays()
}

// Declining takes the whole invitation back.
func TestDecline(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	invite := &kernel.GrantRole{Goal: "site", Role: "owner", Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB"}
	bob := w.do(invite, owner())["person"].(string)
	w.do(&kernel.AcceptRole{Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB", Private: "D7", Decline: true}, bot())
	w.read(func(r *kernel.Reader) {
		if len(r.RolesOf("site")) != 0 || r.Principal("slack", "work", "T1", "UBOB").Status != "revoked" {
			t.Error("a declined invitation left something")
		}
	})
	// Who is known by his id alone gets the name that he has.
	dan := w.do(&kernel.GrantRole{Goal: "site", Role: "observer", Platform: "slack", Connection: "work", Tenant: "T1", User: "UDAN"}, owner())["person"].(string)
	w.do(&kernel.AcceptRole{Platform: "slack", Connection: "work", Tenant: "T1", User: "UDAN", UserName: "Dan", Private: "D8"}, bot())
	w.read(func(r *kernel.Reader) {
		if got := r.Person(dan).Name; got != "Dan" {
			t.Errorf("Dan is called %q", got)
		}
	})
	// Invited again he is a new person, without what the old one held.
	if again := w.do(invite, owner())["person"]; again == bob {
		t.Error("a revoked account kept its person")
	}
	w.replays()
}

// An owner of one goal owns that goal and no other.
func TestOwnerOfOneGoal(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.do(&kernel.CreateGoal{Goal: "blog", Objective: "Write"}, cli())
	bob, eve := w.invite("site", "owner", "UBOB"), w.invite("site", "approver", "UEVE")
	title := "New"
	w.do(&kernel.ConfigureGoal{Goal: "site", Title: &title}, person(bob))
	w.refuse("owner_only", &kernel.ConfigureGoal{Goal: "blog", Title: &title}, person(bob))
	w.refuse("owner_only", &kernel.ConfigureGoal{Goal: "site", Title: &title}, person(eve))
	w.do(&kernel.GrantRole{Goal: "site", Role: "observer", Person: eve}, person(bob))
	w.refuse("owner_only", &kernel.GrantRole{Goal: "blog", Role: "observer", Person: eve}, person(bob))
	// A manager's binding names goals; who does not own all of them does not make it.
	bind := &kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: "C1", Role: "manager", Goals: []string{"site", "blog"}}
	w.refuse("owner_only", bind, person(bob))
	bind.Goals = []string{"site"}
	w.do(bind, person(bob))
	w.read(func(r *kernel.Reader) {
		if b := r.BindingAt("work", "C1", ""); len(b) != 1 || b[0].Ingress != "queue" {
			t.Errorf("the turns of a Manager go through %+v, not the session queue", b)
		}
	})
	w.refuse("owner_only", &kernel.CreateLinkCode{Digest: strings.Repeat("ab", 32)}, person(bob))
}

// An account that its platform took away counts for nothing at once, and a goal
// whose last owner is gone pauses.
func TestSuspension(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.link("UWEI")
	bob := w.invite("site", "owner", "UBOB")
	suspend := func(user string) {
		t.Helper()
		w.do(&kernel.SuspendPrincipal{Platform: "slack", Connection: "work", Tenant: "T1", User: user, Reason: "deactivated"}, bot())
	}
	paused := func() (p []string) {
		w.read(func(r *kernel.Reader) { p = r.Goal("site").Pause })
		return p
	}
	w.refuse("owner_only", &kernel.SuspendPrincipal{Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB"}, person("ana"))
	suspend("UBOB")
	if p := paused(); len(p) != 0 {
		t.Errorf("paused by %v while an owner is there", p)
	}
	suspend("UWEI")
	if p := paused(); !slices.Equal(p, []string{"owner_gone"}) {
		t.Errorf("the last owner is gone and the goal is paused by %v", p)
	}
	if d := w.decide("ann"); d.ShouldRun {
		t.Error("a goal without an owner acts")
	}
	unsuspend := &kernel.UnsuspendPrincipal{Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB"}
	w.refuse("owner_only", unsuspend, bot())
	w.do(unsuspend, owner())
	if w.roleOf("site", bob) != "owner" {
		t.Error("an account that came back lost its role")
	}
	w.do(&kernel.PauseGoal{Goal: "site", Resume: true}, person(bob))
	if p := paused(); len(p) != 0 {
		t.Errorf("resumed and still paused by %v", p)
	}
	w.replays()
}

// With the last account of a person its roles go; nobody unlinks another.
func TestUnlink(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	bob := w.invite("site", "approver", "UBOB")
	unlink := &kernel.Unlink{Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB"}
	w.refuse("not_yours", unlink, person("ana"))
	w.refuse("not_yours", unlink, owner())
	w.do(unlink, person(bob))
	if w.roleOf("site", bob) != "" {
		t.Error("a role outlived the account")
	}
	bob = w.invite("site", "steerer", "UBOB")
	w.do(&kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB", Revoke: true}, owner())
	if w.roleOf("site", bob) != "" {
		t.Error("a role outlived a revoked account")
	}
	w.replays()
}

func TestSetPerson(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.do(&kernel.CreateGoal{Goal: "blog", Objective: "Write", Agents: []string{"ann"}}, cli())
	bob := w.invite("site", "observer", "UBOB")
	w.do(&kernel.SetPerson{Person: bob, Zone: ptr("Asia/Shanghai"), Language: ptr("zh"), Prefers: ptr("work")}, person(bob))
	w.do(&kernel.SetPerson{Person: bob, Target: &kernel.Target{Goal: "site", Agent: "ann"}}, person(bob))
	w.refuse("goal_not_found", &kernel.SetPerson{Person: bob, Target: &kernel.Target{Goal: "blog"}}, person(bob))
	w.refuse("agent_not_registered", &kernel.SetPerson{Person: bob, Target: &kernel.Target{Goal: "site", Agent: "bob"}}, person(bob))
	w.refuse("bad_zone", &kernel.SetPerson{Person: bob, Zone: ptr("../etc/passwd")}, person(bob))
	w.refuse("bad_language", &kernel.SetPerson{Person: bob, Language: ptr("fr")}, person(bob))
	w.refuse("owner_only", &kernel.SetPerson{Person: bob, Zone: ptr("UTC")}, person("ana"))
	w.refuse("owner_only", &kernel.SetPerson{Person: bob, State: ptr("active")}, person(bob))
	w.do(&kernel.SetPerson{Person: bob, State: ptr("suspended")}, owner())
	if w.roleOf("site", bob) != "" {
		t.Error("a suspended person holds a role")
	}
	w.read(func(r *kernel.Reader) {
		if p := r.Person(bob); p.Zone != "Asia/Shanghai" || p.Target.Agent != "ann" || p.Revision != 4 {
			t.Errorf("the person is %+v", p)
		}
	})
	// The owner is a person before any account is linked, and nobody else is.
	fresh := newWorld(t)
	fresh.goal("ann")
	fresh.refuse("owner_only", &kernel.SetPerson{Person: "owner", Zone: ptr("UTC")}, person("ana"))
	fresh.do(&kernel.SetPerson{Person: "owner", Target: &kernel.Target{Goal: "site", Agent: "ann"}}, owner())
	fresh.link("UWEI")
	fresh.read(func(r *kernel.Reader) {
		if p := r.Person("owner"); p.Target == nil || p.Target.Agent != "ann" || p.Name != "Wei" || !p.Owner {
			t.Errorf("the owner became %+v", p)
		}
	})
	fresh.replays()
	// A new code keeps what the owner set.
	w.link("UWEI")
	w.do(&kernel.SetPerson{Person: "owner", Zone: ptr("UTC")}, owner())
	w.do(&kernel.CreateLinkCode{Digest: strings.Repeat("ef", 32)}, owner())
	w.read(func(r *kernel.Reader) {
		if p := r.Person("owner"); p.Zone != "UTC" || p.Name != "Wei" {
			t.Errorf("the owner became %+v", p)
		}
	})
	w.replays()
}

func TestBinding(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	good := kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: "C1", Thread: "1.2", Goals: []string{"site"}, Agent: "ann"}
	for code, change := range map[string]func(*kernel.SetBinding){
		"bad_role":             func(c *kernel.SetBinding) { c.Role = "boss" },
		"bad_capture":          func(c *kernel.SetBinding) { c.Capture = "everything" },
		"bad_ingress":          func(c *kernel.SetBinding) { c.Ingress = "later" },
		"bad_reply":            func(c *kernel.SetBinding) { c.Reply = "loud" },
		"bad_audience":         func(c *kernel.SetBinding) { c.Audience = "all" },
		"bad_context_from":     func(c *kernel.SetBinding) { c.ContextFrom = "guests" },
		"bad_trigger":          func(c *kernel.SetBinding) { c.Trigger = "bots" },
		"bad_visibility":       func(c *kernel.SetBinding) { c.Visibility = "secret" },
		"capture_all":          func(c *kernel.SetBinding) { c.Capture = "all" },
		"context_all":          func(c *kernel.SetBinding) { c.ContextFrom = "all" },
		"allow_empty":          func(c *kernel.SetBinding) { c.Trigger = "human_messages" },
		"not_private":          func(c *kernel.SetBinding) { c.Role = "direct" },
		"one_goal":             func(c *kernel.SetBinding) { c.Goals = nil },
		"missing_goals":        func(c *kernel.SetBinding) { c.Role, c.Goals = "manager", nil },
		"goal_not_found":       func(c *kernel.SetBinding) { c.Goals = []string{"nope"} },
		"agent_not_registered": func(c *kernel.SetBinding) { c.Agent = "bob" },
		"session_not_found":    func(c *kernel.SetBinding) { c.Session = "s9" },
		"bad_conversation":     func(c *kernel.SetBinding) { c.Conversation = "a b" },
	} {
		c := good
		change(&c)
		w.refuse(code, &c, owner())
	}
	w.refuse("owner_only", &good, cli())
	got := w.do(&good, owner())
	id := got["binding_id"].(string)
	if got["wider_than"].([]any)[0] != "site" {
		t.Errorf("a private goal in a group, and the preview does not say so: %v", got)
	}
	if again := w.do(&good, owner()); again["binding_id"] != id {
		t.Errorf("the same again made another: %v", again)
	}
	other := good
	other.Ingress = "queue"
	w.refuse("binding_exists", &other, owner())
	other.Binding = id
	w.do(&other, owner())
	moved := other
	moved.Conversation = "C2"
	w.refuse("place_fixed", &moved, owner())
	w.read(func(r *kernel.Reader) {
		b := r.Binding(id)
		if b.Ingress != "queue" || b.Capture != "addressed" || b.Reply != "thread" || b.Audience != "linked" || b.ContextFrom != "linked" || b.Trigger != "mentions" || b.State != "active" || b.Revision != 2 {
			t.Errorf("the binding is %+v", b)
		}
		if len(r.BindingAt("work", "C1", "1.2")) != 1 || len(r.BindingAt("work", "C1", "")) != 0 || len(r.BindingAt("other", "C1", "1.2")) != 0 || len(r.BindingsOf("work", "C1")) != 1 || len(r.BindingsOfGoal("site")) != 1 {
			t.Error("the binding is found in the wrong places")
		}
	})
	// The bot breaks and suspends; only an owner confirms.
	w.do(&kernel.SetBindingState{Binding: id, State: "suspended", Reason: "the channel is public now", Visibility: "public"}, bot())
	w.refuse("owner_only", &kernel.SetBindingState{Binding: id, State: "active"}, bot())
	w.refuse("owner_only", &kernel.SetBindingState{Binding: id, State: "broken"}, person("ana"))
	w.do(&kernel.SetBindingState{Binding: id, State: "active"}, owner())
	w.refuse("owner_only", &kernel.RemoveBinding{Binding: id}, person("ana"))
	w.do(&kernel.RemoveBinding{Binding: id}, owner())
	w.refuse("binding_not_found", &kernel.RemoveBinding{Binding: id}, owner())
	w.read(func(r *kernel.Reader) {
		if r.Binding(id) != nil || len(r.BindingsOf("work", "C1"))+len(r.BindingsOfGoal("site")) != 0 {
			t.Error("a removed binding is found")
		}
	})
	w.replays()
}

// A restored copy gives nobody a right that may have been taken since.
func TestRestoreSuspendsRoles(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	bob := w.invite("site", "approver", "UBOB")
	eve := w.do(&kernel.GrantRole{Goal: "site", Role: "owner", Platform: "slack", Connection: "work", Tenant: "T1", User: "UEVE"}, owner())["person"].(string)
	if got := w.do(&kernel.RestoreState{}, owner()); got["roles_suspended"] != float64(2) {
		t.Errorf("the restore suspended %v roles", got["roles_suspended"])
	}
	w.refuse("not_invited", &kernel.AcceptRole{Platform: "slack", Connection: "work", Tenant: "T1", User: "UEVE", Private: "D1"}, bot())
	if w.roleOf("site", bob)+w.roleOf("site", eve) != "" {
		t.Error("a restored role counts")
	}
	w.do(&kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB"}, owner())
	if w.roleOf("site", bob) != "" {
		t.Error("confirming a link gave a role back")
	}
	w.do(&kernel.GrantRole{Goal: "site", Role: "approver", Person: bob}, owner())
	if w.roleOf("site", bob) != "approver" {
		t.Error("an owner cannot give a role back")
	}
	w.replays()
}

func (o *office) people() {
	o.eve = o.invite("site", "approver", "UEVE")
	o.do(&kernel.GrantRole{Goal: "site", Role: "observer", Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB"}, owner())
	o.bind = o.do(&kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: "C1", Goals: []string{"site"}}, owner())["binding_id"].(string)
	o.invite("site", "observer", "UDAN")
	o.do(&kernel.SuspendPrincipal{Platform: "slack", Connection: "work", Tenant: "T1", User: "UDAN"}, bot())
}

// onePeople is one for the commands of the people side.
func (o *office) onePeople(name string) (kernel.Command, kernel.Options) {
	word := "word"
	switch name {
	case "role.grant":
		return &kernel.GrantRole{Goal: "site", Role: "steerer", Platform: "slack", Connection: "work", Tenant: "T1", User: "UNEW", UserName: "New"}, owner()
	case "role.revoke":
		return &kernel.RevokeRole{Goal: "site", Person: o.eve}, owner()
	case "role.accept":
		return &kernel.AcceptRole{Platform: "slack", Connection: "work", Tenant: "T1", User: "UBOB", UserName: "Bob", Private: "D1"}, bot()
	case "bind.set":
		return &kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: "C2", Role: "manager", Goals: []string{"site"}, Agent: "ann", Session: "cli:ann", Capture: "all", Ingress: "queue", Reply: "mirror",
			Audience: "members", ContextFrom: "all", Trigger: "human_messages", Allow: []string{"U1"}, Language: "zh", Visibility: "public"}, owner()
	case "bind.remove":
		return &kernel.RemoveBinding{Binding: o.bind}, owner()
	case "bind.state":
		return &kernel.SetBindingState{Binding: o.bind, State: "suspended", Reason: "public now", Visibility: "public"}, bot()
	case "person.set":
		return &kernel.SetPerson{Person: o.eve, Called: &word, Zone: ptr("UTC"), Language: ptr("en"), Prefers: &word, Target: &kernel.Target{Goal: "site", Agent: "ann", Session: "cli:ann"}, State: ptr("active")}, owner()
	case "person.attention":
		from, to := 60, 120
		return &kernel.SetAttention{Person: o.eve, QuietFrom: &from, QuietTo: &to, Digest: &from, Budget: &from, Urgent: ptr(true), Mute: &kernel.Mute{Goal: "site", Until: 1 << 40}, Snooze: &kernel.Snooze{Gate: o.gate, Until: 1 << 40}}, owner()
	case "principal.suspend":
		return &kernel.SuspendPrincipal{Platform: "slack", Connection: "work", Tenant: "T1", User: "UEVE", Reason: "deactivated"}, bot()
	case "principal.unsuspend":
		return &kernel.UnsuspendPrincipal{Platform: "slack", Connection: "work", Tenant: "T1", User: "UDAN"}, owner()
	case "link.unlink":
		return &kernel.Unlink{Platform: "slack", Connection: "work", Tenant: "T1", User: "UEVE"}, person(o.eve)
	}
	return nil, kernel.Options{}
}
