package discord

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

const (
	// perSecond stays below the 50 requests a second a bot may make in all
	// (docs, "Global Rate Limit").
	perSecond = 45
	// maxRefused keeps far from the 10,000 answers of 401, 403 and 429 in ten
	// minutes that get an address banned (docs, "Invalid Request Limit").
	maxRefused = 2000
	// maxBuckets bounds what is remembered of routes.
	maxBuckets = 4096
	// defaultWait is for a refusal that names no time.
	defaultWait = 5 * time.Second
)

// budget is the one account of all REST calls. It waits a little, with the
// context; a longer wait is refused with its length, so that the outbox can do
// something else meanwhile.
type budget struct {
	wait    time.Duration
	mu      sync.Mutex
	names   map[string]string // route -> bucket, as Discord says
	buckets map[string]bucket // bucket and major parameter
	global  time.Time
	recent  []time.Time // requests of the last second
	refused []time.Time // answers that count against us, of the last ten minutes
}

type bucket struct {
	remaining int
	reset     time.Time
}

func newBudget(wait time.Duration) *budget {
	return &budget{wait: wait, names: map[string]string{}, buckets: map[string]bucket{}}
}

// take returns when a call may be made, or an *chat.Error of kind RateLimited
// with the time that is left, or ctx's error.
func (b *budget) take(ctx context.Context, route, major string) error {
	for {
		pause := b.reserve(route, major)
		if pause <= 0 {
			return ctx.Err()
		}
		limit := b.wait
		if d, ok := ctx.Deadline(); ok {
			limit = min(limit, time.Until(d))
		}
		if pause > limit {
			return &chat.Error{Kind: chat.RateLimited, After: pause, Code: "budget"}
		}
		if err := lane.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// reserve takes a place, or says how long there is none.
func (b *budget) reserve(route, major string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.recent = since(b.recent, now.Add(-time.Second))
	b.refused = since(b.refused, now.Add(-10*time.Minute))
	key := b.key(route, major)
	at, known := b.buckets[key]
	switch {
	case now.Before(b.global):
		return b.global.Sub(now)
	case len(b.refused) >= maxRefused:
		return b.refused[0].Add(10 * time.Minute).Sub(now)
	case known && at.remaining <= 0 && now.Before(at.reset):
		return at.reset.Sub(now)
	case len(b.recent) >= perSecond:
		return b.recent[0].Add(time.Second).Sub(now)
	}
	b.recent = append(b.recent, now)
	if known {
		at.remaining--
		b.buckets[key] = at
	}
	return 0
}

func since(list []time.Time, from time.Time) []time.Time {
	for len(list) > 0 && !list[0].After(from) {
		list = list[1:]
	}
	return list
}

func (b *budget) key(route, major string) string {
	return firstOf(b.names[route], route) + " " + major
}

// learn reads what an answer says about its bucket.
func (b *budget) learn(route, major string, resp *http.Response) {
	h := resp.Header
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		if h.Get("X-RateLimit-Scope") != "shared" { // those are not counted against us
			b.refused = append(b.refused, now)
		}
	}
	if name := h.Get("X-RateLimit-Bucket"); name != "" && len(b.names) < maxBuckets {
		b.names[route] = lane.Word(name)
	}
	remaining, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	if err != nil {
		return
	}
	b.put(b.key(route, major), bucket{remaining, now.Add(seconds(h.Get("X-RateLimit-Reset-After")))})
}

// refuse notes a 429.
func (b *budget) refuse(route, major string, after time.Duration, global bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	until := time.Now().Add(after)
	if global {
		if until.After(b.global) {
			b.global = until
		}
		return
	}
	b.put(b.key(route, major), bucket{0, until})
}

func (b *budget) put(key string, v bucket) {
	if len(b.buckets) >= maxBuckets {
		now := time.Now()
		for k, old := range b.buckets { // those that are over; if all are in use, any
			if now.After(old.reset) || len(b.buckets) >= maxBuckets {
				delete(b.buckets, k)
			}
		}
	}
	b.buckets[key] = v
}

// seconds reads Discord's "1.25"; nonsense and negatives are 0, the bound a day.
func seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) {
		return 0
	}
	return time.Duration(min(f, 86400) * float64(time.Second))
}
