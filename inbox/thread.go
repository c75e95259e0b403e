package inbox

import (
	"loopx/adapters/chat"
	"loopx/kernel/store"
)

// writersKept is how many people of a thread are known: two are enough to tell
// whether somebody besides the sender wrote in it.
const writersKept = 2

// Wrote remembers who writes in a thread that the bot started.
func (m *Mail) Wrote(e chat.Event) error {
	if e.Message == nil || e.Message.Root == "" || e.Sender.ID == "" {
		return nil
	}
	it, err := Ours(m.tx, e.Place.Connection, e.Place.Conversation, e.Message.Root)
	if err != nil || it == nil {
		return err
	}
	key := []string{tblWriter, e.Place.Connection, e.Place.Conversation, e.Message.Root}
	var known []string
	err = m.tx.Scan(store.Under(writersKept, key...), func(k, _ []byte) bool {
		known = append(known, store.LastPart(k))
		return true
	})
	if err != nil || len(known) == writersKept {
		return err
	}
	return m.t.put(m.now, append(key, e.Sender.ID)...)
}

// Writers lists people besides one who wrote in a thread.
func Writers(tx store.ReadTx, p chat.Place, root, besides string) ([]string, error) {
	var out []string
	err := tx.Scan(store.Under(writersKept, tblWriter, p.Connection, p.Conversation, root), func(k, _ []byte) bool {
		if id := store.LastPart(k); id != besides {
			out = append(out, id)
		}
		return true
	})
	return out, err
}

// CardIn says whether a gate's card hangs in a place.
func CardIn(tx store.ReadTx, goal, gate string, p chat.Place) (bool, error) {
	var ids []string
	err := tx.Scan(store.Under(100, tblSubject, goal, gate), func(k, _ []byte) bool {
		ids = append(ids, store.LastPart(k))
		return true
	})
	for _, id := range ids {
		it, bad := Load(tx, id)
		if bad != nil {
			return false, bad
		}
		if it != nil && it.Kind == GateCard && it.Place == p {
			return true, nil
		}
	}
	return false, err
}
