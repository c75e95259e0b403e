package kernel

import (
	"slices"
	"strconv"
	"time"

	"loopx/kernel/store"
)

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }

func under(limit int, parts ...string) store.Range { return store.Under(limit, parts...) }

// ClaimTodo takes ownership of a todo as a lease, in one transaction with the
// slot it will be paid from.
type ClaimTodo struct {
	Goal    string `json:"goal"`
	Todo    string `json:"todo"`
	Agent   string `json:"agent,omitempty"`
	Turn    string `json:"turn,omitempty"`
	Session string `json:"session,omitempty"`
	LeaseMS int64  `json:"lease_ms,omitempty"` // default 45 min, at most 24 h
	Note    string `json:"note,omitempty"`
}

// Name implements Command.
func (*ClaimTodo) Name() string { return "todo.claim" }

func (c *ClaimTodo) turnKey() (string, string, string, string) {
	return c.Goal, c.Agent, c.Turn, c.Todo
}

// Lease is what the holder gets to prove the claim with.
type Lease struct {
	Token      string `json:"token"`
	Generation uint64 `json:"generation"`
	Expires    string `json:"expires"` // RFC 3339
}

func (c *ClaimTodo) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	a, err := r.actor(g.ID, c.Agent)
	if err != nil {
		return nil, err
	}
	v, err := r.needTodo(g.ID, c.Todo)
	if err != nil {
		return nil, err
	}
	turn, err := r.needTurn(g.ID, a.ID, c.Turn)
	if err != nil {
		return nil, err
	}
	if turn != nil && turn.Todo != "" && turn.Todo != v.ID && turn.Generation > 0 {
		return nil, Errorf(Conflict, "turn_bound", "the turn %s is bound to %s", show(turn.ID), turn.Todo).Try("use a new --turn-instance-id for another todo")
	}
	if err := firstErr(checkText("note", c.Note, noteMax, true), checkText("session", c.Session, 120, false), checkLease(c.LeaseMS)); err != nil {
		return nil, err
	}
	old := r.Claim(g.ID, v.ID)
	mine := old.Holds(e.steady) && old.Agent == a.ID
	if err := r.mayClaim(e, g, v, a, old, c.Turn); err != nil {
		return nil, err
	}
	n, taking := take(e, v, old, a.ID, c.Session, c.LeaseMS)
	taking = append(taking, grantsUsed(r, e, v)...)
	out := &decided{changed: !mine, events: taking}
	res, err := r.reserve(e, g, a.ID, c.Turn, v.ID, n.Until)
	if err != nil {
		return nil, err
	}
	out.events = append(out.events, res...)
	if turn != nil && turn.Status == TurnLive {
		t := *turn
		t.Todo, t.Generation, t.Until = v.ID, n.Generation, n.Until
		out.events = append(out.events, Event{Type: TurnChanged, Goal: g.ID, Subject: t.ID, Turn: &t})
	}
	out.events = append(out.events, r.taken(e, g.ID, a.ID, v.ID)...)
	result := todoResult(v)
	result["changed"], result["claimed_by"] = out.changed, a.ID
	result["lease"] = n.lease(e)
	out.result = result
	return out, nil
}

// take is the claim an agent gets, with the events that make it: renewed when
// the agent holds the todo already, else the next generation with a new token.
func take(e *env, v *Todo, old *Claim, agent, session string, ms int64) (*Claim, []Event) {
	n := &Claim{Goal: v.Goal, Todo: v.ID, Agent: agent, Generation: 1, LeaseMS: orInt(ms, leaseMS), Session: session, Since: e.now}
	typ := TodoClaimed
	switch {
	case old.Holds(e.steady) && old.Agent == agent:
		typ, n.Generation, n.Token, n.Since = ClaimRenewed, old.Generation, old.Token, old.Since
	case old != nil:
		n.Generation, n.Token = old.Generation+1, e.id("lease_")
	default:
		n.Token = e.id("lease_")
	}
	n.Until = e.steady + n.LeaseMS
	var events []Event
	if v.Status == TodoDeferred { // its date has passed
		events = append(events, reopen(e, v))
	}
	return n, append(events, Event{Type: typ, Goal: v.Goal, Subject: v.ID, Claim: n})
}

// lease is what the holder proves the claim with.
func (c *Claim) lease(e *env) *Lease {
	return &Lease{Token: c.Token, Generation: c.Generation, Expires: rfc3339(e.now + c.LeaseMS)}
}

