package lane

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Pacer spaces out new connections: the first at once, later ones after a pause
// that doubles from Min to Max; a connection that lived for Stable ends that.
type Pacer struct {
	min, max, stable time.Duration
	mu               sync.Mutex
	failures         int
	notBefore        time.Time
	openedAt         time.Time
}

// NewPacer returns a pacer whose next Wait does not wait.
func NewPacer(minPause, maxPause, stable time.Duration) *Pacer {
	return &Pacer{min: minPause, max: maxPause, stable: stable}
}

// Wait returns when the next attempt may be made, or with ctx's error.
func (p *Pacer) Wait(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	if !p.openedAt.IsZero() && now.Sub(p.openedAt) >= p.stable {
		p.failures = 0
	}
	p.openedAt = time.Time{}
	pause := p.notBefore.Sub(now)
	next := min(p.max, p.min<<min(p.failures, 20))
	next = next/2 + rand.N(next/2+1) // jitter: half to all of it
	p.failures++
	p.notBefore = now.Add(max(pause, 0) + next)
	p.mu.Unlock()
	return Pause(ctx, pause)
}

// Pause waits for d or for ctx, whose error it returns.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Opened notes that a connection came up.
func (p *Pacer) Opened() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.openedAt = time.Now()
}

// Hold keeps everybody away for at least d: the platform asked for it.
func (p *Pacer) Hold(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := time.Now().Add(d); t.After(p.notBefore) {
		p.notBefore = t
	}
}
