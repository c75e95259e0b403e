package kernel

import (
	"slices"
	"strconv"
)

// Cadence is how often a host is advised to wake an agent. The advice grows
// slower only while nothing changes: a step is taken when a whole interval has
// passed under the same identity, and anything new begins again.
type Cadence struct {
	Goal     string `json:"goal"`
	Agent    string `json:"agent"`
	Identity string `json:"identity"`
	Step     int    `json:"step"`
	Since    int64  `json:"since"` // of the step, UTC ms
	// Acked is the rule a host says that it has set for this identity.
	Acked string `json:"acked,omitempty"`
}

func (v *Cadence) sound() bool { return v.Agent != "" && v.Identity != "" && v.Step >= 0 }

// AckHint is the ready command by which a host says that it has set the rule.
type AckHint struct {
	Args []string `json:"cli_args"`
}

// cadenceSteps are the intervals of a class in minutes; none for those that an
// answer or a person ends.
func cadenceSteps(class string) []int64 {
	switch class {
	case "active_work":
		return []int64{3, 6, 10}
	case "agent_scope_wait", "monitor_wait", "quiet_wait":
		return []int64{15, 30, 60}
	}
	return nil
}

// paced turns the rule's hint into the one for now. What the rule set as the
// next wake stays its latest time. It gives the row as a turn would store it.
func paced(r *Reader, d *Decision) *Cadence {
	h := &d.Scheduler
	steps := cadenceSteps(h.Cadence)
	if steps == nil || d.Agent == "" || d.Rule == "R11" {
		return nil
	}
	subject := []string{d.Rule, h.Cadence, d.Contract.Agent.Todo, h.Reason}
	for _, g := range d.Contract.User.Ask {
		subject = append(subject, g.Gate)
	}
	n := &Cadence{Goal: d.Goal, Agent: d.Agent, Identity: digest(subject)[:12], Since: r.now}
	if old := get[Cadence](r, tblCadence, d.Goal, d.Agent); old != nil && old.Identity == n.Identity {
		*n = *old
		n.Step = min(n.Step, len(steps)-1)
		if passed := r.now - n.Since; passed >= steps[n.Step]*minuteMS && n.Step < len(steps)-1 {
			n.Step, n.Since = n.Step+1, r.now
		} else if passed < 0 {
			n.Since = r.now // the wall clock was set back
		}
	}
	wake := r.now + steps[n.Step]*minuteMS
	if h.NextWake > 0 {
		wake = min(wake, h.NextWake)
	}
	h.NextWake = wake
	h.RRule = "FREQ=MINUTELY;INTERVAL=" + strconv.FormatInt(steps[n.Step], 10)
	h.Token = digest([]string{d.Goal, d.Agent, n.Identity})[:16]
	if n.Acked != h.RRule {
		h.Ack = &AckHint{Args: []string{"quota", "scheduler-ack-current", "--execute", "--goal-id", d.Goal, "--agent-id", d.Agent, "--applied-rrule", h.RRule, "--reset-token", h.Token}}
	}
	return n
}

// AckSchedule notes that a host has set the advised rule. It settles the advice
// and never moves it.
type AckSchedule struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent,omitempty"`
	RRule string `json:"applied_rrule"`
	Token string `json:"reset_token,omitempty"`
	// Workspace and Capabilities are those of the question that gave the advice.
	Workspace    *Workspace `json:"workspace,omitempty"`
	Capabilities []string   `json:"capabilities,omitempty"`
}

// Name implements Command.
func (*AckSchedule) Name() string { return "schedule.ack" }

func (c *AckSchedule) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	a, err := r.actor(g.ID, c.Agent)
	if err != nil {
		return nil, err
	}
	if err := firstErr(needText("applied_rrule", c.RRule, 80, false), checkText("reset_token", c.Token, 80, false), checkList("capability", c.Capabilities, 80)); err != nil {
		return nil, err
	}
	d, err := r.Decide(Caller{Goal: g.ID, Agent: a.ID, Workspace: c.Workspace, Capabilities: c.Capabilities})
	if err != nil {
		return nil, err
	}
	row, h := d.cadence, d.Scheduler
	stored := get[Cadence](r, tblCadence, g.ID, a.ID)
	if stored != nil && (row == nil || row.Identity != stored.Identity) && digest([]string{g.ID, a.ID, stored.Identity})[:16] == c.Token {
		// The turn that was told has begun; its advice stands until the next one.
		row, h.Token, h.RRule = stored, c.Token, c.RRule
	}
	again := "loopx quota should-run --goal-id " + g.ID + " --agent-id " + a.ID
	switch {
	case row == nil:
		return nil, Errorf(Conflict, "no_schedule", "nothing is to be set for %s now: %s", a.ID, d.Reason).Try("%s", again)
	case c.Token != "" && c.Token != h.Token:
		return nil, Errorf(Stale, "schedule_changed", "what %s waits for has changed since that advice", a.ID).Try("%s", again)
	case c.RRule != h.RRule:
		return nil, Errorf(Conflict, "rrule_differs", "the advice is %s, not %s", h.RRule, show(c.RRule)).Try("%s", again)
	}
	out := &decided{result: map[string]any{"goal_id": g.ID, "agent_id": a.ID, "applied_rrule": c.RRule, "reset_token": h.Token, "settled": true, "already_applied": row.Acked == c.RRule}}
	if row.Acked == c.RRule {
		return out, nil
	}
	n := *row
	if stored != nil && stored.Identity == row.Identity {
		n = *stored // the step stays where it is
	}
	n.Acked = c.RRule
	out.changed, out.events = true, []Event{{Type: CadenceAcked, Goal: g.ID, Subject: a.ID, Cadence: &n}}
	return out, nil
}

// nextLook is when the next live monitor is due that is not due yet, or 0.
func nextLook(r *Reader, goal string) int64 {
	for _, v := range r.List(goal, ListMonitor, "", listMax) {
		if v.Watch.NextDue > r.now && !v.Watch.Over(r.now) && !slices.Contains([]string{TodoDone, TodoSuperseded}, v.Status) {
			return v.Watch.NextDue
		}
	}
	return 0
}
