package bot

import (
	"strconv"

	"loopx/adapters/chat"
	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel/store"
)

// split makes several messages of a text that is too long for one here, before
// anything of it is outside.
func (o *outbox) split(tx store.Tx, id string) error {
	it, err := inbox.Load(tx, id)
	if err != nil || it == nil || it.Kind != inbox.Text || it.State != inbox.Ready || it.Message != "" {
		return err
	}
	parts := partsOf(it.Text, o.adapter.Caps())
	if len(parts) < 2 {
		return nil
	}
	return inbox.Over(tx).Split(id, parts)
}

// progress draws how far a person's message is, and names the sign for it.
func (o *outbox) progress(tx store.ReadTx, it *inbox.Item) (*chat.Card, *mark, error) {
	d, err := inbox.LoadDelivery(tx, it.Of)
	if err != nil || d == nil {
		return nil, nil, err
	}
	v, err := inbox.LoadMessage(tx, it.Of)
	if err != nil || v == nil {
		return nil, nil, err
	}
	r, err := o.k.ReaderOf(tx)
	if err != nil {
		return nil, nil, err
	}
	m := cards.Message{Lang: languageOf(r, v.Person), Agent: d.Agent, Ingress: d.Ingress, State: d.State, Step: d.Step, Outcome: d.Outcome, Reason: d.Reason,
		Attempts: d.Attempt, Changed: v.Now != "", Gone: v.Gone}
	if d.Holder != "" {
		m.Agent = d.Holder
	}
	if g := r.Goal(d.Goal); g != nil {
		m.GoalTitle = g.Title
	}
	if d.State == inbox.Waiting && d.Ingress == inbox.Queue {
		if m.Place, m.Of, err = inbox.Position(tx, d); err != nil {
			return nil, nil, err
		}
	}
	for _, b := range it.Buttons {
		a := cards.Action{ID: b.ID, Step: b.Step}
		if i, err := strconv.Atoi(b.Option); b.Step == inbox.StepTo && err == nil && i < len(d.Choices) {
			a.Option = d.Choices[i].Label()
		}
		m.Actions = append(m.Actions, a)
	}
	card := cards.Progress(m)
	return &card, &mark{ref: chat.Ref{Place: v.Place, Message: v.Said}, sign: signOf(d)}, r.Err()
}
