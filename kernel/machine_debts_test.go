package kernel_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"loopx/kernel"

	"pgregory.net/rapid"
)

// This file holds what comes before work: owed answers, turns that were not
// settled, replans, working trees. The machine makes them, and they are derived
// from rows and journal without the kernel's indexes.

func (m *machine) owe(t *rapid.T) {
	a := m.agentOf(t)
	id := rapid.SampledFrom([]string{"m1", "m2", "m3"}).Draw(t, "message")
	if rapid.Bool().Draw(t, "settle") {
		m.try(t, &kernel.SettleAnswer{Goal: "site", Agent: a, ID: id}, m.by(t, kernel.ByBot, kernel.ByCLI))
		return
	}
	m.try(t, &kernel.OweAnswer{Goal: "site", Agent: a, ID: id, Kind: "inbox", From: "Wei"}, m.by(t, kernel.ByBot))
}

// replan changes the plan in the name of an obligation, of this agent mostly.
func (m *machine) replan(t *rapid.T) {
	ids := []string{"replan_none"}
	a := m.agentOf(t)
	for _, o := range m.at.replans {
		if o.Agent == a && o.Met == 0 {
			ids = append(ids, o.ID, o.ID, o.ID)
		}
		ids = append(ids, o.ID)
	}
	id := rapid.SampledFrom(ids).Draw(t, "obligation")
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		m.try(t, &kernel.OpenGate{Goal: "site", Agent: a, Question: "What now?", LaneOf: a, Obligation: id}, cli())
	case 1:
		todo := m.openTodoOf(t)
		m.try(t, &kernel.CompleteTodo{Goal: "site", Agent: a, Todo: todo, Lease: m.leaseOf(t, todo), NoFollowup: true, Obligation: id}, cli())
	default:
		c := &kernel.AddTodo{Goal: "site", Agent: a, Title: "another way", Obligation: id}
		if rapid.IntRange(0, 3).Draw(t, "parked") == 0 {
			c.Deferred, c.ResumeWhen = true, "event:x"
		}
		m.try(t, c, cli())
	}
}

// stuck is a turn of one agent that says it got nowhere, so that two in a row on
// one thing are common.
func (m *machine) stuck(t *rapid.T) {
	a := rapid.SampledFrom(m.at.agents["site"]).Draw(t, "agent").ID
	m.turns++
	turn := fmt.Sprintf("t%d", m.turns)
	out, err := m.try(t, &kernel.OpenTurn{Goal: "site", Agent: a, Turn: turn, Claim: true, Workspace: workspaceOf(a)}, cli())
	if err != nil || out["lease"] == nil {
		return
	}
	token := out["lease"].(map[string]any)["token"].(string)
	if _, err := m.try(t, &kernel.Refresh{Goal: "site", Agent: a, Turn: turn, Lease: token, Outcome: kernel.OutcomeGap}, cli()); err != nil {
		t.Fatalf("a turn of %s cannot say that it got nowhere: %v", a, err)
	}
}

const siteRepo = "/repo/site"

// workspaceOf is an agent's own tree.
func workspaceOf(agent string) *kernel.Workspace {
	return &kernel.Workspace{Root: "/trees/" + agent, Repos: []string{siteRepo, "git@host:team/site.git"}}
}

func (m *machine) workspace(t *rapid.T, agent string) *kernel.Workspace {
	switch rapid.IntRange(0, 5).Draw(t, "where") {
	case 0:
		return nil
	case 1:
		return &kernel.Workspace{Root: siteRepo, Repos: []string{siteRepo}}
	case 2:
		return workspaceOf("ann")
	case 3:
		return &kernel.Workspace{Root: "/elsewhere", Repos: []string{"/elsewhere"}}
	}
	return workspaceOf(agent)
}

