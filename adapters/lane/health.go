package lane

import (
	"maps"
	"sync"
	"time"

	"loopx/adapters/chat"
)

// Health is a connection's state, safe for concurrent use. Make it with
// NewHealth.
type Health struct {
	clock func() time.Time
	mu    sync.Mutex
	h     chat.Health
}

// NewHealth returns the health of a connection that starts now.
func NewHealth(clock func() time.Time) *Health {
	return &Health{clock: clock, h: chat.Health{State: chat.Starting, Since: clock().UnixMilli()}}
}

// Set changes the state; Since moves only when it is another one.
func (h *Health) Set(s chat.HealthState, detail, fix string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.h.State != s {
		h.h.Since = h.clock().UnixMilli()
	}
	h.h.State, h.h.Detail, h.h.Fix = s, detail, fix
}

// Event notes that something arrived now.
func (h *Health) Event() { h.mark(func(x *chat.Health, now int64) { x.LastEvent = now }) }

// Sent notes that something was written now.
func (h *Health) Sent() { h.mark(func(x *chat.Health, now int64) { x.LastSend = now }) }

func (h *Health) mark(f func(*chat.Health, int64)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(&h.h, h.clock().UnixMilli())
}

// State is the state alone.
func (h *Health) State() chat.HealthState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.h.State
}

// Get is all of it; frame is when the transport last gave a sign of life, in
// UTC ms.
func (h *Health) Get(frame int64) chat.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.h
	out.LastFrame = frame
	return out
}

// maxReasons bounds the counters: reasons come from the wire too.
const maxReasons = 200

// Counts counts by reason, safe for concurrent use. The zero value is ready.
type Counts struct {
	mu sync.Mutex
	m  map[string]int
}

// Add counts one. Beyond 200 reasons new ones are counted as "other".
func (c *Counts) Add(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[string]int{}
	}
	if len(c.m) >= maxReasons {
		if _, ok := c.m[reason]; !ok {
			reason = "other"
		}
	}
	c.m[reason]++
}

// All is a copy of the counters.
func (c *Counts) All() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.m)
}
