package kernel_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"loopx/kernel"
	"loopx/kernel/store"
)

// rows is a whole workspace as stored, read without the kernel's readers, so
// that a mistake in them cannot hide itself.
type rows struct {
	raw      map[string]string // all rows but the audit of refusals
	goals    map[string]*kernel.Goal
	agents   map[string][]*kernel.Agent // by goal
	todos    map[string]*kernel.Todo
	order    []*kernel.Todo // oldest first
	claims   map[string]*kernel.Claim
	gates    map[string]*kernel.Gate
	asked    []*kernel.Gate // oldest first
	turns    []*kernel.Turn
	sessions []*kernel.Session
	owed     []*kernel.Owed
	replans  []*kernel.Obligation
	counted  *counted
	runs     map[string]*kernel.Run // goal/seq
	spends   []*kernel.Spend
	reserves []*kernel.Reservation
	counts   map[string]kernel.Counts
	evidence map[string]uint64 // goal -> highest number
	people   peopleRows
	journal  []string
	head     kernel.Head
	clock    clockRow
	// From the journal's events.
	released map[string]bool   // gates that an owner released
	lastEnd  map[string]string // goal -> continuation of its last completion
	decided  map[string]int    // gate -> how often its answer was made or taken back
	answerAt map[string]int    // gate -> place of its last answer in the journal
	claimAt  map[string]int    // todo -> place of its last claim
	askRate  map[string]string // rows of who asked whom when
	approved map[string]bool   // todo and scope: approved for that todo itself
	grants   []*kernel.Grant
	opened   []asking
}

func readRows(st store.Store) (*rows, error) {
	s := &rows{
		raw: map[string]string{}, goals: map[string]*kernel.Goal{}, agents: map[string][]*kernel.Agent{}, todos: map[string]*kernel.Todo{},
		claims: map[string]*kernel.Claim{}, gates: map[string]*kernel.Gate{}, runs: map[string]*kernel.Run{}, counts: map[string]kernel.Counts{},
		evidence: map[string]uint64{}, counted: newCounted(), released: map[string]bool{}, lastEnd: map[string]string{},
		decided: map[string]int{}, answerAt: map[string]int{}, claimAt: map[string]int{}, askRate: map[string]string{}, approved: map[string]bool{},
	}
	var keys []string
	err := st.View(context.Background(), func(tx store.ReadTx) error {
		return tx.Scan(store.Range{Limit: 1 << 20}, func(k, v []byte) bool {
			if !strings.HasPrefix(string(k), "au\x00") {
				keys = append(keys, string(k))
				s.raw[string(k)] = string(v)
			}
			return true
		})
	})
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if err := s.row(strings.Split(k, "\x00"), []byte(s.raw[k])); err != nil {
			return nil, fmt.Errorf("row %q: %w", k, err)
		}
	}
	slices.SortFunc(s.order, func(a, b *kernel.Todo) int {
		if a.Goal != b.Goal {
			return strings.Compare(a.Goal, b.Goal)
		}
		return int(a.Order) - int(b.Order)
	})
	slices.SortFunc(s.asked, func(a, b *kernel.Gate) int {
		if a.Goal != b.Goal {
			return strings.Compare(a.Goal, b.Goal)
		}
		return codeNumber(a.Code) - codeNumber(b.Code)
	})
	return s, s.events()
}

func codeNumber(code string) int {
	n := 0
	_, _ = fmt.Sscanf(code, "G-%d", &n)
	return n
}

func parse[T any](b []byte) (*T, error) {
	v := new(T)
	return v, json.Unmarshal(b, v)
}

