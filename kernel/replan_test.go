package kernel_test

import (
	"fmt"
	"strings"
	"testing"

	"loopx/kernel"
)

// owes is the replan an agent is asked for, nil when there is none.
func (w *world) owes(agent string) *kernel.ReplanAsked {
	w.t.Helper()
	d := w.decide(agent)
	if (d.Rule == "R05") != (d.Replan != nil) || d.Replan != nil && (!d.ShouldRun || d.Kind != "replan" || len(d.Replan.AnyOf) != 3) {
		w.t.Fatalf("%s: %s", d.Rule, asJSON(d))
	}
	return d.Replan
}

// stall writes in a turn of its own that a todo got nowhere.
func (w *world) stall(agent, turn, todo string) {
	w.t.Helper()
	w.do(&kernel.OpenTurn{Goal: "site", Agent: agent, Turn: turn, Claim: true}, cli())
	w.do(&kernel.Refresh{Goal: "site", Agent: agent, Turn: turn, Todo: todo, Outcome: kernel.OutcomeGap}, cli())
}

// Two turns in a row that got nowhere with one todo make a replan of that agent,
// once, under an id that stays; only a real change settles it.
func TestReplanAfterNoProgress(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	id := w.todo("x", 1)
	w.stall("ann", "t1", id)
	w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Turn: "t1", Outcome: kernel.OutcomeGap, Note: "still"}, cli())
	if o := w.owes("ann"); o != nil {
		t.Fatalf("one turn counts once: %+v", o)
	}
	w.stall("ann", "t2", id)
	first := w.owes("ann")
	if first == nil || first.Cause != kernel.CauseStall || first.Todo != id || w.owes("bob") != nil {
		t.Fatalf("ann owes %+v, bob %+v", first, w.owes("bob"))
	}
	w.stall("ann", "t3", id)
	w.todo("another", 3)
	if o := w.owes("ann"); o == nil || o.ID != first.ID {
		t.Fatalf("the same cause is %+v, was %+v", o, first)
	}
	// Words, evidence, others' changes and made-up ids settle nothing.
	w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Note: "I have replanned", Evidence: note("a plan")}, cli())
	w.refuse("replan_not_found", &kernel.AddTodo{Goal: "site", Agent: "bob", Title: "new way", Obligation: first.ID}, cli())
	w.refuse("replan_not_found", &kernel.AddTodo{Goal: "site", Agent: "ann", Title: "new way", Obligation: "replan_0123456789abcdef"}, cli())
	for _, c := range []*kernel.AddTodo{
		{Title: "x"}, {Title: "after", After: []string{id}}, {Title: "not mine", Excluded: []string{"ann"}}, {Title: "later", ResumeWhen: "event:x"},
		{Title: "a look", Class: kernel.Monitor, CadenceMS: hour, WatchOnly: true}, {Title: "please", Class: kernel.Ask},
	} {
		c.Goal, c.Agent, c.Obligation = "site", "ann", first.ID
		w.refuse("replan_not_met", c, cli())
	}
	w.refuse("replan_not_met", &kernel.OpenGate{Goal: "site", Agent: "ann", Question: "What?", Advisory: true, Obligation: first.ID}, cli())
	other := w.todo("other", 3)
	w.refuse("replan_not_met", &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: other, NoFollowup: true, Obligation: first.ID}, cli())
	if w.owes("ann") == nil {
		t.Fatal("a refused change settled it")
	}
	// The bound turn is settled whatever is owed.
	w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Turn: "t3", Outcome: kernel.Progress}, cli())
	w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: "t3"}, cli())
	w.do(&kernel.AddTodo{Goal: "site", Agent: "ann", Title: "new way", Obligation: first.ID}, cli())
	if o := w.owes("ann"); o != nil {
		t.Fatalf("after a new todo: %+v", o)
	}
	w.refuse("replan_met", &kernel.AddTodo{Goal: "site", Agent: "ann", Title: "newer", Obligation: first.ID}, cli())
	// The next two are another cause.
	w.stall("ann", "t4", id)
	w.stall("ann", "t5", id)
	if o := w.owes("ann"); o == nil || o.ID == first.ID {
		t.Fatalf("the next cause is %+v", o)
	}
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id, NoFollowup: true}, cli())
	if o := w.owes("ann"); o != nil {
		t.Fatalf("the todo is closed for good: %+v", o)
	}
	w.replays()
}

