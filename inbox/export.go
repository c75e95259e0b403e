package inbox

import (
	"cmp"
	"slices"

	"loopx/kernel"
	"loopx/kernel/store"
)

// ExportPerson is what is kept of one person: who they are here, what they said,
// and what they decided. What others said to or about them is not theirs, and is
// not in it.
type ExportPerson struct {
	Person string `json:"person"`
}

// Name implements Query.
func (*ExportPerson) Name() string { return "person_export" }

// PersonExport is the answer to ExportPerson, the oldest rows first.
type PersonExport struct {
	Kind      string             `json:"kind"` // person_export
	Version   int                `json:"export_version"`
	AsOf      int64              `json:"as_of"`
	Person    kernel.Person      `json:"person"`
	Accounts  []kernel.Principal `json:"accounts"`
	Roles     []kernel.Role      `json:"roles"`
	Messages  []Message          `json:"messages"`
	Decisions []PersonDecision   `json:"decisions"`
	Asked     []PersonQuestion   `json:"asked"`
	// Cut names the parts that were longer than an export takes.
	Cut []string `json:"cut"`
}

// PersonDecision is an answer or a vote of the person on a gate.
type PersonDecision struct {
	Goal     string `json:"goal_id"`
	Gate     string `json:"gate_id"`
	Code     string `json:"code"`
	Question string `json:"question"`
	Option   string `json:"option"`
	Outcome  string `json:"outcome,omitempty"` // of an answer
	Reason   string `json:"reason,omitempty"`
	Surface  string `json:"surface"`
	At       int64  `json:"at"`
	// State is decided, vote, pending, or why a past one holds no longer.
	State string `json:"state"`
}

// PersonQuestion is a gate that the person opened.
type PersonQuestion struct {
	Goal     string `json:"goal_id"`
	Gate     string `json:"gate_id"`
	Code     string `json:"code"`
	Question string `json:"question"`
	Why      string `json:"why,omitempty"`
	At       int64  `json:"at"`
}

// Bounds of one person's export.
const (
	personRows  = 10_000
	personBytes = 32 << 20
	personGoals = 10_000
)

// Answer implements Query.
func (q *ExportPerson) Answer(r *kernel.Reader) (any, error) {
	p := r.Person(q.Person)
	if p == nil && q.Person == "owner" {
		p = &kernel.Person{ID: "owner", Owner: true} // nobody has a name yet
	}
	if p == nil {
		return nil, kernel.Errorf(kernel.NotFound, "person_not_found", "no such person is known here").Try("loopx person list")
	}
	out := PersonExport{Kind: "person_export", Version: 1, AsOf: r.Now(), Person: *p, Accounts: []kernel.Principal{}, Roles: []kernel.Role{},
		Messages: []Message{}, Decisions: []PersonDecision{}, Asked: []PersonQuestion{}, Cut: []string{}}
	for _, v := range r.PrincipalsOf(p.ID) {
		out.Accounts = append(out.Accounts, *v)
	}
	for _, v := range r.RolesBy(p.ID) {
		out.Roles = append(out.Roles, *v)
	}
	if err := out.said(r, p.ID); err != nil {
		return nil, err
	}
	slices.SortFunc(out.Messages, func(a, b Message) int { return cmp.Compare(a.Order, b.Order) })
	out.decided(r, p.ID)
	return out, r.Err()
}

// said collects the person's messages, the oldest first.
func (x *PersonExport) said(r *kernel.Reader, person string) error {
	mine := &ForgetMessages{Person: person}
	size := 0
	rg := store.Under(500, tblAge)
	for {
		var ids []string
		var last []byte
		err := r.Tx().Scan(rg, func(k, _ []byte) bool {
			ids = append(ids, store.LastPart(k))
			last = append(last[:0], k...)
			return true
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			v, err := LoadMessage(r.Tx(), id)
			if err != nil {
				return err
			}
			if v == nil || !mine.of(r, v) {
				continue
			}
			if size += len(v.Text) + len(v.Now) + 300; len(x.Messages) == personRows || size > personBytes {
				x.Cut = append(x.Cut, "messages")
				return nil
			}
			x.Messages = append(x.Messages, *v)
		}
		if len(ids) < rg.Limit {
			return nil
		}
		rg = rg.After(last)
	}
}

// decided collects the person's decisions and questions, goal by goal.
func (x *PersonExport) decided(r *kernel.Reader, person string) {
	for _, g := range r.Goals(personGoals) {
		gates := r.Gates(g.ID, personRows+1)
		if len(gates) > personRows {
			x.Cut, gates = append(x.Cut, "decisions in "+g.ID), gates[:personRows]
		}
		for i := len(gates) - 1; i >= 0; i-- { // they come newest first
			x.ofGate(gates[i], person)
		}
	}
}

func (x *PersonExport) ofGate(v *kernel.Gate, person string) {
	add := func(a *kernel.GateAnswer, state string) {
		if a != nil && a.Person == person {
			x.Decisions = append(x.Decisions, PersonDecision{Goal: v.Goal, Gate: v.ID, Code: v.Code, Question: v.Question, Option: a.Option, Outcome: a.Outcome, Reason: a.Reason, Surface: a.Surface, At: a.At, State: state})
		}
	}
	for i := range v.Past {
		add(&v.Past[i].Answer, v.Past[i].Why)
	}
	for _, o := range v.Votes {
		if o.Person == person {
			x.Decisions = append(x.Decisions, PersonDecision{Goal: v.Goal, Gate: v.ID, Code: v.Code, Question: v.Question, Option: o.Option, Reason: o.Reason, Surface: o.Surface, At: o.At, State: "vote"})
		}
	}
	add(v.Pending, "pending")
	add(v.Answer, "decided")
	if v.AskedBy == "person:"+person {
		x.Asked = append(x.Asked, PersonQuestion{Goal: v.Goal, Gate: v.ID, Code: v.Code, Question: v.Question, Why: v.Why, At: v.Created})
	}
}
