package kernel

import (
	"encoding/hex"
	"slices"
	"strings"
)

// AddTodo puts a unit of work, a watch or a request to a person on the plan.
type AddTodo struct {
	Goal         string   `json:"goal"`
	Agent        string   `json:"agent,omitempty"` // who adds it; empty is recorded as cli
	Title        string   `json:"title"`
	Body         string   `json:"body,omitempty"`
	Class        string   `json:"class,omitempty"`    // work (default), monitor, ask
	Priority     *int     `json:"priority,omitempty"` // 0..3, default 2
	After        []string `json:"after,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Write        []string `json:"write,omitempty"`
	Scopes       []string `json:"scopes,omitempty"` // approvals it needs; what nobody approved yet is asked for
	Excluded     []string `json:"excluded_agents,omitempty"`
	Deferred     bool     `json:"deferred,omitempty"`
	ResumeWhen   string   `json:"resume_when,omitempty"`
	Target       string   `json:"target,omitempty"`
	CadenceMS    int64    `json:"cadence_ms,omitempty"`
	Expires      int64    `json:"expires,omitempty"`
	WatchOnly    bool     `json:"watch_only,omitempty"`
	Validation   []string `json:"validation,omitempty"`
	Note         string   `json:"note,omitempty"`
	// Obligation is a replan of the agent that this settles.
	Obligation string `json:"replan_obligation_id,omitempty"`
}

// Name implements Command.
func (*AddTodo) Name() string { return "todo.add" }

func (c *AddTodo) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	by, err := r.author(g.ID, c.Agent, e.by)
	if err != nil {
		return nil, err
	}
	v, err := c.todo(r, g, e)
	if err != nil {
		return nil, err
	}
	v.AddedBy = by
	events := append([]Event{{Type: TodoAdded, Goal: g.ID, Subject: v.ID, Todo: v}}, r.askScopes(e, v, by)...)
	result := todoResult(v)
	for _, ev := range events[1:] {
		result["gate_id"] = ev.Subject // the newest gate it waits for
	}
	met, err := replans{r}.metByTodo(e, by, c.Obligation, v, events)
	if err != nil {
		return nil, err
	}
	events = append(events, met...)
	return &decided{changed: true, events: events, result: withMet(result, met)}, nil
}

func todoResult(v *Todo) map[string]any {
	return map[string]any{"todo_id": v.ID, "goal_id": v.Goal, "title": v.Title, "priority": v.Priority, "class": v.Class, "status": v.Status}
}

// todo checks the command's fields and makes the row.
func (c *AddTodo) todo(r *reader, g *Goal, e *env) (*Todo, error) {
	v := &Todo{
		Goal: g.ID, Title: c.Title, Body: c.Body, Class: or(c.Class, Work), Priority: 2, Status: TodoOpen,
		After: uniq(c.After), Capabilities: c.Capabilities, Write: c.Write, Excluded: uniq(c.Excluded),
		ResumeWhen: c.ResumeWhen, Validation: c.Validation, Note: c.Note, Revision: 1, Created: e.now, Updated: e.now,
	}
	if c.Priority != nil {
		v.Priority = Priority(*c.Priority)
	}
	err := firstErr(
		needText("title", v.Title, titleMax, false), checkText("body", v.Body, bodyMax, true), checkText("note", v.Note, noteMax, true),
		oneOf("class", v.Class, Work, Monitor, Ask), checkPriority(v.Priority),
		checkList("capability", v.Capabilities, 80), checkGlobs(v.Write), checkResume(v.ResumeWhen), checkArgv(v.Validation),
	)
	if err != nil {
		return nil, err
	}
	if v.Scopes, err = normalScopes(c.Scopes); err != nil {
		return nil, err
	}
	if err := g.hold(v); err != nil {
		return nil, err
	}
	if len(v.After) == 0 {
		v.After = nil
	}
	if len(v.After) > afterMax {
		return nil, Errorf(Invalid, "too_many", "a todo comes after at most %d others", afterMax)
	}
	for _, id := range v.After {
		o := r.Todo(g.ID, id)
		if o == nil {
			return nil, r.todoMissing(g.ID, id)
		}
		if o.Status == TodoSuperseded {
			return nil, Errorf(Conflict, "todo_superseded", "%s was replaced by %s", id, o.SupersededBy).Try("use --after %s", o.SupersededBy)
		}
		if len(r.lastParts(under(backMax, tblDepBack, g.ID, id))) >= backMax {
			return nil, Errorf(Exhausted, "too_many_after", "%d todos wait for %s already", backMax, id)
		}
	}
	if len(v.Excluded) == 0 {
		v.Excluded = nil
	}
	if len(v.Excluded) > memberMax {
		return nil, Errorf(Invalid, "too_many", "a todo excludes at most %d agents", memberMax)
	}
	for _, a := range v.Excluded {
		if err := checkAgentID(a); err != nil {
			return nil, err
		}
	}
	if c.Deferred && c.ResumeWhen == "" {
		return nil, noResume()
	}
	if c.ResumeWhen != "" {
		met, err := r.takeResume(g.ID, c.ResumeWhen, e.now)
		if err != nil {
			return nil, err
		}
		if v.Status = TodoDeferred; met {
			v.Status, v.ResumeWhen = TodoOpen, ""
		}
	}
	if v.Class == Monitor {
		if err := c.watch(v, e); err != nil {
			return nil, err
		}
	}
	n := r.Counts(g.ID)
	v.Order = n.NextOrder
	for v.ID == "" || r.GoalOfTodo(v.ID) != "" {
		v.ID = e.id("todo_")
	}
	return v, nil
}

func noResume() error {
	return Errorf(Invalid, "missing_resume_when", "a deferred todo says when it resumes").Try("add --resume-when todo_done:ID, gate:ID, date:RFC3339 or event:KEY")
}

func (c *AddTodo) watch(v *Todo, e *env) error {
	if c.CadenceMS < minuteMS || c.CadenceMS > 366*dayMS {
		return Errorf(Invalid, "bad_cadence", "a monitor needs a cadence between 1m and 366d").Try("add --cadence 1h")
	}
	v.Watch = &Watch{Target: or(c.Target, v.Title), Cadence: c.CadenceMS, NextDue: e.now + c.CadenceMS, Expires: c.Expires}
	switch {
	case c.WatchOnly:
		v.Watch.Bound = "watch_only"
	case c.Expires > 0:
		v.Watch.Bound = "expires"
	case c.ResumeWhen != "":
		v.Watch.Bound = "resume_when"
	default:
		return Errorf(Invalid, "monitor_unbounded", "a monitor must say what ends it").Try("add --expires-at RFC3339, --resume-when or --watch-only")
	}
	return checkText("target", v.Watch.Target, titleMax, false)
}

func checkPriority(p Priority) error {
	if p >= 0 && p <= 3 {
		return nil
	}
	return Errorf(Invalid, "bad_priority", "priority must be P0 to P3")
}

func checkGlobs(list []string) error {
	if err := checkList("write scope", list, 160); err != nil {
		return err
	}
	for _, s := range list {
		if strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") || slices.Contains(strings.Split(s, "/"), "..") {
			return Errorf(Invalid, "bad_write_scope", "write scope %s must be a path inside the repository", show(s))
		}
	}
	return nil
}

func checkArgv(argv []string) error {
	if len(argv) > listMax {
		return Errorf(Invalid, "too_many", "a validation has at most %d arguments", listMax)
	}
	for _, s := range argv {
		if err := checkText("validation", s, 1000, true); err != nil {
			return err
		}
	}
	if len(argv) > 0 && argv[0] == "" {
		return Errorf(Invalid, "bad_validation", "the validation names no program")
	}
	return nil
}

// openGoal is needGoal for commands that add work.
func (r *Reader) openGoal(id string) (*Goal, error) {
	g, err := r.needGoal(id)
	if err == nil && g.Status == GoalCompleted {
		return nil, Errorf(Conflict, "goal_closed", "the goal %s was closed: %s", g.ID, show(g.Outcome))
	}
	return g, err
}

func (r *Reader) todoMissing(goal, id string) error {
	if other := r.GoalOfTodo(id); other != "" {
		return Errorf(NotFound, "todo_not_found", "%s is a todo of another goal, not of %s", show(id), goal).Try("loopx todo list --goal-id %s", goal)
	}
	return Errorf(NotFound, "todo_not_found", "there is no todo %s in %s", show(id), goal).Try("loopx todo list --goal-id %s", goal)
}

func (r *Reader) needTodo(goal, id string) (*Todo, error) {
	if id == "" {
		return nil, Errorf(Invalid, "missing_todo_id", "no todo was named").Try("loopx todo list --goal-id %s", goal)
	}
	if v := r.Todo(goal, id); v != nil {
		return v, nil
	}
	return nil, r.todoMissing(goal, id)
}

// UpdateTodo changes a todo's text, parks or reopens it, notes progress, or
// gives the claim back. Absent fields stay as they are.
type UpdateTodo struct {
	Goal       string        `json:"goal"`
	Todo       string        `json:"todo"`
	Agent      string        `json:"agent,omitempty"`
	Turn       string        `json:"turn,omitempty"`
	Lease      string        `json:"lease_token,omitempty"`
	Title      *string       `json:"title,omitempty"`
	Body       *string       `json:"body,omitempty"`
	Note       *string       `json:"note,omitempty"`
	Priority   *int          `json:"priority,omitempty"`
	Status     string        `json:"status,omitempty"` // open, deferred; done is todo.complete
	ResumeWhen string        `json:"resume_when,omitempty"`
	ClearClaim bool          `json:"clear_claim,omitempty"`
	Evidence   []EvidenceArg `json:"evidence,omitempty"`
	// Scopes replaces what it needs; only an owner takes a need away.
	Scopes *[]string `json:"scopes,omitempty"`
}

// Name implements Command.
func (*UpdateTodo) Name() string { return "todo.update" }

func (c *UpdateTodo) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	v, err := r.needTodo(g.ID, c.Todo)
	if err != nil {
		return nil, err
	}
	w, err := r.writer(e, g, v, c.Agent, c.Lease, c.Turn)
	if err != nil {
		return nil, err
	}
	if _, err := r.needTurn(g.ID, w.agent, c.Turn); err != nil {
		return nil, err
	}
	n := *v
	typ, err := c.fields(&n)
	if err != nil {
		return nil, err
	}
	added, err := c.needs(r, e, v, &n)
	if err != nil {
		return nil, err
	}
	if n.Status == TodoDeferred && n.ResumeWhen != v.ResumeWhen {
		met, err := r.takeResume(g.ID, n.ResumeWhen, e.now)
		if err != nil {
			return nil, err
		}
		if met {
			return nil, Errorf(Conflict, "resume_met", "%s is true already, so there is nothing to wait for", show(n.ResumeWhen))
		}
	}
	ev, ids, err := r.evidence(e, g.ID, v.ID, w.agent, c.Turn, c.Evidence)
	if err != nil {
		return nil, err
	}
	n.Evidence = keepLast(append(slices.Clone(n.Evidence), ids...), evidenceKeep)
	changed := digest(n) != digest(v)
	out := &decided{changed: changed || c.ClearClaim && w.claim != nil && w.claim.Agent != ""}
	out.events = ev
	if changed {
		n.Revision, n.Updated = v.Revision+1, e.now
		if n.said() != v.said() {
			n.Terms++
		}
		out.events = append(out.events, Event{Type: typ, Goal: g.ID, Subject: v.ID, Todo: &n})
		if n.Terms != v.Terms {
			asked := restated(r, e, g.ID, v.ID, map[string]*Todo{v.ID: &n}, false)
			more := n
			more.Scopes = added
			out.events = append(append(out.events, asked...), r.askScopes(e, &more, w.agent, asked...)...)
		}
	}
	switch {
	case c.ClearClaim && w.claim != nil && w.claim.Agent != "", n.Status == TodoDeferred && w.claim.Holds(e.steady):
		out.events = append(out.events, r.releaseClaim(w.claim)...)
	default:
		out.events = append(out.events, w.renew(r, e)...)
	}
	res := todoResult(&n)
	res["changed"], res["claimed_by"] = out.changed, w.holderAfter(c.ClearClaim)
	out.result = res
	return out, nil
}

// needs sets what a todo needs and returns what is new of it.
func (c *UpdateTodo) needs(r *reader, e *env, v, n *Todo) ([]string, error) {
	if c.Scopes == nil {
		return nil, nil
	}
	list, err := normalScopes(*c.Scopes)
	if err != nil {
		return nil, err
	}
	for _, s := range v.Scopes {
		if !slices.Contains(list, s) {
			if err := ownerOf(r, e, v.Goal, "taking a need away"); err != nil {
				return nil, err
			}
		}
	}
	n.Scopes = list
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(v.Scopes, s) }), nil
}

func (c *UpdateTodo) fields(n *Todo) (string, error) {
	typ := TodoUpdated
	if n.Status == TodoDone || n.Status == TodoSuperseded {
		return "", Errorf(Conflict, "todo_closed", "%s is %s already", n.ID, n.Status).Try("loopx todo add ... for new work")
	}
	if c.Title != nil {
		n.Title = *c.Title
	}
	if c.Body != nil {
		n.Body = *c.Body
	}
	if c.Note != nil {
		n.Note = *c.Note
	}
	if c.Priority != nil {
		n.Priority = Priority(*c.Priority)
	}
	if c.ResumeWhen != "" {
		n.ResumeWhen = c.ResumeWhen
	}
	switch c.Status {
	case "":
	case TodoOpen:
		if n.Status == TodoDeferred {
			typ, n.ResumeWhen = TodoReopened, ""
		}
		n.Status = TodoOpen
	case TodoDeferred:
		if n.ResumeWhen == "" {
			return "", noResume()
		}
		n.Status, typ = TodoDeferred, TodoDeferredEvent
	case TodoDone:
		return "", Errorf(Invalid, "use_complete", "a todo is done only by completing it").Try("loopx todo complete --goal-id %s --todo-id %s --evidence TEXT", n.Goal, n.ID)
	case "blocked":
		return "", Errorf(Invalid, "use_gate", "a todo is blocked only by a gate or by another todo").Try("loopx gate open --goal-id %s --blocks-todo %s --question TEXT", n.Goal, n.ID)
	default:
		return "", oneOf("status", c.Status, TodoOpen, TodoDeferred)
	}
	return typ, firstErr(needText("title", n.Title, titleMax, false), checkText("body", n.Body, bodyMax, true),
		checkText("note", n.Note, noteMax, true), checkPriority(n.Priority), checkResume(n.ResumeWhen))
}

func keepLast[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// EvidenceArg is proof as a caller gives it.
type EvidenceArg struct {
	Kind    string `json:"kind,omitempty"` // note (default), check, artifact, link, metric
	Summary string `json:"summary"`
	Ref     string `json:"ref,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Until   int64  `json:"valid_until,omitempty"`
}

