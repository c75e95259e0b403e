package inbox

import (
	"time"

	"loopx/adapters/chat"
	"loopx/kernel/store"
)

// Next lists items of a connection that are due, oldest first, and when the
// next one after them is due (0 for none). It reads only.
func Next(tx store.ReadTx, connection string, now int64, limit int) (due []*Item, next int64, err error) {
	list, err := Owed(tx, connection, limit+1)
	if err != nil {
		return nil, 0, err
	}
	for _, it := range list {
		if it.Due > now || len(due) == limit {
			return due, it.Due, nil
		}
		due = append(due, it)
	}
	return due, 0, nil
}

// Start records that the first write of an item begins. What it returns tells
// the worker what to do: look first when an earlier write may already be
// outside. A message that is outside needs no such mark: repeating an update is
// harmless.
func (t *Tx) Start(id string) (it *Item, look bool, err error) {
	it, err = Load(t.tx, id)
	if err != nil || it == nil || it.Due == 0 || it.State == Dead {
		return nil, false, err
	}
	look = it.Message == "" && (it.State == Sending || it.State == Lost)
	it.State = Sending
	if it.First == 0 {
		it.First = t.now
	}
	// Due stays: a crash from here on finds it again.
	return it, look, t.put(it, tblItem, it.ID)
}

// Wrote records that content with the digest, drawn when Want was want, is
// outside as message. It reports whether this was the item's first time outside.
func (t *Tx) Wrote(id, message, drawn string, want uint64) (first bool, err error) {
	it, err := Load(t.tx, id)
	if err != nil || it == nil {
		return false, err
	}
	first = it.Message == ""
	it.Message, it.Drawn, it.Done, it.State, it.Tries, it.Why = message, drawn, want, Sent, 0, ""
	due := int64(0)
	if it.Want > want {
		due = t.now // it changed while it was written
	} else {
		it.Pressed = false
	}
	if err := t.save(it, due); err != nil || !first {
		return first, err
	}
	return first, outside(t, it)
}

// Failed records a write that did not happen, or may have.
func (t *Tx) Failed(id string, kind chat.ErrorKind, after time.Duration, why string) error {
	it, err := Load(t.tx, id)
	if err != nil || it == nil {
		return err
	}
	it.Why = why
	it.Tries++
	switch kind {
	case chat.Gone, chat.Invalid:
		it.State = Dead
		if err := firstErr(t.Count("dead_letter"), stranded(t, it)); err != nil {
			return err
		}
		return t.save(it, 0)
	case chat.UnknownOutcome:
		it.State = Lost
		if it.Message != "" {
			it.State = Ready // repeating an update is harmless
		}
	default:
		it.State = Ready
	}
	wait := backoff(it.Tries)
	if kind == chat.RateLimited && after > 0 {
		wait = after
	}
	if kind == chat.Auth {
		wait = max(wait, time.Minute)
	}
	return t.save(it, t.now+max(wait.Milliseconds(), 1))
}

// backoff doubles from a quarter second to five minutes.
func backoff(tries int) time.Duration {
	d := 250 * time.Millisecond
	for range min(tries-1, 12) {
		d *= 2
	}
	return min(d, 5*time.Minute)
}
