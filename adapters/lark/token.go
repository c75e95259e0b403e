package lark

import (
	"context"
	"errors"
	"sync"
	"time"
)

// defaultLife is how long a token is used when Lark does not say it: the
// documented two hours (B75).
const defaultLife = 2 * time.Hour

// tokens holds the tenant token. Any number of callers that need a new one cause
// one request.
type tokens struct {
	fetch func(ctx context.Context) (token string, life time.Duration, err error)
	warn  func(msg string, args ...any)

	mu     sync.Mutex // guards all that follows
	token  string
	until  time.Time
	flight chan struct{} // closed when the request in flight is over
	err    error         // of the last flight
}

// get returns a token that is believed to be good.
func (t *tokens) get(ctx context.Context) (string, error) {
	for {
		t.mu.Lock()
		if t.token != "" && time.Now().Before(t.until) {
			defer t.mu.Unlock()
			return t.token, nil
		}
		if t.flight == nil {
			t.flight = make(chan struct{})
			t.mu.Unlock()
			return t.renew(ctx)
		}
		wait := t.flight
		t.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		t.mu.Lock()
		err := t.err
		t.mu.Unlock()
		// A flight that ended because its caller gave up says nothing to us.
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return "", err
		}
	}
}

// renew is the one request in flight.
func (t *tokens) renew(ctx context.Context) (string, error) {
	token, life, err := t.fetch(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.flight)
	t.flight, t.err = nil, err
	if err != nil {
		return "", err
	}
	if life <= 0 {
		t.warn("Lark gave a token without saying how long it lives; two hours are assumed")
		life = defaultLife
	}
	// A token is renewed before it ends: three minutes, less for short lives.
	t.token, t.until = token, time.Now().Add(life-min(3*time.Minute, life/4))
	return token, nil
}

// evict forgets a token that was refused, unless it has been replaced already.
func (t *tokens) evict(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}
