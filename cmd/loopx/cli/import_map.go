package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loopx/kernel"
)

// importPlan is what becomes of one goal: the commands that make it, and a row
// for everything that was read.
type importPlan struct {
	goal    kernel.CreateGoal
	stopped bool
	modes   []string // agents that only look
	todos   []kernel.ImportTodo
	runs    []kernel.ImportRun
	spends  []kernel.ImportSpend
	gates   []importGate
	bad     bool // the goal itself is refused, and all of it with it

	rows  []*importRow
	of    map[string]*importRow // a todo's row by its new id
	ids   map[string]string     // id as it was -> as it is
	state *refState
	now   int64
}

// importGate is an open question that is asked again here.
type importGate struct {
	cmd kernel.OpenGate
	row *importRow
}

func (p *importPlan) row(file string, line int, kind, id string) *importRow {
	r := &importRow{File: file, Line: line, Kind: kind, ID: id, Verdict: rowKept}
	if p.bad {
		r.refused("its goal was refused")
	}
	p.rows = append(p.rows, r)
	return r
}

// planGoal reads one goal of a registry with all that belongs to it.
func planGoal(project, registry, runtime string, raw json.RawMessage, seen map[string]bool, now int64) *importPlan {
	p := &importPlan{of: map[string]*importRow{}, ids: map[string]string{}, state: &refState{}, now: now}
	var g refGoal
	row := p.row(registry, 0, "goal", "")
	if err := json.Unmarshal(raw, &g); err != nil {
		p.bad = true
		row.refused("the entry does not decode")
		return p
	}
	row.ID = g.ID
	if seen[strings.ToLower(g.ID)] {
		// Its files were read with the first one.
		p.bad = true
		row.refused("the goal stands twice")
		for _, id := range g.Coordination.Agents {
			p.agent(registry, id, "")
		}
		return p
	}
	seen[strings.ToLower(g.ID)] = true
	file, named := "", filepath.IsLocal(g.ID) && g.ID != "." && !strings.ContainsAny(g.ID, "/\\\x00")
	if named {
		file = stateFile(project, &g)
	}
	if b, err := readBounded(file); err == nil {
		p.state = parseState(b)
	} else if file == "" {
		row.changed("it has no state file, so it has no todos")
	} else {
		row.changed("its state file cannot be read: no todos")
	}
	p.head(&g, row)
	if p.bad = row.Verdict == rowRefused; !p.bad {
		p.settings(&g, row)
	}
	for _, id := range g.Coordination.Agents {
		p.agent(registry, id, g.Coordination.Modes[id])
	}
	p.plan(file)
	if named { // else it names no folder of its own
		p.history(filepath.Join(runtime, "goals", g.ID, "runs", "index.jsonl"))
		p.leases(filepath.Join(runtime, "goals", g.ID, "task-leases"))
	}
	return p
}

// head is what the goal is called and is about.
func (p *importPlan) head(g *refGoal, row *importRow) {
	p.goal.Goal = strings.ToLower(g.ID)
	if p.goal.Goal != g.ID {
		row.changed("its id is written " + p.goal.Goal)
	}
	ok := p.goal.Goal != "" && len(p.goal.Goal) <= 64
	for i, c := range p.goal.Goal {
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		ok = ok && (alnum || i > 0 && (c == '-' || c == '_'))
	}
	if !ok {
		row.refused("its id cannot be used here")
		return
	}
	for _, s := range p.state.section["non-goals"] {
		if s = plainText(strings.TrimLeft(s, "-* "), 400, false); s != "" && len(p.goal.NonGoals) < 64 {
			p.goal.NonGoals = append(p.goal.NonGoals, s)
		}
	}
	p.goal.Objective = p.state.front["objective"]
	if text := p.state.section["objective"]; len(text) > 0 {
		p.goal.Objective = strings.Join(text, "\n")
	}
	if clean := plainText(p.goal.Objective, 8192, true); clean != p.goal.Objective {
		p.goal.Objective = clean
		row.changed("its objective was cut or cleaned")
	}
	if strings.TrimSpace(p.goal.Objective) == "" {
		p.goal.Objective = "Imported goal " + p.goal.Goal
		row.changed("it states no objective")
	}
}

