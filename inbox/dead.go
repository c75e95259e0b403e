package inbox

import (
	"strings"

	"loopx/kernel"
)

// DeadOutward is a message of ours that will not be written by itself any more.
type DeadOutward struct {
	ID         string `json:"item_id"`
	Kind       string `json:"kind"` // gate, line, text, digest, progress, plan
	Connection string `json:"connection"`
	Goal       string `json:"goal_id,omitempty"`
	Gate       string `json:"gate_id,omitempty"`
	Why        string `json:"why"`
	At         int64  `json:"at"` // when it was owed, UTC ms
	// Shown says that an older state of it is outside.
	Shown bool `json:"shown,omitempty"`
	// Text is its beginning; a message that was held back shows none.
	Text string `json:"text,omitempty"`
}

// deadOutward lists dead items, newest first; where a goal is named, those of no
// other. An
// answer to a person's message stands in the list of messages already.
func deadOutward(r *kernel.Reader, goal string, limit int) (out []DeadOutward, more bool, err error) {
	list, err := DeadItems(r.Tx(), 10*listMost)
	if err != nil {
		return nil, false, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		it := list[i]
		if goal != "" && it.Goal != "" && it.Goal != goal || it.Of != "" && it.Kind == Text {
			continue
		}
		if len(out) == limit {
			return out, true, nil
		}
		v := DeadOutward{ID: it.ID, Kind: it.Kind, Connection: it.Place.Connection, Goal: it.Goal, Gate: it.Gate, Why: it.Why, At: it.Created, Shown: it.Message != ""}
		if !strings.HasPrefix(it.Why, heldBack) {
			v.Text, _ = bounded(it.Text, lineMost)
		}
		out = append(out, v)
	}
	return out, false, nil
}

// heldBack begins the reason of what must not leave the machine.
const heldBack = "held back"

// deadItem is the dead item that an id names, in a goal where one is named; nil
// where it names none.
func deadItem(m *Mail, goal, id string) (*Item, error) {
	it, err := Load(m.tx, id)
	if err != nil || it == nil || goal != "" && it.Goal != "" && it.Goal != goal {
		return nil, err
	}
	return it, nil
}
