package inbox

import (
	"strings"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
)

// States of a delivery.
const (
	Waiting  = "waiting"  // for its agent
	Leased   = "leased"   // an agent has it, until a deadline
	Answered = "answered" // settled by the agent
	Closed   = "closed"   // it ended without an answer; Reason says why
)

// Outcomes of settling.
const (
	Adopted  = "adopted"
	Declined = "declined"
	Deferred = "deferred"
)

// Why a delivery is closed.
const (
	Withdrawn  = "withdrawn"  // by its author, by a recall, or by `inbox withdraw`
	Expired    = "expired"    // it waited an hour in a queue
	Superseded = "superseded" // its author changed it before it was read
	TurnEnded  = "turn_ended" // the turn it was meant for ended before it was seen
	Requeued   = "requeued"   // its author chose another way for it
	Exhausted  = "exhausted"  // its lease ran out too often: a dead letter
	Forgotten  = "forgotten"  // retention took its text
)

// Steps of a steer, shown in chat. A queue and an inbox have none.
const (
	StepAccepted  = "accepted"  // stored
	StepDelivered = "delivered" // the agent's command took it
	StepSeen      = "seen"      // the agent's next step acknowledged it
)

// Limits of deliveries.
const (
	// LeaseMS is how long an agent holds a message unless it says otherwise.
	LeaseMS    = 15 * 60 * 1000
	leaseMost  = 24 * 3600 * 1000
	queueLife  = 3600 * 1000
	attempts   = 5    // leases that may run out before it is a dead letter
	steerMost  = 20   // waiting for one turn
	waitMost   = 1000 // waiting for one agent, inboxes included
	queueMost  = 20   // waiting for one session
	listMost   = 200
	replyMost  = 150_000 // bytes of an answer
	reasonMost = 400
)

// Delivery is how far a message has come on its way to an agent, and where the
// answer goes. Its id is the message's.
type Delivery struct {
	ID      string   `json:"message_id"`
	Goal    string   `json:"goal_id"`
	Agent   string   `json:"agent_id,omitempty"`   // empty: any member of the goal
	Session string   `json:"session_id,omitempty"` // empty: any session of the agent
	Turn    string   `json:"turn,omitempty"`       // a steer's
	Goals   []string `json:"goals,omitempty"`      // the Manager's
	Binding string   `json:"binding,omitempty"`
	Ingress string   `json:"ingress"`
	Members bool     `json:"members,omitempty"` // allowed by the audience alone
	Tainted bool     `json:"tainted,omitempty"`
	State   string   `json:"state"`
	Step    string   `json:"step,omitempty"`
	Reason  string   `json:"reason,omitempty"` // of Closed
	// Order is one sequence for chat and page.
	Order   uint64 `json:"order"`
	Attempt int    `json:"attempt"`
	Holder  string `json:"holder,omitempty"` // agent that has it
	With    string `json:"with,omitempty"`   // session of the holder
	Until   int64  `json:"until_steady,omitempty"`
	Expires int64  `json:"expires_steady,omitempty"` // of a queue
	// Text is what the agent gets: without the mention and the command in front.
	Text string `json:"text"`
	// Context are the messages given with it, frozen at its first lease.
	Context []string `json:"context,omitempty"`
	Frozen  bool     `json:"frozen,omitempty"`
	// FilesBy is until when it waits for its files, 0 for not at all.
	FilesBy int64 `json:"files_by_steady,omitempty"`
	// Reply is where the answer goes, frozen with the message.
	Reply     chat.Place `json:"reply"`
	Mode      string     `json:"reply_mode"`
	Outcome   string     `json:"outcome,omitempty"`
	Words     string     `json:"words,omitempty"`     // digest of the answer
	Answer    string     `json:"answer,omitempty"`    // item that carries it
	Delivered int64      `json:"delivered,omitempty"` // the platform has the answer, UTC ms
	Offer     string     `json:"offer,omitempty"`     // the way that would work instead, of a refused one
	Choices   []Chosen   `json:"choices,omitempty"`
	Given     string     `json:"given,omitempty"`  // receipt beside which a steer was told
	Marked    string     `json:"marked,omitempty"` // agent that a tainted delivery is noted for
	Notice    string     `json:"notice,omitempty"` // item that shows its state in chat
	Created   int64      `json:"created"`
	Updated   int64      `json:"updated"`
}

