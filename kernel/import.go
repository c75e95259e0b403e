package kernel

import (
	"slices"
	"strings"

	"loopx/kernel/store"
)

// ImportRows takes rows of another program's state into a goal: todos with the
// ids and states they had, and history. Nothing of it is an authority: no claim,
// no grant, no decision comes this way, and no writeback of it can be paid. It is
// an owner's act and comes in pieces, because one command is bounded.
type ImportRows struct {
	Goal  string       `json:"goal"`
	Todos []ImportTodo `json:"todos,omitempty"`
	Runs  []ImportRun  `json:"runs,omitempty"`
	// Spends are payments; those in the goal's window count as one.
	Spends []ImportSpend `json:"spends,omitempty"`
}

// ImportTodo is a todo as it was. Times are UTC ms; 0 is unknown.
type ImportTodo struct {
	ID           string        `json:"id"`
	Title        string        `json:"title"`
	Body         string        `json:"body,omitempty"`
	Class        string        `json:"class"`
	Priority     int           `json:"priority"`
	Status       string        `json:"status"`
	Capabilities []string      `json:"capabilities,omitempty"`
	Write        []string      `json:"write,omitempty"`
	Scopes       []string      `json:"scopes,omitempty"`
	Excluded     []string      `json:"excluded_agents,omitempty"`
	ResumeWhen   string        `json:"resume_when,omitempty"`
	Target       string        `json:"target,omitempty"`
	CadenceMS    int64         `json:"cadence_ms,omitempty"`
	NextDue      int64         `json:"next_due,omitempty"`
	Expires      int64         `json:"expires,omitempty"`
	WatchOnly    bool          `json:"watch_only,omitempty"`
	Validation   []string      `json:"validation,omitempty"`
	Note         string        `json:"note,omitempty"`
	Evidence     []EvidenceArg `json:"evidence,omitempty"`
	DoneBy       string        `json:"done_by,omitempty"`
	Continuation string        `json:"continuation,omitempty"`
	Successors   []string      `json:"successors,omitempty"`
	SupersededBy string        `json:"superseded_by,omitempty"`
	Created      int64         `json:"created,omitempty"`
	Updated      int64         `json:"updated,omitempty"`
}

// ImportRun is a line of history.
type ImportRun struct {
	Agent          string `json:"agent"`
	Todo           string `json:"todo,omitempty"`
	Turn           string `json:"turn,omitempty"`
	Classification string `json:"classification"`
	Outcome        string `json:"delivery_outcome,omitempty"`
	Note           string `json:"note,omitempty"`
	Next           string `json:"next_action,omitempty"`
	At             int64  `json:"at,omitempty"` // 0: now
}

// ImportSpend is one payment.
type ImportSpend struct {
	Slots int   `json:"slots"`
	At    int64 `json:"at"`
}

// ImportMost bounds the rows of a kind in one ImportRows.
const ImportMost = 100

// Name implements Command.
func (*ImportRows) Name() string { return "import.rows" }

func (c *ImportRows) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	if err := ownerOf(r, e, g.ID, "importing a project"); err != nil {
		return nil, err
	}
	if len(c.Todos) > ImportMost || len(c.Runs) > ImportMost || len(c.Spends) > 100*ImportMost {
		return nil, Errorf(Invalid, "too_many", "one piece of an import has at most %d rows of a kind", ImportMost)
	}
	var events []Event
	n := r.Counts(g.ID)
	seen := map[string]bool{}
	ev := n.Evidence
	for i := range c.Todos {
		v, err := c.Todos[i].row(r, g, e)
		if err != nil {
			return nil, err
		}
		if seen[v.ID] || r.GoalOfTodo(v.ID) != "" {
			return nil, Errorf(Conflict, "todo_taken", "there is a todo %s already", v.ID)
		}
		seen[v.ID] = true
		v.Order = n.NextOrder + uint64(i)
		for _, a := range c.Todos[i].Evidence {
			ev++
			row := &Evidence{ID: "ev" + utoa(ev), Goal: g.ID, Todo: v.ID, Agent: "import", Kind: or(a.Kind, "note"), Summary: a.Summary, Ref: a.Ref, Observed: v.Updated}
			events = append(events, Event{Type: EvidenceAdded, Goal: g.ID, Subject: row.ID, Evidence: row})
			v.Evidence = append(v.Evidence, row.ID)
		}
		// It is added open and then what it was, as its own life would have gone.
		if v.Status == TodoDone || v.Status == TodoSuperseded {
			open := *v
			open.Status, open.Done, open.SupersededBy, open.Evidence = TodoOpen, nil, "", nil
			events = append(events, Event{Type: TodoAdded, Goal: g.ID, Subject: v.ID, Todo: &open})
		}
		events = append(events, Event{Type: imported(v), Goal: g.ID, Subject: v.ID, Todo: v})
	}
	for i := range c.Runs {
		run, err := c.Runs[i].row(e, g.ID, n.Runs+1+uint64(i))
		if err != nil {
			return nil, err
		}
		events = append(events, Event{Type: RunRecorded, Goal: g.ID, Subject: utoa(run.Seq), Run: run})
	}
	spent, err := c.spend(r, e, g, n.Spent)
	if err != nil {
		return nil, err
	}
	slots := 0
	if spent != nil {
		slots = spent.Slots
		events = append(events, Event{Type: SlotSpent, Goal: g.ID, Subject: utoa(spent.Seq), Spend: spent})
	}
	return &decided{changed: len(events) > 0, events: events, result: map[string]any{"goal_id": g.ID, "todos": len(c.Todos), "runs": len(c.Runs), "slots": slots}}, nil
}

