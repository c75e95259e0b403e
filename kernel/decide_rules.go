package kernel

import (
	"fmt"
	"slices"
	"strings"
)

// rule is one row of the decision table.
type rule struct {
	id   string
	when func(*situation) bool
	then func(*situation, *Decision)
}

// rules in order; the first that matches decides. R02 is the typed error of an
// unknown agent.
func rules() []rule {
	return []rule{
		{"R01", (*situation).paused, (*situation).stop},
		{"R03", func(s *situation) bool { return s.owed != nil && s.slot() }, (*situation).reply},
		{"R04", func(s *situation) bool { return s.left != nil }, (*situation).settle},
		{"R05", func(s *situation) bool { return s.replan != nil }, (*situation).askReplan},
		{"R06", (*situation).guarded, (*situation).repairTree},
		{"R07", (*situation).allUnable, (*situation).bridge},
		{"R08", (*situation).monitorFirst, (*situation).poll},
		{"R09", (*situation).mayPassBy, (*situation).fallback},
		{"R10", (*situation).allGated, (*situation).ask},
		{"R11", (*situation).noSlot, (*situation).throttle},
		{"R12", (*situation).runnable, (*situation).deliver},
		{"R13", (*situation).othersOnly, (*situation).waitForOthers},
		{"R14", (*situation).later, (*situation).waitForTime},
		{"R15", (*situation).unplanned, (*situation).plan},
		{"R16", func(*situation) bool { return true }, (*situation).terminal},
	}
}

func (s *situation) paused() bool { return len(s.g.Pause) > 0 || s.g.Status == GoalCompleted }

func (s *situation) stop(d *Decision) {
	d.Kind, d.State, d.Effective = "stop", "paused", "quota_skip"
	d.Reason = "the goal is closed"
	if s.g.Status != GoalCompleted {
		d.Reason = "the goal is paused: " + strings.Join(s.g.Pause, ", ")
	}
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Stop. Do not work on this goal until it is resumed."
	d.Scheduler = Hint{Action: "stop_until_explicit_resume", Cadence: "terminal", Reason: d.Reason}
}

// allUnable: something could run, but not by this agent with what it has.
func (s *situation) allUnable() bool {
	return s.unable != nil && s.free == nil && s.gated == nil && s.due == nil
}

// bridge asks an agent to get what it lacks, or a person when only they can.
func (s *situation) bridge(d *Decision) {
	lacks := brief(strings.Join(s.lacks, ", "), 200)
	d.Reason = fmt.Sprintf("%s needs %s", s.unable.todo.ID, lacks)
	d.Contract.User.Notify = "DONT_NOTIFY"
	if slices.ContainsFunc(s.lacks, ownerHeld) {
		d.Kind, d.State, d.Effective = "ask", "eligible", "quota_skip"
		d.Contract.User.Needed = true
		d.Contract.Agent.Instruction = "Do not look for a way around. Ask the owner for " + lacks + " with a gate that blocks " + s.unable.todo.ID + "."
		d.Contract.CLI.Next = [][]string{{"gate", "open", "--goal-id", s.g.ID, "--agent-id", s.agent, "--kind", "permission", "--blocks-todo", s.unable.todo.ID, "--question", "TEXT"}}
		d.Scheduler = Hint{Action: "backoff_waiting_for_user", Cadence: "human_gate", NextWake: s.r.now + 30*minuteMS, Reason: "only a person can give what is missing"}
		return
	}
	d.Kind, d.ShouldRun = "repair", true
	d.State, d.Decision, d.Effective = "eligible", "repair_bridge", "capability_bridge_repair"
	d.Contract.Agent.Instruction = "Make " + lacks + " available in this session, then ask again with --available-capability. Nothing is paid for this."
	d.Scheduler = s.soon("work is in progress")
}

func (s *situation) soon(reason string) Hint {
	return Hint{Action: "run_now", Cadence: "active_work", NextWake: nextLook(s.r, s.g.ID), Reason: reason}
}

// ownerHeld capabilities are given by people only.
func ownerHeld(c string) bool {
	return c == "credentials" || c == "production_access" || strings.HasPrefix(c, "an approval")
}

// monitorFirst: a due monitor outranks the best work, or is the only work.
func (s *situation) monitorFirst() bool {
	switch {
	case s.due == nil:
		return false
	case s.free != nil && s.free.own():
		return false // what is in progress is finished first
	case s.free != nil:
		return s.due.Priority < s.free.todo.Priority
	}
	return true // everything else waits for a person, or there is nothing else
}

