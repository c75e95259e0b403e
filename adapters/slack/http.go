package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"loopx/adapters/chat"
)

// maxBody bounds an answer of the Web API; a page of history is far below it.
const maxBody = 16 << 20

// doer is the only way out: it sends tokens to Slack's hosts alone, follows no
// redirect, paces new connections, and says of a failure whether the request
// had been written. It is what slack-go uses as its HTTP client.
type doer struct {
	client  *http.Client
	dialer  *websocket.Dialer
	pace    *pacer
	clean   cleaner
	hosts   []string // allowed, exactly
	sim     bool
	readAt  atomic.Int64 // UTC ms of the last bytes on the socket
	clockMS func() int64
}

func newDoer(cfg Config, pace *pacer) *doer {
	base := &http.Client{}
	if cfg.HTTPClient != nil {
		c := *cfg.HTTPClient
		base = &c
	}
	base.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if base.Timeout == 0 {
		base.Timeout = 2 * cfg.Timing.Call
	}
	d := &doer{
		client: base, pace: pace, sim: cfg.Sim,
		clean:   newCleaner(cfg.AppToken, cfg.BotToken),
		clockMS: func() int64 { return cfg.Clock().UnixMilli() },
	}
	if u, err := url.Parse(cfg.BaseURL); err == nil {
		d.hosts = append(d.hosts, u.Host)
	}
	if !cfg.Sim {
		d.hosts = append(d.hosts, "hooks.slack.com")
	}
	var nd net.Dialer
	d.dialer = &websocket.Dialer{
		Proxy:            http.ProxyFromEnvironment,
		HandshakeTimeout: 20 * time.Second,
		// One frame an answer: Slack does not put continuation frames together
		// (slack-go, defaultWriteBufferSize).
		WriteBufferSize: 32 << 10,
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := nd.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return watchedConn{c, d}, nil
		},
	}
	if t, ok := base.Transport.(*http.Transport); ok && t != nil {
		d.dialer.Proxy = t.Proxy
		if t.TLSClientConfig != nil {
			d.dialer.TLSClientConfig = t.TLSClientConfig.Clone()
			d.dialer.TLSClientConfig.NextProtos = nil // a websocket is HTTP/1.1
		}
	}
	return d
}

// watchedConn notes when bytes arrive: pings keep the time fresh in a quiet
// workspace, and a dead link shows although nobody writes.
type watchedConn struct {
	net.Conn
	d *doer
}

func (c watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.d.readAt.Store(c.d.clockMS())
	}
	return n, err
}

func (d *doer) lastRead() int64 { return d.readAt.Load() }

// callError is a call that got no answer.
type callError struct {
	wrote bool // the whole request had been handed to the connection
	err   error
}

func (e *callError) Error() string { return e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// Do sends a request once.
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	if !d.allowed(req.URL) {
		return nil, &callError{err: fmt.Errorf("refused to call %s: not a host of Slack", req.URL.Hostname())}
	}
	if strings.HasSuffix(req.URL.Path, "/apps.connections.open") {
		// The one door through which sockets are opened: whatever the client
		// library wants, it waits here.
		if err := d.pace.wait(req.Context()); err != nil {
			return nil, &callError{err: err}
		}
	}
	var wrote atomic.Bool
	trace := &httptrace.ClientTrace{
		// From the headers on the server may act; an error before that means
		// nothing left the machine.
		WroteHeaders: func() { wrote.Store(true) },
	}
	resp, err := d.client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		return nil, &callError{wrote: wrote.Load(), err: d.clean.error(err)}
	}
	resp.Body = &cleanBody{ReadCloser: resp.Body, r: io.LimitReader(resp.Body, maxBody), clean: d.clean}
	return d.rateLimited(resp)
}

