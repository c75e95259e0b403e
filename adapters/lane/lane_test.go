package lane_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

func TestOrderWithinParallelAcross(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		got := map[string][]int{}
		type item struct {
			key string
			n   int
		}
		hold := make(chan struct{})
		l := lane.New(func(it item) {
			if it.key == "slow" {
				<-hold
			}
			mu.Lock()
			defer mu.Unlock()
			got[it.key] = append(got[it.key], it.n)
		}, func(item) int { return 1 })
		var want []int
		for n := range 100 {
			want = append(want, n)
			for _, key := range []string{"slow", "a", "b"} {
				if !l.Put(key, item{key, n}) {
					t.Fatal("not taken")
				}
			}
		}
		synctest.Wait()
		mu.Lock()
		if !slices.Equal(got["a"], want) || !slices.Equal(got["b"], want) || got["slow"] != nil {
			t.Errorf("while one is held: %v", got)
		}
		mu.Unlock()
		close(hold)
		synctest.Wait()
		if !slices.Equal(got["slow"], want) {
			t.Errorf("slow: %v", got["slow"])
		}
		l.Stop()
		if l.Put("a", item{}) {
			t.Error("taken after the end")
		}
	})
}

func TestLanesAreBounded(t *testing.T) {
	hold := make(chan struct{})
	l := lane.New(func(int) { <-hold }, func(int) int { return lane.MaxQueuedBytes / 4 })
	for i := range 4 {
		if !l.Put("a", i) {
			t.Fatalf("item %d was not taken", i)
		}
	}
	if l.Put("a", 5) || l.Put("b", 5) {
		t.Error("more was taken than may wait")
	}
	close(hold)
	l.Stop()
}

func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lane.NewPacer(time.Second, 8*time.Second, time.Minute)
		took := func() time.Duration {
			t.Helper()
			began := time.Now()
			if err := p.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		between := func(what string, d, least, most time.Duration) {
			t.Helper()
			if d < least || d > most {
				t.Errorf("%s took %v, want %v to %v", what, d, least, most)
			}
		}
		between("the first", took(), 0, 0)
		between("the second", took(), time.Second/2, time.Second)
		between("the third", took(), time.Second, 2*time.Second)
		for range 5 {
			took()
		}
		between("a late one", took(), 4*time.Second, 8*time.Second)
		p.Opened()
		time.Sleep(2 * time.Minute) // the connection lives; synctest's clock
		between("after a good one", took(), 0, 0)
		p.Hold(time.Hour)
		between("a held one", took(), time.Hour, time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		p.Hold(time.Hour)
		time.AfterFunc(time.Second, cancel)
		if err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait = %v", err)
		}
	})
}

func TestCleaner(t *testing.T) {
	c := lane.NewCleaner([]chat.Secret{chat.NewSecret("s3cr3t/+")}, lane.Rule{Find: regexp.MustCompile(`tok-\w+`), With: "[secret]"})
	err := c.Error(fmt.Errorf("get https://h/x?ticket=1: s3cr3t/+ and s3cr3t%%2F%%2B and tok-abc: %w", io.ErrUnexpectedEOF))
	if got := err.Error(); strings.Contains(got, "s3cr3t") || strings.Contains(got, "ticket") || strings.Contains(got, "abc") {
		t.Error(got)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled) || c.Error(nil) != nil {
		t.Errorf("causes of %v", err)
	}
}

func TestCallSaysWhetherItWasWritten(t *testing.T) {
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/?a=secret", nil)
	_, err := lane.Call(&http.Client{}, req, 1, lane.NewCleaner(nil))
	e, ok := errors.AsType[*lane.CallError](err)
	if !ok || e.Wrote || strings.Contains(err.Error(), "a=secret") {
		t.Errorf("Call = %#v", err)
	}
}

func TestCountsAreBounded(t *testing.T) {
	var c lane.Counts
	for i := range 1000 {
		c.Add(fmt.Sprint(i))
	}
	if all := c.All(); len(all) != 201 || all["other"] != 800 {
		t.Errorf("%d reasons, %d others", len(all), all["other"])
	}
	if got := lane.Word("a b\n<c>:1"); got != "abc:1" {
		t.Errorf("Word = %q", got)
	}
}
