package view

import "loopx/kernel"

// Handoff is what an agent reads first about a todo that others worked on.
type Handoff struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent,omitempty"`
	Todo  string `json:"todo,omitempty"` // default: what that agent would be given now
}

// HandoffView is the answer to Handoff; Text has at most 1,800 characters.
type HandoffView struct {
	GoalID string `json:"goal_id"`
	Agent  string `json:"agent_id,omitempty"`
	Todo   string `json:"todo_id"`
	Course uint64 `json:"objective_revision"`
	Text   string `json:"handoff"`
}

// Name implements Query.
func (*Handoff) Name() string { return "handoff" }

func (q *Handoff) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	todo := q.Todo
	if todo == "" {
		d, err := r.Decide(kernel.Caller{Goal: g.ID, Agent: q.Agent})
		if err != nil {
			return nil, err
		}
		if d.Selected == nil {
			return nil, kernel.Errorf(kernel.NotFound, "nothing_to_hand_over", "%s is given no todo now: %s", d.Agent, d.Reason).Try("name one with --todo-id")
		}
		todo = d.Selected.ID
	}
	v := r.Todo(g.ID, todo)
	if v == nil {
		return nil, kernel.Errorf(kernel.NotFound, "todo_not_found", "there is no todo %q in %s", todo, g.ID).Try("loopx todo list --goal-id %s", g.ID)
	}
	return HandoffView{GoalID: g.ID, Agent: q.Agent, Todo: v.ID, Course: g.Course, Text: kernel.Handoff(r, g, v, q.Agent)}, nil
}
