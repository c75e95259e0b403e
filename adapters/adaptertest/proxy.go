package adaptertest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy is a forward proxy on loopback as an office has one: plain requests are
// handed on, CONNECT opens a tunnel.
type Proxy struct {
	URL      *url.URL
	requests atomic.Int64
	tunnels  atomic.Int64
}

// NewProxy starts one and stops it with the test.
func NewProxy(t testing.TB) *Proxy {
	p := &Proxy{}
	hand := &httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect:
			p.tunnels.Add(1)
			tunnel(w, r.Host)
		case r.URL.IsAbs():
			p.requests.Add(1)
			hand.ServeHTTP(w, r)
		default:
			w.WriteHeader(http.StatusBadRequest) // not said to a proxy
		}
	}))
	t.Cleanup(s.Close)
	p.URL, _ = url.Parse(s.URL) // httptest's is one
	return p
}

// Client sends everything through the proxy, also to loopback.
func (p *Proxy) Client(t testing.TB) *http.Client {
	tr := &http.Transport{Proxy: http.ProxyURL(p.URL)}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// Used returns how many requests were handed on and tunnels opened.
func (p *Proxy) Used() (requests, tunnels int64) { return p.requests.Load(), p.tunnels.Load() }

func tunnel(w http.ResponseWriter, host string) {
	there, err := net.Dial("tcp", host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = there.Close() }()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = here.Close() }()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(there, buffered); _ = there.Close() })
	_, _ = io.Copy(here, there)
	_ = here.Close()
	both.Wait()
}
