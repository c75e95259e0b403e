package kernel

import (
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
	Session      string   `json:"session,omitempty"` // default cli:AGENT
	// Workspace is where the caller works, nil when that is not known.
	Workspace *Workspace `json:"workspace,omitempty"`
	// Tainted is set for a turn that carries words of others: no grant is used.
	Tainted bool `json:"tainted,omitempty"`
	// Why asks for the candidates that lost, with reasons.
	Why bool `json:"why,omitempty"`
}

// Decision is the answer of should-run. State, decision and effective_action
// use the reference's words; rule and kind are ours.
type Decision struct {
	Goal      string       `json:"goal_id"`
	Agent     string       `json:"agent_id"`
	Rule      string       `json:"rule"`
	Kind      string       `json:"kind"` // reply, settle, replan, repair, monitor, deliver, ask, wait, plan, stop
	ShouldRun bool         `json:"should_run"`
	State     string       `json:"state"`
	Decision  string       `json:"decision"`
	Effective string       `json:"effective_action"`
	Reason    string       `json:"reason"`
	Selected  *Selected    `json:"selected_todo,omitempty"`
	Lease     *Lease       `json:"lease,omitempty"`
	Reply     *Reply       `json:"reply,omitempty"`
	Settle    *Leftover    `json:"settle,omitempty"`
	Replan    *ReplanAsked `json:"replan,omitempty"`
	Contract  Contract     `json:"interaction_contract"`
	Scheduler Hint         `json:"scheduler_hint"`
	Quota     Quota        `json:"quota"`
	Lost      []Lost       `json:"lost,omitempty"`

	told    bool     // this answer tells the agent of a changed course
	cadence *Cadence // as a turn would store it
	notify  []string // gates that this answer tells the owner about for the first time
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
	// State is waiting, parked (its date has passed and nobody is reminded), or
	// unreachable: nobody who may answer can be told, and Fix mends that.
	State string `json:"state,omitempty"`
	Why   string `json:"unreachable,omitempty"` // the reason, see Unreachable
	Fix   string `json:"fix,omitempty"`
	// Meanwhile is what goes on without the answer, in the asker's words.
	Meanwhile string `json:"meanwhile,omitempty"`
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
	// Token names what the advice is for; with the rule it goes into Ack, which is
	// there until a host has acknowledged it.
	Token string   `json:"reset_token,omitempty"`
	Ack   *AckHint `json:"ack_hint,omitempty"`
}

// Lost is a candidate that was not chosen.
type Lost struct {
	Todo   string `json:"todo_id"`
	Title  string `json:"title"`
	Reason string `json:"reason"`
}

// Decide answers whether an agent should run now, and on what. It reads by
// index and writes nothing.
func (r *Reader) Decide(c Caller) (_ *Decision, err error) {
	defer r.guard(&err)
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	if err := c.Workspace.check(); err != nil {
		return nil, err
	}
	d := &Decision{Goal: g.ID, Agent: c.Agent, Decision: "skip"}
	s := &situation{r: r, g: g, caller: c, counts: r.Counts(g.ID)}
	if !s.paused() { // R02 comes after R01: a stopped goal says stop to anybody
		a, err := r.actor(g.ID, c.Agent)
		if err != nil {
			return nil, err
		}
		s.agent, d.Agent, s.has, s.mode, s.course = a.ID, a.ID, a.Capabilities, a.Mode, a.Course
		s.look()
		s.due = s.dueMonitor()
	}
	d.Quota = r.Quota(g, d.Agent)
	s.quota = d.Quota
	if !s.paused() {
		s.caller.Session = or(c.Session, "cli:"+s.agent)
		s.debts()
	}
	for _, rule := range rules() {
		if rule.when(s) {
			d.Rule = rule.id
			rule.then(s, d)
			break
		}
	}
	d.cadence = paced(r, d)
	if handedOver(r, d) {
		d.Contract.Agent.ReadFirst = []string{handoffBrief(r, d)}
	}
	if s.course < g.Course && !s.paused() {
		d.told = true
		d.Contract.Agent.ReadFirst = append([]string{"The owner changed the goal's course. Objective now: " + cutRunes(firstLine(g.Objective, titleMax), titleMax)}, d.Contract.Agent.ReadFirst...)
	}
	d.fit()
	d.Contract.CLI.SpendAfter = d.ShouldRun
	d.Contract.Agent.MustAttempt = d.ShouldRun
	if c.Why {
		d.Lost = s.lost(d)
	}
	return d, r.err
}

// textMost is how many bytes of people's text an answer may hold, so that the
// whole stays under 4 KiB with the longest ids.
const textMost = 1200

