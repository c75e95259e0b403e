package kernel

import "strings"

// HoldTodo takes a todo for a person, or gives it back. A person's hold has no
// deadline and no lease: it ends when they say so, or when the todo does.
type HoldTodo struct {
	Goal    string `json:"goal"`
	Todo    string `json:"todo"`
	Person  string `json:"person"`
	Release bool   `json:"release,omitempty"`
	Note    string `json:"note,omitempty"`
}

// Name implements Command.
func (*HoldTodo) Name() string { return "todo.hold" }

func (c *HoldTodo) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	v, err := r.needTodo(g.ID, c.Todo)
	if err != nil {
		return nil, err
	}
	if err := firstErr(checkToken("person", c.Person, 120), checkText("note", c.Note, noteMax, true)); err != nil {
		return nil, err
	}
	if e.by.Kind != ByPerson || e.by.ID != c.Person {
		if err := e.owner("holding a todo for a person"); err != nil {
			return nil, err
		}
	}
	if c.Person != "owner" && r.Person(c.Person) == nil {
		return nil, Errorf(NotFound, "person_not_found", "there is no person %s in this workspace", show(c.Person)).Try("loopx link list")
	}
	old := r.Claim(g.ID, v.ID)
	who := "person:" + c.Person
	mine := old != nil && old.Hold && old.Agent == who
	result := todoResult(v)
	result["changed"], result["claimed_by"] = mine == c.Release, who
	if c.Release {
		result["claimed_by"] = ""
	}
	out := &decided{changed: mine == c.Release, result: result}
	switch {
	case c.Release && mine:
		out.events = r.releaseClaim(old)
	case c.Release && old != nil && old.Holds(e.steady):
		return nil, r.heldBy(v, old)
	case c.Release, mine:
		out.changed, result["changed"] = false, false
	case v.Class != Work:
		return nil, Errorf(Invalid, "not_work", "%s is no work to hold", v.ID)
	case v.Status != TodoOpen && !v.Due(e.now):
		return nil, Errorf(Conflict, "todo_"+v.Status, "%s is %s", v.ID, v.Status)
	case old != nil && old.Holds(e.steady):
		return nil, r.heldBy(v, old).Try("loopx todo update --goal-id %s --todo-id %s --agent-id %s --clear-claim", g.ID, v.ID, old.Agent)
	default:
		n := &Claim{Goal: g.ID, Todo: v.ID, Agent: who, Generation: 1, Hold: true, Since: e.now}
		if old != nil {
			n.Generation = old.Generation + 1
		}
		if v.Status == TodoDeferred {
			out.events = append(out.events, reopen(e, v))
		}
		out.events = append(out.events, Event{Type: TodoClaimed, Goal: g.ID, Subject: v.ID, Claim: n})
	}
	if out.changed && c.Note != "" {
		m := *v
		m.Note, m.Revision, m.Updated = c.Note, v.Revision+1, e.now
		if v.Status == TodoDeferred && !c.Release {
			m.Status, m.ResumeWhen = TodoOpen, ""
		}
		out.events = append(out.events, Event{Type: TodoUpdated, Goal: g.ID, Subject: v.ID, Todo: &m})
	}
	return out, nil
}

// PersonOf is the person in a claimant "person:ID", or "".
func PersonOf(claimant string) string {
	id, _ := strings.CutPrefix(claimant, "person:")
	if id == claimant {
		return ""
	}
	return id
}
