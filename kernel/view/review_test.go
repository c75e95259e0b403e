package view_test

import (
	"slices"
	"testing"

	"loopx/kernel"
	"loopx/kernel/view"
)

// The packet names what a person would not see by looking at what is asked alone,
// and nothing when all is well.
func TestReviewRisks(t *testing.T) {
	r := newRoom(t)
	look := func() (view.ReviewView, []string) {
		t.Helper()
		v, err := view.Ask[view.ReviewView](t.Context(), view.Local{K: r.k}, &view.Review{Goal: "site"})
		if err != nil {
			t.Fatal(err)
		}
		kinds := []string{}
		for _, x := range v.Risks {
			kinds = append(kinds, x.Kind)
		}
		slices.Sort(kinds)
		return v, kinds
	}
	r.do(&kernel.AddTodo{Goal: "site", Title: "Write"})
	r.do(&kernel.AddTodo{Goal: "site", Title: "Watch", Class: kernel.Monitor, CadenceMS: 3_600_000, WatchOnly: true})
	if v, kinds := look(); len(kinds) > 0 || len(v.Decisions) > 0 || len(v.Next) != 1 || v.Next[0].Kind != "deliver" {
		t.Fatalf("at first: %v, next %+v", kinds, v.Next)
	}
	r.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true})
	r.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Go on?", WholeGoal: true})
	r.now += 26 * 3_600_000
	v, kinds := look()
	if want := []string{"lease_lost", "monitor_overdue", "waiting_long"}; !slices.Equal(kinds, want) {
		t.Errorf("after a day: %v, want %v", kinds, want)
	}
	if len(v.Decisions) != 1 || v.Next[0].Kind == "deliver" {
		t.Errorf("after a day: %+v, next %+v", v.Decisions, v.Next)
	}
}
