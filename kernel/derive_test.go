package kernel_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"loopx/kernel"
)

// This file derives by full scans what the kernel keeps by index: relations,
// blocks, lists, counters, allowance.

func hex16(n uint64) string      { return fmt.Sprintf("%016x", n) }
func hexTime(n int64) string     { return hex16(uint64(n) ^ 1<<63) }
func key(parts ...string) string { return strings.Join(parts, "\x00") }

func ended(t *kernel.Todo) bool { return t.Status == "done" || t.Status == "superseded" }

// stands follows a todo to the one that stands in its place now.
func (s *rows) stands(id string) *kernel.Todo {
	t := s.todos[id]
	for t != nil && t.Status == "superseded" {
		t = s.todos[t.SupersededBy]
	}
	return t
}

// waits are the unfinished todos that one comes after.
func (s *rows) waits(t *kernel.Todo) []string {
	var out []string
	if ended(t) {
		return nil
	}
	for _, a := range t.After {
		if on := s.stands(a); on != nil && !ended(on) && !slices.Contains(out, on.ID) {
			out = append(out, on.ID)
		}
	}
	return out
}

// state is how a gate holds back what it names; "" when it does not.
func (s *rows) state(g *kernel.Gate) string {
	switch {
	case s.released[g.ID]:
		return ""
	case g.Status != "answered":
		return g.Status
	case g.Answer.Outcome == "approve" || g.Answer.Outcome == "answer":
		return ""
	}
	return g.Answer.Outcome
}

func (s *rows) blocks(t *kernel.Todo) map[string]string {
	out := map[string]string{}
	if ended(t) {
		return out
	}
	for _, g := range s.gates {
		for _, id := range g.Blocks.Todos {
			if on := s.stands(id); on == t && s.state(g) != "" {
				out[g.ID] = s.state(g)
			}
		}
	}
	return out
}

// freed are the approvals that let a todo go, and whether it was claimed since.
func (s *rows) freed(t *kernel.Todo) map[string]string {
	out := map[string]string{}
	for _, g := range s.gates {
		if ended(t) || s.released[g.ID] || g.Status != "answered" || g.Answer.Outcome != "approve" {
			continue
		}
		if slices.Contains(g.Released, t.ID) {
			if out[g.ID] = ""; s.claimAt[t.ID] > s.answerAt[g.ID] {
				out[g.ID] = "used"
			}
		}
	}
	return out
}

// asker is the agent that asked a gate; persons and the unnamed command line are none.
func asker(g *kernel.Gate) string {
	if g.Request != "" || g.AskedBy == "cli" || strings.HasPrefix(g.AskedBy, "person:") {
		return ""
	}
	return g.AskedBy
}

func laneOf(g *kernel.Gate) string {
	if g.Blocks.Goal {
		return "*"
	}
	return g.Blocks.Agent
}

// lanes are the gates on an agent's whole lane.
func (s *rows) lanes(goal, agent string) map[string]string {
	out := map[string]string{}
	for _, g := range s.gates {
		if lane := laneOf(g); g.Goal == goal && (lane == "*" || lane == agent) && lane != "" && s.state(g) != "" {
			out[g.ID] = s.state(g)
		}
	}
	return out
}

// decidedAgainst: all that holds it back are decisions that said no.
func decidedAgainst(blocks map[string]string) bool {
	for _, state := range blocks {
		if state == "open" || state == "withdrawn" {
			return false
		}
	}
	return len(blocks) > 0
}

func (s *rows) holder(t *kernel.Todo) string {
	if c := s.claims[t.ID]; c != nil {
		return c.Agent
	}
	return ""
}

func (s *rows) list(t *kernel.Todo) string {
	blocks := s.blocks(t)
	switch {
	case ended(t):
		return "done"
	case t.Status == "deferred":
		return "deferred"
	case t.Class != "work":
		return t.Class
	case s.holder(t) != "":
		return "held"
	case len(s.waits(t)) > 0:
		return "after"
	case len(blocks) == 0:
		return "ready"
	case decidedAgainst(blocks):
		return "blocked"
	}
	return "gated"
}

