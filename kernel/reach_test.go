package kernel_test

import (
	"testing"

	"loopx/kernel"
)

// A gate of which nobody who may answer can be told says so, names what mends it,
// and stops saying so as soon as somebody can be told.
func TestUnreachable(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	g := w.gate(w.todo("x", 0))
	is := func(why, reason, fix string) {
		t.Helper()
		w.read(func(r *kernel.Reader) {
			got := &kernel.Unreachable{}
			if u := r.Unreachable(r.Gate("site", g)); u != nil {
				got = u
			}
			if got.Reason != reason || got.Fix != fix {
				t.Errorf("%s: %+v, want %q and %q", why, got, reason, fix)
			}
			d, err := r.Decide(kernel.Caller{Goal: "site", Agent: "ann"})
			if err != nil || len(d.Contract.User.Ask) != 1 {
				t.Fatalf("%s: %+v, %v", why, d, err)
			}
			want := kernel.AskedFor{Gate: g, Code: "G-1", Question: "x", State: "waiting"}
			if reason != "" {
				want.State, want.Why, want.Fix = "unreachable", reason, fix
			}
			ask := d.Contract.User.Ask[0]
			if ask.Question = want.Question; ask != want {
				t.Errorf("%s: a tick says %+v, want %+v", why, ask, want)
			}
		})
	}
	note := func(state, fix string) {
		t.Helper()
		w.do(&kernel.NoteReach{Connection: "work", Platform: "slack", State: state, Reason: "auth", Fix: fix}, bot())
	}
	account := kernel.NotePrivate{Platform: "slack", Connection: "work", Tenant: "T1", User: "UWEI"}
	is("no chat was ever joined: the page and the hosts ask", "", "")
	w.refuse("bot_only", &kernel.NoteReach{Connection: "work", Platform: "slack", State: "up"}, owner())
	w.refuse("bad_state", &kernel.NoteReach{Connection: "work", Platform: "slack", State: "odd"}, bot())
	note("up", "")
	is("a chat is there and nobody is linked", "not_linked", "loopx link")
	w.link("UWEI")
	is("Wei is linked", "", "")
	note("down", "loopx-bot setup slack")
	is("the only connection is down", "connections_down", "loopx-bot setup slack")
	note("up", "")
	is("it is back", "", "")
	w.refuse("bot_only", &account, owner())
	account.Refused = true
	w.do(&account, bot())
	is("Wei's platform takes nothing", "no_private_chat", "one of them writes to the bot privately")
	account.Refused = false
	w.do(&account, bot())
	is("Wei wrote", "", "")
	w.do(&kernel.SetAway{Until: w.now + hour}, owner())
	is("Wei is away", "away", "loopx attention away --person owner --back")
	w.pass(hour)
	is("Wei is back", "", "")
	w.policy(map[string]kernel.Asked{"any": {Persons: []string{"p_nobody"}}})
	is("the policy names nobody who may", "nobody", "loopx role grant --goal-id site --role approver")
	w.policy(map[string]kernel.Asked{})
	note("gone", "")
	is("the chat is configured no more", "", "")
	w.replays()
}
