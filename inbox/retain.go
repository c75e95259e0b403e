package inbox

import (
	"encoding/json"

	"loopx/kernel/store"
)

// TextDays is how long a message that addressed the bot is kept after it was
// captured, ContextDays how long one that only may serve as context, in days.
const (
	TextDays    = 90
	ContextDays = 7
)

const textKeep = TextDays * 24 * 3600 * 1000

// Retain forgets messages that are older than they are kept for, looking at up
// to limit of them behind a key, oldest first. It returns where it stopped, nil
// once the rest is young. What an unfinished turn has, or what still waits, is
// kept however old it is.
func (m *Mail) Retain(after []byte, limit int) ([]byte, error) {
	rg := store.Under(limit, tblAge)
	if after != nil {
		rg = rg.After(after)
	}
	var ids []string
	var last []byte
	edge := store.Key(tblAge, store.I64(m.now-contextKeep))
	err := m.tx.Scan(rg, func(k, _ []byte) bool {
		if string(k) > string(edge) {
			return false // the rest is young
		}
		ids = append(ids, store.LastPart(k))
		last = append(last[:0], k...)
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := m.retain(id); err != nil {
			return nil, err
		}
	}
	if len(ids) < limit {
		last = nil
	}
	return last, nil
}

func (m *Mail) retain(id string) error {
	v, err := LoadMessage(m.tx, id)
	if err != nil || v == nil {
		return err
	}
	if v.Capture == Context {
		if v.Turn != "" && !v.Used {
			return nil
		}
		return firstErr(m.erase(v), m.t.Count("context:retention_expired"))
	}
	d, err := LoadDelivery(m.tx, id)
	if err != nil || m.now-v.Received < textKeep || d != nil && !d.Ended() {
		return err
	}
	if err := m.erase(v); err != nil || d == nil {
		return err
	}
	for _, item := range []string{d.Notice, d.Answer} {
		if err := dropItem(m, item, false); err != nil {
			return err
		}
	}
	return firstErr(m.tx.Delete(store.Key(tblDelivery, id)), m.t.Count("message:retention_expired"))
}

// dropItem forgets an item that is outside, with its buttons, the parts behind it
// and the note that its message is ours. What is not outside stays, unless it is
// not to be written any more.
func dropItem(m *Mail, id string, unwritten bool) error {
	for id != "" {
		it, err := Load(m.tx, id)
		if err != nil || it == nil || !unwritten && (it.Due != 0 || it.Message == "") {
			return err
		}
		if err := m.t.save(it, 0); err != nil {
			return err
		}
		keys := [][]byte{store.Key(tblItem, it.ID), store.Key(tblOurs, it.Place.Connection, it.Place.Conversation, it.Message)}
		for _, old := range it.Old {
			keys = append(keys, store.Key(tblOurs, it.Place.Connection, it.Place.Conversation, old))
		}
		for _, b := range it.Buttons {
			keys = append(keys, store.Key(tblAction, b.ID))
		}
		for _, k := range keys {
			if err := m.tx.Delete(k); err != nil {
				return err
			}
		}
		id = it.Then
	}
	return nil
}

// RetainKept forgets the context index entries whose message is gone.
func (m *Mail) RetainKept(after []byte, limit int) ([]byte, error) {
	return m.prune(tblKept, after, limit, func(k, _ []byte) (bool, error) {
		v, err := LoadMessage(m.tx, store.LastPart(k))
		return v == nil, err
	})
}

// RetainReceipts forgets receipts nobody can ask for again.
func (m *Mail) RetainReceipts(after []byte, limit int) ([]byte, error) {
	return m.prune(tblReceipt, after, limit, func(_, v []byte) (bool, error) {
		var row receiptRow
		err := json.Unmarshal(v, &row)
		return m.now-row.At > receiptKeep, err
	})
}

// prune deletes the rows of a table that are old, a piece at a time.
func (m *Mail) prune(table string, after []byte, limit int, old func(k, v []byte) (bool, error)) ([]byte, error) {
	rg := store.Under(limit, table)
	if after != nil {
		rg = rg.After(after)
	}
	type row struct{ k, v []byte }
	var rows []row
	err := m.tx.Scan(rg, func(k, v []byte) bool {
		rows = append(rows, row{append([]byte(nil), k...), append([]byte(nil), v...)})
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		gone, err := old(r.k, r.v)
		if err != nil {
			return nil, err
		}
		if gone {
			if err := m.tx.Delete(r.k); err != nil {
				return nil, err
			}
		}
	}
	if len(rows) < limit {
		return nil, nil
	}
	return rows[len(rows)-1].k, nil
}
