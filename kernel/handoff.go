package kernel

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"loopx/kernel/store"
)

// HandoffMost is how many characters a handoff has at most.
const HandoffMost = 1800

// Attempts lists the newest writebacks about one todo, newest first.
func (r *Reader) Attempts(goal, todo string, limit int) []*Run {
	var out []*Run
	for _, seq := range r.lastParts(under(limit, tblRunTodo, goal, todo).Last()) {
		if run := get[Run](r, tblRun, goal, seq); run != nil {
			out = append(out, run)
		}
	}
	return out
}

// Handoff is what an agent reads first about a todo that somebody else worked on:
// the objective, the todo, the last attempts with outcome and evidence, the open
// gates, what to read, and when to stop. It has at most HandoffMost characters;
// attempts give way first.
func Handoff(r *Reader, g *Goal, v *Todo, agent string) string {
	head := []string{
		fmt.Sprintf("Objective (revision %d): %s", g.Course, oneLine(g.Objective, 240)),
		fmt.Sprintf("Todo %s P%d, %s: %s", v.ID, v.Priority, handoffState(r, v), oneLine(v.Title, 240)),
	}
	if v.Note != "" {
		head = append(head, "Note: "+oneLine(v.Note, 160))
	}
	gates := []string{}
	waits := r.Blocks(g.ID, v.ID)
	for id, state := range r.LaneBlocks(g.ID, agent) {
		waits[id] = state
	}
	for _, id := range keys(waits) {
		if o := r.Gate(g.ID, id); o != nil && len(gates) < 3 {
			gates = append(gates, fmt.Sprintf("Gate %s (%s): %s", o.Code, waits[id], oneLine(o.Question, 120)))
		}
	}
	if len(gates) == 0 {
		gates = []string{"Open gates: none"}
	}
	slices.Sort(gates)
	tail := append(gates, "Read first: "+strings.Join(handoffReads(r, g, v), ", "), handoffStop(v))
	left := HandoffMost - length(head) - length(tail) - utf8.RuneCountInString("Attempts: none\n")
	attempts := []string{}
	for _, run := range r.Attempts(g.ID, v.ID, 8) {
		line := handoffAttempt(r, g.ID, run)
		n := utf8.RuneCountInString(line) + 1
		if n > left && len(attempts) > 0 {
			break
		}
		if n > left { // of the newest one at least the beginning is shown
			line = cutRunes(line, left-2) + "…"
		}
		left -= n
		attempts = append(attempts, line)
	}
	if len(attempts) == 0 {
		attempts = []string{"Attempts: none"}
	} else {
		attempts = append([]string{"Attempts:"}, attempts...)
	}
	return strings.Join(append(append(head, attempts...), tail...), "\n")
}

func length(lines []string) int {
	n := 0
	for _, s := range lines {
		n += utf8.RuneCountInString(s) + 1
	}
	return n
}

// oneLine is text of others as part of a line: its first line, bounded.
func oneLine(s string, most int) string {
	short := firstLine(s, most)
	if short != strings.TrimSpace(s) {
		short = cutRunes(short, most-1) + "…"
	}
	return short
}

func handoffState(r *Reader, v *Todo) string {
	c := r.Claim(v.Goal, v.ID)
	switch {
	case v.Status != TodoOpen:
		return v.Status
	case c.Holds(r.steady):
		return "held by " + c.Agent
	case c != nil && c.Agent != "":
		return "the lease of " + c.Agent + " ran out"
	}
	return "not taken"
}

func handoffAttempt(r *Reader, goal string, run *Run) string {
	line := fmt.Sprintf("- %s %s: %s", rfc3339(run.At), run.Agent, run.Outcome)
	if run.Note != "" {
		line += ", " + oneLine(run.Note, 120)
	}
	if run.Next != "" {
		line += "; next: " + oneLine(run.Next, 120)
	}
	for i, id := range run.Evidence {
		e := r.Evidence(goal, id)
		if e == nil || i == 2 {
			break
		}
		old := ""
		if e.Stale(r.now) {
			old = ", out of date"
		}
		line += fmt.Sprintf("; %s %s%s: %s", e.ID, e.Kind, old, oneLine(e.Summary, 100))
	}
	return line
}

// handoffReads names what is to be read before working, by ids.
func handoffReads(r *Reader, g *Goal, v *Todo) []string {
	out := []string{}
	if v.Body != "" {
		out = append(out, "the text of "+v.ID)
	}
	if len(g.NonGoals) > 0 {
		out = append(out, "the non-goals of "+g.ID)
	}
	for _, id := range keepLast(v.Evidence, 4) {
		if e := r.Evidence(g.ID, id); e != nil && (e.Kind == "artifact" || e.Kind == "link") {
			out = append(out, e.ID)
		}
	}
	for _, o := range r.Gates(g.ID, 50) {
		if o.Status == GateAnswered && len(out) < 8 {
			for _, id := range append([]string{}, o.Blocks.Todos...) {
				if id == v.ID {
					out = append(out, o.Code+" ("+oneLine(o.Answer.Label, 30)+")")
				}
			}
		}
	}
	if len(out) == 0 {
		return []string{v.ID}
	}
	return out
}

func handoffStop(v *Todo) string {
	stop := "Stop when it is done with evidence, when a person must decide, or when the lease is lost; never work around a gate."
	if len(v.Validation) > 0 {
		stop = "Stop when its validation passes, when a person must decide, or when the lease is lost; never work around a gate."
	}
	return stop
}

// handedOver: another agent wrote about the todo last, or its turn did not end
// well, so that whoever works on it now needs to know.
func handedOver(r *Reader, d *Decision) bool {
	if d.Selected == nil || d.Kind != "deliver" && d.Kind != "settle" {
		return false
	}
	last := r.Attempts(d.Goal, d.Selected.ID, 1)
	return len(last) > 0 && (last[0].Agent != d.Agent || d.Settle != nil)
}

// handoffBrief is the handoff as the first thing in a decision, which has less
// room: the last attempt and where the rest is.
func handoffBrief(r *Reader, d *Decision) string {
	last := r.Attempts(d.Goal, d.Selected.ID, 1)
	return "Handoff of " + d.Selected.ID + ": " + strings.TrimPrefix(handoffAttempt(r, d.Goal, last[0]), "- ") + ". In full: loopx review-packet --handoff-only --goal-id " + d.Goal + " --todo-id " + d.Selected.ID
}

// applyRunTodo keeps which writebacks are about a todo.
func applyRunTodo(t *tables, v *Run) {
	if v.Todo != "" {
		t.mark("", tblRunTodo, v.Goal, v.Todo, store.U64(v.Seq))
	}
}
