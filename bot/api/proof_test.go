package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"loopx/bot/api"
	"loopx/bot/client"
	"loopx/kernel"
)

// When an answer is disowned the owner's token is replaced without anybody asking
// for it, the page's sessions end with it, and a crash before that was noted has it
// replaced by whoever holds the folder next.
func TestProofIsReplaced(t *testing.T) {
	home := newHome(t)
	d := start(t, home)
	d.goal(t, "site")
	old := d.c.OwnerToken
	owner := kernel.Options{By: client.ActorOf("", true)}
	disown := func(question string) {
		t.Helper()
		rec, err := d.held.Kernel.Do(t.Context(), &kernel.OpenGate{Goal: "site", Question: question, WholeGoal: true}, asCLI())
		if err != nil {
			t.Fatal(err)
		}
		var g struct {
			ID string `json:"gate_id"`
		}
		if err := json.Unmarshal(rec.Result, &g); err != nil {
			t.Fatal(err)
		}
		for _, c := range []kernel.Command{&kernel.AnswerGate{Gate: g.ID, Option: "approve"}, &kernel.DisownAnswer{Gate: g.ID}} {
			if _, err := d.held.Kernel.Do(t.Context(), c, owner); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := api.NewProof(home, d.held.Kernel, nil)
	if now, err := p.Current(t.Context()); err != nil || now != old {
		t.Fatalf("before: %v", err)
	}
	ended := make(chan struct{}, 1)
	p.Renewed(func() error { ended <- struct{}{}; return nil })
	stop := p.Keep(d.held.Store.Watch)
	disown("Go?")
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing replaced it")
	}
	second, err := p.Current(t.Context())
	if file, ferr := home.Token(); err != nil || ferr != nil || second == old || file != second {
		t.Fatalf("the token that counts is not the new one of the folder: %v %v", err, ferr)
	}
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	disown("And now?") // the daemon is gone before it replaced the token
	third, err := api.NewProof(home, d.held.Kernel, nil).Current(t.Context())
	if err != nil || third == second || third == old {
		t.Fatalf("the next one took the old token: %v", err)
	}
	if again, err := api.NewProof(home, d.held.Kernel, nil).Current(t.Context()); err != nil || again != third {
		t.Fatalf("it is replaced each time: %v", err)
	}
}
