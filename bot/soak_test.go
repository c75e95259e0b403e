package bot

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"
)

// soaking is how many ticks each agent does, and how far apart they begin: 6 without
// a pause, LOOPX_ROUNDS of them (at most 100: more is only a larger file), or spread
// over the time that LOOPX_SOAK gives ("1h").
func soaking(t *testing.T) (ticks int, every time.Duration) {
	t.Helper()
	ticks = 6
	if n, err := strconv.Atoi(os.Getenv("LOOPX_ROUNDS")); err == nil && n > 0 {
		ticks = min(n, 100)
	}
	if s := os.Getenv("LOOPX_SOAK"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		every = 15 * time.Second
		ticks = max(int(d/every), 8)
	}
	return ticks, every
}

// usage is what a process holds.
type usage struct {
	goroutines, files int
	heap              uint64
}

func used(t *testing.T) usage {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = len(files)
	} else {
		t.Log("open files cannot be counted here")
	}
	return u
}

// S5: 64 agents tick on one daemon through its socket. Each turn is given and paid
// once, no todo is done twice, nobody is starved, and what the daemon holds does not
// grow: neither memory nor goroutines nor files.
func TestSixtyFourAgents(t *testing.T) {
	const agents = 64
	ticks, every := soaking(t)
	home := testHome(t)
	b := startBot(t, Options{Home: home, Config: Config{Page: PageConfig{Off: true}}})
	defer stopBot(t, b)
	c := client.New(home)
	do := func(agent string, cmd kernel.Command) (kernel.Receipt, error) {
		return c.Do(t.Context(), cmd, kernel.Options{By: client.ActorOf(agent, false)})
	}
	goal := &kernel.CreateGoal{Goal: "site", Objective: "Ship it", Allowed: new(1_000_000)}
	for i := range agents {
		goal.Agents = append(goal.Agents, fmt.Sprint("a", i))
	}
	if _, err := do("", goal); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	done := map[string]int{} // todos, by how often they were given out and done
	made := map[string]int{} // ticks, by agent
	var worst time.Duration
	type decision struct {
		Todo struct {
			ID string `json:"todo_id"`
		} `json:"selected_todo"`
		Replan struct {
			ID string `json:"obligation_id"`
		} `json:"replan"`
	}
	tick := func(agent string, i int) error {
		began := time.Now()
		turn := fmt.Sprintf("%s-%d", agent, i)
		// Twenty turns ask for a new plan, which the next todo is.
		before, err := view.Ask[decision](t.Context(), c, &view.ShouldRun{Caller: kernel.Caller{Goal: "site", Agent: agent}})
		if err != nil {
			return err
		}
		if _, err := do(agent, &kernel.AddTodo{Goal: "site", Agent: agent, Title: "work of " + turn, Obligation: before.Replan.ID}); err != nil {
			return err
		}
		rec, err := do(agent, &kernel.OpenTurn{Goal: "site", Agent: agent, Turn: turn, Claim: true})
		if err != nil {
			return err
		}
		var out decision
		if err := json.Unmarshal(rec.Result, &out); err != nil || out.Todo.ID == "" {
			return fmt.Errorf("%s got no todo: %s: %w", turn, rec.Result, err)
		}
		commit := &kernel.CommitTurn{Goal: "site", Agent: agent, Turn: turn, Complete: &kernel.CompleteTodo{Goal: "site", Todo: out.Todo.ID, Agent: agent, Turn: turn,
			Evidence: []kernel.EvidenceArg{{Summary: "done"}}, NoFollowup: true}}
		if _, err := do(agent, commit); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		done[out.Todo.ID]++
		made[agent]++
		worst = max(worst, time.Since(began))
		return nil
	}
	var early usage
	var first sync.WaitGroup // the first third of all ticks
	first.Add(agents)
	var wg sync.WaitGroup
	began := time.Now()
	for _, agent := range goal.Agents {
		wg.Go(func() {
			reached := sync.OnceFunc(first.Done)
			defer reached()
			for i := range ticks {
				if i == ticks/3 {
					reached()
				}
				<-time.After(time.Until(began.Add(time.Duration(i) * every)))
				if err := tick(agent, i); err != nil {
					t.Errorf("%s: %v", agent, err)
					return
				}
			}
		})
	}
	first.Wait()
	early = used(t)
	wg.Wait()
	took := time.Since(began)
	late := used(t)

	for todo, n := range done {
		if n != 1 {
			t.Errorf("%s was done %d times", todo, n)
		}
	}
	for _, agent := range goal.Agents {
		if made[agent] != ticks {
			t.Errorf("%s made %d of %d ticks", agent, made[agent], ticks)
		}
	}
	q, err := view.Ask[view.QuotaView](t.Context(), c, &view.QuotaOf{Goal: "site"})
	if err != nil || q.Spent != agents*ticks {
		t.Errorf("%d slots were spent for %d turns, %v", q.Spent, agents*ticks, err)
	}
	if late.goroutines > early.goroutines+2*agents || late.files > early.files+2*agents {
		t.Errorf("it holds %+v, after a third of the ticks it held %+v", late, early)
	}
	if late.heap > early.heap+32<<20 {
		t.Errorf("the heap grew from %d to %d MiB", early.heap>>20, late.heap>>20)
	}
	t.Logf("%d ticks of %d agents in %v, the longest took %v; %+v after a third, %+v at the end", len(done), agents, took, worst, early, late)
}
