package view

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"loopx/kernel"
)

// Bounds of a search: rows it reads, hits it returns, and characters it shows
// around a match.
const (
	findRows  = 20_000
	findHits  = 50
	findAhead = 30
	findShown = 120
)

// Find looks for a text in goals, agents, todos, gates, evidence and writebacks,
// without regard to case.
type Find struct {
	Text string `json:"text"`
	Goal string `json:"goal,omitempty"`
	Kind string `json:"kind,omitempty"` // one of findKinds; empty: all
}

func findKinds() []string { return []string{"goal", "agent", "todo", "gate", "evidence", "run"} }

// FindView is the answer to Find, the most recent hits first.
type FindView struct {
	AsOf int64  `json:"as_of"`
	Text string `json:"text"`
	Hits []Hit  `json:"hits"`
	// More is set when there were more hits than are shown.
	More bool `json:"more"`
	// Partial is set when the search ended at its bound with rows unread.
	Partial bool `json:"partial"`
}

// Hit is one row that holds the text. Where names the field, and Text shows the
// match with what stands around it, on one line.
type Hit struct {
	Kind  string `json:"kind"` // goal, agent, todo, gate, evidence, run
	Goal  string `json:"goal_id"`
	ID    string `json:"id"`
	Code  string `json:"code,omitempty"`
	State string `json:"state,omitempty"`
	Where string `json:"where"`
	Text  string `json:"text"`
	At    int64  `json:"at"`
}

// Name implements Query.
func (*Find) Name() string { return "find" }

func (q *Find) run(r *kernel.Reader) (any, error) {
	text := strings.TrimSpace(q.Text)
	switch {
	case text == "":
		return nil, kernel.Errorf(kernel.Invalid, "missing_text", "no text to look for was given").Try("loopx find TEXT")
	case len(text) > 200:
		return nil, kernel.Errorf(kernel.Invalid, "too_long", "the text to look for is longer than 200 bytes")
	case q.Kind != "" && !slices.Contains(findKinds(), q.Kind):
		return nil, kernel.Errorf(kernel.Invalid, "bad_kind", "there is no kind %q to look in: there are %s", q.Kind, strings.Join(findKinds(), ", "))
	}
	goals := r.Goals(goalsShown)
	if q.Goal != "" {
		g, err := goalOf(r, q.Goal)
		if err != nil {
			return nil, err
		}
		goals = []*kernel.Goal{g}
	}
	return findIn(r, text, q.Kind, goals, findRows, q.Goal == "" && len(goals) == goalsShown), nil
}

// FindIn looks for a text in some goals only, reading at most rows rows.
func FindIn(r *kernel.Reader, text string, goals []*kernel.Goal, rows int) FindView {
	return findIn(r, text, "", goals, rows, false)
}

func findIn(r *kernel.Reader, text, kind string, goals []*kernel.Goal, rows int, partial bool) FindView {
	f := &finder{r: r, needle: lower(text), kind: kind, left: rows, hits: []Hit{}}
	for _, g := range goals {
		f.goal(g)
	}
	out := FindView{AsOf: r.Now(), Text: text, Hits: f.hits, Partial: f.left <= 0 || partial}
	slices.SortStableFunc(out.Hits, func(a, b Hit) int { return int(max(min(b.At-a.At, 1), -1)) })
	if len(out.Hits) > findHits {
		out.Hits, out.More = out.Hits[:findHits], true
	}
	return out
}

// finder is one search. left counts down the rows it may still read.
type finder struct {
	r      *kernel.Reader
	needle []rune
	kind   string
	left   int
	hits   []Hit
}

// field is a text of a row with the name people know it by.
type field struct{ name, text string }

