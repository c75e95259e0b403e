package kernel_test

import (
	"fmt"
	"testing"

	"loopx/kernel"
)

// promisesOfRest are those about grants, completion, monitors, turns, payment,
// replans and what is said.
func promisesOfRest() []promise {
	return []promise{
		{23, "a standing approval is not asked for again", changed, "it ends by its date, by an owner's revoking it or by a changed decision; a covered scope is never asked again, so no later no can come", "TestScopes TestGrantExpires TestChangeTakesTheGrant", nil},
		{24, "a validation that fails, hangs or is missing blocks completion and is not run again by a repetition", kept, "", "TestValidationIsBounded validation.txtar:validation_failed", nil},
		{25, "completion and successor happen together or not at all", kept, "", "", func(t *testing.T, w *world) {
			w.goal("ann")
			id := w.todo("x", 0)
			w.unchanged("todo_not_found", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id, Successors: []string{"todo_none"}})
			w.unchanged("too_long", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id, Next: fmt.Sprintf("%0300d", 1)})
			got := w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id, Next: "y"}, cli())
			if _, todo := w.rule("ann"); todo != got["successor_todo_ids"].([]any)[0] {
				t.Errorf("what follows is %s", todo)
			}
		}},
		{26, "a completion that says nothing about what follows does not end the loop", changed, "it is recorded as active_goal by default, and the goal plans next, instead of an obligation", "", func(t *testing.T, w *world) {
			w.goal("ann")
			w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: w.todo("x", 0)}, cli())
			if rule, _ := w.rule("ann"); rule != "R15" {
				t.Errorf("%s", rule)
			}
		}},
		{27, "a monitor is bounded, never due after its end, and keeps its schedule over an update", kept, "", "TestMonitorEnds", func(t *testing.T, w *world) {
			w.goal("ann")
			id := w.monitor("watch", 1)
			before, err := readRows(w.st)
			if err != nil {
				t.Fatal(err)
			}
			w.do(&kernel.UpdateTodo{Goal: "site", Agent: "ann", Todo: id, Title: ptr("watch more")}, cli())
			after, err := readRows(w.st)
			if err != nil || *after.todos[id].Watch != *before.todos[id].Watch {
				t.Errorf("%+v, was %+v, %v", after.todos[id].Watch, before.todos[id].Watch, err)
			}
		}},
		{28, "an unchanged look is free and counted, a material one can be paid", kept, "", "TestMonitorPoll", nil},
		{29, "a turn records one look at most", kept, "", "", func(t *testing.T, w *world) {
			w.goal("ann")
			id := w.monitor("watch", 1)
			w.pass(hour)
			w.turn("ann", "t1")
			look := &kernel.PollMonitor{Goal: "site", Agent: "ann", Turn: "t1", Todo: id}
			w.do(look, cli())
			before := w.dump()
			if r, err := w.k.Do(t.Context(), look, cli()); err != nil || !r.Replay || w.dump() != before {
				t.Errorf("the second look: %+v %v", r, err)
			}
		}},
		{30, "a watch that is only watched makes no replan and keeps no goal from closing", kept, "", "TestReplanAfterQuietLooks", func(_ *testing.T, w *world) {
			w.goal("ann")
			w.monitor("watch", 1)
			w.do(&kernel.CloseGoal{Goal: "site", Outcome: "shipped"}, owner())
		}},
		{31, "nothing is paid that was not delivered", kept, "", "TestInvariants", func(_ *testing.T, w *world) {
			w.goal("ann")
			w.todo("x", 0)
			w.turn("ann", "t1")
			pay := &kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: "t1"}
			w.unchanged("writeback_missing", pay, &kernel.SpendSlot{Goal: "site", Agent: "ann"}, &kernel.SpendSlot{Goal: "site", Agent: "ann", Source: "controller"})
			for i, outcome := range []string{kernel.SurfaceOnly, kernel.OutcomeGap} {
				id := w.todo(fmt.Sprint("more ", i), 1)
				w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Todo: id, Outcome: outcome}, cli())
				w.unchanged("writeback_missing", pay, &kernel.SpendSlot{Goal: "site", Agent: "ann"})
			}
		}},
		{32, "one turn id is one receipt, one writeback, one payment, whatever moved since", kept, "", "TestTick TestInvariants", func(t *testing.T, w *world) {
			w.goal("ann")
			id := w.todo("x", 1)
			steps := []kernel.Command{
				&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true}, &kernel.Refresh{Goal: "site", Agent: "ann", Turn: "t1", Outcome: kernel.Progress},
				&kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: "t1"},
			}
			for _, c := range steps {
				w.do(c, cli())
			}
			other := w.todo("better", 0)
			w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
			before := w.dump()
			for _, c := range steps {
				if r, err := w.k.Do(t.Context(), c, cli()); err != nil || !r.Replay {
					t.Errorf("%s again: %+v %v", c.Name(), r, err)
				}
			}
			if w.dump() != before {
				t.Error("the repetition wrote")
			}
			w.unchanged("turn_bound", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: other, Turn: "t1"})
		}},
		{33, "an agent's payment pays its own delivery and hides no other's", kept, "", "TestLateWritebackHidesNoOther", func(t *testing.T, w *world) {
			w.goal("ann", "bob")
			for _, a := range []string{"ann", "bob"} {
				w.do(&kernel.Refresh{Goal: "site", Agent: a, Outcome: kernel.Progress}, cli())
			}
			w.do(&kernel.SpendSlot{Goal: "site", Agent: "bob"}, cli())
			w.unchanged("writeback_missing", &kernel.SpendSlot{Goal: "site", Agent: "bob"})
			if got := w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann"}, cli()); asJSON(got["runs"]) != "[1]" {
				t.Errorf("ann pays %v", got["runs"])
			}
		}},
		{34, "a payment that is not there cannot be taken back, and none twice", kept, "", "TestVoid", nil},
		{35, "a replan ends by a new, real change of its agent in its name, and by nothing else", kept, "", "TestReplanAfterNoProgress TestReplanWantsANewQuestion TestInvariants", nil},
		{36, "other agents' work makes no replan of this one and settles none", kept, "", "TestReplanAfterTwenty", func(t *testing.T, w *world) {
			w.goal("ann", "bob")
			w.do(&kernel.ConfigureGoal{Goal: "site", Objective: ptr("other")}, owner())
			w.do(&kernel.AddTodo{Goal: "site", Agent: "bob", Title: "bob's way", Obligation: w.owes("bob").ID}, cli())
			if w.owes("ann") == nil || w.owes("bob") != nil {
				t.Errorf("ann owes %+v, bob %+v", w.owes("ann"), w.owes("bob"))
			}
		}},
		{37, "one answer says it all: what to do, whether to tell, when to wake agree", kept, "", "TestDecisionTable", func(t *testing.T, w *world) {
			w.goal("ann")
			w.gate(w.todo("publish", 0))
			w.todo("other", 1)
			w.turn("ann", "t1") // the owner is told by this one
			d := w.decide("ann")
			if d.Contract.User.Notify != "DONT_NOTIFY" || !d.Contract.Agent.MustAttempt || !d.ShouldRun || !d.Contract.CLI.SpendAfter || d.Scheduler.Action != "run_now" {
				t.Errorf("quiet must not mean idle: %s", asJSON(d))
			}
		}},
		{38, "an acknowledgement settles the cadence, a whole interval advances it, a look caps it", kept, "", "TestScheduleAck TestCadence TestCadenceNeedsAWholeInterval TestCadenceIsCappedByLooks", nil},
		{39, "the end needs proof: nothing open, watched, asked or owed", kept, "", "TestInvariants", func(t *testing.T, w *world) {
			end := func(w *world) string { rule, _ := w.rule("ann"); return rule }
			for name, left := range map[string]func(w *world){
				"nothing":   func(*world) {},
				"a request": func(w *world) { w.do(&kernel.AddTodo{Goal: "site", Title: "please", Class: kernel.Ask}, cli()) },
				"a watch":   func(w *world) { w.monitor("watch", 3) },
				"parked":    func(w *world) { w.do(&kernel.AddTodo{Goal: "site", Title: "later", ResumeWhen: "event:x"}, cli()) },
				"an answer": func(w *world) {
					w.do(&kernel.OweAnswer{Goal: "site", Agent: "ann", ID: "m1", Kind: "inbox", From: "Wei"}, bot())
				},
				"a replan": func(w *world) { w.do(&kernel.ConfigureGoal{Goal: "site", Objective: ptr("other")}, owner()) },
			} {
				w := newWorld(t)
				w.goal("ann")
				w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: w.todo("x", 0), NoFollowup: true}, cli())
				left(w)
				if got := end(w); (got == "R16") != (name == "nothing") {
					t.Errorf("with %s left: %s", name, got)
				}
			}
			w.goal("ann")
		}},
		{40, "nothing collides, nothing private is shown, previews write nothing, answers stay small", changed, "runs are numbered rows of one journal and no files named by the second", "TestPreview TestDecisionIsSmall TestWorkspaceGuard TestInvariantsOnFile", func(t *testing.T, w *world) {
			w.goal("ann", "bob")
			for range 3 {
				for _, a := range []string{"ann", "bob"} {
					w.do(&kernel.Refresh{Goal: "site", Agent: a, Outcome: kernel.Progress}, cli())
				}
			}
			if s, err := readRows(w.st); err != nil || len(s.runs) != 6 {
				t.Errorf("%d of 6 writebacks of one moment, %v", len(s.runs), err)
			}
		}},
	}
}
