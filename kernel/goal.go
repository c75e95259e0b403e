package kernel

import (
	"slices"
	"strings"

	"loopx/kernel/store"
)

// CreateGoal makes a goal, with its first agents if wanted.
type CreateGoal struct {
	Goal       string   `json:"goal"`
	Title      string   `json:"title,omitempty"` // default: the objective's first line
	Objective  string   `json:"objective"`
	Repo       string   `json:"repo,omitempty"`
	Write      []string `json:"write,omitempty"`
	NonGoals   []string `json:"non_goals,omitempty"`
	Allowed    *int     `json:"allowed_slots,omitempty"` // default 1440 in 24 h; 0 pauses
	Window     int      `json:"window_hours,omitempty"`  // of the allowance, 1 to 720, default 24
	Agents     []string `json:"agents,omitempty"`
	Handoff    string   `json:"handoff,omitempty"`    // soft (default), strict
	Language   string   `json:"language,omitempty"`   // en (default), zh
	Visibility string   `json:"visibility,omitempty"` // private (default), group, public
	Limit      string   `json:"limit,omitempty"`      // report_only, draft_only, watch_only, ask_first
}

// Name implements Command.
func (*CreateGoal) Name() string { return "goal.create" }

func (c *CreateGoal) decide(r *reader, e *env) (*decided, error) {
	if err := checkSlug("goal_id", c.Goal); err != nil {
		return nil, err
	}
	if err := needText("objective", c.Objective, bodyMax, true); err != nil {
		return nil, err
	}
	title := c.Title
	if title == "" {
		title = firstLine(c.Objective, titleMax)
	}
	allowed := slotsDay
	if c.Allowed != nil {
		allowed = *c.Allowed
	}
	if len(c.Agents) > memberMax {
		return nil, Errorf(Exhausted, "too_many_agents", "a goal has at most %d agents", memberMax)
	}
	if allowed < 0 || allowed > slotsMost {
		return nil, Errorf(Invalid, "bad_allowed_slots", "allowed slots must be 0 to %d", slotsMost)
	}
	window := int(orInt(int64(c.Window), dayMS/hourMS))
	if err := checkWindow(window); err != nil {
		return nil, err
	}
	g := &Goal{
		ID: c.Goal, Title: title, Objective: c.Objective, Repo: c.Repo, Write: c.Write, NonGoals: c.NonGoals,
		Status: GoalActive, Allowed: allowed, WindowMS: int64(window) * hourMS,
		Handoff: or(c.Handoff, "soft"), Language: or(c.Language, "en"), Visibility: or(c.Visibility, "private"), Limit: c.Limit,
		Revision: 1, Created: e.now, Updated: e.now,
	}
	if allowed == 0 {
		g.Pause = []string{PauseQuota}
	}
	err := firstErr(
		checkText("title", title, titleMax, false), checkText("repo", c.Repo, summaryMax, false),
		checkList("write scope", c.Write, summaryMax), checkList("non-goal", c.NonGoals, summaryMax),
		oneOf("handoff", g.Handoff, "soft", "strict"), oneOf("language", g.Language, "en", "zh"),
		oneOf("visibility", g.Visibility, "private", "group", "public"), checkLimit(g.Limit),
	)
	if err != nil {
		return nil, err
	}
	if r.Goal(c.Goal) != nil {
		return nil, Errorf(Conflict, "goal_exists", "the goal %s exists already", c.Goal).Try("loopx status --goal-id %s", c.Goal)
	}
	events := []Event{{Type: GoalCreated, Goal: g.ID, Subject: g.ID, GoalRow: g}}
	for _, id := range uniq(c.Agents) {
		if err := checkAgentID(id); err != nil {
			return nil, err
		}
		events = append(events, registered(&Agent{Goal: g.ID, ID: id, Mode: "active", Revision: 1, Created: e.now}))
	}
	return &decided{events: events, changed: true, result: map[string]any{"goal_id": g.ID, "title": g.Title, "agents": uniq(c.Agents), "allowed_slots": allowed}}, nil
}

// PauseGoal stops a goal or lifts that stop; the causes of a pause are independent.
type PauseGoal struct {
	Goal   string `json:"goal"`
	Resume bool   `json:"resume,omitempty"`
}

