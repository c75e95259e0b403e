package inbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"loopx/kernel"
	"loopx/kernel/store"
)

// conversationMost bounds the conversations that are looked at at once, and
// eachLeast is how much of each is, however many there are.
const (
	conversationMost = 1000
	eachLeast        = 4
)

// Owed lists what a connection owes, whether it is due now or later: about limit of
// it, the same share of each conversation, so that one with a long queue hides none
// of the others. In a conversation those due first come first. It reads only.
func Owed(tx store.ReadTx, connection string, limit int) ([]*Item, error) {
	queues, err := conversations(tx, connection)
	if err != nil {
		return nil, err
	}
	var out []*Item
	for _, q := range queues {
		q.Limit = max(limit/len(queues), eachLeast)
		list, err := items(tx, q)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	out = slices.DeleteFunc(out, func(it *Item) bool { return it.Due == 0 })
	slices.SortStableFunc(out, func(a, b *Item) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Seq, b.Seq)) })
	return out, nil
}

// conversations are the ranges of the queue, one a conversation. It costs one step
// for each, however long they are.
func conversations(tx store.ReadTx, connection string) ([]store.Range, error) {
	all := store.Under(1, tblDue, connection)
	skip := len(all.From)
	var out []store.Range
	for len(out) < conversationMost {
		var next *store.Range
		err := tx.Scan(all, func(k, _ []byte) bool {
			end := skip + bytes.IndexByte(k[skip:], 0)
			if end < skip {
				end = len(k) - 1 // no key of ours; its range holds nothing more
			}
			from := bytes.Clone(k[:end+1])
			to := bytes.Clone(from)
			to[end]++ // NUL ends a part, and no part holds it
			next = &store.Range{From: from, To: to}
			return false
		})
		if err != nil || next == nil {
			return out, err
		}
		out = append(out, *next)
		all.From = next.To
	}
	return out, nil
}

// dueKey is an item's place in the queue.
func dueKey(it *Item, due int64) []byte {
	return store.Key(tblDue, it.Place.Connection, it.Place.Conversation, store.I64(due), store.U64(it.Seq), it.ID)
}

// DeadItems lists, oldest first and at most limit of them, the messages that
// will not be written by themselves any more: the platform will never take
// them, their place is gone, or they hold what must not leave the machine. Why
// says which.
func DeadItems(tx store.ReadTx, limit int) ([]*Item, error) {
	list, err := items(tx, store.Under(limit, tblDeadItem))
	return slices.DeleteFunc(list, func(it *Item) bool { return it.State != Dead }), err
}

// items loads what an index names.
func items(tx store.ReadTx, rg store.Range) ([]*Item, error) {
	var ids []string
	err := tx.Scan(rg, func(k, _ []byte) bool {
		ids = append(ids, store.LastPart(k))
		return true
	})
	if err != nil {
		return nil, err
	}
	var out []*Item
	for _, id := range ids {
		it, err := Load(tx, id)
		if err != nil {
			return nil, err
		}
		if it != nil {
			out = append(out, it)
		}
	}
	return out, nil
}

// Replay lets a dead item be tried again, and the parts behind it. What may be
// outside already is looked up first.
func (t *Tx) Replay(id string) error {
	it, err := Load(t.tx, id)
	switch {
	case err != nil:
		return err
	case it == nil:
		return kernel.Errorf(kernel.NotFound, "no_item", "there is no such message in the outbox")
	case it.State != Dead:
		return kernel.Errorf(kernel.Conflict, "not_dead", "the message is no dead letter: it is %s", it.State)
	}
	for next := it.Then; next != ""; {
		n, err := Load(t.tx, next)
		if err != nil || n == nil {
			return err
		}
		n.State, n.Why = Ready, ""
		if err := t.save(n, 0); err != nil {
			return err
		}
		next = n.Then
	}
	it.State, it.Tries, it.Why = Lost, 0, "" // it may be outside: look first
	if it.First == 0 || it.Message != "" {
		it.State = Ready
	}
	return t.want(it)
}

// nextSeq is the number of a new item: it grows, also within a millisecond.
func nextSeq(t *Tx) (uint64, error) {
	key := store.Key(tblSeq)
	b, err := t.tx.Get(key)
	if err != nil {
		return 0, err
	}
	var n uint64
	if b != nil {
		if err := json.Unmarshal(b, &n); err != nil {
			return 0, fmt.Errorf("%w: an inbox row does not decode: %v", store.ErrCorrupt, err)
		}
	}
	return n + 1, t.put(n+1, tblSeq)
}

// index keeps the lists that an item stands in true: what is due, and what is
// dead.
func index(t *Tx, it *Item, due int64) error {
	if it.Seq == 0 {
		n, err := nextSeq(t)
		if err != nil {
			return err
		}
		it.Seq = n
	}
	was, err := t.tx.Get(store.Key(tblDeadItem, store.U64(it.Seq), it.ID))
	if err != nil {
		return err
	}
	switch dead := it.State == Dead; {
	case dead && was == nil:
		err = t.tx.Put(store.Key(tblDeadItem, store.U64(it.Seq), it.ID), []byte("1"))
	case !dead && was != nil:
		err = t.tx.Delete(store.Key(tblDeadItem, store.U64(it.Seq), it.ID))
	}
	if err != nil {
		return err
	}
	if it.Due != 0 && it.Due != due {
		if err := t.tx.Delete(dueKey(it, it.Due)); err != nil {
			return err
		}
	}
	if due != 0 && it.Due != due {
		return t.tx.Put(dueKey(it, due), nil)
	}
	return nil
}