// inOwnTree: the tree belongs to the repository, is not the shared one, and no
// other agent's open session was seen in it within a day.
func (s *rows) inOwnTree(g *kernel.Goal, agent string, w *kernel.Workspace, now int64) bool {
	if w == nil || w.Root == g.Repo || !slices.Contains(w.Repos, g.Repo) {
		return false
	}
	mine := ""
	for _, v := range s.sessions {
		if v.Tree != "" && v.Tree == treeOf(w) {
			mine = v.Tree
		}
	}
	for _, v := range s.sessions {
		if mine != "" && v.Tree == mine && v.Goal == g.ID && v.Agent != agent && v.State == "open" && v.Seen+24*3_600_000 > now {
			return false
		}
	}
	return true
}

// settles is the turn that an agent has to settle, "" when there is none, and
// the todo it holds.
func (s *rows) settles(caller kernel.Caller, steady, now int64, slot bool) (turn, todo string) {
	goal, agent := caller.Goal, caller.Agent
	list := slices.Clone(s.turns)
	slices.SortFunc(list, func(a, b *kernel.Turn) int { return cmp.Or(cmp.Compare(a.Opened, b.Opened), cmp.Compare(a.ID, b.ID)) })
	for _, u := range list {
		if u.Goal != goal || u.Agent != agent || !u.Act || u.Spent || u.Settled || u.ID == caller.Turn || !s.over(u, caller, steady) {
			continue
		}
		c, v := s.claims[u.Todo], s.todos[u.Todo]
		claim := c != nil && u.Heir == "" && u.Generation > 0 && c.Generation == u.Generation && s.held(v, steady) == agent &&
			len(s.blocks(v)) == 0 && len(s.lanes(goal, agent)) == 0 && !s.lacks(v, false, now)
		unpaid := false
		for _, r := range s.runs {
			unpaid = unpaid || r.Goal == goal && r.Agent == agent && r.Turn == u.ID && r.Accountable && !r.Spent
		}
		switch {
		case claim:
			return u.ID, u.Todo
		case unpaid && slot:
			return u.ID, ""
		}
	}
	return "", ""
}

// over: the turn closed, its session did, or its lease is gone.
func (s *rows) over(u *kernel.Turn, caller kernel.Caller, steady int64) bool {
	session := caller.Session
	if session == "" {
		session = "cli:" + u.Agent
	}
	if caller.Turn != "" && session == u.Session {
		return true // the caller's turn replaces it
	}
	open := slices.ContainsFunc(s.sessions, func(v *kernel.Session) bool {
		return v.Goal == u.Goal && v.ID == u.Session && v.State == "open"
	})
	if u.Status == "closed" || !open {
		return true
	}
	if u.Generation == 0 {
		return u.Until <= steady
	}
	c := s.claims[u.Todo]
	return c.Generation > u.Generation || c.Agent != "" && s.held(s.todos[u.Todo], steady) == ""
}

// firstReplan is the oldest replan an agent owes.
func (s *rows) firstReplan(goal, agent string) *kernel.Obligation {
	var first *kernel.Obligation
	for _, o := range s.replans {
		if o.Goal == goal && o.Agent == agent && o.Met == 0 && (first == nil || o.Since < first.Since || o.Since == first.Since && o.ID < first.ID) {
			first = o
		}
	}
	return first
}

// counted are the stalls and paces as the journal tells them.
type counted struct {
	stalls map[string]string // key -> row
	paces  map[string]string
	turns  map[string]string // stall key -> its last turn
	n      map[string]int
	first  map[string]uint64
	runs   map[string]int
	review map[string]int
	open   map[string]bool // todos
}

func newCounted() *counted {
	return &counted{stalls: map[string]string{}, paces: map[string]string{}, turns: map[string]string{}, n: map[string]int{}, first: map[string]uint64{},
		runs: map[string]int{}, review: map[string]int{}, open: map[string]bool{}}
}

