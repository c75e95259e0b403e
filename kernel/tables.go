package kernel

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"loopx/kernel/store"
)

// tables applies events. It only writes what they say and keeps the derived
// rows (indexes, counters, relations) true. It shares the sticky failure of its
// reader.
type tables struct {
	reader
	w store.Tx
	// tablesOnly leaves the journal out of a replay.
	tablesOnly bool
}

func (t *tables) putRaw(val []byte, key []byte) {
	delete(t.seen, string(key))
	if t.err == nil {
		t.fail(t.w.Put(key, val))
	}
}

func (t *tables) put(v any, key ...string) {
	b, err := Marshal(v)
	t.fail(err)
	k := store.Key(key...)
	t.putRaw(b, k)
	if t.seen != nil && reflect.TypeOf(v).Kind() == reflect.Pointer {
		t.seen[string(k)] = v // or place and count would decode it again
	}
}

func (t *tables) mark(val string, key ...string) { t.putRaw([]byte(val), store.Key(key...)) }

func (t *tables) del(key ...string) {
	if t.err == nil {
		k := store.Key(key...)
		delete(t.seen, string(k))
		t.fail(t.w.Delete(k))
	}
}

func (t *tables) count(goal string, fn func(*Counts)) {
	c := t.Counts(goal)
	fn(&c)
	t.put(&c, tblCounts, goal)
}

// apply makes one event true.
func (t *tables) apply(e *Event) {
	if v := e.GoalRow; v != nil {
		t.put(v, tblGoal, v.ID)
	}
	if v := e.Agent; v != nil {
		if t.raw(store.Key(tblAgent, v.Goal, v.ID)) == nil {
			t.count(v.Goal, func(c *Counts) { c.Agents++ })
		}
		t.put(v, tblAgent, v.Goal, v.ID)
	}
	if v := e.Session; v != nil {
		applySession(t, v)
	}
	if v := e.Evidence; v != nil {
		n, _ := evidenceNumber(v.ID)
		t.put(v, tblEvidence, v.Goal, store.U64(n))
		t.count(v.Goal, func(c *Counts) { c.Evidence = max(c.Evidence, n) })
	}
	if v := e.Todo; v != nil {
		t.applyTodo(e, v)
	}
	if v := e.Claim; v != nil {
		t.applyClaim(v)
	}
	if v := e.Gate; v != nil {
		t.applyGate(e, v)
	}
	if v := e.Turn; v != nil {
		applyTurn(t, v)
	}
	if v := e.Run; v != nil {
		t.applyRun(e, v)
	}
	if v := e.Reservation; v != nil {
		t.applyReservation(v)
	}
	if v := e.Spend; v != nil {
		at, seq := store.I64(v.Steady), store.U64(v.Seq)
		t.put(v, tblSpend, v.Goal, at, seq)
		if v.Voided > 0 {
			t.mark(strconv.Itoa(v.Slots), tblVoid, v.Goal, at, seq)
		} else {
			t.mark(at, tblSpendSeq, v.Goal, seq)
			t.count(v.Goal, func(c *Counts) { c.Spent = v.Total })
		}
	}
	if v := e.Away; v != nil {
		t.put(v, tblAway, v.Person)
	}
	if v := e.Reach; v != nil {
		t.put(v, tblReach, v.Connection)
	}
	if v := e.OwnerToken; v != nil {
		t.put(v, tblToken)
	}
	if v := e.Grant; v != nil {
		t.put(v, tblGrant, v.Goal, v.ID)
	}
	if v := e.Pruned; v != nil {
		applyPruned(t, v)
	}
	if v := e.Base; v != nil {
		t.put(v, tblBase)
	}
	applyPeople(t, e)
	if v := e.Cadence; v != nil {
		t.put(v, tblCadence, v.Goal, v.Agent)
	}
	if v := e.Owed; v != nil {
		applyOwed(t, v)
	}
	if v := e.Replan; v != nil {
		applyReplan(t, v)
	}
}

func (t *tables) applyReservation(v *Reservation) {
	by := v.Slots
	if old := get[Reservation](&t.reader, tblReserve, v.Goal, v.Agent); old != nil {
		by -= old.Slots
		t.del(tblSlotEnd, v.Goal, store.I64(old.Until), v.Agent)
	}
	if v.Slots == 0 {
		t.del(tblReserve, v.Goal, v.Agent)
	} else {
		t.put(v, tblReserve, v.Goal, v.Agent)
		t.mark(strconv.Itoa(v.Slots), tblSlotEnd, v.Goal, store.I64(v.Until), v.Agent)
	}
	if by != 0 {
		t.count(v.Goal, func(c *Counts) { c.Reserved += by })
	}
}

