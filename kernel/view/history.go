package view

import (
	"slices"

	"loopx/kernel"
)

// History is the newest writebacks of a goal.
type History struct {
	Goal  string `json:"goal"`
	Limit int    `json:"limit,omitempty"` // default 20, at most 500
}

// HistoryView is the answer to History, newest first.
type HistoryView struct {
	GoalID string       `json:"goal_id"`
	Runs   []kernel.Run `json:"runs"`
}

// Name implements Query.
func (*History) Name() string { return "history" }

func (q *History) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	out := HistoryView{GoalID: g.ID, Runs: []kernel.Run{}}
	for _, v := range r.Runs(g.ID, bound(q.Limit, 20, 500)) {
		out.Runs = append(out.Runs, *v)
	}
	return out, nil
}

// Log is the journal in words, without secrets.
type Log struct {
	Goal  string `json:"goal,omitempty"`
	After uint64 `json:"after,omitempty"` // records behind this one, oldest first
	Limit int    `json:"limit,omitempty"` // default 50, at most 500
}

// LogView is the answer to Log. Without After it holds the newest records,
// oldest of them first.
type LogView struct {
	Head    kernel.Head `json:"head"`
	Entries []LogEntry  `json:"entries"`
}

// LogEntry is one event of a journal record.
type LogEntry struct {
	Seq     uint64 `json:"seq"`
	At      int64  `json:"at"`
	Command string `json:"command"`
	By      string `json:"by"`
	Surface string `json:"surface,omitempty"`
	Event   string `json:"event"`
	Goal    string `json:"goal_id,omitempty"`
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text,omitempty"`
}

// Name implements Query.
func (*Log) Name() string { return "log" }

func (q *Log) run(r *kernel.Reader) (any, error) {
	limit := bound(q.Limit, 50, 500)
	out := LogView{Head: r.Head(), Entries: []LogEntry{}}
	var records []*kernel.Record
	if q.After > 0 {
		records = r.Journal(q.After, limit)
	} else {
		records = r.NewestRecords(limit)
		slices.Reverse(records)
	}
	for _, rec := range records {
		for i := range rec.Events {
			if e := entry(rec, &rec.Events[i]); q.Goal == "" || e.Goal == q.Goal {
				out.Entries = append(out.Entries, e)
			}
		}
	}
	return out, nil
}

func entry(rec *kernel.Record, e *kernel.Event) LogEntry {
	out := LogEntry{Seq: rec.Seq, At: rec.At, Command: rec.Command, By: rec.By.Kind, Surface: rec.By.Surface, Event: e.Type, Goal: e.Goal, Subject: e.Subject}
	if rec.By.ID != "" {
		out.By = rec.By.ID
	}
	switch {
	case e.Todo != nil:
		out.Text = e.Todo.Title
	case e.Gate != nil && e.Gate.Answer != nil:
		out.Text = e.Gate.Code + " " + e.Gate.Question + " -> " + e.Gate.Answer.Label
	case e.Gate != nil:
		out.Text = e.Gate.Code + " " + e.Gate.Question
	case e.Claim != nil:
		out.Text = e.Claim.Agent // never the token
	case e.Evidence != nil:
		out.Text = e.Evidence.Summary
	case e.Run != nil:
		out.Text = e.Run.Agent + " " + e.Run.Outcome
	case e.Turn != nil:
		out.Text = e.Turn.Agent + " " + e.Turn.Rule
	case e.GoalRow != nil:
		out.Text = e.GoalRow.Title
	case e.Principal != nil:
		out.Text = e.Principal.Platform + " " + e.Principal.Status
	}
	return out
}

// Sessions lists the sessions of a goal.
type Sessions struct {
	Goal string `json:"goal"`
}

// SessionsView is the answer to Sessions.
type SessionsView struct {
	GoalID   string        `json:"goal_id"`
	Sessions []SessionView `json:"sessions"`
}

// SessionView is one session; idle ones are shown closed after 24 h.
type SessionView struct {
	ID       string `json:"session_id"`
	Agent    string `json:"agent_id"`
	Host     string `json:"host,omitempty"`
	Mode     string `json:"mode"`
	State    string `json:"state"`
	Turn     string `json:"turn,omitempty"`
	LiveTurn bool   `json:"live_turn"`
	Opened   int64  `json:"opened"`
	Seen     int64  `json:"seen"`
}

// Name implements Query.
func (*Sessions) Name() string { return "sessions" }

// idleMS closes a session nobody used.
const idleMS = 24 * 60 * 60 * 1000

func (q *Sessions) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	out := SessionsView{GoalID: g.ID, Sessions: []SessionView{}}
	for _, s := range r.Sessions(g.ID, 500) {
		v := SessionView{ID: s.ID, Agent: s.Agent, Host: s.Host, Mode: s.Mode, State: s.State, Turn: s.Turn, Opened: s.Opened, Seen: s.Seen}
		if s.SeenSteady == 0 && r.Now()-s.Seen > idleMS || s.SeenSteady > 0 && r.Steady()-s.SeenSteady >= idleMS {
			v.State = "closed" // the next turn, or the daemon, writes it down
		}
		if t := r.Turn(g.ID, s.Agent, s.Turn); s.Turn != "" && t != nil {
			v.LiveTurn = t.Status == kernel.TurnLive && t.Until > r.Steady()
		}
		out.Sessions = append(out.Sessions, v)
	}
	return out, nil
}

// Links lists the chat accounts that are known.
type Links struct{}

// LinksView is the answer to Links.
type LinksView struct {
	Links []kernel.Principal `json:"links"`
}

// Name implements Query.
func (*Links) Name() string { return "links" }

func (*Links) run(r *kernel.Reader) (any, error) {
	out := LinksView{Links: []kernel.Principal{}}
	for _, p := range r.Principals(500) {
		out.Links = append(out.Links, *p)
	}
	return out, nil
}