func (c *counted) event(e *kernel.Event) {
	if v := e.Todo; v != nil {
		c.open[v.ID] = v.Status == "open"
		if ended(v) {
			for k := range c.stalls {
				if strings.HasPrefix(k, key("np", v.Goal, v.ID)+"\x00") {
					c.drop(k)
				}
			}
		}
	}
	if r := e.Run; r != nil && e.Type == "run_recorded" {
		k := key("np", r.Goal, r.Todo, r.Agent)
		switch {
		case r.Accountable:
			p := key("rn", r.Goal, r.Agent)
			c.runs[p]++
			c.paces[p] = asJSON(map[string]int{"runs": c.runs[p], "reviews": c.review[p]})
			c.drop(k)
		case r.Outcome == "outcome_gap" && c.open[r.Todo] && r.Classification != "todo_completed":
			if c.n[k] == 0 {
				c.first[k] = r.Seq
			} else if r.Turn != "" && r.Turn == c.turns[k] {
				return
			}
			c.n[k]++
			c.turns[k] = r.Turn
			c.stalls[k] = fmt.Sprintf("%s/%d/%d", r.Turn, c.n[k], c.first[k])
		}
	}
	if o := e.Replan; o != nil && o.Met > 0 {
		switch o.Cause {
		case "no_progress":
			c.drop(key("np", o.Goal, o.Subject, o.Agent))
		case "review_due":
			p := key("rn", o.Goal, o.Agent)
			c.runs[p], c.review[p] = 0, c.review[p]+1
			c.paces[p] = asJSON(map[string]int{"runs": 0, "reviews": c.review[p]})
		}
	}
}

func (c *counted) drop(k string) {
	delete(c.stalls, k)
	delete(c.n, k)
	delete(c.first, k)
	delete(c.turns, k)
}

// checkDebts compares what is kept about debts with what it follows from.
func (s *rows) checkDebts() error {
	for k, v := range s.raw {
		switch k[:strings.IndexByte(k+"\x00", 0)] {
		case "np":
			row, err := parse[struct {
				Turn  string
				Turns int
				First uint64
			}]([]byte(v))
			if err != nil {
				return err
			}
			if got := fmt.Sprintf("%s/%d/%d", row.Turn, row.Turns, row.First); s.counted.stalls[k] != got {
				return fmt.Errorf("the row %q is %s, the journal gives %q", k, got, s.counted.stalls[k])
			}
			parts := strings.Split(k, "\x00")
			due := slices.ContainsFunc(s.replans, func(o *kernel.Obligation) bool {
				return o.Met == 0 && o.Cause == "no_progress" && o.Agent == parts[3] && o.Subject == parts[2]
			})
			if member := s.member(parts[1], parts[3]); member && due != (row.Turns >= 2) {
				return fmt.Errorf("%s got nowhere with %s %d times in a row, owes a replan: %v", parts[3], parts[2], row.Turns, due)
			}
		case "rn":
			row, err := parse[map[string]int]([]byte(v))
			if err != nil {
				return err
			}
			if got := asJSON(*row); s.counted.paces[k] != got {
				return fmt.Errorf("the row %q is %s, the journal gives %q", k, got, s.counted.paces[k])
			}
			parts := strings.Split(k, "\x00")
			due := slices.ContainsFunc(s.replans, func(o *kernel.Obligation) bool {
				return o.Met == 0 && o.Cause == "review_due" && o.Goal == parts[1] && o.Agent == parts[2]
			})
			if s.member(parts[1], parts[2]) && due != ((*row)["runs"] >= 20) {
				return fmt.Errorf("%s delivered %d times since its review, owes one: %v", parts[2], (*row)["runs"], due)
			}
		}
	}
	for k := range s.counted.stalls {
		if _, ok := s.raw[k]; !ok {
			return fmt.Errorf("the row %q is missing", k)
		}
	}
	for _, o := range s.replans {
		if o.Met == 0 {
			continue
		}
		what, id, _ := strings.Cut(o.By, ":")
		v := s.todos[id]
		switch {
		case what == "gate" && s.gates[id] != nil:
		case what == "todo" && v != nil && v.ID != o.Subject && v.Class == "work":
		case what == "closed" && v != nil && ended(v) && (o.Subject == "" || o.Subject == id):
		default:
			return fmt.Errorf("the replan %+v was settled by %s, which is nothing", o, o.By)
		}
	}
	return nil
}

func (s *rows) member(goal, agent string) bool {
	return slices.ContainsFunc(s.agents[goal], func(a *kernel.Agent) bool { return a.ID == agent })
}