func (s *situation) poll(d *Decision) {
	v := s.due
	d.Kind, d.ShouldRun = "monitor", true
	d.State, d.Decision, d.Effective = "eligible", "run", "normal_run"
	d.Reason = fmt.Sprintf("%s is due since %s", v.ID, rfc3339(v.Watch.NextDue))
	d.Selected = &Selected{ID: v.ID, Title: v.Title, Priority: v.Priority, By: "due_monitor"}
	d.Contract.User.Notify = "DONT_NOTIFY"
	if s.gated != nil {
		s.askFor(d, s.gated.gates)
	}
	d.Contract.Agent.Todo = v.ID
	d.Contract.Agent.Instruction = "Look at " + brief(v.Watch.Target, 240) + " and record the look. An unchanged look is quiet and free."
	next := []string{"quota", "monitor-poll", "--execute", "--todo-id", v.ID, "--goal-id", s.g.ID, "--agent-id", s.agent}
	if s.caller.Turn != "" {
		next = append(next, "--turn-instance-id", s.caller.Turn)
	}
	d.Contract.CLI.Next = [][]string{next}
	d.Scheduler = s.soon("a watch is due")
}

// mayPassBy: the best todo is gated, and another one is independent of every
// open gate.
func (s *situation) mayPassBy() bool {
	if s.free == nil || s.gated == nil || !s.slot() {
		return false
	}
	if a, b := s.gated.own(), s.free.own(); a != b {
		return a // an own claim comes before everything else
	}
	return less(s.gated.todo, s.free.todo)
}

func (s *situation) slot() bool { return s.quota.Free() >= 1 }

func (s *situation) fallback(d *Decision) {
	s.deliverTodo(d)
	d.State, d.Decision, d.Effective = "operator_gate", "safe_bypass_user_gate_fallback", "safe_bypass_user_gate_fallback"
	s.askFor(d, s.gated.gates)
	d.Reason = fmt.Sprintf("%s waits for a decision; %s does not depend on it", s.gated.todo.ID, s.free.todo.ID)
}

// allGated: what could run waits for a person, and so does planning in a lane
// that waits.
func (s *situation) allGated() bool {
	if s.free != nil || s.stopped {
		return false
	}
	return s.gated != nil || len(s.lane) > 0 && s.other == "" && !s.later() && s.unplanned()
}

func (s *situation) ask(d *Decision) {
	d.Kind, d.State, d.Effective = "ask", "operator_gate", "operator_gate_notify"
	gates := s.lane
	d.Reason = "this lane waits for a decision"
	if s.gated != nil {
		gates = s.gated.gates
		d.Reason = fmt.Sprintf("%s and everything else that could run wait for a decision", s.gated.todo.ID)
	}
	s.askFor(d, gates)
	d.Contract.User.Needed = true
	d.Contract.Agent.Instruction = "Wait for the person. Do not work around the decision."
	if len(d.Contract.User.Ask) == 0 {
		d.Contract.User.Needed = false
		d.Contract.Agent.Instruction = "The question has expired or was taken back, and that grants nothing. Ask again with a new gate if it still matters."
	}
	d.Scheduler = Hint{Action: "backoff_waiting_for_user", Cadence: "human_gate", Reason: "woken by the answer"}
}

// fixShown bounds, in bytes, how a gate is made reachable again in an answer.
const fixShown = 120

// askFor names the gates and notifies about those nobody was told of yet.
func (s *situation) askFor(d *Decision, gates []string) {
	d.Contract.User.Notify = "DONT_NOTIFY"
	for _, id := range gates {
		g := s.r.Gate(s.g.ID, id)
		if g == nil || g.Status != GateOpen || g.Expired(s.r.now) {
			continue
		}
		a := AskedFor{Gate: g.ID, Code: g.Code, Question: g.Question, State: "waiting", Meanwhile: g.Fallback}
		if g.Parked(s.r.now) {
			a.State = "parked"
		} else if u := s.r.Unreachable(g); u != nil {
			a.State, a.Why, a.Fix = "unreachable", u.Reason, brief(u.Fix, fixShown)
		}
		d.Contract.User.Ask = append(d.Contract.User.Ask, a)
		if !g.Notified && a.State != "parked" {
			d.Contract.User.Notify = "NOTIFY"
			d.notify = append(d.notify, g.ID)
		}
		if len(d.Contract.User.Ask) == 3 {
			break
		}
	}
}

func (s *situation) noSlot() bool { return (s.free != nil || s.owed != nil) && !s.slot() }

