package kernel

import (
	"encoding/json"
	"fmt"

	"loopx/kernel/store"
)

// Tables. Every key starts with one of these parts.
const (
	tblSchema    = "sv" // version of this layout
	tblClock     = "ck" // time of the last commit; not replayed
	tblHead      = "hd" // journal head
	tblJournal   = "j"  // seq -> record
	tblGoal      = "g"
	tblAgent     = "a"  // goal, agent
	tblSession   = "s"  // goal, session
	tblTodo      = "t"  // goal, todo
	tblTodoGoal  = "tg" // todo -> goal
	tblPlace     = "pl" // goal, todo -> its key in the index
	tblIndex     = "ix" // goal, list, agent, sort, todo
	tblClaim     = "c"  // goal, todo
	tblClaimEnd  = "cx" // goal, until, todo
	tblDep       = "dp" // goal, todo, the todo it waits for
	tblDepBack   = "dr" // goal, awaited todo, waiting todo
	tblGrant     = "gr" // goal, grant
	tblScopeGate = "sg" // goal, scope -> its newest gate
	tblScopeDone = "sa" // goal, todo, scope: approved for this todo
	tblResume    = "rw" // goal, condition, parked todo
	tblBlock     = "bl" // goal, todo, gate -> state of the block
	tblBlockBack = "gb" // goal, gate, todo
	tblAskOpen   = "qn" // goal, asking agent, open gate
	tblAskRate   = "qa" // goal, asking agent, person, steady time, gate -> that time
	tblAway      = "aw" // person
	tblReach     = "cn" // connection
	tblToken     = "ot" // whether the owner's token is to be renewed
	tblFreed     = "fr" // goal, todo, gate whose approval let it go -> whether it was claimed since
	tblLane      = "la" // goal, agent or "*", gate -> state of the block
	tblGate      = "q"  // goal, gate
	tblGateGoal  = "qg" // gate -> goal
	tblGateCode  = "qc" // goal, number of its code -> gate
	tblGateOpen  = "qo" // goal, severity, created, gate
	tblEvidence  = "e"  // goal, number
	tblTurn      = "u"  // goal, agent, turn
	tblUnsettled = "us" // goal, agent, opened, turn: said act, may have something left to settle
	tblOwed      = "ow" // goal, agent, message: an answer that is owed
	tblReplan    = "ob" // goal, agent, obligation
	tblReplanDue = "oo" // goal, agent, since, obligation: open ones
	tblSeen      = "si" // goal, steady time it was seen, open session
	tblTree      = "tr" // goal, working tree, agent, session
	tblRunTodo   = "wt" // goal, todo, seq of a run about it
	tblCadence   = "sc" // goal, agent: how often to wake it
	tblStall     = "np" // goal, todo, agent -> turns without progress in a row
	tblPace      = "rn" // goal, agent -> accountable runs since the last review
	tblRun       = "w"  // goal, seq
	tblRunOwed   = "wu" // goal, agent, seq: accountable and unpaid
	tblReserve   = "rv" // goal, agent
	tblSlotEnd   = "rx" // goal, until, agent -> slots
	tblSpend     = "sp" // goal, steady time, seq
	tblSpendSeq  = "sq" // goal, seq -> steady time of the payment
	tblVoid      = "vo" // goal, steady time of the payment, seq -> slots
	tblCounts    = "n"  // goal
	tblReceipt   = "rc" // key
	tblTaken     = "tk" // goal, todo or "lane:"+agent, gate: released, nobody went on yet
	tblPerson    = "p"
	tblPrincipal = "pp" // platform, connection, tenant, user
	tblLinkCode  = "lc" // digest
	tblRole      = "po" // goal, person
	tblRoleBack  = "pg" // person, goal
	tblBinding   = "b"  // binding
	tblBindPlace = "bp" // connection, conversation, thread, binding
	tblBindGoal  = "bg" // goal, binding
	// person, platform, connection, tenant, user -> key of the principal
	tblPrincipalBack = "pi"
	tblPruned        = "pr" // how far receipts and turns were pruned
	tblBase          = "sb" // the snapshot that the journal starts at
	tblSnap          = "sn" // chunk of it; not replayed
	tblAudit         = "au" // refusals; not replayed
)

// Schema is the version of the table layout. A newer one is refused.
const Schema = 1

// Reader reads a snapshot in the kernel's own types. A missing row is nil. The
// first failure sticks: later calls return nothing, and Err tells.
type Reader struct {
	tx     store.ReadTx
	now    int64
	steady int64
	err    error
	// seen are decoded rows of a command, which reads some of them many times, and
	// while its events are applied the rows that were put; nil keeps none. Whoever
	// gets a row copies it before changing it.
	seen map[string]any
}

type reader = Reader

// Now is the snapshot's wall clock, UTC ms.
func (r *Reader) Now() int64 { return r.now }

// Steady is the snapshot's time on the steady timeline, ms.
func (r *Reader) Steady() int64 { return r.steady }

