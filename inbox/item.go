// Package inbox keeps what people said and what we owe them: marks of events
// that were handled, card instances, and the outbox. Its rows are queue rows:
// pruned, never replayed. One transaction may touch them and the kernel's.
package inbox

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"loopx/adapters/chat"
	"loopx/kernel/store"
)

// Tables of this room; each key starts with one of these.
const (
	tblMark    = "im" // connection, event or message -> Mark
	tblItem    = "it" // item -> Item
	tblDue     = "iq" // connection, conversation, due time, order, item
	tblAction  = "ib" // opaque action id -> Button
	tblSubject = "is" // goal, gate, item
	tblCursor  = "ip" // journal position of the projector
	tblCount   = "in" // name -> counter
	tblTry     = "il" // connection, tenant, user -> hours with attempts

	tblMessage  = "ig" // message -> Message
	tblDelivery = "id" // message -> Delivery
	tblWait     = "iw" // goal, agent, order, message -> ingress and session
	tblSteer    = "iy" // goal, agent, order, message -> the same
	tblKept     = "ic" // binding, order, message: context
	tblAge      = "ia" // received, message
	tblDead     = "ie" // when, message: dead letters
	tblDeadItem = "iz" // number, item: outward messages that are dead
	tblSeq      = "io" // the number of the newest item
	tblReceipt  = "ik" // idempotency key -> receiptRow
	tblOurs     = "ij" // connection, conversation, platform message -> item
	tblTainted  = "ih" // goal, agent, message: a message that taints is leased
	tblTold     = "iT" // person, gate -> times told
	tblDay      = "iV" // person, when, gate -> Told
	tblLapse    = "i1" // steady time, item: when its buttons change by themselves
	tblFetch    = "if" // connection, when, message: files are to be fetched
	tblFile     = "iF" // digest, message that has the file
	tblUnkeep   = "iU" // digest that may be needed no more
	tblWriter   = "iu" // connection, conversation, root, user -> when: of threads the bot started
)

// Kinds of items.
const (
	GateCard = "gate"     // a copy of a gate's card, redrawn as the gate changes
	Line     = "line"     // one line about a gate where others read along, redrawn as it changes
	Text     = "text"     // one message, written once
	Digest   = "digest"   // what waits for a person, written once a day when something does
	FileItem = "file"     // a file of an agent's answer, written once
	Progress = "progress" // how far a person's message is, redrawn as it goes on
)

// States of an item on its way out.
const (
	Ready   = "ready"   // nothing of it is outside yet, or a redraw is wanted
	Sending = "sending" // a write was started and its outcome not recorded
	Sent    = "sent"    // the platform named the message, or a lookup found it
	Lost    = "unknown" // the outcome is not known and must be looked up
	Dead    = "dead"    // it will not be tried again by itself
)

// Item is one outward message we owe: a card instance or a text. It keeps which
// card is dirty, never its content: ten changes in a second are one update.
type Item struct {
	ID    string     `json:"id"`
	Kind  string     `json:"kind"`
	Key   string     `json:"key"` // idempotency key of the first send
	Place chat.Place `json:"place"`
	Goal  string     `json:"goal,omitempty"`
	Gate  string     `json:"gate,omitempty"`
	Text  string     `json:"text,omitempty"`
	// Seq numbers items in the order they were owed in.
	Seq uint64 `json:"seq,omitempty"`
	// Want counts the reasons to draw it, Done how many the last drawing knew.
	Want uint64 `json:"want"`
	Done uint64 `json:"done"`
	// Drawn is the digest of the content that is outside.
	Drawn   string `json:"drawn,omitempty"`
	State   string `json:"state"`
	Message string `json:"message,omitempty"` // the platform's id once sent
	// Old are messages that were this card until the platform refused to change
	// them, newest last; Again counts them all, Replaced is when the last was given
	// up. UTC ms.
	Old      []string `json:"old,omitempty"`
	Again    int      `json:"again,omitempty"`
	Replaced int64    `json:"replaced,omitempty"`
	// Pressed says that somebody waits for it with a finger on a button: it goes
	// before everything else.
	Pressed bool `json:"pressed,omitempty"`
	// First is when the first write was started, where a lookup begins. UTC ms.
	First   int64  `json:"first,omitempty"`
	Tries   int    `json:"tries,omitempty"`
	Due     int64  `json:"due,omitempty"` // 0 = not in the queue
	Created int64  `json:"created"`
	Why     string `json:"why,omitempty"` // of Dead
	// Gen is the generation of live buttons; older ones are stale.
	Gen     int      `json:"gen"`
	Buttons []Button `json:"buttons,omitempty"`
	// Confirm is set between the two presses of a protected answer.
	Confirm *Confirm `json:"confirm,omitempty"`
	// Page is the page of the whole that is shown, from 1; 0 is the card itself.
	Page int `json:"page,omitempty"`
	// Parked says that it was drawn since its gate was parked, or since nobody could
	// be told of it.
	Parked bool `json:"parked,omitempty"`
	// Plan is what a plan's card shows and its press does.
	Plan *Plan `json:"plan,omitempty"`
	// Binding is whose status card it is; Off says that it takes its leave, Pinned
	// that it is pinned, PinWhy why it could not be.
	Binding string `json:"binding,omitempty"`
	Off     bool   `json:"off,omitempty"`
	Pinned  bool   `json:"pinned,omitempty"`
	PinWhy  string `json:"pin_why,omitempty"`
	// File is what a file item sends.
	File *AnswerFile `json:"file,omitempty"`
	// Gone is what a summary of the time away is about.
	Gone *Gone `json:"gone,omitempty"`
	// Person is whose private conversation a card is in, Copy that the person is
	// asked elsewhere too, Level how loudly it was told (see Told).
	Person string `json:"person,omitempty"`
	Copy   bool   `json:"copy,omitempty"`
	Level  int    `json:"level,omitempty"`
	// Mention is whom a text names, so that the platform notifies them.
	Mention *chat.User `json:"mention,omitempty"`
	// Of is the message that a progress item or an answer belongs to.
	Of string `json:"of,omitempty"`
	// Then is the item that may go out once this one is outside: the next part of
	// a long text.
	Then string `json:"then,omitempty"`
}

