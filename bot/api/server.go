package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/labstack/echo/v4"
)

// Times a client gets. Everything that may wait is bounded.
const (
	readTime  = 5 * time.Second  // for a whole request
	writeTime = 10 * time.Second // for a whole answer, and for each line of a stream
	idleTime  = 30 * time.Second
	stopTime  = 10 * time.Second // for answers in flight when Stop has no earlier deadline
	streams   = 64               // watch streams at once
)

// Options are what a Server needs.
type Options struct {
	// Service answers; it is view.Local around the held kernel.
	Service view.Service
	// Wake gives a channel that wakes after commits until ctx ends: the store's
	// Watch. Nil leaves watch streams with their snapshot and a look each second.
	Wake func(ctx context.Context) <-chan struct{}
	// Info completes what /v1/info says: page address and connections. Nil is none.
	Info func() client.Info
	// ApprovePage lets the page session that shows a code act as the owner. Nil
	// says that there is no page.
	ApprovePage func(code string) error
	// OwnerToken is the proof of the owner; empty means that nobody is.
	OwnerToken string
	// Token, when set, is asked for the proof instead: it may have been replaced
	// while the daemon runs. An error means that nobody is the owner.
	Token func(context.Context) (string, error)
	// Home is the folder whose socket is served.
	Home client.Home
	// Logger is told what an operator should know. Nil discards it.
	Logger *slog.Logger
}

// Server answers on the socket of a state folder. Start and Stop are idempotent.
type Server struct {
	opt   Options
	http  *http.Server
	since int64

	// life ends first on Stop: streams hang on it.
	life context.Context
	end  context.CancelFunc
	slot chan struct{} // one per stream

	mu      sync.Mutex
	started bool
	stopped bool
	served  chan struct{} // closed when the accept loop has ended
}

// New makes a server that does not listen yet.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opt: o, slot: make(chan struct{}, streams), served: make(chan struct{})}
	s.life, s.end = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: readTime,
		ReadTimeout:       readTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	return s
}

func (s *Server) routes() http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.refuse
	e.Use(s.guard)
	e.POST(client.PathDo, s.do)
	e.POST(client.PathQuery, s.query)
	e.GET(client.PathWatch, s.watch)
	e.GET(client.PathInfo, s.info)
	e.POST(client.PathPage, s.page)
	e.GET(client.PathBackup, s.backup)
	return e
}

// Start listens on the folder's socket. The caller holds the folder's lock.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started || s.stopped {
		return nil
	}
	l, err := listen(s.opt.Home, s.opt.Logger)
	if err != nil {
		return err
	}
	s.started, s.since = true, time.Now().UnixMilli()
	go func() {
		defer close(s.served)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.opt.Logger.Error("the local API stopped", "error", err)
		}
	}()
	return nil
}

// Stop ends the streams, closes the socket, lets answers in flight finish, and
// cuts what is left when ctx ends, or after ten seconds. Afterwards no command
// runs any more.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	if !s.started || s.stopped {
		s.stopped = true
		return nil
	}
	s.stopped = true
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.served
	return err
}

// guard refuses what no program of ours sends: requests that a browser made on
// behalf of a page, a foreign Host, a version too far away.
func (s *Server) guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		h := c.Response().Header()
		h.Set(client.APIHeader, client.API())
		h.Set("Cache-Control", "no-store")
		for _, name := range []string{"Origin", "Referer", "Sec-Fetch-Site", "Sec-Fetch-Mode"} {
			if r.Header.Get(name) != "" {
				return kernel.Errorf(kernel.Denied, "browser_refused", "the local API does not answer browsers (%s was sent)", name)
			}
		}
		if r.Host != client.Host {
			return kernel.Errorf(kernel.Denied, "host_refused", "the local API answers only to the host name %q", client.Host)
		}
		if err := client.CheckAPI("the daemon", "the client", r.Header.Get(client.APIHeader)); err != nil {
			return err
		}
		return next(c)
	}
}

// refuse writes an error as the kernel's, with the status of its class.
func (s *Server) refuse(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	e := s.errorOf(err)
	if e.Class == kernel.Internal {
		s.opt.Logger.Error("a request failed", "path", c.Path(), "error", err)
	}
	if err := c.JSON(e.Class.HTTPStatus(), e); err != nil {
		s.opt.Logger.Debug("an answer could not be written", "error", err)
	}
}

func (s *Server) errorOf(err error) *kernel.Error {
	if h, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch h.Code {
		case http.StatusNotFound:
			return kernel.Errorf(kernel.NotFound, "no_such_path", "the local API has no such path")
		case http.StatusMethodNotAllowed:
			return kernel.Errorf(kernel.Invalid, "bad_method", "the local API does not take this method here")
		}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return kernel.Errorf(kernel.Invalid, "too_long", "the request is larger than 1 MiB")
	}
	if errors.Is(err, context.Canceled) {
		// Nothing was written: a context counts until the command starts.
		return kernel.Errorf(kernel.Unavailable, "stopping", "the daemon is stopping").Try("run the same command again")
	}
	if _, ok := errors.AsType[*cutOff](err); ok {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return kernel.Errorf(kernel.Unavailable, "too_slow", "the request did not arrive within %v", readTime)
		}
		return kernel.Errorf(kernel.Unavailable, "too_slow", "the request did not arrive whole")
	}
	return kernel.AsError(err)
}
