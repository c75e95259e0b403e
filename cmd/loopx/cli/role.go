package cli

import (
	"strings"
	"time"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func roleCmd(a *app) *cobra.Command { return noun("role", roleGrant(a), roleRevoke(a), roleList(a)) }

func roleGrant(a *app) *cobra.Command {
	var s scope
	var execute bool
	c := &kernel.GrantRole{}
	return a.verbOf("grant", "let a person do more in a goal (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Role, "role", "", "owner, approver, steerer or observer")
		f.StringVar(&c.Person, "person", "", "person who is known here (loopx person list)")
		f.StringVar(&c.Platform, "platform", "", "or a chat account: its platform")
		f.StringVar(&c.Connection, "connection", "", "its connection")
		f.StringVar(&c.Tenant, "tenant", "", "its workspace or tenant")
		f.StringVar(&c.User, "user", "", "its user id")
		f.StringVar(&c.UserName, "user-name", "", "how it is called, for showing only")
		f.BoolVar(&execute, "execute", false, "do it")
	}, func() error {
		c.Goal = s.goal
		whom := c.Person
		if whom == "" {
			whom = account(kernel.Principal{Platform: c.Platform, Connection: c.Connection, User: c.User, Name: c.UserName})
		}
		return a.ownerAct(c, execute, "granting a role", show(whom, 200)+" becomes "+show(c.Role, 20)+" of "+show(s.goal, 64)+".", s.goal, func(rec kernel.Receipt) string {
			text := show(resultOf(rec, "name"), 60) + " is " + resultOf(rec, "role") + " of " + s.goal
			if resultOf(rec, "state") == kernel.RolePending {
				text += " once the invitation is accepted in a private chat with the bot"
			}
			return text
		})
	})
}

func roleRevoke(a *app) *cobra.Command {
	var s scope
	var execute bool
	c := &kernel.RevokeRole{}
	return a.verbOf("revoke", "take a person's role in a goal away (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Person, "person", "", "person (loopx role list)")
		f.BoolVar(&execute, "execute", false, "do it")
	}, func() error {
		c.Goal = s.goal
		return a.ownerAct(c, execute, "revoking a role", show(c.Person, 60)+" may do nothing in "+show(s.goal, 64)+" any more.", s.goal, func(rec kernel.Receipt) string {
			return show(resultOf(rec, "name"), 60) + " has no role in " + s.goal
		})
	})
}

func roleList(a *app) *cobra.Command {
	var s scope
	return a.verbOf("list", "who may do what in a goal", func(f *pflag.FlagSet) { a.goalFlag(f, &s) }, func() error {
		v, raw, err := askRaw[view.RolesView](a, &view.Roles{Goal: s.goal})
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			if len(v.Roles) == 0 {
				return "Nobody but the owner of this machine has a role in " + v.GoalID + ".\n  try: loopx link\n"
			}
			rows := make([][]string, 0, len(v.Roles))
			for _, r := range v.Roles {
				rows = append(rows, []string{r.Role.Role, r.State, show(r.Person, 24), a.clock(r.Created), show(r.Name, 40)})
			}
			return a.screen(rows, false, "loopx role list --json")
		})
	})
}

func personCmd(a *app) *cobra.Command { return noun("person", personList(a), personSet(a)) }

func personList(a *app) *cobra.Command {
	return a.verbOf("list", "people who are known, with their accounts", nil, func() error {
		v, raw, err := askRaw[view.PeopleView](a, &view.People{})
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			if len(v.People) == 0 {
				return "Nobody is known here yet.\n  try: loopx link\n"
			}
			rows := make([][]string, 0, len(v.People))
			for _, p := range v.People {
				var accounts, roles []string
				for _, x := range p.Accounts {
					accounts = append(accounts, x.Platform+" "+x.User+" "+x.Status)
				}
				if p.Owner {
					roles = append(roles, "owner of every goal")
				}
				for _, x := range p.Roles {
					roles = append(roles, x.Role+" of "+x.Goal)
				}
				state := kernel.PersonActive
				if !p.Active() {
					state = p.State
				}
				rows = append(rows, []string{show(p.ID, 24), state, show(p.Name, 30), show(strings.Join(accounts, ", "), 60), show(strings.Join(roles, ", "), 80)})
			}
			return a.screen(rows, false, "loopx person list --json")
		})
	})
}

func personSet(a *app) *cobra.Command {
	var called, language, zone, prefers, goal, agent, state string
	var execute bool
	var set *pflag.FlagSet
	c := &kernel.SetPerson{}
	return a.verbOf("set", "change a person's settings (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		set = f
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Person, "person", "owner", "person (loopx person list)")
		f.StringVar(&called, "name", "", "how the person is called")
		f.StringVar(&language, "language", "", "en or zh; empty follows the platform")
		f.StringVar(&zone, "zone", "", "time zone, like Europe/Berlin")
		f.StringVar(&prefers, "prefer", "", "connection on which the person is asked first")
		f.StringVar(&goal, "target-goal", "", "goal the person's private messages go to; empty clears it")
		f.StringVar(&agent, "target-agent", "", "agent of that goal")
		f.StringVar(&state, "state", "", "active or suspended")
		f.BoolVar(&execute, "execute", false, "do it")
	}, func() error {
		for name, to := range map[string]struct {
			from *string
			into **string
		}{"name": {&called, &c.Called}, "language": {&language, &c.Language}, "zone": {&zone, &c.Zone}, "prefer": {&prefers, &c.Prefers}, "state": {&state, &c.State}} {
			if set.Changed(name) {
				*to.into = to.from
			}
		}
		if set.Changed("target-goal") || set.Changed("target-agent") {
			c.Target = &kernel.Target{Goal: goal, Agent: agent}
		}
		// Which zones exist is known here and not to the kernel.
		if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
			return kernel.Errorf(kernel.Invalid, "bad_zone", "%q is no time zone that this machine knows", show(zone, 60)).Try("use a name like Europe/Berlin or Asia/Shanghai")
		}
		return a.ownerAct(c, execute, "changing a person", "The settings of "+show(c.Person, 60)+" change as asked.", "yes", func(rec kernel.Receipt) string {
			return show(resultOf(rec, "name"), 60) + ": language " + orDash(resultOf(rec, "language")) + ", zone " + orDash(resultOf(rec, "zone")) + ", asked first on " + orDash(resultOf(rec, "preferred")) + ", " + resultOf(rec, "state")
		})
	})
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return show(s, 60)
}
