package kernel_test

import (
	"fmt"
	"testing"

	"loopx/kernel"
)

func (w *world) askAs(agent, question string) *kernel.OpenGate {
	return &kernel.OpenGate{Goal: "site", Agent: agent, Question: question, Advisory: true}
}

// Three questions an hour to one person, and no more; another agent has its own
// three, a person and the unnamed command line are not counted.
func TestAskedTooOften(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	for i := range 3 {
		w.do(w.askAs("ann", fmt.Sprint("Question ", i)), cli())
		w.pass(minute)
	}
	e := w.refuse("asked_too_often", w.askAs("ann", "Question 3"), cli())
	if e.Class != kernel.Exhausted || e.Fix == "" || e.Details["next"] == "" {
		t.Errorf("the refusal: %s", asJSON(e))
	}
	w.do(w.askAs("ann", "Question 2"), cli()) // the same question is the same gate
	w.do(w.askAs("bob", "Of bob"), cli())
	w.do(w.askAs("", "Question 4"), cli())
	w.do(w.askAs("", "Question 5"), owner())
	w.now -= 2 * hour // a clock set back or forward buys nothing
	w.refuse("asked_too_often", w.askAs("ann", "Question 3"), cli())
	w.now += 4 * hour
	w.refuse("asked_too_often", w.askAs("ann", "Question 3"), cli())
	w.now -= 2 * hour
	w.pass(57 * minute)
	w.do(w.askAs("ann", "Question 3"), cli())
	w.refuse("asked_too_often", w.askAs("ann", "Question 6"), cli())
	w.replays()
}

// Another person has three of their own.
func TestAskedTooOftenIsByPerson(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	w.link("UWEI")
	bob := w.invite("site", "approver", "UBOB")
	w.policy(map[string]kernel.Asked{"other": {Role: "approver"}})
	for i := range 3 {
		w.do(w.askAs("ann", fmt.Sprint("Question ", i)), cli())
	}
	w.refuse("asked_too_often", w.askAs("ann", "Question 3"), cli())
	c := w.askAs("ann", "Question 3")
	c.Kind = "direction" // asks the owner
	first, own := w.openGates(), w.do(c, cli())["gate_id"].(string)
	if to := w.gateRow(own).To; len(to) != 1 || to[0] != "owner" {
		t.Errorf("asked: %v", to)
	}
	if to := first[0].To; len(to) != 1 || to[0] != bob {
		t.Errorf("asked: %v", to)
	}
}

// Ten open gates a goal; withdrawing one makes room.
func TestTooManyOpenGates(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	first := ""
	for i := range 10 {
		id := w.do(w.askAs("ann", fmt.Sprint("Question ", i)), cli())["gate_id"].(string)
		if i == 0 {
			first = id
		}
		w.pass(30 * minute)
	}
	w.refuse("too_many_open_gates", w.askAs("ann", "One more"), cli())
	w.do(&kernel.WithdrawGate{Gate: first, Agent: "ann"}, cli())
	w.do(w.askAs("ann", "One more"), cli())
	w.replays()
}

// A todo whose scope could not be asked for is not taken either.
func TestUnaskedScopeIsNotTaken(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	ids := []string{}
	for i := range 5 {
		ids = append(ids, w.do(&kernel.AddTodo{Goal: "site", Agent: "ann", Title: "x", Scopes: []string{fmt.Sprintf("publish:action:page%d", i)}}, cli())["todo_id"].(string))
	}
	if n := len(w.openGates()); n != 3 {
		t.Fatalf("%d gates are open", n)
	}
	for i, id := range ids {
		want := "gate_pending"
		if i >= 3 {
			want = "scope_needed"
		}
		w.refuse(want, &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
		w.refuse(want, &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id, Evidence: note("done")}, cli())
	}
	w.pass(hour + minute)
	w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "And this?", Scope: "publish:action:page3", Todos: ids[3:4]}, cli())
	w.refuse("gate_pending", &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: ids[3]}, cli())
	w.replays()
}

// After a no the same scope is asked again only with something new, and then it
// is the same gate.
func TestRefusedScopeAsksAgain(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id := w.scoped("publish", "publish:action:website")
	g := w.openGates()[0].ID
	ask := func(ev ...kernel.EvidenceArg) *kernel.OpenGate {
		return &kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Really not?", Scope: "publish:action:website", Todos: []string{id}, Evidence: ev}
	}
	w.do(&kernel.AnswerGate{Gate: g, Option: "reject"}, owner())
	w.refuse("refused_before", ask(), cli())
	w.scoped("publish differently", "publish:action:website") // one more todo is nothing new
	w.refuse("refused_before", ask(), cli())
	if again := w.do(ask(note("legal agreed")...), cli()); again["gate_id"] != g || again["status"] != "open" {
		t.Fatalf("asked again: %v", again)
	}
	w.do(&kernel.AnswerGate{Gate: g, Option: "reject"}, owner())
	w.refuse("refused_before", ask(note("legal agreed")...), cli())
	title := "publish the draft"
	w.do(&kernel.UpdateTodo{Goal: "site", Agent: "ann", Todo: id, Title: &title}, cli())
	w.do(ask(), cli())
	w.do(&kernel.AnswerGate{Gate: g, Option: "approve"}, owner())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli())
	if v := w.gateRow(g); len(v.Past) != 2 || v.Past[0].Why != "asked_again" {
		t.Errorf("its past: %s", asJSON(v.Past))
	}
	w.replays()
}

// A host's own requests are not counted, block nothing, and end with the request.
func TestHostRequests(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	ask := func(id string) *kernel.OpenGate {
		return &kernel.OpenGate{Goal: "site", Agent: "ann", Question: "May it run make?", Kind: "permission", Advisory: true, Request: id}
	}
	w.refuse("bot_only", ask("r1"), cli())
	ids := []string{}
	for i := range 12 {
		ids = append(ids, w.do(ask(fmt.Sprint("r", i)), bot())["gate_id"].(string))
	}
	if again := w.do(ask("r3"), bot()); again["gate_id"] != ids[3] {
		t.Errorf("the same request again: %v", again)
	}
	c := ask("r20")
	c.Advisory, c.WholeGoal = false, true
	w.refuse("request_blocks", c, bot())
	w.do(&kernel.WithdrawGate{Gate: ids[0]}, bot())
	mine := w.do(w.askAs("ann", "Mine"), cli())["gate_id"].(string)
	w.refuse("owner_only", &kernel.WithdrawGate{Gate: mine}, bot())
	w.replays()
}

// Nobody is called what the command line and persons are recorded as.
func TestReservedNames(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	for _, id := range []string{"cli", "person:owner"} {
		w.refuse("bad_agent_id", &kernel.RegisterAgent{Goal: "site", Agent: id}, cli())
	}
}
