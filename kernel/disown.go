package kernel

import "slices"

// OwnerToken is what is known about the proof of the owner.
type OwnerToken struct {
	// Renew is set when somebody may have used it who is not the owner.
	Renew bool   `json:"renew,omitempty"`
	Gate  string `json:"gate,omitempty"` // whose answer was disowned
	By    string `json:"by,omitempty"`
	At    int64  `json:"at"`
}

// OwnerToken says whether the owner's token is to be renewed; nil when nothing
// was ever said about it.
func (r *Reader) OwnerToken() *OwnerToken { return get[OwnerToken](r, tblToken) }

// DisownAnswer is "this was not me": the goal is stopped, the gate asks again,
// what its answer granted is taken back, and the owner's token is to be renewed.
type DisownAnswer struct {
	Goal string `json:"goal,omitempty"`
	Gate string `json:"gate"`
}

// Name implements Command.
func (*DisownAnswer) Name() string { return "gate.disown" }

func (c *DisownAnswer) decide(r *reader, e *env) (*decided, error) {
	v, err := r.needGate(c.Goal, c.Gate)
	if err != nil {
		return nil, err
	}
	a := v.Answer
	if a == nil {
		a = v.Pending
	}
	if me := e.by.Kind == ByPerson && a != nil && a.Person == e.by.ID; !me {
		if err := ownerOf(r, e, v.Goal, "taking back an answer in somebody's name"); err != nil {
			return nil, err
		}
	}
	if a == nil {
		return nil, Errorf(Conflict, "gate_not_decided", "%s is %s: there is no answer to disown", v.Code, v.Status).Try("loopx gate show --gate-id %s", v.ID)
	}
	stop, err := (&PauseGoal{Goal: v.Goal}).decide(r, e)
	if err != nil {
		return nil, err
	}
	var n *Gate
	typ := GateReopened
	if v.Answer != nil {
		n = again(e, v, "disowned")
		n.Blocks.Todos = slices.Clone(v.Blocks.Todos)
	} else {
		m := *v
		n, typ = &m, GateRestated
		n.Pending, n.Revision, n.Updated = nil, v.Revision+1, e.now
	}
	n.Terms = termsOf(r, n, r.Goal(v.Goal).Course, nil)
	n.Digest = n.digest()
	events := append(slices.Clone(stop.events), Event{Type: typ, Goal: v.Goal, Subject: v.ID, Gate: n})
	if v.Answer != nil {
		events = append(events, ungranted(r, e, v)...)
	}
	token := &OwnerToken{Renew: true, Gate: v.ID, By: e.by.ID, At: e.now}
	events = append(events, Event{Type: OwnerTokenMarked, Subject: v.ID, OwnerToken: token})
	res := gateResult(n)
	res["changed"], res["stopped"], res["renew_token"] = true, v.Goal, true
	return &decided{changed: true, result: res, events: events}, nil
}

// RenewToken notes that the owner's token was replaced by a new one. Who holds the
// state folder replaces it, so the daemon may note it too.
type RenewToken struct{}

// Name implements Command.
func (*RenewToken) Name() string { return "owner.renewed" }

func (c *RenewToken) decide(r *reader, e *env) (*decided, error) {
	if e.by.Kind != ByBot {
		if err := e.owner("renewing the owner's token"); err != nil {
			return nil, err
		}
	}
	out := &decided{result: map[string]any{"renew_token": false}}
	if old := r.OwnerToken(); old == nil || !old.Renew {
		return out, nil
	}
	out.changed = true
	out.events = []Event{{Type: OwnerTokenMarked, OwnerToken: &OwnerToken{By: e.by.ID, At: e.now}}}
	return out, nil
}
