package kernel_test

import (
	"testing"
	"time"

	"loopx/kernel"
)

const (
	minute = int64(60 * 1000)
	hour   = 60 * minute
)

func (w *world) monitor(title string, prio int) string {
	w.t.Helper()
	return w.do(&kernel.AddTodo{Goal: "site", Title: title, Class: kernel.Monitor, CadenceMS: hour, WatchOnly: true, Priority: &prio}, cli())["todo_id"].(string)
}

// A due monitor is looked at when it outranks the work or is all there is; an
// unchanged look is quiet, free, and moves the next one.
func TestMonitorPoll(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	id := w.monitor("sign-ups", 1)
	poll := &kernel.PollMonitor{Goal: "site", Agent: "builder", Todo: id}
	if d := w.decide("builder"); d.Rule != "R14" || d.Scheduler.NextWake == 0 {
		t.Fatalf("before it is due: %s", d.Rule)
	}
	w.refuse("monitor_not_due", poll, cli())
	w.pass(hour)
	d := w.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1", Claim: true}, cli())
	if d["rule"] != "R08" || d["selected_todo"].(map[string]any)["todo_id"] != id || d["lease"] != nil {
		t.Fatalf("a due monitor: %v", d)
	}
	poll.Turn, poll.Hash = "t1", "h1"
	if got := w.do(poll, cli()); got["consecutive_no_change"] != 1.0 || got["accountable"] != false {
		t.Fatalf("an unchanged look: %v", got)
	}
	w.refuse("writeback_missing", &kernel.SpendSlot{Goal: "site", Agent: "builder", Turn: "t1"}, cli())
	if d := w.decide("builder"); d.Rule != "R14" || d.Quota.Held != 0 {
		t.Fatalf("after it: %s, %d slots held", d.Rule, d.Quota.Held)
	}
	w.pass(hour)
	work := w.todo("same rank", 1)
	if d := w.decide("builder"); d.Rule != "R12" || d.Selected.ID != work {
		t.Fatalf("work of the same rank comes first: %s", d.Rule)
	}
	w.refuse("result_changed", &kernel.PollMonitor{Goal: "site", Agent: "builder", Todo: id, Hash: "h2"}, cli())
	got := w.do(&kernel.PollMonitor{Goal: "site", Agent: "builder", Todo: id, Hash: "h2", Material: true, Next: "answer the new sign-ups", Evidence: note("12 sign-ups")}, cli())
	if got["consecutive_no_change"] != 0.0 || len(got["successor_todo_ids"].([]any)) != 1 {
		t.Fatalf("a material look: %v", got)
	}
	w.do(&kernel.SpendSlot{Goal: "site", Agent: "builder"}, cli())
	w.replays()
}

func TestMonitorEnds(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	end := w.now + 2*hour
	id := w.do(&kernel.AddTodo{Goal: "site", Title: "weather", Class: kernel.Monitor, CadenceMS: hour, Expires: end}, cli())["todo_id"].(string)
	w.refuse("monitor_unbounded", &kernel.AddTodo{Goal: "site", Title: "for ever", Class: kernel.Monitor, CadenceMS: hour}, cli())
	w.pass(3 * hour)
	w.refuse("monitor_expired", &kernel.PollMonitor{Goal: "site", Agent: "builder", Todo: id}, cli())
	if d := w.decide("builder"); d.Rule == "R08" || d.Rule == "R14" {
		t.Fatalf("a watch that ended still decides: %s", d.Rule)
	}
}

