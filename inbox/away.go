package inbox

import (
	"encoding/json"
	"slices"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/routing"
)

// Away is the kind of an item that tells an owner what came while nobody
// listened.
const Away = "away"

// Steps of its buttons.
const (
	StepAdmit    = "admit"     // gives one message to its agent; Option is the message
	StepAdmitAll = "admit_all" // gives all that wait for it
)

// Limits of a summary.
const (
	// awayShown is how many messages one summary names; the rest it counts.
	awayShown = 8
	// awayMS is how long a summary takes in what is found out later.
	awayMS = 3600_000
	// awayFirst is how long its first writing waits, so that what is fetched
	// together is told together.
	awayFirst = 2000
)

// tblAway finds the newest summary of a person in a place: person, connection ->
// item.
const tblAway = "i2"

// Gone is what a summary is about. Times are UTC ms.
type Gone struct {
	// From and To are when nobody listened, 0 where that is not known.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
	// Messages are those that were missed, oldest first, More how many others.
	Messages []string `json:"messages,omitempty"`
	More     int      `json:"more,omitempty"`
	// Long says that it is told although no message was missed.
	Long bool `json:"long,omitempty"`
}

// Miss stores a message that came too late to start anything, and lists it with
// what could not be handled. Who owns the goal may admit it.
func (m *Mail) Miss(e chat.Event, platform chat.Platform, person string, v routing.Verdict) (*Delivery, error) {
	msg, err := m.capture(e, platform, person, Missed, v.Reason, v.Tainted)
	if err != nil {
		return nil, err
	}
	d := m.deliveryOf(msg, v)
	d.State, d.Reason, d.Order = Closed, Missed, msg.Order
	return d, firstErr(m.saveDelivery(d), m.tx.Put(store.Key(tblDead, store.I64(m.now), d.ID), nil), m.t.Count("message:"+Missed))
}

// AddAway owes a person the summary of a time when nobody listened, in a place of
// theirs, and takes a missed message into it; message may be empty. What comes
// within an hour is one summary, edited in place.
func AddAway(t *Tx, s Spot, from, to int64, message string) error {
	key := []string{tblAway, s.Person, s.Place.Connection}
	id, err := getRow[string](t.tx, key...)
	if err != nil {
		return err
	}
	var it *Item
	if id != nil {
		if it, err = Load(t.tx, *id); err != nil {
			return err
		}
	}
	if it == nil || it.Gone == nil || it.State == Dead || t.now-it.Created > awayMS || from > it.Gone.To {
		k := short("away", s.Person, s.Place.Connection, store.I64(t.now))
		it = &Item{ID: "y" + k, Kind: Away, Key: k, Place: s.Place, Person: s.Person, State: Ready, Created: t.now, Gone: &Gone{From: from, To: to}}
		if err := t.put(it.ID, key...); err != nil {
			return err
		}
	}
	it.Gone.Long = it.Gone.Long || message == ""
	switch {
	case message == "" || slices.Contains(it.Gone.Messages, message):
	case len(it.Gone.Messages) < awayShown:
		it.Gone.Messages = append(it.Gone.Messages, message)
	default:
		it.Gone.More++
	}
	return redrawAway(t, it)
}

// redrawAway gives a summary a button for each message that still waits for its
// owner, and marks it dirty.
func redrawAway(t *Tx, it *Item) error {
	it.Gen++
	it.Buttons = nil
	add := func(step, option string) error {
		b := Button{ID: opaque("x"), Item: it.ID, Gen: it.Gen, Step: step, Option: option}
		it.Buttons = append(it.Buttons, b)
		return t.put(b, tblAction, b.ID)
	}
	for _, id := range it.Gone.Messages {
		d, err := LoadDelivery(t.tx, id)
		if err != nil {
			return err
		}
		if d.admits() {
			if err := add(StepAdmit, id); err != nil {
				return err
			}
		}
	}
	if len(it.Buttons) > 1 {
		if err := add(StepAdmitAll, ""); err != nil {
			return err
		}
	}
	if it.Message == "" && it.Want == 0 {
		it.Want++
		return t.save(it, t.now+awayFirst)
	}
	if it.Message == "" && it.Due > t.now {
		it.Want++
		return t.save(it, it.Due)
	}
	return t.want(it)
}

