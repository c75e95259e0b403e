package bot

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
)

// Bounds of reactions: what does not fit is dropped, for a sign is a courtesy.
const (
	signsWaiting = 64
	signsKnown   = 4096
	signTime     = 5 * time.Second
)

// mark is a sign that a person's message should have.
type mark struct {
	ref  chat.Ref
	sign chat.Sign
}

// signs puts our own reactions on people's messages, beside everything else: a
// reaction that hangs or fails delays nothing and is tried once.
type signs struct {
	marker chat.Marker
	log    *slog.Logger
	queue  chan mark
	off    atomic.Bool // the app may not react; said once
	last   map[chat.Ref]chat.Sign
}

// newSigns returns nil for a surface that has no reactions.
func newSigns(a chat.Adapter, log *slog.Logger) *signs {
	m, ok := a.(chat.Marker)
	if !ok || !a.Caps().React {
		return nil
	}
	return &signs{marker: m, log: log, queue: make(chan mark, signsWaiting), last: map[chat.Ref]chat.Sign{}}
}

// signOf is the sign for how far a person's message is; empty for none.
func signOf(d *inbox.Delivery) chat.Sign {
	switch d.State {
	case inbox.Waiting:
		return chat.SignSeen
	case inbox.Leased:
		return chat.SignWorking
	case inbox.Answered:
		return chat.SignDone
	case inbox.Closed:
		if d.Reason != inbox.Withdrawn { // taken back is no failure
			return chat.SignFailed
		}
	}
	return ""
}

// want asks for a sign; it never waits.
func (s *signs) want(m *mark) {
	if s == nil || m == nil || m.sign == "" || m.ref.Message == "" || s.off.Load() {
		return
	}
	select {
	case s.queue <- *m:
	default:
	}
}

// run works until ctx ends.
func (s *signs) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-s.queue:
			s.put(ctx, m)
		}
	}
}

// put adds the new sign and takes off the one before. After a restart that one is
// not known: it is one of those that a message passes through.
func (s *signs) put(ctx context.Context, m mark) {
	before, known := s.last[m.ref]
	if known && before == m.sign {
		return
	}
	old := []chat.Sign{before}
	if !known {
		old = nil
		if m.sign != chat.SignSeen {
			old = []chat.Sign{chat.SignSeen, chat.SignWorking}
		}
	}
	set := func(sign chat.Sign, on bool) bool {
		c, cancel := context.WithTimeout(ctx, signTime)
		defer cancel()
		err := s.marker.Mark(c, m.ref, sign, on)
		if e, ok := errors.AsType[*chat.Error](err); ok && e.Kind == chat.Auth {
			s.off.Store(true)
			s.log.Warn("the app may not react to messages; everything else goes on", "err", err)
		}
		return err == nil
	}
	if !set(m.sign, true) || s.off.Load() {
		return
	}
	if len(s.last) >= signsKnown {
		clear(s.last)
	}
	s.last[m.ref] = m.sign
	for _, sign := range old {
		if sign != m.sign {
			set(sign, false)
		}
	}
}
