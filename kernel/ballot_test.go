package kernel_test

import (
	"fmt"

	"loopx/kernel"
)

// ballot counts votes by what the journal says was done, and never looks at what
// the kernel counted: who said what, on which words, and how many the goal wants.
type ballot struct {
	asks  map[string]kernel.Asked      // by goal
	role  map[string]string            // goal and person -> active role
	gone  map[string]bool              // persons who are suspended
	local map[string]bool              // local owners
	asker map[string]string            // by gate
	said  map[string]map[string]string // gate -> person -> option and words
	last  map[string]*kernel.Record    // gate -> its last decision
}

func (b *ballot) see(rec *kernel.Record, e *kernel.Event) error {
	if b.said == nil {
		b.asks, b.asker, b.said = map[string]kernel.Asked{}, map[string]string{}, map[string]map[string]string{}
		b.last = map[string]*kernel.Record{}
		b.role, b.gone, b.local = map[string]string{}, map[string]bool{}, map[string]bool{}
	}
	if g := e.GoalRow; g != nil {
		b.asks[g.ID] = g.Ask["any"]
	}
	if v := e.Role; v != nil {
		if b.role[v.Goal+" "+v.Person] = ""; v.State == "active" {
			b.role[v.Goal+" "+v.Person] = v.Role
		}
	}
	if p := e.Person; p != nil {
		b.gone[p.ID], b.local[p.ID] = p.State == "suspended", p.Owner
	}
	g := e.Gate
	if g == nil {
		return nil
	}
	if e.Type == "gate_voted" || e.Type == "gate_answered" || e.Type == "gate_changed" {
		if rec.By.Kind != "owner" && rec.By.Kind != "person" || !b.right(g.Goal, rec.By) {
			return fmt.Errorf("%s was answered by %s %s, who has no right", g.Code, rec.By.Kind, rec.By.ID)
		}
	}
	if e.Type == "gate_changed" {
		first := b.last[g.ID]
		if first == nil || first.By.ID != rec.By.ID || rec.Steady-first.Steady > 600_000 || g.Protected() {
			return fmt.Errorf("%s was changed by %s at %d; it was decided by %+v", g.Code, rec.By.ID, rec.Steady, first)
		}
	}
	if e.Type == "gate_answered" || e.Type == "gate_changed" {
		b.last[g.ID] = rec
	}
	quorum := max(b.asks[g.Goal].Quorum, 1)
	switch e.Type {
	case "gate_opened":
		b.asker[g.ID], b.said[g.ID] = g.AskedBy, map[string]string{}
	case "gate_reopened", "gate_asked_again":
		b.said[g.ID] = map[string]string{}
	case "gate_voted":
		for _, v := range g.Votes {
			if v.Person == rec.By.ID {
				b.said[g.ID][v.Person] = v.Option + " " + g.Digest
			}
		}
	case "gate_answered":
		if o := g.Answer.Outcome; o == "reject" || o == "cancel" {
			return nil // one is enough
		}
		b.said[g.ID][rec.By.ID] = g.Answer.Option + " " + g.Digest
		agree := 0
		for person, said := range b.said[g.ID] {
			if _, known := b.local[person]; known && !b.right(g.Goal, kernel.Actor{Kind: "person", ID: person}) {
				continue // voted, and has the right no more
			}
			if said == g.Answer.Option+" "+g.Digest {
				agree++
			}
			if quorum > 1 && b.asker[g.ID] == "person:"+person {
				return fmt.Errorf("%s asked %s and voted on it", person, g.Code)
			}
		}
		if agree < quorum {
			return fmt.Errorf("%s was decided by %d, %d must agree", g.Code, agree, quorum)
		}
	}
	return nil
}

// right says whether somebody may answer a goal's gates now.
func (b *ballot) right(goal string, by kernel.Actor) bool {
	have := b.role[goal+" "+by.ID]
	switch {
	case by.Kind == "owner":
		return true
	case b.gone[by.ID]:
		return false
	case b.local[by.ID] || have == "owner":
		return true
	}
	return have == "approver" && b.asks[goal].Role == "approver"
}
