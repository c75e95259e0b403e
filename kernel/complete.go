package kernel

import "slices"

// CompleteTodo ends a todo with its evidence and says what goes on.
type CompleteTodo struct {
	Goal       string        `json:"goal"`
	Todo       string        `json:"todo"`
	Agent      string        `json:"agent,omitempty"`
	Turn       string        `json:"turn,omitempty"`
	Lease      string        `json:"lease_token,omitempty"`
	Evidence   []EvidenceArg `json:"evidence,omitempty"`
	Note       string        `json:"note,omitempty"`
	NoFollowup bool          `json:"no_followup,omitempty"`
	// Next is the title of a new successor; NextAgent may claim it first.
	Next       string   `json:"next_agent_todo,omitempty"`
	Successors []string `json:"successor_todo_ids,omitempty"`
	// Validated is the digest of the todo's validation argv, set by a caller who
	// ran it and saw it pass (ValidationDigest).
	Validated string `json:"validated,omitempty"`
	// Obligation is a replan of the agent that this settles.
	Obligation string `json:"replan_obligation_id,omitempty"`
}

// Name implements Command.
func (*CompleteTodo) Name() string { return "todo.complete" }

func (c *CompleteTodo) turnKey() (string, string, string, string) {
	return c.Goal, c.Agent, c.Turn, c.Todo
}

// ValidationDigest names the argv that a completion must have run.
func ValidationDigest(argv []string) string { return digest(argv) }

func (c *CompleteTodo) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	v, err := r.needTodo(g.ID, c.Todo)
	if err != nil {
		return nil, err
	}
	if v.Status == TodoDone {
		return c.again(v)
	}
	w, err := r.writer(e, g, v, c.Agent, c.Lease, c.Turn)
	if err != nil {
		return nil, err
	}
	if err := c.allowed(r, g, v, w); err != nil {
		return nil, err
	}
	turn, err := r.needTurn(g.ID, w.agent, c.Turn)
	if err != nil {
		return nil, err
	}
	if err := turn.undriven(); err != nil {
		return nil, err
	}
	if turn != nil && turn.Generation > 0 && turn.Todo != v.ID {
		return nil, Errorf(Conflict, "turn_bound", "the turn %s is bound to %s", show(turn.ID), turn.Todo)
	}
	events, ids, err := r.evidence(e, g.ID, v.ID, w.agent, c.Turn, c.Evidence)
	if err != nil {
		return nil, err
	}
	done := &DoneInfo{At: e.now, By: w.agent, Turn: c.Turn, Validated: c.Validated}
	next, err := c.continuation(r, e, g, v, done, w.agent)
	if err != nil {
		return nil, err
	}
	n := *v
	n.Status, n.Done, n.Revision, n.Updated = TodoDone, done, v.Revision+1, e.now
	n.Evidence = keepLast(append(slices.Clone(v.Evidence), ids...), evidenceKeep)
	if c.Note != "" {
		n.Note = c.Note
	}
	events = append(events, next...)
	met, err := replans{r}.metByEnd(e, w.agent, c.Obligation, v, done.Continuation != ActiveGoal, addedIn(next))
	if err != nil {
		return nil, err
	}
	events = append(events, met...)
	events = append(events, Event{Type: TodoCompleted, Goal: g.ID, Subject: v.ID, Todo: &n})
	events = append(events, r.resumed(e, g.ID, resumeTodo+":"+v.ID)...)
	if w.claim != nil && w.claim.Agent != "" {
		// The slot stays reserved until it is spent or the turn closes.
		events = append(events, Event{Type: ClaimReleased, Goal: g.ID, Subject: v.ID, Claim: &Claim{Goal: g.ID, Todo: v.ID, Generation: w.claim.Generation}})
	}
	run := &Run{Seq: r.Counts(g.ID).Runs + 1, Goal: g.ID, Agent: w.agent, Turn: c.Turn, Todo: v.ID, Classification: "todo_completed", Outcome: Progress, Evidence: ids, Accountable: len(ids) > 0, At: e.now}
	if !run.Accountable {
		run.Outcome = OutcomeGap
	}
	events = append(events, r.record(run, turn)...)
	result := todoResult(&n)
	result["changed"], result["no_followup"], result["completion_continuation"] = true, done.Continuation == NoFollowup, done.Continuation
	result["successor_todo_ids"], result["evidence"], result["accountable"] = nonNil(done.Successors), nonNil(ids), run.Accountable
	return &decided{events: events, changed: true, result: withMet(result, met)}, nil
}

