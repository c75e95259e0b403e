package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"loopx/adapters/console"
	"loopx/kernel"
)

// line is one line of the stream: what it is about and its new value.
type line struct {
	Kind string `json:"t"` // hello, me, status, goal, messages, health, trouble, beat, bye
	AsOf int64  `json:"as_of,omitempty"`
	V    any    `json:"v,omitempty"`
}

type hello struct {
	Version string `json:"version"`
	Now     int64  `json:"now"`
	me
}

// messagesChange holds the messages that are new or differ, and the whole order
// when it moved.
type messagesChange struct {
	Set   []console.Message `json:"set,omitempty"`
	Order []string          `json:"order"` // null when it did not move
}

// stream answers with NDJSON: first everything, then what changed, until the
// reader leaves, the session loses its right, or the page stops.
//
// Nothing queues up: a stream holds no changes, it compares the newest state
// with what it sent last, so changes that come faster than the reader takes
// them become one. A reader that takes nothing for writeIn is dropped; its page
// reconnects and gets everything anew.
func (p *Page) stream(live context.Context) echo.HandlerFunc {
	return func(c echo.Context) error {
		select {
		case p.streams <- struct{}{}:
			defer func() { <-p.streams }()
		default:
			c.Response().Header().Set("Retry-After", "10")
			return echo.NewHTTPError(http.StatusTooManyRequests)
		}
		ctx, cancel := context.WithCancel(c.Request().Context())
		defer cancel()
		defer context.AfterFunc(live, cancel)()

		s := &stream{page: p, id: sessionOf(c).ID, goal: c.QueryParam("goal"), out: c.Response(), sent: map[string][32]byte{}}
		s.ctl = http.NewResponseController(c.Response())
		if err := s.ctl.SetReadDeadline(time.Time{}); err != nil { // it outlives the request's own bound
			return err
		}
		c.Response().Header().Set(echo.HeaderContentType, "application/x-ndjson")
		c.Response().Header().Set("X-Accel-Buffering", "no")
		c.Response().WriteHeader(http.StatusOK)
		if s.run(ctx) == nil && live.Err() != nil {
			s.ok = true
			s.write(line{Kind: "bye", V: "stopping"})
		}
		return nil
	}
}

type stream struct {
	page *Page
	id   string
	goal string
	out  *echo.Response
	ctl  *http.ResponseController
	sent map[string][32]byte // by section or message id: digest of what was sent
	ids  []string
	ok   bool
	asOf int64
}

// run returns an error when the reader does not take what it is given.
func (s *stream) run(ctx context.Context) error {
	p := s.page
	said := p.opt.Chat.Watch(ctx)
	var moved <-chan struct{}
	if p.opt.Watch != nil {
		moved = p.opt.Watch(ctx)
	}
	poll, beat := time.NewTicker(p.poll), time.NewTicker(p.beat)
	defer poll.Stop()
	defer beat.Stop()
	first := true
	s.ok = true
	var after time.Time // what is read has to be at least as new as this
	for s.ok {
		v, roles, ok := p.sessions.state(s.id)
		if !ok {
			s.write(line{Kind: "bye", V: "signed_out"})
			return nil
		}
		if first {
			s.write(line{Kind: "hello", V: hello{Version: p.opt.Version, Now: p.opt.Now().UnixMilli(), me: p.meOf(v)}})
			first = false
		}
		s.section("me", 0, p.meOf(v))
		if v.Role.atLeast(Viewer) {
			s.state(ctx, after)
			s.messages(userOf(v).ID)
			s.section("health", 0, p.opt.Health())
		}
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-said:
			after = time.Now() // a press changes both the card and the work
			if !open {
				said = nil
			}
		case _, open := <-moved:
			after = time.Now()
			if !open {
				moved = nil
			}
		case <-roles:
		case <-poll.C:
			after = time.Now().Add(-freshFor)
		case <-beat.C:
			s.write(line{Kind: "beat", AsOf: s.asOf})
		}
	}
	return http.ErrHandlerTimeout
}

func (s *stream) state(ctx context.Context, after time.Time) {
	var problem any
	for _, part := range []struct{ kind, goal string }{{"status", ""}, {"goal", s.goal}} {
		if part.kind == "goal" && part.goal == "" {
			continue
		}
		b, asOf, err := s.page.feed.get(ctx, part.goal, after)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			// A goal that is gone is no trouble: the list of goals says so.
			if e := kernel.AsError(err); part.kind != "goal" || e.Class != kernel.NotFound {
				problem = trouble(err)
			}
			continue
		}
		s.asOf = asOf
		s.section(part.kind, asOf, b)
	}
	s.section("trouble", 0, problem)
}

// section writes a part when it differs from what was sent last.
func (s *stream) section(kind string, asOf int64, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		s.page.opt.Logger.Error("a part of the page cannot be written", "part", kind, "error", err)
		return
	}
	sum := sha256.Sum256(b)
	old, had := s.sent[kind]
	if had && old == sum || !had && string(b) == "null" {
		return
	}
	s.sent[kind] = sum
	s.write(line{Kind: kind, AsOf: asOf, V: json.RawMessage(b)})
}

func (s *stream) messages(user string) {
	var change messagesChange
	var ids []string
	seen := map[string]bool{}
	for _, m := range s.page.opt.Chat.Messages() {
		if m.To != "" && m.To != user {
			continue
		}
		m.Key = "" // ours, not the reader's
		ids = append(ids, m.ID)
		seen["m/"+m.ID] = true
		b, err := json.Marshal(m)
		if err != nil {
			continue
		}
		if sum := sha256.Sum256(b); s.sent["m/"+m.ID] != sum {
			s.sent["m/"+m.ID] = sum
			change.Set = append(change.Set, m)
		}
	}
	for id := range s.sent {
		if len(id) > 2 && id[:2] == "m/" && !seen[id] {
			delete(s.sent, id)
		}
	}
	if !slices.Equal(ids, s.ids) || s.ids == nil {
		change.Order = ids
		if ids == nil {
			ids, change.Order = []string{}, []string{}
		}
		s.ids = ids
	}
	if len(change.Set) > 0 || change.Order != nil {
		s.write(line{Kind: "messages", V: change})
	}
}

func (s *stream) write(l line) {
	if !s.ok {
		return
	}
	b, err := json.Marshal(l)
	if err == nil {
		err = s.ctl.SetWriteDeadline(time.Now().Add(s.page.writeIn))
	}
	if err == nil {
		_, err = s.out.Write(append(b, '\n'))
	}
	if err == nil {
		err = s.ctl.Flush()
	}
	if err != nil {
		s.page.opt.Logger.Debug("a reader of the page is gone", "error", err)
		s.ok = false
	}
}
