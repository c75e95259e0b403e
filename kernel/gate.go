package kernel

import (
	"slices"
	"strconv"

	"loopx/kernel/store"
)

// OpenGate asks a person a concrete question and says what it holds back.
type OpenGate struct {
	Goal      string        `json:"goal"`
	Agent     string        `json:"agent,omitempty"` // who asks; empty is recorded as cli
	Question  string        `json:"question"`
	Why       string        `json:"why,omitempty"`
	Options   []Option      `json:"options,omitempty"` // default: approve, reject, cancel
	Kind      string        `json:"kind,omitempty"`    // default: of the scope, else other
	Scope     string        `json:"scope,omitempty"`   // what an approval approves, kind:granularity:key
	Todos     []string      `json:"blocks_todos,omitempty"`
	LaneOf    string        `json:"blocks_agent,omitempty"`
	WholeGoal bool          `json:"blocks_goal,omitempty"`
	Advisory  bool          `json:"advisory,omitempty"`
	Severity  *int          `json:"severity,omitempty"`
	OnTimeout string        `json:"on_timeout,omitempty"` // wait, park, expire; default expire with a date, else wait
	Expires   int64         `json:"expires,omitempty"`
	Fallback  string        `json:"fallback,omitempty"`
	Evidence  []EvidenceArg `json:"evidence,omitempty"`
	// Asked narrows who may answer; it is never wider than the goal's policy.
	Asked *Asked `json:"asked_of,omitempty"`
	// Obligation is a replan of the agent that this settles.
	Obligation string `json:"replan_obligation_id,omitempty"`
	// Request is a host's own request for permission, which the gate shows and
	// ends with. It blocks nothing here, and only the daemon opens one.
	Request string `json:"request,omitempty"`
}

// Name implements Command.
func (*OpenGate) Name() string { return "gate.open" }

func (c *OpenGate) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	by, err := r.author(g.ID, c.Agent, e.by)
	if err != nil {
		return nil, err
	}
	v := &Gate{
		Goal: g.ID, Question: c.Question, Why: c.Why, Options: c.options(), Kind: or(c.Kind, "other"), Scope: c.Scope, Advisory: c.Advisory,
		Blocks: Blocks{Todos: uniq(c.Todos), Agent: c.LaneOf, Goal: c.WholeGoal}, OnTimeout: c.timeout(), Asked: c.Asked,
		Expires: c.Expires, Fallback: c.Fallback, Status: GateOpen, AskedBy: by, Request: c.Request, Steady: e.steady, Revision: 1, Created: e.now, Updated: e.now,
	}
	v.Tainted = tainted(r, g.ID, v.askingAgent(), "", "")
	if v.Scope != "" {
		list, err := normalScopes([]string{v.Scope})
		if err != nil {
			return nil, err
		}
		v.Scope = list[0]
		if kind, _, _, _ := parseScope(v.Scope); c.Kind == "" {
			v.Kind = kind
		}
	}
	if err := c.check(r, v, e); err != nil {
		return nil, err
	}
	r.floor(v)
	if err := narrows(r, g, v); err != nil {
		return nil, err
	}
	v.To = r.AskedPersons(v)
	refused := (*Gate)(nil)
	if v.Scope != "" {
		refused = r.scopeGate(g.ID, v.Scope)
	}
	if same := refused; same != nil && same.Status == GateOpen {
		// The same scope is the same gate: what is new joins it.
		if err := (replans{r}).askedAgain(g.ID, by, c.Obligation); err != nil {
			return nil, err
		}
		ev := joined(r, e, same, v.Blocks.Todos, nil)
		res := gateResult(ev.Gate)
		res["waits_for"] = askedWords(askedOf(g, ev.Gate))
		if len(ev.Gate.Blocks.Todos) == len(same.Blocks.Todos) {
			return &decided{result: res}, nil
		}
		return &decided{changed: true, events: []Event{ev}, result: res}, nil
	}
	if v.Severity, err = c.severity(r, v); err != nil {
		return nil, err
	}
	if len(v.Blocks.Todos) == 0 {
		v.Blocks.Todos = nil
	}
	v.Terms = termsOf(r, v, g.Course, nil)
	v.Digest = v.digest()
	if same := r.sameOpen(v); same != nil {
		// The same question about the same work is the same gate.
		if err := (replans{r}).askedAgain(g.ID, by, c.Obligation); err != nil {
			return nil, err
		}
		res := gateResult(same)
		res["waits_for"] = askedWords(askedOf(g, same))
		return &decided{result: res}, nil
	}
	if refused != nil {
		if err := refusedBefore(r, refused, c.Evidence); err != nil {
			return nil, err
		}
	}
	if err := mayAsk(r, v, 0); err != nil {
		return nil, err
	}
	events, ids, err := r.evidence(e, g.ID, "", by, "", c.Evidence)
	if err != nil {
		return nil, err
	}
	v.Evidence = ids
	opened := Event{Type: GateOpened, Goal: g.ID}
	if refused != nil {
		v = askAgain(e, refused, v)
		v.Evidence = keepLast(append(slices.Clone(refused.Evidence), ids...), evidenceKeep)
		v.Terms = termsOf(r, v, g.Course, nil)
		v.Digest = v.digest()
		opened.Type = GateAskedAgain
	} else {
		v.Code = "G-" + strconv.Itoa(r.Counts(g.ID).Gates+1)
		for v.ID == "" || r.GoalOfGate(v.ID) != "" {
			v.ID = e.id("gate_")
		}
	}
	opened.Subject, opened.Gate = v.ID, v
	events = append(events, opened)
	met, err := replans{r}.metByGate(e, by, c.Obligation, v)
	if err != nil {
		return nil, err
	}
	events = append(events, met...)
	res := gateResult(v)
	res["waits_for"] = askedWords(askedOf(g, v))
	return &decided{changed: true, events: events, result: withMet(res, met)}, nil
}

