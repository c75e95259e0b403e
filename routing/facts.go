package routing

// Facts are what a decision needs beside the event: plain data, read by index
// in the transaction that handles the event. What is missing allows nothing.
type Facts struct {
	// Now is when the event is handled, UTC ms. 0 is unknown, and then nothing
	// counts as fresh: a message authorises no turn.
	Now int64
	// Tenant is the tenant the connection belongs to. A sender of another tenant
	// is External whatever the event says. Empty where a platform has none to
	// compare; then the event's kind of sender decides alone.
	Tenant string
	// History says that the event was fetched after a gap and not pushed.
	History bool
	// Sender is the standing of who wrote.
	Sender Sender
	// Bindings are those of this connection and conversation, of every thread
	// and state, in any order. Of a private conversation: its direct binding.
	Bindings []Binding
	// Reply is the message this one replies to.
	Reply Reply
	// Thread is what is known of the thread the message stands in.
	Thread Thread
	// Gates are the open gates that a text could answer: those asked in this
	// conversation, and one that the text names.
	Gates []Gate
	// Current is the target of the sender's private conversation with the bot,
	// as set by /to; nil when none is set.
	Current *Target
	// Reach are the targets the sender may start a turn at: what /to may name,
	// and what choices are made of.
	Reach []Target
	// Sessions are the open sessions of every goal in Bindings, Current and
	// Reach.
	Sessions []Session
	// Budget is what is left of the sender's turns today under a binding with
	// audience members; 0 is none.
	Budget int
}

// States of a person's link. Any other value counts as not linked.
const (
	Linked    = "linked"
	Pending   = "pending"   // a code was used and not yet confirmed locally
	Suspended = "suspended" // deactivated, removed or banned on the platform
	Revoked   = "revoked"
)

// Role of a person on one goal.
type Role string

// Roles. Owner includes Approver and Steerer, each includes Observer; Approver
// and Steerer do not include each other. Unknown roles include nothing.
const (
	Owner    Role = "owner"
	Approver Role = "approver"
	Steerer  Role = "steerer"
	Observer Role = "observer"
)

// Includes says whether a holder of r may do what need allows.
func (r Role) Includes(need Role) bool {
	switch r {
	case Owner:
		return need == Owner || need == Approver || need == Steerer || need == Observer
	case Approver, Steerer, Observer:
		return r == need || need == Observer
	}
	return false
}

// Sender is a person as the kernel knows him; the event's platform, connection,
// tenant and user id led to him and nothing else did.
type Sender struct {
	Person string            // empty: nobody is linked to this identity
	State  string            // Linked and the other states
	Owner  bool              // a local owner: owner of every goal
	Roles  map[string][]Role // goal -> roles
}

// Holds says whether the sender may act in the role on the goal.
func (s Sender) Holds(goal string, need Role) bool {
	if s.State != Linked || s.Person == "" || goal == "" {
		return false
	}
	if s.Owner {
		return Owner.Includes(need)
	}
	for _, r := range s.Roles[goal] {
		if r.Includes(need) {
			return true
		}
	}
	return false
}

// What a binding is for.
const (
	ForGoal    = "goal"
	ForManager = "manager"
	ForDirect  = "direct"
)

// What a binding captures.
const (
	Addressed = "addressed"
	All       = "all" // with role manager only; also of context_from
)

// How an authorised message reaches an agent.
const (
	IngressSteer = "steer"
	IngressQueue = "queue"
	IngressInbox = "inbox"
)

// Where an answer goes.
const (
	ReplyThread = "thread"
	ReplyMirror = "mirror"
	ReplyNone   = "none"
)

// Who may start a turn: those with the right, or, as an owner's opt-in, every
// member of the own tenant within a budget.
const (
	AudiencePeople  = "linked"
	AudienceMembers = "members"
)

// Whose messages may be kept as context, besides All.
const ContextLinked = "linked"

// What starts a turn: a message that addresses the bot, or any message of the
// ids in Allow.
const (
	TriggerAddressed = "mentions"
	TriggerHumans    = "human_messages"
)

// States of a binding. Any other value counts as one that cannot be used.
const (
	Active           = "active"
	BindingBroken    = "broken"    // bot removed, conversation archived or deleted
	BindingSuspended = "suspended" // wider than the goal's visibility
	BindingRemoved   = "removed"   // as if it were not there
)

// Binding joins a conversation, or one thread of it, to a target, as the kernel
// keeps it. Every field but Allow needs a value named above; another one makes
// the binding unusable.
type Binding struct {
	ID      string
	Thread  string // the exact thread or topic; empty: the conversation
	Role    string
	Goals   []string // exactly one with role goal, the Manager's goals otherwise
	Agent   string   // optional with role goal
	Session string   // the exact session, if one is set
	Capture string
	Ingress string
	Reply   string

	Audience    string
	ContextFrom string
	Trigger     string
	Allow       []string // immutable platform user ids, for TriggerHumans; empty means nobody
	State       string
}

// Reply is what is known of the message that was replied to.
type Reply struct {
	// Ours: our outbox has it as sent by this connection into this conversation,
	// so nobody's word is taken for it.
	Ours bool
	// Gate is the id of the gate whose card it is, if it is one.
	Gate string
}

// Thread is what is known of the thread a message stands in.
type Thread struct {
	// Ours: the thread's first message is ours.
	Ours bool
	// Gate is the id of the gate whose card the first message is.
	Gate string
	// Others are the ids of people besides the sender who wrote in it. One is
	// enough to know.
	Others []string
}

// Gate is an open gate as far as a text may answer it.
type Gate struct {
	ID, Code, Goal string
	// Here: it was asked in this place, that is in this thread, this private
	// conversation or in the message replied to.
	Here bool
	// Protected gates are answered by cards, never by text.
	Protected bool
	// May: the gate's policy names the sender now.
	May     bool
	Options []Option
}

// Option is one answer of a gate.
type Option struct {
	ID, Label string
	Outcome   string // approve, reject, cancel, or another
}

// Target is whom a message is for.
type Target struct {
	Binding string // empty when no binding led to it
	Goal    string
	// Goals are the Manager's; empty at other targets.
	Goals   []string
	Agent   string
	Session string
	Ingress string
	// Turn is the live turn a steer goes into.
	Turn string
}

// Session is an open session of an agent.
type Session struct {
	ID, Goal, Agent string
	// Turn is its live turn; empty when it has none.
	Turn string
	// Steer: its host can take a message while a turn runs.
	Steer bool
	// Waiting is how many messages its queue holds.
	Waiting int
}