func checkLease(ms int64) error {
	if ms == 0 || ms >= minuteMS && ms <= leaseMax {
		return nil
	}
	return Errorf(Invalid, "bad_lease", "a lease lasts between 1m and 24h")
}

func orInt(v, def int64) int64 {
	if v == 0 {
		return def
	}
	return v
}

func rfc3339(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// mayClaim refuses what must not be claimed now, saying what stands in the way.
func (r *Reader) mayClaim(e *env, g *Goal, v *Todo, a *Agent, old *Claim, turn string) error {
	list := "loopx todo list --goal-id " + g.ID + " --status open"
	switch {
	case len(g.Pause) > 0:
		return Errorf(Conflict, "goal_paused", "the goal %s is paused (%s)", g.ID, g.Pause[0]).Try("loopx goal resume --goal-id %s --execute", g.ID)
	case a.Mode == watchesOnly && v.Class == Work:
		return Errorf(Denied, "agent_watches", "%s only looks at what is watched", a.ID).Try("loopx configure-goal --goal-id %s --agent-id %s --mode active --execute", g.ID, a.ID)
	case v.Class == Ask:
		return Errorf(Invalid, "ask_not_claimed", "%s is a request to a person", v.ID)
	case v.Status != TodoOpen && !v.Due(e.now):
		return Errorf(Conflict, "todo_"+v.Status, "%s is %s", v.ID, v.Status).Try("%s", list)
	case slices.Contains(v.Excluded, a.ID):
		return Errorf(Denied, "agent_excluded", "%s may not take %s", a.ID, v.ID).Try("%s", list)
	case old.Holds(e.steady) && old.Agent != a.ID:
		return r.heldBy(v, old).Try("%s", list)
	}
	if id := firstPending(r.Blocks(g.ID, v.ID)); id != "" {
		return r.gatePending(g.ID, id, v.ID)
	}
	if id := firstPending(r.LaneBlocks(g.ID, a.ID)); id != "" {
		return r.gatePending(g.ID, id, a.ID)
	}
	if err := r.scopesHeld(g.ID, v, a.ID, turn); err != nil {
		return err
	}
	if w := r.WaitsFor(g.ID, v.ID); len(w) > 0 {
		return Errorf(Conflict, "todo_waiting", "%s comes after %s, which is not done", v.ID, w[0]).Try("loopx why --goal-id %s --todo-id %s", g.ID, v.ID)
	}
	return nil
}

// heldBy names the holder, never its token.
func (r *Reader) heldBy(v *Todo, c *Claim) *Error {
	if c.Hold {
		return Errorf(Conflict, "lease_held", "%s is held by a person until they give it back", v.ID).With("holder", c.Agent)
	}
	until := r.Wall(c.Until)
	return Errorf(Conflict, "lease_held", "%s is held by %s until %s", v.ID, c.Agent, time.UnixMilli(until).UTC().Format("15:04")+" UTC").
		With("holder", c.Agent).With("until", rfc3339(until))
}

// scopesHeld refuses work that lacks an approval, or has only a standing one in a
// tainted turn.
func (r *Reader) scopesHeld(goal string, v *Todo, agent, turn string) error {
	if len(v.Scopes) == 0 {
		return nil
	}
	if lacks := r.uncovered(v, false); len(lacks) > 0 {
		return r.scopeNeeded(goal, v.ID, lacks[0])
	}
	if lacks := r.uncovered(v, true); len(lacks) > 0 && tainted(r, goal, agent, turn, "") {
		return Errorf(Conflict, "turn_tainted", "this turn carries words of others, so the standing approval of %s is not used in it", lacks[0]).
			Try("go on in a new turn, or ask for this once: loopx gate open --goal-id %s --blocks-todo %s --question TEXT", goal, v.ID)
	}
	return nil
}

func (r *Reader) scopeNeeded(goal, todo, scope string) error {
	return Errorf(Conflict, "scope_needed", "%s needs an approval that is not there any more: %s", todo, scope).
		Try("loopx gate open --goal-id %s --blocks-todo %s --scope %s --question TEXT", goal, todo, scope)
}

func firstPending(blocks map[string]string) string {
	first := ""
	for id := range blocks {
		if first == "" || id < first {
			first = id
		}
	}
	return first
}

func (r *Reader) gatePending(goal, gate, subject string) error {
	code, state := gate, "open"
	if g := r.Gate(goal, gate); g != nil {
		code, state = g.Code, g.Status
		if g.Answer != nil {
			state = "decided: " + g.Answer.Label
		}
	}
	return Errorf(Conflict, "gate_pending", "%s is blocked by %s (%s)", subject, code, state).
		With("gate_id", gate).Try("loopx gate list --goal-id %s", goal)
}

// fence is the right of one caller to write to one todo.
type fence struct {
	agent string // who writes, "" for the cli
	claim *Claim // as stored
	mine  bool
}

// writer checks that a caller may write to a todo: nobody else holds it, and a
// token that is shown is the one of the newest generation.
func (r *Reader) writer(e *env, g *Goal, v *Todo, agent, token, turn string) (*fence, error) {
	w := &fence{claim: r.Claim(g.ID, v.ID)}
	n := r.Counts(g.ID).Agents
	switch {
	case agent == "" && (e.by.Kind == ByOwner || n == 0):
		w.agent = "cli"
		if e.by.Kind == ByOwner {
			w.agent = "person:" + or(e.by.ID, "owner")
		}
	default:
		a, err := r.actor(g.ID, agent)
		if err != nil {
			return nil, err
		}
		w.agent = a.ID
		if slices.Contains(v.Excluded, a.ID) {
			return nil, Errorf(Denied, "agent_excluded", "%s may not work on %s", a.ID, v.ID)
		}
	}
	held := w.claim.Holds(e.steady)
	w.mine = held && w.claim.Agent == w.agent
	lost := Errorf(Conflict, "lease_lost", "the lease on %s was lost; somebody may have taken it over", v.ID).Try("loopx todo claim --goal-id %s --todo-id %s --agent-id %s", g.ID, v.ID, w.agent)
	if token != "" && (w.claim == nil || w.claim.Token != token || !held) {
		return nil, lost
	}
	// A turn that claimed the todo knows its generation: whoever was taken over
	// stays fenced when the next holder is done or gone, too.
	if t := r.Turn(g.ID, w.agent, turn); turn != "" && !w.mine && t != nil && w.claim != nil && t.Todo == v.ID && t.Generation > 0 && t.Generation < w.claim.Generation {
		return nil, lost
	}
	if held && !w.mine && e.by.Kind != ByOwner {
		return nil, r.heldBy(v, w.claim).Try("loopx todo list --goal-id %s --status open", g.ID)
	}
	if g.Handoff == "strict" && e.by.Kind != ByOwner && token == "" {
		return nil, Errorf(Conflict, "lease_required", "%s is a strict goal: each write shows its lease", g.ID).Try("claim the todo, then pass --lease-token, or set LOOPX_LEASE")
	}
	return w, nil
}

// renew extends the holder's own lease, and the slot that is reserved for it.
func (w *fence) renew(r *Reader, e *env) []Event {
	if !w.mine || w.claim.Hold {
		return nil
	}
	n := *w.claim
	n.Until = e.steady + n.LeaseMS
	out := []Event{{Type: ClaimRenewed, Goal: n.Goal, Subject: n.Todo, Claim: &n}}
	if v := r.Reservation(n.Goal, n.Agent); v != nil && v.Todo == n.Todo && v.Until < n.Until {
		longer := *v
		longer.Until = n.Until
		out = append(out, Event{Type: SlotReserved, Goal: n.Goal, Subject: n.Agent, Reservation: &longer})
	}
	return out
}

func (w *fence) holderAfter(cleared bool) string {
	if cleared || w.claim == nil {
		return ""
	}
	return w.claim.Agent
}

// releaseClaim gives a todo back, and the slot reserved for it.
func (r *Reader) releaseClaim(c *Claim) []Event {
	n := Claim{Goal: c.Goal, Todo: c.Todo, Generation: c.Generation}
	out := []Event{{Type: ClaimReleased, Goal: c.Goal, Subject: c.Todo, Claim: &n}}
	if v := get[Reservation](r, tblReserve, c.Goal, c.Agent); v != nil && v.Todo == c.Todo {
		out = append(out, releaseSlot(v))
	}
	return out
}

// taken marks decisions that this agent is the first to go on from.
func (r *Reader) taken(e *env, goal, agent, todo string) []Event {
	var out []Event
	seen := map[string]bool{}
	for _, subject := range []string{todo, "lane:" + agent, "lane:*"} {
		for _, id := range r.lastParts(under(blocksMax, tblTaken, goal, subject)) {
			g := r.Gate(goal, id)
			if g == nil || g.Taken != nil || seen[id] {
				continue
			}
			seen[id] = true
			n := *g
			n.Taken, n.Revision, n.Updated = &Taken{Agent: agent, At: e.now}, g.Revision+1, e.now
			out = append(out, Event{Type: GateTaken, Goal: goal, Subject: id, Gate: &n})
		}
	}
	return out
}
