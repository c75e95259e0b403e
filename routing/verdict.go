package routing

import "loopx/adapters/chat"

// Action is what a verdict asks for.
type Action string

// Actions. Drop is the zero value: what nothing allows does nothing.
const (
	Drop    Action = ""
	Press   Action = "press"   // a card's button; authority is checked with the card
	Link    Action = "link"    // a one-time code in a private conversation
	Burn    Action = "burn"    // a one-time code where others can read it
	Command Action = "command" // a command of a linked person, a view or a preview
	Unknown Action = "unknown" // a linked person wrote something no command matches
	Stray   Action = "stray"   // somebody unlinked meant the bot: one notice a day

	Context Action = "context" // may be kept for a later turn; nothing happens
	Turn    Action = "turn"    // a turn of the Manager, through its session queue
	Steer   Action = "steer"   // into the exact live turn
	Queue   Action = "queue"   // the next turn of the exact session
	Inbox   Action = "inbox"   // stored until an agent drains it
	Missed  Action = "missed"  // would have been one of the four, but came late: stored, admitted by an owner's tap
	Answer  Action = "answer"  // a gate is answered; the kernel checks the right again
	Choice  Action = "choice"  // nobody knows which target is meant: buttons
	Refuse  Action = "refuse"  // a linked person is told the reason; nothing happens

	Edited  Action = "edited"  // a stored message changed, if it is stored
	Deleted Action = "deleted" // a stored message was taken back, if it is stored
	Added   Action = "added"   // the bot came to a conversation
	Removed Action = "removed" // the bot left it, or it is gone
)

// Starts says whether the action gives words of a person to an agent.
func (a Action) Starts() bool { return a == Turn || a == Steer || a == Queue || a == Inbox }

// Reasons of a drop; each is counted under its name.
const (
	ReasonSelf      = "own_message"
	ReasonMalformed = "malformed"
	ReasonSender    = "sender_cannot_act"
	ReasonUnbound   = "unbound_conversation"
	ReasonKind      = "event_not_used"
	ReasonEmpty     = "no_text"
	ReasonPlain     = "not_addressed"
	ReasonAmbiguous = "more_than_one_binding"
	ReasonUnusable  = "binding_cannot_be_used"
	ReasonLate      = "late_or_history"
	ReasonUnderGate = "talk_under_a_gate"
)

// Reasons of a refusal, which the person is told. ReasonAmbiguous and
// ReasonUnusable are also some.
const (
	ReasonRight     = "no_right"          // linked, but not steerer here
	ReasonSecond    = "mention_needed"    // several people write in a thread the bot started: said once a thread
	ReasonBroken    = "binding_broken"    // the owner is told elsewhere
	ReasonSuspended = "binding_suspended" // until the owner confirms
	ReasonNoTurn    = "no_live_turn"      // nothing to steer; Verdict.Offer names the queue
	ReasonNoSession = "no_session"        // no open session, or more than one
	ReasonNoAgent   = "no_agent"          // the Manager has nobody attached
	ReasonFull      = "queue_full"
	ReasonLong      = "too_long" // a steer over 12,000 characters
	ReasonBudget    = "budget_spent"
	ReasonNoTarget  = "unknown_target" // /to names what the person cannot reach
	ReasonProtected = "answer_on_card"
	ReasonNoGate    = "no_such_gate"
	ReasonGates     = "more_than_one_gate" // with Choice: Gates lists them
	ReasonNoOption  = "no_such_option"
	ReasonUsage     = "bad_arguments" // a command's arguments cannot be read
)

// Limits of what is delivered.
const (
	MaxSteer   = 12_000           // characters of one steer
	MaxWaiting = 20               // messages waiting in one session
	MaxLate    = 30 * 60 * 1000   // ms after which a pushed message is history
	MaxText    = 32 * 1024        // bytes of a message that are read for words
	MaxCode    = len("G-9999999") // bytes of a gate's code in an answer
)

// Verdict is what may happen because of an event, and why.
type Verdict struct {
	Action Action
	// Reason names the drop or the refusal, or the rule that allowed the action.
	Reason string
	// Word is the command ("status") or the code that was typed.
	Word string
	// Intent is what the text asked for, as Parse read it.
	Intent Intent
	// Target is whom the message is for, with every action that Starts, with
	// Context, Missed, and with a refusal that has one.
	Target Target
	// Choices are the targets the person may pick with Choice.
	Choices []Target
	// Gates are the gates of ReasonGates.
	Gates []Gate
	// Answer is which gate is answered how, with Action Answer.
	Answer GateAnswer
	// Place is where an answer goes, frozen with the message.
	Place ReplyPlace
	// Text is what the agent gets: without the mention of the bot and without
	// the command in front; with Choice and Refuse what a button would give it,
	// with Edited what it would get now.
	Text string
	// Offer is the ingress that would work instead, as a button; "" is none.
	Offer string
	// Keep: whatever else happens, the message may also be kept as context of the
	// group's Manager.
	Keep bool
	// Members: allowed by the audience alone. One turn of the budget, no write
	// scope, no shell.
	Members bool
	// Tainted: words of somebody unlinked, or an attachment. No grant is used in
	// its turn and its gates say so. Context may taint it as well.
	Tainted bool
}

// GateAnswer is a text's answer to a gate.
type GateAnswer struct {
	Gate, Code, Option, Reason string
}

// ReplyPlace is where an answer belongs, whatever happens in between: another
// binding, a later message, a restart.
type ReplyPlace struct {
	Place chat.Place
	// Message is what an answer replies to.
	Message string
	// User is whose message it answers; nobody else is mentioned.
	User string
	// Mode is one of ReplyThread, ReplyMirror and ReplyNone.
	Mode string
	// Private: the goal is not bound here, so only the asker may read the answer.
	Private bool
}
