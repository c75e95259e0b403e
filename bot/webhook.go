package bot

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"loopx/kernel"
)

// WebhookConfig is the listener for platforms that call us. Without Listen there
// is none.
type WebhookConfig struct {
	// Listen is host:port. What listens there speaks plain HTTP: a proxy in front
	// of it brings TLS and the public name.
	Listen string `toml:"listen"`
}

// webhook says what is wrong with the listener; empty for nothing.
func (c Config) webhook() string {
	called := slices.ContainsFunc(c.Connections, ConnectionConfig.calls)
	if c.Webhook.Listen == "" {
		if called {
			return "a connection in mode webhook needs listen in [webhook]"
		}
		return ""
	}
	host, port, err := net.SplitHostPort(c.Webhook.Listen)
	n, perr := strconv.Atoi(port)
	switch {
	case err != nil || perr != nil || n < 0 || n > 65535 || host == "":
		return "listen in [webhook] is an address and a port, like 127.0.0.1:8080"
	case !called:
		return "listen in [webhook] is for connections in mode webhook, and there is none"
	}
	return ""
}

// Bounds of the listener: it is the one door that strangers may knock at.
const (
	hookConns   = 256
	hookHeaders = 16 << 10
)

// hooks is the listener of its own for platforms that call us: one exact address
// a connection, POST only, nothing else. What an address serves checks the
// signature before it reads a word.
type hooks struct {
	server *http.Server
	ln     net.Listener
	served sync.WaitGroup
}

// hookPath is where a connection is called.
func hookPath(connection string) string { return "/hook/" + connection }

// startHooks opens the listener for connections whose platform calls us.
func startHooks(ctx context.Context, b *Bot) (err error) {
	routes := map[string]http.Handler{}
	for _, c := range b.engine.conns {
		called := slices.ContainsFunc(b.opt.Config.Connections, func(n ConnectionConfig) bool { return n.Name == c.name && n.calls() })
		if h, ok := c.adapter.(http.Handler); ok && called {
			routes[hookPath(c.name)] = h
		}
	}
	if len(routes) == 0 {
		return nil
	}
	if b.hooks, err = openHooks(ctx, b.opt.Config.Webhook.Listen, routes, b.opt.Logger); err != nil {
		return err
	}
	b.undo("listener for platforms", b.hooks.stop)
	return nil
}

// openHooks opens the listener; nothing is answered before serve.
func openHooks(ctx context.Context, listen string, routes map[string]http.Handler, log *slog.Logger) (*hooks, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, kernel.Errorf(kernel.Unavailable, "webhook_listen", "nothing can listen on %s: %s", listen, reason(err)).Try("stop what listens there, or give [webhook] another listen address")
	}
	if a, ok := ln.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		log.Warn("requests of platforms arrive on an address that others reach; only a proxy with TLS should", "listen", ln.Addr().String())
	}
	return &hooks{
		ln: &bounded{Listener: ln, slots: make(chan struct{}, hookConns)},
		server: &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h := routes[r.URL.Path]
				switch {
				case h == nil:
					w.WriteHeader(http.StatusNotFound)
				case r.Method != http.MethodPost:
					w.Header().Set("Allow", http.MethodPost)
					w.WriteHeader(http.StatusMethodNotAllowed)
				default:
					h.ServeHTTP(w, r)
				}
			}),
			ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 15 * time.Second, IdleTimeout: time.Minute,
			MaxHeaderBytes: hookHeaders, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
	}, nil
}

func (h *hooks) serve(log *slog.Logger) {
	h.served.Go(func() {
		if err := h.server.Serve(h.ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("the listener for platforms ended", "err", err)
		}
	})
}

// stop lets open requests end.
func (h *hooks) stop(ctx context.Context) error {
	err := h.server.Shutdown(ctx)
	err = errors.Join(err, h.server.Close())
	if cerr := h.ln.Close(); cerr != nil && !errors.Is(cerr, net.ErrClosed) {
		err = errors.Join(err, cerr)
	}
	h.served.Wait()
	return err
}

// bounded is a listener with a bounded number of open connections; more wait in
// the system's queue.
type bounded struct {
	net.Listener
	slots chan struct{}
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	b.slots <- struct{}{}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.slots
		return nil, err
	}
	return &slot{Conn: c, free: sync.OnceFunc(func() { <-b.slots })}, nil
}

type slot struct {
	net.Conn
	free func()
}

// Close implements net.Conn.
func (s *slot) Close() error {
	defer s.free()
	return s.Conn.Close()
}

// HookAddr is where platforms may call, empty without such a listener.
func (b *Bot) HookAddr() string {
	if b.hooks == nil {
		return ""
	}
	return b.hooks.ln.Addr().String()
}
