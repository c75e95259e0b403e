package inbox

import (
	"encoding/json"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
)

// Spot is one place where a gate's card belongs.
type Spot struct {
	Place chat.Place
	// Person is whose private conversation it is; empty for the page, which
	// interrupts nobody.
	Person string
	// Copy is another surface of a person who is asked elsewhere: its card comes
	// with the other one and without a sound.
	Copy bool
	// Line is the conversation of a goal, in which others read along: a line says
	// there who is asked, and nothing of what.
	Line bool
}

// Told is one time a person was told of a gate, in the policy's words.
type Told struct {
	At   int64  `json:"at"` // UTC ms
	Goal string `json:"goal"`
	// Level is an attention.Level: 0 silent, 1 digest, 2 message, 3 mention,
	// 4 escalate.
	Level   int    `json:"level"`
	Meaning string `json:"meaning"` // digest of what was asked
}

const (
	toldMost = 16               // times one person was told of one gate
	dayMost  = 200              // interruptions of a person that are looked at
	dayKeep  = 48 * 3600 * 1000 // ms; a local day ends within this
)

// ToldOf lists when a person was told of a gate, newest last.
func ToldOf(tx store.ReadTx, person, gate string) ([]Told, error) {
	v, err := getRow[[]Told](tx, tblTold, person, gate)
	if v == nil || err != nil {
		return nil, err
	}
	return *v, nil
}

// ToldSince lists what a person was told since a time, oldest first.
func ToldSince(tx store.ReadTx, person string, since int64) ([]Told, error) {
	var out []Told
	var bad error
	rg := store.Under(dayMost, tblDay, person).After(store.Key(tblDay, person, store.I64(since)))
	err := tx.Scan(rg, func(_, v []byte) bool {
		var row Told
		if bad = json.Unmarshal(v, &row); bad != nil {
			return false
		}
		out = append(out, row)
		return true
	})
	if err == nil {
		err = bad
	}
	return out, err
}

// Asking keeps when people were told of a gate, and holds their cards back.
type Asking struct{ t *Tx }

// AskingOver opens it in a transaction.
func AskingOver(t *Tx) Asking { return Asking{t} }

// Tell records that a person was told of a gate.
func (a Asking) Tell(person string, g *kernel.Gate, level int) error {
	row := Told{At: a.t.now, Goal: g.Goal, Level: level, Meaning: g.Digest}
	old, err := ToldOf(a.t.tx, person, g.ID)
	if err != nil {
		return err
	}
	if len(old) == toldMost {
		old = old[1:]
	}
	return firstErr(a.t.put(append(old, row), tblTold, person, g.ID), a.t.put(row, tblDay, person, store.I64(a.t.now), g.ID), a.forgetDays(person))
}

// forgetDays drops what was told before any day that may still count.
func (a Asking) forgetDays(person string) error {
	var old [][]byte
	edge := string(store.Key(tblDay, person, store.I64(a.t.now-dayKeep)))
	err := a.t.tx.Scan(store.Under(8, tblDay, person), func(k, _ []byte) bool {
		if string(k) >= edge {
			return false
		}
		old = append(old, append([]byte(nil), k...))
		return true
	})
	for _, k := range old {
		err = firstErr(err, a.t.tx.Delete(k))
	}
	return err
}

// Postpone lets a card that is not outside yet wait until a time, UTC ms, and
// remembers how loudly it is to come then.
func (a Asking) Postpone(id string, until int64, level int) error {
	it, err := Load(a.t.tx, id)
	if err != nil || it == nil || it.Message != "" {
		return err
	}
	it.Level = level
	return a.t.save(it, max(until, a.t.now+1))
}

// Loud records how loudly a card is told when it goes out first.
func (a Asking) Loud(id string, level int) error {
	it, err := Load(a.t.tx, id)
	if err != nil || it == nil {
		return err
	}
	it.Level = level
	return a.t.put(it, tblItem, it.ID)
}

// Resolved takes a card out of the queue that was settled before anybody was
// told: what was resolved meanwhile is not sent.
func (a Asking) Resolved(id string) error {
	it, err := Load(a.t.tx, id)
	if err != nil || it == nil || it.Message != "" {
		return err
	}
	if err := a.t.Count("resolved_before_told"); err != nil {
		return err
	}
	return a.t.save(it, 0)
}

// AddDigest owes a person the digest of a local day, once, and reports whether
// it is outside, or will never be.
func (a Asking) AddDigest(person, day string, place chat.Place) (settled bool, err error) {
	key := short("digest", person, day)
	old, err := Load(a.t.tx, "m"+key)
	if err != nil {
		return false, err
	}
	if old != nil {
		return old.Message != "" || old.State == Dead, nil
	}
	return false, a.t.want(&Item{ID: "m" + key, Kind: Digest, Key: key, Place: place, Person: person, State: Ready, Created: a.t.now})
}

// recheck lets the cards of a person that wait for their time be looked at now:
// what holds them back has changed.
func (a Asking) recheck(r *kernel.Reader, person string) error {
	for _, g := range openGates(r) {
		copies, err := a.t.copies(g)
		if err != nil {
			return err
		}
		for _, it := range copies {
			if it.Person != person || it.Message != "" || it.Due == 0 || it.Tries > 0 {
				continue
			}
			it.Level = 0
			if err := a.t.save(it, a.t.now); err != nil {
				return err
			}
		}
	}
	return r.Err()
}

// Remind owes a person one more message about a gate whose card is outside. An
// empty text records only that they were told.
func (a Asking) Remind(it *Item, g *kernel.Gate, level int, text string) error {
	key := "remind/" + it.ID + "/" + g.Digest + "/" + store.I64(int64(level))
	if text != "" {
		if err := a.t.AddText(key, it.Place, text); err != nil {
			return err
		}
	}
	return a.Tell(it.Person, g, level)
}

// Asked lists the cards of a gate that interrupt a person and are outside.
func Asked(tx store.ReadTx, g *kernel.Gate) ([]*Item, error) {
	copies, err := copiesOf(tx, g)
	if err != nil {
		return nil, err
	}
	var out []*Item
	for _, it := range copies {
		if it.Person != "" && !it.Copy && it.Message != "" {
			out = append(out, it)
		}
	}
	return out, nil
}
