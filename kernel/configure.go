package kernel

import "slices"

// ConfigureGoal changes what an owner set for a goal. Absent fields stay. A
// changed objective, scope or non-goal reaches every agent first thing in its
// next tick.
type ConfigureGoal struct {
	Goal       string    `json:"goal"`
	Title      *string   `json:"title,omitempty"`
	Objective  *string   `json:"objective,omitempty"`
	Repo       *string   `json:"repo,omitempty"`
	Write      *[]string `json:"write,omitempty"`
	NonGoals   *[]string `json:"non_goals,omitempty"`
	Allowed    *int      `json:"allowed_slots,omitempty"` // 0 pauses, independently of a stop
	Window     *int      `json:"window_hours,omitempty"`  // the rolling window of the allowance, 1 to 720 hours
	Language   string    `json:"language,omitempty"`
	Visibility string    `json:"visibility,omitempty"`
	Handoff    string    `json:"handoff,omitempty"` // soft, strict
	// Limit is what the goal's work may write; none lifts it. Todos that are there
	// stay as they are.
	Limit string `json:"limit,omitempty"`
	// Agent and Mode set one member's mode: active or monitor_only.
	Agent string `json:"agent,omitempty"`
	Mode  string `json:"mode,omitempty"`
	// Ask is who is asked for what: kind (or any) -> who. It replaces the whole policy.
	Ask *map[string]Asked `json:"ask_policy,omitempty"`
}

// Name implements Command.
func (*ConfigureGoal) Name() string { return "goal.configure" }

func (c *ConfigureGoal) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	if err := ownerOf(r, e, g.ID, "configuring a goal"); err != nil {
		return nil, err
	}
	n := *g
	if err := c.fields(r, g, &n); err != nil {
		return nil, err
	}
	out := &decided{}
	changed := []string{}
	for _, f := range []struct {
		name     string
		was, now any
	}{
		{"title", g.Title, n.Title}, {"objective", g.Objective, n.Objective}, {"repo", g.Repo, n.Repo}, {"write", g.Write, n.Write},
		{"non_goals", g.NonGoals, n.NonGoals}, {"allowed_slots", g.Allowed, n.Allowed}, {"quota_window_hours", g.WindowMS, n.WindowMS}, {"language", g.Language, n.Language},
		{"visibility", g.Visibility, n.Visibility}, {"handoff", g.Handoff, n.Handoff}, {"ask_policy", g.Ask, n.Ask}, {"limit", g.Limit, n.Limit},
	} {
		if digest(f.was) != digest(f.now) {
			changed = append(changed, f.name)
		}
	}
	if slices.ContainsFunc([]string{"objective", "repo", "write", "non_goals"}, func(s string) bool { return slices.Contains(changed, s) }) {
		n.Course = g.Course + 1
	}
	for _, a := range r.Agents(g.ID) {
		if n.Course > g.Course || n.Limit != g.Limit {
			out.events = append(out.events, replans{r}.oblige(g.ID, a.ID, CauseCourse, "", utoa(n.Course)+n.Limit+utoa(g.Revision), e.now)...)
		}
	}
	if len(changed) > 0 {
		n.Revision, n.Updated = g.Revision+1, e.now
		out.events = append(out.events, Event{Type: GoalConfigured, Goal: g.ID, Subject: g.ID, GoalRow: &n})
		if n.Course != g.Course {
			more, err := courseChanged(r, e, g.ID, n.Course)
			if err != nil {
				return nil, err
			}
			out.events = append(out.events, more...)
		}
	}
	if c.Mode != "" {
		a, err := r.actor(g.ID, c.Agent)
		if err != nil {
			return nil, err
		}
		if err := oneOf("mode", c.Mode, "active", watchesOnly); err != nil {
			return nil, err
		}
		if a.Mode != c.Mode {
			m := *a
			m.Mode, m.Revision = c.Mode, a.Revision+1
			changed = append(changed, "mode of "+a.ID)
			out.events = append(out.events, registered(&m))
		}
	}
	out.changed = len(changed) > 0
	out.result = map[string]any{"goal_id": g.ID, "changed": out.changed, "changed_fields": changed, "status": n.shown(), "allowed_slots": n.Allowed, "window_hours": n.WindowHours()}
	return out, nil
}

