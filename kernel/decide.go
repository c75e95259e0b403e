package kernel

import (
	"fmt"
	"slices"
	"strings"

	"loopx/kernel/store"
)

// Caller is who asks whether it should run.
type Caller struct {
	Goal         string   `json:"goal"`
	Agent        string   `json:"agent,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Turn         string   `json:"turn,omitempty"`
	// Why asks for the candidates that lost, with reasons.
	Why bool `json:"why,omitempty"`
}

// Decision is the answer of should-run. State, decision and effective_action
// use the reference's words; rule and kind are ours.
type Decision struct {
	Goal      string    `json:"goal_id"`
	Agent     string    `json:"agent_id"`
	Rule      string    `json:"rule"`
	Kind      string    `json:"kind"` // deliver, ask, wait, plan, stop
	ShouldRun bool      `json:"should_run"`
	State     string    `json:"state"`
	Decision  string    `json:"decision"`
	Effective string    `json:"effective_action"`
	Reason    string    `json:"reason"`
	Selected  *Selected `json:"selected_todo,omitempty"`
	Lease     *Lease    `json:"lease,omitempty"`
	Contract  Contract  `json:"interaction_contract"`
	Scheduler Hint      `json:"scheduler_hint"`
	Quota     Quota     `json:"quota"`
	Lost      []Lost    `json:"lost,omitempty"`

	notify []string // gates that this answer tells the owner about for the first time
}

// Selected is the todo a turn is to work on.
type Selected struct {
	ID        string   `json:"todo_id"`
	Title     string   `json:"title"`
	Priority  Priority `json:"priority"`
	ClaimedBy string   `json:"claimed_by,omitempty"`
	By        string   `json:"selected_by"` // current_agent_claimed_todo, priority_order, expired_lease
}

// Contract says to each side what it may and must do. Quiet never means "do not
// work"; notify never means "must work".
type Contract struct {
	User  UserChannel  `json:"user_channel"`
	Agent AgentChannel `json:"agent_channel"`
	CLI   CLIChannel   `json:"cli_channel"`
}

// UserChannel is what the person should see.
type UserChannel struct {
	Notify string     `json:"notify"` // NOTIFY, DONT_NOTIFY
	Needed bool       `json:"action_required"`
	Ask    []AskedFor `json:"ask,omitempty"`
}

// AskedFor is one open gate, short.
type AskedFor struct {
	Gate     string `json:"gate_id"`
	Code     string `json:"code"`
	Question string `json:"question"`
}

// AgentChannel is what the agent should do.
type AgentChannel struct {
	MustAttempt bool     `json:"must_attempt"`
	Todo        string   `json:"todo,omitempty"`
	Instruction string   `json:"instruction"`
	ReadFirst   []string `json:"read_first,omitempty"`
}

// CLIChannel holds ready argument lists of ids and flags only.
type CLIChannel struct {
	Next       [][]string `json:"next,omitempty"`
	SpendAfter bool       `json:"spend_after_validation"`
}

// Hint tells a scheduler when to wake the agent next.
type Hint struct {
	Action   string `json:"action"`
	Cadence  string `json:"cadence_class"`
	NextWake int64  `json:"next_wake_at,omitempty"` // UTC ms; 0 = woken by an answer or new work
	RRule    string `json:"rrule,omitempty"`
	Reason   string `json:"reason"`
}

// Lost is a candidate that was not chosen.
type Lost struct {
	Todo   string `json:"todo_id"`
	Title  string `json:"title"`
	Reason string `json:"reason"`
}

// rule is one row of the decision table.
type rule struct {
	id   string
	when func(*situation) bool
	then func(*situation, *Decision)
}

// rules in order; the first that matches decides. R03 to R08 belong to features
// that this version does not have; their numbers stay free.
func rules() []rule {
	return []rule{
		{"R01", (*situation).paused, (*situation).stop},
		{"R09", (*situation).mayPassBy, (*situation).fallback},
		{"R10", (*situation).allGated, (*situation).ask},
		{"R11", (*situation).noSlot, (*situation).throttle},
		{"R12", (*situation).runnable, (*situation).deliver},
		{"R13", (*situation).othersOnly, (*situation).waitForOthers},
		{"R14", (*situation).later, (*situation).waitForTime},
		{"R15", (*situation).unplanned, (*situation).plan},
		{"R16", func(*situation) bool { return true }, (*situation).terminal},
	}
}

// Decide answers whether an agent should run now, and on what. It reads by
// index and writes nothing.
func (r *Reader) Decide(c Caller) (_ *Decision, err error) {
	defer r.guard(&err)
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	d := &Decision{Goal: g.ID, Agent: c.Agent, Decision: "skip"}
	s := &situation{r: r, g: g, caller: c, counts: r.Counts(g.ID)}
	if !s.paused() { // R02 comes after R01: a stopped goal says stop to anybody
		a, err := r.actor(g.ID, c.Agent)
		if err != nil {
			return nil, err
		}
		s.agent, d.Agent = a.ID, a.ID
		s.look()
	}
	d.Quota = r.Quota(g, d.Agent)
	s.quota = d.Quota
	for _, rule := range rules() {
		if rule.when(s) {
			d.Rule = rule.id
			rule.then(s, d)
			break
		}
	}
	d.Contract.CLI.SpendAfter = d.ShouldRun
	d.Contract.Agent.MustAttempt = d.ShouldRun
	if c.Why {
		d.Lost = s.lost(d)
	}
	return d, r.err
}

// candidate is a todo an agent could be given.
type candidate struct {
	todo  *Todo
	by    string
	gates []string // what stands before it
}

func (c *candidate) own() bool { return c.by == "current_agent_claimed_todo" }

// situation is what the rules look at, read once.
type situation struct {
	r      *Reader
	g      *Goal
	caller Caller
	agent  string
	counts Counts
	quota  Quota

	lane  []string   // gates on this agent's whole lane
	free  *candidate // the best that can run
	gated *candidate // the best that a gate holds back
	other string     // somebody else's todo, if any
}

// scanMost bounds how many candidates of a list are looked at until one fits.
const scanMost = 10_000

// look finds the best candidates: own claims first, then expired claims and
// unclaimed todos by priority, plan order and age.
func (s *situation) look() {
	r := s.r
	for id := range r.LaneBlocks(s.g.ID, s.agent) {
		s.lane = append(s.lane, id)
	}
	slices.Sort(s.lane)
	for _, id := range r.list(s.g.ID, ListHeld, s.agent, listMax) {
		if c := r.Claim(s.g.ID, id); c.Holds(r.steady) && c.Agent == s.agent {
			s.consider(id, "current_agent_claimed_todo")
		}
	}
	if s.free != nil || s.gated != nil && len(s.lane) > 0 {
		return
	}
	best := s.gated // an own claim that is gated stays the best one
	s.first(ListReady, "", "priority_order", &s.free)
	s.expired()
	if best != nil {
		s.gated = best
	} else {
		s.first(ListGated, "", "priority_order", &s.gated)
	}
	if s.free != nil && len(s.lane) > 0 {
		s.gated, s.free = before(s.gated, s.free), nil
		s.gated.gates = append(slices.Clone(s.lane), s.gated.gates...)
	}
	if s.free == nil && s.gated == nil {
		s.othersWork()
	}
}

// consider files one todo under free or gated when it beats what is there.
func (s *situation) consider(id, by string) {
	v := s.r.Todo(s.g.ID, id)
	if v == nil || v.Status != TodoOpen || v.Class != Work || slices.Contains(v.Excluded, s.agent) || len(s.r.WaitsFor(s.g.ID, id)) > 0 {
		return
	}
	blocks := s.r.Blocks(s.g.ID, id)
	if listOfBlocks(blocks) == ListBlocked {
		return // decided against: there is nothing left to wait for
	}
	c := &candidate{todo: v, by: by, gates: append(slices.Clone(s.lane), keys(blocks)...)}
	if len(c.gates) > 0 {
		s.gated = before(s.gated, c)
	} else {
		s.free = before(s.free, c)
	}
}

func before(a, b *candidate) *candidate {
	if a == nil || b != nil && less(b.todo, a.todo) {
		return b
	}
	return a
}

func less(a, b *Todo) bool {
	if a.Priority != b.Priority {
		return a.Priority < b.Priority
	}
	return a.Order < b.Order
}

// first finds the first todo of a list that this agent may take.
func (s *situation) first(list, agent, by string, into **candidate) {
	id := ""
	s.r.scan(under(scanMost, tblIndex, s.g.ID, list, agent), func(k, _ []byte) bool {
		t := store.LastPart(k)
		if v := s.r.Todo(s.g.ID, t); v != nil && !slices.Contains(v.Excluded, s.agent) {
			id = t
			return false
		}
		return true
	})
	if id == "" {
		return
	}
	c := &candidate{todo: s.r.Todo(s.g.ID, id), by: by, gates: keys(s.r.Blocks(s.g.ID, id))}
	*into = before(*into, c)
}

// expired considers claims whose lease ran out: for a decision they are absent.
func (s *situation) expired() {
	rg := under(listMax, tblClaimEnd, s.g.ID)
	rg.To = store.Key(tblClaimEnd, s.g.ID, store.I64(s.r.steady-graceMS))
	for _, id := range s.r.lastParts(rg) {
		s.consider(id, "expired_lease")
	}
}

// othersWork notes whether anything is left that others hold or that this agent
// may not do.
func (s *situation) othersWork() {
	for _, list := range []string{ListReady, ListGated} {
		if ids := s.r.list(s.g.ID, list, "", 1); len(ids) > 0 {
			s.other = ids[0]
			return
		}
	}
	// Under "held" the agent part comes before the todo.
	s.r.scan(under(scanMost, tblIndex, s.g.ID, ListHeld), func(k, _ []byte) bool {
		id := store.LastPart(k)
		if c := s.r.Claim(s.g.ID, id); c != nil && c.Agent != s.agent {
			s.other = id
			return false
		}
		return true
	})
}

// list returns todo ids of an index list in order.
func (r *Reader) list(goal, list, agent string, limit int) []string {
	return r.lastParts(under(limit, tblIndex, goal, list, agent))
}

// List returns the todos of an index list in its order; agent only with ListHeld.
func (r *Reader) List(goal, list, agent string, limit int) []*Todo {
	ids := r.list(goal, list, agent, limit)
	if list == ListHeld && agent == "" {
		ids = r.lastParts(under(limit, tblIndex, goal, list))
	}
	if list == ListDone { // newest first
		ids = r.lastParts(under(limit, tblIndex, goal, list, "").Last())
	}
	out := make([]*Todo, 0, len(ids))
	for _, id := range ids {
		if v := r.Todo(goal, id); v != nil {
			out = append(out, v)
		}
	}
	return out
}

func keys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (s *situation) paused() bool { return len(s.g.Pause) > 0 || s.g.Status == GoalCompleted }

func (s *situation) stop(d *Decision) {
	d.Kind, d.State, d.Effective = "stop", "paused", "quota_skip"
	d.Reason = "the goal is closed"
	if s.g.Status != GoalCompleted {
		d.Reason = "the goal is paused: " + strings.Join(s.g.Pause, ", ")
	}
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Stop. Do not work on this goal until it is resumed."
	d.Scheduler = Hint{Action: "stop_until_explicit_resume", Cadence: "terminal", Reason: d.Reason}
}

// mayPassBy: the best todo is gated, and another one is independent of every
// open gate.
func (s *situation) mayPassBy() bool {
	if s.free == nil || s.gated == nil || !s.slot() {
		return false
	}
	if a, b := s.gated.own(), s.free.own(); a != b {
		return a // an own claim comes before everything else
	}
	return less(s.gated.todo, s.free.todo)
}

func (s *situation) slot() bool { return s.quota.Free() >= 1 }

func (s *situation) fallback(d *Decision) {
	s.deliverTodo(d)
	d.State, d.Decision, d.Effective = "operator_gate", "safe_bypass_user_gate_fallback", "safe_bypass_user_gate_fallback"
	s.askFor(d, s.gated.gates)
	d.Reason = fmt.Sprintf("%s waits for a decision; %s does not depend on it", s.gated.todo.ID, s.free.todo.ID)
}

func (s *situation) allGated() bool { return s.free == nil && s.gated != nil }

func (s *situation) ask(d *Decision) {
	d.Kind, d.State, d.Effective = "ask", "operator_gate", "operator_gate_notify"
	d.Reason = fmt.Sprintf("%s and everything else that could run wait for a decision", s.gated.todo.ID)
	s.askFor(d, s.gated.gates)
	d.Contract.User.Needed = true
	d.Contract.Agent.Instruction = "Wait for the person. Do not work around the decision."
	d.Scheduler = Hint{Action: "backoff_waiting_for_user", Cadence: "human_gate", Reason: "woken by the answer"}
}

// askFor names the gates and notifies about those nobody was told of yet.
func (s *situation) askFor(d *Decision, gates []string) {
	d.Contract.User.Notify = "DONT_NOTIFY"
	for _, id := range gates {
		g := s.r.Gate(s.g.ID, id)
		if g == nil || g.Status != GateOpen {
			continue
		}
		d.Contract.User.Ask = append(d.Contract.User.Ask, AskedFor{Gate: g.ID, Code: g.Code, Question: g.Question})
		if !g.Notified {
			d.Contract.User.Notify = "NOTIFY"
			d.notify = append(d.notify, g.ID)
		}
		if len(d.Contract.User.Ask) == 3 {
			break
		}
	}
}

func (s *situation) noSlot() bool { return s.free != nil && !s.slot() }

func (s *situation) throttle(d *Decision) {
	d.Kind, d.State, d.Decision, d.Effective = "wait", "throttled", "throttled_skip", "throttled_skip"
	d.Reason = fmt.Sprintf("no slot is free: %d of %d spent, %d reserved by others", s.quota.Spent, s.quota.Allowed, s.quota.Reserved)
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Wait until a slot is free."
	d.Scheduler = Hint{Action: "backoff_until_state_change", Cadence: "quiet_wait", NextWake: s.quota.NextFree, Reason: "the next slot frees"}
}

func (s *situation) runnable() bool { return s.free != nil }

func (s *situation) deliver(d *Decision) {
	s.deliverTodo(d)
	d.State, d.Decision, d.Effective = "eligible", "run", "normal_run"
	d.Reason = fmt.Sprintf("%s is next", s.free.todo.ID)
	d.Contract.User.Notify = "DONT_NOTIFY"
	if s.gated != nil { // a lower one is gated: show it, without asking again
		s.askFor(d, s.gated.gates)
	}
}

func (s *situation) deliverTodo(d *Decision) {
	v := s.free.todo
	d.Kind, d.ShouldRun = "deliver", true
	d.Selected = &Selected{ID: v.ID, Title: v.Title, Priority: v.Priority, By: s.free.by}
	if s.free.own() {
		d.Selected.ClaimedBy = s.agent
	}
	d.Contract.Agent.Todo = v.ID
	d.Contract.Agent.Instruction = "Work on " + v.ID + " only. Record evidence, then settle the turn."
	base := []string{"--goal-id", s.g.ID, "--agent-id", s.agent}
	turn := base
	if s.caller.Turn != "" {
		turn = append(slices.Clone(base), "--turn-instance-id", s.caller.Turn)
	}
	d.Contract.CLI.Next = [][]string{
		append([]string{"todo", "claim", "--todo-id", v.ID}, turn...),
		append([]string{"refresh-state", "--delivery-outcome", "outcome_progress"}, turn...),
		append([]string{"quota", "spend-slot", "--execute"}, turn...),
	}
	d.Scheduler = Hint{Action: "run_now", Cadence: "active_work", NextWake: s.r.now + 3*minuteMS, RRule: "FREQ=MINUTELY;INTERVAL=3", Reason: "work is in progress"}
}

func (s *situation) othersOnly() bool { return s.other != "" }

func (s *situation) waitForOthers(d *Decision) {
	s.wait(d, "only others hold or may do the work", "backoff_until_reassigned", "agent_scope_wait", s.r.now+10*minuteMS)
}

func (s *situation) wait(d *Decision, reason, action, cadence string, wake int64) {
	d.Kind, d.State, d.Effective, d.Reason = "wait", "waiting", "quota_skip", reason
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Nothing to do now. Do not invent work."
	d.Scheduler = Hint{Action: action, Cadence: cadence, NextWake: wake, Reason: reason}
}

func (s *situation) later() bool {
	return s.counts.Open > 0 || s.counts.Deferred > 0 || s.counts.Monitors > 0 || s.counts.Asks > 0
}

func (s *situation) waitForTime(d *Decision) {
	wake := s.r.now + 60*minuteMS
	for _, v := range s.r.List(s.g.ID, ListMonitor, "", 1) {
		if v.Watch.NextDue > s.r.now {
			wake = min(wake, max(v.Watch.NextDue, s.r.now+15*minuteMS))
		}
	}
	s.wait(d, "only watches, parked or dependent todos and decided ones are left", "backoff_until_material_transition", "monitor_wait", wake)
}

func (s *situation) unplanned() bool {
	return s.counts.Todos == 0 || s.counts.LastEnd == ActiveGoal || s.counts.LastEnd == ""
}

func (s *situation) plan(d *Decision) {
	d.Kind, d.ShouldRun = "plan", true
	d.State, d.Decision, d.Effective = "eligible", "run", "normal_run"
	d.Reason = "the goal is active and has no open todo"
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Plan: add the next todos, open a gate if a person must decide, or complete with --no-follow-up."
	d.Contract.CLI.Next = [][]string{{"todo", "add", "--goal-id", s.g.ID, "--agent-id", s.agent, "--text", "TEXT"}}
	d.Scheduler = Hint{Action: "run_now", Cadence: "active_work", NextWake: s.r.now + 3*minuteMS, RRule: "FREQ=MINUTELY;INTERVAL=3", Reason: d.Reason}
}

func (s *situation) terminal(d *Decision) {
	d.Kind, d.State, d.Effective = "stop", "waiting", "terminal"
	d.Reason = fmt.Sprintf("nothing is left: %d done, none open, parked or watched", s.counts.Done)
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Stop. The last completion said that nothing follows."
	d.Scheduler = Hint{Action: "stop_until_explicit_resume", Cadence: "terminal", Reason: d.Reason}
}

// lost explains, for `why`, what was not chosen.
func (s *situation) lost(d *Decision) []Lost {
	if s.agent == "" {
		return nil
	}
	var out []Lost
	chosen := ""
	if d.Selected != nil {
		chosen = d.Selected.ID
	}
	for _, list := range []string{ListHeld, ListReady, ListGated, ListBlocked, ListAfter, ListDeferred, ListMonitor, ListAsk} {
		for _, v := range s.r.List(s.g.ID, list, "", 20) {
			if v.ID != chosen && len(out) < 40 {
				out = append(out, Lost{Todo: v.ID, Title: v.Title, Reason: s.reason(list, v)})
			}
		}
	}
	return out
}

func (s *situation) reason(list string, v *Todo) string {
	if slices.Contains(v.Excluded, s.agent) {
		return s.agent + " may not take it"
	}
	switch list {
	case ListHeld:
		if c := s.r.Claim(s.g.ID, v.ID); c.Holds(s.r.steady) && c.Agent != s.agent {
			return "held by " + c.Agent
		}
		if b := keys(s.r.Blocks(s.g.ID, v.ID)); len(b) > 0 {
			return "waits for " + s.codes(b)
		}
		return "comes later in the order"
	case ListReady:
		if len(s.lane) > 0 {
			return "the lane waits for " + s.codes(s.lane)
		}
		return "comes later in the order"
	case ListGated:
		return "waits for " + s.codes(keys(s.r.Blocks(s.g.ID, v.ID)))
	case ListBlocked:
		return "stopped by the decision of " + s.codes(keys(s.r.Blocks(s.g.ID, v.ID)))
	case ListAfter:
		return "comes after " + strings.Join(s.r.WaitsFor(s.g.ID, v.ID), ", ")
	case ListDeferred:
		return "parked until " + v.ResumeWhen
	case ListMonitor:
		return "a watch, next due " + rfc3339(v.Watch.NextDue)
	}
	return "a request to a person"
}

func (s *situation) codes(gates []string) string {
	out := make([]string, 0, len(gates))
	for _, id := range gates {
		if g := s.r.Gate(s.g.ID, id); g != nil {
			out = append(out, g.Code)
		}
	}
	return strings.Join(out, ", ")
}