// Each condition reopens what waits for it, once it is true and not before.
func TestResume(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	first := w.todo("first", 1)
	gate := w.do(&kernel.OpenGate{Goal: "site", Question: "Go on?", Advisory: true}, cli())["gate_id"].(string)
	park := func(title, when string) string {
		return w.do(&kernel.AddTodo{Goal: "site", Title: title, ResumeWhen: when}, cli())["todo_id"].(string)
	}
	date := time.UnixMilli(w.now + 5*hour).UTC().Format(time.RFC3339)
	ids := map[string]string{
		"todo": park("after first", "todo_done:"+first), "gate": park("after the gate", "gate:"+gate), "code": park("after the code", "gate:G-1"),
		"date": park("later", "date:"+date), "event": park("after the event", "event:released"),
	}
	status := func(key string) string {
		var s string
		_ = w.k.Read(t.Context(), func(r *kernel.Reader) error { s = r.Todo("site", ids[key]).Status; return nil })
		return s
	}
	want := func(when string, open ...string) {
		t.Helper()
		for key := range ids {
			is := status(key) == kernel.TodoOpen
			should := false
			for _, o := range open {
				should = should || o == key
			}
			if is != should {
				t.Errorf("%s: %s is open: %v", when, key, is)
			}
		}
	}
	want("at the start")
	w.refuse("todo_deferred", &kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: ids["date"]}, cli())
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "builder", Todo: first, NoFollowup: true, Evidence: note("x")}, cli())
	want("after first", "todo")
	w.do(&kernel.AnswerGate{Gate: gate, Option: "approve"}, owner())
	want("after the answer", "todo", "gate", "code")
	w.do(&kernel.FireEvent{Goal: "site", Key: "other"}, cli())
	w.do(&kernel.FireEvent{Goal: "site", Key: "released"}, cli())
	want("after the event", "todo", "gate", "code", "event")
	for _, key := range []string{"todo", "gate", "code", "event"} {
		w.do(&kernel.CompleteTodo{Goal: "site", Agent: "builder", Todo: ids[key], NoFollowup: true, Evidence: note("x")}, cli())
	}
	if d := w.decide("builder"); d.Rule != "R14" || d.Scheduler.NextWake > w.now+5*hour {
		t.Fatalf("with a date ahead: %s, wake %d", d.Rule, d.Scheduler.NextWake)
	}
	w.pass(5 * hour)
	d := w.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1", Claim: true}, cli())
	if d["rule"] != "R12" || d["selected_todo"].(map[string]any)["selected_by"] != "date_passed" {
		t.Fatalf("after the date: %v", d)
	}
	want("after the claim", "date")
	for _, bad := range []string{"date:tomorrow", "when:ready", "event:", "todo_done:todo_none0000"} {
		if _, err := w.k.Do(t.Context(), &kernel.AddTodo{Goal: "site", Title: "x", ResumeWhen: bad}, cli()); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	w.replays()
}

// What waits for a todo that is replaced waits for its successor.
func TestResumeFollowsSupersede(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	first := w.todo("first", 1)
	parked := w.do(&kernel.AddTodo{Goal: "site", Title: "after", ResumeWhen: "todo_done:" + first}, cli())["todo_id"].(string)
	next := w.do(&kernel.SupersedeTodo{Goal: "site", Agent: "builder", Todo: first, Next: "better first"}, cli())["superseded_by"].(string)
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "builder", Todo: next, NoFollowup: true, Evidence: note("x")}, cli())
	if d := w.decide("builder"); d.Rule != "R12" || d.Selected.ID != parked {
		t.Fatalf("%s %+v", d.Rule, d.Selected)
	}
	w.replays()
}

// A capability that an agent can get is repaired, one that only a person can
// give is asked for, and neither is worked around.
func TestCapabilities(t *testing.T) {
	w := newWorld(t)
	w.goal("builder")
	w.do(&kernel.AddTodo{Goal: "site", Title: "draw", Capabilities: []string{"shell", "browser"}}, cli())
	if d := w.decide("builder"); d.Rule != "R07" || !d.ShouldRun || d.Effective != "capability_bridge_repair" {
		t.Fatalf("a browser is missing: %s %s", d.Rule, d.Effective)
	}
	d := w.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1", Capabilities: []string{"browser"}}, cli())
	if d["rule"] != "R12" {
		t.Fatalf("with a browser: %v", d["rule"])
	}
	w.do(&kernel.RegisterAgent{Goal: "site", Agent: "other", Capabilities: []string{"browser"}}, cli())
	if d := w.decide("other"); d.Rule != "R12" {
		t.Fatalf("an agent that registered it: %s", d.Rule)
	}
	w2 := newWorld(t)
	w2.goal("builder")
	w2.do(&kernel.AddTodo{Goal: "site", Title: "pay", Capabilities: []string{"credentials"}}, cli())
	if d := w2.decide("builder"); d.Rule != "R07" || d.ShouldRun || !d.Contract.User.Needed {
		t.Fatalf("credentials are missing: %s %v", d.Rule, d.ShouldRun)
	}
}