// derived are the rows that follow from the others.
func (s *rows) derived() map[string]string {
	d := map[string]string{}
	for _, t := range s.todos {
		d[key("tg", t.ID)] = t.Goal
		for _, on := range s.waits(t) {
			d[key("dp", t.Goal, t.ID, on)], d[key("dr", t.Goal, on, t.ID)] = "", ""
		}
		for gate, state := range s.blocks(t) {
			d[key("bl", t.Goal, t.ID, gate)], d[key("gb", t.Goal, gate, t.ID)] = state, ""
		}
		for gate, used := range s.freed(t) {
			d[key("fr", t.Goal, t.ID, gate)] = used
		}
		list, agent, sort := s.list(t), "", strconv.Itoa(int(t.Priority))+hex16(t.Order)
		switch list {
		case "held":
			agent = s.holder(t)
		case "done":
			sort = hexTime(t.Updated)
		case "monitor":
			sort = hexTime(t.Watch.NextDue)
		case "deferred":
			sort = "p" + sort
			if at, ok := strings.CutPrefix(t.ResumeWhen, "date:"); ok {
				when, err := time.Parse(time.RFC3339, at)
				if err != nil {
					panic(err)
				}
				sort = "d" + hexTime(when.UnixMilli())
			} else {
				d[key("rw", t.Goal, t.ResumeWhen, t.ID)] = ""
			}
		}
		at := key("ix", t.Goal, list, agent, sort, t.ID)
		d[at], d[key("pl", t.Goal, t.ID)] = "", at
	}
	for _, c := range s.claims {
		if c.Agent != "" && !c.Hold {
			d[key("cx", c.Goal, hexTime(c.Until), c.Todo)] = c.Agent
		}
	}
	for _, g := range s.gates {
		d[key("qg", g.ID)], d[key("qc", g.Goal, codeKey(g.Code))] = g.Goal, g.ID
		if g.Status == "open" && asker(g) != "" {
			d[key("qn", g.Goal, asker(g), g.ID)] = ""
		}
		if g.Status == "open" {
			d[key("qo", g.Goal, strconv.Itoa(int(g.Severity)), hexTime(g.Created), g.ID)] = ""
		}
		lane := laneOf(g)
		if state := s.state(g); lane != "" && state != "" {
			d[key("la", g.Goal, lane, g.ID)] = state
		}
		if s.state(g) == "" && g.Taken == nil {
			for _, id := range g.Released {
				d[key("tk", g.Goal, id, g.ID)] = ""
			}
			if lane != "" {
				d[key("tk", g.Goal, "lane:"+lane, g.ID)] = ""
			}
		}
	}
	maps.Copy(d, s.askRate)
	for _, r := range s.reserves {
		d[key("rx", r.Goal, hexTime(r.Until), r.Agent)] = strconv.Itoa(r.Slots)
	}
	for _, u := range s.turns {
		if u.Act && !u.Spent && !u.Settled {
			d[key("us", u.Goal, u.Agent, hexTime(u.Opened), u.ID)] = ""
		}
	}
	for _, o := range s.replans {
		if o.Met == 0 {
			d[key("oo", o.Goal, o.Agent, hexTime(o.Since), o.ID)] = ""
		}
	}
	for _, v := range s.sessions {
		if v.State == "open" {
			d[key("si", v.Goal, hexTime(v.SeenSteady), v.ID)] = ""
		}
		if v.Tree != "" && v.State == "open" {
			d[key("tr", v.Goal, v.Tree, v.Agent, v.ID)] = v.ID
		}
	}
	for _, r := range s.runs {
		if r.Todo != "" {
			d[key("wt", r.Goal, r.Todo, hex16(r.Seq))] = ""
		}
		if r.Accountable && !r.Spent {
			d[key("wu", r.Goal, r.Agent, hex16(r.Seq))] = ""
		}
	}
	s.people.derived(d)
	return d
}

// checkDerived compares the kept indexes and counters with a full rebuild.
func (s *rows) checkDerived() error {
	want := s.derived()
	for k, v := range s.raw {
		switch k[:strings.IndexByte(k+"\x00", 0)] {
		case "tg", "dp", "dr", "bl", "gb", "ix", "pl", "cx", "qg", "qc", "qo", "la", "tk", "wu", "rx", "rw", "pg", "pi", "bp", "bg", "fr", "us", "oo", "tr", "si", "wt", "qn", "qa":
			if w, ok := want[k]; !ok || w != v {
				return fmt.Errorf("the row %q = %q should be %q (there: %v)", k, v, w, ok)
			}
			delete(want, k)
		}
	}
	for k := range want {
		return fmt.Errorf("the row %q is missing", k)
	}
	for _, goal := range slices.Sorted(maps.Keys(s.goals)) {
		if got, want := s.counts[goal], s.recount(goal); got != want {
			return fmt.Errorf("the counters of %s\n got %+v\nwant %+v", goal, got, want)
		}
	}
	return nil
}

