package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestHandOver runs commands without pause while a daemon starts, stops and is
// killed in between, at random moments. No command may fail or be lost, and none
// may be done twice. LOOPX_ROUNDS raises the rounds (500 in the long run); the seed
// is printed and LOOPX_SEED repeats it.
func TestHandOver(t *testing.T) {
	rounds := number(t, "LOOPX_ROUNDS", 10)
	seed := uint64(number(t, "LOOPX_SEED", int(time.Now().UnixNano()&0x7fffffff)))
	t.Logf("seed %d, %d rounds", seed, rounds)
	rnd := rand.New(rand.NewPCG(seed, 1))

	home := tempHome(t)
	const workers = 3
	create := []string{"goal", "create", "--goal-id", "site", "--objective", "Ship it", "--allowed-slots", "1000000"}
	for w := range workers {
		create = append(create, "--agent-id", fmt.Sprintf("w%d", w))
	}
	must(t, home, create...)

	var done atomic.Bool
	var asked sync.Map // title -> true, for every command that was answered
	var count atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			agent := fmt.Sprintf("w%d", w)
			var review []string // what the next todo settles: twenty turns ask for a new plan
			for i := 0; !done.Load(); i++ {
				title := fmt.Sprintf("%s-%d", agent, i)
				r := loopx(home, append([]string{"todo", "add", "--goal-id", "site", "--agent-id", agent, "--text", title}, review...)...)
				if r.code != 0 {
					t.Errorf("%s: an error was shown: exit code %d\n%s%s", title, r.code, r.raw, r.stderr)
					return
				}
				review = nil
				asked.Store(title, r.str("todo_id"))
				count.Add(1)
				// A whole tick, each step with the turn's own key.
				turn := "turn-" + title
				tick := loopx(home, "tick", "--goal-id", "site", "--agent-id", agent, "--turn-instance-id", turn)
				if tick.code != 0 {
					t.Errorf("%s: tick: exit code %d\n%s%s", title, tick.code, tick.raw, tick.stderr)
					return
				}
				sel, _ := tick.out["selected_todo"].(map[string]any)
				todo, _ := sel["todo_id"].(string)
				for _, step := range [][]string{
					{"todo", "complete", "--todo-id", todo, "--evidence", "done", "--turn-instance-id", turn},
					{"quota", "spend-slot", "--execute", "--turn-instance-id", turn},
					{"quota", "should-run"},
				} {
					r := loopx(home, append(step, "--goal-id", "site", "--agent-id", agent)...)
					if r.code != 0 {
						t.Errorf("%s: %v: exit code %d\n%s%s", title, step, r.code, r.raw, r.stderr)
						return
					}
					count.Add(1)
					if replan, _ := r.out["replan"].(map[string]any); replan != nil {
						review = []string{"--replan-obligation-id", replan["obligation_id"].(string)}
					}
				}
			}
		})
	}
	pause := func() { <-time.After(time.Duration(rnd.IntN(40)) * time.Millisecond) }
	for round := 0; round < rounds && !t.Failed(); round++ {
		switch rnd.IntN(4) {
		case 0: // killed while it starts
			d, _ := launch(t, home)
			pause()
			d.kill()
		case 1: // killed while it serves
			d := startProcess(t, home)
			pause()
			d.kill()
		case 2: // told to stop while it starts
			d, _ := launch(t, home)
			pause()
			_ = d.cmd.Process.Signal(syscall.SIGTERM)
			_ = d.wait() // the signal may find it before it listens for one
		default:
			d := startProcess(t, home)
			pause()
			d.stop(t)
		}
	}
	done.Store(true)
	wg.Wait()

	v := must(t, home, "todo", "list", "--goal-id", "site", "--status", "all", "--limit", "1000")
	counts, _ := v.out["counts"].(map[string]any)
	todos, spent := 0, 0
	asked.Range(func(title, id any) bool {
		todos++
		r := loopx(home, "todo", "show", "--todo-id", id.(string))
		if r.code != 0 || r.str("title") != title {
			t.Errorf("%s was answered with %s and is lost: %s", title, id, r.raw)
		}
		return true
	})
	if got := int(counts["todos"].(float64)); got != todos {
		t.Errorf("%d todos were added, %d were asked for", got, todos)
	}
	if got := int(counts["done"].(float64)); got != todos {
		t.Errorf("%d todos are done, %d were completed", got, todos)
	}
	q := must(t, home, "quota", "status", "--goal-id", "site")
	if spent = int(q.out["spent_slots"].(float64)); spent != todos {
		t.Errorf("%d slots were spent for %d turns", spent, todos)
	}
	if r := must(t, home, "doctor"); r.out["healthy"] != true {
		t.Errorf("doctor: %s", r.raw)
	}
	t.Logf("%d commands over %d rounds, %d turns", count.Load(), rounds, todos)
}

func number(t *testing.T, name string, def int) int {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