func (s *situation) throttle(d *Decision) {
	d.Kind, d.State, d.Decision, d.Effective = "wait", "throttled", "throttled_skip", "throttled_skip"
	d.Reason = fmt.Sprintf("no slot is free: %d of %d spent, %d reserved by others", s.quota.Spent, s.quota.Allowed, s.quota.Reserved)
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Wait until a slot is free."
	d.Scheduler = Hint{Action: "backoff_until_state_change", Cadence: "quiet_wait", NextWake: s.quota.NextFree, Reason: "the next slot frees"}
}

func (s *situation) runnable() bool { return s.free != nil }

func (s *situation) deliver(d *Decision) {
	s.deliverTodo(d)
	d.State, d.Decision, d.Effective = "eligible", "run", "normal_run"
	d.Reason = fmt.Sprintf("%s is next", s.free.todo.ID)
	d.Contract.User.Notify = "DONT_NOTIFY"
	if s.gated != nil { // a lower one is gated: show it, without asking again
		s.askFor(d, s.gated.gates)
	}
}

func (s *situation) deliverTodo(d *Decision) {
	v := s.free.todo
	d.Kind, d.ShouldRun = "deliver", true
	d.Selected = &Selected{ID: v.ID, Title: v.Title, Priority: v.Priority, By: s.free.by}
	if s.free.own() {
		d.Selected.ClaimedBy = s.agent
	}
	d.Contract.Agent.Todo = v.ID
	d.Contract.Agent.Instruction = "Work on " + v.ID + " only. Record evidence, then settle the turn." + s.g.limitWords()
	base := []string{"--goal-id", s.g.ID, "--agent-id", s.agent}
	turn := base
	if s.caller.Turn != "" {
		turn = append(slices.Clone(base), "--turn-instance-id", s.caller.Turn)
	}
	d.Contract.CLI.Next = [][]string{
		append([]string{"todo", "claim", "--todo-id", v.ID}, turn...),
		append([]string{"refresh-state", "--delivery-outcome", "outcome_progress"}, turn...),
		append([]string{"quota", "spend-slot", "--execute"}, turn...),
	}
	d.Scheduler = Hint{Action: "run_now", Cadence: "active_work", NextWake: nextLook(s.r, s.g.ID), Reason: "work is in progress"}
}

func (s *situation) othersOnly() bool { return s.other != "" }

func (s *situation) waitForOthers(d *Decision) {
	s.wait(d, "only others hold or may do the work", "backoff_until_reassigned", "agent_scope_wait", nextLook(s.r, s.g.ID))
}

func (s *situation) wait(d *Decision, reason, action, cadence string, wake int64) {
	d.Kind, d.State, d.Effective, d.Reason = "wait", "waiting", "quota_skip", reason
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Nothing to do now. Do not invent work."
	d.Scheduler = Hint{Action: action, Cadence: cadence, NextWake: wake, Reason: reason}
}

func (s *situation) later() bool {
	return s.stopped || s.mode == watchesOnly || s.counts.Open > 0 || s.counts.Deferred > 0 || s.counts.Asks > 0 || s.counts.Monitors > 0 && s.monitorsLive()
}

func (s *situation) waitForTime(d *Decision) {
	wake := nextLook(s.r, s.g.ID)
	if s.stopped {
		s.wait(d, "this lane was stopped by the decision of "+s.codes(s.lane), "backoff_until_state_change", "quiet_wait", 0)
		return
	}
	if at := s.r.nextDate(s.g.ID); at > 0 && (wake == 0 || at < wake) {
		wake = at
	}
	s.wait(d, "only watches, parked or dependent todos and decided ones are left", "backoff_until_material_transition", "monitor_wait", wake)
}

func (s *situation) unplanned() bool {
	return s.counts.Todos == 0 || s.counts.LastEnd == ActiveGoal || s.counts.LastEnd == ""
}

func (s *situation) plan(d *Decision) {
	d.Kind, d.ShouldRun = "plan", true
	d.State, d.Decision, d.Effective = "eligible", "run", "normal_run"
	d.Reason = "the goal is active and has no open todo"
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Plan: add the next todos, open a gate if a person must decide, or complete with --no-follow-up."
	d.Contract.CLI.Next = [][]string{{"todo", "add", "--goal-id", s.g.ID, "--agent-id", s.agent, "--text", "TEXT"}}
	d.Scheduler = Hint{Action: "run_now", Cadence: "active_work", NextWake: nextLook(s.r, s.g.ID), Reason: d.Reason}
}

func (s *situation) terminal(d *Decision) {
	d.Kind, d.State, d.Effective = "stop", "waiting", "terminal"
	d.Reason = fmt.Sprintf("nothing is left: %d done, none open, parked or watched", s.counts.Done)
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Stop. The last completion said that nothing follows."
	d.Scheduler = Hint{Action: "stop_until_explicit_resume", Cadence: "terminal", Reason: d.Reason}
}
