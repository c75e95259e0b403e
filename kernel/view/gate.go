package view

import (
	"slices"

	"loopx/kernel"
)

// Gate is a gate with everything a card of it shows.
type Gate struct {
	ID        string             `json:"gate_id"`
	Code      string             `json:"code"`
	Goal      string             `json:"goal_id"`
	GoalTitle string             `json:"goal_title"`
	Language  string             `json:"language"`
	Question  string             `json:"question"`
	Why       string             `json:"why,omitempty"`
	AskedBy   string             `json:"asked_by"`
	Options   []Option           `json:"options"`
	Kind      string             `json:"kind"`
	Protected bool               `json:"protected"`
	Scope     string             `json:"scope,omitempty"`
	Severity  kernel.Priority    `json:"severity"`
	Blocks    GateBlocks         `json:"blocks"`
	Evidence  []Evidence         `json:"evidence,omitempty"`
	Fallback  string             `json:"fallback,omitempty"`
	Status    string             `json:"status"` // open, answered, withdrawn, expired
	Answer    *kernel.GateAnswer `json:"answer,omitempty"`
	// Who may answer as it is now, Votes what was said so far, and Agree
	// how many of them say the same.
	Who   kernel.Asked        `json:"asked"`
	Votes []kernel.Vote       `json:"votes,omitempty"`
	Agree int                 `json:"agree,omitempty"`
	Past  []kernel.PastAnswer `json:"past,omitempty"`
	// Pending is an answer from a terminal that waits for a press.
	Pending *kernel.GateAnswer `json:"pending,omitempty"`
	// Tainted says that it was asked in a turn that carries words of others.
	Tainted   bool          `json:"tainted,omitempty"`
	Taken     *kernel.Taken `json:"taken,omitempty"`
	Running   bool          `json:"running"` // a turn is live in the goal
	Enforced  string        `json:"enforced"`
	Digest    string        `json:"digest"`
	Revision  uint64        `json:"revision"`
	Asked     int64         `json:"asked_at"`
	Expires   int64         `json:"expires,omitempty"`
	OnTimeout string        `json:"on_timeout,omitempty"`
	// Parked is set when its date has passed, or everybody who is asked is away:
	// nobody is reminded, and it can still be answered.
	Parked bool `json:"parked,omitempty"`
	// Unreachable says why nobody who may answer can be told, and what mends it.
	Unreachable *kernel.Unreachable `json:"unreachable,omitempty"`
	// Asks are the persons who are asked now, by name.
	Asks []string `json:"asks,omitempty"`
	AsOf int64    `json:"as_of"`
}

// Option is one answer with the kernel's own mark.
type Option struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Consequence string `json:"consequence,omitempty"`
	Outcome     string `json:"outcome"`
}

