package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pollGap is how often wait looks where no daemon tells it of changes.
const pollGap = 2 * time.Second

// waitArgs are the flags of wait.
type waitArgs struct {
	turnArgs
	gate    string
	timeout string
}

func waitCmd(a *app) *cobra.Command {
	var w waitArgs
	c := a.verbOf("wait", "", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &w.scope)
		f.StringVar(&w.gate, "gate-id", "", "return when this gate is answered, by id or with --goal-id by code")
		f.StringVar(&w.timeout, "timeout", "", "give up after this long, for example 30m (default: never)")
		f.StringArrayVar(&w.caps, "available-capability", nil, "what the agent can do now; may be repeated")
	}, func() error { return a.wait(&w) })
	c.Long = "Returns as soon as the named gate is answered, or without --gate-id as soon as the\n" +
		"agent should run. With a running bot it is told at once; without one it looks every\n" +
		"two seconds. It holds nothing meanwhile. A gate's answer may be yes or no: read\n" +
		"outcome. When the time is up the exit code is 1 and the code wait_timeout."
	return c
}

// seen is one look at what is waited for.
type seen struct {
	done bool
	f    *fields
	text func() string
	// left is what stands in the way, for people; next when time alone may change
	// it, UTC ms.
	left string
	next int64
}

// wait looks, sleeps until something may have changed, and looks again. Each look
// is a query of its own, so nothing is held in between.
func (a *app) wait(w *waitArgs) error {
	ms, err := span("--timeout", w.timeout)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := a.workspace(); err != nil {
		return err
	}
	var end <-chan time.Time
	deadline := a.now().Add(100 * 365 * 24 * time.Hour)
	if w.timeout != "" {
		t := time.NewTimer(time.Duration(ms) * time.Millisecond)
		defer t.Stop()
		end, deadline = t.C, a.now().Add(time.Duration(ms)*time.Millisecond)
	}
	news := &watcher{wake: make(chan struct{}, 1)}
	var last seen
	for first := true; ; first = false {
		// A look at a busy folder ends with the wait.
		a.access.wait = max(min(a.g.wait, deadline.Sub(a.now())), 0)
		// The stream first, so that no change falls between the look and it.
		if err := a.watchNews(ctx, news); err != nil {
			return err
		}
		now, err := w.look(ctx, a)
		switch {
		case ctx.Err() != nil:
			return interrupted(w)
		case err == nil:
			if last = now; now.done {
				return a.out(now.f, now.text)
			}
		case first || !passing(err):
			return err
		}
		nap := time.NewTimer(news.nap(a.now(), last.next))
		select {
		case <-news.wake:
		case <-nap.C:
		case <-end:
			nap.Stop()
			return kernel.Errorf(kernel.Exhausted, "wait_timeout", "%s within %s", w.unmet(), show(w.timeout, 20)).
				With("waiting_for", last.left).Try("%s", w.again())
		case <-ctx.Done():
			nap.Stop()
			return interrupted(w)
		}
		nap.Stop()
	}
}

// interrupted is Ctrl-C. Nothing was held, so nothing is left behind.
func interrupted(w *waitArgs) error {
	return kernel.Errorf(kernel.Unavailable, "interrupted", "the command was interrupted").Try("%s", w.again())
}

// passing says that an error is a busy or changing folder, which a patient
// command outlasts.
func passing(err error) bool {
	e := kernel.AsError(err)
	return e.Class == kernel.Locked || client.Again(err) || e.Code == "too_many_streams"
}

func (w *waitArgs) unmet() string {
	if w.gate != "" {
		return show(w.gate, 60) + " was not answered"
	}
	return "there was nothing for " + who(w.agent) + " to do"
}

func who(agent string) string {
	if agent == "" {
		return "the agent"
	}
	return show(agent, 80)
}

func (w *waitArgs) again() string {
	if w.gate != "" {
		if w.goal == "" {
			return "loopx gate show --gate-id " + show(w.gate, 60)
		}
		return "loopx gate show --goal-id " + show(w.goal, 64) + " --gate-id " + show(w.gate, 60)
	}
	if w.agent == "" {
		return "loopx why --goal-id " + show(w.goal, 64)
	}
	return "loopx why --goal-id " + show(w.goal, 64) + " --agent-id " + show(w.agent, 80)
}

