package kernel_test

import (
	"fmt"
	"slices"
	"testing"

	"loopx/kernel"
)

// An owed answer comes before work, once, and only where there is a slot to
// answer from.
func TestOwedAnswerComesFirst(t *testing.T) {
	w := newWorld(t)
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"ann", "bob"}, Allowed: ptr(1)}, cli())
	w.todo("x", 0)
	owe := &kernel.OweAnswer{Goal: "site", Agent: "ann", ID: "m2", Kind: "queue", From: "Wei"}
	w.refuse("people_only", owe, kernel.Options{By: kernel.Actor{Kind: kernel.ByAgent, ID: "bob"}})
	w.do(owe, bot())
	w.pass(1000)
	w.do(&kernel.OweAnswer{Goal: "site", Agent: "ann", ID: "m1", Kind: "queue", From: "Wei"}, bot())
	if r, err := w.k.Do(t.Context(), owe, bot()); err != nil || r.Changed {
		t.Fatalf("owed twice: %+v %v", r, err)
	}
	if d := w.decide("ann"); d.Rule != "R03" || d.Kind != "reply" || !d.ShouldRun || d.Reply.ID != "m2" || d.Reply.From != "Wei" || d.Contract.CLI.Next[0][1] != "next" {
		t.Fatalf("the oldest message comes first: %s", asJSON(d))
	}
	if rule, _ := w.rule("bob"); rule != "R12" {
		t.Fatalf("what ann owes moves bob to %s", rule)
	}
	w.refuse("answer_of_other", &kernel.SettleAnswer{Goal: "site", Agent: "ann", ID: "m2"}, kernel.Options{By: kernel.Actor{Kind: kernel.ByAgent, ID: "bob"}})
	w.do(&kernel.SettleAnswer{Goal: "site", Agent: "ann", ID: "m2"}, cli())
	if d := w.decide("ann"); d.Reply == nil || d.Reply.ID != "m1" {
		t.Fatalf("then the next: %s", asJSON(d))
	}
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "bob", Turn: "b1"}, cli()) // takes the only slot
	if d := w.decide("ann"); d.Rule != "R11" || d.Scheduler.NextWake == 0 {
		t.Fatalf("without a slot: %s", asJSON(d))
	}
	w.pass(50 * 60_000)
	w.do(&kernel.SettleAnswer{Goal: "site", Agent: "ann", ID: "m1"}, cli())
	if rule, _ := w.rule("ann"); rule != "R12" {
		t.Fatalf("after the last answer: %s", rule)
	}
	w.replays()
}

func TestOwedIsBounded(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	for i := range 64 {
		w.do(&kernel.OweAnswer{Goal: "site", Agent: "ann", ID: fmt.Sprintf("m%d", i), Kind: "inbox", From: "Wei"}, bot())
	}
	w.refuse("too_many_owed", &kernel.OweAnswer{Goal: "site", Agent: "ann", ID: "one-more", Kind: "inbox", From: "Wei"}, bot())
}

