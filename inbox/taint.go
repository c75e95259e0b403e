package inbox

import (
	"loopx/kernel"
	"loopx/kernel/store"
)

// Words of people nobody linked, and files, taint the turn that carries them: no
// standing approval is used in it. The kernel keeps that mark on turns; here
// stands which agent holds such a message, so that a turn it opens meanwhile is
// tainted from its first decision.

// holdTaint keeps that mark of a delivery true.
func holdTaint(m *Mail, d *Delivery) error {
	if d.Marked != "" && (d.State != Leased || d.Holder != d.Marked) {
		if err := m.tx.Delete(store.Key(tblTainted, d.Goal, d.Marked, d.ID)); err != nil {
			return err
		}
		d.Marked = ""
	}
	if !d.Tainted || d.State != Leased || d.Holder == "" || d.Marked != "" {
		return nil
	}
	d.Marked = d.Holder
	return m.tx.Put(store.Key(tblTainted, d.Goal, d.Holder, d.ID), nil)
}

// holdsTainted says whether an agent holds a message that taints its turns.
func holdsTainted(tx store.ReadTx, goal, agent string) (bool, error) {
	found := false
	err := tx.Scan(store.Under(1, tblTainted, goal, agent), func(_, _ []byte) bool { found = true; return false })
	return found, err
}

// taintTurns taints the live turns of an agent that was given a delivery.
func taintTurns(m *Mail, d *Delivery, turn string) error {
	if !d.Tainted {
		return nil
	}
	taint := func(id string) error {
		if !m.r.Turn(d.Goal, d.Holder, id).Live(m.r.Steady()) {
			return nil
		}
		_, err := m.k.DoTx(m.tx, &kernel.TaintTurn{Goal: d.Goal, Agent: d.Holder, Turn: id}, byBot())
		return err
	}
	if turn != "" {
		if err := taint(turn); err != nil {
			return err
		}
	}
	for _, s := range m.r.Sessions(d.Goal, waitMost) {
		if s.Agent != d.Holder || s.State != "open" || s.Turn == "" || s.Turn == turn {
			continue
		}
		if err := taint(s.Turn); err != nil {
			return err
		}
	}
	return m.r.Err()
}

// Before implements kernel.Companion.
func (Companion) Before(r *kernel.Reader, cmd kernel.Command) (kernel.Command, error) {
	c, ok := cmd.(*kernel.OpenTurn)
	if !ok || c.Tainted {
		return cmd, nil
	}
	agent := c.Agent
	if agent == "" {
		if members := r.Agents(c.Goal); len(members) == 1 {
			agent = members[0].ID
		}
	}
	held, err := holdsTainted(r.Tx(), c.Goal, agent)
	if err != nil || !held {
		return cmd, err
	}
	n := *c
	n.Tainted = true
	return &n, nil
}