func (a *EvidenceArg) check() error {
	return firstErr(oneOf("evidence_kind", or(a.Kind, "note"), "note", "check", "artifact", "link", "metric"),
		needText("evidence", a.Summary, summaryMax, false), checkText("evidence ref", a.Ref, summaryMax, false), checkText("evidence checksum", a.Digest, 160, false))
}

// Fixed says whether what evidence points to is what was seen when it was given:
// it names no contents, or their SHA-256 (in hex, with or without "sha256:") stands
// beside them.
func (e *Evidence) Fixed() bool {
	if e.Kind != "artifact" && e.Kind != "link" {
		return true
	}
	sum, err := hex.DecodeString(strings.TrimPrefix(e.Digest, "sha256:"))
	return err == nil && len(sum) == 32
}

// evidence turns arguments into rows and their ids.
func (r *Reader) evidence(e *env, goal, todo, agent, turn string, args []EvidenceArg) ([]Event, []string, error) {
	if len(args) > evidenceMax {
		return nil, nil, Errorf(Invalid, "too_many", "one command brings at most %d pieces of evidence", evidenceMax)
	}
	var events []Event
	var ids []string
	next := r.Counts(goal).Evidence
	for _, a := range args {
		if err := a.check(); err != nil {
			return nil, nil, err
		}
		kind := or(a.Kind, "note")
		next++
		v := &Evidence{ID: "ev" + utoa(next), Goal: goal, Todo: todo, Agent: agent, Turn: turn, Kind: kind, Summary: a.Summary, Ref: a.Ref, Digest: a.Digest, Observed: e.now, Until: a.Until}
		events = append(events, Event{Type: EvidenceAdded, Goal: goal, Subject: v.ID, Evidence: v})
		ids = append(ids, v.ID)
	}
	return events, ids, nil
}