// Wall turns a steady deadline into the wall clock as it is now.
func (r *Reader) Wall(steady int64) int64 { return r.now + steady - r.steady }

// Err is the first failure of a read.
func (r *Reader) Err() error { return r.err }

// Tx is the transaction underneath, for rooms that keep rows of their own.
func (r *Reader) Tx() store.ReadTx { return r.tx }

func (r *Reader) fail(err error) {
	if r.err == nil && err != nil {
		r.err = err
	}
}

// guard is deferred by whoever decides on rows: after a failed read there is
// nothing where something was expected, and to fall over that is that failure.
// A panic without one is a bug of ours and goes on.
func (r *Reader) guard(err *error) {
	if r.err != nil {
		_ = recover()
		*err = r.err
	}
}

func (r *Reader) raw(key []byte) []byte {
	if r.err != nil {
		return nil
	}
	b, err := r.tx.Get(key)
	r.fail(err)
	return b
}

func (r *Reader) scan(rg store.Range, fn func(k, v []byte) bool) {
	if r.err != nil {
		return
	}
	r.fail(r.tx.Scan(rg, fn))
}

func (r *Reader) any(rg store.Range) bool {
	found := false
	rg.Limit = 1
	r.scan(rg, func(_, _ []byte) bool { found = true; return false })
	return found
}

func get[T any](r *Reader, key ...string) *T {
	k := store.Key(key...)
	if v, ok := r.seen[string(k)].(*T); ok && r.err == nil {
		return v
	}
	b := r.raw(k)
	if b == nil {
		return nil
	}
	v := decodeRow[T](r, b)
	if r.seen != nil && v != nil {
		r.seen[string(k)] = v
	}
	return v
}

func decodeRow[T any](r *Reader, b []byte) *T {
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		r.fail(fmt.Errorf("%w: a row does not decode: %v", store.ErrCorrupt, err))
		return nil
	}
	if s, ok := any(v).(soundness); ok && !s.sound() {
		r.fail(fmt.Errorf("%w: a row of kind %T lacks parts", store.ErrCorrupt, v))
		return nil
	}
	return v
}

// rows collects decoded rows of a range.
func rows[T any](r *Reader, rg store.Range) []*T {
	var out []*T
	r.scan(rg, func(_, v []byte) bool {
		t := decodeRow[T](r, v)
		if t == nil {
			return false
		}
		out = append(out, t)
		return true
	})
	return out
}

// Goal returns a goal or nil.
func (r *Reader) Goal(id string) *Goal { return get[Goal](r, tblGoal, id) }

// Goals lists goals by id, at most limit.
func (r *Reader) Goals(limit int) []*Goal { return rows[Goal](r, store.Under(limit, tblGoal)) }

// Agents lists the members of a goal by id.
func (r *Reader) Agents(goal string) []*Agent {
	return rows[Agent](r, store.Under(memberMax+1, tblAgent, goal))
}

// Counts of a goal; zero when there are none.
func (r *Reader) Counts(goal string) Counts {
	if c := get[Counts](r, tblCounts, goal); c != nil {
		return *c
	}
	return Counts{}
}

// Todo returns a todo of a goal or nil.
func (r *Reader) Todo(goal, id string) *Todo {
	v := get[Todo](r, tblTodo, goal, id)
	if v != nil && (v.Goal != goal || v.ID != id) {
		r.fail(fmt.Errorf("%w: the row of todo %s is another's", store.ErrCorrupt, id))
		return nil
	}
	return v
}

// GoalOfTodo finds the goal a todo belongs to, or "".
func (r *Reader) GoalOfTodo(todo string) string { return string(r.raw(store.Key(tblTodoGoal, todo))) }

// Claim returns the claim of a todo as stored, or nil; see Holds.
func (r *Reader) Claim(goal, todo string) *Claim { return get[Claim](r, tblClaim, goal, todo) }

// Gate returns a gate or nil.
func (r *Reader) Gate(goal, id string) *Gate {
	v := get[Gate](r, tblGate, goal, id)
	if v != nil && (v.Goal != goal || v.ID != id) {
		r.fail(fmt.Errorf("%w: the row of gate %s is another's", store.ErrCorrupt, id))
		return nil
	}
	return v
}

// GoalOfGate finds the goal a gate belongs to, or "".
func (r *Reader) GoalOfGate(gate string) string { return string(r.raw(store.Key(tblGateGoal, gate))) }

// GateByCode finds a gate of a goal by its short code, or nil.
func (r *Reader) GateByCode(goal, code string) *Gate {
	n, ok := gateNumber(code)
	if !ok {
		return nil
	}
	if id := r.raw(store.Key(tblGateCode, goal, store.U64(n))); id != nil {
		return r.Gate(goal, string(id))
	}
	return nil
}

