package inbox

import (
	"strconv"

	"loopx/kernel"
	"loopx/kernel/store"
)

// Steps of a progress card's buttons.
const (
	StepCancel   = "cancel"   // takes back what waits in a queue
	StepWithdraw = "withdraw" // takes back what waits in an inbox
	StepStop     = "stop"     // takes back what an agent has already
	StepSteer    = "steer"    // sends what waits into the live turn
	StepQueue    = "queue"    // queues what could not be steered
	StepStore    = "store"    // keeps for whoever comes what has no session
	StepCorrect  = "correct"  // gives the agent the changed text
	StepTo       = "to"       // chooses the target, by its number
)

// showState owes the redrawing of a delivery's progress, the first time the
// progress itself.
func (m *Mail) showState(d *Delivery) error {
	if d.Mode == ReplyNone {
		return nil
	}
	id := d.Notice
	it, err := Load(m.tx, id)
	if err != nil {
		return err
	}
	if it == nil {
		key := short("progress", d.ID)
		it = &Item{ID: "p" + key, Kind: Progress, Key: key, Place: d.Reply, Goal: d.Goal, Of: d.ID, State: Ready, Created: m.now}
		d.Notice = it.ID
		if err := m.saveDelivery(d); err != nil {
			return err
		}
	}
	it.Gen++
	it.Buttons = nil
	steps, err := m.steps(d)
	if err != nil {
		return err
	}
	for i, step := range steps {
		b := Button{ID: opaque("x"), Item: it.ID, Gen: it.Gen, Step: step}
		if step == StepTo {
			b.Option = strconv.Itoa(i)
		}
		it.Buttons = append(it.Buttons, b)
		if err := m.t.put(b, tblAction, b.ID); err != nil {
			return err
		}
	}
	if err := m.t.want(it); err != nil {
		return err
	}
	if d.Ingress == Queue && d.State != Waiting {
		return m.moveUp(d)
	}
	return nil
}

// moveUp lets those that wait behind a message of a queue show their new place.
func (m *Mail) moveUp(d *Delivery) error {
	var bad error
	err := pending(m.tx, waitMost, tblWait, d.Goal, d.Agent, func(o *Delivery) bool {
		if o.ID == d.ID || o.Ingress != Queue || o.Session != d.Session || o.State != Waiting || o.Notice == "" {
			return true
		}
		it, err := Load(m.tx, o.Notice)
		if err == nil && it != nil {
			err = m.t.refresh(it)
		}
		bad = err
		return bad == nil
	})
	return firstErr(err, bad)
}

// steps are the buttons that fit a delivery now.
func (m *Mail) steps(d *Delivery) ([]string, error) {
	v, err := LoadMessage(m.tx, d.ID)
	if err != nil || v == nil {
		return nil, err
	}
	switch {
	case d.State == Waiting && d.Ingress == Queue:
		if m.liveTurn(d) != nil {
			return []string{StepCancel, StepSteer}, nil
		}
		return []string{StepCancel}, nil
	case d.State == Waiting && d.Ingress == Inbox:
		return []string{StepWithdraw}, nil
	case d.State == Waiting:
		return []string{StepCancel}, nil
	case d.State == Leased && v.Gone:
		return []string{StepStop}, nil
	case d.State == Leased && v.Now != "":
		return []string{StepCorrect}, nil
	case d.State == Closed && (d.Reason == TurnEnded || d.Reason == Expired || d.Offer == Queue):
		return []string{StepQueue}, nil
	case d.State == Closed && d.Offer == Inbox:
		return []string{StepStore}, nil
	case d.State == Closed && d.Reason == Choice:
		out := make([]string, len(d.Choices))
		for i := range out {
			out[i] = StepTo
		}
		return out, nil
	}
	return nil, nil
}

// liveTurn is the live turn of the session a delivery waits for, or nil.
func (m *Mail) liveTurn(d *Delivery) *kernel.Turn {
	if m.r == nil || d.Session == "" {
		return nil
	}
	s := m.r.Session(d.Goal, d.Session)
	if s == nil || s.State != "open" || s.Turn == "" {
		return nil
	}
	t := m.r.Turn(d.Goal, s.Agent, s.Turn)
	if !t.Live(m.r.Steady()) {
		return nil
	}
	return t
}

