package kernel

import "slices"

// AnswerGate is the one decision of a gate. First decision wins.
type AnswerGate struct {
	Goal   string `json:"goal,omitempty"` // needed with a short code
	Gate   string `json:"gate"`           // id or G-n
	Option string `json:"option"`
	Reason string `json:"reason,omitempty"`
	// Digest binds the answer to what was shown; empty means "as it is now"
	// and is for surfaces that show and answer in one step.
	Digest string `json:"digest,omitempty"`
	// Grant is what an approval of a scope leaves: "action" nothing, "goal" a
	// standing approval until GrantUntil (UTC ms, default and at most 30 days);
	// empty is what was asked for.
	Grant      string `json:"grant,omitempty"`
	GrantUntil int64  `json:"grant_until,omitempty"`
}

// Name implements Command.
func (*AnswerGate) Name() string { return "gate.answer" }

func (c *AnswerGate) decide(r *reader, e *env) (*decided, error) {
	v, err := r.needGate(c.Goal, c.Gate)
	if err != nil {
		return nil, err
	}
	if err := r.MayAnswer(v, e.by); err != nil {
		return nil, err
	}
	if err := checkText("reason", c.Reason, noteMax, true); err != nil {
		return nil, err
	}
	if v.Status == GateAnswered {
		return nil, Errorf(Conflict, "gate_answered", "%s was decided by %s: %s", v.Code, v.Answer.Name, v.Answer.Label).
			With("by", v.Answer.Name).With("option", v.Answer.Option).With("outcome", v.Answer.Outcome).With("at", rfc3339(v.Answer.At))
	}
	if v.Status != GateOpen {
		return nil, Errorf(Conflict, "gate_"+v.Status, "%s is %s", v.Code, v.Status)
	}
	if v.Expired(e.now) {
		return nil, Errorf(Conflict, "gate_expired", "%s expired on %s; expiry grants nothing", v.Code, rfc3339(v.Expires)).Try("ask again with loopx gate open, or an owner reopens it: loopx gate reopen --gate-id %s", v.ID)
	}
	if c.Digest != "" && c.Digest != v.Digest {
		return nil, Errorf(Stale, "gate_changed", "%s has changed since it was shown", v.Code).Try("loopx gate list --goal-id %s", v.Goal)
	}
	o, err := v.option(c.Option)
	if err != nil {
		return nil, err
	}
	wish := grantWish{wide: c.Grant, until: c.GrantUntil, right: rightOfActor(r, v.Goal, e.by)}
	if o.Outcome != Approve && (c.Grant != "" || c.GrantUntil != 0) {
		return nil, Errorf(Invalid, "grant_nothing", "only an approval can stand for later")
	}
	n := *v
	n.Revision, n.Updated, n.Pending = v.Revision+1, e.now, nil
	if releases(o.Outcome) && v.Protected() && e.by.Surface == "cli" && e.by.Press && pressable(r, v) {
		return awaitPress(v, &n, answerOf(r, e, o, c.Reason))
	}
	if quorum := r.AskedOf(v).Quorum; quorum > 1 && releases(o.Outcome) {
		n.Votes = voted(r, e, v, Vote{Option: o.ID, Reason: c.Reason})
		agree := 0
		for _, vote := range n.Votes {
			if vote.Option == o.ID {
				agree++
			}
		}
		if agree < quorum {
			return c.vote(v, &n, quorum-agree)
		}
	}
	n.Status = GateAnswered
	n.Answer = answerOf(r, e, o, c.Reason)
	return conclude(r, e, v, &n, wish)
}

// pressable says whether somebody who is asked has a chat account to press on.
func pressable(r *Reader, v *Gate) bool {
	return slices.ContainsFunc(r.AskedPersons(v), func(id string) bool { return linked(r, id) })
}

// awaitPress keeps an answer that was given at a terminal until a press on a card
// makes it true: a process that can type is no proof of a person.
func awaitPress(v, n *Gate, a *GateAnswer) (*decided, error) {
	res := gateResult(n)
	res["pending"], res["option"] = "press", a.Option
	if v.Pending != nil && v.Pending.Option == a.Option && v.Pending.Person == a.Person {
		res["changed"] = false
		return &decided{result: res}, nil
	}
	n.Pending = a
	res["changed"] = true
	return &decided{changed: true, result: res, events: []Event{{Type: GateAwaits, Goal: v.Goal, Subject: v.ID, Gate: n}}}, nil
}

func (g *Gate) option(id string) (Option, error) {
	if i := slices.IndexFunc(g.Options, func(o Option) bool { return o.ID == id }); i >= 0 {
		return g.Options[i], nil
	}
	ids := make([]string, 0, len(g.Options))
	for _, o := range g.Options {
		ids = append(ids, o.ID)
	}
	return Option{}, oneOf("option", id, ids...)
}

// releases says whether an outcome lets go what a gate holds back.
func releases(outcome string) bool { return outcome == Approve || outcome == Answer }

