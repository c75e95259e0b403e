// Package workspace is the local page: one document with its own assets, a
// stream of what changed, and two writes (press a card's button, say
// something). It listens on loopback only.
//
// Who may do what. The document and its assets hold no data and are open to
// every page load with an acceptable Host. Everything else takes a session,
// which is two secrets: a cookie, which a browser would also send for others,
// and a key kept in origin-scoped storage, which only this page can read and
// sends as a header. A session is
//
//   - a stranger, who sees a code and nothing else: somebody typed the address;
//   - a viewer, who sees everything: it came through the redirect file, which
//     only the owner of the state folder can read;
//   - the owner, who acts: its code was approved with the owner proof.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"loopx/adapters/chat"
	"loopx/adapters/console"
	"loopx/kernel/view"
)

// Chat is what the page needs of the surface behind its chat pane.
type Chat interface {
	// Messages returns the newest messages, oldest first.
	Messages() []console.Message
	// Watch returns a channel that receives after a change, until ctx ends.
	Watch(ctx context.Context) <-chan struct{}
	// SayIn writes a message as a person of the page, once under an id.
	SayIn(ctx context.Context, user chat.User, words console.Words) (string, error)
	// Press uses a button of the card that a message holds.
	Press(ctx context.Context, user chat.User, messageID, action string, values map[string]string) (chat.Answer, error)
}

// Connection is one connection's health as the page shows it.
type Connection struct {
	Name     string        `json:"name"`
	Platform chat.Platform `json:"platform"`
	Health   chat.Health   `json:"health"`
}

// Options of a page. Service, Chat and Home are needed.
type Options struct {
	Service view.Service
	Chat    Chat
	// Health gives the connections; nil shows none.
	Health func() []Connection
	// Watch receives when the kernel's state may have changed; nil leaves the
	// page to its poll of once a second, which also finds what time alone changes.
	Watch func(ctx context.Context) <-chan struct{}
	// Home is the state folder: the kept port, the sessions and the redirect
	// file stand in it, each 0600.
	Home string
	// OpenAsOwner skips the owner proof. Only the demo does, and the page says so.
	OpenAsOwner bool
	Version     string
	Now         func() time.Time // time.Now unless told
	Logger      *slog.Logger     // discards unless told
}

// Page is the running page. Its methods are safe for concurrent use.
type Page struct {
	opt      Options
	sessions *sessions
	tickets  *tickets
	pace     *pace
	feed     *feed
	words    words
	assets   *assets

	mu     sync.Mutex // guards what follows
	server *http.Server
	addr   string
	cookie string // its name holds the port: cookies are shared by all ports of a host
	hosts  map[string]bool
	quit   context.CancelFunc // ends the streams
	done   chan struct{}      // closed when the server has returned

	streams chan struct{} // one token per open stream
	// writeIn is how long one line may wait for its reader before it is dropped.
	writeIn time.Duration
	poll    time.Duration
	beat    time.Duration
}

// streamsMost bounds the open streams of all sessions together.
const streamsMost = 32

// New makes a page; it touches nothing yet.
func New(opt Options) *Page {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.Health == nil {
		opt.Health = func() []Connection { return nil }
	}
	tick := &tickets{now: opt.Now, ends: map[string]time.Time{}}
	return &Page{
		opt: opt, tickets: tick, pace: &pace{now: opt.Now, by: map[string][]time.Time{}}, feed: &feed{service: opt.Service, keep: map[string]kept{}},
		sessions: &sessions{path: filepath.Join(opt.Home, "page-sessions.json"), now: opt.Now, asOwner: opt.OpenAsOwner, tickets: tick},
		streams:  make(chan struct{}, streamsMost),
		writeIn:  10 * time.Second, poll: time.Second, beat: 10 * time.Second,
	}
}

// Start listens on the kept port and serves until Stop. It fails when another
// program holds that port: a new one would be another origin, and whoever holds
// the old one could pass for the page.
func (p *Page) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		return errors.New("the page runs already")
	}
	var err error
	if p.assets, err = loadAssets(); err != nil {
		return fmt.Errorf("the page's assets: %w", err)
	}
	if p.words, err = loadWords(); err != nil {
		return fmt.Errorf("the page's words: %w", err)
	}
	if err = p.sessions.load(); err != nil {
		return fmt.Errorf("the page's sessions: %w", err)
	}
	ln, err := listen(ctx, p.opt.Home)
	if err != nil {
		return fmt.Errorf("the page's port: %w", err)
	}
	tcp, ok := ln.Addr().(*net.TCPAddr)
	if !ok {
		return errors.Join(errors.New("the page's port is not TCP"), ln.Close())
	}
	p.addr = fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	p.hosts = map[string]bool{p.addr: true, fmt.Sprintf("localhost:%d", tcp.Port): true}
	p.cookie = fmt.Sprintf("loopx_page_%d", tcp.Port)

	live, quit := context.WithCancel(context.WithoutCancel(ctx))
	p.quit, p.done = quit, make(chan struct{})
	p.server = &http.Server{
		Handler:           p.routes(live),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(p.opt.Logger.Handler(), slog.LevelDebug),
	}
	go func(srv *http.Server, done chan struct{}) {
		defer close(done)
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			p.opt.Logger.Error("the page stopped serving", "error", err)
		}
	}(p.server, p.done)
	return nil
}

// Stop ends the streams first, then waits for requests in flight until ctx ends.
func (p *Page) Stop(ctx context.Context) error {
	p.mu.Lock()
	srv, quit, done := p.server, p.quit, p.done
	p.server = nil
	p.mu.Unlock()
	if srv == nil {
		return nil
	}
	quit()
	err := srv.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, srv.Close())
	}
	<-done
	return errors.Join(err, p.sessions.save())
}

// Addr is where the page listens, "127.0.0.1:port"; empty before Start.
func (p *Page) Addr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

// PendingSessions lists the sessions that show a code now, newest first.
func (p *Page) PendingSessions() []Pending { return p.sessions.pending() }

// Approve makes the session that shows this code the owner's. The caller has
// checked the owner proof. The error is a *kernel.Error.
func (p *Page) Approve(code string) error { return p.sessions.approve(code) }

// Forget ends every session; each browser has to be opened or approved again.
func (p *Page) Forget() error { return p.sessions.forget() }

func (p *Page) routes(live context.Context) http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = p.fail
	e.Logger.SetOutput(discard{})
	e.Pre(p.guard) // before routing: also unknown paths answer to no foreign Host
	e.GET("/", p.document)
	e.GET("/assets/:sum/:name", p.asset)
	e.POST("/api/session", p.openSession, p.strictJSON)
	e.GET("/api/stream", p.stream(live), p.signedIn(Stranger))
	e.POST("/api/press", p.press, p.strictJSON, p.signedIn(Owner))
	e.POST("/api/say", p.say, p.strictJSON, p.signedIn(Owner))
	return e
}

// discard keeps echo's own logger quiet; errors go to Options.Logger.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
