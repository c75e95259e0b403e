package inbox

import (
	"loopx/kernel"
	"loopx/kernel/store"
)

// Companion is the inbox as the kernel's companion: it tells steers beside the
// receipts of commands that name a live turn.
type Companion struct{}

var _ kernel.Companion = Companion{}

// Attach joins the inbox to a kernel. Every process that runs commands does it.
func Attach(k *kernel.Kernel) *kernel.Kernel {
	k.Join(Companion{})
	return k
}

// After implements kernel.Companion. A steer is delivered with one command and
// seen with the next one that names the turn; a command that is only answered
// again, because its answer was lost, tells the same steer again.
func (Companion) After(k *kernel.Kernel, tx store.Tx, cmd kernel.Command, rec *kernel.Receipt) error {
	r, err := k.ReaderOf(tx)
	if err != nil {
		return err
	}
	t := r.TurnNamed(cmd)
	if t == nil || r.Err() != nil {
		return r.Err()
	}
	var list []*Delivery
	err = pending(tx, steerMost*2, tblSteer, t.Goal, t.Agent, func(d *Delivery) bool { list = append(list, d); return true })
	if err != nil || len(list) == 0 {
		return err
	}
	m := &Mail{t: Over(tx), tx: tx, k: k, r: r, now: tx.Now()}
	for _, d := range list {
		if err := m.steer(d, t, rec); err != nil {
			return err
		}
	}
	return nil
}

// steer brings one steer on by a command that named the turn t.
func (m *Mail) steer(d *Delivery, t *kernel.Turn, rec *kernel.Receipt) error {
	live := t.Live(m.r.Steady())
	switch {
	case d.Turn != t.ID:
		if m.r.Turn(d.Goal, d.Agent, d.Turn).Live(m.r.Steady()) {
			return nil
		}
		return m.close(d, TurnEnded)
	case d.Step == StepDelivered && rec.Replay && d.Given == rec.ID:
		return m.tell(d, rec)
	case d.Step == StepDelivered:
		d.Step, d.State, d.Outcome = StepSeen, Answered, StepSeen
		return firstErr(m.saveDelivery(d), m.release(d), m.showState(d))
	case !live:
		return m.close(d, TurnEnded)
	case d.FilesBy > m.r.Steady():
		return nil // with its files, in a moment
	case rec.Replay || len(rec.Steer) > 0:
		return nil // one message a call, and none beside an answer that was given before
	}
	d.Step, d.State, d.Holder, d.With, d.Given = StepDelivered, Leased, t.Agent, t.Session, rec.ID
	d.Attempt++
	return firstErr(m.saveDelivery(d), taintTurns(m, d, t.ID), m.tell(d, rec), m.showState(d))
}

func (m *Mail) tell(d *Delivery, rec *kernel.Receipt) error {
	v, err := LoadMessage(m.tx, d.ID)
	if err != nil || v == nil {
		return err
	}
	rec.Steer = append(rec.Steer, kernel.Steer{ID: d.ID, From: m.nameOf(v), Text: d.Text, Files: attached(v)})
	return nil
}

// nameOf is how an agent sees who wrote: the linked person's name.
func (m *Mail) nameOf(v *Message) string {
	if v.Person != "" {
		if p := m.r.Person(v.Person); p != nil && p.Name != "" {
			return p.Name
		}
	}
	return v.Sender.ID
}
