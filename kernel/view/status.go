package view

import (
	"fmt"
	"strings"

	"loopx/kernel"
)

// goalsShown bounds the goals one status walks.
const goalsShown = 200

// Status is the five groups over one goal or all.
type Status struct {
	Goal string `json:"goal,omitempty"`
}

// StatusView is what `loopx status`, the page and /status show, in this order.
type StatusView struct {
	AsOf      int64     `json:"as_of"`
	NeedsYou  []Item    `json:"needs_you"`
	Running   []Item    `json:"running"`
	Watching  []Item    `json:"watching"`
	Scheduled []Item    `json:"scheduled"`
	Stopped   []Item    `json:"stopped"`
	Goals     []Summary `json:"goals"`
}

// Item is one line of a group.
type Item struct {
	Kind  string          `json:"kind"` // gate, ask, todo, watch, deferred, ready, goal
	Goal  string          `json:"goal_id"`
	ID    string          `json:"id"`
	Code  string          `json:"code,omitempty"`
	Title string          `json:"title"`
	Agent string          `json:"agent,omitempty"`
	Prio  kernel.Priority `json:"priority"`
	Since int64           `json:"since,omitempty"`
	Next  int64           `json:"next,omitempty"`
	Note  string          `json:"note,omitempty"`
	// Unreachable is why nobody who may answer a gate can be told, and Fix what
	// mends that.
	Unreachable string `json:"unreachable,omitempty"`
	Fix         string `json:"fix,omitempty"`
}

// Summary is the five lines of a goal.
type Summary struct {
	ID        string        `json:"goal_id"`
	Title     string        `json:"title"`
	Status    string        `json:"status"`
	Objective string        `json:"objective"`
	Next      string        `json:"next"`
	NeedsYou  string        `json:"needs_you"`
	Evidence  string        `json:"evidence"`
	Continues string        `json:"continues"`
	Counts    kernel.Counts `json:"counts"`
	Gates     int           `json:"gates_open"`
	Spent     int           `json:"spent_slots"`
	Allowed   int           `json:"allowed_slots"`
	Agents    []AgentView   `json:"agents"`
}

// AgentView is one member and what it does now.
type AgentView struct {
	ID      string `json:"agent_id"`
	Host    string `json:"host,omitempty"`
	Turn    string `json:"turn,omitempty"`
	Todo    string `json:"todo_id,omitempty"`
	Seen    int64  `json:"seen,omitempty"`
	Running bool   `json:"running"`
}

// Name implements Query.
func (*Status) Name() string { return "status" }

func (q *Status) run(r *kernel.Reader) (any, error) {
	out := StatusView{AsOf: r.Now(), NeedsYou: []Item{}, Running: []Item{}, Watching: []Item{}, Scheduled: []Item{}, Stopped: []Item{}, Goals: []Summary{}}
	goals := r.Goals(goalsShown)
	if q.Goal != "" {
		g, err := goalOf(r, q.Goal)
		if err != nil {
			return nil, err
		}
		goals = []*kernel.Goal{g}
	}
	for _, g := range goals {
		out.add(r, g)
	}
	return out, nil
}

// groupMost bounds the lines one goal adds to a group.
const groupMost = 50

func (s *StatusView) add(r *kernel.Reader, g *kernel.Goal) {
	sum := SummaryOf(r, g)
	s.Goals = append(s.Goals, sum)
	if g.Shown() != kernel.GoalActive {
		note := g.Outcome
		if g.Status == kernel.GoalActive {
			note = "paused: " + strings.Join(g.Pause, ", ")
		}
		s.Stopped = append(s.Stopped, Item{Kind: "goal", Goal: g.ID, ID: g.ID, Title: g.Title, Since: g.Updated, Note: note})
	}
	for _, v := range r.OpenGates(g.ID, groupMost) {
		i := Item{Kind: "gate", Goal: g.ID, ID: v.ID, Code: v.Code, Title: v.Question, Agent: v.AskedBy, Prio: v.Severity, Since: v.Created}
		if v.Expired(r.Now()) {
			i.Note = "expired"
		}
		if u := r.Unreachable(v); u != nil {
			i.Note, i.Unreachable, i.Fix = "unreachable: "+u.Words, u.Reason, u.Fix
		}
		s.NeedsYou = append(s.NeedsYou, i)
	}
	for _, v := range r.List(g.ID, kernel.ListAsk, "", groupMost) {
		s.NeedsYou = append(s.NeedsYou, Item{Kind: "ask", Goal: g.ID, ID: v.ID, Title: v.Title, Agent: v.AddedBy, Prio: v.Priority, Since: v.Created})
	}
	for _, v := range r.List(g.ID, kernel.ListHeld, "", groupMost) {
		c := r.Claim(g.ID, v.ID)
		if !c.Holds(r.Steady()) {
			// Nobody holds it any more: whoever ticks next takes it over.
			s.Scheduled = append(s.Scheduled, Item{Kind: "ready", Goal: g.ID, ID: v.ID, Title: v.Title, Prio: v.Priority, Since: v.Created, Note: "the lease of " + c.Agent + " ran out"})
		} else {
			s.Running = append(s.Running, Item{Kind: "todo", Goal: g.ID, ID: v.ID, Title: v.Title, Agent: c.Agent, Prio: v.Priority, Since: c.Since})
		}
	}
	for _, v := range r.List(g.ID, kernel.ListMonitor, "", groupMost) {
		s.Watching = append(s.Watching, Item{Kind: "watch", Goal: g.ID, ID: v.ID, Title: v.Title, Prio: v.Priority, Next: v.Watch.NextDue, Since: v.Created})
	}
	for _, v := range r.List(g.ID, kernel.ListReady, "", groupMost) {
		s.Scheduled = append(s.Scheduled, Item{Kind: "ready", Goal: g.ID, ID: v.ID, Title: v.Title, Prio: v.Priority, Since: v.Created})
	}
	for _, v := range r.List(g.ID, kernel.ListDeferred, "", groupMost) {
		s.Scheduled = append(s.Scheduled, Item{Kind: "deferred", Goal: g.ID, ID: v.ID, Title: v.Title, Prio: v.Priority, Since: v.Created, Note: v.ResumeWhen})
	}
}