// opened: a turn is given what the table says for its session, and takes over
// what an earlier one held.
func (m *machine) opened(t *rapid.T, name string, before *rows, c *kernel.OpenTurn, out map[string]any) {
	agent, _ := out["agent_id"].(string)
	boot, ms := m.Boot()
	g := before.goals[c.Goal]
	caller := kernel.Caller{Goal: c.Goal, Agent: agent, Turn: c.Turn, Session: c.Session, Workspace: c.Workspace}
	if rule, todo := before.verdict(g, caller, before.steady(boot, ms, m.now), m.now); out["rule"] != rule || todoOf(out) != todo {
		t.Fatalf("%s gets %v %q, the table says %s %q", name, out["rule"], todoOf(out), rule, todo)
	}
	left, ok := out["settle"].(map[string]any)
	if !ok {
		return
	}
	for _, u := range m.at.turns {
		if u.Goal == c.Goal && u.Agent == agent && u.ID == left["turn_instance_id"] && (u.Status != "closed" || (u.Heir == c.Turn) != (left["claim"] == true)) {
			t.Fatalf("%s settles %v, which is left as %+v", name, left, u)
		}
	}
}

// placed: from its own tree an agent gets what the table says, too.
func (m *machine) placed(r *kernel.Reader, g *kernel.Goal, agent string) error {
	w := workspaceOf(agent)
	d, err := r.Decide(kernel.Caller{Goal: g.ID, Agent: agent, Workspace: w})
	if err != nil {
		return err
	}
	if rule, todo := m.at.verdict(g, kernel.Caller{Goal: g.ID, Agent: agent, Workspace: w}, m.steady(), m.now); d.Rule != rule || selected(d) != todo {
		return fmt.Errorf("%s in its tree gets %s %q, the table says %s %q", agent, d.Rule, selected(d), rule, todo)
	}
	return nil
}

// treeOf is how rows name a tree: by a digest that does not say where it is.
func treeOf(w *kernel.Workspace) string {
	b, err := json.Marshal(w.Root)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:16]
}

// hold takes a todo for a person, or gives it back.
func (m *machine) hold(t *rapid.T) {
	c := &kernel.HoldTodo{Goal: "site", Todo: m.openTodoOf(t), Person: "owner", Release: rapid.Bool().Draw(t, "give back")}
	m.try(t, c, m.by(t, kernel.ByOwner, kernel.ByOwner, kernel.ByCLI))
}

// schedule acknowledges some advice.
func (m *machine) schedule(t *rapid.T) {
	a := m.agentOf(t)
	every := rapid.SampledFrom([]string{"3", "6", "10", "15", "30"}).Draw(t, "minutes")
	m.try(t, &kernel.AckSchedule{Goal: "site", Agent: a, RRule: "FREQ=MINUTELY;INTERVAL=" + every}, m.by(t, kernel.ByCLI))
}

// woken: whoever waits for an answer or is done is not woken by time; everybody
// else is, within an hour, and never after a look that comes due.
func (m *machine) woken(g *kernel.Goal, d *kernel.Decision) error {
	h := d.Scheduler
	switch d.Rule {
	case "R01", "R10", "R16":
		if h.NextWake != 0 || h.Ack != nil {
			return fmt.Errorf("%s of %s is woken at %d", d.Rule, d.Agent, h.NextWake)
		}
		return nil
	case "R07", "R11":
		return nil // by what is missing: a person, or a slot at its time
	}
	if strings.HasPrefix(d.Reason, "this lane was stopped") {
		return nil // no look is this agent's
	}
	if h.NextWake <= m.now || h.NextWake > m.now+3_600_000 {
		return fmt.Errorf("%s of %s is woken in %d ms", d.Rule, d.Agent, h.NextWake-m.now)
	}
	for _, v := range m.at.todos {
		if w := v.Watch; w != nil && v.Goal == g.ID && v.Status == "open" && w.NextDue > m.now && h.NextWake > w.NextDue && (w.Expires == 0 || m.now < w.Expires) {
			return fmt.Errorf("%s of %s is woken %d ms after %s is due", d.Rule, d.Agent, h.NextWake-w.NextDue, v.ID)
		}
	}
	return nil
}
