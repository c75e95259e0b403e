package kernel

// Event is one thing that happened. It names it and carries the rows as they
// are afterwards, so that applying it needs no decision and the journal can be
// read by people.
type Event struct {
	Type string `json:"type"`
	// Subject is the id it is about: a todo, a gate, a goal.
	Goal    string `json:"goal,omitempty"`
	Subject string `json:"subject,omitempty"`

	GoalRow     *Goal        `json:"goal_row,omitempty"`
	Agent       *Agent       `json:"agent,omitempty"`
	Session     *Session     `json:"session,omitempty"`
	Todo        *Todo        `json:"todo,omitempty"`
	Inherits    string       `json:"inherits,omitempty"` // a todo whose gate links the new one takes over
	Claim       *Claim       `json:"claim,omitempty"`
	Gate        *Gate        `json:"gate,omitempty"`
	Evidence    *Evidence    `json:"evidence,omitempty"`
	Turn        *Turn        `json:"turn,omitempty"`
	Run         *Run         `json:"run,omitempty"`
	Reservation *Reservation `json:"reservation,omitempty"`
	Spend       *Spend       `json:"spend,omitempty"`
	Person      *Person      `json:"person,omitempty"`
	Principal   *Principal   `json:"principal,omitempty"`
	LinkCode    *LinkCode    `json:"link_code,omitempty"`
	Grant       *Grant       `json:"grant,omitempty"`
	Away        *Away        `json:"away,omitempty"`
	Reach       *Reach       `json:"reach,omitempty"`
	OwnerToken  *OwnerToken  `json:"owner_token,omitempty"`
	Pruned      *Pruned      `json:"pruned,omitempty"`
	Base        *Base        `json:"base,omitempty"`
	Role        *Role        `json:"role,omitempty"`
	Binding     *Binding     `json:"binding,omitempty"`
	Cadence     *Cadence     `json:"cadence,omitempty"`
	Owed        *Owed        `json:"owed,omitempty"`
	Replan      *Obligation  `json:"replan,omitempty"`
}

// Event types. The list is closed; views and cards switch over it.
const (
	GoalCreated        = "goal_created"
	GoalPaused         = "goal_paused"
	GoalResumed        = "goal_resumed"
	GoalClosed         = "goal_closed"
	GoalConfigured     = "goal_configured"
	CourseTold         = "course_told" // an agent was given the changed objective
	AgentRegistered    = "agent_registered"
	SessionOpened      = "session_opened"
	SessionSeen        = "session_seen"
	SessionClosed      = "session_closed"
	TodoAdded          = "todo_added"
	TodoUpdated        = "todo_updated"
	TodoDeferredEvent  = "todo_deferred"
	TodoReopened       = "todo_reopened"
	TodoCompleted      = "todo_completed"
	TodoSupersededBy   = "todo_superseded"
	MonitorPolled      = "monitor_polled"
	TodoClaimed        = "todo_claimed"
	ClaimRenewed       = "claim_renewed"
	ClaimReleased      = "claim_released"
	GateOpened         = "gate_opened"
	GateAnsweredEvent  = "gate_answered"
	GateWithdrawnEvent = "gate_withdrawn"
	GateJoined         = "gate_joined" // another todo waits for the same answer
	GrantGiven         = "grant_given"
	GrantRevoked       = "grant_revoked"
	GateVoted          = "gate_voted"        // one of several who must agree
	GateChangedEvent   = "gate_changed"      // the decider thought better of it
	GateReopened       = "gate_reopened"     // its answer holds no longer: it is asked again
	GateAskedAgain     = "gate_asked_again"  // a refused scope, with something new
	GateRestated       = "gate_restated"     // what it is about was changed
	GateExtended       = "gate_extended"     // an expired one can be answered again
	GateAwaits         = "gate_awaits_press" // answered at a terminal, to be confirmed by a press
	AwaySet            = "away_set"
	ReachNoted         = "reach_noted" // a connection came up or went down
	OwnerTokenMarked   = "owner_token_marked"
	GrantUsed          = "grant_used"
	GateReleased       = "gate_released"
	GateNotified       = "gate_notified"
	GateTaken          = "gate_taken"
	EvidenceAdded      = "evidence_added"
	TurnOpened         = "turn_opened"
	TurnChanged        = "turn_changed"
	TurnMarked         = "turn_marked" // a driven turn reached a phase
	RunRecorded        = "run_recorded"
	RunPaid            = "run_paid"
	SlotReserved       = "slot_reserved"
	SlotReleased       = "slot_released"
	SlotSpent          = "slot_spent"
	SlotVoided         = "slot_voided"
	FallbackChosen     = "fallback_chosen" // audit: a turn went past open gates
	StatePruned        = "state_pruned"    // old receipts and turns were forgotten
	StateCompacted     = "state_compacted" // the journal starts at a snapshot
	CadenceChanged     = "cadence_changed" // how often to wake an agent
	CadenceAcked       = "cadence_acked"
	AnswerOwed         = "answer_owed"
	AnswerSettled      = "answer_settled"
	ReplanOwed         = "replan_owed"
	ReplanMet          = "replan_met"
	ClockStepped       = "clock_stepped"
	LinkCodeMade       = "link_code_made"
	LinkCodeUsed       = "link_code_used"
	PersonAdded        = "person_added"
	PrincipalChanged   = "principal_changed"
	PersonChanged      = "person_changed"
	RoleGranted        = "role_granted"
	RoleAccepted       = "role_accepted"
	RoleSuspendedEvent = "role_suspended"
	RoleRevoked        = "role_revoked"
	BindingSet         = "binding_set"
	BindingChanged     = "binding_changed" // its state
	BindingRemoved     = "binding_removed"
)