func answerOf(r *Reader, e *env, o Option, reason string) *GateAnswer {
	return &GateAnswer{Option: o.ID, Label: o.Label, Outcome: o.Outcome, Reason: reason,
		Person: or(e.by.ID, "owner"), Name: r.personName(e.by), Surface: e.by.Surface, At: e.now, Steady: e.steady,
		Process: plain(e.by.Process, 80), Terminal: plain(e.by.Terminal, 80)}
}

// voted are the votes that count with one more: of persons who still have the
// right, on what is asked now, one a person.
func voted(r *Reader, e *env, v *Gate, mine Vote) []Vote {
	mine.Person, mine.Name, mine.Surface, mine.At, mine.Digest = or(e.by.ID, "owner"), r.personName(e.by), e.by.Surface, e.now, v.Digest
	var out []Vote
	for _, old := range VotesOf(r, v) {
		if old.Person == mine.Person {
			if old.Option == mine.Option {
				mine = old // said already
			}
			continue
		}
		out = append(out, old)
	}
	return append(out, mine)
}

// VotesOf are the votes that count now: of persons who still have the right, on
// what is asked now.
func VotesOf(r *Reader, v *Gate) []Vote {
	g := r.Goal(v.Goal)
	return slices.DeleteFunc(slices.Clone(v.Votes), func(old Vote) bool {
		right := RoleOwner // whoever has no row came with the owner's proof
		if r.Person(old.Person) != nil {
			right = r.RoleOf(v.Goal, old.Person)
		}
		return old.Digest != v.Digest || g == nil || !mayBeAsked(g, v, old.Person, right)
	})
}

// vote records one of several answers that must agree.
func (c *AnswerGate) vote(v, n *Gate, missing int) (*decided, error) {
	res := gateResult(n)
	res["votes"], res["missing"] = len(n.Votes), missing
	if slices.Equal(v.Votes, n.Votes) {
		res["changed"] = false
		return &decided{result: res}, nil
	}
	res["changed"] = true
	return &decided{changed: true, result: res, events: []Event{{Type: GateVoted, Goal: v.Goal, Subject: v.ID, Gate: n}}}, nil
}

// conclude is what a decision does: v is the gate before it, n after.
func conclude(r *Reader, e *env, v, n *Gate, wish grantWish) (*decided, error) {
	outcome := n.Answer.Outcome
	n.Released = nil
	if releases(outcome) {
		n.Released = standing(r, v)
	}
	res := gateResult(n)
	res["changed"], res["released_todos"] = true, nonNil(n.Released)
	typ := GateAnsweredEvent
	if v.Status == GateAnswered {
		typ = GateChangedEvent
	}
	events := []Event{{Type: typ, Goal: v.Goal, Subject: v.ID, Gate: n}}
	if outcome == Approve {
		given, err := granted(e, v, n.Answer.Person, wish)
		if err != nil {
			return nil, err
		}
		events = append(events, given...)
		if len(given) > 0 {
			res["grant_id"] = given[0].Subject
		}
	}
	if releases(outcome) {
		events = append(events, r.resumed(e, v.Goal, resumeGate+":"+v.ID)...)
		events = append(events, r.resumed(e, v.Goal, resumeGate+":"+v.Code)...)
	}
	return &decided{changed: true, result: res, events: events}, nil
}

// standing are the unfinished todos that a gate is about: those it names, or what
// stands in their place.
func standing(r *Reader, v *Gate) []string {
	out := r.BlockedBy(v.Goal, v.ID, backMax)
	for _, id := range v.Blocks.Todos {
		if t := stands(r, v.Goal, id, nil); t != nil && (t.Status == TodoOpen || t.Status == TodoDeferred) && !slices.Contains(out, t.ID) {
			out = append(out, t.ID)
		}
	}
	return out
}

// stands follows a todo to the one that stands in its place; over are rows as
// they are about to be.
func stands(r *Reader, goal, id string, over map[string]*Todo) *Todo {
	for {
		t := over[id]
		if t == nil {
			t = r.Todo(goal, id)
		}
		if t == nil || t.Status != TodoSuperseded {
			return t
		}
		id = t.SupersededBy
	}
}

// personName is how people see who acted: the name the person was linked under,
// whichever door they came through.
func (r *Reader) personName(by Actor) string {
	if p := r.Person(or(by.ID, "owner")); p != nil {
		return p.Name
	}
	return or(by.Name, "owner")
}

// Vote is one person's answer to a gate that wants several to agree.
type Vote struct {
	Person  string `json:"person"`
	Name    string `json:"name"`
	Option  string `json:"option"`
	Reason  string `json:"reason,omitempty"`
	Surface string `json:"surface"`
	At      int64  `json:"at"`
	// Digest is of the gate as it was shown: a vote on something else counts no more.
	Digest string `json:"digest"`
}

// PastAnswer is a decision that was taken back, and why: changed, voided,
// disowned, asked_again.
type PastAnswer struct {
	Answer GateAnswer `json:"answer"`
	Why    string     `json:"why"`
	By     string     `json:"by,omitempty"`
	At     int64      `json:"at"`
	Taken  *Taken     `json:"taken,omitempty"`
}
