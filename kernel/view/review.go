package view

import (
	"fmt"
	"strings"

	"loopx/kernel"
)

// Bounds of a review packet.
const (
	reviewRows   = 20
	reviewMS     = 7 * 24 * 60 * 60 * 1000
	reviewAgents = 16
	// evidenceOldMS is the age from which evidence without a date of its own is
	// called old.
	evidenceOldMS = 24 * 60 * 60 * 1000
)

// Review is what an owner looks at before deciding: what is asked, on what
// evidence, what changed, what is at risk, and what each agent does next.
type Review struct {
	Goal string `json:"goal"`
	// Since, UTC ms: changes from then on. Zero: seven days.
	Since int64 `json:"since,omitempty"`
}

// ReviewView is the answer to Review. Revision is the journal's: a decision taken
// on it is taken on this.
type ReviewView struct {
	GoalID    string           `json:"goal_id"`
	Title     string           `json:"title"`
	Status    string           `json:"status"`
	AsOf      int64            `json:"as_of"`
	Revision  uint64           `json:"revision"`
	Since     int64            `json:"since"`
	Objective string           `json:"objective"`
	Course    uint64           `json:"objective_revision"`
	NonGoals  []string         `json:"non_goals"`
	Limit     string           `json:"limit"`
	Decisions []Gate           `json:"decisions"`
	Asks      []Todo           `json:"asks"`
	Changed   []ReviewChange   `json:"changed"`
	Evidence  []ReviewEvidence `json:"evidence"`
	Risks     []ReviewRisk     `json:"risks"`
	Spend     kernel.Quota     `json:"spend"`
	Next      []ReviewNext     `json:"next"`
	// More names the parts that were longer than a packet holds.
	More []string `json:"more"`
}

// ReviewChange is one turn's outcome.
type ReviewChange struct {
	At       int64    `json:"at"`
	Agent    string   `json:"agent_id"`
	Todo     string   `json:"todo_id,omitempty"`
	Title    string   `json:"title,omitempty"`
	What     string   `json:"what"`
	Outcome  string   `json:"delivery_outcome"`
	Note     string   `json:"note,omitempty"`
	Evidence []string `json:"evidence"`
}

// ReviewEvidence is evidence with its freshness: fresh, old (a day and more) or
// stale (past its own date, so that it satisfies nothing).
type ReviewEvidence struct {
	Evidence
	Fresh string `json:"freshness"`
}

// ReviewRisk is something a person may want to look into.
type ReviewRisk struct {
	Kind    string `json:"kind"` // gate_expired, gate_stale_evidence, lease_lost, monitor_overdue, decided_against, waiting_long, no_evidence, quota
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// ReviewNext is what an agent would do now.
type ReviewNext struct {
	Agent  string `json:"agent_id"`
	Kind   string `json:"kind"`
	Todo   string `json:"todo_id,omitempty"`
	Title  string `json:"title,omitempty"`
	Reason string `json:"reason"`
}

// Name implements Query.
func (*Review) Name() string { return "review" }

func (q *Review) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	v := &ReviewView{
		GoalID: g.ID, Title: g.Title, Status: g.Shown(), AsOf: r.Now(), Revision: r.Head().Seq, Since: q.Since,
		Objective: g.Objective, Course: g.Course, NonGoals: append([]string{}, g.NonGoals...), Limit: g.Limit,
		Decisions: []Gate{}, Asks: []Todo{}, Changed: []ReviewChange{}, Evidence: []ReviewEvidence{}, Risks: []ReviewRisk{}, Next: []ReviewNext{}, More: []string{},
	}
	if v.Since == 0 {
		v.Since = r.Now() - reviewMS
	}
	v.Spend = r.Quota(g, "")
	v.decisions(r, g)
	v.changed(r, g)
	v.evidence(r, g)
	v.risks(r, g)
	return v, v.next(r, g)
}

func (v *ReviewView) decisions(r *kernel.Reader, g *kernel.Goal) {
	open := r.OpenGates(g.ID, reviewRows+1)
	for _, gate := range open[:min(len(open), reviewRows)] {
		v.Decisions = append(v.Decisions, GateOf(r, gate))
	}
	asks := r.List(g.ID, kernel.ListAsk, "", reviewRows+1)
	for _, t := range asks[:min(len(asks), reviewRows)] {
		v.Asks = append(v.Asks, TodoOf(r, t))
	}
	v.cut("decisions", len(open))
	v.cut("asks", len(asks))
}

func (v *ReviewView) cut(part string, n int) {
	if n > reviewRows {
		v.More = append(v.More, part)
	}
}

