package kernel

import (
	"strconv"

	"loopx/kernel/store"
)

// Obligation is a replan that an agent owes: its plan is stale, and only a
// change of the plan that the kernel can see settles it. Words and made-up ids
// do not.
type Obligation struct {
	ID    string `json:"id"`
	Goal  string `json:"goal"`
	Agent string `json:"agent"`
	// Cause is no_progress, monitor_unchanged, review_due or course_changed.
	Cause   string `json:"cause"`
	Subject string `json:"subject,omitempty"` // the todo it is about
	Since   int64  `json:"since"`
	// Met is when the plan was changed, UTC ms, and By what did: todo:ID, gate:ID
	// or closed:ID.
	Met int64  `json:"met,omitempty"`
	By  string `json:"met_by,omitempty"`
}

// Causes of a replan.
const (
	CauseStall   = "no_progress"       // turns in a row that said so about one todo
	CauseMonitor = "monitor_unchanged" // looks in a row that saw no change
	CauseReview  = "review_due"        // accountable runs since the last change of plan
	CauseCourse  = "course_changed"    // the owner changed objective, scope or non-goals

	stallTurns   = 2
	monitorLooks = 5
	reviewRuns   = 20
)

// stall counts the turns in a row in which an agent wrote that a todo made no
// progress. First is the run that began the row.
type stall struct {
	Turn  string `json:"turn,omitempty"`
	Turns int    `json:"turns"`
	First uint64 `json:"first"`
}

// pace counts an agent's accountable runs since its last review.
type pace struct {
	Runs    int `json:"runs"`
	Reviews int `json:"reviews"`
}

func (v *stall) sound() bool { return v.Turns > 0 && v.First > 0 }
func (v *pace) sound() bool  { return v.Runs >= 0 && v.Reviews >= 0 }

// replans is a reader that knows what makes a replan and what settles one.
type replans struct{ *Reader }

// stuck says whether a run is a typed word of no progress on open work.
func (r replans) stuck(run *Run) bool {
	if run.Outcome != OutcomeGap || run.Todo == "" || run.Classification == "todo_completed" {
		return false
	}
	v := r.Todo(run.Goal, run.Todo)
	return v != nil && v.Status == TodoOpen
}

// stalled is the row as it is after a run without progress. A turn counts once.
func (r replans) stalled(run *Run) stall {
	s := stall{First: run.Seq}
	if old := get[stall](r.Reader, tblStall, run.Goal, run.Todo, run.Agent); old != nil {
		s = *old
		if run.Turn != "" && run.Turn == old.Turn {
			return s
		}
	}
	s.Turn, s.Turns = run.Turn, s.Turns+1
	return s
}

// applyPace keeps the two counters that a new run moves.
func applyPace(t *tables, run *Run) {
	r := replans{&t.reader}
	switch {
	case run.Accountable:
		p := pace{}
		if old := get[pace](&t.reader, tblPace, run.Goal, run.Agent); old != nil {
			p = *old
		}
		p.Runs++
		t.put(p, tblPace, run.Goal, run.Agent)
		if run.Todo != "" {
			t.del(tblStall, run.Goal, run.Todo, run.Agent)
		}
	case r.stuck(run):
		t.put(r.stalled(run), tblStall, run.Goal, run.Todo, run.Agent)
	}
}

// owedReplan is the obligation that a new run brings, if any.
func (r replans) owedReplan(run *Run) []Event {
	switch {
	case run.Accountable:
		p := get[pace](r.Reader, tblPace, run.Goal, run.Agent)
		if p != nil && p.Runs+1 >= reviewRuns {
			return r.oblige(run.Goal, run.Agent, CauseReview, "", strconv.Itoa(p.Reviews), run.At)
		}
	case r.stuck(run):
		if s := r.stalled(run); s.Turns >= stallTurns {
			return r.oblige(run.Goal, run.Agent, CauseStall, run.Todo, utoa(s.First), run.At)
		}
	}
	return nil
}

