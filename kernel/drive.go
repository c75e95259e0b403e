package kernel

import "slices"

// A driven turn is one that `loopx turn run` carries through: it starts a host,
// takes its answer, has it checked and commits. Each phase is a mark on the turn
// that is durable before the next one begins, so that whoever finds the turn
// later knows what may have happened. A host that may have run is never started
// again under the same turn.
type Drive struct {
	Phase string `json:"phase"`
	// Host is the digest of the argument list that was started.
	Host string `json:"host"`
	// Deadline is when the host must have answered, UTC ms.
	Deadline int64       `json:"deadline"`
	Result   *HostResult `json:"result,omitempty"`
	Failure  *Failure    `json:"failure,omitempty"`
	// Outcome is what the turn's end asks for: run_now, wait, user_action, repair, replan.
	Outcome string      `json:"outcome,omitempty"`
	Marks   []PhaseMark `json:"marks"`
}

// PhaseMark is when a phase was reached, UTC ms.
type PhaseMark struct {
	Phase string `json:"phase"`
	At    int64  `json:"at"`
}

// Failure is why a turn gave nothing.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// HostResult is a host's answer after it was checked.
type HostResult struct {
	Kind           string        `json:"result_kind"`
	Classification string        `json:"classification,omitempty"`
	Outcome        string        `json:"delivery_outcome,omitempty"`
	Summary        string        `json:"summary,omitempty"`
	Next           string        `json:"next_action,omitempty"`
	NoFollowup     bool          `json:"no_follow_up,omitempty"`
	NextTodo       string        `json:"next_agent_todo,omitempty"`
	Hash           string        `json:"result_hash,omitempty"`
	Evidence       []EvidenceArg `json:"evidence,omitempty"`
	// Tokens are what the host counted for the turn, nil when it did not say.
	Tokens *int64 `json:"tokens,omitempty"`
}

// Phases of a driven turn. After PhaseValidated the turn is committed; what is
// neither committed nor failed is stopped.
const (
	PhaseStarted   = "host_started" // the host may run from here on
	PhaseAnswered  = "host_done"    // its answer fits the contract
	PhaseValidated = "validated"    // the independent validator passed
	PhaseStopped   = "stopped"      // over without a payment
	PhaseFailed    = "failed"
)

// Kinds of a host's answer.
const (
	HostProgress = "validated_progress"
	HostComplete = "validated_completion"
	HostRepair   = "repair_required"
	HostReplan   = "replan_required"
	HostAsk      = "user_action_required"
	HostWait     = "wait"
)

// Outcomes of a driven turn: what its caller should do next.
const (
	OutcomeRun      = "run_now"
	OutcomeWait     = "wait"
	OutcomeUser     = "user_action"
	OutcomeRepair   = "repair"
	OutcomeReplan   = "replan"
	OutcomeTerminal = "terminal"
)

// MarkTurn moves a driven turn to its next phase. A phase is reached once: a
// second process that tries is told where the turn is.
type MarkTurn struct {
	Goal     string      `json:"goal"`
	Agent    string      `json:"agent,omitempty"`
	Turn     string      `json:"turn"`
	Phase    string      `json:"phase"`
	Host     string      `json:"host,omitempty"`     // host_started
	Deadline int64       `json:"deadline,omitempty"` // host_started
	Result   *HostResult `json:"result,omitempty"`   // host_done
	Failure  *Failure    `json:"failure,omitempty"`  // failed
	Outcome  string      `json:"outcome,omitempty"`  // stopped
}

// Name implements Command.
func (*MarkTurn) Name() string { return "turn.mark" }

func (c *MarkTurn) decide(r *reader, e *env) (*decided, error) {
	t, err := r.namedTurn(c.Goal, c.Agent, c.Turn)
	if err != nil {
		return nil, err
	}
	n, err := c.next(t, e)
	if err != nil {
		return nil, err
	}
	var events []Event
	if c.Phase == PhaseStopped || c.Phase == PhaseFailed {
		if n.Status == TurnLive {
			n.Status, n.Outcome, n.Closed = TurnClosed, c.Phase, e.now
		}
		n.Settled = true // it gives back what it holds, and may not be written back any more
		events = r.letGo(t)
	}
	events = append(events, Event{Type: TurnMarked, Goal: n.Goal, Subject: n.ID, Turn: n})
	return &decided{changed: true, events: events, result: map[string]any{"goal_id": n.Goal, "agent_id": n.Agent, "turn_instance_id": n.ID, "phase": n.Drive.Phase}}, nil
}

