package inbox

import (
	"strings"

	"loopx/kernel"
	"loopx/kernel/store"
)

// NewCommand returns an empty command of this room to decode into, or nil for a
// name it does not have.
func NewCommand(name string) kernel.Command {
	for _, c := range []kernel.Command{&NextMessage{}, &SettleMessage{}, &WithdrawMessage{}, &ReplayMessage{}, &AdmitMissed{}, &ForgetMessages{}} {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// DecodeCommand reads a command of this room or of the kernel strictly.
func DecodeCommand(name string, data []byte) (kernel.Command, error) {
	if c := NewCommand(name); c != nil {
		return c, kernel.DecodeStrict(data, c)
	}
	return kernel.DecodeCommand(name, data)
}

// NextMessage leases the oldest message that waits for an agent.
type NextMessage struct {
	kernel.Outside
	Goal    string `json:"goal"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	Turn    string `json:"turn,omitempty"`     // names the live turn, if there is one
	LeaseMS int64  `json:"lease_ms,omitempty"` // default 15 minutes, at most a day
}

// Name implements kernel.Command.
func (*NextMessage) Name() string { return "inbox.next" }

// NamesTurn says which live turn the command is a step of.
func (c *NextMessage) NamesTurn() (string, string, string) { return c.Goal, c.Agent, c.Turn }

// Leasing is the answer to NextMessage. Empty stands alone.
type Leasing struct {
	Goal    string        `json:"goal_id"`
	Agent   string        `json:"agent_id"`
	Empty   bool          `json:"empty,omitempty"`
	Note    string        `json:"context_note,omitempty"`
	Context []ContextItem `json:"context,omitempty"`
	// The one message that is to be answered comes last.
	Message *Leaseholder `json:"message,omitempty"`
}

// Leaseholder is a message as the agent that holds it sees it.
type Leaseholder struct {
	ID          string `json:"message_id"`
	From        string `json:"from"`
	Ingress     string `json:"ingress"`
	At          int64  `json:"at"`
	Text        string `json:"text"`
	Truncated   bool   `json:"truncated,omitempty"`
	Attachments int    `json:"attachments,omitempty"`
	// Files are what was attached, each with where its bytes are.
	Files   []kernel.Attached `json:"files,omitempty"`
	Attempt int               `json:"attempt"`
	Until   int64             `json:"lease_until"` // UTC ms
	Tainted bool              `json:"tainted,omitempty"`
	Members bool              `json:"members_only,omitempty"`
	Goals   []string          `json:"goals,omitempty"`
	Reply   string            `json:"reply"` // thread, mirror or none
}

// Run implements kernel.OutsideCommand.
func (c *NextMessage) Run(k *kernel.Kernel, tx store.Tx, opt kernel.Options) (kernel.Receipt, error) {
	return once(k, tx, c, opt, func(m *Mail) (any, bool, error) {
		g, a, err := m.r.NeedMember(c.Goal, c.Agent)
		if err != nil {
			return nil, false, err
		}
		if c.LeaseMS < 0 || c.LeaseMS > leaseMost || c.LeaseMS > 0 && c.LeaseMS < 1000 {
			return nil, false, kernel.Errorf(kernel.Invalid, "bad_lease", "a lease is one second to 24 hours")
		}
		if c.Session != "" {
			if s := m.r.Session(g.ID, c.Session); s != nil && s.Agent != a.ID {
				return nil, false, kernel.Errorf(kernel.Conflict, "session_of_other", "the session belongs to %s", s.Agent)
			}
		}
		session := c.Session
		if plain := "cli:" + a.ID; session == "" && m.r.Session(g.ID, plain) != nil {
			session = plain // the one that a tick without a session opened, and that messages are queued for
		}
		out := &Leasing{Goal: g.ID, Agent: a.ID}
		d, err := m.next(g.ID, a.ID, session, c.LeaseMS)
		if err != nil {
			return nil, false, err
		}
		if d == nil {
			out.Empty = true
			return out, false, nil
		}
		if err := taintTurns(m, d, c.Turn); err != nil {
			return nil, false, err
		}
		v, err := LoadMessage(m.tx, d.ID)
		if err != nil {
			return nil, false, err
		}
		if v == nil {
			return nil, false, kernel.Errorf(kernel.Internal, "internal", "the message of a delivery is gone")
		}
		out.Message = &Leaseholder{ID: d.ID, From: m.nameOf(v), Ingress: d.Ingress, At: v.At, Text: d.Text, Truncated: v.Truncated, Attachments: len(v.Attachments), Files: attached(v),
			Attempt: d.Attempt, Until: m.r.Wall(d.Until), Tainted: d.Tainted, Members: d.Members, Goals: d.Goals, Reply: d.Mode}
		if out.Context, err = m.contextOf(d); err != nil {
			return nil, false, err
		}
		if len(out.Context) > 0 {
			out.Note = ContextNote
		}
		return out, true, m.r.Err()
	})
}

// SettleMessage ends a message with an agent's outcome and, where there is one, its
// answer.
type SettleMessage struct {
	kernel.Outside
	Goal    string `json:"goal"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	Turn    string `json:"turn,omitempty"`
	Message string `json:"message"`
	Attempt int    `json:"attempt,omitempty"` // binds to this lease; 0 to whichever is held
	Outcome string `json:"outcome"`           // adopted, declined, deferred
	Reply   string `json:"reply,omitempty"`
	// Files are sent behind the answer's words, in order.
	Files []AnswerFile `json:"files,omitempty"`
}

// Name implements kernel.Command.
func (*SettleMessage) Name() string { return "inbox.settle" }

// NamesTurn says which live turn the command is a step of.
func (c *SettleMessage) NamesTurn() (string, string, string) { return c.Goal, c.Agent, c.Turn }

// Settled is the answer to SettleMessage.
type Settled struct {
	ID      string `json:"message_id"`
	Goal    string `json:"goal_id"`
	Agent   string `json:"agent_id"`
	State   string `json:"state"`
	Outcome string `json:"outcome"`
	// Reply is where the answer is on its way: owed, or none.
	Reply string `json:"reply"`
}

// Run implements kernel.OutsideCommand. Without a key the message itself is the
// key: the same outcome again gives the same receipt.
func (c *SettleMessage) Run(k *kernel.Kernel, tx store.Tx, opt kernel.Options) (kernel.Receipt, error) {
	return once(k, tx, c, opt, func(m *Mail) (any, bool, error) {
		g, a, err := m.r.NeedMember(c.Goal, c.Agent)
		if err != nil {
			return nil, false, err
		}
		switch c.Outcome {
		case Adopted, Declined, Deferred:
		default:
			return nil, false, kernel.Errorf(kernel.Invalid, "bad_outcome", "an outcome is adopted, declined or deferred").Try("loopx inbox settle --message-id %s --outcome adopted", c.Message)
		}
		if len(c.Reply) > replyMost {
			return nil, false, kernel.Errorf(kernel.Invalid, "too_long", "an answer has at most %d bytes", replyMost).Try("put the rest where people can read it, and say where")
		}
		if err := checkAnswerFiles(c.Files); err != nil {
			return nil, false, err
		}
		d, err := m.need(g.ID, c.Message)
		if err != nil {
			return nil, false, err
		}
		reply := c.Reply
		if strings.TrimSpace(reply) == "" {
			reply = ""
		}
		out := &Settled{ID: d.ID, Goal: g.ID, Agent: a.ID, Reply: "none"}
		parts := []string{"words", reply}
		for _, f := range c.Files {
			parts = append(parts, f.Name, f.SHA256)
		}
		words := short(parts...)
		if d.State == Answered && d.Holder == a.ID && d.Outcome == c.Outcome && d.Words == words {
			out.State, out.Outcome = d.State, d.Outcome
			return out, false, nil // done before, with the same words
		}
		d.Words = words
		if err := m.settle(d, a.ID, c.Session, c.Attempt, c.Outcome, reply, c.Files); err != nil {
			return nil, false, err
		}
		out.State, out.Outcome = d.State, d.Outcome
		if d.Answer != "" {
			out.Reply = "owed"
		}
		return out, true, m.r.Err()
	})
}

// need is the delivery of a message in a goal.
func (m *Mail) need(goal, id string) (*Delivery, error) {
	if id == "" {
		return nil, kernel.Errorf(kernel.Invalid, "missing_message_id", "no message was named").Try("loopx inbox list --goal-id %s", goal)
	}
	d, err := LoadDelivery(m.tx, id)
	if err != nil {
		return nil, err
	}
	if d == nil || d.Goal != goal {
		return nil, kernel.Errorf(kernel.NotFound, "message_not_found", "there is no such message in %s", goal).Try("loopx inbox list --goal-id %s", goal)
	}
	return d, nil
}

// WithdrawMessage takes a message back before it is answered.
type WithdrawMessage struct {
	kernel.Outside
	Goal    string `json:"goal"`
	Message string `json:"message"`
}

// Name implements kernel.Command.
func (*WithdrawMessage) Name() string { return "inbox.withdraw" }

// Run implements kernel.OutsideCommand.
func (c *WithdrawMessage) Run(k *kernel.Kernel, tx store.Tx, opt kernel.Options) (kernel.Receipt, error) {
	return once(k, tx, c, opt, func(m *Mail) (any, bool, error) {
		if err := byAgent(opt.By, "taking a message back"); err != nil {
			return nil, false, err
		}
		d, err := m.need(c.Goal, c.Message)
		if err != nil {
			return nil, false, err
		}
		out := map[string]any{"message_id": d.ID, "goal_id": d.Goal, "state": Closed, "reason": Withdrawn}
		switch {
		case d.State == Closed && d.Reason == Withdrawn:
			return out, false, nil
		case d.Ended():
			return nil, false, kernel.Errorf(kernel.Conflict, "message_ended", "the message is %s: there is nothing to take back", d.State).Try("loopx inbox list --goal-id %s --all", d.Goal)
		}
		return out, true, m.close(d, Withdrawn)
	})
}

// ReplayMessage lets a dead letter try again: an owner's act. Message is a
// person's, or an item of the outbox (see DeadOutward).
type ReplayMessage struct {
	kernel.Outside
	Goal    string `json:"goal"`
	Message string `json:"message"`
}

// Name implements kernel.Command.
func (*ReplayMessage) Name() string { return "inbox.replay" }

// Run implements kernel.OutsideCommand. An answer that could not be sent is sent
// again; a message nobody handled waits for its agent again.
func (c *ReplayMessage) Run(k *kernel.Kernel, tx store.Tx, opt kernel.Options) (kernel.Receipt, error) {
	return once(k, tx, c, opt, func(m *Mail) (any, bool, error) {
		if opt.By.Kind != kernel.ByOwner {
			return nil, false, kernel.Errorf(kernel.Denied, "owner_only", "replaying a message is an owner's act").Try("run it in a terminal outside the agent's host, or pass --owner-token-file")
		}
		if it, err := deadItem(m, c.Goal, c.Message); err != nil || it != nil {
			if err == nil {
				err = m.t.Replay(it.ID)
			}
			return map[string]any{"item_id": c.Message, "replayed": "outward"}, true, err
		}
		d, err := m.need(c.Goal, c.Message)
		if err != nil {
			return nil, false, err
		}
		out := map[string]any{"message_id": d.ID, "goal_id": d.Goal}
		if d.State == Answered {
			it, err := Load(m.tx, d.Answer)
			for err == nil && it != nil && it.State != Dead && it.Then != "" {
				it, err = Load(m.tx, it.Then) // a later part of it
			}
			if err != nil {
				return nil, false, err
			}
			if it == nil || it.State != Dead {
				return nil, false, kernel.Errorf(kernel.Conflict, "not_dead", "the message was answered and its answer was sent")
			}
			out["replayed"] = "answer"
			return out, true, firstErr(m.undead(d.ID), m.t.Replay(it.ID))
		}
		if d.State != Closed || d.Reason == Withdrawn || d.Reason == Missed {
			err := kernel.Errorf(kernel.Conflict, "not_dead", "the message is no dead letter: it is %s", strings.TrimSpace(d.State+" "+d.Reason))
			if d.Reason == Missed {
				err = err.Try("loopx inbox admit --goal-id %s --message-id %s", c.Goal, c.Message)
			}
			return nil, false, err
		}
		ingress := d.Ingress
		if ingress == Steer {
			ingress = Queue // its turn is over
		}
		out["replayed"] = "message"
		return out, true, firstErr(m.undead(d.ID), m.reroute(d, ingress, ""))
	})
}

// undead takes a message out of the list of dead letters.
func (m *Mail) undead(id string) error {
	var keys [][]byte
	err := m.tx.Scan(store.Under(10_000, tblDead), func(k, _ []byte) bool {
		if store.LastPart(k) == id {
			keys = append(keys, append([]byte(nil), k...))
		}
		return true
	})
	for _, k := range keys {
		err = firstErr(err, m.tx.Delete(k))
	}
	return err
}

// AdmitMissed lets a message that came while nobody was there go to its agent
// after all: an owner's act.
type AdmitMissed struct {
	kernel.Outside
	Goal    string `json:"goal"`
	Message string `json:"message"`
}

// Name implements kernel.Command.
func (*AdmitMissed) Name() string { return "inbox.admit" }

// Run implements kernel.OutsideCommand.
func (c *AdmitMissed) Run(k *kernel.Kernel, tx store.Tx, opt kernel.Options) (kernel.Receipt, error) {
	return once(k, tx, c, opt, func(m *Mail) (any, bool, error) {
		if opt.By.Kind != kernel.ByOwner {
			return nil, false, kernel.Errorf(kernel.Denied, "owner_only", "admitting a missed message is an owner's act").Try("run it in a terminal outside the agent's host, or pass --owner-token-file")
		}
		d, err := m.need(c.Goal, c.Message)
		if err != nil {
			return nil, false, err
		}
		out := map[string]any{"message_id": d.ID, "goal_id": d.Goal, "state": Waiting}
		switch {
		case d.State == Waiting:
			return out, false, nil
		case d.State != Closed || d.Reason != Missed:
			return nil, false, kernel.Errorf(kernel.Conflict, "not_missed", "the message was not missed")
		}
		return out, true, admitMissed(m, d)
	})
}
