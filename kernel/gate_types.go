package kernel

// Gate states and option outcomes.
const (
	GateOpen      = "open"
	GateAnswered  = "answered"
	GateWithdrawn = "withdrawn"

	Approve = "approve"
	Reject  = "reject"
	Cancel  = "cancel"
	Answer  = "answer"
)

// Option is one answer a gate offers.
type Option struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Consequence string `json:"consequence,omitempty"`
	Outcome     string `json:"outcome"`
}

// Blocks is what a gate holds back: todos, one agent's lane or the whole goal.
type Blocks struct {
	Todos []string `json:"todos,omitempty"`
	Agent string   `json:"agent,omitempty"`
	Goal  bool     `json:"goal,omitempty"`
}

// Gate is a question a human answers in one exchange.
type Gate struct {
	ID       string   `json:"id"`
	Code     string   `json:"code"` // G-n, per goal
	Goal     string   `json:"goal"`
	Question string   `json:"question"`
	Why      string   `json:"why,omitempty"`
	Options  []Option `json:"options"`
	Kind     string   `json:"kind"`
	Scope    string   `json:"scope,omitempty"` // what an approval approves
	Blocks   Blocks   `json:"blocks"`
	Advisory bool     `json:"advisory,omitempty"`
	Severity Priority `json:"severity"`
	// OnTimeout says what its date means: wait (it goes on asking), park (it goes
	// on, and nobody is reminded) or expire. Expiry never grants.
	OnTimeout string      `json:"on_timeout"`
	Expires   int64       `json:"expires,omitempty"`
	Fallback  string      `json:"fallback,omitempty"`
	Evidence  []string    `json:"evidence,omitempty"`
	Status    string      `json:"status"`
	AskedBy   string      `json:"asked_by"`
	Answer    *GateAnswer `json:"answer,omitempty"`
	// Asked narrows who may answer below what the goal says.
	Asked *Asked `json:"asked_of,omitempty"`
	// To are the persons who were asked when it was opened.
	To []string `json:"to,omitempty"`
	// Request is the host's own request for permission that it ends with.
	Request string `json:"request,omitempty"`
	Steady  int64  `json:"at_steady,omitempty"`
	Votes   []Vote `json:"votes,omitempty"`
	// Pending is an answer given at a terminal that waits for a press.
	Pending *GateAnswer `json:"pending,omitempty"`
	// Tainted says that it was asked in a tainted turn.
	Tainted bool `json:"tainted,omitempty"`
	// Past are decisions that hold no longer, newest last.
	Past []PastAnswer `json:"past,omitempty"`
	// Terms is the digest of what the todos it blocks and the goal said.
	Terms string `json:"terms,omitempty"`
	// Digest binds a press to the exact bytes that were shown.
	Digest string `json:"digest"`
	// Notified is set once a turn or a card has told the owner.
	Notified bool     `json:"notified,omitempty"`
	Taken    *Taken   `json:"taken,omitempty"`
	Released []string `json:"released,omitempty"` // todos its end let go
	Lifted   bool     `json:"lifted,omitempty"`   // an owner lifted what it held back
	Note     string   `json:"note,omitempty"`
	Revision uint64   `json:"revision"`
	Created  int64    `json:"created"`
	Updated  int64    `json:"updated"`
}

// Protected kinds always reach a human and take two presses.
func (g *Gate) Protected() bool {
	return protectedKind(g.Kind)
}

// Expired says whether an open gate has ended by its date: nobody can answer it.
func (g *Gate) Expired(now int64) bool { return g.OnTimeout == "expire" && g.overdue(now) }

// Parked says whether an open gate's date has passed and nobody is reminded of it
// any more. It can still be answered.
func (g *Gate) Parked(now int64) bool { return g.OnTimeout == "park" && g.overdue(now) }

func (g *Gate) overdue(now int64) bool {
	return g.Status == GateOpen && g.Expires > 0 && now >= g.Expires
}

// GateAnswer is the one decision of a gate.
type GateAnswer struct {
	Option  string `json:"option"`
	Label   string `json:"label"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	Person  string `json:"person"` // id of the person, or "owner"
	Name    string `json:"name"`   // how people see them
	Surface string `json:"surface"`
	At      int64  `json:"at"`
	Steady  int64  `json:"at_steady,omitempty"`
	// Process and Terminal are where an answer came from that was no press.
	Process  string `json:"process,omitempty"`
	Terminal string `json:"terminal,omitempty"`
}