// fit shortens texts when together they would make the answer too long. What is
// cut can be read in full where it stands.
func (d *Decision) fit() {
	texts := map[*string]int{}
	if d.Selected != nil {
		texts[&d.Selected.Title] = 360
	}
	for i := range d.Contract.User.Ask {
		texts[&d.Contract.User.Ask[i].Question] = 250
		if m := &d.Contract.User.Ask[i].Meanwhile; *m != "" {
			texts[m] = 120
		}
	}
	for i := range d.Contract.Agent.ReadFirst {
		texts[&d.Contract.Agent.ReadFirst[i]] = 360
	}
	total := 0
	for s := range texts {
		total += encoded(*s)
	}
	if total > textMost {
		for s, most := range texts {
			*s = brief(*s, most)
		}
	}
}

// encoded is the size of text in JSON; callers have refused control characters.
func encoded(s string) int { return len(s) + strings.Count(s, `"`) + strings.Count(s, `\`) }

// brief cuts text to a size in JSON.
func brief(s string, most int) string {
	if encoded(s) <= most {
		return s
	}
	n := len("…")
	for i, r := range s {
		if n += encoded(string(r)); n > most {
			return s[:i] + "…"
		}
	}
	return s
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

	has     []string   // capabilities the agent registered
	mode    string     // of the agent
	course  uint64     // of the goal, as the agent was told
	lane    []string   // gates on this agent's whole lane
	stopped bool       // the lane was decided against
	free    *candidate // the best that can run
	gated   *candidate // the best that a gate holds back
	other   string     // somebody else's todo, if any
	unable  *candidate // the best that lacks only a capability of this agent
	lacks   []string   // what it lacks
	due     *Todo      // the best monitor that is due

	owed   *Owed       // the oldest answer this agent owes
	left   *Leftover   // the oldest turn it has to settle
	replan *Obligation // the oldest replan it owes
}

// debts reads what comes before work: answers, loose ends and replans.
func (s *situation) debts() {
	if list := s.r.Owed(s.g.ID, s.agent); len(list) > 0 {
		s.owed = list[0]
	}
	s.left = leftover(s)
	if list := s.r.Obligations(s.g.ID, s.agent); len(list) > 0 {
		s.replan = list[0]
	}
}

// able says whether the caller has what a todo needs, and remembers the best
// one that fails by that alone.
func (s *situation) able(v *Todo) bool {
	var lacks []string
	for _, c := range v.Capabilities {
		if !slices.Contains(baseCapabilities(), c) && !slices.Contains(s.caller.Capabilities, c) && !slices.Contains(s.has, c) {
			lacks = append(lacks, c)
		}
	}
	for _, scope := range s.lapsed(v) {
		lacks = append(lacks, "an approval ("+scope+")")
	}
	if len(lacks) == 0 {
		return true
	}
	if s.unable == nil || less(v, s.unable.todo) {
		s.unable, s.lacks = &candidate{todo: v}, lacks
	}
	return false
}

// baseCapabilities every agent has.
func baseCapabilities() []string { return []string{"shell", "filesystem_read", "filesystem_write"} }

// scanMost bounds how many candidates of a list are looked at until one fits.
const scanMost = 10_000

// look finds the best candidates: own claims first, then expired claims and
// unclaimed todos by priority, plan order and age.
func (s *situation) look() {
	r := s.r
	lane := r.LaneBlocks(s.g.ID, s.agent)
	s.lane = keys(lane)
	if s.stopped = listOfBlocks(lane) == ListBlocked; s.stopped {
		return // somebody said no to all of it: there is nothing to look for
	}
	if s.mode == watchesOnly {
		s.othersWork()
		return
	}
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
	for _, id := range r.dueDeferred(s.g.ID) {
		s.consider(id, "date_passed")
	}
	if best != nil {
		s.gated = best
	} else {
		s.first(ListGated, "", "priority_order", &s.gated)
	}
	if s.free != nil && len(s.lane) > 0 {
		s.gated, s.free = before(s.gated, s.free), nil
	}
	if s.gated != nil {
		s.gated.gates = uniq(append(slices.Clone(s.lane), s.gated.gates...))
	}
	if s.free == nil && s.gated == nil {
		s.othersWork()
	}
}

// consider files one todo under free or gated when it beats what is there.
func (s *situation) consider(id, by string) {
	v := s.r.Todo(s.g.ID, id)
	if v == nil || v.Status != TodoOpen && !v.Due(s.r.now) || v.Class != Work || slices.Contains(v.Excluded, s.agent) || len(s.r.WaitsFor(s.g.ID, id)) > 0 {
		return
	}
	if !s.able(v) {
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
		if v := s.r.Todo(s.g.ID, t); v != nil && !slices.Contains(v.Excluded, s.agent) && s.able(v) {
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
