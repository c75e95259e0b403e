package kernel_test

import (
	"strings"
	"testing"

	"loopx/kernel"
)

// words are what a decision says in the reference's vocabulary.
type words struct {
	rule, kind, state, decision, effective, notify string
	run, needed                                    bool
}

func said(d *kernel.Decision) words {
	return words{d.Rule, d.Kind, d.State, d.Decision, d.Effective, d.Contract.User.Notify, d.ShouldRun, d.Contract.User.Needed}
}

func TestDecisionTable(t *testing.T) {
	quiet := "DONT_NOTIFY"
	wait := words{kind: "wait", state: "waiting", decision: "skip", effective: "quota_skip", notify: quiet}
	waitAs := func(rule string) words { w := wait; w.rule = rule; return w }
	for _, tt := range []struct {
		name  string
		setup func(w *world) string // returns the todo to be selected
		want  words
	}{
		{"stopped", func(w *world) string {
			w.todo("x", 1)
			w.do(&kernel.PauseGoal{Goal: "site"}, cli())
			return ""
		}, words{"R01", "stop", "paused", "skip", "quota_skip", quiet, false, false}},
		{"closed", func(w *world) string {
			w.todo("x", 1)
			w.do(&kernel.CloseGoal{Goal: "site", Outcome: "shipped"}, owner())
			return ""
		}, words{"R01", "stop", "paused", "skip", "quota_skip", quiet, false, false}},
		{"the best is gated, another is free", func(w *world) string {
			w.gate(w.todo("best", 0))
			return w.todo("free", 3)
		}, words{"R09", "deliver", "operator_gate", "safe_bypass_user_gate_fallback", "safe_bypass_user_gate_fallback", "NOTIFY", true, false}},
		{"the own claim is gated, another is free and better", func(w *world) string {
			own := w.todo("own", 3)
			w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: own}, cli())
			w.gate(own)
			return w.todo("free", 0)
		}, words{"R09", "deliver", "operator_gate", "safe_bypass_user_gate_fallback", "safe_bypass_user_gate_fallback", "NOTIFY", true, false}},
		{"all gated", func(w *world) string {
			w.gate(w.todo("x", 0))
			return ""
		}, words{"R10", "ask", "operator_gate", "skip", "operator_gate_notify", "NOTIFY", false, true}},
		{"all gated, told before", func(w *world) string {
			w.do(&kernel.NotifyGate{Goal: "site", Gate: w.gate(w.todo("x", 0))}, bot())
			return ""
		}, words{"R10", "ask", "operator_gate", "skip", "operator_gate_notify", quiet, false, true}},
		{"no slot", func(w *world) string {
			w.todo("x", 1)
			w.do(&kernel.OpenTurn{Goal: "site", Agent: "bob", Turn: "t"}, cli())
			return ""
		}, words{"R11", "wait", "throttled", "throttled_skip", "throttled_skip", quiet, false, false}},
		{"no slot, and the best is gated", func(w *world) string {
			w.gate(w.todo("best", 0))
			w.todo("x", 1)
			w.do(&kernel.OpenTurn{Goal: "site", Agent: "bob", Turn: "t"}, cli())
			return ""
		}, words{"R11", "wait", "throttled", "throttled_skip", "throttled_skip", quiet, false, false}},
		{"runnable", func(w *world) string {
			w.todo("low", 3)
			return w.todo("high", 1)
		}, words{"R12", "deliver", "eligible", "run", "normal_run", quiet, true, false}},
		{"the own claim goes on before a better one", func(w *world) string {
			own := w.todo("own", 3)
			w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: own}, cli())
			w.todo("better", 0)
			return own
		}, words{"R12", "deliver", "eligible", "run", "normal_run", quiet, true, false}},
		{"the better of two own claims, the other gated", func(w *world) string {
			good, bad := w.todo("good", 0), w.todo("bad", 3)
			for _, id := range []string{good, bad} {
				w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
			}
			w.gate(bad)
			return good
		}, words{"R12", "deliver", "eligible", "run", "normal_run", "NOTIFY", true, false}},
		{"others hold it", func(w *world) string {
			w.do(&kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: w.todo("x", 1)}, cli())
			return ""
		}, waitAs("R13")},
		{"only others may", func(w *world) string {
			w.do(&kernel.AddTodo{Goal: "site", Title: "x", Excluded: []string{"ann"}}, cli())
			return ""
		}, waitAs("R13")},
		{"a watch", func(w *world) string {
			w.do(&kernel.AddTodo{Goal: "site", Title: "x", Class: "monitor", CadenceMS: 1_800_000, WatchOnly: true}, cli())
			return ""
		}, waitAs("R14")},
		{"parked", func(w *world) string {
			w.do(&kernel.AddTodo{Goal: "site", Title: "x", Deferred: true, ResumeWhen: "event:x"}, cli())
			return ""
		}, waitAs("R14")},
		{"decided against", func(w *world) string {
			w.do(&kernel.AnswerGate{Gate: w.gate(w.todo("x", 0)), Option: "reject"}, owner())
			return ""
		}, waitAs("R14")},
		{"held and decided against", func(w *world) string {
			id := w.todo("x", 0)
			w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
			w.do(&kernel.AnswerGate{Gate: w.gate(id), Option: "cancel"}, owner())
			return ""
		}, waitAs("R14")},
		{"nothing yet", func(*world) string { return "" }, words{"R15", "plan", "eligible", "run", "normal_run", quiet, true, false}},
		{"done, the goal goes on", func(w *world) string {
			w.do(&kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: w.todo("x", 1)}, cli())
			return ""
		}, words{"R15", "plan", "eligible", "run", "normal_run", quiet, true, false}},
		{"done, nothing follows", func(w *world) string {
			w.do(&kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: w.todo("x", 1), NoFollowup: true}, cli())
			return ""
		}, words{"R16", "stop", "waiting", "skip", "terminal", quiet, false, false}},
	} {
		w := newWorld(t)
		w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"ann", "bob"}, Allowed: ptr(1)}, cli())
		todo := tt.setup(w)
		d := w.decide("ann")
		if said(d) != tt.want || selected(d) != todo {
			t.Errorf("%s:\n got %+v %s\nwant %+v %s", tt.name, said(d), selected(d), tt.want, todo)
		}
		if d.Reason == "" || d.Contract.Agent.Instruction == "" || d.Contract.Agent.MustAttempt != d.ShouldRun || d.Scheduler.Action == "" {
			t.Errorf("%s: an answer that says too little: %s", tt.name, asJSON(d))
		}
		if quiet := d.Rule == "R01" || d.Rule == "R10" || d.Rule == "R16"; quiet != (d.Scheduler.NextWake == 0) {
			t.Errorf("%s: next wake %d", tt.name, d.Scheduler.NextWake)
		}
		w.replays()
	}
}