func (s *rows) recount(goal string) kernel.Counts {
	c := kernel.Counts{Agents: len(s.agents[goal]), Evidence: s.evidence[goal], LastEnd: s.lastEnd[goal]}
	for _, t := range s.todos {
		if t.Goal != goal {
			continue
		}
		c.Todos++
		c.NextOrder = max(c.NextOrder, t.Order+1)
		switch list := s.list(t); list {
		case "deferred":
			c.Deferred++
		case "monitor":
			c.Monitors++
		case "ask":
			c.Asks++
		case "done":
			if t.Status == "done" {
				c.Done++
			} else {
				c.Superseded++
			}
		default:
			c.Open++
			switch list {
			case "held":
				c.Claimed++
			case "gated", "blocked":
				c.Blocked++
			case "after":
				c.Waiting++
			}
		}
	}
	for _, r := range s.reserves {
		if r.Goal == goal {
			c.Reserved += r.Slots
		}
	}
	for _, g := range s.gates {
		if g.Goal == goal {
			c.Gates++
			if g.Status == "open" {
				c.GatesOpen++
			}
		}
	}
	for _, r := range s.runs {
		if r.Goal == goal {
			c.Runs = max(c.Runs, r.Seq)
		}
	}
	for _, p := range s.spends {
		if p.Goal == goal {
			c.Spent += int64(p.Slots)
		}
	}
	return c
}

// allowance is what is spent in the window, held by an agent and by others.
func (s *rows) allowance(g *kernel.Goal, agent string, steady int64) (spent, own, others int) {
	for _, p := range s.spends {
		if p.Goal == g.ID && p.Voided == 0 && p.Steady > steady-g.WindowMS {
			spent += p.Slots
		}
	}
	for _, v := range s.reserves {
		if v.Goal != g.ID || v.Until <= steady {
			continue
		}
		if v.Agent == agent {
			own += v.Slots
		} else {
			others += v.Slots
		}
	}
	return spent, own, others
}

// checkPayments: nothing is paid that was not delivered, nothing twice, and
// never more than allowed.
func (s *rows) checkPayments(steady int64) error {
	paid := map[string]bool{}
	turns := map[string]bool{}
	total := map[string]int64{}
	spends := slices.SortedFunc(slices.Values(s.spends), func(a, b *kernel.Spend) int { return int(a.Seq) - int(b.Seq) })
	for _, p := range spends {
		if len(p.Runs) == 0 || p.Slots < 1 {
			return fmt.Errorf("spend %d pays %v with %d slots", p.Seq, p.Runs, p.Slots)
		}
		for _, seq := range p.Runs {
			r := s.runs[runKey(p.Goal, seq)]
			if r == nil || !r.Accountable || !r.Spent || r.Agent != p.Agent {
				return fmt.Errorf("spend %d of %s pays run %d: %+v", p.Seq, p.Agent, seq, r)
			}
			if paid[runKey(p.Goal, seq)] {
				return fmt.Errorf("run %d of %s was paid twice", seq, p.Goal)
			}
			paid[runKey(p.Goal, seq)] = true
		}
		if turn := key(p.Goal, p.Agent, p.Turn); p.Turn != "" {
			if turns[turn] {
				return fmt.Errorf("the turn %q was paid twice", turn)
			}
			turns[turn] = true
		}
		if total[p.Goal] += int64(p.Slots); p.Total != total[p.Goal] {
			return fmt.Errorf("spend %d says total %d, want %d", p.Seq, p.Total, total[p.Goal])
		}
	}
	for k, r := range s.runs {
		if r.Spent && !paid[k] {
			return fmt.Errorf("run %s is marked paid and no spend pays it", k)
		}
	}
	for _, g := range s.goals {
		if spent, own, others := s.allowance(g, "", steady); spent+own+others > g.Allowed {
			return fmt.Errorf("%s: %d spent and %d reserved of %d allowed", g.ID, spent, own+others, g.Allowed)
		}
	}
	return nil
}

// held says who effectively holds a todo; an expired lease is spared a minute.
func (s *rows) held(t *kernel.Todo, steady int64) string {
	if c := s.claims[t.ID]; c != nil && c.Agent != "" && (c.Hold || steady <= c.Until+60_000) {
		return c.Agent
	}
	return ""
}

