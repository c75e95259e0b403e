package bot

import (
	"testing"

	"loopx/kernel"
	"loopx/kernel/store/storetest"
)

// still is a clock that moves when it is told to.
type still struct{ ms int64 }

func (c *still) Boot() (string, int64) { return "boot-1", c.ms }

// The daemon closes what hosts left open, in every goal, once.
func TestIdleSessionsAreClosed(t *testing.T) {
	clock := &still{ms: 1_800_000_000_000}
	st := storetest.NewModel(func() int64 { return clock.ms })
	defer func() { _ = st.Close() }()
	k, err := kernel.Open(t.Context(), st, clock)
	if err != nil {
		t.Fatal(err)
	}
	do := func(c kernel.Command) {
		t.Helper()
		if _, err := k.Do(t.Context(), c, kernel.Options{By: kernel.Actor{Kind: kernel.ByCLI, Surface: "cli"}}); err != nil {
			t.Fatal(err)
		}
	}
	states := func() (out string) {
		t.Helper()
		err := k.Read(t.Context(), func(r *kernel.Reader) error {
			for _, id := range []string{"site", "blog"} {
				s := r.Session(id, "s-"+id)
				out += id + " " + s.State + " " + s.Ended + ";"
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	sweeps := func(want string) {
		t.Helper()
		for range 2 {
			if err := closeIdle(t.Context(), k); err != nil {
				t.Fatal(err)
			}
		}
		if got := states(); got != want {
			t.Errorf("the sessions are %q, want %q", got, want)
		}
	}
	for _, id := range []string{"site", "blog"} {
		do(&kernel.CreateGoal{Goal: id, Objective: "Ship it", Agents: []string{"ann"}})
		do(&kernel.OpenSession{Goal: id, Session: "s-" + id})
	}
	clock.ms += 23 * 3_600_000
	do(&kernel.OpenSession{Goal: "blog", Session: "s-blog"})
	sweeps("site open ;blog open ;")
	clock.ms += 2 * 3_600_000
	sweeps("site closed idle;blog open ;")
	clock.ms += 24 * 3_600_000
	sweeps("site closed idle;blog closed idle;")
}
