package view

import (
	"slices"

	"loopx/kernel"
)

// Todo is a todo with what is derived about it.
type Todo struct {
	ID       string          `json:"todo_id"`
	Goal     string          `json:"goal_id"`
	Title    string          `json:"title"`
	Body     string          `json:"body,omitempty"`
	Class    string          `json:"class"`
	Priority kernel.Priority `json:"priority"`
	// Status is in the reference's words: open, blocked, deferred, done.
	Status string `json:"status"`
	// StateOf is ours: ready, claimed, gated, blocked, waiting, deferred,
	// watching, asked, done, superseded.
	StateOf    string `json:"state_of"`
	ClaimedBy  string `json:"claimed_by,omitempty"`
	ClaimUntil int64  `json:"claim_until,omitempty"`
	ClaimSince int64  `json:"claim_since,omitempty"`
	// Hold says that a person holds it, without a deadline.
	Hold       bool             `json:"hold,omitempty"`
	BlockedBy  []GateRef        `json:"blocked_by,omitempty"`
	WaitsFor   []string         `json:"waits_for,omitempty"`
	After      []string         `json:"after,omitempty"`
	Scopes     []string         `json:"scopes,omitempty"`
	Excluded   []string         `json:"excluded_agents,omitempty"`
	ResumeWhen string           `json:"resume_when,omitempty"`
	Watch      *kernel.Watch    `json:"watch,omitempty"`
	Validation []string         `json:"validation,omitempty"`
	Evidence   []Evidence       `json:"evidence,omitempty"`
	Note       string           `json:"note,omitempty"`
	Done       *kernel.DoneInfo `json:"done,omitempty"`
	Superseded string           `json:"superseded_by,omitempty"`
	AddedBy    string           `json:"added_by"`
	Revision   uint64           `json:"revision"`
	Created    int64            `json:"created"`
	Updated    int64            `json:"updated"`
}

// GateRef names a gate and says how its block stands.
type GateRef struct {
	ID    string `json:"gate_id"`
	Code  string `json:"code"`
	State string `json:"state"` // open, expired, withdrawn, reject, cancel
}