// Name implements Command.
func (*PauseGoal) Name() string { return "goal.pause" }

func (c *PauseGoal) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	typ := GoalPaused
	if c.Resume {
		// Stopping is open to anyone who steers; starting again is an owner's act.
		if err := ownerOf(r, e, g.ID, "resuming a goal"); err != nil {
			return nil, err
		}
		typ = GoalResumed
	}
	n := *g
	n.Pause = slices.DeleteFunc(slices.Clone(g.Pause), func(s string) bool { return s == PauseStop || c.Resume && s == PauseOrphan })
	if !c.Resume {
		n.Pause = append(n.Pause, PauseStop)
		slices.Sort(n.Pause)
	}
	out := &decided{result: map[string]any{"goal_id": g.ID, "pause": nonNil(n.Pause), "status": n.shown()}}
	if slices.Equal(n.Pause, g.Pause) {
		return out, nil
	}
	n.Revision, n.Updated = g.Revision+1, e.now
	out.changed = true
	out.events = []Event{{Type: typ, Goal: g.ID, Subject: g.ID, GoalRow: &n}}
	if !c.Resume {
		out.events = append(out.events, r.releaseSlots(g.ID)...)
	}
	return out, nil
}

// releaseSlots gives back what the agents of a stopping goal hold reserved. What
// they delivered stays payable.
func (r *Reader) releaseSlots(goal string) []Event {
	var out []Event
	for _, v := range rows[Reservation](r, under(memberMax, tblReserve, goal)) {
		out = append(out, releaseSlot(v))
	}
	return out
}

// withPause is the goal with one more cause of its pause, or nil when it has it.
func (g *Goal) withPause(cause string) *Goal {
	if slices.Contains(g.Pause, cause) {
		return nil
	}
	n := *g
	n.Pause = append(slices.Clone(g.Pause), cause)
	slices.Sort(n.Pause)
	return &n
}

// CloseGoal ends a lifetime goal with an outcome in words.
type CloseGoal struct {
	Goal    string `json:"goal"`
	Outcome string `json:"outcome"`
}

// Name implements Command.
func (*CloseGoal) Name() string { return "goal.close" }

func (c *CloseGoal) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	if err := ownerOf(r, e, g.ID, "closing a goal"); err != nil {
		return nil, err
	}
	if err := needText("outcome", c.Outcome, noteMax, true); err != nil {
		return nil, err
	}
	if g.Status == GoalCompleted {
		return nil, Errorf(Conflict, "goal_closed", "the goal %s is closed already", g.ID)
	}
	n := *g
	n.Status, n.Outcome, n.Revision, n.Updated = GoalCompleted, c.Outcome, g.Revision+1, e.now
	events := append([]Event{{Type: GoalClosed, Goal: g.ID, Subject: g.ID, GoalRow: &n}}, r.releaseSlots(g.ID)...)
	return &decided{changed: true, events: events,
		result: map[string]any{"goal_id": g.ID, "status": n.Status}}, nil
}

// shown is the state people see: paused while a cause is set.
func (g *Goal) shown() string {
	if g.Status == GoalActive && len(g.Pause) > 0 {
		return "paused"
	}
	return g.Status
}

// Shown is the state people see.
func (g *Goal) Shown() string { return g.shown() }