// GateBlocks says what a gate holds back and what goes on.
type GateBlocks struct {
	Todos     []TodoRef `json:"todos,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	WholeGoal bool      `json:"whole_goal,omitempty"`
	OpenTodos int       `json:"open_todos"`
	OthersGo  int       `json:"others_go_on"`
}

// TodoRef names a todo.
type TodoRef struct {
	ID    string `json:"todo_id"`
	Title string `json:"title"`
}

// GateOf derives what is shown about a gate.
func GateOf(r *kernel.Reader, v *kernel.Gate) Gate {
	g := Gate{
		ID: v.ID, Code: v.Code, Goal: v.Goal, Question: v.Question, Why: v.Why, AskedBy: v.AskedBy, Kind: v.Kind, Protected: v.Protected(), Scope: v.Scope,
		Severity: v.Severity, Evidence: evidenceList(r, v.Goal, v.Evidence), Fallback: v.Fallback, Status: v.Status, Answer: v.Answer,
		Taken: v.Taken, Enforced: "advisory", Digest: v.Digest, Revision: v.Revision, Asked: v.Created, Expires: v.Expires, AsOf: r.Now(),
		Language: "en", GoalTitle: v.Goal,
	}
	if goal := r.Goal(v.Goal); goal != nil {
		g.GoalTitle, g.Language = goal.Title, goal.Language
	}
	for _, o := range v.Options {
		g.Options = append(g.Options, Option(o))
	}
	g.Who, g.Votes, g.Past = r.AskedOf(v), kernel.VotesOf(r, v), v.Past
	g.Pending, g.Tainted = v.Pending, v.Tainted
	g.OnTimeout, g.Parked = v.OnTimeout, v.Parked(r.Now())
	agree := map[string]int{}
	for _, vote := range g.Votes {
		agree[vote.Option]++
		g.Agree = max(g.Agree, agree[vote.Option])
	}
	if v.Expired(r.Now()) {
		g.Status = "expired"
	}
	if g.Status == kernel.GateOpen {
		asked := r.AskedPersons(v)
		g.Parked = g.Parked || len(asked) == 0
		g.Unreachable = r.Unreachable(v)
		for _, id := range asked {
			name := id
			if p := r.Person(id); p != nil {
				name = p.Name
			}
			g.Asks = append(g.Asks, name)
		}
	}
	g.Blocks.Agent, g.Blocks.WholeGoal = v.Blocks.Agent, v.Blocks.Goal
	held := r.BlockedBy(v.Goal, v.ID, 64)
	if v.Status != kernel.GateOpen && len(held) == 0 {
		held = v.Released
	}
	for _, id := range held {
		if t := r.Todo(v.Goal, id); t != nil {
			g.Blocks.Todos = append(g.Blocks.Todos, TodoRef{ID: id, Title: t.Title})
		}
	}
	n := r.Counts(v.Goal)
	g.Blocks.OpenTodos = n.Open
	if !v.Blocks.Goal {
		g.Blocks.OthersGo = max(n.Open-n.Blocked-n.Waiting, 0)
	}
	g.Running = len(liveTurns(r, v.Goal)) > 0
	return g
}

// Gates lists the gates of one goal or of all.
type Gates struct {
	Goal  string `json:"goal,omitempty"`
	All   bool   `json:"all,omitempty"` // decided and closed ones too
	Limit int    `json:"limit,omitempty"`
}

// GatesView is the answer to Gates.
type GatesView struct {
	AsOf  int64  `json:"as_of"`
	Gates []Gate `json:"gates"`
}

// Name implements Query.
func (*Gates) Name() string { return "gates" }

func (q *Gates) run(r *kernel.Reader) (any, error) {
	out := GatesView{AsOf: r.Now(), Gates: []Gate{}}
	goals := r.Goals(goalsShown)
	if q.Goal != "" {
		g, err := goalOf(r, q.Goal)
		if err != nil {
			return nil, err
		}
		goals = []*kernel.Goal{g}
	}
	limit := bound(q.Limit, 100, 1000)
	for _, g := range goals {
		list := r.OpenGates(g.ID, limit)
		if q.All {
			list = r.Gates(g.ID, limit)
		}
		for _, v := range list {
			out.Gates = append(out.Gates, GateOf(r, v))
		}
	}
	slices.SortStableFunc(out.Gates, func(a, b Gate) int {
		if (a.Status == kernel.GateOpen) != (b.Status == kernel.GateOpen) {
			if a.Status == kernel.GateOpen {
				return -1
			}
			return 1
		}
		if a.Severity != b.Severity {
			return int(a.Severity) - int(b.Severity)
		}
		return int(a.Asked - b.Asked)
	})
	if len(out.Gates) > limit {
		out.Gates = out.Gates[:limit]
	}
	return out, nil
}

// GateOne is one gate by id, or by code with its goal.
type GateOne struct {
	Goal string `json:"goal,omitempty"`
	Gate string `json:"gate"`
}

// Name implements Query.
func (*GateOne) Name() string { return "gate" }

func (q *GateOne) run(r *kernel.Reader) (any, error) {
	goal := q.Goal
	if goal == "" {
		goal = r.GoalOfGate(q.Gate)
	}
	v := r.Gate(goal, q.Gate)
	if v == nil && goal != "" {
		v = r.GateByCode(goal, q.Gate)
	}
	if v == nil {
		return nil, kernel.Errorf(kernel.NotFound, "gate_not_found", "there is no gate %q", q.Gate).Try("loopx gate list")
	}
	return GateOf(r, v), nil
}

// Grants lists the standing approvals of a goal.
type Grants struct {
	Goal string `json:"goal"`
}

// GrantsView is the answer to Grants.
type GrantsView struct {
	GoalID string      `json:"goal_id"`
	Grants []GrantView `json:"grants"`
}

// GrantView is one grant with how it stands.
type GrantView struct {
	ID      string `json:"grant_id"`
	Scope   string `json:"scope"`
	Gate    string `json:"gate_id"`
	By      string `json:"by"`
	Status  string `json:"status"` // live, expired, revoked
	Created int64  `json:"created"`
	Expires int64  `json:"expires"`
}

// Name implements Query.
func (*Grants) Name() string { return "grants" }

func (q *Grants) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	out := GrantsView{GoalID: g.ID, Grants: []GrantView{}}
	for _, v := range r.Grants(g.ID) {
		status := "live"
		switch {
		case v.Revoked > 0:
			status = "revoked"
		case !v.Live(r.Now()):
			status = "expired"
		}
		out.Grants = append(out.Grants, GrantView{ID: v.ID, Scope: v.Scope, Gate: v.Gate, By: v.By, Status: status, Created: v.Created, Expires: v.Expires})
	}
	return out, nil
}