// Ended says that nothing more happens to it by itself.
func (d *Delivery) Ended() bool { return d.State == Answered || d.State == Closed }

// LoadDelivery returns the delivery of a message, or nil.
func LoadDelivery(tx store.ReadTx, id string) (*Delivery, error) {
	return getRow[Delivery](tx, tblDelivery, id)
}

// lane is the index entry of a delivery that is not ended: steers by their turn,
// the rest by agent, both in order.
func (d *Delivery) lane() []byte {
	if d.Ingress == Steer {
		return store.Key(tblSteer, d.Goal, d.Agent, store.U64(d.Order), d.ID)
	}
	return store.Key(tblWait, d.Goal, d.Agent, store.U64(d.Order), d.ID)
}

// saveDelivery writes a delivery and keeps its place in the indexes true.
func (m *Mail) saveDelivery(d *Delivery) error {
	d.Updated = m.now
	if err := holdTaint(m, d); err != nil {
		return err
	}
	if err := m.t.put(d, tblDelivery, d.ID); err != nil {
		return err
	}
	if d.Ended() {
		return m.tx.Delete(d.lane())
	}
	lane := "" // what an agent has waits no longer
	if d.State == Waiting {
		lane = d.Ingress + " " + d.Session
	}
	return m.tx.Put(d.lane(), []byte(lane))
}

// nextOrder is the next number of the one sequence.
func (m *Mail) nextOrder() (uint64, error) {
	n, err := Counter(m.tx, orderCounter)
	if err != nil {
		return 0, err
	}
	return n + 1, m.t.put(n+1, tblCount, orderCounter)
}

const orderCounter = "message_order"

