package kernel

import (
	"slices"

	"loopx/kernel/store"
)

// Reach says whether people can be asked on a connection, as the bot last found.
type Reach struct {
	Connection string `json:"connection"`
	Platform   string `json:"platform"`
	State      string `json:"state"`            // up, down, gone
	Reason     string `json:"reason,omitempty"` // of down
	Fix        string `json:"fix,omitempty"`    // of down
	Since      int64  `json:"since"`            // UTC ms
}

// States of a connection's reach. Gone is one that is configured no more.
const (
	ReachUp   = "up"
	ReachDown = "down"
	ReachGone = "gone"
)

// connectionsMost bounds the connections that are looked at.
const connectionsMost = 100

// Reaches lists how connections were found, those that are gone left out.
func (r *Reader) Reaches() []*Reach {
	return slices.DeleteFunc(rows[Reach](r, store.Under(connectionsMost, tblReach)), func(v *Reach) bool { return v.State == ReachGone })
}

// NoteReach is the bot's word on a connection, given when it changes.
type NoteReach struct {
	Connection string `json:"connection"`
	Platform   string `json:"platform"`
	State      string `json:"state"`
	Reason     string `json:"reason,omitempty"`
	Fix        string `json:"fix,omitempty"`
}

// Name implements Command.
func (*NoteReach) Name() string { return "reach.note" }

func (c *NoteReach) decide(r *reader, e *env) (*decided, error) {
	if e.by.Kind != ByBot {
		return nil, Errorf(Denied, "bot_only", "only loopx-bot says how a connection is").Try("loopx doctor")
	}
	err := firstErr(checkToken("connection", c.Connection, 200), checkToken("platform", c.Platform, 80), oneOf("state", c.State, ReachUp, ReachDown, ReachGone),
		checkText("reason", c.Reason, summaryMax, false), checkText("fix", c.Fix, summaryMax, false))
	if err != nil {
		return nil, err
	}
	n := &Reach{Connection: c.Connection, Platform: c.Platform, State: c.State, Reason: c.Reason, Fix: c.Fix, Since: e.now}
	if n.State != ReachDown {
		n.Reason, n.Fix = "", ""
	}
	out := &decided{result: map[string]any{"connection": n.Connection, "state": n.State}}
	if old := get[Reach](r, tblReach, c.Connection); old != nil && old.State == n.State && old.Platform == n.Platform && old.Reason == n.Reason && old.Fix == n.Fix {
		return out, nil
	}
	out.changed, out.events = true, []Event{{Type: ReachNoted, Subject: n.Connection, Reach: n}}
	return out, nil
}

// NotePrivate is the bot's word on a linked person's private conversation: that
// their platform refuses what it writes there, or, once they wrote to it, that it
// does so no longer.
type NotePrivate struct {
	Platform   string `json:"platform"`
	Connection string `json:"connection"`
	Tenant     string `json:"tenant"`
	User       string `json:"user"`
	Refused    bool   `json:"refused"`
}

// Name implements Command.
func (*NotePrivate) Name() string { return "reach.private" }

func (c *NotePrivate) decide(r *reader, e *env) (*decided, error) {
	if e.by.Kind != ByBot {
		return nil, Errorf(Denied, "bot_only", "only loopx-bot says whether somebody can be written to")
	}
	p := r.Principal(c.Platform, c.Connection, c.Tenant, c.User)
	if p == nil {
		return nil, Errorf(NotFound, "link_not_found", "no such chat account is known").Try("loopx link list")
	}
	out := &decided{result: map[string]any{"person": p.Person, "refused": c.Refused}}
	if p.Refused == c.Refused {
		return out, nil
	}
	n := *p
	n.Refused = c.Refused
	out.changed, out.events = true, []Event{{Type: PrincipalChanged, Subject: p.Person, Principal: &n}}
	return out, nil
}

// Unreachable says why nobody who may answer an open gate can be told of it, and
// what mends that. It is derived from what is so now, so it ends by itself.
type Unreachable struct {
	// Reason: nobody (none has the right), away, not_linked, no_private_chat,
	// connections_down.
	Reason string `json:"reason"`
	Words  string `json:"words"`
	Fix    string `json:"fix"`
}

// Unreachable returns nil while somebody can be told, or the gate is not open. In
// a workspace that no chat was ever joined to the owner is asked at the page and
// by the agents' hosts, and counts as reached.
func (r *Reader) Unreachable(v *Gate) *Unreachable {
	if v.Status != GateOpen || v.Expired(r.now) {
		return nil
	}
	asked := r.AskedPersons(v)
	if len(asked) == 0 {
		return r.nobodyAsked(v)
	}
	joined := len(r.Reaches()) > 0
	linked, private := false, false
	var down *Reach
	for _, id := range asked {
		accounts := 0
		for _, p := range r.PrincipalsOf(id) {
			c := get[Reach](r, tblReach, p.Connection)
			if p.Status != Linked || c != nil && c.State == ReachGone {
				continue
			}
			accounts++
			linked = true
			if p.Private == "" || p.Refused {
				continue
			}
			private = true
			if c == nil || c.State == ReachUp { // without a word of it nothing is known against it
				return nil
			}
			down = c
		}
		if !joined && accounts == 0 && (id == "owner" || r.Person(id) != nil && r.Person(id).Owner) {
			return nil
		}
	}
	switch {
	case !linked:
		return &Unreachable{"not_linked", "nobody who may answer it has linked a chat account", "loopx link"}
	case !private:
		return &Unreachable{"no_private_chat", "nobody who may answer it can be written to privately", "one of them writes to the bot privately"}
	}
	return &Unreachable{"connections_down", "the connection " + down.Connection + " is down", or(down.Fix, "loopx doctor")}
}

// nobodyAsked tells those who are away from a right that nobody holds.
func (r *Reader) nobodyAsked(v *Gate) *Unreachable {
	people := slices.Clone(r.AskedOf(v).Persons)
	if len(people) == 0 {
		people = append(people, "owner")
		for _, w := range r.RolesOf(v.Goal) {
			people = append(people, w.Person)
		}
	}
	for _, id := range people {
		if r.Away(id) != nil {
			return &Unreachable{"away", "everybody who may answer it is away, and nobody stands in", "loopx attention away --person " + id + " --back"}
		}
	}
	return &Unreachable{"nobody", "nobody holds the right to answer it", "loopx role grant --goal-id " + v.Goal + " --role approver"}
}
