package kernel

// Times are UTC milliseconds. Fields that end in Steady are on the workspace's
// steady timeline (clock.go), which no step of the wall clock moves.

// Priority is P0 (first) to P3.
type Priority int

// Goal is a durable objective.
type Goal struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Objective  string   `json:"objective"`
	Repo       string   `json:"repo,omitempty"`
	Write      []string `json:"write,omitempty"` // globs
	NonGoals   []string `json:"non_goals,omitempty"`
	Status     string   `json:"status"`          // active, completed
	Pause      []string `json:"pause,omitempty"` // causes, sorted: owner_gone, quota_zero, stop
	Allowed    int      `json:"allowed_slots"`
	WindowMS   int64    `json:"window_ms"`
	Handoff    string   `json:"handoff"`         // soft, strict
	Language   string   `json:"language"`        // en, zh
	Visibility string   `json:"visibility"`      // private, group, public
	Limit      string   `json:"limit,omitempty"` // what its work may write: "", report_only, draft_only, watch_only, ask_first
	Outcome    string   `json:"outcome,omitempty"`
	// Ask is who is asked for what: a kind of gate, or "any" for the others. What
	// it does not name asks an owner.
	Ask map[string]Asked `json:"ask_policy,omitempty"`
	// Course counts the changes of objective, scope and non-goals.
	Course   uint64 `json:"course,omitempty"`
	Revision uint64 `json:"revision"`
	Created  int64  `json:"created"`
	Updated  int64  `json:"updated"`
}

// Goal states and pause causes.
const (
	GoalActive    = "active"
	GoalCompleted = "completed"
	PauseStop     = "stop"
	PauseQuota    = "quota_zero"
	PauseOrphan   = "owner_gone" // its last owner is gone
)

// Agent is a member of one goal. Members are peers.
type Agent struct {
	Goal         string   `json:"goal"`
	ID           string   `json:"id"`
	Host         string   `json:"host,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Profile      string   `json:"profile,omitempty"`
	Mode         string   `json:"mode"` // active, monitor_only
	// Course is the newest course of the goal that this agent was told of.
	Course   uint64 `json:"course,omitempty"`
	Revision uint64 `json:"revision"`
	Created  int64  `json:"created"`
}

// Session is one running host conversation of an agent.
type Session struct {
	ID          string `json:"id"`
	Goal        string `json:"goal"`
	Agent       string `json:"agent"`
	Host        string `json:"host,omitempty"`
	HostSession string `json:"host_session,omitempty"`
	Mode        string `json:"mode"`  // attached, managed
	State       string `json:"state"` // open, closed
	Turn        string `json:"turn,omitempty"`
	Tree        string `json:"tree,omitempty"` // digest of the working tree it is in
	Opened      int64  `json:"opened"`
	Seen        int64  `json:"seen"`
	// SeenSteady is when it was last seen on the steady timeline; 0 in rows of a
	// time before idle sessions were closed.
	SeenSteady int64 `json:"seen_steady,omitempty"`
	// Ended says how a closed one ended: asked, idle.
	Ended string `json:"ended,omitempty"`
}

// Todo classes and states.
const (
	Work    = "work"
	Monitor = "monitor"
	Ask     = "ask"

	TodoOpen       = "open"
	TodoDeferred   = "deferred"
	TodoDone       = "done"
	TodoSuperseded = "superseded"
)

// Todo is a unit of work. Whether it is claimed or blocked is derived, never
// stored here.
type Todo struct {
	ID           string    `json:"id"`
	Goal         string    `json:"goal"`
	Title        string    `json:"title"`
	Body         string    `json:"body,omitempty"`
	Class        string    `json:"class"`
	Priority     Priority  `json:"priority"`
	Order        uint64    `json:"order"`
	Status       string    `json:"status"`
	After        []string  `json:"after,omitempty"`
	Capabilities []string  `json:"capabilities,omitempty"`
	Write        []string  `json:"write,omitempty"`
	Scopes       []string  `json:"scopes,omitempty"` // approvals it needs, kind:granularity:key
	Excluded     []string  `json:"excluded_agents,omitempty"`
	ResumeWhen   string    `json:"resume_when,omitempty"`
	Watch        *Watch    `json:"watch,omitempty"`
	Validation   []string  `json:"validation,omitempty"`
	Evidence     []string  `json:"evidence,omitempty"` // ids, newest last, at most 16
	Note         string    `json:"note,omitempty"`
	Done         *DoneInfo `json:"done,omitempty"`
	SupersededBy string    `json:"superseded_by,omitempty"`
	AddedBy      string    `json:"added_by"`
	// Terms counts the changes of what is to be done: title, body, needs.
	Terms    uint64 `json:"terms,omitempty"`
	Revision uint64 `json:"revision"`
	Created  int64  `json:"created"`
	Updated  int64  `json:"updated"`
}

// Watch is the schedule of a monitor.
type Watch struct {
	Target  string `json:"target"`
	Cadence int64  `json:"cadence_ms"`
	NextDue int64  `json:"next_due"`
	// Bound says what ends it: expires, resume_when or watch_only.
	Bound   string `json:"bound"`
	Expires int64  `json:"expires,omitempty"`
	// Checked, Hash and Unchanged tell of the last looks.
	Checked   int64  `json:"last_checked,omitempty"`
	Hash      string `json:"last_hash,omitempty"`
	Unchanged int    `json:"unchanged,omitempty"`
	Since     int64  `json:"unchanged_since,omitempty"` // first of the unchanged looks
}

// DoneInfo is how a todo ended.
type DoneInfo struct {
	At           int64    `json:"at"`
	By           string   `json:"by"`
	Turn         string   `json:"turn,omitempty"`
	Continuation string   `json:"continuation"` // no_followup, successor, active_goal
	Defaulted    bool     `json:"defaulted,omitempty"`
	Successors   []string `json:"successors,omitempty"`
	Validated    string   `json:"validated,omitempty"` // digest of the argv that passed
}

// Continuations of a completion.
const (
	NoFollowup   = "no_followup"
	Successor    = "successor"
	ActiveGoal   = "active_goal"
	evidenceKeep = 16
)

// Claim is ownership as a lease. A released claim stays as a row with an empty
// agent, so that generations never repeat.
type Claim struct {
	Goal       string `json:"goal"`
	Todo       string `json:"todo"`
	Agent      string `json:"agent,omitempty"`
	Generation uint64 `json:"generation"`
	Token      string `json:"token,omitempty"`
	Until      int64  `json:"until_steady,omitempty"`
	LeaseMS    int64  `json:"lease_ms,omitempty"`
	Session    string `json:"session,omitempty"`
	Since      int64  `json:"since,omitempty"`
	// Hold is a person's claim: no lease, no deadline.
	Hold bool `json:"hold,omitempty"`
}

// Taken is the turn that first went on after a decision.
type Taken struct {
	Agent string `json:"agent"`
	At    int64  `json:"at"`
}

// Evidence is compact, public-safe proof.
type Evidence struct {
	ID       string `json:"id"`
	Goal     string `json:"goal"`
	Todo     string `json:"todo,omitempty"`
	Agent    string `json:"agent"`
	Turn     string `json:"turn,omitempty"`
	Kind     string `json:"kind"` // check, artifact, link, note, metric
	Summary  string `json:"summary"`
	Ref      string `json:"ref,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Observed int64  `json:"observed_at"`
	Until    int64  `json:"valid_until,omitempty"`
}

