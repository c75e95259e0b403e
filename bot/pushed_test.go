package bot

import (
	"encoding/json"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
)

// A connection reads what was said while nobody listened, and the platform pushes
// what is said from then on: a message of the first moment may come both ways, in
// either order. It goes to the agent once. What is only fetched, or pushed too late,
// goes to nobody by itself, and what an owner has admitted does not go twice.
func TestFetchedAndPushed(t *testing.T) {
	for name, c := range map[string]struct {
		ways  []bool // whether it was fetched
		age   time.Duration
		admit bool // after the first
		want  int
	}{
		"pushed":                     {[]bool{false}, 0, false, 1},
		"fetched":                    {[]bool{true}, 0, false, 0},
		"fetched twice":              {[]bool{true, true}, 0, false, 0},
		"pushed, then fetched":       {[]bool{false, true, false}, 0, false, 1},
		"fetched, then pushed":       {[]bool{true, false}, 0, false, 1},
		"fetched, then pushed twice": {[]bool{true, false, true, false}, 0, false, 1},
		"fetched, then pushed late":  {[]bool{true, false}, 31 * time.Minute, false, 0},
		"admitted, then pushed":      {[]bool{true, false}, 0, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.link()
			r.do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder"}}, asCLI)
			e := chat.Event{Kind: chat.MessageSent, ID: "e1", Place: chat.Place{Connection: "work", Conversation: r.sim.DM(wei)}, Private: true,
				At:     time.Now().Add(-c.age).UnixMilli(),
				Sender: chat.User{Tenant: r.sim.Team(), ID: wei, Kind: chat.Human}, Message: &chat.Message{ID: "1796000000.000001", Text: "how far is it?"}}
			for i, fetched := range c.ways {
				e.History = fetched
				if _, err := r.e.conns[0].sink.Accept(t.Context(), e); err != nil {
					t.Fatal(err)
				}
				if c.admit && i == 0 {
					r.do(&inbox.AdmitMissed{Goal: "site", Message: storedAs(t, r, e)}, asOwner)
				}
			}
			got := 0
			for {
				var out inbox.Leasing
				rec := r.do(&inbox.NextMessage{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
				if err := json.Unmarshal(rec.Result, &out); err != nil {
					t.Fatal(err)
				}
				if out.Message == nil {
					break
				}
				got++
				r.do(&inbox.SettleMessage{Goal: "site", Agent: "builder", Session: "s1", Message: out.Message.ID, Outcome: inbox.Deferred}, asBuilder)
			}
			if got != c.want {
				t.Errorf("the agent got it %d times, want %d", got, c.want)
			}
		})
	}
}

// storedAs is the id under which a platform's message is kept.
func storedAs(t *testing.T, r *rig, e chat.Event) (id string) {
	t.Helper()
	err := r.k.Store().View(t.Context(), func(tx store.ReadTx) error {
		m, err := inbox.MessageOf(tx, e.Place, e.Message.ID)
		if m != nil {
			id = m.ID
		}
		return err
	})
	if err != nil || id == "" {
		t.Fatalf("the message is not kept: %v", err)
	}
	return id
}