// Evidence is a piece of proof with its freshness.
type Evidence struct {
	ID       string `json:"evidence_id"`
	Todo     string `json:"todo_id,omitempty"`
	Agent    string `json:"agent"`
	Kind     string `json:"kind"`
	Summary  string `json:"summary"`
	Ref      string `json:"ref,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Observed int64  `json:"observed_at"`
	Stale    bool   `json:"stale,omitempty"`
	// Loose says that what it points to may have changed since: no digest of its
	// contents stands beside it.
	Loose bool `json:"contents_not_fixed,omitempty"`
}

// EvidenceOf shows a stored piece of evidence.
func EvidenceOf(r *kernel.Reader, e *kernel.Evidence) Evidence {
	return Evidence{ID: e.ID, Todo: e.Todo, Agent: e.Agent, Kind: e.Kind, Summary: e.Summary, Ref: e.Ref, Digest: e.Digest, Observed: e.Observed, Stale: e.Stale(r.Now()), Loose: !e.Fixed()}
}

func evidenceList(r *kernel.Reader, goal string, ids []string) []Evidence {
	var out []Evidence
	for _, id := range ids {
		if e := r.Evidence(goal, id); e != nil {
			out = append(out, EvidenceOf(r, e))
		}
	}
	return out
}

// TodoOf derives what is shown about a todo.
func TodoOf(r *kernel.Reader, v *kernel.Todo) Todo {
	t := Todo{
		ID: v.ID, Goal: v.Goal, Title: v.Title, Body: v.Body, Class: v.Class, Priority: v.Priority, Status: v.Status,
		After: v.After, Scopes: v.Scopes, Excluded: v.Excluded, ResumeWhen: v.ResumeWhen, Watch: v.Watch, Validation: v.Validation,
		Note: v.Note, Done: v.Done, Superseded: v.SupersededBy, AddedBy: v.AddedBy, Revision: v.Revision, Created: v.Created, Updated: v.Updated,
		WaitsFor: r.WaitsFor(v.Goal, v.ID), Evidence: evidenceList(r, v.Goal, v.Evidence),
	}
	if c := r.Claim(v.Goal, v.ID); c.Holds(r.Steady()) {
		t.ClaimedBy, t.ClaimSince, t.Hold = c.Agent, c.Since, c.Hold
		if !c.Hold {
			t.ClaimUntil = r.Wall(c.Until)
		}
	}
	said := false
	for id, state := range r.Blocks(v.Goal, v.ID) {
		ref := GateRef{ID: id, State: state}
		if g := r.Gate(v.Goal, id); g != nil {
			ref.Code = g.Code
			if g.Expired(r.Now()) {
				ref.State = "expired"
			}
		}
		said = said || state == kernel.Reject || state == kernel.Cancel
		t.BlockedBy = append(t.BlockedBy, ref)
	}
	slices.SortFunc(t.BlockedBy, func(a, b GateRef) int { return len(a.Code) - len(b.Code) })
	t.StateOf = t.state(said)
	if v.Status == kernel.TodoSuperseded {
		t.Status = "done"
	}
	if v.Status == kernel.TodoOpen && (len(t.BlockedBy) > 0 || len(t.WaitsFor) > 0) {
		t.Status = "blocked"
	}
	return t
}

func (t *Todo) state(decidedAgainst bool) string {
	switch {
	case t.Status == kernel.TodoDone, t.Status == kernel.TodoSuperseded, t.Status == kernel.TodoDeferred:
		return t.Status
	case t.Class == kernel.Monitor:
		return "watching"
	case t.Class == kernel.Ask:
		return "asked"
	case len(t.BlockedBy) > 0 && decidedAgainst:
		return "blocked"
	case len(t.BlockedBy) > 0:
		return "gated"
	case len(t.WaitsFor) > 0:
		return "waiting"
	case t.ClaimedBy != "":
		return "claimed"
	}
	return "ready"
}

// Todos lists the todos of a goal.
type Todos struct {
	Goal   string `json:"goal"`
	Status string `json:"status,omitempty"` // open, blocked, deferred, done, or one list's name; empty = all but done
	Limit  int    `json:"limit,omitempty"`  // default 100, at most 1000
}

// TodosView is the answer to Todos.
type TodosView struct {
	GoalID string        `json:"goal_id"`
	AsOf   int64         `json:"as_of"`
	Todos  []Todo        `json:"todos"`
	Counts kernel.Counts `json:"counts"`
	// More is set when the limit cut the list.
	More bool `json:"more"`
}

// Name implements Query.
func (*Todos) Name() string { return "todos" }

func (q *Todos) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	lists, err := listsOf(q.Status)
	if err != nil {
		return nil, err
	}
	limit := bound(q.Limit, 100, 1000)
	out := TodosView{GoalID: g.ID, AsOf: r.Now(), Todos: []Todo{}, Counts: r.Counts(g.ID)}
	for _, l := range lists {
		for _, v := range r.List(g.ID, l, "", limit+1-len(out.Todos)) {
			out.Todos = append(out.Todos, TodoOf(r, v))
		}
		if len(out.Todos) > limit {
			out.Todos, out.More = out.Todos[:limit], true
			break
		}
	}
	return out, nil
}

func listsOf(status string) ([]string, error) {
	open := []string{kernel.ListHeld, kernel.ListReady, kernel.ListGated, kernel.ListAfter, kernel.ListBlocked}
	switch status {
	case "":
		return append(open, kernel.ListMonitor, kernel.ListAsk, kernel.ListDeferred), nil
	case "open":
		return append(open, kernel.ListMonitor, kernel.ListAsk), nil
	case "all":
		return append(open, kernel.ListMonitor, kernel.ListAsk, kernel.ListDeferred, kernel.ListDone), nil
	case "blocked":
		return []string{kernel.ListGated, kernel.ListBlocked, kernel.ListAfter}, nil
	case "claimed":
		return []string{kernel.ListHeld}, nil
	case "ready", "deferred", "done":
		return []string{status}, nil
	}
	return nil, kernel.Errorf(kernel.Invalid, "bad_status", "status %q must be one of open, ready, claimed, blocked, deferred, done, all", status)
}

// TodoOne is one todo by id.
type TodoOne struct {
	Goal string `json:"goal,omitempty"`
	Todo string `json:"todo"`
}

// Name implements Query.
func (*TodoOne) Name() string { return "todo" }

func (q *TodoOne) run(r *kernel.Reader) (any, error) {
	goal := q.Goal
	if goal == "" {
		goal = r.GoalOfTodo(q.Todo)
	}
	if v := r.Todo(goal, q.Todo); v != nil {
		return TodoOf(r, v), nil
	}
	return nil, kernel.Errorf(kernel.NotFound, "todo_not_found", "there is no todo %q", q.Todo).Try("loopx todo list --goal-id GOAL")
}
