package cli

import (
	"fmt"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func todoCmd(a *app) *cobra.Command {
	return noun("todo", todoAdd(a), todoClaim(a), todoUpdate(a), todoComplete(a), todoSupersede(a), todoTransfer(a), todoList(a), todoShow(a))
}

// todoRef are the flags that name one todo and the caller's right to it.
type todoRef struct {
	scope
	todo    string
	turn    string
	lease   string
	claimer string
}

func (a *app) todoFlags(f *pflag.FlagSet, t *todoRef) {
	a.scopeFlags(f, &t.scope)
	a.writeFlags(f)
	f.StringVar(&t.todo, "todo-id", "", "todo")
	f.StringVar(&t.turn, "turn-instance-id", "", "turn it belongs to")
	a.envFlag(f, &t.lease, "lease-token", "LOOPX_LEASE", "token of the lease (else LOOPX_LEASE)")
	a.envFlag(f, &t.lease, "task-lease-idempotency-key", "LOOPX_LEASE", "")
	_ = f.MarkHidden("task-lease-idempotency-key")
}

// actor is the agent that --agent-id and --claimed-by name together.
func (t *todoRef) actor() (string, error) {
	if t.claimer != "" && t.agent != "" && t.claimer != t.agent {
		return "", kernel.Errorf(kernel.Denied, "claim_for_other", "%s cannot claim for %s", show(t.agent, 80), show(t.claimer, 80)).Try("let %s claim it", show(t.claimer, 80))
	}
	if t.agent == "" {
		return t.claimer, nil
	}
	return t.agent, nil
}

func todoClaim(a *app) *cobra.Command {
	var t todoRef
	var lease, session, note string
	var hold bool
	return a.verbOf("claim", "take a todo as a lease", func(f *pflag.FlagSet) {
		a.todoFlags(f, &t)
		f.StringVar(&t.claimer, "claimed-by", "", "the same as --agent-id; with --hold person:ID")
		f.BoolVar(&hold, "hold", false, "a person takes it, without a deadline: an owner's act")
		a.ownerFlags(f)
		f.StringVar(&lease, "lease", "", "how long, 1m to 24h (default 45m)")
		a.envFlag(f, &session, "session", "LOOPX_SESSION", "session it is taken in (else LOOPX_SESSION)")
		f.StringVar(&note, "note", "", "note")
		a.acceptUnused(f, todoFlags)
	}, func() error {
		if p := kernel.PersonOf(t.claimer); p != "" || hold {
			if p == "" || !hold || lease != "" {
				return kernel.Errorf(kernel.Invalid, "bad_hold", "a person takes a todo with --claimed-by person:ID --hold, and without --lease").Try("loopx todo claim --goal-id %s --todo-id %s --claimed-by person:owner --hold", show(t.goal, 64), show(t.todo, 80))
			}
			return holdTodo(a, t.goal, t.todo, p, note, false)
		}
		agent, err := t.actor()
		if err != nil {
			return err
		}
		ms, err := span("--lease", lease)
		if err != nil {
			return err
		}
		rec, err := a.do(&kernel.ClaimTodo{Goal: t.goal, Todo: t.todo, Agent: agent, Turn: t.turn, Session: session, LeaseMS: ms, Note: note}, agent, t.turn)
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string {
			return said(rec, fmt.Sprintf("%s is held by %s: %s", t.todo, resultOf(rec, "claimed_by"), show(resultOf(rec, "title"), 50)))
		})
	})
}