// rateLimited gives slack-go one form of "too many": 429 with a whole number
// of seconds. Slack also says it with 200 and ok:false (B68).
func (d *doer) rateLimited(resp *http.Response) (*http.Response, error) {
	after := resp.Header.Get("Retry-After")
	if resp.StatusCode == http.StatusOK && after != "" {
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return nil, &callError{wrote: true, err: err}
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		var a struct {
			OK    bool   `json:"ok"`
			Error string `json:"error"`
		}
		if json.Unmarshal(body, &a) == nil && !a.OK && isRateLimit(a.Error) {
			resp.StatusCode = http.StatusTooManyRequests
		}
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		if _, err := strconv.ParseUint(after, 10, 31); err != nil {
			resp.Header.Set("Retry-After", strconv.Itoa(int(defaultWait/time.Second)))
		}
	}
	return resp, nil
}

func (d *doer) allowed(u *url.URL) bool {
	if !d.sim && u.Scheme != "https" {
		return false
	}
	for _, h := range d.hosts {
		if strings.EqualFold(u.Host, h) {
			return true
		}
	}
	return false
}

// cleanBody redacts errors of reading a body and bounds it.
type cleanBody struct {
	io.ReadCloser
	r     io.Reader
	clean cleaner
}

func (b *cleanBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		err = &callError{wrote: true, err: b.clean.error(err)}
	}
	return n, err
}

// cleaner takes secrets out of error texts: the tokens themselves, anything
// that looks like a token, and the query of every address (B93).
type cleaner struct {
	secrets            []chat.Secret
	token, query, hook *regexp.Regexp
}

func newCleaner(secrets ...chat.Secret) cleaner {
	return cleaner{
		secrets: secrets,
		token:   regexp.MustCompile(`x(ox[a-z]|app|oxe)[-.][A-Za-z0-9._-]+`),
		query:   regexp.MustCompile(`((?:https?|wss?)://[^\s"'?]+)\?[^\s"']*`),
		hook:    regexp.MustCompile(`(https?://[^\s"'/]+/(?:actions|commands|services|link))[^\s"']*`),
	}
}

func (c cleaner) text(s string) string {
	for _, sec := range c.secrets {
		if v := sec.Reveal(); v != "" {
			s = strings.ReplaceAll(s, v, "[secret]")
			s = strings.ReplaceAll(s, url.QueryEscape(v), "[secret]")
		}
	}
	s = c.token.ReplaceAllString(s, "[secret]")
	s = c.query.ReplaceAllString(s, "$1?[secret]")
	return c.hook.ReplaceAllString(s, "$1/[secret]")
}

// cleanError is a redacted text that keeps only what errors.Is needs.
type cleanError struct {
	text string
	is   error
}

func (e *cleanError) Error() string { return e.text }
func (e *cleanError) Unwrap() error { return e.is }

func (c cleaner) error(err error) error {
	if err == nil {
		return nil
	}
	out := &cleanError{text: c.text(err.Error())}
	for _, keep := range []error{context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF} {
		if errors.Is(err, keep) {
			out.is = keep
		}
	}
	return out
}

// pacer spaces out new connections: the first at once, later ones after a pause
// that doubles up to a bound; a connection that lived long enough ends that.
type pacer struct {
	t         Timing
	mu        sync.Mutex
	failures  int
	notBefore time.Time
	openedAt  time.Time
}

func newPacer(t Timing) *pacer { return &pacer{t: t} }

// wait returns when the next attempt may be made, or with ctx's error.
func (p *pacer) wait(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	if !p.openedAt.IsZero() && now.Sub(p.openedAt) >= p.t.Stable {
		p.failures = 0
	}
	p.openedAt = time.Time{}
	pause := p.notBefore.Sub(now)
	next := min(p.t.RetryMax, p.t.RetryMin<<min(p.failures, 20))
	next = next/2 + rand.N(next/2+1) // jitter: half to all of it
	p.failures++
	p.notBefore = now.Add(max(pause, 0) + next)
	p.mu.Unlock()
	if pause <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// opened notes that a connection came up.
func (p *pacer) opened() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.openedAt = time.Now()
}

// hold keeps everybody away for at least d: the platform asked for it.
func (p *pacer) hold(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := time.Now().Add(d); t.After(p.notBefore) {
		p.notBefore = t
	}
}