func (s *rows) row(key []string, val []byte) (err error) {
	switch key[0] {
	case "hd":
		err = json.Unmarshal(val, &s.head)
	case "ck":
		s.clock, err = clockOf(string(val))
	case "j":
		s.journal = append(s.journal, string(val))
	case "g":
		s.goals[key[1]], err = parse[kernel.Goal](val)
	case "a":
		var a *kernel.Agent
		a, err = parse[kernel.Agent](val)
		s.agents[key[1]] = append(s.agents[key[1]], a)
	case "t":
		s.todos[key[2]], err = parse[kernel.Todo](val)
		s.order = append(s.order, s.todos[key[2]])
	case "c":
		s.claims[key[2]], err = parse[kernel.Claim](val)
	case "q":
		s.gates[key[2]], err = parse[kernel.Gate](val)
		s.asked = append(s.asked, s.gates[key[2]])
	case "u":
		var t *kernel.Turn
		t, err = parse[kernel.Turn](val)
		s.turns = append(s.turns, t)
	case "gr":
		var g *kernel.Grant
		g, err = parse[kernel.Grant](val)
		s.grants = append(s.grants, g)
	case "s":
		var v *kernel.Session
		v, err = parse[kernel.Session](val)
		s.sessions = append(s.sessions, v)
	case "ow":
		var v *kernel.Owed
		v, err = parse[kernel.Owed](val)
		s.owed = append(s.owed, v)
	case "ob":
		var v *kernel.Obligation
		v, err = parse[kernel.Obligation](val)
		s.replans = append(s.replans, v)
	case "w":
		var r *kernel.Run
		r, err = parse[kernel.Run](val)
		s.runs[runKey(r.Goal, r.Seq)] = r
	case "sp":
		var p *kernel.Spend
		p, err = parse[kernel.Spend](val)
		s.spends = append(s.spends, p)
	case "rv":
		var v *kernel.Reservation
		v, err = parse[kernel.Reservation](val)
		s.reserves = append(s.reserves, v)
	case "n":
		var c *kernel.Counts
		c, err = parse[kernel.Counts](val)
		s.counts[key[1]] = *c
	case "e":
		var n uint64
		_, err = fmt.Sscanf(key[2], "%x", &n)
		s.evidence[key[1]] = max(s.evidence[key[1]], n)
	default:
		err = s.people.row(key, val)
	}
	return err
}

func runKey(goal string, seq uint64) string { return fmt.Sprintf("%s/%d", goal, seq) }

// events walks the journal: chain, decisions, releases and endings.
func (s *rows) events() error {
	prev := ""
	answered := map[string]bool{}
	votes, place := ballot{}, 0
	for i, raw := range s.journal {
		rec, err := parse[kernel.Record]([]byte(raw))
		if err != nil {
			return err
		}
		if rec.Seq != uint64(i+1) || rec.Prev != prev {
			return fmt.Errorf("the journal chain breaks at %d", i+1)
		}
		sum := sha256.Sum256([]byte(raw))
		prev = hex.EncodeToString(sum[:])
		for _, e := range rec.Events {
			s.counted.event(&e)
			place++
			if err := votes.see(rec, &e); err != nil {
				return err
			}
			s.approves(&e)
			switch e.Type {
			case "todo_claimed", "claim_renewed":
				s.claimAt[e.Subject] = place
			case "gate_opened":
				s.asks(rec, e.Gate)
			case "gate_reopened", "gate_asked_again":
				if e.Type == "gate_asked_again" {
					s.asks(rec, e.Gate)
				}
				answered[e.Subject], s.released[e.Subject] = false, false
				s.decided[e.Subject]++
			case "gate_changed":
				if e.Gate.Answer.Person != rec.By.ID {
					return fmt.Errorf("the answer of %s was changed by %s", e.Subject, rec.By.ID)
				}
				s.decided[e.Subject]++
				s.answerAt[e.Subject] = place
			case "role_granted", "binding_set", "binding_removed":
				if rec.By.Kind != "owner" && rec.By.Kind != "person" {
					return fmt.Errorf("%s of %s by a %s", e.Type, e.Subject, rec.By.Kind)
				}
			case "role_accepted":
				if rec.By.Kind != "bot" {
					return fmt.Errorf("a role of %s was accepted by a %s", e.Subject, rec.By.Kind)
				}
			case "gate_answered":
				if answered[e.Subject] {
					return fmt.Errorf("the gate %s was answered twice", e.Subject)
				}
				answered[e.Subject] = true
				s.decided[e.Subject]++
				s.answerAt[e.Subject] = place
			case "gate_released":
				if rec.By.Kind != "owner" && rec.By.Kind != "person" {
					return fmt.Errorf("the gate %s was released by a %s", e.Subject, rec.By.Kind)
				}
				s.released[e.Subject] = true
			case "todo_completed":
				s.lastEnd[e.Goal] = e.Todo.Done.Continuation
			}
		}
	}
	if s.head.Seq != uint64(len(s.journal)) || s.head.Hash != prev {
		return fmt.Errorf("the head %+v is not the journal's end %d %s", s.head, len(s.journal), prev)
	}
	for id, g := range s.gates {
		if (g.Status == "answered") != answered[id] {
			return fmt.Errorf("the gate %s is %s, answered in the journal: %v", id, g.Status, answered[id])
		}
	}
	return nil
}

