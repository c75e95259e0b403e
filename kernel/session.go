package kernel

import "loopx/kernel/store"

// OpenSession registers one running host conversation of an agent.
type OpenSession struct {
	Goal        string `json:"goal"`
	Agent       string `json:"agent,omitempty"`
	Session     string `json:"session,omitempty"` // default: a new id
	Host        string `json:"host,omitempty"`
	HostSession string `json:"host_session,omitempty"`
}

// Name implements Command.
func (*OpenSession) Name() string { return "session.open" }

func (c *OpenSession) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	a, err := r.actor(g.ID, c.Agent)
	if err != nil {
		return nil, err
	}
	id := c.Session
	if id == "" {
		id = e.id("ses_")
	}
	err = firstErr(checkToken("session_id", id, 120), checkText("host", c.Host, 80, false), checkText("host session", c.HostSession, 200, false))
	if err != nil {
		return nil, err
	}
	ev, err := r.seeSession(e, g.ID, a.ID, id, c.Host, c.HostSession, "", "")
	if err != nil {
		return nil, err
	}
	return &decided{changed: ev.Type == SessionOpened, events: append(idleClosed(r, e, g.ID, id), *ev),
		result: map[string]any{"session_id": id, "goal_id": g.ID, "agent_id": a.ID}}, nil
}

// seeSession opens a session or notes that it is alive, with turn as its newest.
func (r *Reader) seeSession(e *env, goal, agent, id, host, hostSession, turn, tree string) (*Event, error) {
	s := r.Session(goal, id)
	if s == nil || s.State == "closed" {
		n := &Session{ID: id, Goal: goal, Agent: agent, Host: host, HostSession: hostSession, Mode: "attached", State: "open", Turn: turn, Tree: tree, Opened: e.now, Seen: e.now, SeenSteady: e.steady}
		return &Event{Type: SessionOpened, Goal: goal, Subject: id, Session: n}, nil
	}
	if s.Agent != agent {
		return nil, Errorf(Conflict, "session_of_other", "the session %s belongs to %s", show(id), s.Agent).Try("loopx session open --goal-id %s --agent-id %s", goal, agent)
	}
	n := *s
	n.Seen, n.SeenSteady = e.now, e.steady
	n.Host, n.HostSession = or(host, s.Host), or(hostSession, s.HostSession)
	if turn != "" {
		n.Turn = turn
	}
	n.Tree = or(tree, s.Tree)
	return &Event{Type: SessionSeen, Goal: goal, Subject: id, Session: &n}, nil
}

// CloseSession ends a session; its open work is kept.
type CloseSession struct {
	Goal    string `json:"goal"`
	Session string `json:"session"`
}

// Name implements Command.
func (*CloseSession) Name() string { return "session.close" }

func (c *CloseSession) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	s := r.Session(g.ID, c.Session)
	if s == nil {
		return nil, Errorf(NotFound, "session_not_found", "there is no session %s in %s", show(c.Session), g.ID).Try("loopx session list --goal-id %s", g.ID)
	}
	out := &decided{result: map[string]any{"session_id": s.ID, "goal_id": g.ID, "state": "closed"}}
	if s.State == "closed" {
		return out, nil
	}
	n := *s
	n.State, n.Ended = "closed", "asked"
	if idle(s, e.steady) {
		n.Ended = "idle" // it was seen when it was; nobody saw it now
	} else {
		n.Seen, n.SeenSteady = e.now, e.steady
	}
	out.changed = true
	out.events = []Event{{Type: SessionClosed, Goal: g.ID, Subject: s.ID, Session: &n}}
	return out, nil
}

// idleMS is how long a session may go unseen before it is over.
const idleMS = dayMS

// idleMost bounds the idle sessions that one command closes on its way.
const idleMost = 8

func idle(s *Session, steady int64) bool {
	return s.State == "open" && s.SeenSteady > 0 && s.SeenSteady+idleMS <= steady
}

// IdleSessions lists open sessions of a goal that nobody saw for a day, those seen
// longest ago first.
func (r *Reader) IdleSessions(goal string, limit int) []*Session {
	rg := under(limit, tblSeen, goal)
	rg.To = store.Key(tblSeen, goal, store.I64(r.steady-idleMS+1))
	var out []*Session
	for _, id := range r.lastParts(rg) {
		if s := r.Session(goal, id); s != nil {
			out = append(out, s)
		}
	}
	return out
}

// idleClosed closes sessions that were idle for a day, except the one that is being
// seen. Their open work is kept; what a turn of theirs left is for its agent to
// settle.
func idleClosed(r *reader, e *env, goal, seen string) []Event {
	var out []Event
	for _, s := range r.IdleSessions(goal, idleMost) {
		if s.ID != seen {
			n := *s
			n.State, n.Ended = "closed", "idle"
			out = append(out, Event{Type: SessionClosed, Goal: goal, Subject: s.ID, Session: &n})
		}
	}
	return out
}
