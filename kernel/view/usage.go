package view

import "loopx/kernel"

// usageRows bounds the records and refusals that Usage reads.
const usageRows = 20_000

// Usage counts what was done here, from the journal. It is for the people at
// this machine: nothing is sent anywhere.
type Usage struct{}

// UsageView is the answer to Usage.
type UsageView struct {
	AsOf int64 `json:"as_of"`
	// Records counted, the first of them written at Since; More says that older
	// ones were not looked at.
	Records int   `json:"records"`
	Since   int64 `json:"since,omitempty"`
	More    bool  `json:"more"`
	// Commands by name, decisions of turns by rule and those of gates by outcome,
	// refused acts by code.
	Commands  map[string]int `json:"commands"`
	Decisions map[string]int `json:"decisions"`
	Gates     map[string]int `json:"gates"`
	Refusals  map[string]int `json:"refusals"`
	// Sent is never true.
	Sent bool `json:"sent"`
}

// Name implements Query.
func (*Usage) Name() string { return "usage" }

func (*Usage) run(r *kernel.Reader) (any, error) {
	out := UsageView{AsOf: r.Now(), Commands: map[string]int{}, Decisions: map[string]int{}, Gates: map[string]int{}, Refusals: map[string]int{}}
	head := r.Head().Seq
	after := uint64(0)
	if head > usageRows {
		after, out.More = head-usageRows, true
	}
	for after < head {
		page := r.Journal(after, 500)
		if len(page) == 0 {
			break
		}
		for _, rec := range page {
			if out.Records++; out.Records == 1 {
				out.Since = rec.At
			}
			out.count(rec)
			after = rec.Seq
		}
	}
	for _, d := range r.Denials(usageRows) {
		out.Refusals[d.Code]++
	}
	return out, nil
}

func (u *UsageView) count(rec *kernel.Record) {
	u.Commands[rec.Command]++
	for i := range rec.Events {
		switch e := &rec.Events[i]; {
		case e.Type == kernel.TurnOpened && e.Turn != nil:
			u.Decisions[e.Turn.Rule]++
		case e.Type == kernel.GateAnsweredEvent && e.Gate != nil && e.Gate.Answer != nil:
			u.Gates[e.Gate.Answer.Outcome]++
		}
	}
}
