package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"loopx/bot/api"
	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/view"
)

// BenchmarkTick is a whole tick over the socket, client and daemon in one
// process, so that one profile shows both.
func BenchmarkTick(b *testing.B) {
	for _, agents := range []int{1, 16, 64} {
		b.Run("agents="+strconv.Itoa(agents), func(b *testing.B) { benchTick(b, agents) })
	}
}

func benchTick(b *testing.B, agents int) {
	home, err := client.FindHome(filepath.Join(b.TempDir(), "home"), func(string) string { return "" })
	if err != nil {
		b.Fatal(err)
	}
	held, err := api.Hold(b.Context(), api.HoldOptions{Home: home, Command: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	held.Kernel.Join(inbox.Companion{})
	srv := api.New(api.Options{Service: view.Local{K: held.Kernel}, Wake: held.Store.Watch, Home: home})
	if err := srv.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = srv.Stop(context.Background()); _ = held.Close() })
	c := client.New(home)
	slots := 1_000_000
	goal := &kernel.CreateGoal{Goal: "g", Objective: "measure", Allowed: &slots}
	for i := range agents {
		goal.Agents = append(goal.Agents, "a"+strconv.Itoa(i))
	}
	do := func(agent string, cmd kernel.Command) (kernel.Receipt, error) {
		return c.Do(b.Context(), cmd, kernel.Options{By: client.ActorOf(agent, false)})
	}
	if _, err := do("", goal); err != nil {
		b.Fatal(err)
	}
	for i := range 2_000 {
		p := i % 4
		if _, err := do("", &kernel.AddTodo{Goal: "g", Title: fmt.Sprintf("todo %d of the measured plan", i), Priority: &p}); err != nil {
			b.Fatal(err)
		}
	}
	tick := func(agent, turn string) error {
		rec, err := do(agent, &kernel.OpenTurn{Goal: "g", Agent: agent, Turn: turn})
		if err != nil {
			return err
		}
		var out struct {
			Todo struct {
				ID string `json:"todo_id"`
			} `json:"selected_todo"`
		}
		if err := json.Unmarshal(rec.Result, &out); err != nil || out.Todo.ID == "" {
			return fmt.Errorf("no todo in %s: %v", rec.Result, err)
		}
		todo := out.Todo.ID
		_, err = do(agent, &kernel.ClaimTodo{Goal: "g", Agent: agent, Todo: todo, Turn: turn})
		if e := kernel.AsError(err); e != nil && e.Code == "lease_held" {
			return nil
		} else if e != nil {
			return e
		}
		_, err = do(agent, &kernel.UpdateTodo{Goal: "g", Agent: agent, Todo: todo, Turn: turn, Note: &turn})
		return err
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i := range agents {
		wg.Go(func() {
			for j := 0; left.Add(-1) >= 0; j++ {
				if err := tick("a"+strconv.Itoa(i), fmt.Sprintf("t-%d-%d", i, j)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ticks/s")
}
