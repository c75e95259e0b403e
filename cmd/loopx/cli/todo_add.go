package cli

import (
	"fmt"
	"strings"

	"loopx/kernel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addArgs are the flags of `todo add`, ours and the reference's.
type addArgs struct {
	scope
	text, textFile, role, class, priority string
	cadence, expires, target, altTarget   string
	claimer, validation, validationJSON   string
	needScopes                            []string
	// of a gate (--role user --task-class user_gate)
	blocksAgent, unblocks string
	global                bool
	cmd                   kernel.AddTodo
}

func todoAdd(a *app) *cobra.Command {
	x := &addArgs{}
	return a.argVerb("add [-- VALIDATION...]", "put work, a watch or a request to a person on the plan", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &x.scope)
		a.writeFlags(f)
		f.StringVar(&x.text, "text", "", "its first line is the title; [P0] to [P3] in front is the priority")
		f.StringVar(&x.textFile, "text-file", "", "read the text from a file, or - for standard input")
		f.StringVar(&x.role, "role", "agent", "agent or user")
		f.StringVar(&x.class, "task-class", "", "advancement_task, continuous_monitor; of a user: user_gate, user_action")
		f.StringVar(&x.priority, "priority", "", "P0 to P3 (default P2)")
		f.StringArrayVar(&x.cmd.After, "after", nil, "todo it comes after; may be repeated")
		f.StringArrayVar(&x.cmd.Capabilities, "required-capability", nil, "what its agent must be able to do; may be repeated")
		f.StringArrayVar(&x.cmd.Write, "required-write-scope", nil, "glob it writes; may be repeated")
		f.StringArrayVar(&x.cmd.Excluded, "excluded-agent", nil, "agent that may not take it; may be repeated")
		f.StringVar(&x.claimer, "claimed-by", "", "agent that takes it at once")
		f.StringVar(&x.cmd.ResumeWhen, "resume-when", "", "park it until todo_done:ID, gate:ID, date:RFC3339 or event:KEY")
		f.StringVar(&x.cadence, "cadence", "", "of a monitor: how often to look, 1m to 366d")
		f.StringVar(&x.expires, "expires-at", "", "of a monitor: when it ends")
		f.BoolVar(&x.cmd.WatchOnly, "watch-only", false, "of a monitor: it has no end of its own")
		f.StringVar(&x.target, "target-key", "", "of a monitor: what is looked at")
		f.StringVar(&x.altTarget, "monitor-target-key", "", "")
		f.StringVar(&x.cmd.Note, "note", "", "note")
		f.StringVar(&x.cmd.Obligation, "replan-obligation-id", "", "replan that this todo settles")
		f.StringVar(&x.validationJSON, "validation-command-json", "", "program that must pass before completion, as a JSON array")
		f.StringVar(&x.validation, "validation-command", "", "the same, as words without quotes")
		f.StringArrayVar(&x.cmd.Scopes, "needs-scope", nil, "approval it needs, kind:granularity:key (publish:goal:website); may be repeated")
		f.StringArrayVar(&x.needScopes, "required-decision-scope", nil, "the same as --needs-scope")
		f.StringVar(&x.blocksAgent, "blocks-agent", "", "of a gate: whose lane it holds back")
		f.StringVar(&x.unblocks, "unblocks-todo-id", "", "of a gate: the todo it holds back")
		f.BoolVar(&x.global, "global-gate", false, "of a gate: it holds the whole goal back")
		_ = f.MarkHidden("monitor-target-key")
		a.acceptUnused(f, todoFlags)
	}, afterDash, func(rest []string) error { return a.add(x, rest) })
}

// afterDash allows words only behind --.
func afterDash(c *cobra.Command, args []string) error {
	if n := c.ArgsLenAtDash(); n >= 0 {
		args = args[:n]
	}
	return noArgs(c, args)
}

func (a *app) add(x *addArgs, rest []string) error {
	if x.textFile != "" {
		if x.text != "" {
			return kernel.Errorf(kernel.Invalid, "usage", "the text is given twice: --text and --text-file")
		}
		var err error
		if x.text, err = a.readText(x.textFile); err != nil {
			return err
		}
	}
	title, body, p := splitText(x.text)
	if x.priority != "" {
		var err error
		if p, err = priorityOf(x.priority); err != nil {
			return err
		}
	}
	x.cmd.Scopes = append(x.cmd.Scopes, x.needScopes...)
	switch x.role + " " + x.class {
	case "user user_gate":
		return a.addGate(x, title, body, p)
	case "user user_action", "agent blocker":
		x.cmd.Class = kernel.Ask
	case "agent ", "agent advancement_task":
		x.cmd.Class = kernel.Work
	case "agent continuous_monitor":
		x.cmd.Class = kernel.Monitor
	case "user ":
		return kernel.Errorf(kernel.Invalid, "task_class_missing", "a todo of a user says whether it must be decided first").
			Try("add --task-class user_gate (it blocks) or --task-class user_action (it does not)")
	default:
		return kernel.Errorf(kernel.Invalid, "bad_task_class", "role %q takes no task class %q", show(x.role, 20), show(x.class, 40)).
			Try("use agent with advancement_task or continuous_monitor, user with user_gate or user_action")
	}
	if x.blocksAgent != "" || x.unblocks != "" || x.global {
		return kernel.Errorf(kernel.Invalid, "gate_flags", "only a gate holds work back").Try("add --role user --task-class user_gate, or use loopx gate open")
	}
	return a.addTodo(x, title, body, p, rest)
}

