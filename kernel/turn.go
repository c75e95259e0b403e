package kernel

import (
	"slices"
	"strconv"

	"loopx/kernel/store"
)

// OpenTurn is should-run with a turn id: it stores the decision as the turn's
// receipt and, when it says act, reserves the slot the turn will be paid from.
// Claim makes it one step: the selected todo is claimed in the same transaction.
type OpenTurn struct {
	Goal         string   `json:"goal"`
	Agent        string   `json:"agent,omitempty"`
	Turn         string   `json:"turn"`
	Session      string   `json:"session,omitempty"` // default cli:AGENT
	Host         string   `json:"host,omitempty"`
	HostSession  string   `json:"host_session,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	// Workspace is where the caller works; without it write work of a goal with
	// several agents and a repository is not given out.
	Workspace *Workspace `json:"workspace,omitempty"`
	Claim     bool       `json:"claim,omitempty"`
	LeaseMS   int64      `json:"lease_ms,omitempty"`
	Tainted   bool       `json:"tainted,omitempty"` // it carries words of others: no grant is used
}

// Name implements Command.
func (*OpenTurn) Name() string { return "turn.open" }

func (c *OpenTurn) turnKey() (string, string, string, string) { return c.Goal, c.Agent, c.Turn, "" }

func (c *OpenTurn) decide(r *reader, e *env) (*decided, error) {
	err := firstErr(checkToken("turn_id", c.Turn, 120), checkLease(c.LeaseMS), checkText("host", c.Host, 80, false), checkText("host session", c.HostSession, 200, false), c.Workspace.check())
	if err != nil {
		return nil, err
	}
	d, err := r.Decide(Caller{Goal: c.Goal, Agent: c.Agent, Capabilities: c.Capabilities, Turn: c.Turn, Session: c.Session, Workspace: c.Workspace, Tainted: c.Tainted})
	if err != nil {
		return nil, err
	}
	if t := r.Turn(d.Goal, d.Agent, c.Turn); t != nil {
		return nil, Errorf(Conflict, "turn_exists", "the turn %s was opened already with other arguments", show(c.Turn)).Try("use a new --turn-instance-id")
	}
	out := &decided{changed: true, result: d}
	sid := or(c.Session, "cli:"+d.Agent)
	out.events, err = c.session(r, e, d, sid)
	if err != nil {
		return nil, err
	}
	t := &Turn{ID: c.Turn, Goal: d.Goal, Agent: d.Agent, Session: sid, Act: d.ShouldRun, Rule: d.Rule, Status: TurnLive, Until: e.steady + orInt(c.LeaseMS, leaseMS), Opened: e.now, Tainted: c.Tainted}
	if !d.ShouldRun {
		t.Status, t.Outcome, t.Closed = TurnClosed, "answered", e.now
	}
	if d.Selected != nil {
		t.Todo = d.Selected.ID
	}
	turnEvent := Event{Type: TurnOpened, Goal: d.Goal, Subject: t.ID, Turn: t}
	if d.ShouldRun {
		if err := c.act(r, e, d, t, out, sid); err != nil {
			return nil, err
		}
	}
	out.events = append(out.events, turnEvent)
	if n := d.cadence; n != nil {
		if old := get[Cadence](r, tblCadence, d.Goal, d.Agent); old == nil || *old != *n {
			out.events = append(out.events, Event{Type: CadenceChanged, Goal: d.Goal, Subject: d.Agent, Cadence: n})
		}
	}
	if d.told {
		a := *get[Agent](r, tblAgent, d.Goal, d.Agent)
		a.Course, a.Revision = r.Goal(d.Goal).Course, a.Revision+1
		out.events = append(out.events, Event{Type: CourseTold, Goal: d.Goal, Subject: a.ID, Agent: &a})
	}
	for _, id := range d.notify {
		g := *r.Gate(d.Goal, id)
		g.Notified, g.Revision, g.Updated = true, g.Revision+1, e.now
		out.events = append(out.events, Event{Type: GateNotified, Goal: d.Goal, Subject: id, Gate: &g})
	}
	return out, nil
}

// session opens or touches the session and closes the turn it had before.
func (c *OpenTurn) session(r *reader, e *env, d *Decision, sid string) ([]Event, error) {
	if err := checkToken("session_id", sid, 120); err != nil {
		return nil, err
	}
	out := c.retire(turns{r}, e, d, sid)
	tree := c.Workspace.tree()
	if tree != "" && treeTaken(r, d.Goal, d.Agent, tree) {
		tree = "" // who comes second does not make the tree shared
	}
	ev, err := r.seeSession(e, d.Goal, d.Agent, sid, c.Host, c.HostSession, c.Turn, tree)
	if err != nil {
		return nil, err
	}
	return append(append(out, idleClosed(r, e, d.Goal, sid)...), *ev), nil
}

// act reserves the slot, claims if asked to, and notes what a fallback passed by.
func (c *OpenTurn) act(r *reader, e *env, d *Decision, t *Turn, out *decided, sid string) error {
	g := r.Goal(d.Goal)
	todo := ""
	if d.Selected != nil {
		todo = d.Selected.ID
	}
	res, err := r.reserve(e, g, d.Agent, c.Turn, todo, t.Until)
	if free := slices.Contains([]string{"repair", "monitor", "settle", "replan"}, d.Kind); err != nil && !free {
		return err // these need no slot to run, only to be paid
	}
	out.events = append(out.events, res...)
	if d.Kind != "deliver" && (d.Settle == nil || !d.Settle.Claim) {
		return nil
	}
	if d.Rule == "R09" {
		for _, a := range d.Contract.User.Ask {
			out.events = append(out.events, Event{Type: FallbackChosen, Goal: d.Goal, Subject: a.Gate})
		}
	}
	if todo == "" {
		return nil
	}
	out.events = append(out.events, r.taken(e, d.Goal, d.Agent, todo)...)
	old := r.Claim(d.Goal, todo)
	mine := old.Holds(e.steady) && old.Agent == d.Agent
	if mine {
		t.Generation = old.Generation
	}
	if !c.Claim {
		return nil
	}
	if d.Kind == "deliver" {
		d.Contract.CLI.Next = d.Contract.CLI.Next[1:] // it is claimed with this
	}
	n, taking := take(e, r.Todo(d.Goal, todo), old, d.Agent, sid, c.LeaseMS)
	taking = append(taking, grantsUsed(r, e, r.Todo(d.Goal, todo))...)
	t.Generation, t.Until = n.Generation, n.Until
	d.Selected.ClaimedBy, d.Lease = d.Agent, n.lease(e)
	out.events = append(out.events, taking...)
	return nil
}

// namedTurn is the turn of a command that must name one, whoever is its agent.
func (r *Reader) namedTurn(goal, agent, id string) (*Turn, error) {
	g, err := r.needGoal(goal)
	if err != nil {
		return nil, err
	}
	a, err := r.actor(g.ID, agent)
	if err != nil {
		return nil, err
	}
	if err := checkToken("turn_id", id, 120); err != nil {
		return nil, err
	}
	return r.needTurn(g.ID, a.ID, id)
}

// needTurn returns the turn a command names, nil when it names none.
func (r *Reader) needTurn(goal, agent, id string) (*Turn, error) {
	if id == "" {
		return nil, nil
	}
	if t := r.Turn(goal, agent, id); t != nil {
		return t, nil
	}
	return nil, Errorf(NotFound, "turn_not_found", "%s has no turn %s", agent, show(id)).
		Try("loopx quota should-run --goal-id %s --agent-id %s --turn-instance-id ID", goal, agent)
}

// Refresh is the durable writeback of a turn's outcome.
type Refresh struct {
	Goal           string        `json:"goal"`
	Agent          string        `json:"agent,omitempty"`
	Turn           string        `json:"turn,omitempty"`
	Todo           string        `json:"todo,omitempty"`
	Lease          string        `json:"lease_token,omitempty"`
	Classification string        `json:"classification,omitempty"`   // default state_refreshed
	Outcome        string        `json:"delivery_outcome,omitempty"` // default surface_only
	Note           string        `json:"note,omitempty"`
	Next           string        `json:"next_action,omitempty"`
	Evidence       []EvidenceArg `json:"evidence,omitempty"`
}

// Name implements Command.
func (*Refresh) Name() string { return "refresh" }

func (c *Refresh) turnKey() (string, string, string, string) { return c.Goal, c.Agent, c.Turn, c.Todo }

func (c *Refresh) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	a, err := r.actor(g.ID, c.Agent)
	if err != nil {
		return nil, err
	}
	turn, err := r.needTurn(g.ID, a.ID, c.Turn)
	if err != nil {
		return nil, err
	}
	if err := turn.undriven(); err != nil {
		return nil, err
	}
	outcome, class := or(c.Outcome, SurfaceOnly), or(c.Classification, "state_refreshed")
	err = firstErr(oneOf("delivery_outcome", outcome, SurfaceOnly, OutcomeGap, Progress, PrimaryOutcome),
		needText("classification", class, 120, false), checkText("note", c.Note, noteMax, true), checkText("next_action", c.Next, noteMax, true))
	if err != nil {
		return nil, err
	}
	todo := c.Todo
	var renew []Event
	if todo == "" && turn != nil {
		todo = turn.Todo
	}
	if todo != "" {
		v, err := r.needTodo(g.ID, todo)
		if err != nil {
			return nil, err
		}
		if turn != nil && turn.Todo != "" && turn.Todo != todo && turn.Generation > 0 {
			return nil, Errorf(Conflict, "turn_bound", "the turn %s is bound to %s", show(turn.ID), turn.Todo)
		}
		if v.Status == TodoDone && v.Done.By != a.ID {
			return nil, Errorf(Conflict, "lease_lost", "%s was completed by %s", v.ID, v.Done.By).Try("loopx quota should-run --goal-id %s --agent-id %s", g.ID, a.ID)
		}
		if v.Status == TodoOpen {
			w, err := r.writer(e, g, v, a.ID, c.Lease, c.Turn)
			if err != nil {
				return nil, err
			}
			renew = w.renew(r, e)
		}
	}
	events, ids, err := r.evidence(e, g.ID, todo, a.ID, c.Turn, c.Evidence)
	if err != nil {
		return nil, err
	}
	run := &Run{Seq: r.Counts(g.ID).Runs + 1, Goal: g.ID, Agent: a.ID, Turn: c.Turn, Todo: todo, Classification: class, Outcome: outcome, Note: c.Note, Next: c.Next, Evidence: ids,
		Accountable: outcome == Progress || outcome == PrimaryOutcome, At: e.now}
	events = append(events, renew...)
	events = append(events, r.record(run, turn)...)
	return &decided{changed: true, events: events, result: map[string]any{
		"appended": true, "goal_id": g.ID, "agent_id": a.ID, "run": run.Seq, "todo_id": todo, "classification": class,
		"delivery_outcome": outcome, "accountable": run.Accountable, "next_action": c.Next, "evidence": nonNil(ids),
	}}, nil
}

// record is the events of a new run and its mark on the turn.
func (r *Reader) record(run *Run, turn *Turn) []Event {
	out := append([]Event{{Type: RunRecorded, Goal: run.Goal, Subject: utoa(run.Seq), Run: run}}, replans{r}.owedReplan(run)...)
	if turn != nil && run.Accountable {
		n := *turn
		n.Writeback = run.Seq
		if run.Todo != "" && n.Todo == "" {
			n.Todo = run.Todo
		}
		out = append(out, Event{Type: TurnChanged, Goal: run.Goal, Subject: n.ID, Turn: &n})
	}
	return out
}

// SpendSlot pays for an accountable writeback, exactly once.
type SpendSlot struct {
	Goal   string `json:"goal"`
	Agent  string `json:"agent,omitempty"`
	Turn   string `json:"turn,omitempty"`
	Todo   string `json:"todo,omitempty"`
	Slots  int    `json:"slots,omitempty"`  // default 1
	Source string `json:"source,omitempty"` // default heartbeat
	Tokens *int64 `json:"tokens,omitempty"` // what the host counted
}

// Name implements Command.
func (*SpendSlot) Name() string { return "quota.spend" }

func (c *SpendSlot) turnKey() (string, string, string, string) { return c.Goal, c.Agent, c.Turn, "" }

func (c *SpendSlot) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	a, err := r.actor(g.ID, c.Agent)
	if err != nil {
		return nil, err
	}
	turn, err := r.needTurn(g.ID, a.ID, c.Turn)
	if err != nil {
		return nil, err
	}
	slots := c.Slots
	if slots == 0 {
		slots = 1
	}
	source := or(c.Source, "heartbeat")
	if slots < 1 || slots > 1000 {
		return nil, Errorf(Invalid, "bad_slots", "slots must be 1 to 1000")
	}
	if err := oneOf("source", source, "heartbeat", "controller", "adapter", "visible-goal"); err != nil {
		return nil, err
	}
	if err := checkTokenCount(c.Tokens); err != nil {
		return nil, err
	}
	runs, err := c.owed(r, g.ID, a.ID, turn)
	if err != nil {
		return nil, err
	}
	if turn == nil && runs[0].Turn != "" {
		turn = r.Turn(g.ID, a.ID, runs[0].Turn)
	}
	if err := turn.undriven(); err != nil {
		return nil, err
	}
	before := r.Quota(g, a.ID)
	mine := r.Reservation(g.ID, a.ID)
	// Free counts the agent's own reservation as usable.
	switch free := before.Free(); {
	case free < 1:
		return nil, r.noSlot(g, before)
	case slots > free:
		return nil, Errorf(Exhausted, "quota_exhausted", "%d slots are to be paid and %s has %d free", slots, g.ID, free).Try("pay with --slots %d", free)
	}
	total := r.Counts(g.ID).Spent + int64(slots)
	s := &Spend{Seq: r.Head().Seq + 1, Goal: g.ID, Agent: a.ID, Turn: runs[0].Turn, Todo: runs[0].Todo, Slots: slots, Total: total, Source: source, Tokens: c.Tokens, At: e.now, Steady: e.steady}
	var events []Event
	for _, run := range runs {
		n := *run
		n.Spent = true
		s.Runs = append(s.Runs, run.Seq)
		events = append(events, Event{Type: RunPaid, Goal: g.ID, Subject: utoa(run.Seq), Run: &n})
	}
	events = append(events, Event{Type: SlotSpent, Goal: g.ID, Subject: utoa(s.Seq), Spend: s})
	if mine != nil {
		events = append(events, releaseSlot(mine))
	}
	if turn != nil {
		n := *turn
		n.Status, n.Outcome, n.Spent, n.Closed = TurnClosed, "spent", true, e.now
		events = append(events, Event{Type: TurnChanged, Goal: g.ID, Subject: n.ID, Turn: &n})
	}
	after := before
	after.Spent += slots
	if mine == nil {
		after.Reserved = before.Reserved
	}
	return &decided{changed: true, events: events, result: map[string]any{
		"appended": true, "goal_id": g.ID, "agent_id": a.ID, "slots": slots, "todo_id": s.Todo, "runs": s.Runs, "spend_id": s.Seq,
		"quota_event":    map[string]any{"before": before.short(), "after": after.short()},
		"would_throttle": after.Spent >= after.Allowed,
	}}, nil
}

func checkTokenCount(n *int64) error {
	if n != nil && (*n < 0 || *n > 1<<40) {
		return Errorf(Invalid, "bad_tokens", "tokens must be 0 to %d", int64(1)<<40)
	}
	return nil
}

// owed finds the unpaid accountable writebacks that a spend pays for: all of
// its turn, or without a turn the agent's newest one.
func (c *SpendSlot) owed(r *reader, goal, agent string, turn *Turn) ([]*Run, error) {
	missing := Errorf(Conflict, "writeback_missing", "%s has no unpaid, accountable writeback", agent).
		Try("loopx refresh-state --goal-id %s --agent-id %s --delivery-outcome outcome_progress, or complete a todo with --evidence", goal, agent)
	if turn != nil && turn.Spent {
		return nil, Errorf(Conflict, "turn_spent", "the turn %s is paid already", show(turn.ID))
	}
	var out []*Run
	seqs := r.lastParts(under(64, tblRunOwed, goal, agent).Last())
	for _, s := range seqs {
		run := get[Run](r, tblRun, goal, s)
		if run == nil {
			continue
		}
		switch {
		case turn != nil && run.Turn != turn.ID:
			continue
		case c.Todo != "" && run.Todo != c.Todo:
			continue
		}
		if turn == nil && run.Turn != "" {
			// Without a turn id the newest writeback's own turn is what is paid.
			if t := r.Turn(goal, agent, run.Turn); t != nil && t.Spent {
				continue // a turn is paid once; what came late in it stays as it is
			} else if t != nil {
				return c.owed(r, goal, agent, t)
			}
		}
		out = append(out, run)
		if turn == nil {
			break
		}
	}
	if len(out) == 0 {
		return nil, missing
	}
	slices.Reverse(out)
	return out, nil
}

// Quota is a goal's allowance in its window, as one agent sees it.
type Quota struct {
	Allowed int   `json:"allowed_slots"`
	Spent   int   `json:"spent_slots"`
	Held    int   `json:"own_reserved_slots"`
	Window  int64 `json:"window_ms"`
	// Reserved are the slots that other agents hold.
	Reserved int `json:"reserved_slots"`
	// NextFree is when the oldest payment leaves the window, UTC ms; 0 while a
	// slot is free.
	NextFree int64 `json:"next_free,omitempty"`
}

func (q Quota) short() map[string]any {
	return map[string]any{"spent_slots": q.Spent, "allowed_slots": q.Allowed, "reserved_slots": q.Reserved}
}

// Free is the number of slots this agent could use, its own reservation included.
func (q Quota) Free() int { return q.Allowed - q.Spent - q.Reserved }

// Quota computes the allowance left in the rolling window. The sum over the
// window is the difference of two running totals, so its cost does not grow
// with the number of payments.
func (r *Reader) Quota(g *Goal, agent string) Quota {
	q := Quota{Allowed: g.Allowed, Window: g.WindowMS}
	edge := store.I64(r.steady - g.WindowMS + 1)
	outside := int64(0)
	rg := store.Range{From: append(store.Key(tblSpend, g.ID), 0), To: store.Key(tblSpend, g.ID, edge), Limit: 1, Reverse: true}
	r.scan(rg, func(_, v []byte) bool {
		if s := decodeRow[Spend](r, v); s != nil {
			outside = s.Total
		}
		return false
	})
	n := r.Counts(g.ID)
	q.Spent = max(int(n.Spent-outside)-r.voided(g.ID, edge), 0)
	if v := r.Reservation(g.ID, agent); v != nil {
		q.Held = v.Slots
	}
	q.Reserved = n.Reserved - r.lapsed(g.ID) - q.Held
	if q.Free() <= 0 {
		q.NextFree = r.nextFree(g, edge, agent)
	}
	return q
}

// lapsed sums the slots of reservations that have run out.
func (r *Reader) lapsed(goal string) int {
	rg := under(memberMax, tblSlotEnd, goal)
	rg.To = store.Key(tblSlotEnd, goal, store.I64(r.steady+1))
	sum := 0
	r.scan(rg, func(_, v []byte) bool {
		n, err := strconv.Atoi(string(v))
		if err != nil {
			r.fail(store.ErrCorrupt)
		}
		sum += n
		return true
	})
	return sum
}

// nextFree is when a payment leaves the window or another's reservation ends.
func (r *Reader) nextFree(g *Goal, edge, agent string) int64 {
	at := int64(0)
	held := under(2, tblSlotEnd, g.ID)
	held.From = store.Key(tblSlotEnd, g.ID, store.I64(r.steady+1))
	for _, other := range r.lastParts(held) {
		if v := r.Reservation(g.ID, other); other != agent && v != nil && at == 0 {
			at = v.Until
		}
	}
	paid := under(voidsMost+1, tblSpend, g.ID)
	paid.From = store.Key(tblSpend, g.ID, edge)
	r.scan(paid, func(_, v []byte) bool {
		s := decodeRow[Spend](r, v)
		if s != nil && s.Voided > 0 {
			return true // it frees nothing when it leaves
		}
		if s != nil && (at == 0 || s.Steady+g.WindowMS < at) {
			at = s.Steady + g.WindowMS
		}
		return false
	})
	if at == 0 {
		return 0
	}
	return r.Wall(at)
}

func (r *Reader) noSlot(g *Goal, q Quota) error {
	e := Errorf(Exhausted, "quota_exhausted", "%s has no free slot: %d of %d spent, %d reserved by others", g.ID, q.Spent, q.Allowed, q.Reserved)
	if q.NextFree > 0 {
		e.With("next_free", rfc3339(q.NextFree)).Try("try again after %s", rfc3339(q.NextFree))
	}
	return e
}

// reserve holds one slot for the agent, or refuses.
func (r *Reader) reserve(e *env, g *Goal, agent, turn, todo string, until int64) ([]Event, error) {
	v := r.Reservation(g.ID, agent)
	if v == nil {
		if q := r.Quota(g, agent); q.Free() < 1 {
			return nil, r.noSlot(g, q)
		}
		v = &Reservation{Goal: g.ID, Agent: agent, Slots: 1}
	}
	n := *v
	n.Until = max(n.Until, until)
	n.Turn, n.Todo = or(turn, n.Turn), or(todo, n.Todo)
	return []Event{{Type: SlotReserved, Goal: g.ID, Subject: agent, Reservation: &n}}, nil
}

func releaseSlot(v *Reservation) Event {
	return Event{Type: SlotReleased, Goal: v.Goal, Subject: v.Agent, Reservation: &Reservation{Goal: v.Goal, Agent: v.Agent}}
}