// pressProgress handles a button of a progress card. Only who wrote the message,
// or an owner, may.
func (m *Mail) pressProgress(it *Item, b *Button, actor kernel.Actor, known bool) (Outcome, error) {
	out := Outcome{Item: it}
	if !known {
		out.Code = "not_linked"
		if p := m.r.Person("owner"); p != nil {
			out.Owner = p.Name
		}
		return out, m.r.Err()
	}
	d, err := LoadDelivery(m.tx, it.Of)
	if err != nil {
		return out, err
	}
	v, err := LoadMessage(m.tx, it.Of)
	if err != nil {
		return out, err
	}
	switch {
	case d == nil || v == nil:
		out.Code = "unknown_action"
		return out, nil
	case !m.mayPress(d, v, b, actor):
		out.Code = "not_yours"
		return out, nil
	case b.Gen != it.Gen:
		out.Code = "moved_on"
		return out, m.t.want(it)
	}
	out.Code = b.Step
	switch b.Step {
	case StepCancel, StepWithdraw, StepStop:
		return out, m.close(d, Withdrawn)
	case StepSteer:
		t := m.liveTurn(d)
		if t == nil {
			out.Code = "no_live_turn"
			return out, m.showState(d)
		}
		return out, m.reroute(d, Steer, t.ID)
	case StepQueue:
		if n, err := Queued(m.tx, d.Goal, d.Agent, d.Session); err != nil || n >= queueMost {
			out.Code = "queue_full"
			return out, err
		}
		return out, m.reroute(d, Queue, "")
	case StepStore:
		return out, m.reroute(d, Inbox, "")
	case StepCorrect:
		return out, m.correct(d, v)
	case StepTo:
		i, err := strconv.Atoi(b.Option)
		if err != nil || i < 0 || i >= len(d.Choices) {
			break
		}
		c := d.Choices[i]
		d.Goal, d.Goals, d.Agent, d.Session, d.Binding, d.Choices = c.Goal, c.Goals, c.Agent, c.Session, c.Binding, nil
		ingress := c.Ingress
		if ingress != Queue {
			ingress = Inbox
		}
		return out, m.reroute(d, ingress, "")
	}
	out.Code = "unknown_action"
	return out, nil
}

// mayPress asks for the right as it is now: the author and owners may take a
// message back, and only who may start a turn sends it on.
func (m *Mail) mayPress(d *Delivery, v *Message, b *Button, actor kernel.Actor) bool {
	role := m.r.RoleOf(d.Goal, actor.ID)
	switch {
	case actor.Kind == kernel.ByOwner, kernel.Includes(role, kernel.RoleOwner):
		return true
	case v.Person == "" || v.Person != actor.ID:
		return false
	}
	switch b.Step {
	case StepCancel, StepWithdraw, StepStop:
		return true
	case StepTo:
		return m.mayChoose(d, b, actor)
	}
	return kernel.Includes(role, kernel.RoleSteerer)
}

func (m *Mail) mayChoose(d *Delivery, b *Button, actor kernel.Actor) bool {
	i, err := strconv.Atoi(b.Option)
	if err != nil || i < 0 || i >= len(d.Choices) {
		return false
	}
	return kernel.Includes(m.r.RoleOf(d.Choices[i].Goal, actor.ID), kernel.RoleSteerer)
}

// reroute gives a message another way than it had, in its author's name: a new
// place in the order, and the one it had is gone.
func (m *Mail) reroute(d *Delivery, ingress, turn string) error {
	if err := m.tx.Delete(d.lane()); err != nil {
		return err
	}
	order, err := m.nextOrder()
	if err != nil {
		return err
	}
	d.Ingress, d.Turn, d.Order = ingress, turn, order
	d.State, d.Step, d.Reason, d.Outcome, d.Attempt, d.Until, d.Holder, d.With, d.Given = Waiting, "", "", "", 0, 0, "", "", ""
	d.Expires = 0
	switch ingress {
	case Steer:
		d.Step = StepAccepted
	case Queue:
		d.Expires = m.r.Steady() + queueLife
	}
	if err := wantFiles(m, d); err != nil {
		return err
	}
	return firstErr(m.saveDelivery(d), m.owe(d), m.showState(d), m.moveUp(d))
}

// correct gives the agent the text a message has now, as a message of its own in
// front of nothing: into the live turn where there is one, else behind it.
func (m *Mail) correct(d *Delivery, v *Message) error {
	text := v.Now
	v.Text, v.Now = text, ""
	if err := m.putMessage(v); err != nil {
		return err
	}
	c := *v
	c.ID = "msg_" + short("correction", v.ID, text)[:20]
	c.Reason, c.Received = "correction", m.now
	if err := firstErr(m.putMessage(&c), m.tx.Put(store.Key(tblAge, store.I64(c.Received), c.ID), nil)); err != nil {
		return err
	}
	n := &Delivery{ID: c.ID, Goal: d.Goal, Agent: d.Holder, Session: d.With, Goals: d.Goals, Binding: d.Binding, Ingress: Queue, Tainted: d.Tainted, Members: d.Members,
		Text: "Correction of " + d.ID + ": " + text, Reply: d.Reply, Mode: d.Mode}
	if t := m.liveTurn(n); t != nil {
		n.Ingress, n.Turn = Steer, t.ID
	}
	return firstErr(m.showState(d), m.wait(n))
}