func imported(v *Todo) string {
	switch v.Status {
	case TodoDone:
		return TodoCompleted
	case TodoSuperseded:
		return TodoSupersededBy
	}
	return TodoAdded
}

// Check says whether an import takes the todo, in a goal that holds nothing else.
func (t *ImportTodo) Check(now int64) error {
	_, err := t.row(&Reader{tx: noRows{}, now: now}, &Goal{ID: "goal"}, &env{now: now, id: placeholderIDs()})
	return err
}

// Check says whether an import takes the line.
func (c *ImportRun) Check() error {
	_, err := c.row(&env{}, "goal", 1)
	return err
}

// noRows is a snapshot of nothing.
type noRows struct{}

func (noRows) Get([]byte) ([]byte, error)                           { return nil, nil }
func (noRows) Scan(store.Range, func(key, value []byte) bool) error { return nil }
func (noRows) Now() int64                                           { return 0 }

// row checks a todo as its own command would.
func (t *ImportTodo) row(r *reader, g *Goal, e *env) (*Todo, error) {
	rest, ok := strings.CutPrefix(t.ID, "todo_")
	if !ok || len(rest) < 3 || len(rest) > 64 || checkToken("todo_id", t.ID, 80) != nil {
		return nil, Errorf(Invalid, "bad_todo_id", "%s is no id of a todo", show(t.ID))
	}
	add := &AddTodo{Goal: g.ID, Title: t.Title, Body: t.Body, Class: t.Class, Priority: &t.Priority, Capabilities: t.Capabilities, Write: t.Write, Scopes: t.Scopes,
		Excluded: t.Excluded, Target: t.Target, CadenceMS: t.CadenceMS, Expires: t.Expires, WatchOnly: t.WatchOnly, Validation: t.Validation, Note: t.Note}
	if t.Class == Monitor && t.ResumeWhen != "" && t.Expires == 0 && !t.WatchOnly {
		add.WatchOnly = true // it is bounded by what it waits for; see below
	}
	v, err := add.todo(r, g, e)
	if err != nil {
		return nil, err
	}
	err = firstErr(oneOf("status", t.Status, TodoOpen, TodoDeferred, TodoDone, TodoSuperseded), checkResume(t.ResumeWhen), checkText("done_by", t.DoneBy, 80, false), checkList("successor", t.Successors, 80))
	if err != nil {
		return nil, err
	}
	if len(t.Evidence) > evidenceMax {
		return nil, Errorf(Invalid, "too_many", "a todo brings at most %d pieces of evidence", evidenceMax)
	}
	for i := range t.Evidence {
		if err := t.Evidence[i].check(); err != nil {
			return nil, err
		}
	}
	v.ID, v.Status, v.AddedBy = t.ID, t.Status, "import"
	v.Created, v.Updated = orInt(t.Created, e.now), orInt(t.Updated, e.now)
	if v.Watch != nil {
		v.Watch.NextDue = orInt(t.NextDue, v.Watch.NextDue)
		if add.WatchOnly && !t.WatchOnly {
			v.Watch.Bound = "resume_when"
		}
	}
	switch t.Status {
	case TodoDeferred:
		if t.ResumeWhen == "" {
			return nil, noResume()
		}
		v.ResumeWhen = t.ResumeWhen
	case TodoDone:
		if err := oneOf("continuation", t.Continuation, NoFollowup, Successor, ActiveGoal); err != nil {
			return nil, err
		}
		v.Done = &DoneInfo{At: v.Updated, By: or(t.DoneBy, "import"), Continuation: t.Continuation, Successors: t.Successors}
	case TodoSuperseded:
		if v.SupersededBy = t.SupersededBy; v.SupersededBy == "" || v.SupersededBy == v.ID {
			return nil, Errorf(Invalid, "missing_successor", "a superseded todo names what replaced it")
		}
	}
	return v, nil
}

// row is a line of history that nobody can pay.
func (c *ImportRun) row(e *env, goal string, seq uint64) (*Run, error) {
	err := firstErr(checkText("agent", c.Agent, 80, false), checkText("todo", c.Todo, 80, false), checkText("turn", c.Turn, 120, false),
		needText("classification", c.Classification, 120, false), checkText("delivery_outcome", c.Outcome, 80, false),
		checkText("note", c.Note, noteMax, true), checkText("next_action", c.Next, noteMax, true))
	if err != nil {
		return nil, err
	}
	return &Run{Seq: seq, Goal: goal, Agent: or(c.Agent, "import"), Turn: c.Turn, Todo: c.Todo, Classification: c.Classification, Outcome: or(c.Outcome, SurfaceOnly),
		Note: c.Note, Next: c.Next, Spent: true, At: orInt(c.At, e.now)}, nil
}

// spend sums what was paid inside the goal's window, as paid at the newest of it:
// no slot comes back earlier than it would have.
func (c *ImportRows) spend(r *reader, e *env, g *Goal, total int64) (*Spend, error) {
	s := &Spend{Seq: r.Head().Seq + 1, Goal: g.ID, Agent: "import", Source: "import", Runs: []uint64{}}
	for _, v := range c.Spends {
		if v.Slots < 0 || v.Slots > 1000 {
			return nil, Errorf(Invalid, "bad_slots", "slots must be 0 to 1000")
		}
		if v.At > e.now-g.WindowMS {
			s.Slots += v.Slots
			s.At = max(s.At, min(v.At, e.now))
		}
	}
	if s.Slots == 0 {
		return nil, nil
	}
	s.Steady, s.Total = e.steady-(e.now-s.At), total+int64(s.Slots)
	return s, nil
}

// TakenTodos are those of some ids that another goal than this one uses.
func (r *Reader) TakenTodos(goal string, ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { g := r.GoalOfTodo(id); return g == "" || g == goal })
}
