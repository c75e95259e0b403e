package cli

import (
	"fmt"
	"strings"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func gateCmd(a *app) *cobra.Command {
	return noun("gate", gateOpen(a), gateAnswer(a), gateList(a), gateShow(a), gateWithdraw(a), gateRelease(a), gateChange(a), gateReopen(a), gateDisown(a))
}

func gateOpen(a *app) *cobra.Command {
	var s scope
	var options, consequences, proof []string
	var severity, expires, askOf string
	c := &kernel.OpenGate{}
	return a.verbOf("open", "ask a person a question and say what waits for the answer", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		a.writeFlags(f)
		f.StringVar(&c.Question, "question", "", "the question, one line")
		f.StringVar(&c.Why, "why", "", "why it is asked")
		f.StringArrayVar(&options, "option", nil, "id=LABEL[:approve|reject|cancel|answer]; may be repeated (default: approve, reject, cancel)")
		f.StringArrayVar(&consequences, "consequence", nil, "id=what happens then; may be repeated")
		f.StringVar(&c.Kind, "kind", "", "production, publish, permission, destructive, private_read, write_scope, resource, direction, other")
		f.StringArrayVar(&c.Todos, "blocks-todo", nil, "todo that waits; may be repeated")
		f.StringVar(&c.LaneOf, "blocks-agent", "", "agent whose whole lane waits")
		f.BoolVar(&c.WholeGoal, "blocks-goal", false, "the whole goal waits")
		f.BoolVar(&c.Advisory, "advisory", false, "nothing waits")
		f.StringVar(&severity, "severity", "", "P0 to P3 (default: of what waits)")
		f.StringVar(&c.OnTimeout, "on-timeout", "", "what the date means: wait (it goes on asking), park (it goes on, unasked) or expire (default with --expires)")
		f.StringVar(&expires, "expires", "", "RFC 3339, or a duration from now")
		f.StringVar(&c.Fallback, "fallback", "", "what goes on meanwhile, in words")
		f.StringArrayVar(&proof, "evidence", nil, "proof for the person, for example check:TEXT, or file:PATH to fix what is in a file; may be repeated")
		f.StringVar(&askOf, "ask", "", "who is asked, never wider than the goal says: "+askUsage)
		f.StringVar(&c.Obligation, "replan-obligation-id", "", "replan that this question settles")
		f.StringVar(&c.Scope, "scope", "", "what an approval approves, kind:granularity:key; goal-wide ones stand for 30 days")
	}, func() error {
		c.Goal, c.Agent = s.goal, s.agent
		var err error
		if askOf != "" {
			asked, err := askPolicy("--ask", askOf)
			if err != nil {
				return err
			}
			c.Asked = &asked
		}
		if c.Options, err = gateOptions(options, consequences); err != nil {
			return err
		}
		if severity != "" {
			if c.Severity, err = priorityOf(severity); err != nil {
				return err
			}
		}
		if c.Expires, err = a.date("--expires", expires); err != nil {
			return err
		}
		if c.Evidence, err = evidence(proof); err != nil {
			return err
		}
		return a.openGate(c)
	})
}

// gateOptions reads id=LABEL[:outcome] and id=consequence.
func gateOptions(options, consequences []string) ([]kernel.Option, error) {
	var out []kernel.Option
	for _, s := range options {
		id, label, ok := strings.Cut(s, "=")
		if !ok {
			return nil, kernel.Errorf(kernel.Invalid, "bad_option", "--option %q must be id=LABEL or id=LABEL:approve, :reject, :cancel, :answer", show(s, 60))
		}
		o := kernel.Option{ID: id, Label: label}
		if i := strings.LastIndexByte(label, ':'); i >= 0 {
			switch label[i+1:] {
			case kernel.Approve, kernel.Reject, kernel.Cancel, kernel.Answer:
				o.Label, o.Outcome = label[:i], label[i+1:]
			}
		}
		out = append(out, o)
	}
next:
	for _, s := range consequences {
		id, text, _ := strings.Cut(s, "=")
		for i := range out {
			if out[i].ID == id {
				out[i].Consequence = text
				continue next
			}
		}
		return nil, kernel.Errorf(kernel.Invalid, "bad_consequence", "--consequence %q names no --option", show(s, 60))
	}
	return out, nil
}

func (a *app) openGate(c *kernel.OpenGate) error {
	rec, err := a.do(c, c.Agent, "")
	if err != nil {
		return err
	}
	return a.out(receipt(rec), func() string {
		return said(rec, fmt.Sprintf("%s waits for %s: %s", resultOf(rec, "code"), resultOf(rec, "waits_for"), show(c.Question, 60)))
	})
}