// OpenGates lists the open gates of a goal, most severe and oldest first.
func (r *Reader) OpenGates(goal string, limit int) []*Gate {
	var ids []string
	r.scan(store.Under(limit, tblGateOpen, goal), func(k, _ []byte) bool {
		ids = append(ids, store.LastPart(k))
		return true
	})
	var out []*Gate
	for _, id := range ids {
		if g := r.Gate(goal, id); g != nil {
			out = append(out, g)
		}
	}
	return out
}

// Gates lists the newest gates of a goal, newest first.
func (r *Reader) Gates(goal string, limit int) []*Gate {
	var ids []string
	r.scan(store.Under(limit, tblGateCode, goal).Last(), func(_, v []byte) bool {
		ids = append(ids, string(v))
		return true
	})
	out := make([]*Gate, 0, len(ids))
	for _, id := range ids {
		if g := r.Gate(goal, id); g != nil {
			out = append(out, g)
		}
	}
	return out
}

// Session returns a session of a goal or nil.
func (r *Reader) Session(goal, id string) *Session { return get[Session](r, tblSession, goal, id) }

// Sessions lists the sessions of a goal.
func (r *Reader) Sessions(goal string, limit int) []*Session {
	return rows[Session](r, store.Under(limit, tblSession, goal))
}

// Turn returns a turn or nil.
func (r *Reader) Turn(goal, agent, id string) *Turn { return get[Turn](r, tblTurn, goal, agent, id) }

// Run returns a run of a goal or nil.
func (r *Reader) Run(goal string, seq uint64) *Run { return get[Run](r, tblRun, goal, store.U64(seq)) }

// Runs lists the newest runs of a goal, newest first.
func (r *Reader) Runs(goal string, limit int) []*Run {
	return rows[Run](r, store.Under(limit, tblRun, goal).Last())
}

// Spends lists the payments of a goal since a steady time, oldest first.
func (r *Reader) Spends(goal string, since int64, limit int) []*Spend {
	rg := store.Under(limit, tblSpend, goal)
	rg.From = store.Key(tblSpend, goal, store.I64(since))
	return rows[Spend](r, rg)
}

// Evidence returns evidence by its id, or nil.
func (r *Reader) Evidence(goal, id string) *Evidence {
	n, ok := evidenceNumber(id)
	if !ok {
		return nil
	}
	return get[Evidence](r, tblEvidence, goal, store.U64(n))
}

// NewestEvidence lists the newest evidence of a goal, newest first.
func (r *Reader) NewestEvidence(goal string, limit int) []*Evidence {
	return rows[Evidence](r, store.Under(limit, tblEvidence, goal).Last())
}

// Reservation returns the live slot reservation of an agent, or nil.
func (r *Reader) Reservation(goal, agent string) *Reservation {
	v := get[Reservation](r, tblReserve, goal, agent)
	if v == nil || v.Slots == 0 || v.Until <= r.steady {
		return nil
	}
	return v
}

// Person returns a person or nil.
func (r *Reader) Person(id string) *Person { return get[Person](r, tblPerson, id) }

// Principal returns a platform identity or nil.
func (r *Reader) Principal(platform, connection, tenant, user string) *Principal {
	return get[Principal](r, tblPrincipal, platform, connection, tenant, user)
}

// Principals lists platform identities.
func (r *Reader) Principals(limit int) []*Principal {
	return rows[Principal](r, store.Under(limit, tblPrincipal))
}

// Blocks of a todo: gate id -> state of the block (open, withdrawn, reject, cancel).
func (r *Reader) Blocks(goal, todo string) map[string]string {
	return r.states(store.Under(blocksMax, tblBlock, goal, todo))
}

// LaneBlocks of an agent, those of the whole goal included.
func (r *Reader) LaneBlocks(goal, agent string) map[string]string {
	out := r.states(store.Under(blocksMax, tblLane, goal, "*"))
	if agent != "" {
		for k, v := range r.states(store.Under(blocksMax, tblLane, goal, agent)) {
			out[k] = v
		}
	}
	return out
}

func (r *Reader) states(rg store.Range) map[string]string {
	out := map[string]string{}
	r.scan(rg, func(k, v []byte) bool { out[store.LastPart(k)] = string(v); return true })
	return out
}

// BlockedBy lists the todos that a gate holds back now.
func (r *Reader) BlockedBy(goal, gate string, limit int) []string {
	return r.lastParts(store.Under(limit, tblBlockBack, goal, gate))
}

// WaitsFor lists the unfinished todos that a todo comes after.
func (r *Reader) WaitsFor(goal, todo string) []string {
	return r.lastParts(store.Under(afterMax, tblDep, goal, todo))
}

func (r *Reader) lastParts(rg store.Range) []string {
	var out []string
	r.scan(rg, func(k, _ []byte) bool { out = append(out, store.LastPart(k)); return true })
	return out
}

// Holds says whether a claim is effective at a steady time. Within the grace an
// expired claim is still its holder's, but nobody is refused because of it.
func (c *Claim) Holds(steady int64) bool {
	return c != nil && c.Agent != "" && (c.Hold || steady <= c.Until+graceMS)
}
