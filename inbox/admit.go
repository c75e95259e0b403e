package inbox

import (
	"strings"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/routing"
)

// Admit captures a message that a verdict gives to an agent and lets it wait
// there, in the caller's transaction. It is called once a message: the event's
// mark was looked for before.
func (m *Mail) Admit(e chat.Event, platform chat.Platform, person string, v routing.Verdict) (*Delivery, error) {
	msg, err := m.capture(e, platform, person, Admitted, v.Reason, v.Tainted)
	if err != nil {
		return nil, err
	}
	return m.admit(msg, v)
}

// Pushed says whether a message that was fetched, and so may start nothing, still
// may now that the platform pushes it as well: a connection reads the past while
// new messages arrive, and which of the two ways is faster is chance. What was
// stored of it makes room for the capture that follows. verdict is that of the
// mark.
func (m *Mail) Pushed(e chat.Event, verdict string) (bool, error) {
	if strings.HasPrefix(verdict, "drop:") { // late, or of a sender of whom the past tells less
		return true, nil
	}
	if verdict != string(routing.Missed) {
		return false, nil
	}
	v, err := MessageOf(m.tx, e.Place, e.Message.ID)
	if v == nil || err != nil {
		return false, err // forgotten meanwhile
	}
	d, err := LoadDelivery(m.tx, v.ID)
	if err != nil || v.Gone || d != nil && (d.State != Closed || d.Reason != Missed) {
		return false, err // somebody has admitted it, or taken it back
	}
	return true, firstErr(m.undead(v.ID), m.tx.Delete(store.Key(tblAge, store.I64(v.Received), v.ID)), unmiss(m, v.ID))
}

func (m *Mail) deliveryOf(msg *Message, v routing.Verdict) *Delivery {
	d := &Delivery{ID: msg.ID, Goal: v.Target.Goal, Agent: v.Target.Agent, Session: v.Target.Session, Turn: v.Target.Turn, Goals: v.Target.Goals,
		Binding: v.Target.Binding, Members: v.Members, Tainted: msg.Tainted, Reply: v.Place.Place, Mode: v.Place.Mode, Created: m.now}
	d.Text, _ = bounded(v.Text, textMost)
	switch v.Action {
	case routing.Steer:
		d.Ingress = Steer
	case routing.Turn, routing.Queue:
		d.Ingress, d.Turn = Queue, ""
	default:
		d.Ingress, d.Turn = Inbox, ""
		if v.Target.Ingress == Queue || v.Target.Ingress == Steer { // of a missed one
			d.Ingress = Queue
		}
	}
	if strings.TrimSpace(d.Text) == "" {
		d.Text = msg.Text
	}
	for i, g := range d.Goals { // the Manager's session lies in one of its goals
		if d.Goal == "" && (m.r.Session(g, d.Session) != nil || i == len(d.Goals)-1) {
			d.Goal = g
		}
	}
	if d.Reply.Conversation == "" {
		d.Reply = msg.Place
	}
	if v.Place.Private {
		d.Reply = m.privately(msg)
	}
	if d.Mode == "" || d.Reply.Conversation == "" {
		d.Mode = ReplyNone
	}
	if d.Mode == routing.ReplyThread && msg.Platform == chat.Slack && d.Reply.Thread == "" && d.Reply.Conversation == msg.Place.Conversation && !msg.Private {
		d.Reply.Thread = msg.Said // any message of a channel can begin a thread there
	}
	if d.Agent == "" {
		if members := m.r.Agents(d.Goal); len(members) == 1 {
			d.Agent = members[0].ID
		}
	}
	return d
}

// privately is the sender's private conversation on the connection a message came
// by. Where there is none, the answer has no place.
func (m *Mail) privately(msg *Message) chat.Place {
	p := m.r.Principal(string(msg.Platform), msg.Place.Connection, msg.Sender.Tenant, msg.Sender.ID)
	if p == nil || p.Private == "" {
		return chat.Place{}
	}
	return chat.Place{Connection: msg.Place.Connection, Conversation: p.Private}
}