func (w *waitArgs) look(ctx context.Context, a *app) (seen, error) {
	svc, err := a.workspace()
	if err != nil {
		return seen{}, err
	}
	if w.gate == "" {
		return w.lookAtWork(ctx, a, svc)
	}
	raw, err := svc.Query(ctx, &view.GateOne{Goal: w.goal, Gate: w.gate})
	if err != nil {
		return seen{}, err
	}
	var g view.Gate
	if err := json.Unmarshal(raw, &g); err != nil {
		return seen{}, kernel.AsError(err)
	}
	switch g.Status {
	case kernel.GateOpen:
		return seen{left: g.Code + " is open", next: g.Expires}, nil
	case kernel.GateAnswered:
		f := newFields().add(raw).set("outcome", g.Answer.Outcome).set("option", g.Answer.Option)
		return seen{done: true, f: f, text: func() string {
			text := fmt.Sprintf("%s is decided: %s (%s) by %s, %s\n", g.Code, show(g.Answer.Label, 60), mark(g.Answer.Outcome), show(g.Answer.Name, 40), a.clock(g.Answer.At))
			if g.Answer.Reason != "" {
				text += quoted(g.Answer.Reason)
			}
			return text
		}}, nil
	}
	// Nobody can answer it any more: waiting on would be for ever.
	return seen{}, kernel.Errorf(kernel.Conflict, "gate_"+g.Status, "%s is %s: it will not be answered", g.Code, g.Status).
		With("gate_id", g.ID).Try("loopx gate show --gate-id %s", g.ID)
}

func (w *waitArgs) lookAtWork(ctx context.Context, a *app, svc view.Service) (seen, error) {
	raw, err := svc.Query(ctx, &view.ShouldRun{Caller: w.caller()})
	if err != nil {
		return seen{}, err
	}
	var d kernel.Decision
	if err := json.Unmarshal(raw, &d); err != nil {
		return seen{}, kernel.AsError(err)
	}
	return seen{done: d.ShouldRun, left: d.Reason, next: d.Scheduler.NextWake,
		f: newFields().add(raw), text: func() string { return a.decisionText(raw, "") }}, nil
}

// watcher is the stream of a daemon's journal, as far as there is one.
type watcher struct {
	wake    chan struct{} // something may have changed
	ended   chan struct{} // closed when the stream is over; nil before the first
	started bool          // the stream of ended is up
	failed  error         // why it ended
}

// live says whether a stream tells of changes now.
func (n *watcher) live() bool {
	if n.ended == nil {
		return false
	}
	select {
	case <-n.ended:
		return false
	default:
		return n.started
	}
}

// nap is how long to sleep without news: until time alone may change the answer,
// and at most two seconds where nobody tells of changes.
func (n *watcher) nap(now time.Time, next int64) time.Duration {
	most := pollGap
	if n.live() {
		most = time.Minute
	}
	if until := time.UnixMilli(next).Sub(now); next > 0 && until < most {
		return max(until, 100*time.Millisecond)
	}
	return most
}

// watchNews opens the stream where a daemon runs and none is open, and returns
// once it is up or known to be absent. The stream ends with ctx.
func (a *app) watchNews(ctx context.Context, n *watcher) error {
	if n.live() {
		return nil
	}
	n.started = false
	up, ended := make(chan struct{}), make(chan struct{})
	n.ended = ended
	c := client.New(a.access.home)
	go func() {
		first := true
		defer func() {
			close(ended)
			if !first {
				n.ring() // what was told so far is not told any more: look
			}
		}()
		for line, err := range c.Watch(ctx, 0) {
			if err != nil {
				n.failed = err
				return
			}
			if first {
				first = false
				close(up)
				continue
			}
			if line.Kind == "event" {
				n.ring()
			}
		}
	}()
	select {
	case <-up:
		n.started = true
	case <-ended:
		if errors.Is(n.failed, context.Canceled) || client.NoDaemon(n.failed) || n.failed == nil || passing(n.failed) {
			return nil
		}
		return n.failed // a foreign or a too different daemon: the looks would fail too
	case <-ctx.Done():
	}
	return nil
}

// ring wakes the waiter; several rings before it looks are one.
func (n *watcher) ring() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}