func gateAnswer(a *app) *cobra.Command {
	var s scope
	var until string
	c := &kernel.AnswerGate{}
	return a.verbOf("answer", "decide a gate: an owner's act", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Gate, "gate-id", "", "gate, by id or with --goal-id by code")
		f.StringVar(&c.Option, "option", "", "the answer's id")
		f.StringVar(&c.Reason, "reason", "", "why, in words")
		f.StringVar(&c.Grant, "grant", "", "what an approval of a scope leaves: action (nothing), goal (until --grant-until); default: what was asked")
		f.StringVar(&until, "grant-until", "", "RFC 3339, or a duration from now, 30 days at most")
	}, func() error {
		c.Goal = s.goal
		var err error
		if c.GrantUntil, err = a.date("--grant-until", until); err != nil {
			return err
		}
		return a.answer(c, nil)
	})
}

// answer decides a gate after the proof. A person at a terminal sees the gate
// first, and their answer is bound to what they saw. choose finds the option where
// the caller did not name one.
func (a *app) answer(c *kernel.AnswerGate, choose func(view.Gate) (string, error)) error {
	const act = "answering a gate"
	if err := a.noAgent(act, a.g.asOwner && a.interactive()); err != nil {
		return err
	}
	interactive := a.g.tokenFile == "" && !a.g.dryRun && a.interactive()
	var seen string
	word := c.Gate
	if choose != nil || interactive {
		g, err := ask[view.Gate](a, &view.GateOne{Goal: c.Goal, Gate: c.Gate})
		if err != nil {
			return err
		}
		if choose != nil {
			if c.Option, err = choose(g); err != nil {
				return err
			}
		}
		if interactive {
			c.Digest = g.Digest
		}
		seen, word = a.answerSeen(g, c.Option), g.Code
	}
	var by kernel.Actor
	var err error
	if a.g.dryRun {
		by, err = a.ownerPreview(act)
	} else {
		by, err = a.owner(act, func() string { return seen }, word)
	}
	if err != nil {
		return err
	}
	rec, err := a.doAs(c, by, "", a.g.dryRun)
	if err != nil {
		return err
	}
	return a.out(receipt(rec), func() string {
		if resultOf(rec, "pending") == "press" {
			return said(rec, resultOf(rec, "code")+" waits for a press on its card: your answer is kept until then")
		}
		if n := resultOf(rec, "missing"); n != "" {
			return said(rec, fmt.Sprintf("%s: your answer counts, %s more must agree", resultOf(rec, "code"), n))
		}
		return said(rec, fmt.Sprintf("%s is decided: %s", resultOf(rec, "code"), resultOf(rec, "option")))
	})
}

// answerSeen is what a person confirms: the question, who asks, and what the
// answer does.
func (p *printer) answerSeen(g view.Gate, option string) string {
	b := p.bold(show(g.Question, 240)) + "\n" + g.AskedBy + " asks, for " + show(g.GoalTitle, 60) + "\n"
	if g.Why != "" {
		b += quoted(g.Why)
	}
	for _, o := range g.Options {
		if o.ID == option {
			b += "Your answer: " + show(o.Label, 60) + " (" + mark(o.Outcome) + ")"
			if o.Consequence != "" {
				b += " " + show(o.Consequence, 200)
			}
			b += "\n"
		}
	}
	return b + blocksLine(g)
}

// mark is the kernel's own word for what an option does.
func mark(outcome string) string {
	return map[string]string{kernel.Approve: "approves", kernel.Reject: "rejects", kernel.Cancel: "cancels", kernel.Answer: "answers"}[outcome]
}

func blocksLine(g view.Gate) string {
	switch {
	case g.Blocks.WholeGoal:
		return "Blocks the whole goal\n"
	case g.Blocks.Agent != "":
		return "Blocks the lane of " + g.Blocks.Agent + "\n"
	case len(g.Blocks.Todos) > 0:
		return fmt.Sprintf("Blocks %d of %s · %s\n", len(g.Blocks.Todos), count(g.Blocks.OpenTodos, "todo", "todos"), others(g.Blocks.OthersGo))
	}
	return "Blocks nothing\n"
}

func others(n int) string {
	if n == 1 {
		return "1 other goes on"
	}
	return fmt.Sprintf("%d others go on", n)
}

func gateList(a *app) *cobra.Command {
	var s scope
	q := &view.Gates{}
	return a.verbOf("list", "gates that wait for an answer", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		f.BoolVar(&q.All, "all", false, "decided and closed ones too")
		f.IntVar(&q.Limit, "limit", 0, "how many (default 100)")
	}, func() error {
		q.Goal = s.goal
		v, raw, err := askRaw[view.GatesView](a, q)
		if noWorkspace(err) && s.goal == "" {
			v, raw, err = view.GatesView{}, []byte(`{"gates":[]}`), nil
		}
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			if len(v.Gates) == 0 {
				return "Nothing waits for you.\n"
			}
			rows := make([][]string, 0, len(v.Gates))
			for _, g := range v.Gates {
				state := gateState(g)
				rows = append(rows, []string{g.Code, cut(g.Goal, 16), state, prio(g.Severity), a.age(g.Asked), show(g.Question, 60), askedOther(g)})
			}
			return a.screen(rows, q.All, "loopx gate list --all")
		})
	})
}

