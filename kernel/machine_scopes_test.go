package kernel_test

import (
	"slices"
	"strings"

	"loopx/kernel"

	"pgregory.net/rapid"
)

// Needs and approvals of the machine, judged by the journal and by scans.

func scopesOf(t *rapid.T) []string {
	list := []string{"publish:goal:web", "publish:action:web", "resource:goal:hall", "direction:action:menu"}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(list), 1, 2, rapid.ID[string]).Draw(t, "needs")
}

// approves follows what each answer approved for the todos it let go.
func (s *rows) approves(e *kernel.Event) {
	g := e.Gate
	if g == nil || g.Scope == "" {
		return
	}
	switch e.Type {
	case "gate_reopened", "gate_asked_again", "gate_changed":
		for _, id := range g.Blocks.Todos {
			for t := s.todos[id]; t != nil; t = s.todos[t.SupersededBy] {
				delete(s.approved, t.ID+" "+g.Scope)
			}
		}
	}
	if (e.Type == "gate_answered" || e.Type == "gate_changed") && g.Answer.Outcome == "approve" {
		for _, id := range g.Released {
			s.approved[id+" "+g.Scope] = true
		}
	}
}

// lacks says whether a todo needs an approval that is not there now; in a tainted
// turn only its own count.
func (s *rows) lacks(t *kernel.Todo, tainted bool, now int64) bool {
	wide := map[string]int{"action": 0, "goal": 1}
	return slices.ContainsFunc(t.Scopes, func(need string) bool {
		if s.approved[t.ID+" "+need] {
			return false
		}
		n := strings.Split(need, ":")
		return tainted || !slices.ContainsFunc(s.grants, func(g *kernel.Grant) bool {
			h := strings.Split(g.Scope, ":")
			return g.Goal == t.Goal && g.Revoked == 0 && now < g.Expires && h[0] == n[0] && h[2] == n[2] && wide[h[1]] >= wide[n[1]]
		})
	})
}

// taints says whether an agent acts in a tainted turn: the one it names, or one
// that is live in a session of its and not about to be replaced.
func (s *rows) taints(c kernel.Caller, steady int64) bool {
	own := c.Session
	if own == "" {
		own = "cli:" + c.Agent
	}
	return slices.ContainsFunc(s.turns, func(t *kernel.Turn) bool {
		if t.Goal != c.Goal || t.Agent != c.Agent || !t.Tainted {
			return false
		}
		if t.ID == c.Turn {
			return true
		}
		return t.Status == "live" && t.Until > steady && slices.ContainsFunc(s.sessions, func(v *kernel.Session) bool {
			return v.Goal == c.Goal && v.Agent == c.Agent && v.State == "open" && v.Turn == t.ID && !(c.Turn != "" && v.ID == own)
		})
	})
}

// rights is a step of grants and taints.
func (m *machine) rights(t *rapid.T) {
	switch rapid.IntRange(0, 4).Draw(t, "rights") {
	case 4:
		m.try(t, &kernel.NoteReach{Connection: "work", Platform: "slack", State: rapid.SampledFrom([]string{"up", "down", "gone", "odd"}).Draw(t, "reach")}, m.by(t, kernel.ByBot))
	case 0:
		if len(m.at.grants) > 0 {
			m.try(t, &kernel.RevokeGrant{Goal: "site", Grant: rapid.SampledFrom(m.at.grants).Draw(t, "grant").ID}, m.by(t, kernel.ByOwner))
		}
	case 1:
		a := m.agentOf(t)
		m.try(t, &kernel.TaintTurn{Goal: "site", Agent: a, Turn: m.turnOf(t, a)}, m.by(t, kernel.ByCLI))
	case 2:
		if rapid.IntRange(0, 2).Draw(t, "disown") == 0 {
			m.try(t, &kernel.DisownAnswer{Goal: "site", Gate: m.gateOf(t)}, m.asPerson(t, kernel.ByOwner))
		}
	default:
		until := rapid.SampledFrom([]int64{0, m.now + 3_600_000}).Draw(t, "until")
		m.try(t, &kernel.SetAway{Until: until, To: rapid.SampledFrom([]string{"", m.personOf(t)}).Draw(t, "to")}, m.asPerson(t, kernel.ByOwner))
	}
}
