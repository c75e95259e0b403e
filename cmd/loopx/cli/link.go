package cli

import (
	"fmt"
	"slices"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func linkCmd(a *app) *cobra.Command {
	c := linkNew(a)
	c.AddCommand(linkList(a), linkSettle(a, false), linkSettle(a, true), linkSuspended(a), linkPage(a))
	return c
}

// newCode is 50 random bits as ten characters without look-alikes, in two groups.
func newCode() string {
	s := kernel.NewID("", 10)
	return s[:5] + "-" + s[5:]
}

func linkNew(a *app) *cobra.Command {
	var name string
	return a.verbOf("link", "", func(f *pflag.FlagSet) {
		f.StringVar(&name, "name", "", "how you are called (default owner)")
		a.ownerFlags(f)
		a.writeFlags(f)
	}, func() error {
		by, err := a.owner("linking a chat account", func() string {
			return "A code is made. Whoever types it to the bot within ten minutes asks to act as the owner;\nyou confirm that account here."
		}, "link")
		if err != nil {
			return err
		}
		before, err := a.links()
		if err != nil && !noWorkspace(err) {
			return err
		}
		code := newCode()
		rec, err := a.doAs(&kernel.CreateLinkCode{Digest: kernel.CodeDigest(code), Person: name}, by, "", a.g.dryRun)
		if err != nil {
			return err
		}
		f := receipt(rec).set("link_code", code)
		if err := a.out(f, func() string {
			return "Your code: " + a.bold(code) + "\nType it to the bot in a private chat within ten minutes.\n"
		}); err != nil || a.asJSON || rec.Preview {
			return err
		}
		if !a.interactive() {
			_, err := fmt.Fprintln(a.opt.Out, "Then: loopx link confirm")
			return err
		}
		return a.waitForRedeem(by, before)
	})
}

func (a *app) links() ([]kernel.Principal, error) {
	v, err := ask[view.LinksView](a, &view.Links{})
	return v.Links, err
}

// waitForRedeem looks each second for an account that typed the code, and asks to
// confirm it.
func (a *app) waitForRedeem(by kernel.Actor, before []kernel.Principal) error {
	if !client.New(a.access.home).Listening() {
		_, err := fmt.Fprintln(a.opt.Out, "No bot is running here: start loopx-bot, type the code, then: loopx link confirm")
		return err
	}
	fmt.Fprintln(a.opt.Err, "Waiting for it (Ctrl-C leaves; loopx link confirm goes on later) …")
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	end := time.NewTimer(10 * time.Minute)
	defer end.Stop()
	for {
		select {
		case <-a.ctx.Done():
			return kernel.Errorf(kernel.Unavailable, "interrupted", "the command was interrupted").Try("loopx link confirm")
		case <-end.C:
			return kernel.Errorf(kernel.Exhausted, "code_expired", "nobody typed the code within ten minutes").Try("loopx link")
		case <-tick.C:
		}
		now, err := a.links()
		if err != nil {
			return err
		}
		for _, p := range now {
			if p.Status == "pending" && !had(before, p) {
				return a.settle(p, by, true)
			}
		}
	}
}

func had(list []kernel.Principal, p kernel.Principal) bool {
	for _, old := range list {
		if old.Platform == p.Platform && old.Connection == p.Connection && old.Tenant == p.Tenant && old.User == p.User && old.Status == p.Status && old.Since == p.Since {
			return true
		}
	}
	return false
}

func account(p kernel.Principal) string {
	return fmt.Sprintf("%s (%s) on %s, %s", show(p.Name, 40), show(p.User, 40), show(p.Platform, 20), show(p.Connection, 40))
}

// settle confirms an account; ask shows it first and wants a yes.
func (a *app) settle(p kernel.Principal, by kernel.Actor, askFirst bool) error {
	if askFirst {
		if err := a.confirm("This account typed the code:\n  "+account(p)+"\nIt will act as the owner.", "yes"); err != nil {
			return err
		}
	}
	rec, err := a.doAs(settleOf(p, false), by, "", false)
	if err != nil {
		return err
	}
	return a.out(receipt(rec), func() string { return said(rec, account(p)+" is linked") + askedWhen })
}

func settleOf(p kernel.Principal, revoke bool) *kernel.SettleLink {
	return &kernel.SettleLink{Platform: p.Platform, Connection: p.Connection, Tenant: p.Tenant, User: p.User, Revoke: revoke}
}

func linkList(a *app) *cobra.Command {
	return a.verbOf("list", "chat accounts that are known", nil, func() error {
		v, raw, err := askRaw[view.LinksView](a, &view.Links{})
		if noWorkspace(err) {
			v, raw, err = view.LinksView{}, []byte(`{"links":[]}`), nil
		}
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			if len(v.Links) == 0 {
				return "No chat account is linked.\n  try: loopx link\n"
			}
			rows := make([][]string, 0, len(v.Links))
			for _, p := range v.Links {
				rows = append(rows, []string{p.Status, show(p.Platform, 12), show(p.Connection, 20), show(p.User, 24), a.clock(p.Since), show(p.Name, 40)})
			}
			return a.screen(rows, false, "loopx link list --json")
		})
	})
}

