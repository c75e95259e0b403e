package bot

import (
	"context"
	"strings"
	"testing"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"
)

// linked is a daemon on one simulated platform to which Wei is linked, with a
// goal whose agent is builder.
type linked struct {
	t    *testing.T
	p    phone
	opt  Options
	b    *Bot
	c    *client.Client
	gate string
}

// onEveryPlatform runs fn once for each platform over its socket.
func onEveryPlatform(t *testing.T, fn func(*linked)) {
	for _, name := range []string{"slack", "discord", "lark"} {
		t.Run(name, func(t *testing.T) {
			p := phones()[name]()
			defer p.close()
			l := &linked{t: t, p: p}
			l.opt = Options{Home: testHome(t), Sim: true, Zone: time.UTC, Config: Config{Page: PageConfig{Off: true}, Connections: []ConnectionConfig{p.config}}, Getenv: func(k string) string { return p.secrets[k] }}
			l.start()
			defer func() { stopBot(t, l.b) }()
			l.c = client.New(l.opt.Home)
			var err error
			if l.c.OwnerToken, err = l.opt.Home.Token(); err != nil {
				t.Fatal(err)
			}
			l.ready()
			l.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, asOwner)
			p.say("abcde-fghjk")
			l.until("the code is answered", func() bool { return len(p.see()) > 0 })
			v := l.link()
			l.do(&kernel.SettleLink{Platform: v.Platform, Connection: v.Connection, Tenant: v.Tenant, User: v.User}, asOwner)
			l.do(anytime(), asOwner)
			l.do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder"}}, asCLI)
			l.do(&kernel.AddTodo{Goal: "site", Title: "publish"}, asCLI)
			fn(l)
			if p.denied != nil {
				if missing := p.denied(); len(missing) > 0 {
					t.Errorf("the scopes of the guide do not suffice for %q", missing)
				}
			}
		})
	}
}

func (l *linked) start()   { l.t.Helper(); l.b = startBot(l.t, l.opt) }
func (l *linked) restart() { l.t.Helper(); stopBot(l.t, l.b); l.start(); l.ready() }

func (l *linked) ready() {
	l.t.Helper()
	c := l.c
	if c == nil {
		c = client.New(l.opt.Home)
	}
	eventually(l.t, "the connection is ready", func() bool {
		info, err := c.Info(l.t.Context())
		return err == nil && len(info.Connections) == 2 && info.Connections[1].State == "ready"
	})
}

func (l *linked) link() kernel.Principal {
	l.t.Helper()
	links, err := view.Ask[view.LinksView](l.t.Context(), l.c, &view.Links{})
	if err != nil || len(links.Links) != 1 {
		l.t.Fatalf("links %+v, %v", links, err)
	}
	return links.Links[0]
}

func (l *linked) do(cmd kernel.Command, by kernel.Options) kernel.Receipt {
	l.t.Helper()
	r, err := l.c.Do(l.t.Context(), cmd, by)
	if err != nil {
		l.t.Fatalf("%s: %v", cmd.Name(), err)
	}
	return r
}

// until waits for the platform to show something.
func (l *linked) until(what string, cond func() bool) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 20*time.Second)
	defer cancel()
	if err := l.p.wait(ctx, cond); err != nil {
		l.t.Fatalf("%s: never; Wei sees %+v, the group %+v", what, l.p.see(), l.p.seeIn(l.p.group))
	}
}

// ask opens a gate on the goal's todo and returns its card once Wei has it.
func (l *linked) ask() shown {
	l.t.Helper()
	l.open()
	return l.card("the card", func(m shown) bool { return len(m.buttons) == 3 })
}

// open opens a gate on the goal's todo.
func (l *linked) open() {
	l.t.Helper()
	todos, err := view.Ask[view.TodosView](l.t.Context(), l.c, &view.Todos{Goal: "site"})
	if err != nil {
		l.t.Fatal(err)
	}
	l.do(&kernel.OpenGate{Goal: "site", Agent: "builder", Question: "Publish the new pricing page?", Kind: "direction", Todos: []string{todos.Todos[0].ID},
		Options: []kernel.Option{{ID: "go", Label: "Publish", Outcome: kernel.Approve}, {ID: "hold", Label: "Hold", Outcome: kernel.Reject}}}, asCLI)
	gates, err := view.Ask[view.GatesView](l.t.Context(), l.c, &view.Gates{Goal: "site"})
	if err != nil || len(gates.Gates) != 1 {
		l.t.Fatalf("gates %+v, %v", gates, err)
	}
	l.gate = gates.Gates[0].ID
}

// cards are the messages about the gate that Wei sees.
func (l *linked) cards() (out []shown) {
	for _, m := range l.p.see() {
		if strings.Contains(m.text, "pricing page") {
			out = append(out, m)
		}
	}
	return out
}

func (l *linked) card(what string, fits func(shown) bool) (out shown) {
	l.t.Helper()
	l.until(what, func() bool {
		for _, m := range l.cards() {
			if fits(m) {
				out = m
				return true
			}
		}
		return false
	})
	return out
}