func (m *Mail) admit(msg *Message, v routing.Verdict) (*Delivery, error) {
	d := m.deliveryOf(msg, v)
	return d, m.wait(d)
}

// wait puts a new delivery at the end of its lane.
func (m *Mail) wait(d *Delivery) error {
	order, err := m.nextOrder()
	if err != nil {
		return err
	}
	d.Order, d.State, d.Created = order, Waiting, m.now
	switch d.Ingress {
	case Steer:
		d.Step = StepAccepted
	case Queue:
		d.Expires = m.r.Steady() + queueLife
	}
	if err := wantFiles(m, d); err != nil {
		return err
	}
	return firstErr(m.saveDelivery(d), m.owe(d), m.showState(d), m.t.Count("message:"+d.Ingress))
}

// Ingresses, as bindings name them.
const (
	Steer = routing.IngressSteer
	Queue = routing.IngressQueue
	Inbox = routing.IngressInbox
	// ReplyNone: nothing is written back.
	ReplyNone = routing.ReplyNone
)

// Edit follows a change of a message by its author: what waits is superseded by
// the new text, what an agent has is offered as a correction, what is done is
// noted. A change that leaves the words alone (an unfurl, a stamp) is none.
func (m *Mail) Edit(e chat.Event, text string) (string, error) {
	v, err := MessageOf(m.tx, e.Place, e.Message.ID)
	if err != nil || v == nil {
		return "unknown_message", err
	}
	now, _ := bounded(strings.ToValidUTF8(e.Message.Text, "\ufffd"), textMost)
	if now == v.Text || now == v.Now || strings.TrimSpace(now) == "" || v.Gone {
		return "same_text", nil
	}
	if text == "" {
		text = now
	}
	d, err := LoadDelivery(m.tx, v.ID)
	if err != nil {
		return "", err
	}
	v.Edited++
	switch {
	case d == nil && v.Turn != "": // the turn's set is frozen
		return "noted", m.putMessage(v)
	case d == nil:
		v.Text = now
		return "context", m.putMessage(v)
	case d.State == Waiting:
		v.Text, d.Text = now, text
		return Superseded, firstErr(m.putMessage(v), m.saveDelivery(d), m.showState(d))
	case d.State == Leased:
		v.Now = now
		return "correction", firstErr(m.putMessage(v), m.showState(d))
	}
	return "noted", m.putMessage(v)
}

// Delete follows a message that was taken back by its author or a moderator:
// what waits is withdrawn, and of what an agent has its author is asked whether
// to stop it.
func (m *Mail) Delete(e chat.Event) (string, error) {
	v, err := MessageOf(m.tx, e.Place, e.Message.ID)
	if err != nil || v == nil {
		return "unknown_message", err
	}
	if v.Gone {
		return "gone", nil
	}
	d, err := LoadDelivery(m.tx, v.ID)
	if err != nil {
		return "", err
	}
	v.Gone = true
	if d == nil || d.State == Waiting {
		if err := dropFiles(m, v); err != nil {
			return "", err
		}
	}
	if d == nil && v.Turn == "" {
		v.Text, v.Forgot = "", "deleted"
	}
	if err := m.putMessage(v); err != nil || d == nil {
		return "context", err
	}
	switch d.State {
	case Waiting:
		return Withdrawn, m.close(d, Withdrawn)
	case Leased:
		return "asked", m.showState(d)
	}
	return "noted", nil
}

// Sweep closes what time alone has ended: queued messages older than an hour and
// steers whose turn is over. It looks at the deliveries of the goals that have
// any, at most limit of them, behind a key, and returns where it stopped.
func (m *Mail) Sweep(after []byte, limit int) ([]byte, error) {
	ids, last, err := m.page(tblWait, after, limit)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		d, err := LoadDelivery(m.tx, id)
		if err != nil {
			return nil, err
		}
		if d == nil || d.Ended() {
			continue
		}
		switch {
		case d.Ingress == Queue && d.State == Waiting && d.Expires > 0 && d.Expires < m.r.Steady():
			err = m.expire(d)
		case d.State == Leased && d.Until < m.r.Steady() && d.Attempt >= attempts:
			err = m.close(d, Exhausted)
		}
		if err != nil {
			return nil, err
		}
	}
	return last, nil
}