func (t *tables) applyRun(e *Event, v *Run) {
	t.put(v, tblRun, v.Goal, store.U64(v.Seq))
	if e.Type == RunRecorded {
		applyPace(t, v)
		applyRunTodo(t, v)
	}
	if v.Accountable && !v.Spent {
		t.mark("", tblRunOwed, v.Goal, v.Agent, store.U64(v.Seq))
	} else {
		t.del(tblRunOwed, v.Goal, v.Agent, store.U64(v.Seq))
	}
	t.count(v.Goal, func(c *Counts) { c.Runs = max(c.Runs, v.Seq) })
}

func (t *tables) applyTodo(e *Event, v *Todo) {
	old := t.Todo(v.Goal, v.ID)
	t.put(v, tblTodo, v.Goal, v.ID)
	if old == nil {
		t.mark(v.Goal, tblTodoGoal, v.ID)
		t.count(v.Goal, func(c *Counts) { c.Todos++; c.NextOrder = max(c.NextOrder, v.Order+1) })
		old = &Todo{}
	}
	if e.Inherits != "" {
		for gate, state := range t.Blocks(v.Goal, e.Inherits) {
			t.mark(state, tblBlock, v.Goal, v.ID, gate)
			t.mark("", tblBlockBack, v.Goal, gate, v.ID)
		}
	}
	for _, a := range old.After {
		if !slices.Contains(v.After, a) {
			t.undepend(v.Goal, v.ID, a)
		}
	}
	for _, a := range v.After {
		if !slices.Contains(old.After, a) {
			t.depend(v.Goal, v.ID, a)
		}
	}
	if was, is := old.waiting(), v.waiting(); was != is {
		if was != "" {
			t.del(tblResume, v.Goal, was, v.ID)
		}
		if is != "" {
			t.mark("", tblResume, v.Goal, is, v.ID)
		}
	}
	if ended := v.Status == TodoDone || v.Status == TodoSuperseded; ended && old.Status != v.Status {
		t.endTodo(v)
	}
	if e.Type == TodoCompleted {
		t.count(v.Goal, func(c *Counts) { c.LastEnd = v.Done.Continuation })
	}
	t.place(v.Goal, v.ID)
}

// waiting is the condition a parked todo waits for, when something has to
// happen for it; a date comes by itself.
func (v *Todo) waiting() string {
	if v.Status != TodoDeferred || resumeDateOf(v.ResumeWhen) > 0 {
		return ""
	}
	return v.ResumeWhen
}

func (t *tables) depend(goal, todo, on string) {
	if o := t.Todo(goal, on); o != nil && (o.Status == TodoOpen || o.Status == TodoDeferred) {
		t.mark("", tblDep, goal, todo, on)
		t.mark("", tblDepBack, goal, on, todo)
	}
}

func (t *tables) undepend(goal, todo, on string) {
	t.del(tblDep, goal, todo, on)
	t.del(tblDepBack, goal, on, todo)
}

// endTodo releases what waited for a todo, or hands it on to its successor, and
// drops the relations of the ended todo itself.
func (t *tables) endTodo(v *Todo) {
	for _, w := range t.lastParts(store.Under(backMax, tblDepBack, v.Goal, v.ID)) {
		t.undepend(v.Goal, w, v.ID)
		if v.SupersededBy != "" && v.SupersededBy != w {
			t.depend(v.Goal, w, v.SupersededBy)
		}
		t.place(v.Goal, w)
	}
	for _, on := range t.WaitsFor(v.Goal, v.ID) {
		t.undepend(v.Goal, v.ID, on)
	}
	for _, gate := range t.lastParts(store.Under(backMax, tblFreed, v.Goal, v.ID)) {
		t.del(tblFreed, v.Goal, v.ID, gate)
	}
	for gate := range t.Blocks(v.Goal, v.ID) {
		t.del(tblBlock, v.Goal, v.ID, gate)
		t.del(tblBlockBack, v.Goal, gate, v.ID)
	}
	for _, agent := range t.lastParts(store.Under(memberMax, tblStall, v.Goal, v.ID)) {
		t.del(tblStall, v.Goal, v.ID, agent)
	}
}

