package kernel_test

import (
	"fmt"
	"sync"
	"testing"

	"loopx/kernel"
)

// promisesOfWork are those about goals, agents, claims and gates.
func promisesOfWork() []promise {
	return []promise{
		{1, "a stopped goal never acts, whatever stands in it", kept, "", "TestInvariants", func(t *testing.T, w *world) {
			w.goal("ann", "bob")
			w.todo("x", 0)
			w.monitor("watch", 0)
			w.do(&kernel.OweAnswer{Goal: "site", Agent: "ann", ID: "m1", Kind: "inbox", From: "Wei"}, bot())
			w.do(&kernel.ConfigureGoal{Goal: "site", Objective: ptr("other")}, owner())
			w.turn("bob", "t1")
			w.pass(2 * hour)
			w.do(&kernel.PauseGoal{Goal: "site"}, cli())
			for _, a := range []string{"ann", "bob", "eve"} {
				if d := w.decide(a); d.ShouldRun || d.Rule != "R01" || d.Scheduler.Action != "stop_until_explicit_resume" || d.Scheduler.NextWake != 0 {
					t.Errorf("%s: %s", a, asJSON(d))
				}
			}
		}},
		{2, "a stop without --execute writes nothing, and repeated it changes nothing", changed, "there is one state, so no two registries have to agree", "owner.txtar:--execute", func(t *testing.T, w *world) {
			w.goal("ann")
			before := w.dump()
			opt := cli()
			opt.Preview = true
			w.do(&kernel.PauseGoal{Goal: "site"}, opt)
			if w.dump() != before {
				t.Error("the preview wrote")
			}
			w.do(&kernel.PauseGoal{Goal: "site"}, cli())
			before = w.dump()
			if r, err := w.k.Do(t.Context(), &kernel.PauseGoal{Goal: "site"}, cli()); err != nil || r.Changed || w.dump() != before {
				t.Errorf("the second stop: %+v %v", r, err)
			}
		}},
		{3, "a stop and a quota of zero are lifted apart", kept, "", "TestQuotaZeroAndStop hold.txtar:quota-compute", nil},
		{4, "no slots allowed is never unlimited", changed, "zero slots pause the goal as quota_zero instead of throttling each question", "", func(t *testing.T, w *world) {
			w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"ann"}, Allowed: ptr(0)}, cli())
			w.todo("x", 0)
			if d := w.decide("ann"); d.Rule != "R01" || d.State != "paused" || d.Quota.Free() != 0 {
				t.Errorf("%s", asJSON(d))
			}
		}},
		{5, "what is unknown or damaged is a typed error and no write", kept, "", "TestUnknownCallers TestDamagedRows TestRefusals badstate.txtar:damaged", nil},
		{6, "with several agents each act names its agent", kept, "", "", func(_ *testing.T, w *world) {
			w.goal("ann", "bob")
			id, watch := w.todo("x", 0), w.monitor("watch", 1)
			w.pass(hour)
			w.unchanged("agent_required",
				&kernel.OpenTurn{Goal: "site", Turn: "t1"}, &kernel.ClaimTodo{Goal: "site", Todo: id}, &kernel.UpdateTodo{Goal: "site", Todo: id, Status: "open"},
				&kernel.CompleteTodo{Goal: "site", Todo: id}, &kernel.SupersedeTodo{Goal: "site", Todo: id, Next: "y"}, &kernel.Refresh{Goal: "site"},
				&kernel.SpendSlot{Goal: "site"}, &kernel.PollMonitor{Goal: "site", Todo: watch}, &kernel.AckSchedule{Goal: "site", RRule: "x"})
		}},
		{7, "of two claims at once one wins, and the loser learns who", kept, "", "TestB83_ClaimsAtOnce TestOneClaimWins", nil},
		{8, "todos added at once all survive", kept, "", "", func(t *testing.T, w *world) {
			w.goal("ann")
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					if _, err := w.k.Do(t.Context(), &kernel.AddTodo{Goal: "site", Title: fmt.Sprint("todo ", i)}, cli()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			s, err := readRows(w.st)
			if err != nil || len(s.todos) != 32 {
				t.Errorf("%d todos, %v", len(s.todos), err)
			}
		}},
		{9, "nobody but its holder writes to a claimed todo, and an excluded agent never", kept, "", "TestInvariants", func(_ *testing.T, w *world) {
			w.goal("ann", "bob")
			held := w.todo("x", 0)
			w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: held}, cli())
			w.unchanged("lease_held", &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: held}, &kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: held, ClearClaim: true},
				&kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: held}, &kernel.SupersedeTodo{Goal: "site", Agent: "bob", Todo: held, Next: "y"},
				&kernel.Refresh{Goal: "site", Agent: "bob", Todo: held, Outcome: kernel.Progress})
			not := w.do(&kernel.AddTodo{Goal: "site", Title: "y", Excluded: []string{"bob"}}, cli())["todo_id"].(string)
			w.unchanged("agent_excluded", &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: not}, &kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: not},
				&kernel.SupersedeTodo{Goal: "site", Agent: "bob", Todo: not, Next: "y"})
		}},
		{10, "delegated authority works only for its actions", dropped, "members are peers: nobody acts for another agent, and what overrules a holder is an owner's act with proof", "TestTransfer", nil},
		{11, "claiming again what one holds is a success that changes nothing", kept, "", "", func(t *testing.T, w *world) {
			w.goal("ann")
			c := &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: w.todo("x", 0)}
			one := w.do(c, cli())
			if two := w.do(c, cli()); two["changed"] != false || two["lease"].(map[string]any)["token"] != one["lease"].(map[string]any)["token"] {
				t.Errorf("%v", two)
			}
		}},
		{12, "the same key gives the same lease, another request under it none", changed, "claim and lease are one step, so the key is the command's and not the lease's", "TestKeys", func(_ *testing.T, w *world) {
			w.goal("ann")
			opt := cli()
			opt.Key = "k"
			w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: w.todo("x", 0)}, opt)
			w.refuse("key_reused", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: w.todo("y", 0)}, opt)
		}},
		{13, "only an expired lease is taken over, under a new generation, and its old holder is fenced", kept, "", "TestLeaseTakeover TestTakenOverStaysFenced TestInvariants", nil},
		{14, "leases with overlapping write scopes are refused", dropped, "agents write in working trees of their own; where their changes meet is for git, and a lease is on a todo", "TestWorkspaceGuard", nil},
		{15, "completing needs the lease, shown or not releases it only when it happens", kept, "", "", func(t *testing.T, w *world) {
			w.goal("ann", "bob")
			id := w.todo("x", 0)
			w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
			w.refuse("lease_lost", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id, Lease: "lease_wrong"}, cli())
			opt := cli()
			opt.Preview = true
			w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id}, opt)
			w.refuse("lease_held", &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: id}, cli())
			w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
			if s, err := readRows(w.st); err != nil || s.claims[id].Agent != "" {
				t.Errorf("still held: %+v %v", s.claims[id], err)
			}
		}},
		{16, "a strict goal wants the lease for each write, and an unknown mode is refused", kept, "", "TestHandoffMode TestInvariants", func(_ *testing.T, w *world) {
			w.goal("ann")
			w.refuse("bad_handoff", &kernel.ConfigureGoal{Goal: "site", Handoff: "hard_lease"}, owner())
		}},
		{17, "what a person is asked is typed: a gate has one scope, a request never blocks", kept, "", "owner.txtar:user_gate", func(t *testing.T, w *world) {
			w.goal("ann", "bob")
			id := w.todo("x", 0)
			w.unchanged("bad_blocks", &kernel.OpenGate{Goal: "site", Question: "Go?", Todos: []string{id}, LaneOf: "ann"})
			w.unchanged("blocks_nothing", &kernel.OpenGate{Goal: "site", Question: "Go?"})
			w.do(&kernel.AddTodo{Goal: "site", Title: "please", Class: kernel.Ask}, cli())
			if rule, todo := w.rule("ann"); rule != "R12" || todo != id {
				t.Errorf("a request moves the decision to %s %s", rule, todo)
			}
		}},
		{18, "a gate is decided by one of its outcomes; only an approval grants, only what it covers; a no stays", kept, "", "TestScopes TestRefusedScope", func(t *testing.T, w *world) {
			w.goal("ann")
			id := w.todo("x", 0)
			g := w.gate(id)
			w.refuse("bad_option", &kernel.AnswerGate{Gate: g}, owner())
			w.do(&kernel.AnswerGate{Gate: g, Option: "reject"}, owner())
			w.pass(100 * 24 * hour)
			w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
			if rule, _ := w.rule("ann"); rule != "R14" {
				t.Errorf("after a no: %s", rule)
			}
		}},
		{19, "a todo goes on only when no other gate holds it", kept, "", "TestInvariants", func(t *testing.T, w *world) {
			w.goal("ann")
			id := w.todo("x", 0)
			one := w.gate(id)
			two := w.do(&kernel.OpenGate{Goal: "site", Question: "And this?", Todos: []string{id}}, cli())["gate_id"].(string)
			w.do(&kernel.AnswerGate{Gate: one, Option: "approve"}, owner())
			if rule, _ := w.rule("ann"); rule != "R10" {
				t.Errorf("with one gate left: %s", rule)
			}
			w.do(&kernel.AnswerGate{Gate: two, Option: "approve"}, owner())
			if rule, todo := w.rule("ann"); rule != "R12" || todo != id {
				t.Errorf("with none: %s %s", rule, todo)
			}
		}},
		{20, "a gate that ends without an answer grants nothing", changed, "gates are withdrawn or expire; they are not superseded", "TestNothingWalksAroundAGate TestB32_Expired", nil},
		{21, "one agent's gate moves no other, the goal's moves all", kept, "", "TestB31_Lanes TestInvariants", nil},
		{22, "behind a gate a lower, independent todo is offered, and the owner still told", kept, "", "", func(t *testing.T, w *world) {
			w.goal("ann")
			w.gate(w.todo("publish", 0))
			id := w.todo("other", 3)
			if d := w.decide("ann"); d.Rule != "R09" || !d.ShouldRun || selected(d) != id || d.Contract.User.Notify != "NOTIFY" {
				t.Errorf("%s", asJSON(d))
			}
		}},
	}
}