// next is the turn in the phase that is asked for, or why it cannot get there.
func (c *MarkTurn) next(t *Turn, e *env) (*Turn, error) {
	from := ""
	d := Drive{}
	if t.Drive != nil {
		d = *t.Drive
		from = d.Phase
	}
	may := map[string][]string{
		"":             {PhaseStarted},
		PhaseStarted:   {PhaseAnswered, PhaseFailed},
		PhaseAnswered:  {PhaseValidated, PhaseStopped, PhaseFailed},
		PhaseValidated: {PhaseStopped, PhaseFailed},
	}
	switch {
	case !t.Act:
		return nil, Errorf(Conflict, "turn_idle", "the turn %s said not to run", show(t.ID)).Try("loopx turn show --turn-instance-id %s", t.ID)
	case t.Spent:
		return nil, Errorf(Conflict, "turn_spent", "the turn %s is paid already", show(t.ID))
	case !slices.Contains(may[from], c.Phase):
		return nil, Errorf(Conflict, "turn_phase", "the turn %s is at %s and cannot become %s", show(t.ID), or(from, "its start"), show(c.Phase)).
			With("phase", from).Try("loopx turn show --turn-instance-id %s", t.ID)
	case c.Phase == PhaseStarted && (t.Status != TurnLive || t.Until <= e.steady):
		return nil, Errorf(Conflict, "turn_closed", "the turn %s is over", show(t.ID)).Try("use a new --turn-instance-id")
	}
	switch c.Phase {
	case PhaseStarted:
		if err := firstErr(checkToken("host", c.Host, 80), inFuture(c.Deadline, e.now)); err != nil {
			return nil, err
		}
		d.Host, d.Deadline = c.Host, c.Deadline
	case PhaseAnswered:
		if err := c.Result.check(); err != nil {
			return nil, err
		}
		d.Result = c.Result
	case PhaseStopped:
		if err := oneOf("outcome", c.Outcome, OutcomeRun, OutcomeWait, OutcomeUser, OutcomeRepair, OutcomeReplan); err != nil {
			return nil, err
		}
		d.Outcome = c.Outcome
	case PhaseFailed:
		if c.Failure == nil || !isSlug(c.Failure.Code) || len(c.Failure.Code) > 64 {
			return nil, Errorf(Invalid, "missing_failure", "a failed turn says why")
		}
		d.Failure = &Failure{Code: c.Failure.Code, Message: plain(c.Failure.Message, summaryMax)}
	}
	d.Phase = c.Phase
	d.Marks = append(slices.Clone(d.Marks), PhaseMark{Phase: c.Phase, At: e.now})
	n := *t
	n.Drive = &d
	return &n, nil
}

func inFuture(at, now int64) error {
	if at > now && at <= now+2*dayMS {
		return nil
	}
	return Errorf(Invalid, "bad_deadline", "a deadline lies ahead, within two days")
}

// check is what the kernel wants of a host's answer wherever it came from.
func (h *HostResult) check() error {
	if h == nil {
		return Errorf(Invalid, "missing_result", "there is no answer of the host")
	}
	err := firstErr(
		oneOf("result_kind", h.Kind, HostProgress, HostComplete, HostRepair, HostReplan, HostAsk, HostWait),
		checkText("classification", h.Classification, 120, false), checkText("summary", h.Summary, summaryMax, true),
		checkText("next_action", h.Next, 1200, true), checkText("next_agent_todo", h.NextTodo, titleMax, false), checkText("result hash", h.Hash, 160, false), checkTokenCount(h.Tokens))
	switch {
	case err != nil:
		return err
	case len(h.Evidence) >= evidenceMax:
		return Errorf(Invalid, "too_much_evidence", "a host's answer has at most %d pieces of evidence", evidenceMax-1)
	case h.NoFollowup && h.NextTodo != "":
		return Errorf(Invalid, "bad_continuation", "say one of no follow-up and a next todo")
	case h.Kind != HostComplete && h.NoFollowup:
		return Errorf(Invalid, "bad_continuation", "only a completion has no follow-up")
	case h.Kind == HostProgress && h.Outcome != Progress && h.Outcome != PrimaryOutcome:
		return Errorf(Invalid, "bad_delivery_outcome", "progress is outcome_progress or primary_goal_outcome")
	}
	for i := range h.Evidence {
		if err := h.Evidence[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// letGo gives back what a turn that ends unpaid holds: its claim, so that others
// need not wait for the lease, and its slot.
func (r *Reader) letGo(t *Turn) []Event {
	if c := r.Claim(t.Goal, t.Todo); t.Todo != "" && c != nil && c.Agent == t.Agent && c.Generation == t.Generation {
		if v := r.Todo(t.Goal, t.Todo); v != nil && v.Status == TodoOpen {
			return r.releaseClaim(c)
		}
	}
	if v := get[Reservation](r, tblReserve, t.Goal, t.Agent); v != nil && v.Turn == t.ID {
		return []Event{releaseSlot(v)}
	}
	return nil
}

// undriven refuses a writeback or a payment in a driven turn whose answer has
// not been checked: the host answers, others pay.
func (t *Turn) undriven() error {
	if t == nil || t.Drive == nil || t.Drive.Phase == PhaseValidated {
		return nil
	}
	return Errorf(Conflict, "turn_driven", "the turn %s is carried through by loopx turn run and is at %s; it is written back and paid when its validator has passed", show(t.ID), t.Drive.Phase).
		With("phase", t.Drive.Phase).Try("answer on standard output, or use a turn of your own")
}
