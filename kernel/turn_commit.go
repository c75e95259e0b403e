package kernel

import (
	"encoding/json"

	"loopx/kernel/store"
)

// CommitTurn settles a turn in one transaction: it completes the turn's todo, or
// writes its outcome back, and pays for it. Either everything happens or nothing;
// each part has its own record and receipt, so a part that was done before is
// answered again and not done twice.
type CommitTurn struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent"`
	Turn  string `json:"turn"`
	// One of them: Complete ends the todo, Refresh writes the outcome back, Poll
	// records a look of a monitor, which is paid when it found something.
	Complete *CompleteTodo `json:"complete,omitempty"`
	Refresh  *Refresh      `json:"refresh,omitempty"`
	Poll     *PollMonitor  `json:"poll,omitempty"`
	Slots    int           `json:"slots,omitempty"`
	Tokens   *int64        `json:"tokens,omitempty"` // what the host counted
}

// Name implements Command.
func (*CommitTurn) Name() string { return "turn.commit" }

// decide is not used: DoTx runs the parts.
func (c *CommitTurn) decide(*reader, *env) (*decided, error) {
	return nil, Errorf(Internal, "internal", "a turn is committed in parts")
}

// commitTurn runs the parts of a CommitTurn in the caller's transaction.
func (k *Kernel) commitTurn(tx store.Tx, c *CommitTurn, opt Options) (Receipt, error) {
	first, err := c.first()
	if err != nil {
		return Receipt{}, err
	}
	if opt.Plan != "" {
		return Receipt{}, Errorf(Invalid, "no_plan", "a turn's commit is not bound to a preview")
	}
	part := opt
	part.Key = "" // each part runs under the turn's own key
	// A preview of the parts: the caller rolls the whole transaction back.
	part.Preview = false
	done, err := k.DoTx(tx, first, part)
	if err != nil {
		return Receipt{}, err
	}
	if c.Poll != nil && !c.Poll.Material {
		done.Command = c.Name()
		if opt.Preview {
			done.ID, done.Seq, done.Preview = "", 0, true
		}
		return done, nil // a quiet look costs nothing
	}
	paid, err := k.DoTx(tx, &SpendSlot{Goal: c.Goal, Agent: c.Agent, Turn: c.Turn, Slots: c.Slots, Tokens: c.Tokens}, part)
	if err != nil {
		return Receipt{}, err
	}
	result, err := merge(done.Result, paid.Result)
	if err != nil {
		return Receipt{}, err
	}
	out := paid
	out.Command, out.Result = c.Name(), result
	out.Changed = done.Changed || paid.Changed
	out.Replay = done.Replay && paid.Replay
	if opt.Preview {
		out.ID, out.Seq, out.Preview = "", 0, true
	}
	return out, nil
}

// first is the part that comes before the payment, in the turn's own name.
func (c *CommitTurn) first() (Command, error) {
	given := 0
	for _, there := range []bool{c.Complete != nil, c.Refresh != nil, c.Poll != nil} {
		if there {
			given++
		}
	}
	switch {
	case c.Turn == "" || given != 1:
		return nil, Errorf(Invalid, "bad_commit", "a turn is committed by its id, with a completed todo, a written outcome or a look of a monitor")
	case c.Complete != nil:
		w := *c.Complete
		w.Goal, w.Agent, w.Turn = c.Goal, c.Agent, c.Turn
		return &w, nil
	case c.Poll != nil:
		w := *c.Poll
		w.Goal, w.Agent, w.Turn = c.Goal, c.Agent, c.Turn
		return &w, nil
	}
	w := *c.Refresh
	w.Goal, w.Agent, w.Turn = c.Goal, c.Agent, c.Turn
	return &w, nil
}

// merge joins two flat results; the later one wins.
func merge(parts ...json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, p := range parts {
		if err := json.Unmarshal(p, &all); err != nil {
			return nil, err
		}
	}
	return Marshal(all)
}