// gate asks about one todo.
func (w *world) gate(todo string) string {
	w.t.Helper()
	return w.do(&kernel.OpenGate{Goal: "site", Question: "Go on with " + todo + "?", Todos: []string{todo}}, cli())["gate_id"].(string)
}

// R02: who is missing or unknown is told so, with what mends it.
func TestUnknownCallers(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	for agent, code := range map[string]string{"": "agent_required", "eve": "agent_not_registered"} {
		err := w.k.Read(t.Context(), func(r *kernel.Reader) error {
			_, err := r.Decide(kernel.Caller{Goal: "site", Agent: agent})
			return err
		})
		if e := kernel.AsError(err); e == nil || e.Code != code || e.Fix == "" {
			t.Errorf("%q gives %v", agent, err)
		}
	}
}

// `why` has a reason for each candidate that lost.
func TestWhy(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	want := map[string]string{}
	held := w.todo("held", 0)
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: held}, cli())
	want[held] = "held by bob"
	gated := w.todo("gated", 0)
	w.gate(gated)
	want[gated] = "waits for G-1"
	no := w.todo("decided", 0)
	w.do(&kernel.AnswerGate{Gate: w.gate(no), Option: "reject"}, owner())
	want[no] = "stopped by the decision of G-2"
	want[w.do(&kernel.AddTodo{Goal: "site", Title: "not ann's", Excluded: []string{"ann"}}, cli())["todo_id"].(string)] = "ann may not take it"
	best := w.todo("best", 1)
	want[w.todo("after", 1, best)] = "comes after " + best
	want[w.todo("low", 3)] = "comes later in the order"
	want[w.do(&kernel.AddTodo{Goal: "site", Title: "parked", Deferred: true, ResumeWhen: "event:x"}, cli())["todo_id"].(string)] = "parked until event:x"
	want[w.do(&kernel.AddTodo{Goal: "site", Title: "ask", Class: "ask"}, cli())["todo_id"].(string)] = "a request to a person"
	d := w.decide("ann")
	if selected(d) != best || d.Rule != "R09" {
		t.Fatalf("%s %s", d.Rule, selected(d))
	}
	got := map[string]string{}
	for _, l := range d.Lost {
		got[l.Todo] = l.Reason
	}
	for id, reason := range want {
		if got[id] != reason {
			t.Errorf("%s lost because %q, want %q", id, got[id], reason)
		}
	}
	if len(got) != len(want) {
		t.Errorf("why explains %d todos, want %d", len(got), len(want))
	}
}

