package kernel

// TaintTurn marks a turn that has taken in words of somebody unlinked, an
// attachment or fetched text. It only takes away: standing approvals are not used
// in it any more, and nothing clears the mark.
type TaintTurn struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent,omitempty"`
	Turn  string `json:"turn"`
}

// Name implements Command.
func (*TaintTurn) Name() string { return "turn.taint" }

func (c *TaintTurn) decide(r *reader, _ *env) (*decided, error) {
	t, err := r.namedTurn(c.Goal, c.Agent, c.Turn)
	if err != nil {
		return nil, err
	}
	out := &decided{result: map[string]any{"goal_id": t.Goal, "agent_id": t.Agent, "turn": t.ID, "tainted": true}}
	if t.Tainted {
		return out, nil
	}
	n := *t
	n.Tainted = true
	out.changed = true
	out.events = []Event{{Type: TurnChanged, Goal: n.Goal, Subject: n.ID, Turn: &n}}
	return out, nil
}

// sessionsLooked bounds the sessions of a goal that are looked at for a tainted
// turn; beyond that a turn counts as tainted.
const sessionsLooked = 1000

// tainted says whether an agent acts in a tainted turn: the one it names, or any
// that is live in one of its sessions, so that leaving the name out helps nobody.
// A turn that the named one is about to replace in its session counts no more.
func tainted(r *Reader, goal, agent, turn, replaces string) bool {
	if agent == "" {
		return false
	}
	if t := r.Turn(goal, agent, turn); turn != "" && t != nil && t.Tainted {
		return true
	}
	list := r.Sessions(goal, sessionsLooked)
	for _, s := range list {
		if s.Agent != agent || s.State != "open" || s.Turn == "" || s.ID == replaces && s.Turn != turn {
			continue
		}
		if t := r.Turn(goal, agent, s.Turn); t != nil && t.Tainted && t.Status == TurnLive && t.Until > r.steady {
			return true
		}
	}
	return len(list) >= sessionsLooked
}
