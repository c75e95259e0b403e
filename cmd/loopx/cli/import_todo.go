package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"loopx/kernel"
)

// carried are the fields of a todo that something is made of. Others are named in
// the report when they are set.
func carried() []string {
	return strings.Fields("todo_id status task_class priority required_capabilities required_write_scopes required_decision_scopes excluded_agents resume_when target_key cadence next_due_at expires_at watch_only validation_argv validation_command note evidence reason completed_at updated_at no_followup completion_continuation successor_todo_ids superseded_by claimed_by blocks_agent global_gate unblocks_todo_id decision_scope decision_outcome bound_agent goal_bound")
}

// todo maps one checkbox. What cannot be said here in the same words is parked or
// refused, never loosened.
func (p *importPlan) todo(t *refTodo, row *importRow) {
	if len(t.invalid) > 0 {
		row.changed("skipped: " + strings.Join(t.invalid, ", "))
	}
	var unused []string
	for _, k := range slices.Sorted(maps.Keys(t.fields)) {
		if !slices.Contains(carried(), k) && t.fields[k] != "" {
			unused = append(unused, show(k, 40))
		}
	}
	if len(unused) > 0 {
		row.changed("not carried: " + strings.Join(unused, ", "))
	}
	title, body, prio := p.words(t, row)
	if strings.TrimSpace(title) == "" {
		row.refused("it has no text")
		return
	}
	if row.Kind == "gate" {
		p.gate(t, row, title, body, prio)
		return
	}
	v := kernel.ImportTodo{ID: t.fields["todo_id"], Title: title, Body: body, Priority: prio, Class: kernel.Work, Status: kernel.TodoOpen,
		Capabilities: t.list("required_capabilities"), Write: t.list("required_write_scopes"), Note: plainText(or(t.fields["note"], t.fields["reason"]), 2000, true),
		DoneBy: t.fields["claimed_by"], Updated: p.date(t, "updated_at", row)}
	v.Created = v.Updated
	if t.role == "user" {
		v.Class = kernel.Ask
	}
	v.Scopes = append(v.Scopes, t.list("required_decision_scopes")...)
	for _, a := range t.list("excluded_agents") {
		if agentID(a) {
			v.Excluded = append(v.Excluded, a)
		} else {
			row.changed("an excluded agent's id cannot be used here")
		}
	}
	if s := t.fields["evidence"]; s != "" {
		v.Evidence = []kernel.EvidenceArg{{Summary: strings.ReplaceAll(plainText(s, 400, true), "\n", " ")}}
	}
	p.class(t, row, &v)
	p.validation(t, row, &v)
	p.status(t, row, &v)
	if c := t.fields["claimed_by"]; c != "" && v.Status == kernel.TodoOpen {
		row.changed("the claim of " + show(c, 80) + " ends here")
	}
	if err := v.Check(p.now); err != nil {
		row.refused(kernel.AsError(err).Message)
		delete(p.ids, v.ID)
		return
	}
	p.todos = append(p.todos, v)
}

// words are title, rest and priority of a text like "[P1] Build it".
func (p *importPlan) words(t *refTodo, row *importRow) (title, body string, prio int) {
	text, prio := t.text, 3
	if len(text) > 4 && strings.HasPrefix(text, "[P") && text[3] == ']' && text[2] >= '0' && text[2] <= '4' {
		prio = min(int(text[2]-'0'), 3)
		if text[2] == '4' {
			row.changed("P4 is P3 here")
		}
		text = strings.TrimSpace(text[4:])
	}
	whole := plainText(text, 8192, true)
	if whole != text {
		row.changed("its text was cut or cleaned")
	}
	first, _, more := strings.Cut(whole, "\n")
	title = plainText(first, 240, false)
	if more || title != first {
		body = whole
	}
	return title, body, prio
}

