package bot

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"loopx/adapters/chat"
)

// renewEvery is how often the credentials of a connection are read again.
const renewEvery = 2 * time.Second

// renewed is a connection whose credentials may be replaced while the daemon
// runs: a token that was reset is written to its file, and the connection is
// made anew with it, without a restart and without touching the others. It is
// the adapter of the moment to everybody else.
type renewed struct {
	make  func() (chat.Adapter, error)
	print func() (string, error) // tells one set of credentials from another
	log   *slog.Logger
	every time.Duration

	now atomic.Pointer[chat.Adapter]
	// contested is set once somebody else was heard to speak as this app.
	contested atomic.Pointer[contested]
	used      string // the credentials of now; Run's alone
}

// newRenewed makes the first adapter.
func newRenewed(print func() (string, error), make func() (chat.Adapter, error), log *slog.Logger) (*renewed, error) {
	used, err := print()
	if err != nil {
		return nil, err
	}
	a, err := make()
	if err != nil {
		return nil, err
	}
	r := &renewed{make: make, print: print, log: log, every: renewEvery, used: used}
	r.now.Store(&a)
	return r, nil
}

func (r *renewed) adapter() chat.Adapter { return *r.now.Load() }

// Run runs the adapter of the moment until ctx ends. One that the platform
// refused for good is left as it is, with its health, until there are other
// credentials.
func (r *renewed) Run(ctx context.Context, sink chat.Sink) error {
	for ctx.Err() == nil {
		next, err := r.runOne(ctx, sink)
		if next == nil {
			return err
		}
		r.now.Store(&next)
		r.log.Info("the credentials of a connection were replaced; it is connected with the new ones")
	}
	return nil
}

// runOne runs one adapter until there is a next one; nil when ctx ended.
func (r *renewed) runOne(ctx context.Context, sink chat.Sink) (next chat.Adapter, err error) {
	run, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- r.adapter().Run(run, sink) }()
	running := true
	for next == nil {
		select {
		case err = <-ended:
			if running = false; err == nil || ctx.Err() != nil {
				return nil, err
			}
			r.log.Error("connection ended; other credentials in their file begin it again", "err", err)
			ended = nil // nothing more comes of it
		case <-ctx.Done():
			if running {
				err = <-ended
			}
			return nil, err
		case <-time.After(r.every):
			next = other(r)
		}
	}
	stop()
	if running {
		if err := <-ended; err != nil {
			r.log.Warn("a connection ended badly before its credentials were replaced", "err", err)
		}
	}
	return next, nil
}

// other makes an adapter with other credentials, nil while there are none. A
// file that cannot be read, is open to others or holds no token changes nothing.
func other(r *renewed) chat.Adapter {
	now, err := r.print()
	if err != nil || now == r.used {
		return nil
	}
	r.used = now // tried once, whatever comes of it
	a, err := r.make()
	if err != nil {
		r.log.Warn("the new credentials of a connection are not used", "err", err)
		return nil
	}
	return a
}

// What follows hands on to the adapter of the moment. A further optional part of
// the contract, such as chat.Marker, has to be handed on here too: nobody sees
// the adapter behind.

// Send implements chat.Adapter.
func (r *renewed) Send(ctx context.Context, out chat.Outgoing) (chat.Ref, error) {
	return r.adapter().Send(ctx, out)
}

// Update implements chat.Adapter.
func (r *renewed) Update(ctx context.Context, ref chat.Ref, out chat.Outgoing) error {
	return r.adapter().Update(ctx, ref, out)
}

// Find implements chat.Adapter.
func (r *renewed) Find(ctx context.Context, place chat.Place, key string, since time.Time) (chat.Ref, bool, error) {
	return r.adapter().Find(ctx, place, key, since)
}

// Notice implements chat.Adapter.
func (r *renewed) Notice(ctx context.Context, e chat.Event, text string) error {
	return r.adapter().Notice(ctx, e, text)
}

// Caps implements chat.Adapter.
func (r *renewed) Caps() chat.Caps { return r.adapter().Caps() }

// Health implements chat.Adapter. Where somebody else was heard to speak as this
// app, that is its state until there are other credentials, or another start.
func (r *renewed) Health() chat.Health {
	a := r.adapter()
	h := a.Health()
	if c := r.contested.Load(); c != nil && c.of == a {
		h.State, h.Detail, h.Fix, h.Since = chat.Contested, contestedDetail, contestedFix, c.since
	}
	return h
}

// Tenant implements chat.Homed.
func (r *renewed) Tenant() string {
	if h, ok := r.adapter().(chat.Homed); ok {
		return h.Tenant()
	}
	return ""
}

// Fetch implements chat.Fetcher; Caps.Files says whether it can.
func (r *renewed) Fetch(ctx context.Context, ref chat.Ref, at chat.Attachment, most int64, w io.Writer) error {
	f, ok := r.adapter().(chat.Fetcher)
	if !ok {
		return chat.NoFile()
	}
	return f.Fetch(ctx, ref, at, most, w)
}

// Mark implements chat.Marker; Caps.React says whether it can.
func (r *renewed) Mark(ctx context.Context, ref chat.Ref, sign chat.Sign, on bool) error {
	m, ok := r.adapter().(chat.Marker)
	if !ok {
		return &chat.Error{Kind: chat.Invalid, Code: "no_reactions", Err: errors.New("this surface has no reactions")}
	}
	return m.Mark(ctx, ref, sign, on)
}

// Pin implements chat.Pinner; Caps.Pin says whether it can.
func (r *renewed) Pin(ctx context.Context, ref chat.Ref, on bool) error {
	p, ok := r.adapter().(chat.Pinner)
	if !ok {
		return &chat.Error{Kind: chat.Invalid, Code: "no_pins", Err: errors.New("this surface has no pins")}
	}
	return p.Pin(ctx, ref, on)
}

// ServeHTTP takes the calls of a platform in mode webhook.
func (r *renewed) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h, ok := r.adapter().(http.Handler)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	h.ServeHTTP(w, req)
}

var (
	_ chat.Adapter = (*renewed)(nil)
	_ chat.Marker  = (*renewed)(nil)
	_ chat.Fetcher = (*renewed)(nil)
	_ chat.Pinner  = (*renewed)(nil)
	_ chat.Homed   = (*renewed)(nil)
	_ http.Handler = (*renewed)(nil)
)