func (v *ReviewView) changed(r *kernel.Reader, g *kernel.Goal) {
	for _, run := range r.Runs(g.ID, reviewRows+1) {
		if run.At < v.Since {
			return
		}
		if len(v.Changed) == reviewRows {
			v.cut("changed", reviewRows+1)
			return
		}
		c := ReviewChange{At: run.At, Agent: run.Agent, Todo: run.Todo, What: run.Classification, Outcome: run.Outcome, Note: run.Note, Evidence: append([]string{}, run.Evidence...)}
		if t := r.Todo(g.ID, run.Todo); run.Todo != "" && t != nil {
			c.Title = t.Title
		}
		v.Changed = append(v.Changed, c)
	}
}

func (v *ReviewView) evidence(r *kernel.Reader, g *kernel.Goal) {
	list := r.NewestEvidence(g.ID, reviewRows+1)
	for _, e := range list[:min(len(list), reviewRows)] {
		x := ReviewEvidence{Evidence: EvidenceOf(r, e), Fresh: "fresh"}
		switch {
		case x.Stale:
			x.Fresh = "stale"
		case r.Now()-e.Observed > evidenceOldMS:
			x.Fresh = "old"
		}
		v.Evidence = append(v.Evidence, x)
	}
	v.cut("evidence", len(list))
}

// risks names what a person would not see by looking at what is asked alone.
func (v *ReviewView) risks(r *kernel.Reader, g *kernel.Goal) {
	risk := func(kind, subject, format string, a ...any) {
		if len(v.Risks) < reviewRows {
			v.Risks = append(v.Risks, ReviewRisk{kind, subject, fmt.Sprintf(format, a...)})
		}
	}
	for _, gate := range v.Decisions {
		if gate.Status == "expired" {
			risk("gate_expired", gate.Code, "%s has expired; that grants nothing, and what it held back still waits", gate.Code)
		}
		for _, e := range gate.Evidence {
			if e.Stale {
				risk("gate_stale_evidence", gate.Code, "%s rests on stale evidence: %s", gate.Code, e.Summary)
			}
			if e.Loose && gate.Protected {
				risk("gate_loose_evidence", gate.Code, "%s rests on what may have changed since: %s", gate.Code, e.Summary)
			}
		}
		if r.Now()-gate.Asked > evidenceOldMS {
			risk("waiting_long", gate.Code, "%s waits since %d h", gate.Code, (r.Now()-gate.Asked)/3_600_000)
		}
	}
	for _, t := range r.List(g.ID, kernel.ListHeld, "", reviewRows) {
		if c := r.Claim(g.ID, t.ID); !c.Holds(r.Steady()) {
			risk("lease_lost", t.ID, "the lease of %s ran out on: %s", c.Agent, t.Title)
		}
	}
	for _, t := range r.List(g.ID, kernel.ListBlocked, "", reviewRows) {
		risk("decided_against", t.ID, "decided against, and still open: %s", t.Title)
	}
	for _, t := range r.List(g.ID, kernel.ListMonitor, "", reviewRows) {
		if late := r.Now() - t.Watch.NextDue; late > t.Watch.Cadence {
			risk("monitor_overdue", t.ID, "nobody looked in time: %s", t.Title)
		}
	}
	for _, t := range r.List(g.ID, kernel.ListDone, "", reviewRows) {
		if t.Status == kernel.TodoDone && t.Class == kernel.Work && len(t.Evidence) == 0 && t.Done != nil && t.Done.At >= v.Since {
			risk("no_evidence", t.ID, "done without evidence: %s", t.Title)
		}
	}
	if v.Spend.Free() <= 0 && g.Allowed > 0 {
		risk("quota", g.ID, "no slot is left %s: %d of %d are spent or reserved", WindowWords(v.Spend.Window), v.Spend.Allowed-v.Spend.Free(), v.Spend.Allowed)
	}
}

func (v *ReviewView) next(r *kernel.Reader, g *kernel.Goal) error {
	agents := r.Agents(g.ID)
	for _, a := range agents[:min(len(agents), reviewAgents)] {
		d, err := r.Decide(kernel.Caller{Goal: g.ID, Agent: a.ID})
		if err != nil {
			return err
		}
		n := ReviewNext{Agent: a.ID, Kind: d.Kind, Reason: d.Reason}
		if d.Selected != nil {
			n.Todo, n.Title = d.Selected.ID, d.Selected.Title
		}
		v.Next = append(v.Next, n)
	}
	if len(agents) > reviewAgents {
		v.More = append(v.More, "next")
	}
	return nil
}

// Words is a change's kind for people.
func (c *ReviewChange) Words() string { return strings.ReplaceAll(c.What, "_", " ") }