// verdict is the rule and the todo that the decision table gives an agent, by
// looking at every todo.
func (s *rows) verdict(goal *kernel.Goal, c kernel.Caller, steady, now int64) (rule, todo string) {
	if len(goal.Pause) > 0 || goal.Status == "completed" {
		return "R01", ""
	}
	agent := c.Agent
	watches := slices.ContainsFunc(s.agents[goal.ID], func(a *kernel.Agent) bool { return a.ID == agent && a.Mode == "monitor_only" })
	spent, _, reserved := s.allowance(goal, agent, steady)
	slot := goal.Allowed-spent-reserved >= 1
	owes := slices.ContainsFunc(s.owed, func(v *kernel.Owed) bool { return v.Goal == goal.ID && v.Agent == agent })
	if owes && slot {
		return "R03", ""
	}
	if turn, todo := s.settles(c, steady, now, slot); turn != "" {
		return "R04", todo
	}
	if s.firstReplan(goal.ID, agent) != nil {
		return "R05", ""
	}
	lanes := s.lanes(goal.ID, agent)
	if decidedAgainst(lanes) {
		if owes {
			return "R11", ""
		}
		return "R14", ""
	}
	var free, gated, due *kernel.Todo
	others, later, unable := false, false, false
	own := func(t *kernel.Todo) bool { return s.held(t, steady) == agent }
	better := func(a, b *kernel.Todo) bool { // a comes before b
		switch {
		case b == nil:
			return true
		case own(a) != own(b):
			return own(a)
		case a.Priority != b.Priority:
			return a.Priority < b.Priority
		}
		return a.Order < b.Order
	}
	for _, t := range s.order {
		if t.Goal != goal.ID || ended(t) {
			continue
		}
		if w := t.Watch; w != nil && t.Status == "open" {
			over := w.Expires > 0 && now >= w.Expires
			later = later || !over
			fits := !over && now >= w.NextDue && len(lanes) == 0 && !slices.Contains(t.Excluded, agent) && len(s.waits(t)) == 0 && len(s.blocks(t)) == 0
			if fits && (due == nil || t.Priority < due.Priority || t.Priority == due.Priority && t.Order < due.Order) {
				due = t
			}
			continue
		}
		later = true
		if t.Class != "work" || t.Status != "open" && !passed(t, now) {
			continue
		}
		if watches { // it takes no work; what there is, others do
			list := s.list(t)
			others = others || list == "ready" || list == "gated" || list == "held" && s.holder(t) != agent
			continue
		}
		holder, blocks := s.holder(t), s.blocks(t)
		foreign := holder != "" && holder != agent
		mine := slices.Contains(t.Excluded, agent)
		if t.Status == "open" && foreign || t.Status == "open" && mine && len(s.waits(t)) == 0 && !(decidedAgainst(blocks) && holder == "") {
			others = true
		}
		if foreign && s.held(t, steady) != "" || mine || len(s.waits(t)) > 0 || decidedAgainst(blocks) {
			continue
		}
		if len(blocks) == 0 && s.lacks(t, s.taints(c, steady), now) {
			unable = true
			continue
		}
		if len(lanes)+len(blocks) == 0 {
			if better(t, free) {
				free = t
			}
		} else if better(t, gated) {
			gated = t
		}
	}
	looks := due != nil && (free == nil || !own(free) && due.Priority < free.Priority)
	if free != nil && slot && !looks && len(free.Write) > 0 && goal.Repo != "" && len(s.agents[goal.ID]) > 1 && !s.inOwnTree(goal, agent, c.Workspace, now) {
		return "R06", ""
	}
	unplanned := len(s.order) == 0 || !s.any(goal.ID) || s.lastEnd[goal.ID] == "" || s.lastEnd[goal.ID] == "active_goal"
	switch {
	case unable && free == nil && gated == nil && due == nil:
		return "R07", ""
	case due != nil && (free == nil || !own(free) && due.Priority < free.Priority):
		return "R08", due.ID
	case free != nil && gated != nil && better(gated, free) && slot:
		return "R09", free.ID
	case free == nil && (gated != nil || len(lanes) > 0 && unplanned && !others && !later && !watches):
		return "R10", ""
	case (free != nil || owes) && !slot:
		return "R11", ""
	case free != nil:
		return "R12", free.ID
	case others:
		return "R13", ""
	case later, watches:
		return "R14", ""
	case unplanned:
		return "R15", ""
	}
	return "R16", ""
}

// passed says whether a parked todo's date has come.
func passed(t *kernel.Todo, now int64) bool {
	at, ok := strings.CutPrefix(t.ResumeWhen, "date:")
	when, err := time.Parse(time.RFC3339, at)
	return t.Status == "deferred" && ok && err == nil && when.UnixMilli() <= now
}

func (s *rows) any(goal string) bool {
	return slices.ContainsFunc(s.order, func(t *kernel.Todo) bool { return t.Goal == goal })
}

// codeKey writes G-7 so that codes sort as their numbers do.
func codeKey(code string) string {
	n, err := strconv.ParseUint(strings.TrimPrefix(code, "G-"), 10, 64)
	if err != nil {
		return code
	}
	return fmt.Sprintf("%016x", n)
}