// pending reads the deliveries of a lane in order, at most limit, until fn says
// stop.
func pending(tx store.ReadTx, limit int, table, goal, agent string, fn func(*Delivery) bool) error {
	var ids []string
	err := tx.Scan(store.Under(limit, table, goal, agent), func(k, _ []byte) bool {
		ids = append(ids, store.LastPart(k))
		return true
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		d, err := LoadDelivery(tx, id)
		if err != nil {
			return err
		}
		if d != nil && !fn(d) {
			return nil
		}
	}
	return nil
}

// Queued counts what waits for a session of an agent, from the index alone.
func Queued(tx store.ReadTx, goal, agent, session string) (int, error) {
	n := 0
	err := tx.Scan(store.Under(waitMost, tblWait, goal, agent), func(_, v []byte) bool {
		if string(v) == Queue+" "+session {
			n++
		}
		return true
	})
	return n, err
}

// Queues counts what waits for each session of an agent, in one look.
func Queues(tx store.ReadTx, goal, agent string) (map[string]int, error) {
	n := map[string]int{}
	err := tx.Scan(store.Under(waitMost, tblWait, goal, agent), func(_, v []byte) bool {
		if session, ok := strings.CutPrefix(string(v), Queue+" "); ok {
			n[session]++
		}
		return true
	})
	return n, err
}

// Position is the place of a queued delivery in its session, from 1, and how
// many wait there.
func Position(tx store.ReadTx, d *Delivery) (n, of int, err error) {
	err = tx.Scan(store.Under(waitMost, tblWait, d.Goal, d.Agent), func(k, v []byte) bool {
		if string(v) == Queue+" "+d.Session {
			of++
			if store.LastPart(k) == d.ID {
				n = of
			}
		}
		return true
	})
	return n, of, err
}

// Next leases the oldest message an agent may have now, or returns nil. A queue
// gives one message at a time: while one is out, a session gets that one again.
func (m *Mail) next(goal, agent, session string, leaseMS int64) (*Delivery, error) {
	var found *Delivery
	var bad error
	busy := map[string]bool{} // sessions whose queue has a message out
	look := func(d *Delivery) bool {
		out := d.State == Leased && d.Until >= m.r.Steady()
		switch {
		case d.Ingress == Queue && busy[d.Session]:
			return true
		case !m.forSession(d, session):
			return true
		case out && d.Ingress == Queue && d.Holder == agent && d.With == session:
			found = d // it is theirs already
			return false
		case out:
			busy[d.Session] = busy[d.Session] || d.Ingress == Queue
			return true
		case d.State == Waiting && d.FilesBy > m.r.Steady():
			busy[d.Session] = busy[d.Session] || d.Ingress == Queue // what came later does not overtake it
			return true
		case d.Ingress == Queue && d.State == Waiting && d.Expires > 0 && d.Expires < m.r.Steady():
			bad = m.expire(d)
			return bad == nil
		case d.State == Leased && d.Attempt >= attempts:
			bad = m.close(d, Exhausted)
			return bad == nil
		}
		if found == nil || d.Order < found.Order {
			found = d
		}
		return false
	}
	for _, lane := range []string{agent, ""} {
		if err := pending(m.tx, waitMost, tblWait, goal, lane, look); err != nil || bad != nil {
			return nil, firstErr(err, bad)
		}
	}
	if found == nil {
		return nil, nil
	}
	d := found
	if !(d.State == Leased && d.Until >= m.r.Steady()) {
		d.Attempt++
	}
	if leaseMS == 0 {
		leaseMS = LeaseMS
	}
	d.State, d.Holder, d.With, d.Until = Leased, agent, session, m.r.Steady()+leaseMS
	if err := m.freeze(d); err != nil {
		return nil, err
	}
	if err := m.saveDelivery(d); err != nil {
		return nil, err
	}
	return d, m.showState(d)
}

// forSession says whether a session may have a delivery: its own, one for any
// session, or one whose session is over.
func (m *Mail) forSession(d *Delivery, session string) bool {
	if d.Session == "" || d.Session == session {
		return true
	}
	s := m.r.Session(d.Goal, d.Session)
	return s == nil || s.State == "closed"
}

// settle ends a delivery with the agent's outcome and owes its answer.
func (m *Mail) settle(d *Delivery, agent, session string, attempt int, outcome, reply string, files []AnswerFile) error {
	again := func(e *kernel.Error) error {
		return e.With("message_id", d.ID).Try("loopx inbox next --goal-id %s --agent-id %s", d.Goal, agent)
	}
	switch {
	case d.State == Answered && d.Outcome == StepSeen:
		// A steer that was seen may still be answered, once.
		d.Holder = agent
	case d.State == Answered:
		return kernel.Errorf(kernel.Conflict, "already_settled", "the message was settled before, as %s", d.Outcome).With("message_id", d.ID)
	case d.State == Closed:
		return kernel.Errorf(kernel.Conflict, "message_closed", "the message is %s: nobody waits for an answer", d.Reason).With("message_id", d.ID).Try("loopx inbox list --goal-id %s", d.Goal)
	case d.Ingress == Steer && d.Agent == agent && d.Step != StepAccepted:
		// Told beside a receipt: there is no lease to lose.
	case d.State == Waiting:
		return again(kernel.Errorf(kernel.Conflict, "not_leased", "nobody holds the message"))
	case d.Holder != agent || d.With != session && d.With != "" && session != "" || attempt != 0 && attempt != d.Attempt:
		return again(kernel.Errorf(kernel.Conflict, "lease_lost", "the message was given to %s again after its lease ran out", d.Holder))
	}
	d.State, d.Outcome = Answered, outcome
	if reply == "" && len(files) > 0 {
		reply = files[0].Name
	}
	if reply != "" && d.Mode != ReplyNone {
		item, err := m.answer(d, reply, files)
		if err != nil {
			return err
		}
		d.Answer = item
	}
	if err := m.saveDelivery(d); err != nil {
		return err
	}
	if d.Answer == "" {
		// Nothing is owed any more, so the turn is over.
		if err := m.settleContext(d); err != nil {
			return err
		}
	}
	if err := m.release(d); err != nil {
		return err
	}
	return m.showState(d)
}

// close ends a delivery without an answer.
func (m *Mail) close(d *Delivery, why string) error {
	d.State, d.Reason = Closed, why
	if err := m.t.Count("message:" + why); err != nil {
		return err
	}
	if why == Exhausted {
		if err := m.tx.Put(store.Key(tblDead, store.I64(m.now), d.ID), nil); err != nil {
			return err
		}
	}
	if err := m.saveDelivery(d); err != nil {
		return err
	}
	if err := m.settleContext(d); err != nil {
		return err
	}
	if err := m.release(d); err != nil {
		return err
	}
	return m.showState(d)
}

func (m *Mail) expire(d *Delivery) error { return m.close(d, Expired) }

func firstErr(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}
