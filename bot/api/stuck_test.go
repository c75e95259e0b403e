package api_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"loopx/kernel"
	"loopx/kernel/view"
)

// stuck opens connections that will not go on: half a request, no request at all,
// and requests whose answers nobody reads.
func stuck(t *testing.T, d *daemon, n int) {
	t.Helper()
	for i := range n {
		conn, err := net.Dial("unix", d.home.Socket())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		text := ""
		switch i % 4 {
		case 0:
			text = "POST /v1/do HTTP/1.1\r\nHost: loopx\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"
		case 1:
			text = "POST /v1/que"
		case 2:
			text = "GET /v1/info HTTP/1.1\r\nHost: loopx\r\n\r\n"
		case 3:
			text = "GET /v1/watch HTTP/1.1\r\nHost: loopx\r\n\r\n"
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
}

// L4: 64 clients that read nothing or never finish their request, while others
// work. The others' commands are all done, their watches opened, and what they wait
// for is what they wait for without them.
func TestSixtyFourStuckClients(t *testing.T) {
	d := start(t, newHome(t))
	d.goal(t, "site")
	work := func(round string) time.Duration {
		var mu sync.Mutex
		var took []time.Duration
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 25 {
					began := time.Now()
					title := fmt.Sprintf("%s-%d-%d", round, w, i)
					if _, err := d.c.Do(t.Context(), &kernel.AddTodo{Goal: "site", Title: title}, asCLI()); err != nil {
						t.Errorf("%s: %v", title, err)
						return
					}
					mu.Lock()
					took = append(took, time.Since(began))
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		slices.Sort(took)
		return took[len(took)/2]
	}
	alone := work("alone")
	stuck(t, d, 64)
	beside := work("beside")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	head, err := view.Ask[kernel.Head](ctx, d.c, &view.Head{})
	if err != nil || head.Seq < 401 {
		t.Errorf("%d records, %v", head.Seq, err)
	}
	kind := ""
	for line, err := range d.c.Watch(ctx, head.Seq) {
		if err != nil {
			t.Fatalf("a watch beside them: %v", err)
		}
		kind = line.Kind
		break
	}
	if kind != "head" {
		t.Errorf("the watch begins with %q", kind)
	}
	t.Logf("the median command took %v alone and %v beside 64 stuck clients", alone, beside)
	// Waiting for one of them would cost seconds: the deadline of a request.
	if beside > 20*alone+100*time.Millisecond {
		t.Errorf("a command took %v alone and %v beside stuck clients", alone, beside)
	}
}
