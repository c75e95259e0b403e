package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func quotaCmd(a *app) *cobra.Command {
	return noun("quota", quotaShouldRun(a), quotaSpend(a), quotaVoid(a), quotaMonitorPoll(a), quotaStatus(a), quotaPlan(a), quotaAck(a))
}

// turnArgs are the flags of the verbs that ask for a turn.
type turnArgs struct {
	scope
	turn, session, host, hostSession, lease string
	caps                                    []string
}

func (a *app) turnFlags(f *pflag.FlagSet, t *turnArgs) {
	a.scopeFlags(f, &t.scope)
	a.writeFlags(f)
	host, session := a.hostSession()
	f.StringVar(&t.turn, "turn-instance-id", "", "names the turn; the same id again gives the same answer")
	a.envFlag(f, &t.session, "session", "LOOPX_SESSION", "session of the host (else LOOPX_SESSION, else what the host says)")
	f.StringVar(&t.host, "host", host, "what runs the agent")
	f.StringVar(&t.hostSession, "host-session", session, "the host's own id of the session")
	f.StringArrayVar(&t.caps, "available-capability", nil, "what the agent can do now; may be repeated")
}

// hostSession is what an agent's host says about itself in the environment.
func (a *app) hostSession() (host, session string) {
	for _, h := range []struct{ host, name string }{
		{"codex", "CODEX_THREAD_ID"}, {"claude-code", "CLAUDE_CODE_SESSION_ID"}, {"claude-code", "CLAUDE_SESSION_ID"},
		{"opencode", "OPENCODE_SESSION_ID"}, {"gemini-cli", "GEMINI_SESSION_ID"},
	} {
		if v := a.env[h.name]; v != "" {
			return h.host, v
		}
	}
	return "", ""
}

// caller is who asks for a decision.
func (t *turnArgs) caller() kernel.Caller {
	return kernel.Caller{Goal: t.goal, Agent: t.agent, Capabilities: t.caps, Session: t.sessionID(), Workspace: whereAmI()}
}

func (t *turnArgs) sessionID() string {
	if t.session == "" && t.host != "" && t.hostSession != "" {
		return t.host + ":" + t.hostSession
	}
	return t.session
}

func quotaShouldRun(a *app) *cobra.Command {
	var t turnArgs
	return a.verbOf("should-run", "whether an agent should run now, and on what", func(f *pflag.FlagSet) {
		a.turnFlags(f, &t)
		a.acceptUnused(f, quotaFlags)
	}, func() error {
		if t.turn != "" {
			return a.openTurn(&t, false)
		}
		raw, err := a.query(&view.ShouldRun{Caller: t.caller()})
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string { return a.decisionText(raw, "") })
	})
}

func tickCmd(a *app) *cobra.Command {
	var t turnArgs
	return a.verbOf("tick", "", func(f *pflag.FlagSet) {
		a.turnFlags(f, &t)
		f.StringVar(&t.lease, "lease", "", "how long the todo is held, 1m to 24h (default 45m)")
	}, func() error {
		if t.turn == "" {
			t.turn = kernel.NewID("turn_", 12)
		}
		return a.openTurn(&t, true)
	})
}

// openTurn opens a turn, which stores the decision, and claims its todo if asked.
func (a *app) openTurn(t *turnArgs, claim bool) error {
	ms, err := span("--lease", t.lease)
	if err != nil {
		return err
	}
	rec, err := a.do(&kernel.OpenTurn{
		Goal: t.goal, Agent: t.agent, Turn: t.turn, Session: t.sessionID(), Host: t.host, HostSession: t.hostSession,
		Capabilities: t.caps, Claim: claim, LeaseMS: ms, Workspace: whereAmI(),
	}, t.agent, t.turn)
	if err != nil {
		return err
	}
	f := receipt(rec).set("turn_instance_id", t.turn)
	return a.out(f, func() string {
		text := a.decisionText(rec.Result, t.turn)
		if rec.Replay {
			text += "(answered before, nothing was changed now)\n"
		}
		if rec.Preview {
			text += "(nothing was changed)\n"
		}
		return text
	})
}

// query is ask without decoding.
func (a *app) query(q view.Query) ([]byte, error) {
	svc, err := a.workspace()
	if err != nil {
		return nil, err
	}
	return svc.Query(a.ctx, q)
}

// decisionText is a decision for people.
func (p *printer) decisionText(raw []byte, turn string) string {
	var d kernel.Decision
	if json.Unmarshal(raw, &d) != nil {
		return "the answer does not fit this version of loopx\n"
	}
	word := map[string]string{"deliver": "run", "ask": "wait for a person", "wait": "wait", "plan": "plan", "stop": "stop",
		"reply": "answer a message", "settle": "settle an earlier turn", "replan": "change the plan", "repair": "repair", "monitor": "look"}[d.Kind]
	rows := [][]string{{"Decision", p.bold(word) + " (" + d.Rule + ")"}, {"Why", show(d.Reason, 200)}}
	if d.Selected != nil {
		rows = append(rows, []string{"Todo", d.Selected.ID + "  " + prio(d.Selected.Priority) + "  " + show(d.Selected.Title, 240)})
	}
	if d.Kind == "reply" || d.Kind == "settle" || d.Kind == "replan" || d.Kind == "repair" {
		rows = append(rows, []string{"Do", show(d.Contract.Agent.Instruction, 300)})
	}
	for _, g := range d.Contract.User.Ask {
		rows = append(rows, []string{"Needs you", g.Code + " " + show(g.Question, 200)})
		if g.State == "unreachable" {
			rows = append(rows, []string{"", "unreachable: nobody can be told; try: " + show(g.Fix, 120)})
		}
	}
	if turn != "" {
		rows = append(rows, []string{"Turn", show(turn, 120)})
	}
	if d.Lease != nil {
		rows = append(rows, []string{"Lease", d.Lease.Token + " until " + d.Lease.Expires})
	}
	rows = append(rows, []string{"Slots", fmt.Sprintf("%d of %d spent", d.Quota.Spent, d.Quota.Allowed)})
	if d.Scheduler.NextWake > 0 {
		rows = append(rows, []string{"Next wake", p.clock(d.Scheduler.NextWake)})
	}
	text := p.wrapped(rows)
	for _, next := range d.Contract.CLI.Next {
		text += "  next: loopx " + strings.Join(next, " ") + "\n"
	}
	return text
}

