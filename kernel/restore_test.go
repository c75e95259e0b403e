package kernel_test

import (
	"strings"
	"testing"

	"loopx/kernel"
	"loopx/kernel/store"
)

// What a copy must not bring back: leases, reserved slots, the rights of chat
// accounts. The rest stays as it was.
func TestRestoreState(t *testing.T) {
	w := newWorld(t)
	w.goal("ann", "bob")
	id := w.todo("held", 1)
	w.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true}, cli())
	digest := strings.Repeat("ab", 32)
	w.do(&kernel.CreateLinkCode{Digest: digest, Person: "Wei"}, owner())
	bot := kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "slack"}}
	w.do(&kernel.RedeemLinkCode{Digest: digest, Platform: "slack", Connection: "a", Tenant: "t", User: "U1", Private: "D1"}, bot)
	w.do(&kernel.SettleLink{Platform: "slack", Connection: "a", Tenant: "t", User: "U1"}, owner())
	var token string
	w.read(func(r *kernel.Reader) { token = r.Claim("site", id).Token })

	w.refuse("owner_only", &kernel.RestoreState{}, cli())
	got := w.do(&kernel.RestoreState{From: kernel.Head{Seq: 1, Hash: "h"}}, owner())
	for name, n := range map[string]float64{"leases_ended": 1, "slots_freed": 1, "links_suspended": 1} {
		if got[name] != n {
			t.Errorf("%s is %v, want %v", name, got[name], n)
		}
	}
	w.read(func(r *kernel.Reader) {
		if c := r.Claim("site", id); c.Holds(r.Steady()) || c.Token != "" {
			t.Errorf("the claim is still %+v", c)
		}
		if v := r.Reservation("site", "ann"); v != nil {
			t.Errorf("the slot is still reserved: %+v", v)
		}
		if p := r.Principal("slack", "a", "t", "U1"); p.Status != "pending" {
			t.Errorf("the account is %s", p.Status)
		}
		if n := r.Counts("site"); n.Claimed != 0 || n.Reserved != 0 || n.Open != 1 {
			t.Errorf("the counts are %+v", n)
		}
	})
	// The old holder is fenced, by token and by turn, and anybody may go on.
	w.refuse("lease_lost", &kernel.UpdateTodo{Goal: "site", Todo: id, Agent: "ann", Lease: token, Note: ptr("x")}, cli())
	w.refuse("lease_lost", &kernel.UpdateTodo{Goal: "site", Todo: id, Agent: "ann", Turn: "t1", Note: ptr("x")}, cli())
	w.do(&kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: id}, cli())
	// The owner confirms the account as after the first code.
	w.do(&kernel.SettleLink{Platform: "slack", Connection: "a", Tenant: "t", User: "U1"}, owner())
	w.replays()

	w.do(&kernel.RestoreState{}, owner())
	before := w.dump()
	if r := w.do(&kernel.RestoreState{}, owner()); r["leases_ended"] != float64(0) || w.dump() != before {
		t.Errorf("nothing was left to end, and still: %v", r)
	}
}

// Every row but the clock and refusals follows from the journal.
func TestRebuilt(t *testing.T) {
	for key, want := range map[string]bool{"ck": false, "au\x00" + "1": false, "im\x00x": false, "ix\x00x": true, "t\x00site\x00a": true, "hd": true} {
		if kernel.Rebuilt([]byte(key)) != want {
			t.Errorf("%q: %v", key, !want)
		}
	}
	w := newWorld(t)
	w.goal("ann")
	w.todo("one", 1)
	n := 0
	err := w.st.View(t.Context(), func(tx store.ReadTx) error {
		return tx.Scan(store.Range{Limit: 1000}, func(k, _ []byte) bool {
			if !kernel.Rebuilt(k) {
				n++
			}
			return true
		})
	})
	if err != nil || n != 1 {
		t.Errorf("%d rows do not follow from the journal, want the clock alone (%v)", n, err)
	}
}

func (w *world) read(fn func(*kernel.Reader)) {
	w.t.Helper()
	if err := w.k.Read(w.t.Context(), func(r *kernel.Reader) error { fn(r); return nil }); err != nil {
		w.t.Fatal(err)
	}
}