func gateResult(v *Gate) map[string]any {
	m := map[string]any{"gate_id": v.ID, "todo_id": v.ID, "code": v.Code, "goal_id": v.Goal, "status": v.Status, "kind": v.Kind, "severity": v.Severity}
	if v.Answer != nil {
		m["outcome"], m["option"], m["answered_by"] = v.Answer.Outcome, v.Answer.Option, v.Answer.Name
	}
	return m
}

// timeout is what the gate's date means: it ends there unless something else is said.
func (c *OpenGate) timeout() string {
	if c.OnTimeout == "" && c.Expires != 0 {
		return "expire"
	}
	return or(c.OnTimeout, "wait")
}

func (c *OpenGate) options() []Option {
	if len(c.Options) > 0 {
		out := slices.Clone(c.Options)
		for i := range out {
			out[i].Outcome = or(out[i].Outcome, Answer)
		}
		return out
	}
	return []Option{{ID: "approve", Label: "Approve", Outcome: Approve}, {ID: "reject", Label: "Reject", Outcome: Reject}, {ID: "cancel", Label: "Cancel", Outcome: Cancel}}
}

func (c *OpenGate) check(r *reader, v *Gate, e *env) error {
	err := firstErr(
		needText("question", v.Question, titleMax, false), checkText("why", v.Why, noteMax, true), checkText("fallback", v.Fallback, noteMax, true),
		oneOf("kind", v.Kind, gateKinds()...),
		oneOf("on_timeout", v.OnTimeout, "wait", "park", "expire"), checkText("request", v.Request, 120, false),
	)
	if err != nil {
		return err
	}
	if len(v.Options) > optionsMax {
		return Errorf(Invalid, "too_many", "a gate offers at most %d options", optionsMax)
	}
	seen := map[string]bool{}
	for _, o := range v.Options {
		err := firstErr(checkSlug("option", o.ID), needText("option label", o.Label, 60, false),
			checkText("consequence", o.Consequence, summaryMax, false), oneOf("outcome", o.Outcome, Approve, Reject, Cancel, Answer))
		if err != nil {
			return err
		}
		if seen[o.ID] {
			return Errorf(Invalid, "bad_option", "the option %s is given twice", o.ID)
		}
		seen[o.ID] = true
	}
	scopes := 0
	for _, b := range []bool{len(v.Blocks.Todos) > 0, v.Blocks.Agent != "", v.Blocks.Goal} {
		if b {
			scopes++
		}
	}
	switch {
	case v.Request != "" && e.by.Kind != ByBot:
		return Errorf(Denied, "bot_only", "only the daemon passes on what a host asks for")
	case v.Request != "" && (scopes > 0 || v.Scope != "" || !v.Advisory):
		return Errorf(Invalid, "request_blocks", "a host's own request holds back nothing here: the host waits for it")
	case scopes > 1:
		return Errorf(Invalid, "bad_blocks", "a gate blocks todos, or one agent, or the goal: one of them")
	case scopes == 0 && !v.Advisory && v.Scope == "":
		return Errorf(Invalid, "blocks_nothing", "the gate blocks nothing").Try("add --blocks-todo ID, --blocks-agent A or --blocks-goal; or --advisory if that is meant")
	case v.Expires == 0 && v.OnTimeout != "wait":
		return Errorf(Invalid, "missing_expires", "a gate that ends or is parked says when").Try("add --expires 4h")
	case v.Expires != 0 && v.Expires <= e.now:
		return Errorf(Invalid, "bad_expires", "the gate would be expired at once")
	case len(v.Blocks.Todos) > blocksMax:
		return Errorf(Invalid, "too_many", "a gate blocks at most %d todos", blocksMax)
	}
	if v.Blocks.Agent != "" {
		if _, err := r.actor(v.Goal, v.Blocks.Agent); err != nil {
			return err
		}
	}
	if lane := v.lane(); lane != "" && len(r.states(under(blocksMax, tblLane, v.Goal, lane))) >= blocksMax {
		return Errorf(Exhausted, "too_many_gates", "%d gates hold this lane already", blocksMax)
	}
	for _, id := range v.Blocks.Todos {
		t, err := r.needTodo(v.Goal, id)
		if err != nil {
			return err
		}
		if t.Status == TodoDone || t.Status == TodoSuperseded {
			return Errorf(Conflict, "todo_closed", "%s is %s already: there is nothing to hold back", id, t.Status)
		}
		if len(r.Blocks(v.Goal, id)) >= blocksMax {
			return Errorf(Exhausted, "too_many_gates", "%d gates hold %s already", blocksMax, id)
		}
	}
	return nil
}