// steady is the time on the steady timeline for a clock, from the row of the
// last commit: elapsed boot time within a boot, else the wall clock, never back.
func (s *rows) steady(boot string, bootMS, wall int64) int64 {
	switch {
	case s.clock.Boot == "" && s.clock.Steady == 0:
		return wall
	case boot == s.clock.Boot && bootMS >= s.clock.BootMS:
		return s.clock.Steady + bootMS - s.clock.BootMS
	}
	return s.clock.Steady + max(wall-s.clock.Wall, 0)
}

// changes lists the rows that differ, for messages.
func (s *rows) changes(o *rows) []string {
	var out []string
	for k, v := range s.raw {
		if w, ok := o.raw[k]; !ok {
			out = append(out, fmt.Sprintf("- %q", k))
		} else if v != w {
			out = append(out, fmt.Sprintf("~ %q\n  %s\n  %s", k, v, w))
		}
	}
	for k, v := range o.raw {
		if _, ok := s.raw[k]; !ok {
			out = append(out, fmt.Sprintf("+ %q %s", k, v))
		}
	}
	slices.Sort(out)
	return out
}

// clockRow is the time of the last commit as the kernel writes it.
type clockRow struct {
	Boot                 string
	BootMS, Wall, Steady int64
}

func clockOf(s string) (c clockRow, err error) {
	_, err = fmt.Sscanf("-"+s, "%s %d %d %d", &c.Boot, &c.BootMS, &c.Wall, &c.Steady)
	c.Boot = strings.TrimPrefix(c.Boot, "-") // an empty boot id stays a word for Sscanf
	return c, err
}

// asking is one question of an agent to one person.
type asking struct {
	goal, agent, person string
	steady              int64
}

func (s *rows) asks(rec *kernel.Record, g *kernel.Gate) {
	if asker(g) == "" {
		return
	}
	for _, person := range g.To {
		at := rec.Steady
		s.opened = append(s.opened, asking{g.Goal, asker(g), person, at})
		s.askRate[key("qa", g.Goal, asker(g), person, hexTime(at), g.ID)] = strconv.FormatInt(at, 10)
	}
}

// checkAsking: no agent has more than ten open gates in a goal, and asked nobody
// more than three times in any hour.
func (s *rows) checkAsking() error {
	open := map[string]int{}
	for _, g := range s.gates {
		if a := asker(g); a != "" && g.Status == "open" {
			if open[key(g.Goal, a)]++; open[key(g.Goal, a)] > 10 {
				return fmt.Errorf("%s has more than ten open gates", a)
			}
		}
	}
	for _, a := range s.opened {
		n := 0
		for _, b := range s.opened {
			if a.goal == b.goal && a.agent == b.agent && a.person == b.person && b.steady >= a.steady && b.steady < a.steady+3_600_000 {
				n++
			}
		}
		if n > 3 {
			return fmt.Errorf("%s asked %s %d times within an hour", a.agent, a.person, n)
		}
	}
	return nil
}
