package kernel

import "slices"

// PollMonitor records one look at what a monitor watches. An unchanged look is
// quiet and costs nothing; a material change is an accountable writeback.
type PollMonitor struct {
	Goal     string        `json:"goal"`
	Agent    string        `json:"agent,omitempty"`
	Turn     string        `json:"turn,omitempty"`
	Todo     string        `json:"todo"`
	Material bool          `json:"material_change,omitempty"`
	Hash     string        `json:"result_hash,omitempty"` // of what was seen
	NextDue  int64         `json:"next_due,omitempty"`    // default: now plus the cadence
	Note     string        `json:"note,omitempty"`
	Evidence []EvidenceArg `json:"evidence,omitempty"`
	// Next is the title of a todo that the change calls for.
	Next string `json:"next_agent_todo,omitempty"`
}

// Name implements Command.
func (*PollMonitor) Name() string { return "monitor.poll" }

func (c *PollMonitor) turnKey() (string, string, string, string) {
	return c.Goal, c.Agent, c.Turn, c.Todo
}

func (c *PollMonitor) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	a, err := r.actor(g.ID, c.Agent)
	if err != nil {
		return nil, err
	}
	v, err := r.needTodo(g.ID, c.Todo)
	if err != nil {
		return nil, err
	}
	turn, err := r.needTurn(g.ID, a.ID, c.Turn)
	if err != nil {
		return nil, err
	}
	if err := firstErr(turn.undriven(), c.allowed(r, g, v, a, e)); err != nil {
		return nil, err
	}
	events, ids, err := r.evidence(e, g.ID, v.ID, a.ID, c.Turn, c.Evidence)
	if err != nil {
		return nil, err
	}
	n, w := *v, *v.Watch
	n.Watch, n.Revision, n.Updated = &w, v.Revision+1, e.now
	n.Evidence = keepLast(append(slices.Clone(v.Evidence), ids...), evidenceKeep)
	w.Checked, w.Hash = e.now, or(c.Hash, w.Hash)
	w.NextDue = orInt(c.NextDue, e.now+w.Cadence)
	if w.Unchanged++; w.Unchanged == 1 {
		w.Since = e.now
	}
	run := &Run{Seq: r.Counts(g.ID).Runs + 1, Goal: g.ID, Agent: a.ID, Turn: c.Turn, Todo: v.ID, Classification: "monitor_unchanged", Outcome: SurfaceOnly, Note: c.Note, Evidence: ids, At: e.now}
	result := todoResult(&n)
	result["successor_todo_ids"] = []string{}
	if c.Material {
		w.Unchanged, w.Since = 0, 0
		run.Classification, run.Outcome, run.Accountable = "monitor_material_change", Progress, true
		if c.Next != "" {
			s, err := (&AddTodo{Goal: g.ID, Title: c.Next, Priority: prio(v.Priority), Excluded: v.Excluded, Scopes: v.Scopes}).todo(r, g, e)
			if err != nil {
				return nil, err
			}
			s.AddedBy = a.ID
			events = append(events, Event{Type: TodoAdded, Goal: g.ID, Subject: s.ID, Todo: s})
			events = append(events, r.askScopes(e, s, a.ID)...)
			result["successor_todo_ids"] = []string{s.ID}
			for _, o := range r.Obligations(g.ID, a.ID) {
				if o.Subject == v.ID && (replans{r}).notRunnable(o, s) == "" {
					events = append(events, o.met(e, "todo:"+s.ID))
				}
			}
		}
	}
	events = append(events, Event{Type: MonitorPolled, Goal: g.ID, Subject: v.ID, Todo: &n})
	events = append(events, r.record(run, turn)...)
	if w.Unchanged == monitorLooks && w.Bound != "watch_only" {
		events = append(events, replans{r}.oblige(g.ID, a.ID, CauseMonitor, v.ID, rfc3339(w.Since), e.now)...)
	}
	if turn != nil && !c.Material && turn.Status == TurnLive {
		events = append(events, r.quiet(e, turn)...)
	}
	result["changed"], result["appended"], result["material_change"] = true, true, c.Material
	result["next_due_at"], result["consecutive_no_change"], result["accountable"] = rfc3339(w.NextDue), w.Unchanged, run.Accountable
	return &decided{changed: true, events: events, result: result}, nil
}

func prio(p Priority) *int { n := int(p); return &n }

