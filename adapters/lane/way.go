package lane

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// Way is the way out of one connection: a client that follows no redirect,
// since what is sent carries secrets, and a dialer for websockets that goes
// through the same proxy and trusts the same authorities. Make it with NewWay.
type Way struct {
	Client *http.Client
	Dialer *websocket.Dialer
	read   atomic.Int64
}

// NewWay makes it from the client that was given, which is not changed; nil is
// one with the defaults of the environment. timeout bounds a call where the
// client has no bound of its own, handshake the beginning of a socket.
func NewWay(given *http.Client, timeout, handshake time.Duration, clock func() time.Time) *Way {
	w := &Way{Client: &http.Client{}}
	if given != nil {
		*w.Client = *given
	}
	w.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if w.Client.Timeout == 0 {
		w.Client.Timeout = timeout
	}
	var nd net.Dialer
	w.Dialer = &websocket.Dialer{
		Proxy: http.ProxyFromEnvironment, HandshakeTimeout: handshake,
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := nd.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return watched{c, func() { w.read.Store(clock().UnixMilli()) }}, nil
		},
	}
	if t, ok := w.Client.Transport.(*http.Transport); ok && t != nil {
		w.Dialer.Proxy = t.Proxy
		if t.TLSClientConfig != nil {
			w.Dialer.TLSClientConfig = t.TLSClientConfig.Clone()
			w.Dialer.TLSClientConfig.NextProtos = nil // a websocket is HTTP/1.1
		}
	}
	return w
}

// LastRead is when bytes last came over a socket, UTC ms; 0 for never.
func (w *Way) LastRead() int64 { return w.read.Load() }

// watched notes when bytes arrive: pings and pongs keep the time fresh where
// nobody writes, and a dead link shows.
type watched struct {
	net.Conn
	touch func()
}

// Read implements net.Conn.
func (c watched) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.touch()
	}
	return n, err
}
