package bot

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loopx/adapters/chat"
)

// reacting is a surface whose reactions hang or fail as told.
type reacting struct {
	scripted
	mu   sync.Mutex
	did  []string
	hang bool
	fail error
}

func (r *reacting) Mark(ctx context.Context, ref chat.Ref, sign chat.Sign, on bool) error {
	r.mu.Lock()
	hang, fail := r.hang, r.fail
	r.did = append(r.did, fmt.Sprint(ref.Message, " ", sign, " ", on))
	r.mu.Unlock()
	if hang {
		<-ctx.Done()
		return &chat.Error{Kind: chat.Temporary}
	}
	return fail
}

func (r *reacting) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.did)
}

func withSigns(t *testing.T, r *reacting, fn func(*signs)) {
	synctest.Test(t, func(t *testing.T) {
		r.caps.React = true
		s := newSigns(r, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { s.run(ctx) })
		fn(s)
		cancel()
		wg.Wait()
	})
}

// A message has one sign at a time; one that is there is not put again, and after
// a restart those that a message passes through are taken off.
func TestOneSignAtATime(t *testing.T) {
	r := &reacting{}
	withSigns(t, r, func(s *signs) {
		ref := chat.Ref{Message: "m1"}
		for _, sign := range []chat.Sign{chat.SignSeen, chat.SignSeen, chat.SignWorking, chat.SignDone} {
			s.want(&mark{ref, sign})
		}
		s.want(&mark{chat.Ref{Message: "m2"}, chat.SignFailed}) // from before a restart
		s.want(&mark{ref, ""})
		s.want(nil)
		synctest.Wait()
		want := []string{"m1 seen true", "m1 working true", "m1 seen false", "m1 done true", "m1 working false", "m2 failed true", "m2 seen false", "m2 working false"}
		if got := r.all(); !slices.Equal(got, want) {
			t.Errorf("did %q", got)
		}
	})
}

// One that hangs holds nobody who asks; what finds no place is dropped, and the
// hanging one is given up.
func TestHangingSignsDelayNothing(t *testing.T) {
	r := &reacting{hang: true}
	withSigns(t, r, func(s *signs) {
		began := time.Now()
		for i := range 10 * signsWaiting {
			s.want(&mark{chat.Ref{Message: fmt.Sprint("m", i)}, chat.SignSeen})
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("asking took %v", d)
		}
		time.Sleep(signTime + time.Second)
		if n := len(r.all()); n != 2 {
			t.Errorf("%d were tried after one was given up", n)
		}
	})
}

// An app that may not react is asked once and never again.
func TestSignsAreSwitchedOff(t *testing.T) {
	r := &reacting{fail: &chat.Error{Kind: chat.Auth, Code: "missing_scope"}}
	withSigns(t, r, func(s *signs) {
		for i := range 5 {
			s.want(&mark{chat.Ref{Message: fmt.Sprint("m", i)}, chat.SignSeen})
			synctest.Wait()
		}
		if n := len(r.all()); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
	if newSigns(&scripted{}, nil) != nil {
		t.Error("a surface without reactions has signs")
	}
}