// again answers a repeated completion without doing anything.
func (c *CompleteTodo) again(v *Todo) (*decided, error) {
	if c.Turn != "" && v.Done.Turn != c.Turn {
		return nil, Errorf(Conflict, "todo_done", "%s was completed already by %s", v.ID, v.Done.By).With("by", v.Done.By)
	}
	res := todoResult(v)
	res["changed"], res["no_followup"], res["completion_continuation"] = false, v.Done.Continuation == NoFollowup, v.Done.Continuation
	res["successor_todo_ids"] = nonNil(v.Done.Successors)
	return &decided{result: res}, nil
}

func (c *CompleteTodo) allowed(r *reader, g *Goal, v *Todo, w *fence) error {
	if err := firstErr(checkText("note", c.Note, noteMax, true), checkText("validated", c.Validated, 80, false), checkList("successor", c.Successors, 80)); err != nil {
		return err
	}
	if v.Status == TodoSuperseded {
		return Errorf(Conflict, "todo_superseded", "%s was replaced by %s", v.ID, v.SupersededBy)
	}
	if v.Status == TodoDeferred && !v.Due(r.now) {
		return Errorf(Conflict, "todo_deferred", "%s is parked until %s", v.ID, v.ResumeWhen).Try("loopx todo update --goal-id %s --todo-id %s --status open", g.ID, v.ID)
	}
	if id := firstPending(r.Blocks(g.ID, v.ID)); id != "" {
		return r.gatePending(g.ID, id, v.ID)
	}
	if id := firstPending(r.LaneBlocks(g.ID, w.agent)); id != "" {
		return r.gatePending(g.ID, id, w.agent)
	}
	if err := r.scopesHeld(g.ID, v, w.agent, c.Turn); err != nil {
		return err
	}
	if on := r.WaitsFor(g.ID, v.ID); len(on) > 0 {
		return Errorf(Conflict, "todo_waiting", "%s comes after %s, which is not done", v.ID, on[0])
	}
	if g.Handoff == "strict" && !w.mine && w.agent != "cli" && v.Class == Work {
		return Errorf(Conflict, "lease_required", "%s is a strict goal: completing needs the lease", g.ID).Try("loopx todo claim --goal-id %s --todo-id %s", g.ID, v.ID)
	}
	if len(v.Validation) > 0 && c.Validated != ValidationDigest(v.Validation) {
		return Errorf(Conflict, "validation_missing", "%s declares a validation that has not passed", v.ID).Try("complete it with the loopx CLI, which runs the validation first")
	}
	return nil
}

// continuation records what follows the completion and makes its successor.
func (c *CompleteTodo) continuation(r *reader, e *env, g *Goal, v *Todo, done *DoneInfo, by string) ([]Event, error) {
	given := 0
	for _, b := range []bool{c.NoFollowup, c.Next != "", len(c.Successors) > 0} {
		if b {
			given++
		}
	}
	if given > 1 {
		return nil, Errorf(Invalid, "bad_continuation", "say one of no follow-up, a next todo, existing successors")
	}
	switch {
	case c.NoFollowup:
		done.Continuation = NoFollowup
	case c.Next != "":
		n, err := successorOf(r, e, g, v, c.Next)
		if err != nil {
			return nil, err
		}
		n.AddedBy = by
		done.Continuation, done.Successors = Successor, []string{n.ID}
		return append([]Event{{Type: TodoAdded, Goal: g.ID, Subject: n.ID, Todo: n, Inherits: v.ID}}, r.askScopes(e, n, by)...), nil
	case len(c.Successors) > 0:
		for _, id := range c.Successors {
			s, err := r.needTodo(g.ID, id)
			if err != nil {
				return nil, err
			}
			if id == v.ID || s.Status == TodoDone || s.Status == TodoSuperseded {
				return nil, Errorf(Conflict, "bad_successor", "%s cannot follow: it is %s", id, s.Status)
			}
		}
		done.Continuation, done.Successors = Successor, c.Successors
	default:
		done.Continuation, done.Defaulted = ActiveGoal, true
	}
	return nil, nil
}