// Progress in between begins the row anew.
func TestProgressBreaksTheRow(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id := w.todo("x", 1)
	for i := range 4 {
		w.stall("ann", fmt.Sprintf("t%d", i), id)
		w.do(&kernel.Refresh{Goal: "site", Agent: "ann", Turn: fmt.Sprintf("t%d", i), Outcome: kernel.Progress}, cli())
		w.do(&kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: fmt.Sprintf("t%d", i)}, cli())
	}
	if o := w.owes("ann"); o != nil {
		t.Fatalf("it moved each time: %+v", o)
	}
}

// Five looks without a change make a replan, once; a watch that is only watched
// makes none.
func TestReplanAfterQuietLooks(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id := w.do(&kernel.AddTodo{Goal: "site", Title: "sign-ups", Class: kernel.Monitor, CadenceMS: hour, Expires: w.now + 1000*hour}, cli())["todo_id"].(string)
	quiet := w.monitor("only watched", 3)
	look := func(n int) {
		for range n {
			w.pass(hour)
			for _, m := range []string{id, quiet} {
				w.do(&kernel.PollMonitor{Goal: "site", Agent: "ann", Todo: m}, cli())
			}
		}
	}
	look(4)
	if o := w.owes("ann"); o != nil {
		t.Fatalf("after four: %+v", o)
	}
	look(1)
	first := w.owes("ann")
	if first == nil || first.Cause != kernel.CauseMonitor || first.Todo != id {
		t.Fatalf("after five: %+v", first)
	}
	look(3)
	w.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Go on watching?", Todos: []string{id}, Obligation: first.ID}, cli())
	if o := w.owes("ann"); o != nil {
		t.Fatalf("after the question: %+v", o)
	}
	w.replays()
}

// After twenty delivered turns the plan is looked over, and then after twenty more.
func TestReplanAfterTwenty(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	id := w.todo("x", 1)
	run := func(agent string, n int) {
		for range n {
			w.do(&kernel.Refresh{Goal: "site", Agent: agent, Outcome: kernel.Progress}, cli())
			w.do(&kernel.Refresh{Goal: "site", Agent: agent}, cli()) // counts nothing
		}
	}
	run("bob", 15)
	run("ann", 19)
	if o := w.owes("ann"); o != nil {
		t.Fatalf("after 19: %+v", o)
	}
	run("ann", 1)
	first := w.owes("ann")
	if first == nil || first.Cause != kernel.CauseReview || w.owes("bob") != nil {
		t.Fatalf("after 20: %+v", first)
	}
	run("ann", 30)
	if o := w.owes("ann"); o == nil || o.ID != first.ID {
		t.Fatalf("after 50: %+v", o)
	}
	w.do(&kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: id, Next: "y", Obligation: first.ID}, cli())
	run("ann", 19)
	if o := w.owes("ann"); o != nil {
		t.Fatalf("19 after the review: %+v", o)
	}
	run("ann", 1)
	if o := w.owes("ann"); o == nil || o.ID == first.ID {
		t.Fatalf("20 after the review: %+v", o)
	}
	w.replays()
}

// An owner's change of course makes every agent plan anew, one at a time.
func TestReplanAfterCourse(t *testing.T) {
	for name, change := range map[string]*kernel.ConfigureGoal{
		"limit":     {Limit: "draft_only"},
		"objective": {Objective: ptr("Ship it twice")}, "write scope": {Write: &[]string{"site/**"}}, "non-goals": {NonGoals: &[]string{"fame"}}, "repository": {Repo: ptr("/repo")},
	} {
		w := newWorld(t)
		w.goal("ann", "bob")
		change.Goal = "site"
		w.do(change, owner())
		w.do(&kernel.ConfigureGoal{Goal: "site", Objective: ptr("and once more")}, owner()) // while the first is owed
		for _, a := range []string{"ann", "bob"} {
			o := w.owes(a)
			if o == nil || o.Cause != kernel.CauseCourse {
				t.Fatalf("%s: %s owes %+v", name, a, o)
			}
			w.do(&kernel.AddTodo{Goal: "site", Agent: a, Title: "what " + a + " does now", Obligation: o.ID}, cli())
		}
		if w.owes("ann") != nil || w.owes("bob") != nil {
			t.Fatalf("%s: owed after both changed their plans", name)
		}
		w.do(&kernel.ConfigureGoal{Goal: "site", Title: ptr("Another title")}, owner())
		w.do(&kernel.RegisterAgent{Goal: "site", Agent: "cyd"}, cli())
		if w.owes("ann") != nil || w.owes("cyd") != nil {
			t.Fatalf("%s: a title or a newcomer changes no course", name)
		}
		w.replays()
	}
}

