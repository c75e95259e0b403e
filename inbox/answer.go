package inbox

import (
	"slices"
	"strconv"

	"loopx/kernel"
	"loopx/kernel/store"
)

// answer owes an agent's answer to the place that was frozen with the message,
// once: the key is the message.
func (m *Mail) answer(d *Delivery, text string, files []AnswerFile) (string, error) {
	title := d.Goal
	if g := m.r.Goal(d.Goal); g != nil {
		title = g.Title
	}
	key := short("answer", d.ID)
	it := &Item{ID: "a" + key, Kind: Text, Key: key, Place: d.Reply, Goal: d.Goal, Of: d.ID, State: Ready, Created: m.now,
		Text: d.Holder + " · " + title + "\n" + text}
	then := ""
	for i, f := range slices.Backward(files) {
		n := &Item{ID: it.ID + "-f" + strconv.Itoa(i+1), Kind: FileItem, Key: short("file", it.Key, strconv.Itoa(i)), Place: d.Reply, Goal: d.Goal, Of: d.ID, State: Ready, Created: m.now, File: &f, Then: then}
		if err := m.t.put(n, tblItem, n.ID); err != nil {
			return "", err
		}
		then = n.ID
	}
	it.Then = then
	return it.ID, firstErr(keepAnswer(m, d, files), m.t.want(it))
}

// outside follows an item that a platform has for the first time: the next part
// may go, an answer is delivered, and a reply to it can be recognised.
func outside(t *Tx, it *Item) error {
	key := store.Key(tblOurs, it.Place.Connection, it.Place.Conversation, it.Message)
	if err := t.tx.Put(key, []byte(it.ID)); err != nil {
		return err
	}
	if it.Then != "" {
		next, err := Load(t.tx, it.Then)
		if err != nil || next == nil {
			return err
		}
		return t.want(next)
	}
	if it.Kind == Status {
		return owePin(t, it, true)
	}
	if it.Kind != Text && it.Kind != FileItem || it.Of == "" {
		return nil
	}
	d, err := LoadDelivery(t.tx, it.Of)
	if err != nil || d == nil || d.Delivered != 0 {
		return err
	}
	d.Delivered = t.now
	m := &Mail{t: t, tx: t.tx, now: t.now}
	return firstErr(m.saveDelivery(d), m.settleContext(d))
}

// stranded follows an item that will not go out: the parts behind it do not
// either, and an answer becomes a dead letter.
func stranded(t *Tx, it *Item) error {
	for next := it.Then; next != ""; {
		n, err := Load(t.tx, next)
		if err != nil || n == nil {
			return err
		}
		n.State, n.Why = Dead, "an earlier part was not sent"
		if err := t.save(n, 0); err != nil {
			return err
		}
		next = n.Then
	}
	if it.Of == "" || it.Kind != Text && it.Kind != FileItem {
		return nil
	}
	return t.tx.Put(store.Key(tblDead, store.I64(t.now), it.Of), nil)
}

// Ours finds the item whose message a platform names, or nil: nobody's word is
// taken for it that a message is our own.
func Ours(tx store.ReadTx, connection, conversation, said string) (*Item, error) {
	if said == "" {
		return nil, nil
	}
	id, err := tx.Get(store.Key(tblOurs, connection, conversation, said))
	if err != nil || id == nil {
		return nil, err
	}
	return Load(tx, string(id))
}

// Split makes a text item that was never sent into as many as there are parts,
// each due once the one before it is outside.
func (t *Tx) Split(id string, parts []string) error {
	it, err := Load(t.tx, id)
	if err != nil || it == nil || it.Message != "" || it.State != Ready || len(parts) < 2 {
		return err
	}
	of, then := it.Of, it.Then
	for i, text := range slices.Backward(parts[1:]) {
		key := short("part", it.Key, strconv.Itoa(i))
		next := &Item{ID: it.ID + "-" + strconv.Itoa(i+1), Kind: Text, Key: key, Place: it.Place, Goal: it.Goal, Text: text, State: Ready, Created: t.now, Seq: it.Seq, Of: of, Then: then}
		of, then = it.Of, next.ID
		if err := t.put(next, tblItem, next.ID); err != nil {
			return err
		}
	}
	it.Text, it.Then = parts[0], then
	return t.save(it, it.Due)
}

// receiptRow is the kept receipt of a command of this room.
type receiptRow struct {
	At      int64          `json:"at"`
	Asked   string         `json:"asked"`
	Receipt kernel.Receipt `json:"receipt"`
}

// receiptKeep is how long the same key gives the same receipt.
const receiptKeep = 30 * 24 * 3600 * 1000

// once runs fn and keeps its receipt under the key of opt; the same key again
// gives the same receipt and runs nothing.
func once(k *kernel.Kernel, tx store.Tx, cmd kernel.Command, opt kernel.Options, fn func(*Mail) (any, bool, error)) (kernel.Receipt, error) {
	if opt.Plan != "" {
		return kernel.Receipt{}, kernel.Errorf(kernel.Invalid, "no_plan", "a command of the inbox is not bound to a preview")
	}
	m, err := MailOver(tx, k)
	if err != nil {
		return kernel.Receipt{}, err
	}
	asked := kernel.Fingerprint(cmd, opt.By)
	if opt.Key != "" && !opt.Preview {
		if err := kernel.CheckKey(opt.Key); err != nil {
			return kernel.Receipt{}, err
		}
		old, err := getRow[receiptRow](tx, tblReceipt, opt.Key)
		switch {
		case err != nil:
			return kernel.Receipt{}, err
		case old != nil && old.Asked != asked:
			return kernel.Receipt{}, kernel.Errorf(kernel.Conflict, "key_reused", "the idempotency key was used for another request").Try("use a new --idempotency-key, or none")
		case old != nil:
			old.Receipt.Replay = true
			return old.Receipt, nil
		}
	}
	result, changed, err := fn(m)
	if err != nil {
		return kernel.Receipt{}, err
	}
	raw, err := kernel.Marshal(result)
	if err != nil {
		return kernel.Receipt{}, err
	}
	rec := kernel.Receipt{Command: cmd.Name(), At: m.now, Changed: changed, Result: raw, Preview: opt.Preview}
	if opt.Key == "" || opt.Preview {
		return rec, nil
	}
	rec.ID = "i" + short("receipt", opt.Key)[:16]
	return rec, m.t.put(receiptRow{At: m.now, Asked: asked, Receipt: rec}, tblReceipt, opt.Key)
}

// Unresolved says whether a connection has a message on its way into a
// conversation of which nobody knows yet whether it is outside.
func Unresolved(tx store.ReadTx, connection, conversation string) (bool, error) {
	var ids []string
	err := tx.Scan(store.Under(waitMost, tblDue, connection), func(k, _ []byte) bool {
		ids = append(ids, store.LastPart(k))
		return true
	})
	for _, id := range ids {
		if err != nil {
			return false, err
		}
		var it *Item
		if it, err = Load(tx, id); it != nil && it.Message == "" && (it.State == Sending || it.State == Lost) && it.Place.Conversation == conversation {
			return true, nil
		}
	}
	return false, err
}