// RegisterAgent adds a peer to a goal.
type RegisterAgent struct {
	Goal         string   `json:"goal"`
	Agent        string   `json:"agent"`
	Host         string   `json:"host,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Profile      string   `json:"profile,omitempty"`
	RequireNew   bool     `json:"require_new,omitempty"`
	// Mode of a new member; a member's mode is changed by an owner.
	Mode string `json:"mode,omitempty"`
}

// Name implements Command.
func (*RegisterAgent) Name() string { return "agent.register" }

func (c *RegisterAgent) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	err = firstErr(checkAgentID(c.Agent), checkText("host", c.Host, 80, false),
		checkList("capability", c.Capabilities, 80), checkText("profile", c.Profile, noteMax, true),
		oneOf("mode", or(c.Mode, "active"), "active", "monitor_only"))
	if err != nil {
		return nil, err
	}
	a := &Agent{Goal: g.ID, ID: c.Agent, Host: c.Host, Capabilities: c.Capabilities, Profile: c.Profile, Mode: or(c.Mode, "active"), Course: g.Course, Revision: 1, Created: e.now}
	out := &decided{result: map[string]any{"goal_id": g.ID, "agent_id": a.ID}}
	if old := get[Agent](r, tblAgent, g.ID, c.Agent); old != nil {
		if c.RequireNew {
			return nil, Errorf(Conflict, "agent_exists", "the agent %s is a member of %s already", c.Agent, g.ID)
		}
		a.Created, a.Revision, a.Mode, a.Course = old.Created, old.Revision, old.Mode, old.Course
		if digest(a) == digest(old) || c.Host == "" && c.Profile == "" && c.Capabilities == nil {
			return out, nil
		}
		a.Revision++
	} else if r.Counts(g.ID).Agents >= memberMax {
		return nil, Errorf(Exhausted, "too_many_agents", "a goal has at most %d agents", memberMax)
	}
	out.changed = true
	out.events = []Event{registered(a)}
	return out, nil
}

func registered(a *Agent) Event {
	return Event{Type: AgentRegistered, Goal: a.Goal, Subject: a.ID, Agent: a}
}

// needGoal returns the goal or a refusal that says what to do.
func (r *Reader) needGoal(id string) (*Goal, error) {
	if id == "" {
		return nil, Errorf(Invalid, "missing_goal_id", "no goal was named").Try("pass --goal-id, or set LOOPX_GOAL")
	}
	if g := r.Goal(id); g != nil {
		return g, nil
	}
	return nil, Errorf(NotFound, "goal_not_found", "there is no goal %s in this workspace", show(id)).Try("loopx goal list")
}

// actor resolves who acts on a goal: the named member, or the only one.
func (r *Reader) actor(goal, agent string) (*Agent, error) {
	if agent != "" {
		if a := get[Agent](r, tblAgent, goal, agent); a != nil {
			return a, nil
		}
		return nil, Errorf(NotFound, "agent_not_registered", "%s is no agent of %s", show(agent), goal).Try("loopx agent register --goal-id %s --agent-id AGENT", goal)
	}
	members := rows[Agent](r, store.Under(2, tblAgent, goal))
	switch len(members) {
	case 0:
		return nil, Errorf(Invalid, "agent_missing", "%s has no agent yet", goal).Try("loopx agent register --goal-id %s --agent-id AGENT", goal)
	case 1:
		return members[0], nil
	}
	return nil, Errorf(Invalid, "agent_required", "%s has several agents, so the acting one must be named", goal).Try("pass --agent-id, or set LOOPX_AGENT")
}

// author is who a row is recorded as made by; no member is required.
func (r *Reader) author(goal, agent string, by Actor) (string, error) {
	if agent != "" {
		a, err := r.actor(goal, agent)
		if err != nil {
			return "", err
		}
		return a.ID, nil
	}
	if by.Kind == ByOwner || by.Kind == ByPerson {
		return "person:" + or(by.ID, "owner"), nil
	}
	return "cli", nil
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func firstErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func oneOf(field, v string, allowed ...string) error {
	if slices.Contains(allowed, v) {
		return nil
	}
	return Errorf(Invalid, "bad_"+field, "%s %s must be one of %s", field, show(v), strings.Join(allowed, ", "))
}

func checkList(field string, list []string, max int) error {
	if len(list) > listMax {
		return Errorf(Invalid, "too_many", "%s is given more than %d times", field, listMax)
	}
	for _, s := range list {
		if err := needText(field, s, max, false); err != nil {
			return err
		}
	}
	return nil
}

func uniq(list []string) []string {
	out, seen := []string{}, make(map[string]bool, len(list))
	for _, s := range list {
		if !seen[s] {
			out, seen[s] = append(out, s), true
		}
	}
	return out
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// firstLine cuts text to its first line and to max characters.
func firstLine(s string, max int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return cutRunes(strings.TrimSpace(s), max)
}

func cutRunes(s string, max int) string {
	n := 0
	for i := range s {
		if n == max {
			return s[:i]
		}
		n++
	}
	return s
}
