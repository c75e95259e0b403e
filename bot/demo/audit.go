package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store/bolt"
	"loopx/kernel/view"
)

// pressed is what Wei answers in the play, by gate.
func pressed() map[string]string {
	return map[string]string{"hall": "book", "website": "publish", "coach": "blue", "back": "early", "fleece": "buy", "water": "shut"}
}

// found is what the journal says about a goal.
type found struct {
	decisions map[string]int // gate -> how often it was answered
	worked    map[string]int // todo -> how often it was completed
	paid      int
	looks     int // of watches that saw nothing new
	replans   int
	todos     map[string]*kernel.Todo // as they are at the end
}

// audit looks at what is in the file after everything has stopped.
func (p *player) audit(ctx context.Context) error {
	st, err := bolt.Open(p.home.DB(), bolt.Options{LockTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	defer st.Close()
	k, err := kernel.Open(ctx, st, client.SystemClock{})
	if err != nil {
		return err
	}
	err = k.Read(ctx, func(r *kernel.Reader) error {
		all := journalOf(r)
		var want, got []string
		decided, again, twice, paid, cards := 0, 0, 0, 0, 0
		asDue, parked := true, true
		for _, s := range p.stories {
			f := all[s.Goal]
			decided += len(f.decisions)
			for _, n := range f.decisions {
				again += n - 1
			}
			for _, n := range f.worked {
				twice += n - 1
			}
			_, slots := s.ends()
			sum := view.SummaryOf(r, r.Goal(s.Goal))
			asDue = asDue && sum.Spent == f.paid && f.paid == slots
			paid += f.paid
			watches, later := s.left()
			parked = parked && sum.Counts.Monitors == watches && sum.Counts.Deferred == later
			want = append(want, s.written()...)
			got = append(got, f.outcome(r, s.Goal)...)
			for i := range s.Gates {
				if p.count(s.Gates[i].Key) == 1 {
					cards++
				}
			}
		}
		p.check(decided == 6 && again == 0, "each of the six gates was decided exactly once")
		p.check(twice == 0, "no todo was completed twice")
		p.check(asDue, "%d slots spent: one for each finished todo and each look that mattered, none for waiting", paid)
		p.check(all["frost-night"].looks >= 4, "the watch looked four times or more without news, and nothing was spent on that")
		p.check(all["class-trip"].replans == 4, "four agents were told of the correction, once each")
		p.check(parked, "what is parked for later and the six watches are still there")
		p.check(cards == 6, "each gate has one card in the chat")
		slices.Sort(want)
		slices.Sort(got)
		p.check(slices.Equal(want, got), "the outcome is the one the stories tell, in whatever order the agents worked: %s%s", digestLines(got), firstOther(want, got))
		return nil
	})
	if err != nil {
		return err
	}
	p.check(st.Verify(ctx) == nil, "the state file verifies")
	return nil
}

func journalOf(r *kernel.Reader) map[string]*found {
	out := map[string]*found{}
	for after := uint64(0); ; {
		records := r.Journal(after, 500)
		if len(records) == 0 {
			return out
		}
		for _, rec := range records {
			after = rec.Seq
			for _, e := range rec.Events {
				f := out[e.Goal]
				if f == nil {
					f = &found{decisions: map[string]int{}, worked: map[string]int{}, todos: map[string]*kernel.Todo{}}
					out[e.Goal] = f
				}
				switch e.Type {
				case kernel.GateAnsweredEvent:
					f.decisions[e.Subject]++
				case kernel.SlotSpent:
					f.paid++
				case kernel.TodoCompleted:
					f.worked[e.Subject]++
				case kernel.ReplanOwed:
					f.replans++
				case kernel.MonitorPolled:
					if e.Todo.Watch.Unchanged > 0 {
						f.looks++
					}
				}
				if e.Todo != nil {
					f.todos[e.Todo.ID] = e.Todo
				}
			}
		}
	}
}

// left is how many watches and parked todos a story leaves.
func (r *running) left() (watches, later int) {
	for i := range r.Todos {
		switch t := &r.Todos[i]; {
		case t.State == "watch":
			watches++
		case t.State == "deferred" && t.Minutes == 0:
			later++
		}
	}
	return watches, later
}

// written is how the story ends as it is written, with Wei's answers.
func (r *running) written() (lines []string) {
	add := func(parts ...string) { lines = append(lines, strings.Join(append([]string{r.Goal}, parts...), " | ")) }
	for i := range r.Todos {
		switch t := &r.Todos[i]; {
		case t.State == "watch" || t.State == "deferred" && t.Minutes == 0:
			add(t.Title, "not done")
		default:
			summary, _ := evidenceOf(t, pressed()[t.Decided])
			add(t.Title, strings.TrimPrefix(summary, "check: "))
		}
	}
	if r.Goal == "class-trip" {
		for range r.Agents {
			add(checkTitle, "my part fits what is asked for now")
		}
	}
	for i := range r.Gates {
		add(r.Gates[i].Question, pressed()[r.Gates[i].Key])
	}
	return lines
}

// outcome is how a goal stands, in the form of written.
func (f *found) outcome(r *kernel.Reader, goal string) (lines []string) {
	add := func(parts ...string) { lines = append(lines, strings.Join(append([]string{goal}, parts...), " | ")) }
	for _, t := range f.todos {
		if t.Status != kernel.TodoDone {
			add(t.Title, "not done")
			continue
		}
		for _, id := range t.Evidence {
			add(t.Title, r.Evidence(goal, id).Summary)
		}
	}
	for _, g := range r.Gates(goal, 1000) {
		option := "open"
		if g.Answer != nil {
			option = g.Answer.Option
		}
		add(g.Question, option)
	}
	return lines
}

// digestLines names an outcome by what is in it.
func digestLines(lines []string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:6])
}

// firstOther is where two outcomes part.
func firstOther(want, got []string) string {
	for i := range max(len(want), len(got)) {
		a, b := "nothing", "nothing"
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		if a != b {
			return fmt.Sprintf(" (told %q, found %q)", a, b)
		}
	}
	return ""
}