// Stale evidence never satisfies what asks for fresh.
func (e *Evidence) Stale(now int64) bool { return e.Until > 0 && now > e.Until }

// Turn is one bounded slice of work, named by the caller.
type Turn struct {
	ID         string `json:"id"`
	Goal       string `json:"goal"`
	Agent      string `json:"agent"`
	Session    string `json:"session"`
	Act        bool   `json:"act"`
	Rule       string `json:"rule"`
	Todo       string `json:"todo,omitempty"`
	Generation uint64 `json:"generation,omitempty"` // of the claim taken in it
	Status     string `json:"status"`               // live, closed
	// Outcome of a closed one: answered, quiet, spent, or how it ended without
	// that: replaced, session_closed, lease_ended, lease_lost.
	Outcome string `json:"outcome,omitempty"`
	// Heir is the turn that took over its claim; Settled says that nothing of it
	// is left to settle.
	Heir      string `json:"heir,omitempty"`
	Settled   bool   `json:"settled,omitempty"`
	Until     int64  `json:"until_steady"`
	Writeback uint64 `json:"writeback,omitempty"` // last accountable run of it
	Spent     bool   `json:"spent,omitempty"`
	// Tainted says that the turn carries words of somebody unlinked, an attachment or
	// fetched text: no grant is used in it.
	Tainted bool `json:"tainted,omitempty"`
	// Drive is set while, and after, loopx turn run carries the turn through.
	Drive  *Drive `json:"drive,omitempty"`
	Opened int64  `json:"opened"`
	Closed int64  `json:"closed,omitempty"`
}

// Turn states.
const (
	TurnLive   = "live"
	TurnClosed = "closed"
)

