package kernel

import "loopx/kernel/store"

// A Companion is a room that keeps rows beside the kernel's and changes them
// with commands. Its commands embed Outside, travel like every other command,
// and run in one transaction with whatever they ask of the kernel.
type Companion interface {
	// Before returns the command as it is to be decided, cmd itself unless a row
	// of the companion's takes something away from it. What was asked, and with
	// it the idempotency key's payload, stays cmd.
	Before(r *Reader, cmd Command) (Command, error)
	// After runs in the transaction of every command that succeeded. What it
	// adds to rec is told to the caller and stored in no receipt. An error rolls
	// the command back.
	After(k *Kernel, tx store.Tx, cmd Command, rec *Receipt) error
}

// OutsideCommand is a command of a companion. It keeps its own receipts: the
// same key again must give the same receipt.
type OutsideCommand interface {
	Command
	// Run does the command in the caller's transaction, which is rolled back on
	// an error and after a preview.
	Run(k *Kernel, tx store.Tx, opt Options) (Receipt, error)
}

// Outside is embedded in commands of companions.
type Outside struct{}

// decider is the half of Command that Outside gives.
type decider interface {
	decide(*reader, *env) (*decided, error)
}

var _ decider = Outside{}

// decide is not used: DoTx hands the command to its own Run.
func (Outside) decide(*reader, *env) (*decided, error) {
	return nil, Errorf(Internal, "internal", "a companion's command decides for itself")
}

// Join gives the kernel its companion. It is called once, before the first
// command.
func (k *Kernel) Join(c Companion) { k.companion = c }

// after lets the companion add to a receipt.
func (k *Kernel) after(tx store.Tx, cmd Command, rec *Receipt) error {
	if k.companion == nil {
		return nil
	}
	return k.companion.After(k, tx, cmd, rec)
}

// Steer is what a person said into a live turn, told beside a receipt.
type Steer struct {
	ID    string     `json:"id"`
	From  string     `json:"from"`
	Text  string     `json:"text"`
	Files []Attached `json:"files,omitempty"`
}

// Attached is a file that came with what a person said. It is data of somebody
// else: to be read, never to be run.
type Attached struct {
	Name   string `json:"name,omitempty"` // what the sender called it
	State  string `json:"state"`          // waiting, kept, refused or failed
	Why    string `json:"why,omitempty"`  // of the last two
	Path   string `json:"path,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	Type   string `json:"type,omitempty"` // as its bytes look
}

// TurnNamed is the turn that a command names, as it is in the snapshot, or nil.
// A command without an agent means the goal's only member.
func (r *Reader) TurnNamed(cmd Command) *Turn {
	var goal, agent, turn string
	switch c := cmd.(type) {
	case *CommitTurn:
		goal, agent, turn = c.Goal, c.Agent, c.Turn
	case turnCommand:
		goal, agent, turn, _ = c.turnKey()
	case interface {
		NamesTurn() (goal, agent, turn string)
	}:
		goal, agent, turn = c.NamesTurn()
	}
	if turn == "" || goal == "" {
		return nil
	}
	if agent == "" {
		members := r.Agents(goal)
		if len(members) != 1 {
			return nil
		}
		agent = members[0].ID
	}
	return r.Turn(goal, agent, turn)
}

// Live says whether a turn goes on at a steady time.
func (t *Turn) Live(steady int64) bool {
	return t != nil && t.Status == TurnLive && t.Until >= steady
}

// NeedMember is the goal and the member a command of a companion acts as: the
// named one, or the only one there is. Errors are those of the kernel's own
// commands.
func (r *Reader) NeedMember(goal, agent string) (*Goal, *Agent, error) {
	g, err := r.needGoal(goal)
	if err != nil {
		return nil, nil, err
	}
	a, err := r.actor(g.ID, agent)
	if err != nil {
		return nil, nil, err
	}
	return g, a, r.Err()
}

// Fingerprint digests a command and who asked, for a companion's receipts.
func Fingerprint(cmd Command, by Actor) string {
	return digest(struct {
		Name string
		Cmd  any
		By   string
	}{cmd.Name(), cmd, by.Kind + ":" + by.ID})
}

// CheckKey refuses an idempotency key no receipt can be kept under.
func CheckKey(key string) error { return checkToken("idempotency_key", key, 200) }