// SummaryOf derives a goal's five lines.
func SummaryOf(r *kernel.Reader, g *kernel.Goal) Summary {
	n := r.Counts(g.ID)
	quota := r.Quota(g, "")
	s := Summary{ID: g.ID, Title: g.Title, Status: g.Shown(), Objective: firstLine(g.Objective), Counts: n, Gates: n.GatesOpen, Spent: quota.Spent, Allowed: quota.Allowed, Agents: []AgentView{}}
	live := liveTurns(r, g.ID)
	for _, a := range r.Agents(g.ID) {
		v := AgentView{ID: a.ID, Host: a.Host}
		if t := live[a.ID]; t != nil {
			v.Running, v.Turn, v.Todo, v.Seen = true, t.ID, t.Todo, t.Opened
		}
		s.Agents = append(s.Agents, v)
	}
	// The same words as on a card, without the times: the reader's zone is not known
	// here.
	f := fiveFacts(r, g, n, quota)
	l := f.Lines("en", r.Now(), nil)
	s.Next, s.NeedsYou, s.Evidence, s.Continues = l[1].Text, l[2].Text, l[3].Text, l[4].Text
	return s
}

// WindowWords says for which time slots are left: a day, or the hours of a window.
func WindowWords(ms int64) string {
	if h := ms / 3_600_000; h != 24 {
		return fmt.Sprintf("in %d h", h)
	}
	return "today"
}

// liveTurns gives the live turn of each agent of a goal.
func liveTurns(r *kernel.Reader, goal string) map[string]*kernel.Turn {
	out := map[string]*kernel.Turn{}
	for _, s := range r.Sessions(goal, 256) {
		if s.State != "open" || s.Turn == "" {
			continue
		}
		if t := r.Turn(goal, s.Agent, s.Turn); t != nil && t.Status == kernel.TurnLive && t.Until > r.Steady() {
			out[s.Agent] = t
		}
	}
	return out
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// Goals lists the goals.
type Goals struct{}

// GoalsView is the answer to Goals.
type GoalsView struct {
	Goals []Summary `json:"goals"`
}

// Name implements Query.
func (*Goals) Name() string { return "goals" }

func (*Goals) run(r *kernel.Reader) (any, error) {
	out := GoalsView{Goals: []Summary{}}
	for _, g := range r.Goals(goalsShown) {
		out.Goals = append(out.Goals, SummaryOf(r, g))
	}
	return out, nil
}

// GoalPage is everything the page of one goal shows.
type GoalPage struct {
	Goal string `json:"goal"`
}

// GoalPageView is the answer to GoalPage; work stands in four columns.
type GoalPageView struct {
	AsOf       int64      `json:"as_of"`
	Summary    Summary    `json:"summary"`
	Objective  string     `json:"objective"`
	NonGoals   []string   `json:"non_goals,omitempty"`
	ToDo       []Todo     `json:"to_do"`
	InProgress []Todo     `json:"in_progress"`
	Blocked    []Todo     `json:"blocked"`
	Done       []Todo     `json:"done"`
	Later      []Todo     `json:"later"` // deferred, watches and requests to people
	Gates      []Gate     `json:"gates"` // open first, then the newest decided ones
	Evidence   []Evidence `json:"evidence"`
}

// Name implements Query.
func (*GoalPage) Name() string { return "goal" }

func (q *GoalPage) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	out := GoalPageView{AsOf: r.Now(), Summary: SummaryOf(r, g), Objective: g.Objective, NonGoals: g.NonGoals, Gates: []Gate{}, Evidence: []Evidence{}}
	column := func(lists ...string) []Todo {
		list := []Todo{}
		for _, l := range lists {
			for _, v := range r.List(g.ID, l, "", groupMost) {
				list = append(list, TodoOf(r, v))
			}
		}
		return list
	}
	out.ToDo = column(kernel.ListReady)
	out.InProgress = column(kernel.ListHeld)
	out.Blocked = column(kernel.ListGated, kernel.ListBlocked, kernel.ListAfter)
	out.Done = column(kernel.ListDone)
	out.Later = column(kernel.ListMonitor, kernel.ListDeferred, kernel.ListAsk)
	for _, v := range r.OpenGates(g.ID, groupMost) {
		out.Gates = append(out.Gates, GateOf(r, v))
	}
	decided := 0
	for _, v := range r.Gates(g.ID, 200) {
		if v.Status != kernel.GateOpen && decided < 20 {
			decided++
			out.Gates = append(out.Gates, GateOf(r, v))
		}
	}
	for _, e := range r.NewestEvidence(g.ID, 30) {
		out.Evidence = append(out.Evidence, EvidenceOf(r, e))
	}
	return out, nil
}
