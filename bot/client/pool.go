package client

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"
)

const (
	// idleMost bounds the connections a client keeps between requests.
	idleMost = 64
	// idleFor is how long one may wait for its next request. It is well below the
	// daemon's own limit (api.idleTime), so that the client lets go first.
	idleFor = 5 * time.Second
)

// kept is a connection between two requests.
type kept struct {
	conn  net.Conn
	r     *bufio.Reader
	since time.Time
}

// pool keeps connections on which nothing is outstanding. The zero value is ready.
type pool struct {
	mu   sync.Mutex
	idle []*kept
}

// ask sends one request and reads the head of its answer, on a kept connection
// where there is one. A kept one that turns out to be closed before a byte of the
// request left is replaced by a new one; after that nothing is sent twice.
func (p *pool) ask(ctx context.Context, socket, method, path string, body []byte) (*kept, *answer, error) {
	for k := p.take(); k != nil; k = p.take() {
		a, sent, err := roundTrip(ctx, k.conn, k.r, method, path, body, true)
		if err == nil {
			return k, a, nil
		}
		_ = k.conn.Close()
		if sent || ctx.Err() != nil {
			return nil, nil, lost(err)
		}
	}
	conn, err := dial(ctx, socket)
	if err != nil {
		return nil, nil, err
	}
	k := &kept{conn: conn, r: bufio.NewReader(conn)}
	a, _, err := roundTrip(ctx, conn, k.r, method, path, body, true)
	if err != nil {
		_ = conn.Close()
		return nil, nil, lost(err)
	}
	return k, a, nil
}

// take returns the connection that was used last, or nil, and closes those that
// waited too long.
func (p *pool) take() *kept {
	p.mu.Lock()
	defer p.mu.Unlock()
	var old int
	for old < len(p.idle) && time.Since(p.idle[old].since) > idleFor {
		_ = p.idle[old].conn.Close()
		old++
	}
	p.idle = p.idle[old:]
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	k := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return k
}

func (p *pool) put(k *kept) {
	k.since = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) < idleMost {
		p.idle = append(p.idle, k)
		return
	}
	_ = k.conn.Close()
}
