package bot

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"loopx/kernel"
	"loopx/kernel/view"
)

// machine is the two clocks of a machine, real ones that can be moved.
type machine struct{ boot, wall atomic.Int64 } // ms ahead of the real ones

func (m *machine) Boot() (string, int64) {
	return "boot", time.Since(time.Unix(1_700_000_000, 0)).Milliseconds() + m.boot.Load()
}

func (m *machine) Wall() int64 { return time.Now().UnixMilli() + m.wall.Load() }

// step sets the wall clock; suspend lets time pass in which nothing runs.
func (m *machine) step(d time.Duration) { m.wall.Add(d.Milliseconds()) }
func (m *machine) suspend(d time.Duration) {
	m.wall.Add(d.Milliseconds())
	m.boot.Add(d.Milliseconds())
}

// T1, T2, T3: the daemon with a platform connected, whose machine's clock is set
// back or forward by an hour and by ten years, or sleeps for eight hours, while a
// lease is held and a card waits for another try. A lease ends by what has passed
// and by no change of the clock; cards go out, decisions show, and whatever the
// clock did, the lease ends when its time has really passed.
func TestClockOfTheMachine(t *testing.T) {
	const tenYears = 10 * 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		move func(*machine)
		held bool // the lease of 45 minutes still is
	}{
		"back an hour":        {func(m *machine) { m.step(-time.Hour) }, true},
		"back ten years":      {func(m *machine) { m.step(-tenYears) }, true},
		"forward an hour":     {func(m *machine) { m.step(time.Hour) }, true},
		"forward ten years":   {func(m *machine) { m.step(tenYears) }, true},
		"asleep eight hours":  {func(m *machine) { m.suspend(8 * time.Hour) }, false},
		"asleep half an hour": {func(m *machine) { m.suspend(30 * time.Minute) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &machine{}
			d := newOfficeWith(t, slackPhone(), func(o *Options) { o.Clock, o.Wall = m, m.Wall })
			d.do(anytime(), asOwner)
			d.do(&kernel.RegisterAgent{Goal: "site", Agent: "other"}, asCLI)
			d.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1", Claim: true}, asBuilder)
			held := d.claimed()
			// stolen is whether another agent gets what builder holds.
			stolen := func() bool {
				_, err := d.c.Do(t.Context(), &kernel.ClaimTodo{Goal: "site", Agent: "other", Todo: held}, kernel.Options{By: kernel.Actor{Kind: kernel.ByAgent, ID: "other", Surface: "cli"}})
				e := kernel.AsError(err)
				if e != nil && e.Code != "lease_held" {
					t.Fatal(err)
				}
				return e == nil
			}
			ask := func(i int) {
				rec := d.do(&kernel.AddTodo{Goal: "site", Title: fmt.Sprintf("step %d", i)}, asCLI)
				var added struct {
					ID string `json:"todo_id"`
				}
				if err := json.Unmarshal(rec.Result, &added); err != nil {
					t.Fatal(err)
				}
				d.do(&kernel.OpenGate{Goal: "site", Agent: "builder", Question: fmt.Sprintf("Question %d?", i), Kind: "direction", Todos: []string{added.ID}}, asCLI)
			}
			ask(1)
			d.shows("Question 1?")
			c.move(m)
			// What was asked before the step is answered after it, and what is asked after
			// it is shown.
			card := d.shows("Question 1?")
			if err := d.p.press(card.id, card.buttons[0]); err != nil {
				t.Fatal(err)
			}
			d.shows("decided by Wei")
			ask(2)
			d.shows("Question 2?")
			if got := !stolen(); got != c.held {
				t.Errorf("the lease is held: %v", got)
			}
			m.suspend(2 * time.Hour)
			if c.held && !stolen() {
				t.Error("the lease never ends")
			}
			// The daemon's next life continues the same timeline.
			d.stop()
			d.start()
			ask(3)
			d.shows("Question 3?")
			if info, err := d.c.Info(t.Context()); err != nil || info.Connections[1].State != "ready" {
				t.Errorf("the connection is %+v, %v", info.Connections, err)
			}
		})
	}
}

// claimed is the todo that an agent holds.
func (d *office) claimed() string {
	d.t.Helper()
	v, err := view.Ask[view.TodosView](d.t.Context(), d.c, &view.Todos{Goal: "site"})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, todo := range v.Todos {
		if todo.ClaimedBy != "" {
			return todo.ID
		}
	}
	d.t.Fatalf("nothing is claimed: %+v", v.Todos)
	return ""
}
