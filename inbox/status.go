package inbox

import (
	"encoding/json"
	"strings"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
)

// Status is the kind of an item that keeps saying in a bound conversation how its
// goals are.
const Status = "status"

// tblPin holds the pins that are owed: connection, item, message -> pinRow.
const tblPin = "iP"

// statusMS is how long changes are gathered before a status card is drawn again.
const statusMS = refreshMS

// statusID is the item of a binding's status card: there is one for its life.
func statusID(binding string) string { return "s" + short("status", binding) }

// ShowStatus makes what a binding chose about its status card true: the card is
// owed and drawn anew, or takes its leave and is pinned no longer. A binding that
// is gone is only an id.
func ShowStatus(t *Tx, r *kernel.Reader, id string) error {
	it, err := Load(t.tx, statusID(id))
	if err != nil {
		return err
	}
	b := r.Binding(id)
	on := b != nil && b.Card == kernel.CardOfStatus && b.State == kernel.BindActive
	switch {
	case it == nil && !on:
		return r.Err()
	case it == nil:
		it = &Item{ID: statusID(id), Kind: Status, Key: short("status", id), Goal: first(b.Goals), Binding: id, State: Ready, Created: t.now,
			Place: chat.Place{Connection: b.Connection, Conversation: b.Conversation, Thread: b.Thread}}
	case !on && it.Message == "":
		return t.save(it, 0) // it never was outside
	case on && it.State == Dead:
		// Somebody asks for it again: a new message, since the old one may be gone.
		if it.Message != "" {
			it.renew(t.now)
		}
		it.State, it.Tries, it.Why = Ready, 0, ""
	}
	if it.Off == on {
		it.Off = !on
		if err := owePin(t, it, on); err != nil {
			return err
		}
	}
	return t.want(it)
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// statusDirty are the bindings of goals whose status card has to be drawn again
// and does not wait for that already.
func statusDirty(r *kernel.Reader, goals map[string]bool) (map[string]bool, error) {
	out := map[string]bool{}
	for goal := range goals {
		for _, b := range r.BindingsOfGoal(goal) {
			if b.Card != kernel.CardOfStatus || out[b.ID] {
				continue
			}
			it, err := Load(r.Tx(), statusID(b.ID))
			if err != nil {
				return nil, err
			}
			if it != nil && it.Message != "" && it.State != Dead && (it.Due == 0 || it.Want == it.Done) {
				out[b.ID] = true
			}
		}
	}
	return out, r.Err()
}

// RefreshStatus lets a status card say again how things are, soon: several changes
// become one drawing.
func RefreshStatus(t *Tx, binding string) error {
	it, err := Load(t.tx, statusID(binding))
	if err != nil || it == nil || it.State == Dead || it.Message == "" {
		return err
	}
	it.Want++
	due := it.Due
	if due == 0 {
		due = t.now + statusMS
	}
	return t.save(it, due)
}

// StatusItems are the status cards of a connection that are outside.
func StatusItems(r *kernel.Reader, connection string) ([]*Item, error) {
	var out []*Item
	for _, b := range r.Bindings(1000) {
		if b.Connection != connection || b.Card != kernel.CardOfStatus {
			continue
		}
		it, err := Load(r.Tx(), statusID(b.ID))
		if err != nil {
			return nil, err
		}
		if it != nil && it.Message != "" && it.State != Dead && !it.Off {
			out = append(out, it)
		}
	}
	return out, r.Err()
}

// Leave notes that a status card is about to say since when nobody keeps it up to
// date, so that it is drawn anew whatever it says.
func Leave(t *Tx, id string) error {
	it, err := Load(t.tx, id)
	if err != nil || it == nil || it.Message == "" {
		return err
	}
	it.Drawn = ""
	return t.put(it, tblItem, it.ID)
}

// PinOwed is a pin that has to be set or taken off.
type PinOwed struct {
	Item, Message string
	Place         chat.Place
	On            bool
	Due           int64
	Tries         int
}

type pinRow struct {
	Place chat.Place `json:"place"`
	On    bool       `json:"on"`
	Due   int64      `json:"due"` // UTC ms
	Tries int        `json:"tries,omitempty"`
}

func owePin(t *Tx, it *Item, on bool) error {
	if it.Message == "" {
		return nil // with its first time outside
	}
	return t.put(pinRow{Place: it.Place, On: on, Due: t.now}, tblPin, it.Place.Connection, it.ID, it.Message)
}

// pinsMost bounds the pins that are looked at in one go.
const pinsMost = 50

// PinsOwed lists the pins a connection owes, due or not.
func PinsOwed(tx store.ReadTx, connection string) ([]PinOwed, error) {
	var out []PinOwed
	var bad error
	err := tx.Scan(store.Under(pinsMost, tblPin, connection), func(k, v []byte) bool {
		var row pinRow
		if bad = json.Unmarshal(v, &row); bad != nil {
			return false
		}
		key := strings.Split(string(k), "\x00")
		out = append(out, PinOwed{Item: key[len(key)-2], Message: key[len(key)-1], Place: row.Place, On: row.On, Due: row.Due, Tries: row.Tries})
		return true
	})
	return out, firstErr(err, bad)
}

// PinSettled records that a pin is as wanted, or that why is why it will not be.
func PinSettled(t *Tx, p PinOwed, why string) error {
	if err := t.tx.Delete(store.Key(tblPin, p.Place.Connection, p.Item, p.Message)); err != nil {
		return err
	}
	it, err := Load(t.tx, p.Item)
	if err != nil || it == nil || it.Message != p.Message {
		return err
	}
	it.Pinned, it.PinWhy = p.On && why == "", why
	return t.put(it, tblItem, it.ID)
}

// PinLater lets a pin be tried again.
func PinLater(t *Tx, p PinOwed) error {
	return t.put(pinRow{Place: p.Place, On: p.On, Due: t.now + backoff(p.Tries+8).Milliseconds(), Tries: p.Tries + 1}, tblPin, p.Place.Connection, p.Item, p.Message)
}

// RetryPins owes the pins again that were refused: the scope may be there by now.
func RetryPins(t *Tx, r *kernel.Reader, connection string) error {
	list, err := StatusItems(r, connection)
	for _, it := range list {
		if err == nil && it.PinWhy != "" {
			err = owePin(t, it, true)
		}
	}
	return err
}
