package inbox

import (
	"slices"

	"loopx/kernel"
	"loopx/kernel/store"
)

// Query is a read model of this room; it travels like those of kernel/view.
type Query interface {
	Name() string
	Answer(r *kernel.Reader) (any, error)
}

// NewQuery returns an empty query of this room to decode into, or nil for a name
// it does not have.
func NewQuery(name string) Query {
	for _, q := range []Query{&Messages{}, &DeadMessages{}, &Attention{}, &ExportPerson{}} {
		if q.Name() == name {
			return q
		}
	}
	return nil
}

// Messages lists what waits in a goal's inbox and queues.
type Messages struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent,omitempty"` // only what this agent may have
	Limit int    `json:"limit,omitempty"` // default 50, at most 200
}

// Name implements Query.
func (*Messages) Name() string { return "inbox" }

// MessagesView is the answer to Messages and DeadMessages.
type MessagesView struct {
	Goal     string         `json:"goal_id"`
	Messages []MessageState `json:"messages"`
	// Outward are our own messages that are dead; only of DeadMessages.
	Outward []DeadOutward `json:"outward,omitempty"`
	// Waiting counts those nobody has yet, More says that the list was cut.
	Waiting int  `json:"waiting"`
	More    bool `json:"more,omitempty"`
}

// MessageState is one message in a list.
type MessageState struct {
	ID       string `json:"message_id"`
	From     string `json:"from"`
	Agent    string `json:"agent_id,omitempty"`
	Session  string `json:"session_id,omitempty"`
	Ingress  string `json:"ingress"`
	State    string `json:"state"`
	Step     string `json:"step,omitempty"`
	Outcome  string `json:"outcome,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Position int    `json:"position,omitempty"` // in its queue
	Attempt  int    `json:"attempt"`
	At       int64  `json:"at"`
	Text     string `json:"text"` // its beginning
	Until    int64  `json:"lease_until,omitempty"`
	Expires  int64  `json:"expires,omitempty"`
	// Sent says whether the platform has the answer: owed, sent, dead, or empty
	// without one.
	Sent string `json:"answer,omitempty"`
}

// lineMost is how much of a text a list shows, in bytes.
const lineMost = 240

// Answer implements Query.
func (q *Messages) Answer(r *kernel.Reader) (any, error) {
	g := r.Goal(q.Goal)
	if g == nil {
		return nil, noGoal(q.Goal)
	}
	limit := bound(q.Limit)
	out := MessagesView{Goal: g.ID, Messages: []MessageState{}}
	lanes := []string{"", q.Agent}
	if q.Agent == "" {
		lanes = lanes[:1]
		for _, a := range r.Agents(g.ID) {
			lanes = append(lanes, a.ID)
		}
	}
	var list []*Delivery
	for _, table := range []string{tblSteer, tblWait} {
		for _, lane := range lanes {
			err := pending(r.Tx(), waitMost, table, g.ID, lane, func(d *Delivery) bool {
				if d.State == Waiting {
					out.Waiting++
				}
				list = append(list, d)
				return true
			})
			if err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(list, func(a, b *Delivery) int { return int(int64(a.Order) - int64(b.Order)) })
	if out.More = len(list) > limit; out.More {
		list = list[:limit]
	}
	for _, d := range list {
		s, err := stateOf(r, d)
		if err != nil {
			return nil, err
		}
		out.Messages = append(out.Messages, s)
	}
	return out, r.Err()
}

func stateOf(r *kernel.Reader, d *Delivery) (MessageState, error) {
	s := MessageState{ID: d.ID, Agent: d.Agent, Session: d.Session, Ingress: d.Ingress, State: d.State, Step: d.Step, Outcome: d.Outcome, Reason: d.Reason, Attempt: d.Attempt}
	v, err := LoadMessage(r.Tx(), d.ID)
	if err != nil {
		return s, err
	}
	if v != nil {
		s.At, s.From = v.At, (&Mail{r: r}).nameOf(v)
		s.Text, _ = bounded(d.Text, lineMost)
	}
	switch {
	case d.State == Leased && d.Until > 0:
		s.Until = r.Wall(d.Until)
	case d.State == Waiting && d.Ingress == Queue:
		s.Expires = r.Wall(d.Expires)
		if s.Position, _, err = Position(r.Tx(), d); err != nil {
			return s, err
		}
	}
	if d.Answer != "" {
		it, err := Load(r.Tx(), d.Answer)
		if err != nil {
			return s, err
		}
		switch {
		case d.Delivered > 0:
			s.Sent = "sent"
		case it != nil && it.State == Dead:
			s.Sent = "dead"
		default:
			s.Sent = "owed"
		}
	}
	return s, nil
}

// DeadMessages lists what could not be handled and will not be tried again by
// itself, newest first.
type DeadMessages struct {
	Goal  string `json:"goal,omitempty"` // default: of every goal
	Limit int    `json:"limit,omitempty"`
}

// Name implements Query.
func (*DeadMessages) Name() string { return "inbox-dead" }

// Answer implements Query.
func (q *DeadMessages) Answer(r *kernel.Reader) (any, error) {
	limit := bound(q.Limit)
	out := MessagesView{Goal: q.Goal, Messages: []MessageState{}}
	var ids []string
	err := r.Tx().Scan(store.Under(10*listMost, tblDead).Last(), func(k, _ []byte) bool {
		ids = append(ids, store.LastPart(k))
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		d, err := LoadDelivery(r.Tx(), id)
		if err != nil {
			return nil, err
		}
		if d == nil || q.Goal != "" && d.Goal != q.Goal {
			continue
		}
		if out.More = len(out.Messages) == limit; out.More {
			break
		}
		s, err := stateOf(r, d)
		if err != nil {
			return nil, err
		}
		out.Messages = append(out.Messages, s)
	}
	more := false
	if out.Outward, more, err = deadOutward(r, q.Goal, limit); err != nil {
		return nil, err
	}
	out.More = out.More || more
	return out, r.Err()
}

func bound(limit int) int {
	if limit <= 0 {
		return 50
	}
	return min(limit, listMost)
}

func noGoal(id string) error {
	if id == "" {
		return kernel.Errorf(kernel.Invalid, "missing_goal_id", "no goal was named").Try("pass --goal-id, or set LOOPX_GOAL")
	}
	return kernel.Errorf(kernel.NotFound, "goal_not_found", "there is no such goal in this workspace").Try("loopx goal list")
}
