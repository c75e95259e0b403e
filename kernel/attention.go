package kernel

import (
	"slices"
	"strconv"
)

// Attention is what a person chose about being interrupted. Times of day are
// minutes after midnight in the person's zone.
type Attention struct {
	QuietFrom int `json:"quiet_from"`
	QuietTo   int `json:"quiet_to"` // equal to QuietFrom: no quiet hours
	Digest    int `json:"digest"`
	Budget    int `json:"budget"` // interruptions a local day
	// Urgent lets P0 through quiet hours and mutes.
	Urgent bool `json:"urgent,omitempty"`
	// Mutes and Snoozes that have passed are dropped at the next change.
	Mutes   []Mute   `json:"mutes,omitempty"`
	Snoozes []Snooze `json:"snoozes,omitempty"`
}

// Mute holds back one goal, or all of them when Goal is empty. UTC ms.
type Mute struct {
	Goal  string `json:"goal,omitempty"`
	Until int64  `json:"until"`
}

// Snooze holds back one gate. UTC ms.
type Snooze struct {
	Gate  string `json:"gate"`
	Until int64  `json:"until"`
}

const (
	mutesMax   = 32
	snoozesMax = 64
	// awayMost is how far ahead a mute or snooze may reach.
	awayMost   = 30 * dayMS
	budgetMost = 1000
)

// DefaultAttention is quiet from 22:00 to 08:00, a digest at 08:00, eight
// interruptions a day.
func DefaultAttention() Attention {
	return Attention{QuietFrom: 22 * 60, QuietTo: 8 * 60, Digest: 8 * 60, Budget: 8}
}

// AttentionOf is what a person chose, or the defaults. A nil person has them too.
func (v *Person) AttentionOf() Attention {
	if v == nil || v.Attention == nil {
		return DefaultAttention()
	}
	return *v.Attention
}

// SnoozedUntil is when a gate may be brought up again, UTC ms; 0 for at once.
func (a Attention) SnoozedUntil(gate string) int64 {
	for _, s := range a.Snoozes {
		if s.Gate == gate {
			return s.Until
		}
	}
	return 0
}

// SetAttention changes when a person may be interrupted: the person's own act, or
// the workspace owner's. Nothing it does answers, hides or drops a question.
type SetAttention struct {
	Person string `json:"person"`
	// QuietFrom and QuietTo go together; Budget, Digest and Urgent stand alone.
	QuietFrom *int  `json:"quiet_from,omitempty"`
	QuietTo   *int  `json:"quiet_to,omitempty"`
	Digest    *int  `json:"digest,omitempty"`
	Budget    *int  `json:"budget,omitempty"`
	Urgent    *bool `json:"urgent,omitempty"`
	// Mute replaces the mute of the same goal; one in the past lifts it.
	Mute *Mute `json:"mute,omitempty"`
	// Snooze replaces the snooze of the same gate; one in the past lifts it.
	Snooze *Snooze `json:"snooze,omitempty"`
}

// Name implements Command.
func (*SetAttention) Name() string { return "person.attention" }

func (c *SetAttention) decide(r *reader, e *env) (*decided, error) {
	if own := (e.by.Kind == ByPerson || e.by.Kind == ByOwner) && e.by.ID == c.Person; !own {
		if err := e.owner("changing when somebody may be interrupted"); err != nil {
			return nil, err
		}
	}
	old, err := needPerson(r, c.Person)
	if err != nil {
		return nil, err
	}
	if err := c.check(r, e, old.ID); err != nil {
		return nil, err
	}
	a := old.AttentionOf()
	set(&a.QuietFrom, c.QuietFrom)
	set(&a.QuietTo, c.QuietTo)
	set(&a.Digest, c.Digest)
	set(&a.Budget, c.Budget)
	set(&a.Urgent, c.Urgent)
	a.Mutes = slices.DeleteFunc(slices.Clone(a.Mutes), func(m Mute) bool { return m.Until <= e.now || c.Mute != nil && m.Goal == c.Mute.Goal })
	a.Snoozes = slices.DeleteFunc(slices.Clone(a.Snoozes), func(s Snooze) bool { return s.Until <= e.now || c.Snooze != nil && s.Gate == c.Snooze.Gate })
	if c.Mute != nil && c.Mute.Until > e.now {
		a.Mutes = append(a.Mutes, *c.Mute)
	}
	if c.Snooze != nil && c.Snooze.Until > e.now {
		a.Snoozes = append(a.Snoozes, *c.Snooze)
	}
	if len(a.Mutes) > mutesMax || len(a.Snoozes) > snoozesMax {
		return nil, Errorf(Exhausted, "too_many_pauses", "at most %d goals are muted and %d questions snoozed at once", mutesMax, snoozesMax).Try("let some of them pass, or mute everything")
	}
	if digest(a) == digest(old.AttentionOf()) {
		return &decided{result: a}, nil
	}
	n := *old
	n.Attention, n.Revision, n.Updated = &a, old.Revision+1, e.now
	return &decided{changed: true, result: a, events: []Event{{Type: PersonChanged, Subject: n.ID, Person: &n}}}, nil
}

func (c *SetAttention) check(r *Reader, e *env, person string) error {
	if (c.QuietFrom == nil) != (c.QuietTo == nil) {
		return Errorf(Invalid, "bad_quiet", "quiet hours need a beginning and an end")
	}
	for _, m := range []*int{c.QuietFrom, c.QuietTo, c.Digest} {
		if m != nil && (*m < 0 || *m >= 24*60) {
			return Errorf(Invalid, "bad_time_of_day", "a time of day lies between 00:00 and 23:59")
		}
	}
	if c.Budget != nil && (*c.Budget < 0 || *c.Budget > budgetMost) {
		return Errorf(Invalid, "bad_budget", "a day has between 0 and %s interruptions", strconv.Itoa(budgetMost))
	}
	if c.Mute != nil {
		if c.Mute.Until > e.now+awayMost {
			return Errorf(Invalid, "too_far", "a mute reaches 30 days ahead at most")
		}
		if c.Mute.Goal != "" && (r.Goal(c.Mute.Goal) == nil || r.RoleOf(c.Mute.Goal, person) == "") {
			return Errorf(NotFound, "goal_not_found", "there is no goal %s in this workspace", show(c.Mute.Goal)).Try("loopx goal list")
		}
	}
	if c.Snooze != nil {
		goal := r.GoalOfGate(c.Snooze.Gate)
		switch {
		case c.Snooze.Until > e.now+awayMost:
			return Errorf(Invalid, "too_far", "a question is put off for 30 days at most")
		case goal == "" || r.RoleOf(goal, person) == "":
			return Errorf(NotFound, "gate_not_found", "there is no gate %s in this workspace", show(c.Snooze.Gate)).Try("loopx gate list")
		}
		if g := r.Gate(goal, c.Snooze.Gate); g == nil || g.Status != GateOpen {
			return Errorf(Conflict, "gate_closed", "that question is not open any more")
		}
	}
	return nil
}