// settings are switch, allowance, scope and mode of handing over.
func (p *importPlan) settings(g *refGoal, row *importRow) {
	p.goal.Repo = plainText(g.Repo, 400, false)
	for _, s := range g.Coordination.Write {
		if plainText(s, 400, false) != s || s == "" || len(p.goal.Write) == 64 {
			row.changed("a write scope cannot be used here")
			continue
		}
		p.goal.Write = append(p.goal.Write, s)
	}
	if a := g.Activation; a != nil && a.State != "active" {
		p.stopped = true
		if a.State != "stopped" {
			row.changed("its switch reads " + show(a.State, 20) + ", so it is stopped")
		}
	}
	if q := g.Quota; q != nil {
		get := func(v *float64, def float64) float64 {
			if v == nil {
				return def
			}
			return *v
		}
		window, minutes := get(q.Window, 24), get(q.Minutes, 1)
		allowed := 0
		if minutes > 0 {
			allowed = int(math.Round(window * 60 / minutes * get(q.Compute, 1)))
		}
		if q.Allowed != nil && get(q.Compute, 1) > 0 {
			allowed = *q.Allowed
		}
		// Windows are whole hours here, 1 to 720: one that is not is brought there,
		// with as many slots an hour as before and never more.
		if hours := min(max(math.Round(window), 1), 720); window > 0 && hours != 24 {
			if hours != window {
				allowed = int(math.Floor(float64(allowed) * min(hours/window, 1)))
				row.changed("its window is " + count(int(hours), "hour", "hours") + " here")
			}
			p.goal.Window = int(hours)
		}
		allowed = min(max(allowed, 0), 1_000_000)
		p.goal.Allowed = &allowed
	}
	switch p.state.front["handoff_mode"] {
	case "hard_lease":
		p.goal.Handoff = "strict"
	case "", "legacy", "soft_claim":
	default:
		p.goal.Handoff = "strict"
		row.changed("its mode of handing over is unknown, so it is strict")
	}
}

func (p *importPlan) agent(file, id, mode string) {
	row := p.row(file, 0, "agent", show(id, 80))
	switch {
	case p.bad:
	case !agentID(id):
		row.refused("the id cannot be used here")
	case slices.Contains(p.goal.Agents, id):
		row.refused("it is registered twice")
	default:
		p.goal.Agents = append(p.goal.Agents, id)
		if mode == "monitor_only" {
			p.modes = append(p.modes, id)
			row.changed("it may do any work here: set its mode again")
		} else if mode != "" && mode != "normal" {
			row.changed("its work mode is not known here")
		}
	}
}

func agentID(s string) bool {
	if s == "" || len(s) > 80 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_.:@-") == ""
}

// plan maps the todos of the state file, ids first, because they name each other.
func (p *importPlan) plan(file string) {
	rows := make([]*importRow, len(p.state.todos))
	for i, t := range p.state.todos {
		id := t.fields["todo_id"]
		kind := "todo"
		if t.role == "user" && t.fields["task_class"] != "user_action" {
			kind = "gate"
		}
		row := p.row(file, t.line, kind, show(id, 80))
		rows[i] = row
		switch _, twice := p.ids[id]; {
		case row.Verdict == rowRefused:
		case id != "" && twice:
			row.refused("the id stands twice")
		case !todoID(id):
			n := p.made(file, t)
			row.changed("its id is " + n)
			p.of[n] = row
			t.fields["todo_id"] = n
			p.ids[n] = n
		default:
			p.ids[id], p.of[id] = id, row
		}
	}
	// Questions last: what they hold back must be there.
	for _, questions := range []bool{false, true} {
		for i, t := range p.state.todos {
			if row := rows[i]; row.Verdict != rowRefused && questions == (row.Kind == "gate") {
				p.todo(t, row)
			}
		}
	}
	p.mend()
}

// mend takes out references to todos that were refused.
func (p *importPlan) mend() {
	there := map[string]bool{}
	for _, v := range p.todos {
		there[v.ID] = true
	}
	for i := range p.todos {
		v := &p.todos[i]
		row := p.of[v.ID]
		if v.SupersededBy != "" && !there[v.SupersededBy] {
			v.Status, v.SupersededBy, v.Continuation = kernel.TodoDone, "", kernel.ActiveGoal
			row.changed("what replaced it is not there")
		}
		n := len(v.Successors)
		v.Successors = slices.DeleteFunc(v.Successors, func(id string) bool { return !there[id] })
		if len(v.Successors) < n {
			row.changed("a successor is not there")
		}
		if id, ok := strings.CutPrefix(v.ResumeWhen, "todo_done:"); ok && !there[id] {
			v.ResumeWhen = "event:resume-" + v.ID
			row.changed("what it waited for is not there: it waits for loopx event fire --key resume-" + v.ID)
		}
	}
}

