package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt/bolttest"
	"loopx/kernel/view"
)

// ready waits until the daemon answers and its connection is up, and returns when
// it first answered.
func (r *crashRound) ready(c *client.Client) (answered time.Time) {
	r.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for {
		info, err := c.Info(r.t.Context())
		if err == nil && answered.IsZero() {
			answered = time.Now()
		}
		if err == nil && len(info.Connections) == 2 && info.Connections[1].State == "ready" {
			return answered
		}
		select {
		case <-tick.C:
		case <-r.dead:
			r.t.Fatalf("the daemon died:\n%s", r.output.String())
		case <-late:
			r.t.Fatalf("the daemon does not get ready: %+v\n%s", info.Connections, r.output.String())
		}
	}
}

func (r *crashRound) until(what string, cond func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	if err := r.phone.wait(ctx, cond); err != nil {
		r.t.Fatalf("%s: never; Wei sees %v\n%s", what, r.shown(), r.output.String())
	}
}

// next leases the builder's next message; nil when none waits.
func (r *crashRound) next(c *client.Client) *inbox.Leaseholder {
	r.t.Helper()
	rec, err := c.Do(r.t.Context(), &inbox.NextMessage{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder(""))
	if err != nil {
		r.t.Fatal(err)
	}
	var out inbox.Leasing
	if err := json.Unmarshal(rec.Result, &out); err != nil {
		r.t.Fatal(err)
	}
	return out.Message
}

func (r *crashRound) settle(c *client.Client, m *inbox.Leaseholder, outcome, reply string) {
	r.t.Helper()
	if _, err := c.Do(r.t.Context(), &inbox.SettleMessage{Goal: "site", Agent: "builder", Session: "s1", Message: m.ID, Outcome: outcome, Reply: reply}, asBuilder("")); err != nil {
		r.t.Fatal(err)
	}
}

// sees counts Wei's messages that hold a text.
func (r *crashRound) sees(text string) (n int) {
	for _, m := range r.shown() {
		if strings.Contains(m.text, text) {
			n++
		}
	}
	return n
}

func asBuilder(key string) kernel.Options {
	return kernel.Options{Key: key, By: kernel.Actor{Kind: kernel.ByAgent, ID: "builder", Surface: "cli"}}
}

// terminate asks the daemon to stop and checks that it does, in time and in order.
func (r *crashRound) terminate() {
	r.t.Helper()
	began := time.Now()
	_ = r.daemon.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.dead:
	case <-time.After(20 * time.Second):
		r.t.Fatalf("the daemon does not stop:\n%s", r.output.String())
	}
	if took := time.Since(began); took > 3*time.Second {
		r.t.Errorf("the daemon took %v to stop", took)
	}
	if code := r.daemon.ProcessState.ExitCode(); code != 0 {
		r.t.Errorf("the daemon's exit code is %d:\n%s", code, r.output.String())
	}
}

// K4: a message is acknowledged and the daemon killed before anybody has worked on
// it. The platform will not say it again; the agent gets it within two seconds of
// the next start, once, and its answer comes once.
func TestKilledAfterTheAck(t *testing.T) {
	exe := buildDaemon(t)
	seed, rounds := seeded(t)
	for platform, connect := range phones() {
		t.Run(platform, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, uint64(len(platform))))
			rounds, worst := (rounds+2)/3, time.Duration(0)
			for i := range rounds {
				r := newCrashRound(t, exe, connect())
				c := client.New(r.home)
				r.start()
				r.ready(c)
				asked := r.phone.say("how far is it?")
				if !asked.pushed {
					t.Fatal("a connection that is ready gets no message")
				}
				r.until("the acknowledgement", asked.acked)
				<-time.After(time.Duration(rnd.IntN(3000)) * time.Microsecond)
				_ = r.daemon.Process.Kill()
				<-r.dead
				r.start()
				answered := r.ready(c)
				m := r.next(c)
				if m == nil {
					t.Fatalf("round %d of seed %d: the message is lost\n%s", i, seed, r.output.String())
				}
				worst = max(worst, time.Since(answered))
				r.settle(c, m, inbox.Adopted, "Half done.")
				r.until("the answer", func() bool { return r.sees("Half done.") > 0 })
				if again := r.next(c); again != nil {
					t.Fatalf("round %d of seed %d: the message came again: %+v", i, seed, again)
				}
				r.terminate()
				if n := r.sees("Half done."); n != 1 {
					t.Fatalf("round %d of seed %d: the answer came %d times", i, seed, n)
				}
				r.close()
			}
			if worst > 2*time.Second {
				t.Errorf("a message waited %v after a start", worst)
			}
			t.Logf("%d kills, 0 lost, 0 double; the longest wait after a start was %v", rounds, worst)
		})
	}
}

// K9: SIGTERM while people write and agents run commands. The daemon is gone
// within three seconds with exit code 0; what was acknowledged is stored, what was
// not is repeated by whoever asked, and nothing is there twice. A message that
// nobody acknowledged is pushed again or read later, as the platform does it, and
// kept either way.
func TestTerminatedUnderLoad(t *testing.T) {
	exe := buildDaemon(t)
	seed, rounds := seeded(t)
	for platform, connect := range phones() {
		t.Run(platform, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, uint64(len(platform))))
			rounds := (rounds + 2) / 3
			for i := range rounds {
				r := newCrashRound(t, exe, connect())
				r.terminated(time.Duration(50+rnd.IntN(120)) * time.Millisecond)
				if t.Failed() {
					t.Fatalf("round %d of seed %d", i, seed)
				}
				r.close()
			}
		})
	}
}

