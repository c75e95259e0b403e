package view

import "loopx/kernel"

// valueRows bounds what one answer looks at of each kind.
const valueRows = 5000

// Value is what a goal gave and cost in a window. It is four fields and never
// one number: what they weigh against each other is for people to say.
type Value struct {
	Goal   string `json:"goal"`
	Window int64  `json:"window_ms,omitempty"` // default 7 days, at most 366
}

// ValueView is the answer to Value. More says that there was more than was
// looked at, so that every number is at least this.
type ValueView struct {
	GoalID    string    `json:"goal_id"`
	AsOf      int64     `json:"as_of"`
	Since     int64     `json:"since"`
	Output    Output    `json:"output"`
	Quality   Quality   `json:"quality"`
	Tokens    TokenCost `json:"token_cost"`
	Attention Attention `json:"attention_cost"`
	More      bool      `json:"more"`
}

// Output is what was delivered.
type Output struct {
	Done      int `json:"todos_done"`
	Delivered int `json:"accountable_writebacks"`
	Primary   int `json:"primary_outcomes"`
	Slots     int `json:"slots_spent"`
}

// Quality is what checks and people said of it. It says nothing about what
// nobody checked.
type Quality struct {
	Validated   int `json:"validated"`    // completions whose declared validation passed
	Unvalidated int `json:"not_declared"` // completions without one
	Proven      int `json:"with_evidence"`
	NoProgress  int `json:"no_progress_writebacks"`
	Approved    int `json:"approved"` // by people
	Rejected    int `json:"rejected"`
}

// TokenCost is what hosts counted. State is unknown when none did, partial when
// some payments came without a count, else counted.
type TokenCost struct {
	State  string `json:"state"`
	Tokens *int64 `json:"tokens,omitempty"`
}

// see adds one payment.
func (c *TokenCost) see(tokens *int64, first bool) {
	if tokens != nil {
		sum := *tokens
		if c.Tokens != nil {
			sum += *c.Tokens
		}
		c.Tokens = &sum
	}
	switch {
	case first && tokens != nil:
		c.State = "counted"
	case !first && (tokens == nil) != (c.State == "unknown"):
		c.State = "partial"
	}
}

// Attention is what it asked of people.
type Attention struct {
	Asked     int `json:"gates_opened"`
	Answered  int `json:"gates_answered"`
	Protected int `json:"protected_gates"`
	Waiting   int `json:"open_now"`
	// WaitMS is how long the answered ones waited, together.
	WaitMS int64 `json:"wait_ms"`
}

// Name implements Query.
func (*Value) Name() string { return "value" }

func (q *Value) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	const day = int64(24 * 3_600_000)
	window := q.Window
	if window <= 0 {
		window = 7 * day
	}
	window = min(window, 366*day)
	out := ValueView{GoalID: g.ID, AsOf: r.Now(), Since: r.Now() - window, Tokens: TokenCost{State: "unknown"}}
	out.work(r, g.ID)
	out.people(r, g.ID)
	return out, nil
}

func (v *ValueView) work(r *kernel.Reader, goal string) {
	for i, run := range r.Runs(goal, valueRows) {
		if run.At < v.Since {
			break
		}
		v.More = v.More || i == valueRows-1
		if run.Accountable {
			v.Output.Delivered++
			if run.Outcome == kernel.PrimaryOutcome {
				v.Output.Primary++
			}
		} else if run.Outcome == kernel.OutcomeGap {
			v.Quality.NoProgress++
		}
	}
	for i, t := range r.List(goal, kernel.ListDone, "", valueRows) {
		if t.Updated < v.Since {
			break
		}
		v.More = v.More || i == valueRows-1
		if t.Done == nil {
			continue
		}
		v.Output.Done++
		if t.Done.Validated != "" {
			v.Quality.Validated++
		} else {
			v.Quality.Unvalidated++
		}
		if len(t.Evidence) > 0 {
			v.Quality.Proven++
		}
	}
	first := true
	for i, s := range r.Spends(goal, r.Steady()-(v.AsOf-v.Since), valueRows) {
		v.More = v.More || i == valueRows-1
		if s.Voided == 0 {
			v.Output.Slots += s.Slots
			v.Tokens.see(s.Tokens, first)
			first = false
		}
	}
}

func (v *ValueView) people(r *kernel.Reader, goal string) {
	v.Attention.Waiting = r.Counts(goal).GatesOpen
	for i, g := range r.Gates(goal, valueRows) {
		v.More = v.More || i == valueRows-1
		if g.Created >= v.Since {
			v.Attention.Asked++
			if g.Protected() {
				v.Attention.Protected++
			}
		}
		if g.Answer == nil || g.Answer.At < v.Since {
			continue
		}
		v.Attention.Answered++
		v.Attention.WaitMS += max(g.Answer.At-g.Created, 0)
		switch g.Answer.Outcome {
		case kernel.Approve:
			v.Quality.Approved++
		case kernel.Reject:
			v.Quality.Rejected++
		}
	}
}
