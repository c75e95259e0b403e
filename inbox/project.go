package inbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
)

// short digests a meaning into a key every platform takes (Lark: 50 characters).
func short(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// cardKey derives an item's key from what it means: this gate, in this place.
func cardKey(g *kernel.Gate, p chat.Place) string {
	return short("gate", g.Goal, g.ID, p.Connection, p.Conversation, p.Thread)
}

// lineKey derives the key of a gate's line: one in a conversation, whatever thread
// of it the goal is bound to.
func lineKey(g *kernel.Gate, p chat.Place) string {
	return short("line", g.Goal, g.ID, p.Connection, p.Conversation)
}

// batch bounds the journal records of one projection transaction.
const batch = 32

// Project follows the journal from the cursor. It makes a card in every place
// that should show a gate and marks the copies of changed gates dirty, in one
// transaction with the cursor, so that what any process committed is shown
// exactly once. places gives where a gate's card belongs. It returns whether
// more records may be waiting.
func (t *Tx) Project(k *kernel.Kernel, places func(r *kernel.Reader, g *kernel.Gate) []Spot) (more bool, err error) {
	r, err := k.ReaderOf(t.tx)
	if err != nil {
		return false, err
	}
	if on, err := t.showAll(r, places); on || err != nil {
		return true, err
	}
	cursor, err := getRow[uint64](t.tx, tblCursor)
	if err != nil {
		return false, err
	}
	after := uint64(0)
	if cursor != nil {
		after = *cursor
	}
	records := r.Glances(after, batch)
	if err := r.Err(); err != nil || len(records) == 0 {
		return false, err
	}
	n, err := changed(r, records)
	if err != nil {
		return false, err
	}
	after = records[len(records)-1].Seq
	if n.everybody {
		if err := t.put("", tblCursor, allGates); err != nil {
			return false, err
		}
	}
	for _, g := range n.gates {
		now := r.Gate(g.Goal, g.ID)
		if now == nil {
			continue
		}
		if err := t.show(r, now, places(r, now)); err != nil {
			return false, err
		}
	}
	for goal := range n.moved {
		if err := t.refreshGates(r, goal, n.gates); err != nil {
			return false, err
		}
	}
	for person := range n.people {
		if err := AskingOver(t).recheck(r, person); err != nil {
			return false, err
		}
	}
	for id := range n.bindings {
		if err := ShowStatus(t, r, id); err != nil {
			return false, err
		}
	}
	for id := range n.boards {
		if err := RefreshStatus(t, id); err != nil {
			return false, err
		}
	}
	if err := r.Err(); err != nil {
		return false, err
	}
	return n.everybody || len(records) == batch, t.put(after, tblCursor)
}

// allGates is the row that says that all open gates are to be shown, and behind
// which one to go on.
const allGates = "all"

// showPiece bounds the gates that one transaction shows of all of them: each may
// hang in many places.
const showPiece = 8

// showAll shows the next piece of all open gates, where that is due, and reports
// whether it was.
func (t *Tx) showAll(r *kernel.Reader, places func(r *kernel.Reader, g *kernel.Gate) []Spot) (on bool, err error) {
	at, err := getRow[string](t.tx, tblCursor, allGates)
	if at == nil || err != nil {
		return false, err
	}
	gates := slices.DeleteFunc(openGates(r), func(g *kernel.Gate) bool { return g.Goal+"/"+g.ID <= *at })
	slices.SortFunc(gates, func(a, b *kernel.Gate) int { return cmp.Compare(a.Goal+"/"+a.ID, b.Goal+"/"+b.ID) })
	if err := r.Err(); err != nil {
		return false, err
	}
	if len(gates) == 0 {
		return true, t.tx.Delete(store.Key(tblCursor, allGates))
	}
	gates = gates[:min(showPiece, len(gates))]
	for _, g := range gates {
		if err := t.show(r, g, places(r, g)); err != nil {
			return false, err
		}
	}
	last := gates[len(gates)-1]
	return true, firstErr(r.Err(), t.put(last.Goal+"/"+last.ID, tblCursor, allGates))
}

// news is what journal records change of what is outside.
type news struct {
	gates map[string]*kernel.Gate // about which a record says something
	// moved are goals in which work came, went or was released while a gate is
	// open; people changed when they may be interrupted.
	moved, people map[string]bool
	// bindings changed their choices; the status cards of boards are out of date.
	bindings, boards map[string]bool
	// everybody says that who is asked may have changed for any gate.
	everybody bool
}

func (n *news) any() bool {
	return n.everybody || len(n.gates)+len(n.moved)+len(n.people)+len(n.bindings)+len(n.boards) > 0
}

func changed(r *kernel.Reader, records []*kernel.Glance) (*news, error) {
	n := &news{gates: map[string]*kernel.Gate{}, moved: map[string]bool{}, people: map[string]bool{}, bindings: map[string]bool{}}
	goals := map[string]bool{}
	for _, rec := range records {
		for i := range rec.Events {
			e := &rec.Events[i]
			if e.Goal != "" {
				goals[e.Goal] = true
			}
			switch e.Type {
			case kernel.BindingSet, kernel.BindingChanged, kernel.BindingRemoved:
				n.bindings[e.Subject] = true
			}
			switch {
			case e.Gate != nil && e.Type != kernel.GateNotified:
				n.gates[e.Gate.ID] = e.Gate
			case e.Type == kernel.TodoAdded, e.Type == kernel.TodoCompleted, e.Type == kernel.TodoSupersededBy, e.Type == kernel.TodoDeferredEvent, e.Type == kernel.TodoReopened:
				if r.Counts(e.Goal).GatesOpen > 0 {
					n.moved[e.Goal] = true
				}
			case e.Type == kernel.PersonChanged:
				n.people[e.Subject] = true
			case asksOthers(e.Type):
				n.everybody = true
			}
		}
	}
	var err error
	n.boards, err = statusDirty(r, goals)
	return n, err
}

// asksOthers says whether a record may change who is asked, or where.
func asksOthers(event string) bool {
	switch event {
	case kernel.PrincipalChanged, kernel.RoleGranted, kernel.RoleAccepted, kernel.RoleRevoked, kernel.RoleSuspendedEvent, kernel.AwaySet, kernel.ReachNoted, kernel.BindingSet, kernel.BindingChanged:
		return true
	}
	return false
}

// Ahead reads on from a position the caller has looked at (or from the stored
// cursor, if that is further) and says how far it got, whether anything there
// shows on a card, whether the stored cursor is far behind, and whether more may
// be waiting. Most commands of agents show nowhere; looking first spares a write
// for each of them.
func Ahead(r *kernel.Reader, looked uint64) (upto uint64, shows, far, more bool, err error) {
	cursor, err := getRow[uint64](r.Tx(), tblCursor)
	if err != nil {
		return 0, false, false, false, err
	}
	if at, err := getRow[string](r.Tx(), tblCursor, allGates); at != nil || err != nil {
		return looked, true, false, true, err // a restart came between its pieces
	}
	upto = looked
	behind := uint64(0)
	if cursor != nil {
		behind = *cursor
		upto = max(upto, behind)
	}
	records := r.Glances(upto, batch)
	if err := r.Err(); err != nil || len(records) == 0 {
		return upto, false, false, false, err
	}
	n, err := changed(r, records)
	if err != nil {
		return 0, false, false, false, err
	}
	upto = records[len(records)-1].Seq
	return upto, n.any(), upto-behind >= cursorLag, len(records) == batch, r.Err()
}

// cursorLag is how many records the stored cursor may stay behind: what lies
// between is read again after a restart.
const cursorLag = 512

// Advance stores a cursor up to which nothing shows on a card. It never goes back.
func (t *Tx) Advance(upto uint64) error {
	cursor, err := getRow[uint64](t.tx, tblCursor)
	if err != nil || cursor != nil && *cursor >= upto {
		return err
	}
	return t.put(upto, tblCursor)
}

// refreshMost bounds the cards of a goal that are redrawn because work around
// them moved: the most severe open gates.
const refreshMost = 10

// refreshGates lets the cards of a goal's open gates say again what goes on
// without them. Their buttons stay.
func (t *Tx) refreshGates(r *kernel.Reader, goal string, shown map[string]*kernel.Gate) error {
	for _, g := range r.OpenGates(goal, refreshMost) {
		if shown[g.ID] != nil {
			continue
		}
		copies, err := t.copies(g)
		if err != nil {
			return err
		}
		for _, it := range copies {
			if err := t.refresh(it); err != nil {
				return err
			}
		}
	}
	return nil
}

// Copies are the card instances of a gate, and its lines.
func Copies(tx store.ReadTx, goal, gate string) ([]*Item, error) {
	return items(tx, store.Under(1000, tblSubject, goal, gate))
}

// copies are the card instances of a gate.
func (t *Tx) copies(g *kernel.Gate) ([]*Item, error) { return copiesOf(t.tx, g) }

func copiesOf(tx store.ReadTx, g *kernel.Gate) ([]*Item, error) { return Copies(tx, g.Goal, g.ID) }

// show brings every copy of a gate up to date and adds missing ones while the
// gate can be answered.
func (t *Tx) show(r *kernel.Reader, g *kernel.Gate, places []Spot) error {
	copies, err := t.copies(g)
	if err != nil {
		return err
	}
	for _, it := range copies {
		if c := it.Confirm; c != nil && (c.Digest != g.Digest || c.Status != g.Status) {
			it.Confirm = nil // what it was about is not what stands
		}
		if g.Status != kernel.GateOpen || len(it.Buttons) > 0 && it.Buttons[0].Digest != g.Digest {
			it.Page = 0
		}
		if buttonsFit(t, r, it, g) {
			err = t.want(it)
		} else {
			err = redraw(t, r, it, g)
		}
		if err != nil {
			return err
		}
	}
	if g.Status != kernel.GateOpen {
		return nil
	}
	for _, p := range places {
		if _, err := t.AddCard(r, g, p); err != nil {
			return err
		}
	}
	return revive(t, copies, places)
}

// revive lets cards that were never outside be tried again in places that take
// messages again: who could not be written to has written.
func revive(t *Tx, copies []*Item, places []Spot) error {
	for _, it := range copies {
		if it.State != Dead || it.Message != "" || !strings.HasPrefix(it.Why, string(chat.Gone)) {
			continue
		}
		if slices.ContainsFunc(places, func(s Spot) bool { return s.Person != "" && s.Place == it.Place }) {
			if err := t.Replay(it.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// Expire redraws the cards of gates whose date has passed since they were
// drawn, and takes back steps nobody finished and buttons whose time is over.
func (t *Tx) Expire(k *kernel.Kernel) error {
	r, err := k.ReaderOf(t.tx)
	if err != nil {
		return err
	}
	for _, g := range openGates(r) {
		copies, err := t.copies(g)
		if err != nil {
			return err
		}
		for _, it := range copies {
			if err := lapsed(t, r, it, g); err != nil {
				return err
			}
		}
	}
	if err := lapse(t, r); err != nil {
		return err
	}
	return r.Err()
}

func openGates(r *kernel.Reader) []*kernel.Gate {
	var out []*kernel.Gate
	for _, goal := range r.Goals(1000) {
		out = append(out, r.OpenGates(goal.ID, 1000)...)
	}
	return out
}