func todoID(s string) bool {
	rest, ok := strings.CutPrefix(s, "todo_")
	return ok && len(rest) >= 3 && len(rest) <= 64 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// made is an id for a todo without a good one: the same each time.
func (p *importPlan) made(file string, t *refTodo) string {
	sum := sha256.Sum256([]byte(p.goal.Goal + "\x00" + t.text + "\x00" + string(rune(t.line))))
	return "todo_" + hex.EncodeToString(sum[:6])
}

// history maps the index of runs. A payment counts while it is in the window; what
// was decided there is history and no authority.
func (p *importPlan) history(file string) {
	b, err := readBounded(file)
	if err != nil {
		return // a goal without runs has no such file
	}
	voided := map[string]float64{}
	jsonLines(b, func(_ int, line []byte) {
		var l refLine
		if json.Unmarshal(line, &l) == nil && l.Classification == "quota_slot_voided" {
			voided[l.Voids] += max(l.Slots, 1)
		}
	})
	jsonLines(b, func(n int, line []byte) {
		row := p.row(file, n, "run", "")
		if row.Verdict == rowRefused {
			return
		}
		var l refLine
		if err := json.Unmarshal(line, &l); err != nil {
			row.refused("the line does not decode")
			return
		}
		row.ID = show(l.Classification, 60)
		at, err := time.Parse(time.RFC3339, l.At)
		switch {
		case err != nil:
			row.refused("it has no date")
		case at.UnixMilli() > p.now+time.Hour.Milliseconds():
			row.refused("it lies in the future")
		case l.Goal != "" && !strings.EqualFold(l.Goal, p.goal.Goal):
			row.refused("it is another goal's")
		case l.Classification == "quota_slot_spent":
			row.Kind = "spend"
			slots := max(l.Slots-voided[l.At], 0)
			if voided[l.At] > 0 {
				row.changed("what was taken back of it does not count")
			}
			if slots > 1000 || slots != math.Trunc(slots) {
				row.refused("its slots are no number of slots")
				return
			}
			p.spends = append(p.spends, kernel.ImportSpend{Slots: int(slots), At: at.UnixMilli()})
			window := time.Duration(max(p.goal.Window, 1)) * time.Hour
			if p.goal.Window == 0 {
				window = 24 * time.Hour
			}
			if at.UnixMilli() <= p.now-window.Milliseconds() {
				row.changed("its window is over, so it counts no more")
			}
		default:
			p.run(row, l, at.UnixMilli())
		}
	})
}

func (p *importPlan) run(row *importRow, l refLine, at int64) {
	r := kernel.ImportRun{Agent: l.Agent, Turn: l.Turn, Classification: l.Classification, Outcome: l.Outcome, Next: l.Recommended, At: at}
	if l.Todo != "" {
		if r.Todo = p.ids[l.Todo]; r.Todo == "" {
			row.changed("its todo is not there")
		}
	}
	for _, f := range []struct {
		name string
		s    *string
		most int
	}{{"classification", &r.Classification, 120}, {"recommended_action", &r.Next, 2000}, {"agent_id", &r.Agent, 80}, {"turn_instance_id", &r.Turn, 120}, {"delivery_outcome", &r.Outcome, 80}} {
		if clean := plainText(*f.s, f.most, f.name == "recommended_action"); clean != *f.s {
			*f.s = clean
			row.changed(f.name + " was cut or cleaned")
		}
	}
	if r.Classification == "" {
		row.refused("it says not what it is")
		return
	}
	if err := r.Check(); err != nil {
		row.refused(kernel.AsError(err).Message)
		return
	}
	if strings.HasPrefix(l.Classification, "operator_gate_") {
		row.changed("a decision: history, no authority")
	}
	p.runs = append(p.runs, r)
}

// leases end with the import: their holders are elsewhere.
func (p *importPlan) leases(dir string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		path := filepath.Join(dir, f.Name())
		row := p.row(path, 0, "lease", strings.TrimSuffix(f.Name(), ".json"))
		var l struct {
			Owner string `json:"owner"`
			Todo  string `json:"todo_id"`
		}
		b, err := readBounded(path)
		switch {
		case row.Verdict == rowRefused:
		case err != nil || json.Unmarshal(b, &l) != nil:
			row.refused("it does not decode")
		case p.ids[l.Todo] == "":
			row.refused("its todo is not there")
		default:
			row.changed("it ends here; " + show(or(l.Owner, "its holder"), 80) + " claims the todo again")
		}
	}
}

// plainText cuts text and takes out what would not show as itself.
func plainText(s string, most int, body bool) string {
	out := make([]rune, 0, min(len(s), most))
	for _, r := range strings.ToValidUTF8(s, "") {
		if len(out) == most {
			break
		}
		switch {
		case body && (r == '\n' || r == '\t'):
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			continue
		}
		out = append(out, r)
	}
	return string(out)
}
