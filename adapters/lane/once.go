package lane

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxOnce bounds the requests that are remembered against replays.
const maxOnce = 1 << 16

// Once knows the signed requests that had their effect, so that none has it
// twice. A signature is believed for as long as its time is fresh, so nothing
// older need be remembered. Make it with NewOnce.
type Once struct {
	fresh time.Duration
	mu    sync.Mutex
	seen  map[[32]byte]time.Time
}

// NewOnce remembers each request for twice the time its signature is fresh.
func NewOnce(fresh time.Duration) *Once {
	return &Once{fresh: fresh, seen: map[[32]byte]time.Time{}}
}

// Claim takes a request for the first time. Again means that it was taken
// before; neither, that so many are remembered that none can be taken safely.
func (o *Once) Claim(signature string, now time.Time) (ok, again bool) {
	key := sha256.Sum256([]byte(signature))
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.seen) >= maxOnce/2 {
		for k, at := range o.seen {
			if now.Sub(at) > 2*o.fresh { // older ones fail by their age
				delete(o.seen, k)
			}
		}
	}
	if _, again := o.seen[key]; again {
		return false, true
	}
	if len(o.seen) >= maxOnce {
		return false, false
	}
	o.seen[key] = now
	return true, false
}

// Release lets the very same request be taken again: it had no effect.
func (o *Once) Release(signature string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, sha256.Sum256([]byte(signature)))
}