// oblige makes an agent owe a replan, once per cause: the id comes from what the
// cause means, so that it stays the same however often it is seen, and one that
// is open covers what happens meanwhile.
func (r replans) oblige(goal, agent, cause, subject, anchor string, at int64) []Event {
	if get[Agent](r.Reader, tblAgent, goal, agent) == nil {
		return nil // people and the unnamed CLI plan as they like
	}
	id := "replan_" + digest([]string{goal, agent, cause, subject, anchor})[:16]
	if get[Obligation](r.Reader, tblReplan, goal, agent, id) != nil {
		return nil
	}
	for _, o := range r.Obligations(goal, agent) {
		if o.Cause == cause && o.Subject == subject {
			return nil
		}
	}
	o := &Obligation{ID: id, Goal: goal, Agent: agent, Cause: cause, Subject: subject, Since: at}
	return []Event{{Type: ReplanOwed, Goal: goal, Subject: id, Replan: o}}
}

// Obligations lists the replans an agent owes, oldest first.
func (r *Reader) Obligations(goal, agent string) []*Obligation {
	var out []*Obligation
	for _, id := range r.lastParts(under(listMax, tblReplanDue, goal, agent)) {
		if o := get[Obligation](r, tblReplan, goal, agent, id); o != nil {
			out = append(out, o)
		}
	}
	return out
}

// applyReplan keeps the row, the index of what is owed, and begins the counters
// anew that a met obligation came from.
func applyReplan(t *tables, v *Obligation) {
	t.put(v, tblReplan, v.Goal, v.Agent, v.ID)
	key := []string{tblReplanDue, v.Goal, v.Agent, store.I64(v.Since), v.ID}
	if v.Met == 0 {
		t.mark("", key...)
		return
	}
	t.del(key...)
	switch v.Cause {
	case CauseStall:
		t.del(tblStall, v.Goal, v.Subject, v.Agent)
	case CauseReview:
		p := pace{Reviews: 1}
		if old := get[pace](&t.reader, tblPace, v.Goal, v.Agent); old != nil {
			p.Reviews = old.Reviews + 1
		}
		t.put(p, tblPace, v.Goal, v.Agent)
	}
}

// met is the event of an obligation that a change settles.
func (o *Obligation) met(e *env, by string) Event {
	n := *o
	n.Met, n.By = e.now, by
	return Event{Type: ReplanMet, Goal: o.Goal, Subject: o.ID, Replan: &n}
}

// needReplan is the open obligation that a change names as its own.
func (r replans) needReplan(goal, agent, id string) (*Obligation, error) {
	o := get[Obligation](r.Reader, tblReplan, goal, agent, id)
	switch {
	case o == nil:
		return nil, Errorf(NotFound, "replan_not_found", "%s owes no replan %s", agent, show(id)).Try("loopx quota should-run --goal-id %s", goal)
	case o.Met > 0:
		return nil, Errorf(Conflict, "replan_met", "the replan %s was settled on %s by %s", o.ID, rfc3339(o.Met), o.By).Try("loopx quota should-run --goal-id %s", goal)
	}
	return o, nil
}

func notMet(o *Obligation, why string) error {
	return Errorf(Conflict, "replan_not_met", "this does not settle the replan %s: %s", o.ID, why).
		Try("add a todo that can run now, open a gate that blocks something, or complete the todo it is about with --no-follow-up")
}

// metByTodo: a new todo settles a replan when the agent could run it at once, or
// a person is asked for what it needs. events are those that make it.
func (r replans) metByTodo(e *env, agent, id string, v *Todo, events []Event) ([]Event, error) {
	if id == "" {
		return nil, nil
	}
	o, err := r.needReplan(v.Goal, agent, id)
	if err != nil {
		return nil, err
	}
	if why := r.notRunnable(o, v); why != "" {
		return nil, notMet(o, why)
	}
	for _, ev := range events {
		if ev.Type == GateJoined {
			return nil, notMet(o, "the new todo waits for a decision that was asked for before")
		}
	}
	return []Event{o.met(e, "todo:"+v.ID)}, nil
}

// notRunnable says why a new todo moves nothing, "" when it does.
func (r replans) notRunnable(o *Obligation, v *Todo) string {
	if v.Class != Work || v.Status != TodoOpen {
		return "the new todo is no work that can run now"
	}
	for _, a := range v.Excluded {
		if a == o.Agent {
			return "the new todo is not for " + a
		}
	}
	for _, on := range v.After {
		if w := r.Todo(v.Goal, on); w != nil && (w.Status == TodoOpen || w.Status == TodoDeferred) {
			return "the new todo comes after " + on
		}
	}
	if s := r.Todo(v.Goal, o.Subject); s != nil && s.Title == v.Title {
		return "the new todo is the old one again"
	}
	return ""
}

