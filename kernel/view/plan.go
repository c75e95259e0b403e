package view

import "loopx/kernel"

// Plan is what each agent of a goal would be told now.
type Plan struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent,omitempty"` // only this one
}

// PlanView is the answer to Plan.
type PlanView struct {
	GoalID string       `json:"goal_id"`
	AsOf   int64        `json:"as_of"`
	Quota  kernel.Quota `json:"quota"`
	Agents []PlanAgent  `json:"agents"`
	// More is set when the goal has more agents than are shown.
	More bool `json:"more"`
}

// PlanAgent is the decision for one agent, short.
type PlanAgent struct {
	Agent     string `json:"agent_id"`
	Rule      string `json:"rule"`
	Kind      string `json:"kind"`
	ShouldRun bool   `json:"should_run"`
	State     string `json:"state"`
	Decision  string `json:"decision"`
	Effective string `json:"effective_action"`
	Todo      string `json:"todo_id,omitempty"`
	NextWake  int64  `json:"next_wake_at,omitempty"`
	Reason    string `json:"reason"`
}

// planMost bounds the decisions one plan takes.
const planMost = 50

// Name implements Query.
func (*Plan) Name() string { return "plan" }

func (q *Plan) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	out := PlanView{GoalID: g.ID, AsOf: r.Now(), Quota: r.Quota(g, ""), Agents: []PlanAgent{}}
	for _, a := range r.Agents(g.ID) {
		if q.Agent != "" && q.Agent != a.ID {
			continue
		}
		if len(out.Agents) == planMost {
			out.More = true
			break
		}
		d, err := r.Decide(kernel.Caller{Goal: g.ID, Agent: a.ID})
		if err != nil {
			return nil, err
		}
		p := PlanAgent{Agent: a.ID, Rule: d.Rule, Kind: d.Kind, ShouldRun: d.ShouldRun, State: d.State, Decision: d.Decision, Effective: d.Effective, NextWake: d.Scheduler.NextWake, Reason: d.Reason}
		if d.Selected != nil {
			p.Todo = d.Selected.ID
		}
		out.Agents = append(out.Agents, p)
	}
	return out, nil
}
