package lane

import (
	"context"
	"errors"
	"sync"
	"time"

	"loopx/adapters/chat"
)

// maxHeard bounds the conversations whose newest message is remembered, and so
// those whose past is read.
const maxHeard = 1024

// Heard remembers how far each conversation is stored, over all Runs of an
// adapter. A position grows with each message of a conversation: an id or a
// time of the platform. The zero value is ready.
type Heard struct {
	mu sync.Mutex
	m  map[string]int64
}

// Note says that a message at this position is stored. Beyond 1024
// conversations new ones are not remembered.
func (h *Heard) Note(conversation string, position int64) {
	if conversation == "" || position <= 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	old, known := h.m[conversation]
	if !known && len(h.m) >= maxHeard {
		return
	}
	if h.m == nil {
		h.m = map[string]int64{}
	}
	h.m[conversation] = max(old, position)
}

// Newest is the newest position that is stored, 0 for a conversation of which
// nothing is known.
func (h *Heard) Newest(conversation string) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.m[conversation]
}

// Past lists, each once, the conversations whose past is worth reading: those
// something was heard in, and those that more names (which may be nil).
func (h *Heard) Past(more func() []string) []string {
	var list []string
	if more != nil {
		list = more()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	seen := map[string]bool{"": true}
	for _, c := range list {
		if !seen[c] && len(out) < maxHeard {
			out = append(out, c)
		}
		seen[c] = true
	}
	for c := range h.m {
		if !seen[c] && len(out) < maxHeard {
			out = append(out, c)
		}
	}
	return out
}

// patientTries is how often Patiently asks.
const patientTries = 8

// Patiently repeats a reading call that is only held up for the moment, with
// pauses that grow from one to the other, or as long as the platform says.
func Patiently(ctx context.Context, from, to time.Duration, read func() error) error {
	for try := 1; ; try++ {
		err := read()
		e, ok := errors.AsType[*chat.Error](err)
		if !ok || try == patientTries || e.Kind != chat.Temporary && e.Kind != chat.RateLimited {
			return err
		}
		if Pause(ctx, max(from, e.After)) != nil {
			return err
		}
		from = min(2*from, to)
	}
}
