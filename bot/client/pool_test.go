package client

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"loopx/kernel"
)

// socket answers each connection with fn until the test ends.
func socket(t *testing.T, path string, fn func(net.Conn)) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go fn(c)
		}
	}()
	stop = func() { _ = l.Close() }
	t.Cleanup(stop)
	return stop
}

// serve answers n requests on a connection, then closes it.
func serve(n int) func(net.Conn) {
	return func(c net.Conn) {
		defer c.Close()
		r := bufio.NewReader(c)
		for range n {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_ = req.Body.Close()
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nLoopx-Api: 1.0\r\n\r\n{}")
		}
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	var conns atomic.Int32
	socket(t, path, func(c net.Conn) { conns.Add(1); serve(100)(c) })
	c := &Client{Socket: path}
	for range 10 {
		if _, err := c.call(t.Context(), "GET", PathInfo, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for ten requests, one after the other", n)
	}
}

// A daemon that went away between two requests is dialled again: nothing of the
// second one had been sent.
func TestClosedConnectionIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	closed := make(chan struct{}, 10)
	socket(t, path, func(c net.Conn) { serve(1)(c); closed <- struct{}{} })
	c := &Client{Socket: path}
	for range 5 {
		if _, err := c.call(t.Context(), "GET", PathInfo, nil); err != nil {
			t.Fatal(err)
		}
		<-closed
	}
}

// Once a request has left, the end of its connection leaves its outcome open,
// whether the connection was new or kept: the key decides about sending again.
func TestRequestIsNeverSentTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	var requests atomic.Int32
	socket(t, path, func(c net.Conn) {
		defer c.Close()
		r := bufio.NewReader(c)
		for range 2 {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_ = req.Body.Close()
			if requests.Add(1) == 1 {
				fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nLoopx-Api: 1.0\r\n\r\n{}")
			}
		}
	})
	c := &Client{Socket: path}
	if _, err := c.call(t.Context(), "GET", PathInfo, nil); err != nil {
		t.Fatal(err)
	}
	_, err := c.call(t.Context(), "GET", PathInfo, nil)
	if e := kernel.AsError(err); e == nil || e.Class != kernel.Unknown || !Again(err) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests arrived, want 2", n)
	}
}

// Without a daemon the caller is told that nothing was sent, also when an
// earlier daemon left a connection behind.
func TestNoDaemonAfterOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	closed := make(chan struct{}, 1)
	stop := socket(t, path, func(c net.Conn) { serve(1)(c); closed <- struct{}{} })
	c := &Client{Socket: path}
	if _, err := c.call(t.Context(), "GET", PathInfo, nil); err != nil {
		t.Fatal(err)
	}
	<-closed
	stop()
	if _, err := c.call(t.Context(), "GET", PathInfo, nil); !NoDaemon(err) {
		t.Errorf("got %v, want that nobody listens", err)
	}
}
