package kernel

import (
	"slices"

	"loopx/kernel/store"
)

// reopenMost bounds the gates that one change asks again about.
const reopenMost = 256

// termsOf is the digest of what a gate's todos and its goal say: the number of
// times that each was changed. over are todos, course the goal's text, as they
// are about to be.
func termsOf(r *Reader, v *Gate, course uint64, over map[string]*Todo) string {
	parts := []any{course}
	for _, id := range v.Blocks.Todos {
		t := stands(r, v.Goal, id, over)
		if t == nil {
			parts = append(parts, id)
			continue
		}
		parts = append(parts, id, t.ID, t.Terms)
	}
	return digest(parts)
}

// digest covers what a person is shown and what their answer releases, byte-exact.
func (g *Gate) digest() string {
	return digest([]any{g.Goal, g.Question, g.Why, g.Options, g.Kind, g.Blocks, g.Expires, g.Advisory, g.Scope, g.Terms, g.Request, g.Tainted})
}

// said is what a todo asks to be done, and with what rights: a change of it is
// another thing than was approved.
func (v *Todo) said() string {
	return digest([]any{v.Title, v.Body, v.Scopes, v.Write, v.Capabilities, v.Validation})
}

// restated are the events for the gates of a todo whose words have changed, or
// that another one replaces: what is still asked is asked about the new words, and
// an approval that nobody has used yet holds no longer. over are the todos as they
// are about to be.
func restated(r *Reader, e *env, goal, todo string, over map[string]*Todo, replaced bool) []Event {
	course := r.Goal(goal).Course
	var out []Event
	for _, id := range keys(r.Blocks(goal, todo)) {
		if v := r.Gate(goal, id); v != nil && v.Status == GateOpen {
			out = append(out, restate(r, e, v, course, over))
		}
	}
	for gate, used := range r.states(under(backMax, tblFreed, goal, todo)) {
		v := r.Gate(goal, gate)
		if v == nil || v.Status != GateAnswered || standsWide(r, v) {
			continue
		}
		if used == "" || replaced {
			out = append(out, voided(r, e, v, course, over, todo)...)
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int { return compare(a.Subject, b.Subject) })
	return out
}

// standsWide says whether an approval reaches beyond the todos it was asked for and
// somebody has used it: a change of one of them is no change of what stands.
func standsWide(r *Reader, v *Gate) bool {
	for _, g := range r.Grants(v.Goal) {
		if v.Scope != "" && g.Gate == v.ID && g.Live(r.now) && (g.Used > 0 || v.Taken != nil) {
			return true
		}
	}
	return false
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// courseChanged is restated for everything that a goal's text stands behind.
func courseChanged(r *Reader, e *env, goal string, course uint64) ([]Event, error) {
	var out []Event
	open := r.OpenGates(goal, reopenMost+1)
	var unused []string
	r.scan(under(reopenMost*backMax, tblFreed, goal), func(k, v []byte) bool {
		if id := store.LastPart(k); string(v) == "" && !slices.Contains(unused, id) {
			unused = append(unused, id)
		}
		return len(unused) <= reopenMost
	})
	r.scan(under(reopenMost+1, tblTaken, goal), func(k, _ []byte) bool {
		// What an approval of a whole lane let go, and nobody went on from.
		if id := store.LastPart(k); !slices.Contains(unused, id) {
			if v := r.Gate(goal, id); v != nil && v.lane() != "" && v.Status == GateAnswered && v.Answer.Outcome == Approve {
				unused = append(unused, id)
			}
		}
		return len(unused) <= reopenMost
	})
	if len(open)+len(unused) > reopenMost {
		return nil, Errorf(Exhausted, "too_many_gates", "%s has more than %d gates that would be asked about anew", goal, reopenMost).Try("loopx gate list --goal-id %s", goal)
	}
	for _, v := range open {
		if !v.Expired(r.now) {
			out = append(out, restate(r, e, v, course, nil))
		}
	}
	slices.Sort(unused)
	for _, id := range unused {
		if v := r.Gate(goal, id); v != nil {
			out = append(out, voided(r, e, v, course, nil, "")...)
		}
	}
	return out, nil
}

// restate is an open gate that asks about new words. Votes on the old ones count
// no more, by their digest.
func restate(r *Reader, e *env, v *Gate, course uint64, over map[string]*Todo) Event {
	n := *v
	n.Revision, n.Updated = v.Revision+1, e.now
	n.Pending = nil
	n.Kind = floorOf(n.Kind, kindsOf(r, &n, over))
	n.Terms = termsOf(r, &n, course, over)
	n.Digest = n.digest()
	return Event{Type: GateRestated, Goal: v.Goal, Subject: v.ID, Gate: &n}
}

// voided asks again about an approval that was not used before something changed
// for one of its todos. Todos it let go that were taken up since keep it.
func voided(r *Reader, e *env, v *Gate, course uint64, over map[string]*Todo, changed string) []Event {
	n := again(e, v, "voided")
	n.Blocks.Todos = nil
	for _, id := range v.Blocks.Todos {
		t := stands(r, v.Goal, id, nil)
		if t == nil || t.Status == TodoDone {
			continue
		}
		if used := r.raw(store.Key(tblFreed, v.Goal, t.ID, v.ID)); len(used) == 0 || t.ID == changed {
			n.Blocks.Todos = append(n.Blocks.Todos, id)
		}
	}
	n.Kind = floorOf(n.Kind, kindsOf(r, n, over))
	n.Terms = termsOf(r, n, course, over)
	n.Digest = n.digest()
	return append([]Event{{Type: GateReopened, Goal: v.Goal, Subject: v.ID, Gate: n}}, ungranted(r, e, v)...)
}

// pastMost bounds the earlier decisions that a gate shows.
const pastMost = 8

// again is an answered gate as an open one, its decision kept as a past one.
func again(e *env, v *Gate, why string) *Gate {
	n := *v
	n.Status, n.Answer, n.Votes, n.Pending, n.Taken, n.Released, n.Lifted, n.Notified = GateOpen, nil, nil, nil, nil, nil, false, false
	n.Past = keepLast(append(slices.Clone(v.Past), PastAnswer{Answer: *v.Answer, Why: why, By: e.by.ID, At: e.now, Taken: v.Taken}), pastMost)
	n.Revision, n.Updated = v.Revision+1, e.now
	return &n
}

// ungranted takes back the standing approvals that a decision left.
func ungranted(r *Reader, e *env, v *Gate) []Event {
	var out []Event
	if v.Scope == "" {
		return nil
	}
	for _, g := range r.Grants(v.Goal) {
		if g.Gate == v.ID && g.Revoked == 0 {
			n := *g
			n.Revoked = e.now
			out = append(out, Event{Type: GrantRevoked, Goal: v.Goal, Subject: n.ID, Grant: &n})
		}
	}
	return out
}