// severity defaults to the highest priority the gate holds back.
func (c *OpenGate) severity(r *reader, v *Gate) (Priority, error) {
	if c.Severity != nil {
		return Priority(*c.Severity), checkPriority(Priority(*c.Severity))
	}
	p := Priority(3)
	if v.lane() != "" {
		p = 1
	}
	for _, id := range v.Blocks.Todos {
		p = min(p, r.Todo(v.Goal, id).Priority)
	}
	return p, nil
}

func (r *Reader) sameOpen(v *Gate) *Gate {
	for _, g := range r.OpenGates(v.Goal, 256) {
		if g.Digest == v.Digest && !g.Expired(r.now) {
			return g
		}
	}
	return nil
}

func (r *Reader) needGate(goal, id string) (*Gate, error) {
	if id == "" {
		return nil, Errorf(Invalid, "missing_gate_id", "no gate was named").Try("loopx gate list")
	}
	if goal == "" {
		goal = r.GoalOfGate(id)
	}
	if goal != "" {
		if g := r.Gate(goal, id); g != nil {
			return g, nil
		}
		if g := r.GateByCode(goal, id); g != nil {
			return g, nil
		}
	}
	return nil, Errorf(NotFound, "gate_not_found", "there is no gate %s", show(id)).Try("loopx gate list")
}