// What an agent holds itself waits, too, when the whole goal does.
func TestWhyTheWholeGoalWaits(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	own, free := w.todo("own", 0), w.todo("free", 1)
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: own}, cli())
	w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Go on?", WholeGoal: true}, cli())
	for _, l := range w.decide("ann").Lost {
		if l.Reason != "the lane waits for G-1" || l.Todo != own && l.Todo != free {
			t.Errorf("%s lost because %q", l.Title, l.Reason)
		}
	}
}

// The answer stays under 4 KiB, whatever the goal holds.
func TestDecisionIsSmall(t *testing.T) {
	for name, title := range map[string]string{"latin": strings.Repeat("x", 240), "wide": strings.Repeat("汉", 240), "emoji": strings.Repeat("😀", 240), "escaped": strings.Repeat("<", 240), "quotes": strings.Repeat(`"`, 240)} {
		w := newWorld(t)
		w.goal(strings.Repeat("a", 80), "bob")
		for i := range 500 {
			id := w.todo(title, i%4)
			for j := 0; i == 0 && j < 5; j++ { // three are shown
				w.do(&kernel.OpenGate{Goal: "site", Question: title, Why: strings.Repeat("y", j), Todos: []string{id}}, cli())
			}
		}
		w.do(&kernel.ConfigureGoal{Goal: "site", Objective: &title}, owner())
		agent := strings.Repeat("a", 80)
		d := w.decide(agent)
		d.Lost = nil // the reasons are for people who ask why
		if n := len(asJSON(d)); d.Rule != "R05" || n >= 4096 {
			t.Errorf("%s: the replan has %d bytes", name, n)
		}
		w.do(&kernel.AddTodo{Goal: "site", Agent: agent, Title: "another way", Obligation: d.Replan.ID}, cli())
		for _, turn := range []string{"", strings.Repeat("t", 120)} {
			err := w.k.Read(t.Context(), func(r *kernel.Reader) error {
				d, err := r.Decide(kernel.Caller{Goal: "site", Agent: strings.Repeat("a", 80), Turn: turn})
				if n := len(asJSON(d)); err == nil && (n >= 4096 || !d.ShouldRun || len(d.Contract.User.Ask) != 3 || len(d.Contract.Agent.ReadFirst) == 0) {
					t.Errorf("%s: the decision has %d bytes: %s", name, n, asJSON(d))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
