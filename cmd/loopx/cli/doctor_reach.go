package cli

import (
	"slices"

	"loopx/kernel/view"
)

// reachChecks name the decisions that nobody can be told of, with what mends that.
// They look only where nothing else is wrong with the state.
func (a *app) reachChecks(before []check) (out []check) {
	if slices.ContainsFunc(before, func(c check) bool {
		return c.State == stateBad && c.Name != "connection" && c.Name != "config" || c.Name == "file" && c.State != stateOK
	}) {
		return nil
	}
	v, err := ask[view.StatusView](a, &view.Status{})
	if err != nil {
		return nil // what is wrong there has a line of its own
	}
	for _, i := range v.NeedsYou {
		if i.Unreachable != "" {
			out = append(out, check{"decision", stateNote, i.Code + " of " + i.Goal + " is " + i.Note, i.Fix})
		}
	}
	return out
}
