package view

import (
	"slices"
	"strings"

	"loopx/kernel"
)

// Bounds of an export: rows of one kind, and bytes of text of all of them.
const (
	exportRows  = 10_000
	exportBytes = 32 << 20
)

// Export is one goal with all that belongs to it, as one document. No lease
// token, no link code and no chat account stands in it.
type Export struct {
	Goal string `json:"goal"`
	// Public leaves out what only this machine needs: the program that validates
	// a todo. Whether a text looks private is for kernel/boundary to say.
	Public bool `json:"public,omitempty"`
}

// ExportView is the answer to Export, the oldest rows first.
type ExportView struct {
	Kind     string         `json:"kind"` // goal_export
	Version  int            `json:"export_version"`
	GoalID   string         `json:"goal_id"`
	AsOf     int64          `json:"as_of"`
	Head     kernel.Head    `json:"journal_head"`
	Public   bool           `json:"public"`
	Goal     kernel.Goal    `json:"goal"`
	Agents   []kernel.Agent `json:"agents"`
	Todos    []Todo         `json:"todos"`
	Gates    []Gate         `json:"gates"`
	Evidence []Evidence     `json:"evidence"`
	Runs     []kernel.Run   `json:"runs"`
	// Cut names the parts that were longer than an export takes.
	Cut []string `json:"cut"`
}

// Name implements Query.
func (*Export) Name() string { return "export" }

func (q *Export) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	out := ExportView{
		Kind: "goal_export", Version: 1, GoalID: g.ID, AsOf: r.Now(), Head: r.Head(), Public: q.Public, Goal: *g,
		Agents: []kernel.Agent{}, Todos: []Todo{}, Gates: []Gate{}, Evidence: []Evidence{}, Runs: []kernel.Run{}, Cut: []string{},
	}
	for _, v := range r.Agents(g.ID) {
		out.Agents = append(out.Agents, *v)
	}
	e := &exporter{r: r, out: &out, left: exportBytes}
	e.todos(g.ID)
	e.gates(g.ID)
	for _, v := range within(e, "evidence", r.NewestEvidence(g.ID, exportRows+1), func(v *kernel.Evidence) int { return len(v.Summary) + len(v.Ref) }) {
		out.Evidence = append(out.Evidence, EvidenceOf(r, v))
	}
	for _, v := range within(e, "runs", r.Runs(g.ID, exportRows+1), func(v *kernel.Run) int { return len(v.Note) + len(v.Next) }) {
		out.Runs = append(out.Runs, *v)
	}
	return out, nil
}

// exporter fills an export and counts down the bytes it may still hold.
type exporter struct {
	r    *kernel.Reader
	out  *ExportView
	left int
}

func (e *exporter) todos(goal string) {
	var all []*kernel.Todo
	for _, list := range everyList() {
		all = append(all, e.r.List(goal, list, "", exportRows+1)...)
	}
	slices.SortFunc(all, func(a, b *kernel.Todo) int { // newest first, as the other parts are read
		if a.Created != b.Created {
			return int(max(min(b.Created-a.Created, 1), -1))
		}
		return strings.Compare(b.ID, a.ID)
	})
	for _, v := range within(e, "todos", all, func(v *kernel.Todo) int { return len(v.Title) + len(v.Body) + len(v.Note) }) {
		t := TodoOf(e.r, v)
		if e.out.Public {
			t.Validation = nil
		}
		e.out.Todos = append(e.out.Todos, t)
	}
}

func (e *exporter) gates(goal string) {
	for _, v := range within(e, "gates", e.r.Gates(goal, exportRows+1), func(v *kernel.Gate) int { return len(v.Question) + len(v.Why) + len(v.Note) }) {
		e.out.Gates = append(e.out.Gates, GateOf(e.r, v))
	}
}

// within keeps the newest rows that fit, turns them to oldest first, and notes
// when some were left out.
func within[T any](e *exporter, part string, newest []T, size func(T) int) []T {
	n := 0
	for n < len(newest) && n < exportRows && e.left > 0 {
		e.left -= size(newest[n]) + 300 // the row itself
		n++
	}
	if n < len(newest) {
		e.out.Cut = append(e.out.Cut, part)
	}
	kept := slices.Clone(newest[:n])
	slices.Reverse(kept)
	return kept
}