// successorOf makes the todo that follows v and inherits what guards it.
func successorOf(r *reader, e *env, g *Goal, v *Todo, title string) (*Todo, error) {
	p := int(v.Priority)
	add := &AddTodo{Goal: g.ID, Title: title, Class: v.Class, Priority: &p, Capabilities: v.Capabilities, Write: v.Write, Scopes: v.Scopes, Excluded: v.Excluded, Validation: v.Validation}
	if v.Watch != nil {
		add.CadenceMS, add.Target, add.Expires, add.WatchOnly = v.Watch.Cadence, v.Watch.Target, v.Watch.Expires, v.Watch.Bound == "watch_only"
		add.ResumeWhen = v.ResumeWhen
	}
	return add.todo(r, g, e)
}

// SupersedeTodo replaces a todo by another one, which inherits its guards.
type SupersedeTodo struct {
	Goal   string `json:"goal"`
	Todo   string `json:"todo"`
	Agent  string `json:"agent,omitempty"`
	Turn   string `json:"turn,omitempty"`
	Lease  string `json:"lease_token,omitempty"`
	Next   string `json:"next_agent_todo"`
	Reason string `json:"reason,omitempty"`
	// Obligation is a replan of the agent that this settles.
	Obligation string `json:"replan_obligation_id,omitempty"`
}

// Name implements Command.
func (*SupersedeTodo) Name() string { return "todo.supersede" }

func (c *SupersedeTodo) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	v, err := r.needTodo(g.ID, c.Todo)
	if err != nil {
		return nil, err
	}
	if v.Status == TodoDone || v.Status == TodoSuperseded {
		return nil, Errorf(Conflict, "todo_closed", "%s is %s already", v.ID, v.Status)
	}
	w, err := r.writer(e, g, v, c.Agent, c.Lease, c.Turn)
	if err != nil {
		return nil, err
	}
	if err := checkText("reason", c.Reason, noteMax, true); err != nil {
		return nil, err
	}
	s, err := successorOf(r, e, g, v, c.Next)
	if err != nil {
		return nil, err
	}
	s.AddedBy, s.After = w.agent, r.WaitsFor(g.ID, v.ID)
	n := *v
	n.Status, n.SupersededBy, n.Revision, n.Updated = TodoSuperseded, s.ID, v.Revision+1, e.now
	if c.Reason != "" {
		n.Note = c.Reason
	}
	events := []Event{{Type: TodoAdded, Goal: g.ID, Subject: s.ID, Todo: s, Inherits: v.ID}, {Type: TodoSupersededBy, Goal: g.ID, Subject: v.ID, Todo: &n}}
	// An approval is for what was shown: the replacement asks for itself, unless
	// the old one's question still stands and it inherits that.
	asked := restated(r, e, g.ID, v.ID, map[string]*Todo{v.ID: &n, s.ID: s}, true)
	events = append(events, asked...)
	if !slices.ContainsFunc(keys(r.Blocks(g.ID, v.ID)), func(id string) bool { o := r.Gate(g.ID, id); return o != nil && o.Scope != "" }) {
		events = append(events, r.askScopes(e, s, w.agent, asked...)...)
	}
	for _, id := range r.lastParts(under(resumeMost, tblResume, g.ID, resumeTodo+":"+v.ID)) {
		if p := r.Todo(g.ID, id); p != nil && p.ID != v.ID {
			// What waited for the old todo waits for the one that replaces it.
			m := *p
			m.ResumeWhen, m.Revision, m.Updated = resumeTodo+":"+s.ID, p.Revision+1, e.now
			events = append(events, Event{Type: TodoUpdated, Goal: g.ID, Subject: m.ID, Todo: &m})
		}
	}
	if w.claim != nil && w.claim.Agent != "" {
		events = append(events, r.releaseClaim(w.claim)...)
	}
	res := todoResult(&n)
	res["changed"], res["superseded_by"], res["successor_todo_ids"] = true, s.ID, []string{s.ID}
	held := len(r.Blocks(g.ID, v.ID)) > 0
	if held && c.Obligation != "" {
		return nil, Errorf(Conflict, "replan_not_met", "the replacement of %s waits for the same decision", v.ID)
	}
	met, err := replans{r}.metByEnd(e, w.agent, c.Obligation, v, !held, s)
	if err != nil {
		return nil, err
	}
	events = append(events, met...)
	return &decided{events: events, changed: true, result: withMet(res, met)}, nil
}