// terminated runs one round of K9: SIGTERM after a while.
func (r *crashRound) terminated(after time.Duration) {
	const workers, messages = 4, 8
	c := client.New(r.home)
	r.start()
	r.ready(c)
	var wg sync.WaitGroup
	var stop atomic.Bool
	var titles [workers][]string // asked for; the last one of each may have no answer
	var answered [workers]int
	var wrote [messages]said
	for w := range workers {
		wg.Go(func() {
			for i := 0; !stop.Load() && i < 200; i++ { // a list shows 1,000
				title := fmt.Sprintf("todo-%d-%d", w, i) // and its key
				titles[w] = append(titles[w], title)
				if _, err := c.Do(r.t.Context(), &kernel.AddTodo{Goal: "site", Title: title}, asBuilder(title)); err != nil {
					return // it asks again after the next start
				}
				answered[w]++
			}
		})
	}
	wg.Go(func() {
		for i := range messages {
			wrote[i] = r.phone.say(fmt.Sprintf("message %d", i))
			<-time.After(after / (messages - 1))
		}
	})
	<-time.After(after)
	r.terminate()
	stop.Store(true)
	wg.Wait()
	acked := 0
	for _, m := range wrote {
		if m.pushed && m.acked() {
			acked++
		}
	}

	r.start()
	r.ready(c)
	if answered == [workers]int{} {
		r.t.Error("no worker had an answer: the round has no teeth")
	}
	for _, list := range titles {
		for _, title := range list { // with its key, so that it is done once
			if _, err := c.Do(r.t.Context(), &kernel.AddTodo{Goal: "site", Title: title}, asBuilder(title)); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	got := map[string]int{}
	page, err := view.Ask[view.TodosView](r.t.Context(), c, &view.Todos{Goal: "site", Limit: 1000})
	if err != nil || page.More {
		r.t.Fatalf("more: %v, %v", page.More, err)
	}
	for _, todo := range page.Todos {
		got[todo.Title]++
	}
	for _, list := range titles {
		for _, title := range list {
			if got[title] != 1 {
				r.t.Errorf("%s is there %d times", title, got[title])
			}
		}
	}
	seen := map[string]int{}
	r.until("each message that was acknowledged", func() bool {
		for m := r.next(c); m != nil; m = r.next(c) {
			seen[m.Text]++
			r.settle(c, m, inbox.Deferred, "")
		}
		return len(seen) >= acked
	})
	for text, n := range seen {
		if n != 1 {
			r.t.Errorf("the agent got %q %d times", text, n)
		}
	}
	r.terminate()
	for range 3 { // what was said while nobody listened is read by a run that lasts
		if r.stored(wrote[:]) == messages {
			return
		}
		r.start()
		r.ready(c)
		<-time.After(200 * time.Millisecond)
		r.terminate()
	}
	r.t.Errorf("%d of %d messages are kept", r.stored(wrote[:]), messages)
}

// stored counts the messages that the state has. Nobody may have it open.
func (r *crashRound) stored(list []said) (n int) {
	r.t.Helper()
	st, _ := r.open()
	defer st.Close()
	err := st.View(r.t.Context(), func(tx store.ReadTx) error {
		for _, s := range list {
			m, err := inbox.MessageOf(tx, chat.Place{Connection: "work", Conversation: r.phone.private}, s.id)
			if err != nil {
				return err
			}
			if m != nil {
				n++
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// D3: one step of one commit fails under the running daemon. It says so, ends with
// the exit code of an unknown outcome within a second, and the next start reads
// what is true: one decision, one card, whether or not the commit had become
// visible.
func TestD3_OneFailingSyncEndsTheDaemon(t *testing.T) {
	exe := bolttest.Build(t, "loopx/cmd/loopx-bot")
	seed, rounds := seeded(t)
	for _, point := range []string{bolttest.SyncData, bolttest.WriteMeta, bolttest.SyncMeta} {
		t.Run(point, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, uint64(len(point))))
			for i := range (rounds + 1) / 2 {
				died := func(cmd *exec.Cmd, said string) {
					if code := cmd.ProcessState.ExitCode(); code != kernel.Unknown.ExitCode() {
						t.Errorf("the exit code is %d:\n%s", code, said)
					}
					if !strings.Contains(said, "the disk did not confirm a write") {
						t.Errorf("the daemon does not say why it ends:\n%s", said)
					}
					if took := sinceLogged(t, said, "the store stopped"); took > time.Second {
						t.Errorf("it went on for %v", took)
					}
				}
				deaths := 0
				for hit := 1 + rnd.IntN(8); hit > 0 && deaths == 0; hit-- {
					r := newCrashRound(t, exe, slackPhone())
					r.died = died
					r.run(fmt.Sprintf("%s=%s=%d:fail", bolttest.Env, point, hit))
					deaths = r.deaths
					r.close()
				}
				if deaths == 0 || t.Failed() {
					t.Fatalf("round %d of seed %d: %d commits failed", i, seed, deaths)
				}
			}
		})
	}
}

// sinceLogged is how long ago a line was logged.
func sinceLogged(t *testing.T, log, message string) time.Duration {
	t.Helper()
	for line := range strings.Lines(log) {
		if !strings.Contains(line, message) {
			continue
		}
		at, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return time.Since(when)
	}
	t.Fatalf("nothing was logged about %q:\n%s", message, log)
	return 0
}
