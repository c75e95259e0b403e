package cli

import (
	"fmt"
	"time"

	"loopx/kernel/view"
)

// showValue prints the four value signals of a goal side by side.
func showValue(a *app, goal, window string) error {
	ms, err := span("--window", window)
	if err != nil {
		return err
	}
	v, raw, err := askRaw[view.ValueView](a, &view.Value{Goal: goal, Window: ms})
	if err != nil {
		return err
	}
	return a.out(newFields().add(raw), func() string {
		o, q, w := v.Output, v.Quality, v.Attention
		tokens := v.Tokens.State
		if v.Tokens.Tokens != nil {
			tokens = fmt.Sprintf("%d (%s)", *v.Tokens.Tokens, v.Tokens.State)
		}
		text := a.wrapped([][]string{
			{"Output", fmt.Sprintf("%s done, %s accepted as delivered, %s", count(o.Done, "todo", "todos"), count(o.Delivered, "writeback", "writebacks"), count(o.Slots, "slot", "slots"))},
			{"Quality", fmt.Sprintf("%d validated, %d without a validation, %d with evidence, %d approved, %d rejected", q.Validated, q.Unvalidated, q.Proven, q.Approved, q.Rejected)},
			{"Tokens", tokens},
			{"Attention", fmt.Sprintf("%s, %d answered after %s together, %d open", count(w.Asked, "question", "questions"), w.Answered, (time.Duration(w.WaitMS) * time.Millisecond).Round(time.Minute), w.Waiting)},
		})
		if v.More {
			text += "There was more than was counted.\n"
		}
		return text
	})
}