// Run is one durable writeback: a refresh, a completion.
type Run struct {
	Seq            uint64   `json:"seq"`
	Goal           string   `json:"goal"`
	Agent          string   `json:"agent"`
	Turn           string   `json:"turn,omitempty"`
	Todo           string   `json:"todo,omitempty"`
	Classification string   `json:"classification"`
	Outcome        string   `json:"delivery_outcome"`
	Note           string   `json:"note,omitempty"`
	Next           string   `json:"next_action,omitempty"`
	Evidence       []string `json:"evidence,omitempty"`
	Accountable    bool     `json:"accountable"`
	Spent          bool     `json:"spent,omitempty"`
	At             int64    `json:"at"`
}

// Delivery outcomes; the last two are accountable.
const (
	SurfaceOnly    = "surface_only"
	OutcomeGap     = "outcome_gap"
	Progress       = "outcome_progress"
	PrimaryOutcome = "primary_goal_outcome"
)

// Reservation is the one slot an agent holds for its turn.
type Reservation struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent"`
	Turn  string `json:"turn,omitempty"`
	Todo  string `json:"todo,omitempty"`
	Slots int    `json:"slots"` // 0 releases it
	Until int64  `json:"until_steady"`
}

// Spend is one payment.
type Spend struct {
	Seq    uint64 `json:"seq"`
	Goal   string `json:"goal"`
	Agent  string `json:"agent"`
	Turn   string `json:"turn,omitempty"`
	Todo   string `json:"todo,omitempty"`
	Slots  int    `json:"slots"`
	Total  int64  `json:"total"` // of the goal, this one included
	Source string `json:"source"`
	// Tokens are what the host counted for it, nil when it did not say.
	Tokens *int64   `json:"tokens,omitempty"`
	Runs   []uint64 `json:"runs"`
	At     int64    `json:"at"`
	Steady int64    `json:"at_steady"`
	// Voided is when an owner took it back, UTC ms, and VoidReason why.
	Voided     int64  `json:"voided,omitempty"`
	VoidReason string `json:"void_reason,omitempty"`
}

// Counts are kept with every change, so that nothing counts by scanning.
type Counts struct {
	Open       int    `json:"open"` // work todos
	Monitors   int    `json:"monitors"`
	Asks       int    `json:"asks"`
	Deferred   int    `json:"deferred"`
	Done       int    `json:"done"`
	Superseded int    `json:"superseded"`
	Blocked    int    `json:"blocked"` // open work behind a gate or a decision
	Waiting    int    `json:"waiting"` // open work behind another todo
	Claimed    int    `json:"claimed"`
	GatesOpen  int    `json:"gates_open"`
	Gates      int    `json:"gates"` // ever; gives the next short code
	Agents     int    `json:"agents"`
	Todos      int    `json:"todos"` // ever
	NextOrder  uint64 `json:"next_order"`
	Spent      int64  `json:"spent"` // ever
	// Reserved slots, those of reservations that have run out included.
	Reserved int    `json:"reserved,omitempty"`
	Runs     uint64 `json:"runs"`
	Evidence uint64 `json:"evidence"`
	// LastEnd is the continuation of the last completion.
	LastEnd string `json:"last_end,omitempty"`
}

// Person is a human known to the workspace.
type Person struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Owner    bool   `json:"owner"`              // a local owner: owner of every goal
	Language string `json:"language,omitempty"` // en, zh; empty follows the platform
	Zone     string `json:"zone,omitempty"`     // IANA name
	// Preferred is the connection on which the person is asked first.
	Preferred string `json:"preferred,omitempty"`
	// Target is where the person's private messages go.
	Target *Target `json:"target,omitempty"`
	// Attention is what the person chose about being interrupted; nil means the
	// defaults.
	Attention *Attention `json:"attention,omitempty"`
	State     string     `json:"state,omitempty"` // active, suspended
	Revision  uint64     `json:"revision,omitempty"`
	Created   int64      `json:"created"`
	Updated   int64      `json:"updated,omitempty"`
}

// Principal is one platform identity of a person. Platform, app, tenant and
// user id together are the key; the name is for showing.
type Principal struct {
	Platform   string `json:"platform"`
	Connection string `json:"connection"`
	Tenant     string `json:"tenant"`
	User       string `json:"user"`
	Name       string `json:"name,omitempty"`
	Person     string `json:"person"`
	// Private is the conversation in which the code was typed.
	Private string `json:"private,omitempty"`
	// Refused says that the platform takes no message there any more.
	Refused bool   `json:"refused,omitempty"`
	Status  string `json:"status"` // invited, pending, linked, suspended, revoked
	Reason  string `json:"reason,omitempty"`
	Since   int64  `json:"since"`
}

// LinkCode is a one-time code; only its digest is kept.
type LinkCode struct {
	Digest  string `json:"digest"`
	Person  string `json:"person"`
	Purpose string `json:"purpose"` // owner
	Until   int64  `json:"until_steady"`
	Used    bool   `json:"used,omitempty"`
	Created int64  `json:"created"`
}