func (a *app) addTodo(x *addArgs, title, body string, p *int, rest []string) error {
	c := &x.cmd
	c.Goal, c.Agent, c.Title, c.Body, c.Priority = x.goal, x.agent, title, body, p
	c.Target = x.target
	if c.Target == "" {
		c.Target = x.altTarget
	}
	var err error
	if c.CadenceMS, err = span("--cadence", x.cadence); err != nil {
		return err
	}
	if c.Expires, err = a.date("--expires-at", x.expires); err != nil {
		return err
	}
	if c.Validation, err = x.program(rest); err != nil {
		return err
	}
	rec, err := a.do(c, x.agent, "")
	if err != nil {
		return err
	}
	f := receipt(rec)
	id := resultOf(rec, "todo_id")
	text := said(rec, fmt.Sprintf("%s was added: %s (%s)", id, show(title, 50), prioOf(rec)))
	if g := resultOf(rec, "gate_id"); g != "" {
		text += "it waits for a decision: loopx gate show --gate-id " + g + "\n"
	}
	if x.claimer != "" && !rec.Preview {
		if err := a.claimNew(x, id, f); err != nil {
			return err
		}
		text += id + " is held by " + show(x.claimer, 80) + "\n"
	}
	return a.out(f, func() string { return text })
}

func prioOf(rec kernel.Receipt) string { return "P" + resultOf(rec, "priority") }

// claimNew takes a todo right after it was added. It is a second command: when it
// is refused the todo stays, and the refusal says so.
func (a *app) claimNew(x *addArgs, id string, f *fields) error {
	if a.g.key != "" {
		a.g.key += ".claim"
	}
	rec, err := a.do(&kernel.ClaimTodo{Goal: x.goal, Todo: id, Agent: x.claimer}, x.claimer, "")
	if err != nil {
		e := *kernel.AsError(err)
		e.Kept = id + " was added and is not claimed"
		return e.With("todo_id", id)
	}
	add := newFields().add(rec.Result)
	for _, name := range []string{"claimed_by", "lease"} {
		f.set(name, add.values[name])
	}
	return nil
}

func (x *addArgs) program(rest []string) ([]string, error) {
	if x.validation == "" {
		return argv("--validation-command-json", x.validationJSON, rest)
	}
	if x.validationJSON != "" || len(rest) > 0 {
		return nil, kernel.Errorf(kernel.Invalid, "usage", "the validation is given twice")
	}
	if strings.ContainsAny(x.validation, "|&;<>()$`\\\"'*?[]#~=%\n") {
		return nil, kernel.Errorf(kernel.Invalid, "bad_argv", "--validation-command is run without a shell, so it can hold no quotes, variables or operators").
			Try(`use --validation-command-json '["program","argument"]'`)
	}
	return strings.Fields(x.validation), nil
}

// addGate is the reference's way to open a gate.
func (a *app) addGate(x *addArgs, question, why string, p *int) error {
	c := &kernel.OpenGate{Goal: x.goal, Agent: x.agent, Question: question, Why: why, Severity: p, LaneOf: x.blocksAgent, WholeGoal: x.global, Obligation: x.cmd.Obligation}
	if x.unblocks != "" {
		c.Todos = []string{x.unblocks}
	}
	return a.openGate(c)
}

// splitText reads what people and runners write into one argument: [P1] in front
// is the priority, the first line (cut at 240 characters) the title, and where
// that is not all of it, the whole goes to the body.
func splitText(text string) (title, body string, p *int) {
	text = strings.TrimSpace(text)
	if len(text) > 4 && text[0] == '[' && (text[1] == 'P' || text[1] == 'p') && text[3] == ']' {
		if n, err := priorityOf(text[1:3]); err == nil {
			p, text = n, strings.TrimSpace(text[4:])
		}
	}
	title, _, _ = strings.Cut(text, "\n")
	title = strings.TrimSpace(title)
	n := 0
	for i := range title {
		if n == 240 {
			title = strings.TrimSpace(title[:i])
			break
		}
		n++
	}
	if title != text {
		body = text
	}
	return title, body, p
}