func (t *tables) applyClaim(v *Claim) {
	if old := t.Claim(v.Goal, v.Todo); old != nil && old.Agent != "" {
		t.del(tblClaimEnd, v.Goal, store.I64(old.Until), v.Todo)
	}
	t.put(v, tblClaim, v.Goal, v.Todo)
	if v.Agent != "" {
		for _, gate := range t.lastParts(store.Under(backMax, tblFreed, v.Goal, v.Todo)) {
			t.mark("used", tblFreed, v.Goal, v.Todo, gate)
		}
		if !v.Hold {
			t.mark(v.Agent, tblClaimEnd, v.Goal, store.I64(v.Until), v.Todo)
		}
	}
	t.place(v.Goal, v.Todo)
}

// Lists of the index. A todo stands in exactly one.
const (
	ListReady    = "ready"    // open work anyone may take now
	ListHeld     = "held"     // claimed; the agent part names the holder
	ListGated    = "gated"    // behind a gate somebody can still answer
	ListBlocked  = "blocked"  // behind a decision that said no
	ListAfter    = "after"    // behind another todo
	ListDeferred = "deferred" //
	ListMonitor  = "monitor"  // by next due time
	ListAsk      = "ask"      //
	ListDone     = "done"     // by time of ending, superseded ones too
)

// place puts a todo into the list where decisions look for it.
func (t *tables) place(goal, id string) {
	v := t.Todo(goal, id)
	if v == nil {
		return
	}
	list, agent, sort := t.list(v)
	key := store.Key(tblIndex, goal, list, agent, sort, id)
	old := t.raw(store.Key(tblPlace, goal, id))
	if string(old) == string(key) {
		return
	}
	was := ""
	if old != nil {
		parts := strings.Split(string(old), "\x00")
		if len(parts) < 4 || parts[0] != tblIndex || parts[1] != goal {
			t.fail(fmt.Errorf("%w: the place of %s is no key of the index", store.ErrCorrupt, id))
			return
		}
		was = parts[2]
		if t.err == nil {
			t.fail(t.w.Delete(slices.Clone(old)))
		}
	}
	t.putRaw(nil, key)
	t.putRaw(key, store.Key(tblPlace, goal, id))
	if was != list || list == ListDone {
		t.count(goal, func(c *Counts) {
			c.move(was, -1, v.Status)
			c.move(list, 1, v.Status)
		})
	}
}

func (c *Counts) move(list string, by int, status string) {
	switch list {
	case ListReady, ListHeld, ListGated, ListBlocked, ListAfter:
		c.Open += by
	}
	switch list {
	case ListHeld:
		c.Claimed += by
	case ListGated, ListBlocked:
		c.Blocked += by
	case ListAfter:
		c.Waiting += by
	case ListDeferred:
		c.Deferred += by
	case ListMonitor:
		c.Monitors += by
	case ListAsk:
		c.Asks += by
	case ListDone:
		if status == TodoSuperseded {
			c.Superseded += by
		} else {
			c.Done += by
		}
	}
}

func (t *tables) list(v *Todo) (list, agent, sort string) {
	plan := strconv.Itoa(int(v.Priority)) + store.U64(v.Order)
	switch {
	case v.Status == TodoDone || v.Status == TodoSuperseded:
		return ListDone, "", store.I64(v.Updated)
	case v.Status == TodoDeferred:
		if at := resumeDateOf(v.ResumeWhen); at > 0 {
			return ListDeferred, "", dateSort(at)
		}
		return ListDeferred, "", "p" + plan
	case v.Class == Monitor:
		return ListMonitor, "", store.I64(v.Watch.NextDue)
	case v.Class == Ask:
		return ListAsk, "", plan
	}
	if c := t.Claim(v.Goal, v.ID); c != nil && c.Agent != "" {
		return ListHeld, c.Agent, plan
	}
	if t.any(store.Under(1, tblDep, v.Goal, v.ID)) {
		return ListAfter, "", plan
	}
	return listOfBlocks(t.Blocks(v.Goal, v.ID)), "", plan
}

// listOfBlocks says where blocks put an otherwise ready todo. A withdrawn or
// expired gate releases nothing, and nobody but a person can mend that, so it
// counts as something to ask.
func listOfBlocks(blocks map[string]string) string {
	list := ListReady
	for _, state := range blocks {
		if state == GateOpen || state == GateWithdrawn {
			return ListGated
		}
		list = ListBlocked
	}
	return list
}

func gateNumber(code string) (uint64, bool) {
	rest, ok := strings.CutPrefix(code, "G-")
	n, err := strconv.ParseUint(rest, 10, 64)
	return n, ok && err == nil
}

func evidenceNumber(id string) (uint64, bool) {
	rest, ok := strings.CutPrefix(id, "ev")
	n, err := strconv.ParseUint(rest, 10, 64)
	return n, ok && err == nil
}
