package kernel

import (
	"strings"
	"time"

	"loopx/kernel/store"
)

// Kinds of a resume condition.
const (
	resumeTodo  = "todo_done"
	resumeGate  = "gate"
	resumeDate  = "date"
	resumeEvent = "event"
)

// resumeDateOf is the date of a date condition, UTC ms; 0 for other kinds.
func resumeDateOf(s string) int64 {
	if v, ok := strings.CutPrefix(s, resumeDate+":"); ok {
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			return t.UnixMilli()
		}
	}
	return 0
}

// checkResume accepts a condition by its form; what it names is checked where it
// is taken.
func checkResume(s string) error {
	if s == "" {
		return nil
	}
	if err := checkText("resume_when", s, 200, false); err != nil {
		return err
	}
	bad := Errorf(Invalid, "bad_resume_when", "resume_when %s must be todo_done:ID, gate:ID, date:RFC3339 or event:KEY", show(s))
	kind, what, _ := strings.Cut(s, ":")
	switch kind {
	case resumeDate:
		if resumeDateOf(s) == 0 {
			return bad
		}
	case resumeTodo, resumeGate, resumeEvent:
		if checkToken("resume_when", what, 120) != nil {
			return bad
		}
	default:
		return bad
	}
	return nil
}

// resumeMost bounds the todos that wait for one condition: all of them are
// reopened in the transaction that makes it true.
const resumeMost = 64

// takeResume checks that a condition can come true in this goal, and says
// whether it is true already.
func (r *Reader) takeResume(goal, s string, now int64) (met bool, err error) {
	kind, what, _ := strings.Cut(s, ":")
	switch kind {
	case resumeDate:
		return resumeDateOf(s) <= now, nil
	case resumeTodo:
		v := r.Todo(goal, what)
		if v == nil {
			return false, r.todoMissing(goal, what)
		}
		met = v.Status == TodoDone
	case resumeGate:
		g, err := r.needGate(goal, what)
		if err != nil {
			return false, err
		}
		met = g.Status == GateAnswered && (g.Answer.Outcome == Approve || g.Answer.Outcome == Answer)
	}
	if len(r.lastParts(under(resumeMost, tblResume, goal, s))) >= resumeMost {
		return false, Errorf(Exhausted, "too_many_waiting", "%d todos wait for %s already", resumeMost, show(s))
	}
	return met, nil
}

// resumed reopens the parked todos whose condition has just come true.
func (r *Reader) resumed(e *env, goal, condition string) []Event {
	var out []Event
	for _, id := range r.lastParts(under(resumeMost, tblResume, goal, condition)) {
		if v := r.Todo(goal, id); v != nil && v.Status == TodoDeferred {
			out = append(out, reopen(e, v))
		}
	}
	return out
}

// reopen is the event of a parked todo that goes on.
func reopen(e *env, v *Todo) Event {
	n := *v
	n.Status, n.ResumeWhen, n.Revision, n.Updated = TodoOpen, "", v.Revision+1, e.now
	if n.Watch != nil {
		w := *n.Watch
		w.NextDue = e.now
		n.Watch = &w
	}
	return Event{Type: TodoReopened, Goal: v.Goal, Subject: v.ID, Todo: &n}
}

// Due says whether a parked todo's date has passed: it may be taken like an open one.
func (v *Todo) Due(now int64) bool {
	d := resumeDateOf(v.ResumeWhen)
	return v.Status == TodoDeferred && d > 0 && d <= now
}

// dueDeferred lists parked todos whose date has passed.
func (r *Reader) dueDeferred(goal string) []string {
	rg := under(listMax, tblIndex, goal, ListDeferred, "")
	rg.To = store.Key(tblIndex, goal, ListDeferred, "", dateSort(r.now+1))
	return r.lastParts(rg)
}

// nextDate is when the next parked todo comes due, UTC ms, or 0.
func (r *Reader) nextDate(goal string) int64 {
	rg := under(1, tblIndex, goal, ListDeferred, "")
	rg.From = store.Key(tblIndex, goal, ListDeferred, "", dateSort(r.now+1))
	at := int64(0)
	for _, id := range r.lastParts(rg) {
		if v := r.Todo(goal, id); v != nil {
			at = resumeDateOf(v.ResumeWhen)
		}
	}
	return at
}

// dateSort puts parked todos with a date before all others, by date.
func dateSort(ms int64) string { return "d" + store.I64(ms) }

// FireEvent says that something named by a key has happened; todos parked until
// event:KEY go on. The same key may happen again later.
type FireEvent struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent,omitempty"`
	Key   string `json:"key"`
}

// Name implements Command.
func (*FireEvent) Name() string { return "event.fire" }

func (c *FireEvent) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	if _, err := r.author(g.ID, c.Agent, e.by); err != nil {
		return nil, err
	}
	if err := checkToken("event_key", c.Key, 120); err != nil {
		return nil, err
	}
	events := r.resumed(e, g.ID, resumeEvent+":"+c.Key)
	ids := []string{}
	for _, ev := range events {
		ids = append(ids, ev.Subject)
	}
	return &decided{changed: len(events) > 0, events: events, result: map[string]any{"goal_id": g.ID, "event": c.Key, "resumed_todos": ids}}, nil
}