func (f *finder) goal(g *kernel.Goal) {
	if f.in("goal") {
		f.row(Hit{Kind: "goal", Goal: g.ID, ID: g.ID, State: g.Shown(), At: g.Updated},
			field{"id", g.ID}, field{"title", g.Title}, field{"objective", g.Objective}, field{"outcome", g.Outcome})
	}
	if f.in("agent") {
		for _, v := range f.r.Agents(g.ID) {
			f.row(Hit{Kind: "agent", Goal: g.ID, ID: v.ID, State: v.Mode, At: v.Created},
				field{"id", v.ID}, field{"host", v.Host}, field{"profile", v.Profile}, field{"capabilities", strings.Join(v.Capabilities, " ")})
		}
	}
	if f.in("todo") {
		f.todos(g)
	}
	if f.in("gate") {
		f.gates(g)
	}
	if f.in("evidence") {
		for _, v := range f.r.NewestEvidence(g.ID, max(f.left, 0)+1) {
			f.row(Hit{Kind: "evidence", Goal: g.ID, ID: v.ID, State: v.Kind, At: v.Observed}, field{"id", v.ID}, field{"summary", v.Summary}, field{"ref", v.Ref})
		}
	}
	if f.in("run") {
		for _, v := range f.r.Runs(g.ID, max(f.left, 0)+1) {
			f.row(Hit{Kind: "run", Goal: g.ID, ID: strconv.FormatUint(v.Seq, 10), State: v.Classification, At: v.At}, field{"note", v.Note}, field{"next", v.Next}, field{"turn", v.Turn})
		}
	}
}

// in says whether rows of a kind are looked at.
func (f *finder) in(kind string) bool { return f.kind == "" || f.kind == kind }

func (f *finder) todos(g *kernel.Goal) {
	for _, list := range everyList() {
		for _, v := range f.r.List(g.ID, list, "", max(f.left, 0)+1) {
			f.row(Hit{Kind: "todo", Goal: g.ID, ID: v.ID, State: v.Status, At: v.Updated},
				field{"id", v.ID}, field{"title", v.Title}, field{"body", v.Body}, field{"note", v.Note})
		}
	}
}

func (f *finder) gates(g *kernel.Goal) {
	for _, v := range f.r.Gates(g.ID, max(f.left, 0)+1) {
		texts := []field{{"id", v.ID}, {"code", v.Code}, {"question", v.Question}, {"why", v.Why}, {"fallback", v.Fallback}}
		if v.Answer != nil {
			texts = append(texts, field{"answer", v.Answer.Label}, field{"reason", v.Answer.Reason})
		}
		f.row(Hit{Kind: "gate", Goal: g.ID, ID: v.ID, Code: v.Code, State: v.Status, At: v.Updated}, texts...)
	}
}

// everyList are the lists whose todos are all todos.
func everyList() []string {
	return []string{
		kernel.ListHeld, kernel.ListReady, kernel.ListGated, kernel.ListBlocked, kernel.ListAfter,
		kernel.ListMonitor, kernel.ListAsk, kernel.ListDeferred, kernel.ListDone,
	}
}

// row keeps the first field that holds the text.
func (f *finder) row(h Hit, fields ...field) {
	if f.left--; f.left < 0 {
		return
	}
	for _, x := range fields {
		if at := index(x.text, f.needle); at >= 0 {
			h.Where, h.Text = x.name, around(x.text, at, len(f.needle))
			f.hits = append(f.hits, h)
			return
		}
	}
}

// lower folds letter by letter, so that positions stay those of the original.
func lower(s string) []rune {
	out := []rune(s)
	for i, r := range out {
		out[i] = unicode.ToLower(r)
	}
	return out
}

// index is the position of a lowered needle in s, in characters, or -1.
func index(s string, needle []rune) int {
	if len(s) < len(needle) {
		return -1
	}
	in := lower(s)
	for i := 0; i+len(needle) <= len(in); i++ {
		if slices.Equal(in[i:i+len(needle)], needle) {
			return i
		}
	}
	return -1
}

// around cuts the line out of a text that shows the match.
func around(s string, at, n int) string {
	in := []rune(s)
	from := max(at-findAhead, 0)
	to := min(max(from+findShown, at+n), len(in))
	out := strings.Join(strings.Fields(string(in[from:to])), " ")
	if from > 0 {
		out = "…" + out
	}
	if to < len(in) {
		out += "…"
	}
	return out
}
