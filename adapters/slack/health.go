package slack

import (
	"maps"
	"sync"
	"time"

	"loopx/adapters/chat"
)

// health is the connection's state, safe for concurrent use.
type health struct {
	clock func() time.Time
	mu    sync.Mutex
	h     chat.Health
}

func newHealth(clock func() time.Time) *health {
	return &health{clock: clock, h: chat.Health{State: chat.Starting, Since: clock().UnixMilli()}}
}

func (h *health) set(s chat.HealthState, detail, fix string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.h.State != s {
		h.h.Since = h.clock().UnixMilli()
	}
	h.h.State, h.h.Detail, h.h.Fix = s, detail, fix
}

func (h *health) event() { h.mark(func(x *chat.Health, now int64) { x.LastEvent = now }) }
func (h *health) send()  { h.mark(func(x *chat.Health, now int64) { x.LastSend = now }) }

func (h *health) mark(f func(*chat.Health, int64)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(&h.h, h.clock().UnixMilli())
}

func (h *health) state() chat.HealthState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.h.State
}

func (h *health) get(frame int64) chat.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.h
	out.LastFrame = frame
	return out
}

// counts counts by reason.
type counts struct {
	mu sync.Mutex
	m  map[string]int
}

func (c *counts) add(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[string]int{}
	}
	if len(c.m) >= 200 { // reasons come from the wire too
		if _, ok := c.m[reason]; !ok {
			reason = "other"
		}
	}
	c.m[reason]++
}

func (c *counts) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.m)
}
