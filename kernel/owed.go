package kernel

import "loopx/kernel/store"

// Owed is an answer that an agent owes: somebody addressed a message to it and
// waits. The message lies in the room that took it; here stands only that
// answering comes before work.
type Owed struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent"`
	ID    string `json:"id"`   // of the message, in the room that keeps it
	Kind  string `json:"kind"` // how it came in, as that room calls it
	From  string `json:"from"` // who waits, as people see them
	Since int64  `json:"since"`
	// Settled is when the answer was given or the message taken back, UTC ms.
	Settled int64 `json:"settled,omitempty"`
}

// owedMost bounds the answers one agent owes in one goal at a time.
const owedMost = 64

// Owed lists the answers an agent owes, oldest first.
func (r *Reader) Owed(goal, agent string) []*Owed {
	list := rows[Owed](r, under(owedMost, tblOwed, goal, agent))
	sortBy(list, func(v *Owed) (int64, string) { return v.Since, v.ID })
	return list
}

// OweAnswer notes that a message waits for an agent's answer. Rooms that take
// messages give it; an agent cannot put its peers to work with it.
type OweAnswer struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent"`
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	From  string `json:"from"`
}

// Name implements Command.
func (*OweAnswer) Name() string { return "answer.owe" }

func (c *OweAnswer) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	a, err := r.actor(g.ID, c.Agent)
	if err != nil {
		return nil, err
	}
	if e.by.Kind == ByAgent {
		return nil, Errorf(Denied, "people_only", "only a message of a person makes an agent owe an answer")
	}
	if err := firstErr(checkToken("message_id", c.ID, 120), checkToken("kind", c.Kind, 40), needText("from", c.From, 120, false)); err != nil {
		return nil, err
	}
	out := &decided{result: map[string]any{"goal_id": g.ID, "agent_id": a.ID, "message_id": c.ID}}
	if r.raw(store.Key(tblOwed, g.ID, a.ID, c.ID)) != nil {
		return out, nil
	}
	if len(r.Owed(g.ID, a.ID)) >= owedMost {
		return nil, Errorf(Exhausted, "too_many_owed", "%s owes %d answers already", a.ID, owedMost)
	}
	v := &Owed{Goal: g.ID, Agent: a.ID, ID: c.ID, Kind: c.Kind, From: c.From, Since: e.now}
	out.changed, out.events = true, []Event{{Type: AnswerOwed, Goal: g.ID, Subject: v.ID, Owed: v}}
	return out, nil
}

// SettleAnswer notes that an owed answer was given, or is wanted no longer.
type SettleAnswer struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent"`
	ID    string `json:"id"`
}

// Name implements Command.
func (*SettleAnswer) Name() string { return "answer.settle" }

func (c *SettleAnswer) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	a, err := r.actor(g.ID, c.Agent)
	if err != nil {
		return nil, err
	}
	if e.by.Kind == ByAgent && e.by.ID != a.ID {
		return nil, Errorf(Denied, "answer_of_other", "the answer is owed by %s", a.ID)
	}
	if err := checkToken("message_id", c.ID, 120); err != nil {
		return nil, err
	}
	out := &decided{result: map[string]any{"goal_id": g.ID, "agent_id": a.ID, "message_id": c.ID}}
	v := get[Owed](r, tblOwed, g.ID, a.ID, c.ID)
	if v == nil {
		return out, nil // settled before, or never owed
	}
	n := *v
	n.Settled = e.now
	out.changed, out.events = true, []Event{{Type: AnswerSettled, Goal: g.ID, Subject: v.ID, Owed: &n}}
	return out, nil
}

// applyOwed keeps only what is still owed; the journal keeps the rest.
func applyOwed(t *tables, v *Owed) {
	if v.Settled > 0 {
		t.del(tblOwed, v.Goal, v.Agent, v.ID)
		return
	}
	t.put(v, tblOwed, v.Goal, v.Agent, v.ID)
}

// Reply is the message that a turn is to answer, in a decision.
type Reply struct {
	ID   string `json:"message_id"`
	Kind string `json:"kind"`
	From string `json:"from"`
}

func (s *situation) reply(d *Decision) {
	v := s.owed
	d.Kind, d.ShouldRun = "reply", true
	d.State, d.Decision, d.Effective = "eligible", "run", "normal_run"
	d.Reason = "a message waits for an answer since " + rfc3339(v.Since)
	d.Reply = &Reply{ID: v.ID, Kind: v.Kind, From: brief(v.From, 120)}
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Answer the message " + v.ID + " first, then ask again."
	d.Contract.CLI.Next = [][]string{{"inbox", "next", "--goal-id", d.Goal, "--agent-id", d.Agent}}
	d.Scheduler = s.soon("a person waits for an answer")
}