func quotaSpend(a *app) *cobra.Command {
	var s scope
	var execute bool
	var tokens int64
	c := &kernel.SpendSlot{}
	return a.verbOf("spend-slot", "pay for a turn's writeback (shows it; --execute does it)", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		a.writeFlags(f)
		f.StringVar(&c.Turn, "turn-instance-id", "", "turn that is paid")
		f.StringVar(&c.Todo, "todo-id", "", "todo it was spent on")
		f.IntVar(&c.Slots, "slots", 1, "how many")
		f.Int64Var(&tokens, "tokens", -1, "tokens the host counted for it")
		f.StringVar(&c.Source, "source", "", "heartbeat (default), controller, adapter or visible-goal")
		f.BoolVar(&execute, "execute", false, "do it")
		a.acceptUnused(f, quotaFlags)
	}, func() error {
		c.Goal, c.Agent = s.goal, s.agent
		if tokens >= 0 {
			c.Tokens = &tokens
		}
		if c.Slots == 0 {
			return kernel.Errorf(kernel.Invalid, "bad_slots", "slots must be 1 to 1000")
		}
		a.g.dryRun = a.g.dryRun || !execute
		rec, err := a.do(c, s.agent, c.Turn)
		if err != nil {
			return err
		}
		return a.out(receipt(rec).set("executed", !rec.Preview), func() string {
			return a.executed(rec, count(c.Slots, "slot", "slots")+" spent by "+resultOf(rec, "agent_id"))
		})
	})
}

func quotaStatus(a *app) *cobra.Command {
	var s scope
	return a.verbOf("status", "slots spent and left", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		a.acceptUnused(f, quotaFlags)
	}, func() error {
		v, raw, err := askRaw[view.QuotaView](a, &view.QuotaOf{Goal: s.goal, Agent: s.agent})
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			text := fmt.Sprintf("%d of %d slots spent in %d h, %d free", v.Spent, v.Allowed, v.Window/3_600_000, max(v.FreeSlots, 0))
			if v.NextFree > 0 {
				text += ", the next frees " + a.clock(v.NextFree)
			}
			return text + "\n"
		})
	})
}

func refreshCmd(a *app) *cobra.Command {
	var t todoRef
	var proof []string
	var recommended, class string
	c := &kernel.Refresh{}
	return a.verbOf("refresh-state", "", func(f *pflag.FlagSet) {
		a.todoFlags(f, &t)
		f.StringVar(&c.Classification, "classification", "", "what kind of writeback (default state_refreshed)")
		f.StringVar(&c.Outcome, "delivery-outcome", "", "outcome_progress, primary_goal_outcome, outcome_gap or surface_only (default)")
		f.StringVar(&c.Next, "next-action", "", "what comes next, in words")
		f.StringVar(&recommended, "recommended-action", "", "the same as --next-action")
		f.StringVar(&class, "progress-result-class", "", "advanced, unchanged or blocked; the last two say that nothing moved (outcome_gap)")
		f.StringVar(&c.Note, "note", "", "note")
		f.StringArrayVar(&proof, "evidence", nil, "proof, for example check:TEXT; may be repeated")
		a.acceptUnused(f, refreshFlags)
	}, func() error {
		c.Goal, c.Agent, c.Todo, c.Turn, c.Lease = t.goal, t.agent, t.todo, t.turn, t.lease
		if c.Next == "" {
			c.Next = recommended
		}
		var err error
		if c.Outcome, err = outcomeOf(class, c.Outcome); err != nil {
			return err
		}
		if c.Evidence, err = evidence(proof); err != nil {
			return err
		}
		rec, err := a.do(c, t.agent, t.turn)
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string {
			return said(rec, resultOf(rec, "agent_id")+" wrote back: "+strings.ReplaceAll(resultOf(rec, "delivery_outcome"), "_", " "))
		})
	})
}

// outcomeOf joins the reference's class of a result with the delivery outcome.
func outcomeOf(class, outcome string) (string, error) {
	switch class {
	case "unchanged", "blocked":
		if outcome == kernel.Progress || outcome == kernel.PrimaryOutcome {
			return "", kernel.Errorf(kernel.Invalid, "bad_result_class", "a result that is %s is no %s", class, outcome)
		}
		return kernel.OutcomeGap, nil
	case "", "advanced", "exploration_exhausted", "no_followup":
		return outcome, nil
	}
	return "", kernel.Errorf(kernel.Invalid, "bad_result_class", "--progress-result-class %q must be advanced, unchanged or blocked", show(class, 40))
}