// Button is what an opaque action id stands for.
type Button struct {
	ID     string `json:"id"`
	Item   string `json:"item"`
	Gen    int    `json:"gen"`
	Step   string `json:"step"` // answer, confirm, back
	Option string `json:"option,omitempty"`
	Digest string `json:"digest"` // of the gate as it was shown
	// Grant is what an approval leaves; see kernel.AnswerGate.
	Grant string `json:"grant,omitempty"`
}

// Steps of a button.
const (
	StepAnswer  = "answer"
	StepConfirm = "confirm"
	StepBack    = "back"
	StepSnooze  = "snooze" // puts the question off; answers nothing

	StepPage     = "page"      // shows the next page of the whole
	StepChange   = "change"    // offers the other options of a decision
	StepChangeTo = "change_to" // corrects a decision
	StepDisown   = "disown"    // says that an answer was not theirs
)

// Confirm is a first press that waits for its second.
type Confirm struct {
	Option string `json:"option"`
	Person string `json:"person"`
	Until  int64  `json:"until_steady"`
	// Digest and Status are the gate's at the first press.
	Digest string `json:"digest,omitempty"`
	Status string `json:"status,omitempty"`
	// Step is what is confirmed: empty for an answer, else disown or change.
	Step string `json:"step,omitempty"`
	// Reason came with the first press, Grant and GrantUntil (UTC ms) stand on its
	// button.
	Reason     string `json:"reason,omitempty"`
	Grant      string `json:"grant,omitempty"`
	GrantUntil int64  `json:"grant_until,omitempty"`
}

// Tx is the inbox's view of a transaction.
type Tx struct {
	tx  store.Tx
	now int64
	// pressed marks what becomes dirty as waited for.
	pressed bool
}

// Over opens the inbox's tables in a transaction.
func Over(tx store.Tx) *Tx { return &Tx{tx: tx, now: tx.Now()} }

func getRow[T any](tx store.ReadTx, key ...string) (*T, error) {
	b, err := tx.Get(store.Key(key...))
	if b == nil || err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fmt.Errorf("%w: an inbox row does not decode: %v", store.ErrCorrupt, err)
	}
	return v, nil
}

func (t *Tx) put(v any, key ...string) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.tx.Put(store.Key(key...), b)
}

// Load returns an item or nil.
func Load(tx store.ReadTx, id string) (*Item, error) { return getRow[Item](tx, tblItem, id) }

// save writes an item and keeps its place in the queue true.
func (t *Tx) save(it *Item, due int64) error {
	if err := index(t, it, due); err != nil {
		return err
	}
	it.Due = due
	return t.put(it, tblItem, it.ID)
}

// want marks an item dirty, due now. A dead item stays dead.
func (t *Tx) want(it *Item) error {
	it.Want++
	if it.State == Dead {
		return t.put(it, tblItem, it.ID)
	}
	due := t.now
	if t.pressed && it.Message != "" {
		it.Pressed, due = true, 1 // at the head of the queue, however long that is
	}
	if it.Due != 0 && it.Tries > 0 {
		due = it.Due // a back-off in force is not cut short by more reasons
	}
	return t.save(it, due)
}

// refreshMS is how long a change around a gate may take to show on its card.
const refreshMS = 5000

// refresh marks an item dirty for a change of what stands around its question:
// soon is enough, and several such changes become one drawing.
func (t *Tx) refresh(it *Item) error {
	if it.State == Dead || it.Message == "" {
		return nil // not outside yet: the first drawing shows it all
	}
	it.Want++
	due := it.Due
	if due == 0 {
		due = t.now + refreshMS
	}
	return t.save(it, due)
}

// Count adds one to a named counter.
func (t *Tx) Count(name string) error {
	n, err := Counter(t.tx, name)
	if err != nil {
		return err
	}
	return t.put(n+1, tblCount, name)
}

// Counter reads a named counter.
func Counter(tx store.ReadTx, name string) (uint64, error) {
	n, err := getRow[uint64](tx, tblCount, name)
	if n == nil || err != nil {
		return 0, err
	}
	return *n, nil
}

// Counters lists the counters.
func Counters(tx store.ReadTx) (map[string]uint64, error) {
	out := map[string]uint64{}
	var bad error
	err := tx.Scan(store.Under(1000, tblCount), func(k, v []byte) bool {
		var n uint64
		if bad = json.Unmarshal(v, &n); bad != nil {
			return false
		}
		out[store.LastPart(k)] = n
		return true
	})
	if err == nil {
		err = bad
	}
	return out, err
}

// opaque is a random id of 128 bits for a button or an item.
func opaque(prefix string) string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	return prefix + hex.EncodeToString(b)
}