// metByGate: a new question that holds something back settles a replan.
func (r replans) metByGate(e *env, agent, id string, g *Gate) ([]Event, error) {
	if id == "" {
		return nil, nil
	}
	o, err := r.needReplan(g.Goal, agent, id)
	if err != nil {
		return nil, err
	}
	if g.Advisory || len(g.Blocks.Todos) == 0 && g.lane() == "" {
		return nil, notMet(o, "the gate blocks nothing")
	}
	return []Event{o.met(e, "gate:"+g.ID)}, nil
}

// metByEnd is what the end of a todo settles: the replans about that todo, when
// it is said what follows, and the one that the command names. next is the new
// todo that follows, if any.
func (r replans) metByEnd(e *env, agent, id string, v *Todo, said bool, next *Todo) ([]Event, error) {
	var out []Event
	by := "closed:" + v.ID
	for _, o := range r.Obligations(v.Goal, agent) {
		if o.Subject == v.ID && said && (next == nil || next.Title != v.Title) {
			out = append(out, o.met(e, by))
		}
	}
	if id == "" {
		return out, nil
	}
	o, err := r.needReplan(v.Goal, agent, id)
	if err != nil {
		return nil, err
	}
	for _, ev := range out {
		if ev.Subject == o.ID {
			return out, nil
		}
	}
	switch {
	case next != nil:
		if why := r.notRunnable(o, next); why != "" {
			return nil, notMet(o, why)
		}
		return append(out, o.met(e, "todo:"+next.ID)), nil
	case !said:
		return nil, notMet(o, "it is not said that nothing follows")
	case o.Subject != "":
		return nil, notMet(o, "it is about "+o.Subject)
	}
	return append(out, o.met(e, by)), nil
}

// ReplanAsked is the replan that a decision is about.
type ReplanAsked struct {
	ID    string   `json:"obligation_id"`
	Cause string   `json:"cause"`
	Todo  string   `json:"todo_id,omitempty"`
	AnyOf []string `json:"required_any_of"`
}

func (s *situation) askReplan(d *Decision) {
	o := s.replan
	d.Kind, d.ShouldRun = "replan", true
	d.State, d.Decision, d.Effective = "eligible", "autonomous_replan_required", "autonomous_replan_required"
	why := map[string]string{
		CauseStall:   o.Subject + " made no progress in two turns",
		CauseMonitor: o.Subject + " has shown no change five times",
		CauseReview:  "twenty turns were delivered since the plan was last reviewed",
		CauseCourse:  "the owner changed the goal's course",
	}[o.Cause]
	d.Reason = "the plan is stale: " + why
	d.Replan = &ReplanAsked{ID: o.ID, Cause: o.Cause, Todo: o.Subject, AnyOf: []string{"new_runnable_todo", "new_concrete_gate", "typed_closure"}}
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Change the plan: add a todo that can run now, ask a person with a gate that blocks something, or close a todo for good. Name the obligation; words alone change nothing."
	base := []string{"--replan-obligation-id", o.ID, "--goal-id", s.g.ID, "--agent-id", s.agent}
	d.Contract.CLI.Next = [][]string{
		append([]string{"todo", "add", "--text", "TEXT"}, base...),
		append([]string{"gate", "open", "--question", "TEXT", "--blocks-agent", s.agent}, base...),
	}
	if o.Subject != "" {
		d.Contract.CLI.Next = append(d.Contract.CLI.Next, append([]string{"todo", "complete", "--no-follow-up", "--todo-id", o.Subject}, base...))
	}
	d.Scheduler = s.soon("the plan is to be changed")
}

// askedAgain refuses to settle a replan with a question that stands already.
func (r replans) askedAgain(goal, agent, id string) error {
	if id == "" {
		return nil
	}
	o, err := r.needReplan(goal, agent, id)
	if err != nil {
		return err
	}
	return notMet(o, "the same question stands already")
}

// addedIn is the first todo that events add, or nil.
func addedIn(events []Event) *Todo {
	for _, ev := range events {
		if ev.Type == TodoAdded {
			return ev.Todo
		}
	}
	return nil
}

// withMet says in a result which replans a command settled.
func withMet(result map[string]any, met []Event) map[string]any {
	ids := []string{}
	for _, ev := range met {
		ids = append(ids, ev.Subject)
	}
	if len(ids) > 0 {
		result["replans_met"] = ids
	}
	return result
}