// quiet closes a turn that found nothing: it is over, unpaid, and its slot goes back.
func (r *Reader) quiet(e *env, turn *Turn) []Event {
	n := *turn
	n.Status, n.Outcome, n.Closed = TurnClosed, "quiet", e.now
	out := []Event{{Type: TurnChanged, Goal: n.Goal, Subject: n.ID, Turn: &n}}
	if v := get[Reservation](r, tblReserve, n.Goal, n.Agent); v != nil && v.Turn == n.ID {
		out = append(out, releaseSlot(v))
	}
	return out
}

func (c *PollMonitor) allowed(r *reader, g *Goal, v *Todo, a *Agent, e *env) error {
	if err := firstErr(checkText("note", c.Note, noteMax, true), checkText("result hash", c.Hash, 160, false)); err != nil {
		return err
	}
	switch {
	case len(g.Pause) > 0:
		return Errorf(Conflict, "goal_paused", "the goal %s is paused (%s)", g.ID, g.Pause[0]).Try("loopx goal resume --goal-id %s --execute", g.ID)
	case v.Class != Monitor:
		return Errorf(Invalid, "not_a_monitor", "%s is no monitor", v.ID).Try("loopx todo list --goal-id %s", g.ID)
	case v.Status != TodoOpen:
		return Errorf(Conflict, "todo_"+v.Status, "%s is %s", v.ID, v.Status)
	case slices.Contains(v.Excluded, a.ID):
		return Errorf(Denied, "agent_excluded", "%s may not look at %s", a.ID, v.ID)
	}
	// A material look is paid work, so what holds work back holds it back too.
	if id := firstPending(r.Blocks(g.ID, v.ID)); id != "" {
		return r.gatePending(g.ID, id, v.ID)
	}
	if id := firstPending(r.LaneBlocks(g.ID, a.ID)); id != "" {
		return r.gatePending(g.ID, id, a.ID)
	}
	if err := r.scopesHeld(g.ID, v, a.ID, c.Turn); err != nil {
		return err
	}
	switch {
	case v.Watch.Over(e.now):
		return Errorf(Conflict, "monitor_expired", "%s ended on %s", v.ID, rfc3339(v.Watch.Expires)).Try("loopx todo complete --goal-id %s --todo-id %s --no-follow-up", g.ID, v.ID)
	case v.Watch.NextDue > e.now && !c.Material:
		return Errorf(Conflict, "monitor_not_due", "%s is next due %s", v.ID, rfc3339(v.Watch.NextDue))
	case c.Next != "" && !c.Material:
		return Errorf(Invalid, "not_material", "a todo follows from a material change").Try("add --material-change")
	case !c.Material && c.Hash != "" && v.Watch.Hash != "" && c.Hash != v.Watch.Hash:
		return Errorf(Conflict, "result_changed", "the result differs from the last one, so the look is not unchanged").Try("add --material-change, or leave out --result-hash when the difference means nothing")
	case c.NextDue != 0 && (c.NextDue <= e.now || c.NextDue > e.now+366*dayMS):
		return Errorf(Invalid, "bad_next_due", "the next look must be later, within a year")
	}
	return nil
}

// Over says whether a watch has reached its end.
func (w *Watch) Over(now int64) bool { return w.Expires > 0 && now >= w.Expires }

// dueMonitor is the best monitor that is due for this agent, or nil.
func (s *situation) dueMonitor() *Todo {
	if len(s.lane) > 0 {
		return nil // the whole lane waits for a person
	}
	rg := under(listMax, tblIndex, s.g.ID, ListMonitor, "")
	var best *Todo
	for _, id := range s.r.lastParts(rg) {
		v := s.r.Todo(s.g.ID, id)
		if v == nil || v.Watch.NextDue > s.r.now {
			break // the list is in the order of the next look
		}
		if v.Watch.Over(s.r.now) || slices.Contains(v.Excluded, s.agent) || len(s.r.WaitsFor(s.g.ID, id)) > 0 || len(s.r.Blocks(s.g.ID, id)) > 0 || len(s.lapsed(v)) > 0 {
			continue
		}
		if best == nil || less(v, best) {
			best = v
		}
	}
	return best
}

// monitorsLive says whether any watch has not reached its end.
func (s *situation) monitorsLive() bool {
	for _, v := range s.r.List(s.g.ID, ListMonitor, "", listMax) {
		if !v.Watch.Over(s.r.now) {
			return true
		}
	}
	return s.counts.Monitors > listMax
}
