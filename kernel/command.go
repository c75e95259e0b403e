package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
)

// Command is a request to change state: a plain struct with JSON tags. The
// commands there are stand in NewCommand.
type Command interface {
	// Name is the stable name on the wire and in the journal, "todo.claim".
	Name() string
	// decide says no or returns what happens. It reads only.
	decide(r *reader, e *env) (*decided, error)
}

// turnCommand is a command of a tick: without an explicit key its receipts are
// kept under goal, agent, turn, verb and subject.
type turnCommand interface {
	Command
	turnKey() (goal, agent, turn, subject string)
}

// decided is the outcome of decide before it is applied.
type decided struct {
	events []Event
	// result is what the caller is told; it is stored in the receipt.
	result any
	// changed is false when the command found everything as it wanted it.
	changed bool
}

// Actor is who a command comes from. It is set by the door the command came
// through, never by a field of the command.
type Actor struct {
	Kind    string `json:"kind"` // owner, person, agent, cli, bot
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	Surface string `json:"surface"` // cli, page, slack, ...
	// Process and Terminal say where a local command came from, for showing.
	Process  string `json:"process,omitempty"`
	Terminal string `json:"terminal,omitempty"`
	// Press is set by a door that has a chat surface ready on which a person can
	// press a button.
	Press bool `json:"press_ready,omitempty"`
}

// Actor kinds.
const (
	ByOwner  = "owner"  // holds the owner proof, or a linked local owner
	ByPerson = "person" // a linked person without it
	ByAgent  = "agent"
	ByCLI    = "cli" // the CLI of this OS user, unnamed
	ByBot    = "bot"
)

// Options go with a command.
type Options struct {
	// Key makes the command idempotent; empty means the turn's key, or none.
	Key string
	// Preview decides and shows without writing.
	Preview bool
	// Plan binds to a preview: when the command would now do something else it
	// is stale and nothing is written.
	Plan string
	By   Actor
}

// Receipt is the stored outcome of a command.
type Receipt struct {
	ID      string          `json:"receipt_id,omitempty"`
	Command string          `json:"command"`
	Seq     uint64          `json:"seq,omitempty"`
	At      int64           `json:"at,omitempty"`
	Changed bool            `json:"changed"`
	Result  json.RawMessage `json:"result,omitempty"`
	// Replay is set when an earlier call under the same key is answered again.
	Replay bool `json:"idempotent_replay,omitempty"`
	// Steer is what people said into the live turn that the command names. It
	// goes beside the receipt and is stored in none.
	Steer []Steer `json:"steer,omitempty"`
	// Preview fields: what would happen and the plan to confirm it with.
	Preview bool     `json:"preview,omitempty"`
	Plan    string   `json:"plan_rev,omitempty"`
	Changes []Change `json:"changes,omitempty"`
}

// Change is one row before and after, in a preview.
type Change struct {
	Event  string          `json:"event"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// env is what decide may know beside the tables.
type env struct {
	now    int64
	steady int64
	id     func(prefix string) string
	by     Actor
}

// owner refuses everybody but an owner.
func (e *env) owner(act string) error {
	if e.by.Kind == ByOwner {
		return nil
	}
	return Errorf(Denied, "owner_only", "%s is an owner's act", act).
		Try("answer on the card or the page, or run it in a terminal outside the agent's host (it asks for confirmation), or pass --owner-token-file")
}

// NewCommand returns an empty command to decode into, or nil for a name that
// this version does not know.
func NewCommand(name string) Command {
	// Typed nils name themselves; only the one that is meant is made.
	for _, c := range []Command{
		(*CreateGoal)(nil), (*StartGoal)(nil), (*PauseGoal)(nil), (*CloseGoal)(nil), (*ConfigureGoal)(nil), (*RegisterAgent)(nil),
		(*OpenSession)(nil), (*CloseSession)(nil),
		(*AddTodo)(nil), (*UpdateTodo)(nil), (*ClaimTodo)(nil), (*CompleteTodo)(nil), (*SupersedeTodo)(nil), (*FireEvent)(nil), (*PollMonitor)(nil), (*TransferTodo)(nil),
		(*OpenGate)(nil), (*AnswerGate)(nil), (*WithdrawGate)(nil), (*ReleaseGate)(nil), (*NotifyGate)(nil), (*ChangeGate)(nil), (*ReopenGate)(nil), (*DisownAnswer)(nil), (*RenewToken)(nil), (*SetAway)(nil), (*NoteReach)(nil), (*NotePrivate)(nil), (*TaintTurn)(nil), (*RevokeGrant)(nil),
		(*OpenTurn)(nil), (*Refresh)(nil), (*SpendSlot)(nil), (*CommitTurn)(nil), (*MarkTurn)(nil), (*VoidSlot)(nil), (*OweAnswer)(nil), (*SettleAnswer)(nil), (*AckSchedule)(nil), (*HoldTodo)(nil),
		(*ImportRows)(nil),
		(*CreateLinkCode)(nil), (*RedeemLinkCode)(nil), (*SettleLink)(nil), (*Unlink)(nil), (*SuspendPrincipal)(nil), (*UnsuspendPrincipal)(nil), (*SetPerson)(nil), (*SetAttention)(nil),
		(*GrantRole)(nil), (*RevokeRole)(nil), (*AcceptRole)(nil), (*SetBinding)(nil), (*RemoveBinding)(nil), (*SetBindingState)(nil),
	} {
		if c.Name() == name {
			return reflect.New(reflect.TypeOf(c).Elem()).Interface().(Command)
		}
	}
	return nil
}

// DecodeCommand reads a command strictly.
func DecodeCommand(name string, data []byte) (Command, error) {
	c := NewCommand(name)
	if c == nil {
		return nil, Errorf(Invalid, "unknown_command", "this version knows no command %s", show(name)).Try("loopx version")
	}
	if err := DecodeStrict(data, c); err != nil {
		return nil, err
	}
	return c, nil
}

func digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("kernel: a value of our own does not marshal: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