// linkSettle is `link confirm` and `link revoke`. Filters that leave one account
// name it; none are needed when only one is there.
func linkSettle(a *app, revoke bool) *cobra.Command {
	use, short, act := "confirm", "let the account that typed the code act as the owner", "confirming a link"
	if revoke {
		use, short, act = "revoke", "take a chat account's rights away", "revoking a link"
	}
	var want kernel.Principal
	return a.verbOf(use, short, func(f *pflag.FlagSet) {
		accountFlags(f, &want)
		a.ownerFlags(f)
		a.writeFlags(f)
	}, func() error {
		if err := a.noAgent(act, a.g.asOwner && a.interactive()); err != nil {
			return err
		}
		open := []string{kernel.LinkPending}
		if revoke {
			open = []string{kernel.LinkPending, kernel.Linked, kernel.LinkInvited, kernel.LinkSuspended}
		}
		p, err := a.oneLink(want, open...)
		if err != nil {
			return err
		}
		effect := "It will act as the owner."
		switch {
		case revoke:
			effect = "It will have no rights here any more."
		case p.Person != "owner":
			effect = "It will act as " + show(p.Person, 40) + " again; the roles are granted again one by one (loopx role list)."
		}
		by, err := a.owner(act, func() string { return account(p) + "\n" + effect }, "yes")
		if err != nil {
			return err
		}
		rec, err := a.doAs(settleOf(p, revoke), by, "", a.g.dryRun)
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string {
			text := said(rec, account(p)+" is "+resultOf(rec, "status"))
			if !revoke {
				text += askedWhen
			}
			return text
		})
	})
}

// askedWhen keeps somebody who links an account in the evening from waiting for a
// card that comes in the morning.
const askedWhen = "  questions come between 08:00 and 22:00, 8 a day at most: loopx attention\n"

func (a *app) oneLink(want kernel.Principal, states ...string) (kernel.Principal, error) {
	all, err := a.links()
	if err != nil {
		return kernel.Principal{}, err
	}
	var fit []kernel.Principal
	for _, p := range all {
		same := func(w, v string) bool { return w == "" || w == v }
		if slices.Contains(states, p.Status) && same(want.Platform, p.Platform) && same(want.Connection, p.Connection) && same(want.Tenant, p.Tenant) && same(want.User, p.User) {
			fit = append(fit, p)
		}
	}
	switch len(fit) {
	case 0:
		return kernel.Principal{}, kernel.Errorf(kernel.NotFound, "link_not_found", "no chat account waits for this").Try("loopx link list")
	case 1:
		return fit[0], nil
	}
	return kernel.Principal{}, kernel.Errorf(kernel.Invalid, "link_ambiguous", "%d chat accounts fit", len(fit)).Try("loopx link list, then name one with --platform, --connection, --user")
}

// linkSuspended gives an account back what its platform, or an owner, took away.
func linkSuspended(a *app) *cobra.Command {
	var want kernel.Principal
	return a.verbOf("unsuspend", "give a suspended chat account its rights back", func(f *pflag.FlagSet) {
		accountFlags(f, &want)
		a.ownerFlags(f)
		a.writeFlags(f)
	}, func() error {
		const act = "giving a chat account its rights back"
		if err := a.noAgent(act, a.g.asOwner && a.interactive()); err != nil {
			return err
		}
		p, err := a.oneLink(want, kernel.LinkSuspended)
		if err != nil {
			return err
		}
		by, err := a.owner(act, func() string { return account(p) + "\nIt will have again what it had before it was suspended." }, "yes")
		if err != nil {
			return err
		}
		rec, err := a.doAs(&kernel.UnsuspendPrincipal{Platform: p.Platform, Connection: p.Connection, Tenant: p.Tenant, User: p.User}, by, "", a.g.dryRun)
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string { return said(rec, account(p)+" is "+resultOf(rec, "status")) })
	})
}

// accountFlags narrow a search for one chat account.
func accountFlags(f *pflag.FlagSet, want *kernel.Principal) {
	f.StringVar(&want.Platform, "platform", "", "only of this platform")
	f.StringVar(&want.Connection, "connection", "", "only of this connection")
	f.StringVar(&want.Tenant, "tenant", "", "only of this tenant")
	f.StringVar(&want.User, "user", "", "only this user id")
}
