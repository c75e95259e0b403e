package kernel_test

import (
	"testing"

	"loopx/kernel"
)

// A session that nobody saw for a day is closed by the next turn or session of its
// goal, whatever the wall clock did meanwhile, and what its turn left is settled.
func TestIdleSessionsClose(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	id := w.todo("x", 0)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Session: "s1", Claim: true}, cli())
	session := func(id string) (s kernel.Session) {
		w.read(func(r *kernel.Reader) { s = *r.Session("site", id) })
		return s
	}
	seen := session("s1").Seen
	w.now += 3650 * 24 * hour // a clock set forward ten years is no day of silence
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "bob", Turn: "t1"}, cli())
	if s := session("s1"); s.State != "open" {
		t.Fatalf("after the clock was set: %+v", s)
	}
	w.now -= 3650 * 24 * hour
	w.pass(23 * hour)
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: id}, cli()) // the claim lives on
	w.pass(2 * hour)
	w.read(func(r *kernel.Reader) {
		if list := r.IdleSessions("site", 9); len(list) != 2 {
			t.Errorf("idle are %s", asJSON(list))
		}
	})
	w.do(&kernel.OpenSession{Goal: "site", Agent: "bob", Session: "s2"}, cli())
	if s := session("s1"); s.State != "closed" || s.Ended != "idle" || s.Seen != seen {
		t.Errorf("after a day of silence: %+v", s)
	}
	if s := session("s2"); s.State != "open" {
		t.Errorf("who is seen now: %+v", s)
	}
	w.do(&kernel.OpenSession{Goal: "site", Agent: "ann", Session: "s1"}, cli())
	if s := session("s1"); s.State != "open" || s.Ended != "" {
		t.Errorf("seen again: %+v", s)
	}
	w.do(&kernel.CloseSession{Goal: "site", Session: "s1"}, cli())
	if s := session("s1"); s.State != "closed" || s.Ended != "asked" {
		t.Errorf("closed on request: %+v", s)
	}
	w.pass(25 * hour)
	w.do(&kernel.CloseSession{Goal: "site", Session: "s2"}, bot())
	if s := session("s2"); s.Ended != "idle" {
		t.Errorf("closed by the daemon: %+v", s)
	}
	w.replays()
}
