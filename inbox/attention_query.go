package inbox

import (
	"slices"

	"loopx/kernel"
)

// Attention says what a person's attention is spent on, and when they may be
// interrupted.
type Attention struct {
	Person   string `json:"person,omitempty"` // default owner
	Goal     string `json:"goal,omitempty"`   // default all of them
	WindowMS int64  `json:"window_ms,omitempty"`
}

// Name implements Query.
func (*Attention) Name() string { return "attention" }

// AttentionView is the answer to Attention.
type AttentionView struct {
	Person   string           `json:"person"`
	Zone     string           `json:"zone,omitempty"` // empty: that of the machine
	Choice   kernel.Attention `json:"choice"`
	Since    int64            `json:"since"`
	AsOf     int64            `json:"as_of"`
	WindowMS int64            `json:"window_ms"`
	// Questions were asked of the person, Messages are the times something made a
	// sound for them, Repeats those after the first of a question.
	Questions int `json:"questions"`
	Messages  int `json:"messages"`
	Repeats   int `json:"repeats"`
	Open      int `json:"open"`
	// Answered by the person, and how long that took, half of them less (ms).
	Answered int   `json:"answered"`
	MedianMS int64 `json:"median_answer_ms,omitempty"`
	// Finished todos, and what each cost in messages.
	Finished   int     `json:"finished_todos"`
	PerTodo    float64 `json:"messages_per_finished_todo,omitempty"`
	Incomplete bool    `json:"incomplete,omitempty"` // older records were not looked at
}

const (
	attentionWindow  = 7 * 24 * 3600 * 1000
	attentionRecords = 20_000
	soundLevel       = 2 // attention.Message
)

// Answer implements Query.
func (q *Attention) Answer(r *kernel.Reader) (any, error) {
	out := AttentionView{Person: q.Person, AsOf: r.Now(), WindowMS: q.WindowMS}
	if out.Person == "" {
		out.Person = "owner"
	}
	if out.WindowMS <= 0 {
		out.WindowMS = attentionWindow
	}
	out.Since = r.Now() - out.WindowMS
	if q.Goal != "" && r.Goal(q.Goal) == nil {
		return nil, noGoal(q.Goal)
	}
	p := r.Person(out.Person)
	if p == nil && out.Person != "owner" {
		return nil, kernel.Errorf(kernel.NotFound, "person_not_found", "no such person is known here").Try("loopx person list")
	}
	out.Choice = p.AttentionOf()
	if p != nil {
		out.Zone = p.Zone
	}
	gates := map[string]bool{}
	var took []int64
	head := r.Head().Seq
	after := uint64(0)
	if head > attentionRecords {
		after, out.Incomplete = head-attentionRecords, true
	}
	for after < head {
		page := r.Journal(after, 500)
		if len(page) == 0 {
			break
		}
		for _, rec := range page {
			after = rec.Seq
			if rec.At < out.Since {
				out.Incomplete = false // the window lies behind what was skipped
				continue
			}
			for i := range rec.Events {
				e := &rec.Events[i]
				if q.Goal != "" && e.Goal != q.Goal {
					continue
				}
				switch {
				case e.Type == kernel.GateOpened && e.Gate != nil:
					gates[e.Gate.ID] = true
				case e.Type == kernel.TodoCompleted:
					out.Finished++
				case e.Type == kernel.GateAnsweredEvent && e.Gate != nil && e.Gate.Answer != nil && e.Gate.Answer.Person == out.Person:
					out.Answered++
					took = append(took, e.Gate.Answer.At-e.Gate.Created)
				}
			}
		}
	}
	for id := range gates {
		if err := out.asked(r, id); err != nil {
			return nil, err
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		out.MedianMS = took[len(took)/2]
	}
	if out.Finished > 0 {
		out.PerTodo = float64(out.Messages) / float64(out.Finished)
	}
	return out, r.Err()
}

func (v *AttentionView) asked(r *kernel.Reader, gate string) error {
	told, err := ToldOf(r.Tx(), v.Person, gate)
	if err != nil || len(told) == 0 {
		return err
	}
	v.Questions++
	if g := r.Gate(r.GoalOfGate(gate), gate); g != nil && g.Status == kernel.GateOpen {
		v.Open++
	}
	sounds := 0
	for _, t := range told {
		if t.Level >= soundLevel {
			sounds++
		}
	}
	v.Messages += sounds
	v.Repeats += max(0, sounds-1)
	return nil
}
