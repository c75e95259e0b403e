package main

import (
	"fmt"
	"sync"
	"testing"
)

// Twenty-four processes claim one todo: one wins, the others are told who.
func TestOneClaimWins(t *testing.T) {
	for _, mode := range []string{"file", "daemon"} {
		t.Run(mode, func(t *testing.T) {
			const n = 24
			home := tempHome(t)
			create := []string{"goal", "create", "--goal-id", "site", "--objective", "Ship it"}
			for i := range n {
				create = append(create, "--agent-id", fmt.Sprintf("agent%d", i))
			}
			must(t, home, create...)
			todo := must(t, home, "todo", "add", "--goal-id", "site", "--text", "One").str("todo_id")
			if mode == "daemon" {
				d := startProcess(t, home)
				defer d.stop(t)
			}
			results := make([]result, n)
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					results[i] = loopx(home, "todo", "claim", "--goal-id", "site", "--todo-id", todo, "--agent-id", fmt.Sprintf("agent%d", i))
				})
			}
			wg.Wait()
			winner, lost := "", 0
			for i, r := range results {
				switch {
				case r.code == 0 && winner == "":
					winner = fmt.Sprintf("agent%d", i)
				case r.code == 4 && r.str("code") == "lease_held":
					lost++
				default:
					t.Errorf("agent%d: exit code %d\n%s%s", i, r.code, r.raw, r.stderr)
				}
			}
			if winner == "" || lost != n-1 {
				t.Fatalf("winner %q, %d others got lease_held, want one winner and %d", winner, lost, n-1)
			}
			for _, r := range results {
				if d, ok := r.out["details"].(map[string]any); ok && d["holder"] != winner {
					t.Errorf("somebody was told that %v holds it, it is %s", d["holder"], winner)
				}
			}
			if held := must(t, home, "todo", "show", "--todo-id", todo).str("claimed_by"); held != winner {
				t.Errorf("it is held by %q, the winner is %q", held, winner)
			}
		})
	}
}