func todoUpdate(a *app) *cobra.Command {
	var t todoRef
	var text, note, reason, priority string
	var proof []string
	c := &kernel.UpdateTodo{}
	return a.verbOf("update", "note progress, change, park, reopen, or give the claim back", func(f *pflag.FlagSet) {
		a.todoFlags(f, &t)
		f.StringVar(&t.claimer, "claimed-by", "", "person:ID with --clear-claim: that person's hold is given back")
		a.ownerFlags(f)
		f.StringVar(&text, "text", "", "new text: its first line is the title")
		f.StringVar(&note, "note", "", "note")
		f.StringVar(&reason, "reason", "", "the same as --note")
		f.StringVar(&priority, "priority", "", "P0 to P3")
		f.StringVar(&c.Status, "status", "", "open or deferred")
		f.StringVar(&c.ResumeWhen, "resume-when", "", "todo_done:ID, gate:ID, date:RFC3339 or event:KEY")
		f.BoolVar(&c.ClearClaim, "clear-claim", false, "give the claim back")
		f.StringArrayVar(&proof, "evidence", nil, "proof, for example check:TEXT; may be repeated")
		a.acceptUnused(f, todoFlags)
	}, func() error {
		if p := kernel.PersonOf(t.claimer); p != "" && c.ClearClaim {
			return holdTodo(a, t.goal, t.todo, p, note, true)
		}
		if t.claimer != "" && t.claimer != t.agent {
			return kernel.Errorf(kernel.Invalid, "use_transfer", "an update does not hand a todo to another agent").
				Try("loopx todo transfer --goal-id %s --todo-id %s --to %s", show(t.goal, 64), show(t.todo, 80), show(t.claimer, 80))
		}
		c.Goal, c.Todo, c.Agent, c.Turn, c.Lease = t.goal, t.todo, t.agent, t.turn, t.lease
		if note == "" {
			note = reason
		}
		if note != "" {
			c.Note = &note
		}
		var err error
		if priority != "" {
			if c.Priority, err = priorityOf(priority); err != nil {
				return err
			}
		}
		if text != "" {
			title, body, p := splitText(text)
			c.Title, c.Body = &title, &body
			if c.Priority == nil {
				c.Priority = p
			}
		}
		if c.Evidence, err = evidence(proof); err != nil {
			return err
		}
		rec, err := a.do(c, t.agent, "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string { return said(rec, t.todo+" was updated: "+show(resultOf(rec, "title"), 50)) })
	})
}

func todoSupersede(a *app) *cobra.Command {
	var t todoRef
	var reason, note string
	c := &kernel.SupersedeTodo{}
	return a.verbOf("supersede", "replace a todo by another that inherits what guards it", func(f *pflag.FlagSet) {
		a.todoFlags(f, &t)
		f.StringVar(&c.Next, "next-agent-todo", "", "title of the new todo")
		f.StringVar(&c.Obligation, "replan-obligation-id", "", "replan that this settles")
		f.StringVar(&reason, "reason", "", "why")
		f.StringVar(&note, "note", "", "the same as --reason")
		a.acceptUnused(f, todoFlags)
	}, func() error {
		c.Goal, c.Todo, c.Agent, c.Turn, c.Lease, c.Reason = t.goal, t.todo, t.agent, t.turn, t.lease, reason
		if c.Reason == "" {
			c.Reason = note
		}
		rec, err := a.do(c, t.agent, "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string { return said(rec, t.todo+" is replaced by "+resultOf(rec, "superseded_by")) })
	})
}

func todoList(a *app) *cobra.Command {
	var s scope
	q := &view.Todos{}
	var all bool
	var only string
	return a.verbOf("list", "the todos of a goal", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		f.StringVar(&q.Status, "status", "", "open, ready, claimed, blocked, deferred, done or all (default: all but done)")
		f.IntVar(&q.Limit, "limit", 0, "how many (default 100, at most 1000)")
		f.BoolVar(&all, "all", false, "the whole list, done ones too")
		f.StringVar(&only, "todo-id", "", "only this one")
		a.acceptUnused(f, todoFlags)
	}, func() error {
		if only != "" {
			return a.showTodo(s.goal, only)
		}
		q.Goal = s.goal
		if all && q.Status == "" {
			q.Status, q.Limit = "all", max(q.Limit, 1000)
		}
		v, raw, err := askRaw[view.TodosView](a, q)
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			if len(v.Todos) == 0 {
				return "Nothing here.\n  try: loopx todo add --goal-id " + v.GoalID + " --text TEXT\n"
			}
			rows := make([][]string, 0, len(v.Todos))
			for _, t := range v.Todos {
				rows = append(rows, []string{t.ID, prio(t.Priority), t.StateOf, holder(t), show(t.Title, 60)})
			}
			text := a.screen(rows, all, "loopx todo list --goal-id "+v.GoalID+" --all")
			if v.More {
				text += "… and more: loopx todo list --goal-id " + v.GoalID + " --limit 1000\n"
			}
			return text
		})
	})
}

// holder says in one phrase who or what a todo waits for or belongs to.
func holder(t view.Todo) string {
	switch {
	case len(t.BlockedBy) > 0:
		codes := make([]string, 0, len(t.BlockedBy))
		for _, g := range t.BlockedBy {
			codes = append(codes, g.Code)
		}
		return cut(strings.Join(codes, " "), 16)
	case len(t.WaitsFor) > 0:
		return cut("after "+t.WaitsFor[0], 20)
	case t.ClaimedBy != "":
		return cut(t.ClaimedBy, 16)
	}
	return ""
}

func todoShow(a *app) *cobra.Command {
	var s scope
	var id string
	return a.verbOf("show", "one todo", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		f.StringVar(&id, "todo-id", "", "todo")
	}, func() error { return a.showTodo(s.goal, id) })
}

func (a *app) showTodo(goal, id string) error {
	v, raw, err := askRaw[view.Todo](a, &view.TodoOne{Goal: goal, Todo: id})
	if err != nil {
		return err
	}
	return a.out(newFields().add(raw), func() string {
		rows := [][]string{{"Todo", v.ID + "  " + prio(v.Priority) + "  " + v.Class}, {"State", v.StateOf}}
		add := func(name, value string) {
			if value != "" {
				rows = append(rows, []string{name, value})
			}
		}
		if v.Hold {
			add("Held by", v.ClaimedBy)
		} else if v.ClaimedBy != "" {
			add("Held by", fmt.Sprintf("%s until %s", v.ClaimedBy, a.clock(v.ClaimUntil)))
		}
		for _, g := range v.BlockedBy {
			add("Waits for", g.Code+" ("+g.State+")")
		}
		for _, id := range v.WaitsFor {
			add("Comes after", id)
		}
		add("Parked until", show(v.ResumeWhen, 100))
		add("Note", show(v.Note, 200))
		for _, e := range v.Evidence {
			add("Evidence", show(e.Summary, 100)+" · "+a.age(e.Observed)+doubted(e))
		}
		if v.Done != nil {
			add("Done by", v.Done.By+" "+a.clock(v.Done.At))
		}
		add("Replaced by", v.Superseded)
		text := a.bold(show(v.Title, 200)) + "\n" + a.table(rows)
		if v.Body != "" {
			text += quoted(v.Body)
		}
		return text
	})
}

// quoted puts text of others into a frame whose lines it cannot leave.
func quoted(s string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\r\n", "\n"), "\n") {
		b.WriteString("  | " + show(line, 400) + "\n")
	}
	return b.String()
}