// date reads a time; an unknown one is 0.
func (p *importPlan) date(t *refTodo, name string, row *importRow) int64 {
	s := t.fields[name]
	if s == "" {
		return 0
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil || at.UnixMilli() > p.now+time.Hour.Milliseconds() {
		row.changed(name + " is no date that has been")
		delete(t.fields, name)
		return 0
	}
	return at.UnixMilli()
}

func (p *importPlan) class(t *refTodo, row *importRow, v *kernel.ImportTodo) {
	switch t.fields["task_class"] {
	case "", "advancement_task", "user_action":
	case "blocker":
		row.changed("a blocker is work here")
	case "continuous_monitor":
		p.monitor(t, row, v)
	default:
		row.changed("its class is not known here")
	}
}

func (p *importPlan) monitor(t *refTodo, row *importRow, v *kernel.ImportTodo) {
	v.Class, v.Target, v.WatchOnly = kernel.Monitor, plainText(t.fields["target_key"], 240, false), t.yes("watch_only")
	s := t.fields["cadence"]
	if ms, err := span("cadence", s); err == nil && ms >= time.Minute.Milliseconds() && ms <= 366*24*time.Hour.Milliseconds() {
		v.CadenceMS = ms
	} else {
		v.CadenceMS = time.Hour.Milliseconds()
		row.changed("it is looked at every hour")
	}
	if at, err := time.Parse(time.RFC3339, t.fields["next_due_at"]); err == nil {
		v.NextDue = at.UnixMilli()
	}
	if at, err := time.Parse(time.RFC3339, t.fields["expires_at"]); err == nil {
		v.Expires = at.UnixMilli()
	}
	if v.Expires == 0 && !v.WatchOnly && t.fields["resume_when"] == "" {
		v.WatchOnly = true
		row.changed("nothing bounds it, so it only watches")
	}
}

// validation carries the program that must pass. What would need a shell cannot be
// carried, so the todo waits until a person has said it anew.
func (p *importPlan) validation(t *refTodo, row *importRow, v *kernel.ImportTodo) {
	if s := t.fields["validation_argv"]; s != "" {
		if json.Unmarshal([]byte(s), &v.Validation) == nil && len(v.Validation) > 0 && v.Validation[0] != "" {
			return
		}
	} else if s := t.fields["validation_command"]; s == "" {
		return
	} else if !strings.ContainsAny(s, "|&;<>()$`\\\"'*?[]#~=%\n") && len(strings.Fields(s)) > 0 {
		v.Validation = strings.Fields(s)
		return
	}
	v.Validation = []string{"false"}
	row.changed("its validation needs a shell: it fails until it is declared again")
}

// status is where the todo stands. Blocked work is parked: nothing here says what
// would release it but a person.
func (p *importPlan) status(t *refTodo, row *importRow, v *kernel.ImportTodo) {
	said := t.fields["status"]
	switch said {
	case "completed", "closed", "archived":
		said = "done"
	case "":
		said = map[byte]string{' ': "open", 'x': "done", '-': "deferred"}[t.mark]
	case "open", "done", "blocked", "deferred":
	default:
		row.changed("its status is not known here, so it is parked")
		said = "blocked"
	}
	if mark := map[byte]string{'x': "done"}[t.mark]; mark != "" && said != "done" {
		row.changed("its box is ticked, so it is done")
		said = "done"
	}
	switch said {
	case "done":
		p.done(t, row, v)
	case "deferred", "open":
		p.parked(t, row, v, said)
	case "blocked":
		v.Status, v.ResumeWhen = kernel.TodoDeferred, "event:unblock-"+v.ID
		row.changed("it was blocked: it waits for loopx event fire --key unblock-" + v.ID)
	}
}

func (p *importPlan) parked(t *refTodo, row *importRow, v *kernel.ImportTodo, said string) {
	when := t.fields["resume_when"]
	kind, what, _ := strings.Cut(when, ":")
	switch {
	case when == "" && said == "open":
		return
	case kind == "todo_done" && p.ids[what] != "" && p.ids[what] != v.ID:
		v.ResumeWhen = "todo_done:" + p.ids[what]
		if p.isDone(what) {
			v.ResumeWhen = ""
			row.changed("what it waited for is done, so it is open")
			return
		}
	case kind == "pr_merged" || kind == "capacity_available":
		v.ResumeWhen = "event:" + strings.ReplaceAll(plainText(when, 110, false), " ", "")
		row.changed("it waits for loopx event fire --key " + strings.TrimPrefix(v.ResumeWhen, "event:"))
	default:
		v.ResumeWhen = "event:resume-" + v.ID
		row.changed("what it waits for is not known here: it waits for loopx event fire --key resume-" + v.ID)
	}
	v.Status = kernel.TodoDeferred
	if v.Class == kernel.Monitor {
		return
	}
	if said == "open" {
		row.changed("it is parked until its condition is met")
	}
}

func (p *importPlan) isDone(id string) bool {
	i := slices.IndexFunc(p.state.todos, func(t *refTodo) bool { return t.fields["todo_id"] == id })
	return i >= 0 && (p.state.todos[i].mark == 'x' || p.state.todos[i].fields["status"] == "done")
}

func (p *importPlan) done(t *refTodo, row *importRow, v *kernel.ImportTodo) {
	v.Status, v.Continuation = kernel.TodoDone, kernel.ActiveGoal
	if at := p.date(t, "completed_at", row); at > 0 {
		v.Updated = at
	}
	if by := t.fields["superseded_by"]; by != "" {
		if n := p.ids[by]; n != "" && n != v.ID {
			v.Status, v.SupersededBy = kernel.TodoSuperseded, n
			return
		}
		row.changed("what replaced it is not there")
	}
	for _, id := range t.list("successor_todo_ids") {
		if n := p.ids[id]; n != "" {
			v.Successors = append(v.Successors, n)
		} else {
			row.changed("a successor is not there")
		}
	}
	switch {
	case t.yes("no_followup"), t.fields["completion_continuation"] == kernel.NoFollowup:
		v.Continuation = kernel.NoFollowup
	case len(v.Successors) > 0:
		v.Continuation = kernel.Successor
	}
}

// gate maps a question to a person. An open one is asked again here; a decided
// one becomes a line of history, and its approval must be asked for again.
func (p *importPlan) gate(t *refTodo, row *importRow, title, body string, prio int) {
	delete(p.ids, t.fields["todo_id"]) // nothing waits for it as for a todo
	if t.mark == 'x' || t.fields["status"] == "done" {
		outcome := or(t.fields["decision_outcome"], "unknown")
		if !slices.Contains([]string{"approve", "reject", "cancel"}, outcome) {
			outcome = "unknown"
		}
		at := p.date(t, "completed_at", row)
		if at == 0 {
			at = p.date(t, "updated_at", row)
		}
		p.runs = append(p.runs, kernel.ImportRun{Agent: "import", Classification: "decided_elsewhere_" + outcome, Outcome: kernel.SurfaceOnly, Note: plainText(or(body, title), 2000, true), At: at})
		row.changed("decided there (" + outcome + "): history, no authority")
		return
	}
	c := kernel.OpenGate{Goal: p.goal.Goal, Question: title, Why: body, Severity: &prio}
	if s := t.fields["decision_scope"]; s != "" {
		probe := kernel.ImportTodo{ID: "todo_scope", Title: "scope", Class: kernel.Work, Status: kernel.TodoOpen, Scopes: []string{s}}
		if c.Scope = s; probe.Check(p.now) != nil {
			c.Scope = ""
			row.changed("its scope is not known here")
		}
	}
	switch on, agent := t.fields["unblocks_todo_id"], t.fields["blocks_agent"]; {
	case on != "" && p.ids[on] != "" && !p.isDone(on):
		c.Todos = []string{p.ids[on]}
	case agent != "" && slices.Contains(p.goal.Agents, agent):
		c.LaneOf = agent
	case t.yes("global_gate"), on == "" && agent == "":
		c.WholeGoal = true
	default:
		c.WholeGoal = true
		row.changed("what it held back is not there, so it holds back the goal")
	}
	p.gates = append(p.gates, importGate{c, row})
	if c.Why != "" && len([]rune(c.Why)) > 2000 {
		p.gates[len(p.gates)-1].cmd.Why = plainText(c.Why, 2000, true)
		row.changed("its text was cut")
	}
}

// renamed gives a todo whose id another goal has a new one, everywhere.
func (p *importPlan) renamed(old, id string) {
	swap := func(s *string) {
		if *s == old {
			*s = id
		} else if *s == "todo_done:"+old {
			*s = "todo_done:" + id
		}
	}
	for i := range p.todos {
		v := &p.todos[i]
		for _, s := range []*string{&v.ID, &v.SupersededBy, &v.ResumeWhen} {
			swap(s)
		}
		for j := range v.Successors {
			swap(&v.Successors[j])
		}
	}
	for i := range p.runs {
		swap(&p.runs[i].Todo)
	}
	for i := range p.gates {
		for j := range p.gates[i].cmd.Todos {
			swap(&p.gates[i].cmd.Todos[j])
		}
	}
	if row := p.of[old]; row != nil {
		row.changed(fmt.Sprintf("another goal has that id: it is %s", id))
		p.of[id] = row
	}
}
