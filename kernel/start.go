package kernel

import (
	"encoding/json"
	"slices"
	"strings"

	"loopx/kernel/store"
)

// Limits of a goal: what its work may write. The kernel holds every todo that says
// what it writes to them; what a program does behind the kernel's back is for its
// host's permissions to stop.
const (
	ReportOnly = "report_only" // nothing is written
	DraftOnly  = "draft_only"  // only what the goal's write scope names is written
	WatchOnly  = "watch_only"  // there is no work, only monitors and requests to people
	AskFirst   = "ask_first"   // what writes waits for an owner's approval, once for the goal
)

func checkLimit(s string) error {
	if s == "" {
		return nil
	}
	return oneOf("limit", s, ReportOnly, DraftOnly, WatchOnly, AskFirst)
}

// hold keeps a new todo within the goal's limit.
func (g *Goal) hold(v *Todo) error {
	switch {
	case g.Limit == WatchOnly && v.Class == Work:
		return Errorf(Conflict, "limit_watch_only", "%s only watches: it takes monitors and requests to people", g.ID).
			Try("add a request to a person with --role user --task-class user_action, or let the owner change it: loopx configure-goal --goal-id %s --limit none", g.ID)
	case g.Limit == ReportOnly && len(v.Write) > 0:
		return Errorf(Conflict, "limit_report_only", "%s only reports: no work of it writes files", g.ID).
			Try("add it without a write scope, or let the owner change it: loopx configure-goal --goal-id %s --limit none", g.ID)
	case g.Limit == DraftOnly:
		for _, w := range v.Write {
			if !slices.ContainsFunc(g.Write, func(glob string) bool { return globCovers(glob, w) }) {
				return Errorf(Conflict, "limit_draft_only", "%s only drafts: it writes %s, and not %s", g.ID, or(strings.Join(g.Write, ", "), "nothing"), show(w)).
					Try("write there, or let the owner change it: loopx configure-goal --goal-id %s --limit none", g.ID)
			}
		}
	case g.Limit == AskFirst && len(v.Write) > 0:
		v.Scopes = uniq(append(v.Scopes, "write_scope:goal:"+g.ID))
	}
	return nil
}

// globCovers: the same pattern, or a folder and all below it. Other patterns are
// not compared: what is not surely covered is not.
func globCovers(have, want string) bool {
	dir, all := strings.CutSuffix(have, "**")
	return have == want || all && (dir == "" || strings.HasSuffix(dir, "/")) && strings.HasPrefix(want, dir) && !slices.Contains(strings.Split(want, "/"), "..")
}

// limitWords tell an agent what the limit of its goal means for its turn.
func (g *Goal) limitWords() string {
	switch g.Limit {
	case ReportOnly:
		return " This goal only reports: change no file and nothing outside."
	case DraftOnly:
		return " This goal only drafts: write nothing but " + brief(strings.Join(g.Write, ", "), 100) + ", and publish nothing."
	case WatchOnly:
		return " This goal only watches: change nothing."
	case AskFirst:
		return " Before this goal changes files its owner is asked: report first."
	}
	return ""
}

// StartGoal makes a goal with its agents and its first todos in one transaction:
// all of it or nothing. Each part has its own record, as if it came alone.
type StartGoal struct {
	Create CreateGoal      `json:"create"`
	Agents []RegisterAgent `json:"agents,omitempty"`
	Todos  []AddTodo       `json:"todos,omitempty"`
}

// startMost bounds the todos that a goal starts with.
const startMost = 32

// Name implements Command.
func (*StartGoal) Name() string { return "goal.start" }

// decide is not used: DoTx runs the parts.
func (c *StartGoal) decide(*reader, *env) (*decided, error) {
	return nil, Errorf(Internal, "internal", "a goal is started in parts")
}

// parts are the commands a start is made of. A goal's first agents come with
// their host, so they are registered and not created with it.
func (c *StartGoal) parts() []Command {
	create := c.Create
	out := []Command{&create}
	for _, a := range c.Agents {
		a.Goal = c.Create.Goal
		out = append(out, &a)
	}
	for _, v := range c.Todos {
		v.Goal = c.Create.Goal
		out = append(out, &v)
	}
	return out
}

// startGoal runs the parts of a StartGoal in the caller's transaction.
func (k *Kernel) startGoal(tx store.Tx, c *StartGoal, opt Options) (Receipt, error) {
	if len(c.Todos) > startMost || len(c.Agents) > memberMax {
		return Receipt{}, Errorf(Invalid, "too_many", "a goal starts with at most %d todos and %d agents", startMost, memberMax)
	}
	plan := "plan_" + digest([]any{c.Name(), c})[:12]
	if opt.Plan != "" && opt.Plan != plan {
		return Receipt{}, Errorf(Stale, "plan_stale", "what the command would do has changed since it was shown").Try("preview it again")
	}
	out := Receipt{Command: c.Name(), Replay: true}
	result := map[string]any{"goal_id": c.Create.Goal}
	agents, todos, gates := []string{}, []json.RawMessage{}, []string{}
	for i, p := range c.parts() {
		part := opt
		part.Plan, part.Preview = "", false // of a preview the caller rolls all of it back
		if opt.Key != "" {
			part.Key = opt.Key + "/" + utoa(uint64(i))
		}
		rec, err := k.DoTx(tx, p, part)
		if err != nil {
			return Receipt{}, err
		}
		out.Replay, out.Changed = out.Replay && rec.Replay, out.Changed || rec.Changed
		out.ID, out.Seq, out.At = rec.ID, rec.Seq, rec.At
		var told struct {
			Title string `json:"title"`
			Agent string `json:"agent_id"`
			Gate  string `json:"gate_id"`
		}
		if err := json.Unmarshal(rec.Result, &told); err != nil {
			return Receipt{}, err
		}
		switch p.(type) {
		case *CreateGoal:
			result["title"] = told.Title
		case *RegisterAgent:
			agents = append(agents, told.Agent)
		case *AddTodo:
			todos = append(todos, rec.Result)
			if told.Gate != "" {
				gates = append(gates, told.Gate)
			}
		}
		if opt.Preview {
			r, err := k.ReaderOf(tx)
			if err != nil {
				return Receipt{}, err
			}
			out.Changes = append(out.Changes, r.changesOf(rec.Seq)...)
		}
	}
	result["agents"], result["todos"], result["gates"] = append(uniq(c.Create.Agents), agents...), todos, gates
	var err error
	if out.Result, err = Marshal(result); err != nil {
		return Receipt{}, err
	}
	if opt.Preview {
		out.ID, out.Seq, out.At, out.Preview, out.Replay, out.Plan = "", 0, 0, true, false, plan
	}
	return out, nil
}

// changesOf shows the rows that a record has just made.
func (r *Reader) changesOf(seq uint64) []Change {
	rec := r.Record(seq)
	if rec == nil {
		return nil
	}
	var out []Change
	for i := range rec.Events {
		c := Change{Event: rec.Events[i].Type}
		if key := rec.Events[i].row(); key != nil {
			c.After = append(json.RawMessage(nil), r.raw(key)...)
		}
		out = append(out, c)
	}
	return out
}