// A question that stands already settles nothing.
func TestReplanWantsANewQuestion(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	id := w.todo("x", 1)
	ask := &kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Go?", Todos: []string{id}}
	w.do(ask, cli())
	w.do(&kernel.ConfigureGoal{Goal: "site", Objective: ptr("Other")}, owner())
	again := *ask
	again.Obligation = w.owes("ann").ID
	w.refuse("replan_not_met", &again, cli())
	again.Question = "Go on?"
	if got := w.do(&again, cli()); !strings.Contains(asJSON(got["replans_met"]), again.Obligation) {
		t.Fatalf("%v", got)
	}
}

// Write work is given out to a working tree of the agent's own, whatever way the
// repository is written.
func TestWorkspaceGuard(t *testing.T) {
	own := func(root string, repos ...string) *kernel.Workspace {
		return &kernel.Workspace{Root: root, Repos: repos}
	}
	for _, tt := range []struct {
		name, repo string
		ws         *kernel.Workspace
		agents     int
		write      bool
		want       string
	}{
		{"nothing is known", "/repo", nil, 2, true, "R06"},
		{"the shared tree", "/repo", own("/repo", "/repo"), 2, true, "R06"},
		{"the shared tree, written otherwise", "/repo/", own("/repo", "/repo"), 2, true, "R06"},
		{"a tree of its own", "/repo", own("/trees/ann", "/repo"), 2, true, "R12"},
		{"another repository", "/repo", own("/trees/ann", "/other"), 2, true, "R06"},
		{"by address", "https://host/team/site.git", own("/trees/ann", "/x", "git@HOST:team/site"), 2, true, "R12"},
		{"by the reference's address", "git:host/team/site", own("/trees/ann", "ssh://git@host/team/site.git"), 2, true, "R12"},
		{"another address", "git:host/team/site", own("/trees/ann", "ssh://git@host/team/sites.git"), 2, true, "R06"},
		{"alone", "/repo", nil, 1, true, "R12"},
		{"no repository", "", nil, 2, true, "R12"},
		{"no writing", "/repo", nil, 2, false, "R12"},
	} {
		w := newWorld(t)
		w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Repo: tt.repo, Agents: []string{"ann", "bob"}[:tt.agents]}, cli())
		c := &kernel.AddTodo{Goal: "site", Title: "x"}
		if tt.write {
			c.Write = []string{"a/**"}
		}
		w.do(c, cli())
		out := w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true, Workspace: tt.ws}, cli())
		if out["rule"] != tt.want || (out["lease"] != nil) != (tt.want == "R12") || out["should_run"] != true {
			t.Errorf("%s: %v, lease %v", tt.name, out["rule"], out["lease"])
		}
		if strings.Contains(w.dump(), "/trees/") {
			t.Errorf("%s: a row says where the tree is", tt.name)
		}
		w.replays()
	}
}

// A tree in which another agent's session works is nobody else's, until that
// session closes.
func TestWorkspaceOfAnother(t *testing.T) {
	w := newWorld(t)
	w.do(&kernel.CreateGoal{Goal: "site", Objective: "x", Repo: "/repo", Agents: []string{"ann", "bob"}}, cli())
	w.do(&kernel.AddTodo{Goal: "site", Title: "x", Write: []string{"a/**"}}, cli())
	tree := &kernel.Workspace{Root: "/trees/one", Repos: []string{"/repo"}}
	turn := func(agent, id string) any {
		return w.do(&kernel.OpenTurn{Goal: "site", Agent: agent, Turn: id, Workspace: tree}, cli())["rule"]
	}
	if a, b := turn("ann", "t1"), turn("bob", "t1"); a != "R12" || b != "R06" {
		t.Fatalf("ann %v, bob %v", a, b)
	}
	if a := turn("ann", "t2"); a != "R12" {
		t.Fatalf("ann was first and gets %v", a)
	}
	w.do(&kernel.CloseSession{Goal: "site", Session: "cli:ann"}, cli())
	if b := turn("bob", "t2"); b != "R12" {
		t.Fatalf("after ann left: %v", b)
	}
	w.replays()
}
