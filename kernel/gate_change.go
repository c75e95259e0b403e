package kernel

import "slices"

// changeMS is how long whoever decided an unprotected gate may think better of it.
const changeMS = 10 * minuteMS

// ChangeGate corrects a decision: by who made it, within ten minutes, and not of a
// protected kind. Where somebody has gone on from it already, their work is
// stopped and both decisions stay on record.
type ChangeGate struct {
	Goal   string `json:"goal,omitempty"`
	Gate   string `json:"gate"`
	Option string `json:"option"`
	Reason string `json:"reason,omitempty"`
}

// Name implements Command.
func (*ChangeGate) Name() string { return "gate.change" }

func (c *ChangeGate) decide(r *reader, e *env) (*decided, error) {
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
	if v.Status != GateAnswered {
		return nil, Errorf(Conflict, "gate_not_decided", "%s is %s: there is no decision to change", v.Code, v.Status).Try("loopx gate show --gate-id %s", v.ID)
	}
	switch {
	case v.Answer.Person != or(e.by.ID, "owner"):
		return nil, Errorf(Denied, "not_decider", "%s was decided by %s, who alone may change that", v.Code, v.Answer.Name).With("by", v.Answer.Name)
	case v.Protected():
		return nil, Errorf(Conflict, "no_undo", "%s is about %s, and such a decision cannot be changed", v.Code, scopeWords(v.Kind)).
			Try("loopx goal stop --goal-id %s --execute, then open a new gate", v.Goal)
	case v.Answer.Steady == 0 || e.steady-v.Answer.Steady > changeMS:
		return nil, Errorf(Conflict, "change_late", "%s was decided more than ten minutes ago", v.Code).Try("loopx goal stop --goal-id %s --execute, then open a new gate", v.Goal)
	case v.Lifted:
		return nil, Errorf(Conflict, "gate_released", "what %s held back was let go since", v.Code)
	}
	o, err := v.option(c.Option)
	if err != nil {
		return nil, err
	}
	if o.ID == v.Answer.Option {
		res := gateResult(v)
		res["changed"] = false
		return &decided{result: res}, nil
	}
	if r.AskedOf(v).Quorum > 1 && releases(o.Outcome) {
		return nil, Errorf(Conflict, "quorum_needed", "%s was decided by several; one alone can only take it back", v.Code).Try("change it to an option that rejects or cancels")
	}
	n := *v
	n.Past = keepLast(append(slices.Clone(v.Past), PastAnswer{Answer: *v.Answer, Why: "changed", By: e.by.ID, At: e.now, Taken: v.Taken}), pastMost)
	n.Answer, n.Taken = answerOf(r, e, o, c.Reason), nil
	n.Revision, n.Updated = v.Revision+1, e.now
	out, err := conclude(r, e, v, &n, grantWish{right: rightOfActor(r, v.Goal, e.by)})
	if err != nil {
		return nil, err
	}
	stopped := []string{}
	for _, claim := range claimsFrom(r, e, v) {
		stopped = append(stopped, claim.Todo)
		out.events = append(out.events, r.releaseClaim(claim)...)
	}
	out.events = append(out.events, ungranted(r, e, v)...)
	res, _ := out.result.(map[string]any)
	res["was"], res["stopped_todos"], res["corrected"] = v.Answer.Option, stopped, v.Taken != nil || len(stopped) > 0
	return out, nil
}

// claimsFrom are the claims of those who went on from a gate's decision.
func claimsFrom(r *Reader, e *env, v *Gate) []*Claim {
	todos := slices.Clone(v.Released)
	switch lane := v.lane(); lane {
	case "":
	case "*":
		todos = append(todos, r.lastParts(under(listMax, tblIndex, v.Goal, ListHeld))...)
	default:
		todos = append(todos, r.list(v.Goal, ListHeld, lane, listMax)...)
	}
	var out []*Claim
	for _, id := range uniq(todos) {
		if c := r.Claim(v.Goal, id); c.Holds(e.steady) {
			out = append(out, c)
		}
	}
	return out
}

// ReopenGate lets an expired gate be answered after all: an owner's act.
type ReopenGate struct {
	Goal    string `json:"goal,omitempty"`
	Gate    string `json:"gate"`
	Expires int64  `json:"expires,omitempty"` // UTC ms; 0 is no date any more
}

// Name implements Command.
func (*ReopenGate) Name() string { return "gate.reopen" }

func (c *ReopenGate) decide(r *reader, e *env) (*decided, error) {
	v, err := r.needGate(c.Goal, c.Gate)
	if err != nil {
		return nil, err
	}
	if err := ownerOf(r, e, v.Goal, "reopening a gate"); err != nil {
		return nil, err
	}
	switch {
	case !v.Expired(e.now):
		return nil, Errorf(Conflict, "gate_not_expired", "%s is %s and has not expired", v.Code, v.Status).Try("loopx gate show --gate-id %s", v.ID)
	case c.Expires != 0 && c.Expires <= e.now:
		return nil, Errorf(Invalid, "bad_expires", "the gate would be expired at once")
	}
	n := *v
	n.Expires, n.Votes, n.Notified = c.Expires, nil, false
	if c.Expires == 0 {
		n.OnTimeout = "wait"
	}
	n.Revision, n.Updated = v.Revision+1, e.now
	n.Terms = termsOf(r, &n, r.Goal(v.Goal).Course, nil)
	n.Digest = n.digest()
	res := gateResult(&n)
	res["changed"] = true
	return &decided{changed: true, result: res, events: []Event{{Type: GateExtended, Goal: v.Goal, Subject: v.ID, Gate: &n}}}, nil
}