// admits says that a message was missed and has somewhere to go.
func (d *Delivery) admits() bool {
	return d != nil && d.State == Closed && d.Reason == Missed && d.Goal != ""
}

// pressAway handles a button of a summary: an owner of the message's goal lets it
// go to its agent after all.
func pressAway(m *Mail, it *Item, b *Button, actor kernel.Actor, known bool) (Outcome, error) {
	out := Outcome{Item: it}
	if !known {
		out.Code = "not_linked"
		if p := m.r.Person("owner"); p != nil {
			out.Owner = p.Name
		}
		return out, m.r.Err()
	}
	if b.Gen != it.Gen || it.Gone == nil {
		out.Code = "moved_on"
		return out, m.t.want(it)
	}
	ids := it.Gone.Messages
	if b.Step == StepAdmit {
		ids = []string{b.Option}
	}
	out.Code = "not_yours"
	for _, id := range ids {
		d, err := LoadDelivery(m.tx, id)
		if err != nil {
			return out, err
		}
		if !d.admits() { // it came after all, or was given meanwhile
			if out.Code == "not_yours" {
				out.Code = "moved_on"
			}
			continue
		}
		if actor.Kind != kernel.ByOwner && !kernel.Includes(m.r.RoleOf(d.Goal, actor.ID), kernel.RoleOwner) {
			continue
		}
		out.Code = b.Step
		if err := admitMissed(m, d); err != nil {
			return out, err
		}
	}
	if out.Code == "moved_on" {
		return out, redrawAway(m.t, it)
	}
	return out, m.r.Err()
}

// admitMissed lets a missed message go to its agent, and all summaries that name
// it show that.
func admitMissed(m *Mail, d *Delivery) error {
	v, err := LoadMessage(m.tx, d.ID)
	if err != nil {
		return err
	}
	if v != nil && v.Capture == Missed {
		v.Capture = Admitted
		if err := m.putMessage(v); err != nil {
			return err
		}
	}
	ingress := d.Ingress
	if s := m.r.Session(d.Goal, d.Session); d.Session != "" && (s == nil || s.State != "open") {
		ingress = Inbox // nobody drains that queue any more
	}
	if err := firstErr(m.undead(d.ID), m.reroute(d, ingress, "")); err != nil {
		return err
	}
	return eachAway(m, d.ID, func(it *Item) error { return redrawAway(m.t, it) })
}

// eachAway calls fn with every newest summary that names a message.
func eachAway(m *Mail, message string, fn func(*Item) error) error {
	var ids []string
	err := m.tx.Scan(store.Under(1000, tblAway), func(_, raw []byte) bool {
		var id string
		if json.Unmarshal(raw, &id) == nil {
			ids = append(ids, id)
		}
		return true
	})
	for _, id := range ids {
		it, bad := Load(m.tx, id)
		if err = firstErr(err, bad); err != nil {
			return err
		}
		if it != nil && it.Gone != nil && slices.Contains(it.Gone.Messages, message) {
			err = fn(it)
		}
	}
	return err
}

// unmiss takes a message out of the summaries: it was delivered after all. One
// that has nothing else to say and is not outside is not written.
func unmiss(m *Mail, message string) error {
	return eachAway(m, message, func(it *Item) error {
		it.Gone.Messages = slices.DeleteFunc(it.Gone.Messages, func(id string) bool { return id == message })
		if len(it.Gone.Messages) > 0 || it.Gone.More > 0 || it.Gone.Long || it.Message != "" || it.First != 0 {
			return redrawAway(m.t, it)
		}
		return firstErr(dropItem(m, it.ID, true), m.tx.Delete(store.Key(tblAway, it.Person, it.Place.Connection)))
	})
}
