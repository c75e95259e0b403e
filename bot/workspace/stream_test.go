package workspace

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/console"
	"loopx/kernel"
)

// next reads until a line of this kind comes.
func next(t *testing.T, lines <-chan rawLine, kind string) rawLine {
	t.Helper()
	timeout := time.After(5 * time.Second)
	for {
		select {
		case l, open := <-lines:
			if !open {
				t.Fatalf("the stream ended before %q", kind)
			}
			if l.Kind == kind {
				return l
			}
		case <-timeout:
			t.Fatalf("no %q came", kind)
		}
	}
}

func TestStreamSendsWhatChanged(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), func(_ *Options, p *Page) { p.poll = 20 * time.Millisecond; p.beat = 100 * time.Millisecond })
	v := owner(t, p)
	lines := v.stream(t, "site")
	var kinds []string
	for l := range lines {
		kinds = append(kinds, l.Kind)
		if l.Kind == "health" {
			break
		}
	}
	if got := strings.Join(kinds, " "); got != "hello me status goal messages health" {
		t.Fatalf("a new stream: %s", got)
	}
	for range 3 { // nothing changes: nothing but beats, however often it polls
		if l := <-lines; l.Kind != "beat" {
			t.Fatalf("unchanged, yet %s: %s", l.Kind, l.V)
		}
	}
	if status, text, _ := v.send(v.request("POST", "/api/press", pressBodyOf(w, "gate_2", "yes"))); status != 200 {
		t.Fatalf("press: %s", text)
	}
	var change messagesChange
	for got := map[string]bool{}; !got["status"] || !got["messages"]; {
		l := <-lines
		got[l.Kind] = true
		if l.Kind == "messages" {
			if err := json.Unmarshal(l.V, &change); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(change.Set) != 1 || change.Set[0].Card.State != chat.CardDecided || change.Order != nil || change.Set[0].Key != "" {
		t.Errorf("the change holds more or less than the pressed card: %+v", change)
	}
	if err := w.console.Notice(t.Context(), chat.Event{Sender: console.Person("somebody")}, "private"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if l := <-lines; strings.Contains(string(l.V), "private") {
			t.Errorf("another person's notice: %s", l.V)
		}
	}
}

func TestStreamSaysWhatIsWrongAndKeepsTheRest(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), func(_ *Options, p *Page) { p.poll = 20 * time.Millisecond })
	v := owner(t, p)
	lines := v.stream(t, "")
	next(t, lines, "health")
	w.mu.Lock()
	w.down = kernel.Errorf(kernel.Locked, "locked", "the state is held by pid 7").Try("loopx doctor")
	w.mu.Unlock()
	if l := next(t, lines, "trouble"); !strings.Contains(string(l.V), "loopx doctor") {
		t.Errorf("trouble: %s", l.V)
	}
	w.mu.Lock()
	w.down = nil
	w.mu.Unlock()
	if l := next(t, lines, "trouble"); string(l.V) != "null" {
		t.Errorf("after it: %s", l.V)
	}
	for l := range v.stream(t, "nothing") { // a goal that is gone is no trouble
		if l.Kind == "trouble" {
			t.Errorf("a goal that is gone: %s", l.V)
		}
		if l.Kind == "health" {
			break
		}
	}
}

func TestStopEndsStreamsFirst(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	lines := owner(t, p).stream(t, "")
	next(t, lines, "health")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if l := next(t, lines, "bye"); string(l.V) != `"stopping"` {
		t.Errorf("bye: %s", l.V)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), nil)
	v := owner(t, p)
	for range streamsMost {
		v.stream(t, "")
	}
	if status, _, code := v.send(v.request("GET", "/api/stream", "")); status != 429 || code != "too_many" {
		t.Errorf("stream %d: %d %s", streamsMost+1, status, code)
	}
}

// TestSlowReader opens a stream, reads nothing and lets a lot change.
func TestSlowReader(t *testing.T) {
	w := newWorld(t)
	p := w.page(t, t.TempDir(), func(_ *Options, p *Page) { p.poll, p.writeIn = 5*time.Millisecond, 200*time.Millisecond })
	v := owner(t, p)
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	r := v.request("GET", "/api/stream", "")
	for _, c := range v.http.Jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	began := false
	for i := 0; ; i++ {
		open := len(p.streams)
		began = began || open > 0
		if began && open == 0 {
			return // dropped: the token came back
		}
		if time.Now().After(deadline) {
			t.Fatalf("the reader still holds its stream after %d changes", i)
		}
		out := chat.Outgoing{Key: fmt.Sprint("big-", i), Place: chat.Place{Connection: "console", Conversation: console.Conversation}, Text: strings.Repeat("x", 30<<10)}
		if _, err := w.console.Send(t.Context(), out); err != nil {
			t.Fatal(err)
		}
	}
}

// rawLine is a line of the stream as it came.
type rawLine struct {
	Kind string          `json:"t"`
	AsOf int64           `json:"as_of"`
	V    json.RawMessage `json:"v"`
}

// stream reads lines until the test or the stream ends.
func (v *visitor) stream(t *testing.T, goal string) <-chan rawLine {
	t.Helper()
	res, err := v.http.Do(v.request("GET", "/api/stream?goal="+goal, ""))
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 {
		t.Fatalf("stream: %s", res.Status)
	}
	out := make(chan rawLine, 256)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(out)
		defer res.Body.Close()
		sc := bufio.NewScanner(res.Body)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			var l rawLine
			if json.Unmarshal(sc.Bytes(), &l) == nil {
				out <- l
			}
		}
	}()
	t.Cleanup(func() { _ = res.Body.Close(); <-done })
	return out
}
