package api

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"

	"loopx/bot/client"
	"loopx/kernel"
)

// connMost bounds the connections that are open at once; more wait in the
// socket's queue.
const connMost = 512

// listen opens the folder's socket. It dials before it removes a socket that
// lies there: the name may belong to somebody who is alive.
func listen(home client.Home, log *slog.Logger) (net.Listener, error) {
	path := home.Listen()
	if err := home.PrepareSocket(); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err == nil {
		if answers(path) {
			return nil, kernel.Errorf(kernel.Locked, "locked", "another process serves %s", home.Dir).Try("loopx doctor")
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, kernel.AsError(err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, kernel.AsError(err)
	}
	return &guarded{Listener: l, log: log, slots: make(chan struct{}, connMost)}, nil
}

// guarded hands on only connections of this user (or root, who could take the
// file anyway) and bounds their number.
type guarded struct {
	net.Listener
	log   *slog.Logger
	slots chan struct{}
}

// Accept implements net.Listener.
func (g *guarded) Accept() (net.Conn, error) {
	for {
		g.slots <- struct{}{}
		c, err := g.Listener.Accept()
		if err != nil {
			<-g.slots
			return nil, err
		}
		if uc, ok := c.(*net.UnixConn); ok {
			uid, err := peerUID(uc)
			if err == nil && (uid == os.Geteuid() || uid == 0) {
				return &slotConn{Conn: c, free: sync.OnceFunc(func() { <-g.slots })}, nil
			}
			g.log.Warn("a connection of another user was closed", "uid", uid, "error", err)
		}
		_ = c.Close()
		<-g.slots
	}
}

type slotConn struct {
	net.Conn
	free func()
}

// Close implements net.Conn.
func (c *slotConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}
