package inbox

import "loopx/kernel"

// owersMost bounds the agents that owe an answer to a message for any of them.
const owersMost = 16

// owers are the agents whose next turn should begin with a delivery. A steer has
// none: it is told in the turn that runs.
func (m *Mail) owers(d *Delivery) []string {
	switch {
	case d.Ingress == Steer:
		return nil
	case d.Agent != "":
		return []string{d.Agent}
	}
	var out []string
	for _, a := range m.r.Agents(d.Goal) {
		if len(out) < owersMost {
			out = append(out, a.ID)
		}
	}
	return out
}

func byBot() kernel.Options {
	return kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "inbox"}}
}

// owe notes with the kernel that an agent's next turn begins with this message.
// Where the kernel says no (a closed goal, too many of them) the message waits
// all the same.
func (m *Mail) owe(d *Delivery) error {
	from := "somebody"
	if v, err := LoadMessage(m.tx, d.ID); err != nil {
		return err
	} else if v != nil {
		from = m.nameOf(v)
	}
	for _, a := range m.owers(d) {
		_, err := m.k.DoTx(m.tx, &kernel.OweAnswer{Goal: d.Goal, Agent: a, ID: d.ID, Kind: d.Ingress, From: from}, byBot())
		if err := tolerate(err); err != nil {
			return err
		}
	}
	return nil
}

// release takes that note back once nothing waits for the agent any more.
func (m *Mail) release(d *Delivery) error {
	for _, a := range m.owers(d) {
		_, err := m.k.DoTx(m.tx, &kernel.SettleAnswer{Goal: d.Goal, Agent: a, ID: d.ID}, byBot())
		if err := tolerate(err); err != nil {
			return err
		}
	}
	return nil
}

// tolerate drops a refusal: what the kernel keeps of a message is a hint.
func tolerate(err error) error {
	if e := kernel.AsError(err); e != nil && e.Class != kernel.Internal && e.Class != kernel.Unavailable && e.Class != kernel.Unknown {
		return nil
	}
	return err
}