// Each way a turn can end without being settled, and what it leaves.
func TestUnsettledTurns(t *testing.T) {
	type left struct {
		why              string
		claim, writeback bool
	}
	for _, tt := range []struct {
		name string
		ends func(w *world, todo string)
		view *left // of a question without a turn
		next *left // of the next turn
	}{
		{"replaced with its claim", func(*world, string) {}, nil, &left{"replaced", true, false}},
		{"replaced with a writeback", func(w *world, _ string) {
			w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Turn: "t1", Outcome: kernel.Progress}, cli())
		}, nil, &left{"replaced", true, true}},
		{"completed and not paid", func(w *world, todo string) {
			w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Turn: "t1", Todo: todo, Evidence: note("ok")}, cli())
		}, nil, &left{"replaced", false, true}},
		{"completed with nothing to pay", func(w *world, todo string) {
			w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Turn: "t1", Todo: todo}, cli())
		}, nil, nil},
		{"the session closed", func(w *world, _ string) {
			w.do(&kernel.CloseSession{Goal: "site", Session: "cli:ann"}, cli())
		}, &left{"session_closed", true, false}, &left{"replaced", true, false}},
		{"the lease ran out", func(w *world, _ string) {
			w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Turn: "t1", Outcome: kernel.Progress}, cli())
			w.pass(47 * 60_000)
		}, &left{"lease_lost", false, true}, &left{"replaced", false, true}},
		{"taken over", func(w *world, todo string) {
			w.pass(47 * 60_000)
			w.do(&kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: todo}, cli())
		}, nil, nil},
		{"given back", func(w *world, todo string) {
			w.do(&kernel.UpdateTodo{Goal: "site", Agent: "ann", Turn: "t1", Todo: todo, ClearClaim: true}, cli())
		}, nil, nil},
		{"a person is asked about it", func(w *world, todo string) { w.gate(todo) }, nil, nil},
		{"paid, and the todo goes on", func(w *world, _ string) {
			w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Turn: "t1", Outcome: kernel.Progress}, cli())
			w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: "t1"}, cli())
		}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.goal("ann", "bob")
			todo := w.todo("x", 1)
			w.todo("y", 2)
			w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true}, cli())
			tt.ends(w, todo)
			d := w.decide("ann")
			if got := d.Settle; (got != nil) != (tt.view != nil) || got != nil && (left{got.Why, got.Claim, got.Writeback}) != *tt.view {
				t.Errorf("a question gets %s %s, want %+v", d.Rule, asJSON(got), tt.view)
			}
			out := w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t2", Claim: true}, cli())
			got, _ := out["settle"].(map[string]any)
			if (got != nil) != (tt.next != nil) || got != nil && (left{got["why"].(string), got["claim"] == true, got["writeback"] == true}) != *tt.next {
				t.Fatalf("the next turn gets %v %v, want %+v", out["rule"], got, tt.next)
			}
			if tt.next != nil {
				if out["rule"] != "R04" || out["should_run"] != true || (out["lease"] != nil) != tt.next.claim {
					t.Fatalf("settling: %v, lease %v", out["rule"], out["lease"])
				}
				if tt.next.claim {
					w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Turn: "t2", Todo: todo, Evidence: note("found done")}, cli())
					w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: "t2"}, cli())
				}
				if tt.next.writeback {
					w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: "t1"}, cli())
				}
			}
			out = w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t3"}, cli())
			if got, _ := out["settle"].(map[string]any); got != nil && got["turn_instance_id"] == "t1" {
				t.Fatalf("settled, and still asked for: %v", got)
			}
			w.replays()
		})
	}
}

// A turn that dies while it settles another is settled itself: one turn holds the
// claim at a time, and nothing is settled twice.
func TestSettlingDiesToo(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id := w.todo("x", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true}, cli())
	for i := 2; i < 6; i++ {
		turn := fmt.Sprintf("t%d", i)
		out := w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: turn, Claim: i%2 == 0}, cli())
		left, _ := out["settle"].(map[string]any)
		if left == nil || left["turn_instance_id"] != fmt.Sprintf("t%d", i-1) {
			t.Fatalf("%s settles %v", turn, left)
		}
	}
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Turn: "t5", Todo: id, NoFollowup: true, Evidence: note("ok")}, cli())
	w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: "t5"}, cli())
	if rule, _ := w.rule("ann"); rule != "R16" {
		t.Fatalf("after it all: %s", rule)
	}
	w.replays()
}

// A payment that finds no slot waits for one; a claim that is left does not.
func TestSettlingAndSlots(t *testing.T) {
	w := newWorld(t)
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"ann", "bob"}, Allowed: ptr(1)}, cli())
	id := w.todo("x", 1)
	w.todo("y", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true}, cli())
	w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Turn: "t1", Outcome: kernel.Progress}, cli())
	w.pass(45*60_000 + 1) // the slot is free again, the claim within its grace
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "bob", Turn: "b1"}, cli())
	out := w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t2", Claim: true}, cli())
	if out["rule"] != "R04" || w.held("ann") != 0 {
		t.Fatalf("without a slot the claim is settled: %v, %d slots", out["rule"], w.held("ann"))
	}
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "ann", Todo: id, ClearClaim: true}, cli())
	if d := w.decide("ann"); d.Rule != "R11" {
		t.Fatalf("nothing can be paid: %s", d.Rule)
	}
	w.pass(46 * 60_000)
	if d := w.decide("ann"); d.Rule != "R04" || d.Settle.Claim || !slices.Contains(d.Contract.CLI.Next[0], "t1") {
		t.Fatalf("with a slot: %s", asJSON(d))
	}
	w.replays()
}

func (w *world) held(agent string) int {
	w.t.Helper()
	return w.decide(agent).Quota.Held
}
