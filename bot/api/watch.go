package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/labstack/echo/v4"
)

const (
	batch   = 200   // events read from the journal at once
	farMost = 20000 // records a reader may lag behind before it must start anew
	pingGap = 15 * time.Second
)

// watch streams the journal as lines of JSON: the head, then changes. It reads
// what it sends from the journal when it sends it, so a slow reader costs a
// cursor and no memory; one that takes no line in time, or lags too far, is
// dropped with a reason.
func (s *Server) watch(c echo.Context) error {
	after := uint64(0)
	if v := c.QueryParam("after"); v != "" {
		var err error
		if after, err = strconv.ParseUint(v, 10, 64); err != nil {
			return kernel.Errorf(kernel.Invalid, "bad_after", "after must be a journal sequence number")
		}
	}
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	default:
		return kernel.Errorf(kernel.Exhausted, "too_many_streams", "%d watch streams are open already", streams).Try("close one, then try again")
	}
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	w := &stream{ctx: ctx, s: s, out: c.Response(), ctl: http.NewResponseController(c.Response().Writer)}
	// Nothing more is read from this reader; the deadline of the request would
	// end the stream with it.
	if err := w.ctl.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	wake := w.wakes() // before the head is read, so that no commit falls between
	head, err := view.Ask[kernel.Head](ctx, s.opt.Service, &view.Head{})
	if err != nil {
		return err
	}
	w.run(head, after, wake)
	return nil
}

type stream struct {
	ctx context.Context
	s   *Server
	out *echo.Response
	ctl *http.ResponseController
}

func (w *stream) run(head kernel.Head, after uint64, wake <-chan struct{}) {
	if after == 0 || after > head.Seq {
		after = head.Seq
	}
	w.out.Header().Set("Content-Type", "application/x-ndjson")
	if !w.send(client.Line{Kind: "head", Head: &head}) {
		return
	}
	ping := time.NewTicker(pingGap)
	defer ping.Stop()
	for {
		var ok bool
		if after, ok = w.catchUp(after); !ok {
			return
		}
		select {
		case <-w.ctx.Done():
			if w.s.life.Err() != nil {
				w.send(client.Line{Kind: "end", Reason: "the daemon is stopping"})
			}
			return
		case _, open := <-wake:
			if !open {
				wake = nil // the context tells when to end
			}
		case <-ping.C:
			if !w.send(client.Line{Kind: "ping"}) {
				return
			}
		}
	}
}

// wakes is the service's wake-ups, or a look each second without them.
func (w *stream) wakes() <-chan struct{} {
	if w.s.opt.Wake != nil {
		return w.s.opt.Wake(w.ctx)
	}
	ch := make(chan struct{})
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-w.ctx.Done():
				return
			case <-tick.C:
				select {
				case ch <- struct{}{}:
				case <-w.ctx.Done():
					return
				}
			}
		}
	}()
	return ch
}

// catchUp sends everything behind after and returns the new position.
func (w *stream) catchUp(after uint64) (uint64, bool) {
	for {
		page, err := view.Ask[struct {
			Head    kernel.Head       `json:"head"`
			Entries []json.RawMessage `json:"entries"`
		}](w.ctx, w.s.opt.Service, &view.Log{After: after, Limit: batch})
		if err != nil {
			return after, w.ctx.Err() != nil || w.end("the journal could not be read")
		}
		// Behind nothing (a fresh journal) the view shows its newest records.
		if page.Head.Seq > after+farMost || after == 0 && page.Head.Seq > batch {
			return after, w.end("this reader is too far behind; start again from a new snapshot")
		}
		for _, e := range page.Entries {
			var at struct {
				Seq uint64 `json:"seq"`
			}
			if json.Unmarshal(e, &at) != nil || !w.send(client.Line{Kind: "event", Event: e}) {
				return after, false
			}
			after = at.Seq
		}
		if len(page.Entries) == 0 {
			// Records without events (a receipt that kept its answer) move the position too.
			after = min(page.Head.Seq, after+batch)
		}
		if after >= page.Head.Seq {
			return after, true
		}
	}
}

// end tells the reader why nothing more comes.
func (w *stream) end(reason string) bool {
	w.send(client.Line{Kind: "end", Reason: reason})
	w.s.opt.Logger.Info("a watch stream was ended", "reason", reason)
	return false
}

func (w *stream) send(l client.Line) bool {
	b, err := json.Marshal(l)
	if err != nil {
		return false
	}
	if err := w.ctl.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return false
	}
	if _, err = w.out.Write(append(b, '\n')); err == nil {
		err = w.ctl.Flush()
	}
	if err != nil && w.ctx.Err() == nil {
		w.s.opt.Logger.Info("a watch stream was dropped: its reader took no line in time", "error", err)
	}
	return err == nil
}