// gateState is a word and a shape.
func gateState(g view.Gate) string {
	switch g.Status {
	case kernel.GateOpen:
		if g.Parked {
			return "◌ parked"
		}
		return "○ open"
	case kernel.GateAnswered:
		return "● decided"
	case "expired":
		return "✕ expired"
	}
	return "◌ " + g.Status
}

func gateShow(a *app) *cobra.Command {
	var s scope
	q := &view.GateOne{}
	return a.verbOf("show", "one gate with its options", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		f.StringVar(&q.Gate, "gate-id", "", "gate, by id or with --goal-id by code")
	}, func() error {
		q.Goal = s.goal
		g, raw, err := askRaw[view.Gate](a, q)
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string { return a.gateText(g) })
	})
}

func (p *printer) gateText(g view.Gate) string {
	b := p.bold(show(g.Question, 240)) + "\n" + g.AskedBy + " asks, for " + show(g.GoalTitle, 60) + "\n"
	if g.Why != "" {
		b += quoted(g.Why)
	}
	if g.Answer == nil {
		rows := make([][]string, 0, len(g.Options))
		for _, o := range g.Options {
			rows = append(rows, []string{"▸ " + o.ID, show(o.Label, 30), "(" + mark(o.Outcome) + ")", show(o.Consequence, 100)})
		}
		b += p.table(rows)
	} else {
		b += fmt.Sprintf("%s by %s, %s\n", show(g.Answer.Label, 60), show(g.Answer.Name, 40), p.clock(g.Answer.At))
	}
	b += blocksLine(g)
	for _, e := range g.Evidence {
		b += "Evidence: " + show(e.Summary, 100) + " · " + p.age(e.Observed) + doubted(e) + "\n"
	}
	b += "Asks " + askedWho(g) + "\n" + p.votes(g)
	if a := g.Pending; a != nil {
		b += "Waits for a press: " + show(a.Name, 40) + " says " + show(a.Label, 60) + ", " + p.clock(a.At) + "\n"
	}
	for _, old := range g.Past {
		b += fmt.Sprintf("Before: %s by %s, %s (%s)\n", show(old.Answer.Label, 60), show(old.Answer.Name, 40), p.clock(old.Answer.At), strings.ReplaceAll(old.Why, "_", " "))
	}
	expires := "never"
	if g.Expires > 0 && g.OnTimeout == "expire" {
		expires = p.clock(g.Expires)
	}
	b += fmt.Sprintf("%s · %s · asked %s · expires %s\n", g.Code, gateState(g), p.clock(g.Asked), expires)
	if g.Status == kernel.GateOpen {
		b += "  answer: loopx gate answer --gate-id " + g.ID + " --option ID\n"
	}
	return b
}

func gateWithdraw(a *app) *cobra.Command {
	var s scope
	c := &kernel.WithdrawGate{}
	return a.verbOf("withdraw", "take a question back; what it blocks stays blocked", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Gate, "gate-id", "", "gate")
		f.StringVar(&c.Reason, "reason", "", "why")
	}, func() error {
		c.Goal, c.Agent = s.goal, s.agent
		by := client.ActorOf(s.agent, false)
		if a.g.tokenFile != "" || a.g.asOwner {
			var err error
			if by, err = a.owner("withdrawing another's gate", func() string { return "The question is taken back; what it blocks stays blocked." }, c.Gate); err != nil {
				return err
			}
			c.Agent = ""
		}
		rec, err := a.doAs(c, by, "", a.g.dryRun)
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string { return said(rec, resultOf(rec, "code")+" is withdrawn; what it blocked stays blocked") })
	})
}

func gateRelease(a *app) *cobra.Command {
	var s scope
	c := &kernel.ReleaseGate{}
	return a.verbOf("release", "let go what a closed or expired gate still holds back: an owner's act", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Gate, "gate-id", "", "gate")
		f.StringVar(&c.Reason, "reason", "", "why")
	}, func() error {
		c.Goal = s.goal
		return a.ownerAct(c, true, "releasing what a gate holds back", "What "+show(c.Gate, 60)+" holds back goes on without an answer.", c.Gate,
			func(rec kernel.Receipt) string { return "what " + resultOf(rec, "code") + " held back goes on" })
	})
}
