package view

import "loopx/kernel"

// Taken asks whether a goal is there, and which ids of todos other goals use.
type Taken struct {
	Goal string   `json:"goal"`
	IDs  []string `json:"ids"`
}

// TakenView is the answer to Taken.
type TakenView struct {
	Goal bool     `json:"goal"`
	IDs  []string `json:"ids"`
}

// Name implements Query.
func (*Taken) Name() string { return "taken" }

func (q *Taken) run(r *kernel.Reader) (any, error) {
	if len(q.IDs) > 1000 {
		return nil, kernel.Errorf(kernel.Invalid, "too_many", "at most 1000 ids are asked about at once")
	}
	return TakenView{Goal: r.Goal(q.Goal) != nil, IDs: append([]string{}, r.TakenTodos(q.Goal, q.IDs)...)}, nil
}
