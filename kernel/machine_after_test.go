package kernel_test

import (
	"regexp"
	"slices"
	"strings"

	"loopx/kernel"

	"pgregory.net/rapid"
)

// badWords says what is wrong with the shape or the words of a refusal.
func badWords(e *kernel.Error) string {
	if strings.Trim(e.Code, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || e.Code == "" {
		return "the code is " + e.Code
	}
	if e.Message == "" || strings.HasSuffix(e.Message, ".") {
		return "the message is " + e.Message
	}
	if e.Code == "bad_json" {
		return "" // it names fields of the caller's JSON
	}
	// What a caller gave is quoted and may say anything.
	own := regexp.MustCompile("“[^”]*”").ReplaceAllString(e.Message, "")
	for _, w := range []string{"revision", "digest", "frontier", "nil", "%!"} {
		if strings.Contains(strings.ToLower(own), w) {
			return "the message says " + w + ": " + e.Message
		}
	}
	return ""
}

// claimable is what the design says about a claim, read naively: "" when it may
// pass, else why not.
func (s *rows) claimable(c *kernel.ClaimTodo, steady, now int64) string {
	g, v := s.goals[c.Goal], s.todos[c.Todo]
	switch {
	case g == nil || v == nil || v.Goal != c.Goal:
		return "unknown"
	case g.Status != "active" || len(g.Pause) > 0:
		return "stopped"
	case !slices.ContainsFunc(s.agents[c.Goal], func(a *kernel.Agent) bool { return a.ID == c.Agent }):
		return "no member"
	case v.Status != "open" && !passed(v, now) || v.Class == "ask":
		return "not open work"
	case v.Class == "work" && slices.ContainsFunc(s.agents[c.Goal], func(a *kernel.Agent) bool { return a.ID == c.Agent && a.Mode == "monitor_only" }):
		return "only watches"
	case slices.Contains(v.Excluded, c.Agent):
		return "excluded"
	case s.held(v, steady) != "" && s.held(v, steady) != c.Agent:
		return "held"
	case len(s.blocks(v)) > 0:
		return "gated"
	case len(s.lanes(c.Goal, c.Agent)) > 0:
		return "lane gated"
	case s.lacks(v, s.taints(kernel.Caller{Goal: c.Goal, Agent: c.Agent}, steady) || s.taintedTurn(c), now):
		return "not approved"
	case len(s.waits(v)) > 0:
		return "waiting"
	}
	if c.Turn != "" {
		i := slices.IndexFunc(s.turns, func(t *kernel.Turn) bool { return t.Goal == c.Goal && t.Agent == c.Agent && t.ID == c.Turn })
		if i < 0 || s.turns[i].Todo != "" && s.turns[i].Todo != c.Todo && s.turns[i].Generation > 0 {
			return "turn"
		}
	}
	if spent, own, others := s.allowance(g, c.Agent, steady); own == 0 && g.Allowed-spent-others < 1 {
		return "no slot"
	}
	return ""
}

// claimed compares the outcome of a claim with what the design says.
func (m *machine) claimed(t *rapid.T, before *rows, cmd kernel.Command, opt kernel.Options, err *kernel.Error) {
	c, ok := cmd.(*kernel.ClaimTodo)
	if !ok || err != nil && err.Code == "key_reused" {
		return
	}
	boot, ms := m.Boot()
	why := before.claimable(c, before.steady(boot, ms, m.now), m.now)
	if (why == "") != (err == nil) {
		t.Fatalf("%s claims %s: refusal %v, want %q", c.Agent, c.Todo, err, why)
	}
}

// passed checks what an accepted command may not have done, and notes leases.
func (m *machine) passed(t *rapid.T, name string, before *rows, cmd kernel.Command, opt kernel.Options, out map[string]any) {
	boot, ms := m.Boot()
	steady := before.steady(boot, ms, m.now)
	if steady < before.clock.Steady {
		t.Fatalf("steady time went back from %d to %d", before.clock.Steady, steady)
	}
	ungated := func(goal, agent, todo string) {
		if v := before.todos[todo]; v != nil && before.lacks(v, false, m.now) {
			t.Fatalf("%s passed by what nobody approved for %s: %v", name, todo, v.Scopes)
		}
		if v := before.todos[todo]; v != nil && len(before.blocks(v)) > 0 {
			t.Fatalf("%s passed by the gates %v of %s", name, before.blocks(v), todo)
		}
		if l := before.lanes(goal, agent); len(l) > 0 {
			t.Fatalf("%s passed by the gates %v of %s", name, l, agent)
		}
	}
	switch c := cmd.(type) {
	case *kernel.ClaimTodo:
		m.leased(c.Goal, c.Agent, c.Turn, c.Todo, out)
	case *kernel.OpenTurn:
		agent, _ := out["agent_id"].(string)
		m.leased(c.Goal, agent, c.Turn, todoOf(out), out)
		m.opened(t, name, before, c, out)
		if todoOf(out) != "" {
			ungated(c.Goal, agent, todoOf(out))
		}
		free := slices.Contains([]any{"monitor", "repair", "settle", "replan"}, out["kind"]) // they run without a slot
		if out["should_run"] == true && !free && !slices.ContainsFunc(m.at.reserves, func(v *kernel.Reservation) bool { return v.Goal == c.Goal && v.Agent == agent }) {
			t.Fatalf("%s acts without a reserved slot", name)
		}
	case *kernel.CompleteTodo:
		if out["changed"] == true {
			ungated(c.Goal, c.Agent, c.Todo)
			m.fenced(t, name, before, steady, c.Goal, c.Todo, c.Agent, c.Lease, opt)
			if w := before.waits(before.todos[c.Todo]); len(w) > 0 {
				t.Fatalf("%s passed before %v", name, w)
			}
		}
	case *kernel.UpdateTodo:
		for _, need := range before.todos[c.Todo].Scopes {
			if opt.By.Kind != kernel.ByOwner && opt.By.Kind != kernel.ByPerson && !slices.Contains(m.at.todos[c.Todo].Scopes, need) {
				t.Fatalf("%s took the need %s away", name, need)
			}
		}
		m.slotLasts(t, name, before, c.Todo)
		m.fenced(t, name, before, steady, c.Goal, c.Todo, c.Agent, c.Lease, opt)
	case *kernel.SupersedeTodo:
		m.fenced(t, name, before, steady, c.Goal, c.Todo, c.Agent, c.Lease, opt)
	case *kernel.Refresh:
		m.slotLasts(t, name, before, c.Todo)
		if v := before.todos[c.Todo]; v != nil && v.Status == "open" {
			m.fenced(t, name, before, steady, c.Goal, c.Todo, c.Agent, c.Lease, opt)
		}
	case *kernel.TransferTodo:
		m.fenced(t, name, before, steady, c.Goal, c.Todo, c.Agent, c.Lease, opt)
		if out["changed"] == true {
			ungated(c.Goal, c.To, c.Todo)
			if len(before.goals[c.Goal].Pause) > 0 {
				t.Fatalf("%s passed in a stopped goal", name)
			}
		}
	case *kernel.PollMonitor:
		agent := c.Agent
		if agent == "" {
			agent = "ann" // the only member of blog
		}
		ungated(c.Goal, agent, c.Todo)
		if len(before.goals[c.Goal].Pause) > 0 {
			t.Fatalf("%s passed in a stopped goal", name)
		}
	case *kernel.PauseGoal:
		if c.Resume && opt.By.Kind != kernel.ByOwner {
			t.Fatalf("%s passed", name)
		}
		if !c.Resume && len(before.goals[c.Goal].Pause) == 0 && slices.ContainsFunc(m.at.reserves, func(v *kernel.Reservation) bool { return v.Goal == c.Goal }) {
			t.Fatalf("%s stopped the goal and kept reservations", name)
		}
	case *kernel.AnswerGate: // who answered is judged by the ballot
	case *kernel.CloseGoal:
		if opt.By.Kind != kernel.ByOwner {
			t.Fatalf("%s passed", name)
		}
	}
}

func todoOf(out map[string]any) string {
	sel, _ := out["selected_todo"].(map[string]any)
	id, _ := sel["todo_id"].(string)
	return id
}

func (m *machine) leased(goal, agent, turn, todo string, out map[string]any) {
	l, ok := out["lease"].(map[string]any)
	if !ok {
		return
	}
	m.leases = append(m.leases, lease{goal: goal, todo: todo, agent: agent, turn: turn, token: l["token"].(string), generation: uint64(l["generation"].(float64))})
}

// fenced: a write to a todo came from nobody but its effective holder, or from
// an owner, or nobody holds it; in a strict goal it showed the lease.
func (m *machine) fenced(t *rapid.T, name string, before *rows, steady int64, goal, todo, agent, token string, opt kernel.Options) {
	v, c := before.todos[todo], before.claims[todo]
	if opt.By.Kind == kernel.ByOwner || v == nil {
		return
	}
	holder := before.held(v, steady)
	if holder != "" && holder != agent && agent != "" {
		t.Fatalf("%s passed although %s holds it", name, holder)
	}
	if token != "" && (holder == "" || c.Token != token) {
		t.Fatalf("%s passed with a lease that is not the newest", name)
	}
	if before.goals[goal].Handoff == "strict" && token == "" {
		t.Fatalf("%s passed without a lease in a strict goal", name)
	}
}

// slotLasts: a renewed lease takes along the slot reserved for it.
func (m *machine) slotLasts(t *rapid.T, name string, before *rows, todo string) {
	c, old := m.at.claims[todo], before.claims[todo]
	if c == nil || c.Agent == "" || c.Until == old.Until {
		return
	}
	for _, v := range m.at.reserves {
		if v.Goal == c.Goal && v.Agent == c.Agent && v.Todo == todo && v.Until > m.steady() && v.Until < c.Until {
			t.Fatalf("%s renewed the lease to %d and left the slot at %d", name, c.Until, v.Until)
		}
	}
}

func (s *rows) taintedTurn(c *kernel.ClaimTodo) bool {
	return slices.ContainsFunc(s.turns, func(t *kernel.Turn) bool {
		return t.Goal == c.Goal && t.Agent == c.Agent && t.ID == c.Turn && t.Tainted
	})
}
