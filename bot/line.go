package bot

import (
	"cmp"
	"slices"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/view"
)

// lines says where a line tells who is asked: in the conversations a goal is
// bound to, once in each. Its own thread comes before the whole conversation, and
// that before a Manager's, which may speak of several goals.
func lines(r *kernel.Reader, g *kernel.Gate, known map[string]bool) []inbox.Spot {
	best := map[chat.Place]*kernel.Binding{}
	for _, b := range r.BindingsOfGoal(g.Goal) {
		if b.State != kernel.BindActive || b.Role == kernel.BindDirect || !known[b.Connection] {
			continue
		}
		place := chat.Place{Connection: b.Connection, Conversation: b.Conversation}
		if old := best[place]; old == nil || nearer(b, old) {
			best[place] = b
		}
	}
	out := make([]inbox.Spot, 0, len(best))
	for place, b := range best {
		place.Thread = b.Thread
		out = append(out, inbox.Spot{Place: place, Line: true})
	}
	slices.SortFunc(out, func(a, b inbox.Spot) int {
		return cmp.Or(cmp.Compare(a.Place.Connection, b.Place.Connection), cmp.Compare(a.Place.Conversation, b.Place.Conversation))
	})
	return out
}

// nearer orders bindings of one conversation by how much of it is about the goal.
func nearer(a, b *kernel.Binding) bool {
	rank := func(v *kernel.Binding) int {
		switch {
		case v.Role == kernel.BindGoal && v.Thread != "":
			return 0
		case v.Role == kernel.BindGoal:
			return 1
		}
		return 2
	}
	if rank(a) != rank(b) {
		return rank(a) < rank(b)
	}
	return a.ID < b.ID
}

// settled takes a line out of the queue whose gate was settled before anybody
// read of it.
func (e *attend) settled(tx store.Tx, it *inbox.Item) (bool, error) {
	r, err := e.k.ReaderOf(tx)
	if err != nil {
		return false, err
	}
	g := r.Gate(it.Goal, it.Gate)
	if err := r.Err(); err != nil {
		return false, err
	}
	if g != nil && g.Status == kernel.GateOpen && !g.Expired(r.Now()) {
		return false, nil
	}
	return true, inbox.AskingOver(inbox.Over(tx)).Resolved(it.ID)
}

// lineText writes a gate's line in the language of its place.
func lineText(r *kernel.Reader, it *inbox.Item, zone *time.Location) (string, error) {
	g := r.Gate(it.Goal, it.Gate)
	if err := r.Err(); err != nil || g == nil {
		return "", err
	}
	v := view.GateOf(r, g)
	lang, goals := v.Language, map[string]bool{}
	for _, b := range r.BindingsOf(it.Place.Connection, it.Place.Conversation) {
		if b.State != kernel.BindActive {
			continue
		}
		for _, id := range b.Goals {
			goals[id] = true
		}
		if b.Language != "" && slices.Contains(b.Goals, g.Goal) && (b.Thread == it.Place.Thread || b.Thread == "") {
			lang = b.Language
		}
	}
	return cards.Line(v, lang, zone, len(goals) > 1), r.Err()
}
