package view

import "loopx/kernel"

// TurnOne is one turn of an agent.
type TurnOne struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent,omitempty"` // the only member, when there is one
	Turn  string `json:"turn"`
}

// Turn is what became of a turn.
type Turn struct {
	ID      string `json:"turn_instance_id"`
	Goal    string `json:"goal_id"`
	Agent   string `json:"agent_id"`
	Session string `json:"session_id"`
	Acted   bool   `json:"acted"`
	Rule    string `json:"rule"`
	Todo    string `json:"todo_id,omitempty"`
	Status  string `json:"status"` // live, closed
	Outcome string `json:"outcome,omitempty"`
	Spent   bool   `json:"spent"`
	Opened  int64  `json:"opened"`
	Closed  int64  `json:"closed,omitempty"`
	// Drive is how far loopx turn run got with it; Phases are all it reached.
	Drive  *kernel.Drive      `json:"drive,omitempty"`
	Phases []kernel.PhaseMark `json:"phases"`
}

// Name implements Query.
func (*TurnOne) Name() string { return "turn" }

func (q *TurnOne) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	agent := q.Agent
	if members := r.Agents(g.ID); agent == "" && len(members) == 1 {
		agent = members[0].ID
	}
	t := r.Turn(g.ID, agent, q.Turn)
	if t == nil {
		return nil, kernel.Errorf(kernel.NotFound, "turn_not_found", "%s has no turn %q in %s", agent, q.Turn, g.ID).Try("loopx history --goal-id %s", g.ID)
	}
	v := Turn{ID: t.ID, Goal: t.Goal, Agent: t.Agent, Session: t.Session, Acted: t.Act, Rule: t.Rule, Todo: t.Todo, Status: t.Status, Outcome: t.Outcome, Spent: t.Spent, Opened: t.Opened, Closed: t.Closed}
	v.Drive, v.Phases = t.Drive, phases(t)
	if t.Status == kernel.TurnLive && t.Until <= r.Steady() {
		v.Status, v.Outcome = kernel.TurnClosed, "lease_ended"
	}
	return v, nil
}

// phases of a turn in order, from its opening to its commit.
func phases(t *kernel.Turn) []kernel.PhaseMark {
	out := []kernel.PhaseMark{{Phase: "opened", At: t.Opened}}
	if t.Drive != nil {
		out = append(out, t.Drive.Marks...)
	}
	if t.Spent || t.Outcome == "quiet" {
		out = append(out, kernel.PhaseMark{Phase: "committed", At: t.Closed})
	}
	return out
}