func (c *ConfigureGoal) fields(r *reader, g, n *Goal) error {
	set(&n.Title, c.Title)
	set(&n.Objective, c.Objective)
	set(&n.Repo, c.Repo)
	set(&n.Write, c.Write)
	set(&n.NonGoals, c.NonGoals)
	set(&n.Ask, c.Ask)
	n.Language, n.Visibility, n.Handoff = or(c.Language, n.Language), or(c.Visibility, n.Visibility), or(c.Handoff, n.Handoff)
	if n.Limit = or(c.Limit, n.Limit); c.Limit == "none" {
		n.Limit = ""
	}
	if c.Allowed != nil {
		if *c.Allowed < 0 || *c.Allowed > slotsMost {
			return Errorf(Invalid, "bad_allowed_slots", "allowed slots must be 0 to %d", slotsMost)
		}
		n.Allowed = *c.Allowed
		n.Pause = slices.DeleteFunc(slices.Clone(g.Pause), func(s string) bool { return s == PauseQuota })
		if n.Allowed == 0 {
			n.Pause = append(n.Pause, PauseQuota)
			slices.Sort(n.Pause)
		}
	}
	if c.Window != nil {
		if err := checkWindow(*c.Window); err != nil {
			return err
		}
		n.WindowMS = int64(*c.Window) * hourMS
	}
	if n.Handoff != g.Handoff && r.any(under(1, tblClaimEnd, g.ID)) {
		// A lease taken without a token would fence its own holder out.
		return Errorf(Conflict, "claims_open", "the handoff mode changes only while nobody holds a todo").Try("loopx todo list --goal-id %s --status claimed", g.ID)
	}
	return firstErr(
		checkPolicy(n.Ask), needText("title", n.Title, titleMax, false), needText("objective", n.Objective, bodyMax, true), checkText("repo", n.Repo, summaryMax, false),
		checkGlobs(n.Write), checkList("non-goal", n.NonGoals, summaryMax),
		oneOf("language", n.Language, "en", "zh"), oneOf("visibility", n.Visibility, "private", "group", "public"), oneOf("handoff", n.Handoff, "soft", "strict"), checkLimit(n.Limit),
	)
}

func checkWindow(hours int) error {
	if hours < 1 || hours > windowMost {
		return Errorf(Invalid, "bad_quota_window", "the window of an allowance is 1 to %d hours", windowMost)
	}
	return nil
}

// WindowHours is how long a payment counts against the allowance.
func (g *Goal) WindowHours() int { return int(g.WindowMS / hourMS) }

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// watchesOnly is the mode of an agent that looks at monitors and takes no work.
const watchesOnly = "monitor_only"

// TransferTodo hands a claimed todo to another agent: claim and lease move in
// one step, and the old holder's writes are lost ones from then on.
type TransferTodo struct {
	Goal    string `json:"goal"`
	Todo    string `json:"todo"`
	Agent   string `json:"agent,omitempty"` // who hands over: the holder, or an owner
	Lease   string `json:"lease_token,omitempty"`
	To      string `json:"to"`
	LeaseMS int64  `json:"lease_ms,omitempty"`
	Note    string `json:"note,omitempty"`
}

// Name implements Command.
func (*TransferTodo) Name() string { return "todo.transfer" }

func (c *TransferTodo) decide(r *reader, e *env) (*decided, error) {
	g, err := r.openGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	v, err := r.needTodo(g.ID, c.Todo)
	if err != nil {
		return nil, err
	}
	w, err := r.writer(e, g, v, c.Agent, c.Lease, "")
	if err != nil {
		return nil, err
	}
	if err := firstErr(checkLease(c.LeaseMS), checkText("note", c.Note, noteMax, true)); err != nil {
		return nil, err
	}
	to, err := r.actor(g.ID, c.To)
	if err != nil {
		return nil, err
	}
	if !w.claim.Holds(e.steady) {
		return nil, Errorf(Conflict, "not_claimed", "nobody holds %s, so there is nothing to hand over", v.ID).Try("loopx todo claim --goal-id %s --todo-id %s --agent-id %s", g.ID, v.ID, to.ID)
	}
	result := todoResult(v)
	result["claimed_by"] = to.ID
	if w.claim.Agent == to.ID {
		result["changed"] = false
		return &decided{result: result}, nil
	}
	if err := r.mayClaim(e, g, v, to, nil, ""); err != nil {
		return nil, err
	}
	n, taking := take(e, v, w.claim, to.ID, "", c.LeaseMS)
	events := append(r.releaseClaim(w.claim), append(taking, grantsUsed(r, e, v)...)...)
	res, err := r.reserve(e, g, to.ID, "", v.ID, n.Until)
	if err != nil {
		if slot := r.Reservation(g.ID, w.claim.Agent); slot == nil || slot.Todo != v.ID {
			return nil, err
		}
		// The slot the old holder gives back in this step is the one taken over.
		res = []Event{{Type: SlotReserved, Goal: g.ID, Subject: to.ID, Reservation: &Reservation{Goal: g.ID, Agent: to.ID, Todo: v.ID, Slots: 1, Until: n.Until}}}
	}
	events = append(events, res...)
	if c.Note != "" {
		m := *v
		m.Note, m.Revision, m.Updated = c.Note, v.Revision+1, e.now
		events = append(events, Event{Type: TodoUpdated, Goal: g.ID, Subject: v.ID, Todo: &m})
	}
	result["changed"] = true
	// The token belongs to the new holder, who learns it by claiming again.
	return &decided{changed: true, events: events, result: result}, nil
}
