package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Journeys of the contract on every surface, with the real binaries over real sockets:
// once as they are, and again with the daemon killed at three random points and
// started again. What every person sees in the end, every message and the final
// state of every card, once and in order, is the same; so is what the agents were
// given and what the kernel holds. LOOPX_SEED repeats the seeds, LOOPX_ROUNDS
// plays a tenth of so many with kills, LOOPX_JOURNEY plays those whose name it
// matches.
func TestJourneys(t *testing.T) {
	exe := buildPrograms(t)
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("LOOPX_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	rounds := 1
	if n, err := strconv.Atoi(os.Getenv("LOOPX_ROUNDS")); err == nil && n > 0 {
		rounds = max(1, n/100) // each is a hundred times as long as a round of the rows
	}
	// Most of the time each waits for its platform's budget, so many go at once.
	room := make(chan struct{}, 12)
	var all sync.WaitGroup
	for _, j := range journeys() {
		for name, open := range surfaces() {
			if j.groups && name == "page" { // it is one person's: it has no groups
				continue
			}
			name := j.name + " on " + name
			if !matches(name) {
				continue
			}
			var want outcome
			ready := make(chan struct{})
			run := func(seed uint64, deaths []death) {
				if deaths != nil { // those without are waited for
					room <- struct{}{}
					defer func() { <-room }()
				}
				p, got, err := perform(t.Context(), exe, j, open(), deaths, func() *outcome { <-ready; return &want })
				if deaths == nil {
					want = got
					close(ready)
				}
				switch {
				case err != nil:
					t.Errorf("%s, seed %d, deaths %v, died %q: %v", name, seed, deaths, p.died, err)
				case deaths == nil && p.step != j.steps+1:
					t.Errorf("%s has %d steps, not %d", name, p.step-1, j.steps)
				case deaths == nil && os.Getenv("LOOPX_VERBOSE") != "":
					raw, _ := json.MarshalIndent(want, "", " ")
					t.Logf("%s: %s", name, raw)
				case deaths != nil && len(p.died) != len(deaths):
					t.Errorf("%s, seed %d: the daemon died %d times: %q", name, seed, len(p.died), p.died)
				case deaths != nil && !same(want.Places, got.Places) || !slices.Equal(want.Agents, got.Agents) || !slices.Equal(want.State, got.State):
					t.Errorf("%s, seed %d, deaths %v, died %q: another outcome (-without kills +with):\n%s", name, seed, deaths, p.died, cmp.Diff(want, got, cmpopts.IgnoreUnexported(line{})))
				}
			}
			all.Go(func() { run(0, nil) })
			for i := range rounds {
				all.Go(func() { run(seed+uint64(i), deathsOf(seed+uint64(i), name, j.steps)) })
			}
		}
	}
	all.Wait()
	t.Logf("seed %d, %d rounds with three kills each", seed, rounds)
}

func matches(name string) bool {
	ok, err := filepath.Match("*"+os.Getenv("LOOPX_JOURNEY")+"*", name)
	return ok && err == nil
}

// perform plays a script once, and gives what there is to see when it looks as
// without kills.
func perform(ctx context.Context, exe programs, j journey, u *surface, deaths []death, want func() *outcome) (p *stage, out outcome, err error) {
	defer u.close()
	if p, err = newStage(ctx, exe, u, deaths); err != nil {
		return &stage{}, out, err
	}
	func() {
		defer func() {
			if r := recover(); r != nil {
				g, ok := r.(gone)
				if !ok {
					panic(r)
				}
				err = g.err
			}
		}()
		p.opens()
		j.play(p)
		if deaths == nil {
			want = func() *outcome { return nil }
		}
		p.calm(want())
		out = outcome{Agents: p.notes, State: p.state()}
	}()
	if endErr := p.end(); err == nil {
		err = endErr
	}
	out.Places = p.seen()
	if err != nil {
		err = fmt.Errorf("%w\n%s\n%s", err, p.everywhere(), tail(p.output.String()))
	}
	return p, out, err
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

// buildPrograms builds both binaries once; the daemon's can be killed at a point.
func buildPrograms(t *testing.T) programs {
	t.Helper()
	exe := programs{bot: buildDaemon(t), cli: filepath.Join(t.TempDir(), "loopx")}
	if out, err := exec.Command("go", "build", "-o", exe.cli, "loopx/cmd/loopx").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return exe
}