// SweepSteers closes the steers whose turn ended before they were seen, like
// Sweep.
func (m *Mail) SweepSteers(after []byte, limit int) ([]byte, error) {
	ids, last, err := m.page(tblSteer, after, limit)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		d, err := LoadDelivery(m.tx, id)
		if err != nil {
			return nil, err
		}
		if d == nil || d.Ended() || m.r.Turn(d.Goal, d.Agent, d.Turn).Live(m.r.Steady()) {
			continue
		}
		if err := m.close(d, TurnEnded); err != nil {
			return nil, err
		}
	}
	return last, m.r.Err()
}

// page reads the ids behind a key of a table.
func (m *Mail) page(table string, after []byte, limit int) (ids []string, last []byte, err error) {
	rg := store.Under(limit, table)
	if after != nil {
		rg = rg.After(after)
	}
	err = m.tx.Scan(rg, func(k, _ []byte) bool {
		ids = append(ids, store.LastPart(k))
		last = append(last[:0], k...)
		return true
	})
	if len(ids) < limit {
		last = nil
	}
	return ids, last, err
}

// byAgent refuses agents: only people and the machine's user may.
func byAgent(by kernel.Actor, act string) error {
	if by.Kind == kernel.ByAgent {
		return kernel.Errorf(kernel.Denied, "people_only", "%s is a person's act", act)
	}
	return nil
}

// Refuse stores a message that cannot go the way it was sent, with the way that
// would work as a button. It goes nowhere by itself.
func (m *Mail) Refuse(e chat.Event, platform chat.Platform, person string, v routing.Verdict) (*Delivery, error) {
	msg, err := m.capture(e, platform, person, Admitted, v.Reason, v.Tainted)
	if err != nil {
		return nil, err
	}
	d := m.deliveryOf(msg, v)
	d.Ingress, d.State, d.Reason, d.Order, d.Offer = Steer, Closed, v.Reason, msg.Order, v.Offer
	return d, firstErr(m.saveDelivery(d), m.showState(d), m.t.Count("refused:"+v.Reason))
}

// Ask stores a message that has more than one target and asks which is meant.
func (m *Mail) Ask(e chat.Event, platform chat.Platform, person string, v routing.Verdict) error {
	msg, err := m.capture(e, platform, person, Admitted, v.Reason, v.Tainted)
	if err != nil {
		return err
	}
	d := m.deliveryOf(msg, v)
	d.Ingress, d.State, d.Reason, d.Order = Inbox, Closed, Choice, msg.Order
	for _, t := range v.Choices[:min(len(v.Choices), choicesMost)] {
		d.Choices = append(d.Choices, Chosen{Goal: t.Goal, Goals: t.Goals, Agent: t.Agent, Session: t.Session, Binding: t.Binding, Ingress: t.Ingress})
	}
	return firstErr(m.saveDelivery(d), m.showState(d), m.t.Count("asked"))
}

// Choice is the reason of a message that waits for its author's choice.
const Choice = "choice"

// choicesMost is how many targets are offered as buttons.
const choicesMost = 10

// Chosen is one target that a message may go to.
type Chosen struct {
	Goal    string   `json:"goal"`
	Goals   []string `json:"goals,omitempty"`
	Agent   string   `json:"agent,omitempty"`
	Session string   `json:"session,omitempty"`
	Binding string   `json:"binding,omitempty"`
	Ingress string   `json:"ingress"`
}

// Label is how people see a target.
func (c Chosen) Label() string {
	if c.Agent == "" {
		return c.Goal
	}
	return c.Goal + " · " + c.Agent
}
