package inbox

import (
	"slices"
	"strconv"

	"loopx/adapters/chat"
)

// Bounds of replacing a card that can no longer be changed.
const (
	replaceMost = 3                // in a row, closer together than replaceRest
	replaceRest = 24 * 3600 * 1000 // ms after which it may happen again
	replaceKept = 8                // earlier messages that are still recognised
)

// Replace lets a card whose message the platform refuses to change for good (too
// old, deleted, not ours to edit any more) go out once more, as a new message in
// the same place that says what holds now. The buttons of the old one are stale
// from then on, and a press there is answered with the truth. It reports whether
// it did: a text, a line and what fails again and again are not replaced.
func (t *Tx) Replace(id, why string) (bool, error) {
	it, err := Load(t.tx, id)
	if err != nil || it == nil || it.Message == "" || it.State == Dead || it.Due == 0 {
		return false, err
	}
	switch it.Kind {
	case GateCard, PlanCard, Progress, Status:
	default:
		return false, nil
	}
	if n := len(it.Old); n >= replaceMost && t.now-it.Replaced < replaceRest {
		return false, nil
	}
	if it.Kind == Status && it.Off {
		return false, nil // it would only come to say goodbye
	}
	if it.Pinned {
		if err := owePin(t, it, false); err != nil {
			return false, err
		}
	}
	it.renew(t.now)
	it.Why = why
	it.Gen++
	it.Buttons = slices.Clone(it.Buttons)
	for i := range it.Buttons {
		b := &it.Buttons[i]
		b.ID, b.Gen = opaque("x"), it.Gen
		if err := t.put(*b, tblAction, b.ID); err != nil {
			return false, err
		}
	}
	return true, firstErr(t.Count("card_replaced"), t.want(it))
}

// renew makes the next writing of an item a new message.
func (it *Item) renew(now int64) {
	if it.Old = append(it.Old, it.Message); len(it.Old) > replaceKept {
		it.Old = it.Old[1:]
	}
	it.Again++
	it.Key = short("again", it.ID, strconv.Itoa(it.Again))
	it.Message, it.Drawn, it.First, it.Tries, it.State, it.Replaced, it.Pinned, it.PinWhy = "", "", 0, 0, Ready, now, false, ""
}

// Was says whether a message once was this card: it can no longer be changed, and
// a newer one stands below it.
func (it *Item) Was(message string) bool { return slices.Contains(it.Old, message) }

// hangsAt says whether a press comes from the card, or from a message that was it
// once, and not from a copy that somebody made.
func (it *Item) hangsAt(p chat.Place, message string) bool {
	return it.Place.Connection == p.Connection && it.Place.Conversation == p.Conversation && (it.Message == "" || it.Message == message || it.Was(message))
}

// HangsAt is hangsAt for a plan's card.
func HangsAt(it *Item, e chat.Event) bool { return it.hangsAt(e.Place, e.Press.Message) }
