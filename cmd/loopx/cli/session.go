package cli

import (
	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func sessionCmd(a *app) *cobra.Command {
	return noun("session", sessionOpen(a), sessionList(a), sessionClose(a))
}

func sessionOpen(a *app) *cobra.Command {
	var t turnArgs
	return a.verbOf("open", "register a running session of a host", func(f *pflag.FlagSet) {
		host, session := a.hostSession()
		a.scopeFlags(f, &t.scope)
		a.writeFlags(f)
		a.envFlag(f, &t.session, "session", "LOOPX_SESSION", "its id (else LOOPX_SESSION, else a new one)")
		f.StringVar(&t.host, "host", host, "what runs the agent")
		f.StringVar(&t.hostSession, "host-session", session, "the host's own id of the session")
	}, func() error {
		rec, err := a.do(&kernel.OpenSession{Goal: t.goal, Agent: t.agent, Session: t.sessionID(), Host: t.host, HostSession: t.hostSession}, t.agent, "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string {
			return said(rec, "session "+show(resultOf(rec, "session_id"), 120)+" of "+resultOf(rec, "agent_id")+" is open")
		})
	})
}

func sessionList(a *app) *cobra.Command {
	var s scope
	var all bool
	return a.verbOf("list", "the sessions of a goal", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		f.BoolVar(&all, "all", false, "the whole list")
	}, func() error {
		v, raw, err := askRaw[view.SessionsView](a, &view.Sessions{Goal: s.goal})
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			if len(v.Sessions) == 0 {
				return "No session yet.\n"
			}
			rows := make([][]string, 0, len(v.Sessions))
			for _, x := range v.Sessions {
				turn := ""
				if x.LiveTurn {
					turn = "turn " + show(x.Turn, 40)
				}
				rows = append(rows, []string{show(x.ID, 30), x.Agent, x.State, a.age(x.Seen), turn})
			}
			return a.screen(rows, all, "loopx session list --goal-id "+v.GoalID+" --all")
		})
	})
}

func sessionClose(a *app) *cobra.Command {
	var s scope
	c := &kernel.CloseSession{}
	return a.verbOf("close", "end a session; its open work is kept", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		a.writeFlags(f)
		a.envFlag(f, &c.Session, "session", "LOOPX_SESSION", "its id (else LOOPX_SESSION)")
	}, func() error {
		c.Goal = s.goal
		rec, err := a.do(c, s.agent, "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string { return said(rec, "session "+show(c.Session, 120)+" is closed") })
	})
}