// WithdrawGate takes a question back. It releases nothing.
type WithdrawGate struct {
	Goal   string `json:"goal,omitempty"`
	Gate   string `json:"gate"`
	Agent  string `json:"agent,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Name implements Command.
func (*WithdrawGate) Name() string { return "gate.withdraw" }

func (c *WithdrawGate) decide(r *reader, e *env) (*decided, error) {
	v, err := r.needGate(c.Goal, c.Gate)
	if err != nil {
		return nil, err
	}
	by, err := r.author(v.Goal, c.Agent, e.by)
	if err != nil {
		return nil, err
	}
	if err := checkText("reason", c.Reason, noteMax, true); err != nil {
		return nil, err
	}
	if ends := v.Request != "" && e.by.Kind == ByBot; by != v.AskedBy && !ends {
		if err := ownerOf(r, e, v.Goal, "withdrawing another's gate"); err != nil {
			return nil, err
		}
	}
	if v.Status != GateOpen {
		return nil, Errorf(Conflict, "gate_"+v.Status, "%s is %s already", v.Code, v.Status)
	}
	n := *v
	n.Status, n.Note, n.Revision, n.Updated = GateWithdrawn, c.Reason, v.Revision+1, e.now
	res := gateResult(&n)
	res["changed"], res["still_blocked"] = true, nonNil(r.BlockedBy(v.Goal, v.ID, backMax))
	return &decided{changed: true, result: res, events: []Event{{Type: GateWithdrawnEvent, Goal: v.Goal, Subject: v.ID, Gate: &n}}}, nil
}

// ReleaseGate lifts what a closed or expired gate still holds back: an owner's act.
type ReleaseGate struct {
	Goal   string `json:"goal,omitempty"`
	Gate   string `json:"gate"`
	Reason string `json:"reason,omitempty"`
}

// Name implements Command.
func (*ReleaseGate) Name() string { return "gate.release" }

func (c *ReleaseGate) decide(r *reader, e *env) (*decided, error) {
	v, err := r.needGate(c.Goal, c.Gate)
	if err != nil {
		return nil, err
	}
	if err := ownerOf(r, e, v.Goal, "releasing what a gate holds back"); err != nil {
		return nil, err
	}
	if err := checkText("reason", c.Reason, noteMax, true); err != nil {
		return nil, err
	}
	if v.Status == GateOpen && !v.Expired(e.now) {
		return nil, Errorf(Conflict, "gate_open", "%s can still be answered", v.Code).Try("loopx gate answer --gate-id %s --option ID", v.ID)
	}
	held := r.BlockedBy(v.Goal, v.ID, backMax)
	if lane := v.lane(); len(held) == 0 && v.Status != GateOpen && (lane == "" || r.raw(store.Key(tblLane, v.Goal, lane, v.ID)) == nil) {
		// It holds nothing back: what its end let go stays on record as it was.
		res := gateResult(v)
		res["changed"], res["released_todos"] = false, []string{}
		return &decided{result: res}, nil
	}
	n := *v
	if n.Status == GateOpen {
		n.Status = GateWithdrawn
	}
	n.Note, n.Released, n.Lifted, n.Revision, n.Updated = c.Reason, held, true, v.Revision+1, e.now
	res := gateResult(&n)
	res["changed"], res["released_todos"] = true, nonNil(held)
	return &decided{changed: true, result: res, events: []Event{{Type: GateReleased, Goal: v.Goal, Subject: v.ID, Gate: &n}}}, nil
}

// NotifyGate notes that a card has told the owner of a gate, so that a tick
// does not ask a host to tell again.
type NotifyGate struct {
	Goal string `json:"goal"`
	Gate string `json:"gate"`
}

// Name implements Command.
func (*NotifyGate) Name() string { return "gate.notified" }

func (c *NotifyGate) decide(r *reader, e *env) (*decided, error) {
	if e.by.Kind != ByBot {
		return nil, Errorf(Denied, "bot_only", "only a sent card notes this")
	}
	v, err := r.needGate(c.Goal, c.Gate)
	if err != nil {
		return nil, err
	}
	out := &decided{result: gateResult(v)}
	if v.Status != GateOpen || v.Notified {
		return out, nil
	}
	n := *v
	n.Notified, n.Revision, n.Updated = true, v.Revision+1, e.now
	out.changed, out.events = true, []Event{{Type: GateNotified, Goal: v.Goal, Subject: v.ID, Gate: &n}}
	return out, nil
}
