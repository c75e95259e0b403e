// Package lane is what every adapter needs to keep one connection, whatever the
// platform: ordered work per conversation, pauses between connections, the
// connection's health, counters by reason, and calls whose errors hold no
// secret. It knows the vocabulary of chat and no platform.
package lane

import "sync"

// Bounds of what is taken in but not yet stored. What goes beyond is not taken,
// which leaves it unacknowledged: the platform delivers it again.
const (
	MaxQueued      = 16384
	MaxQueuedBytes = 32 << 20
	MaxParallel    = 64
)

// Lanes runs items in order per key and in parallel across keys (B71). A lane
// has a goroutine only while it has work. Make it with New.
type Lanes[T any] struct {
	run  func(T)
	size func(T) int // bytes
	slot chan struct{}
	wg   sync.WaitGroup

	mu     sync.Mutex // guards all that follows
	queues map[string][]T
	n      int
	bytes  int
	closed bool
}

// New returns lanes that call run for each item; size is what an item weighs in
// bytes.
func New[T any](run func(T), size func(T) int) *Lanes[T] {
	return &Lanes[T]{run: run, size: size, slot: make(chan struct{}, MaxParallel), queues: map[string][]T{}}
}

// Put never blocks; false means that the item was not taken.
func (l *Lanes[T]) Put(key string, it T) bool {
	size := l.size(it)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.n >= MaxQueued || l.bytes+size > MaxQueuedBytes {
		return false
	}
	l.n++
	l.bytes += size
	q, busy := l.queues[key]
	l.queues[key] = append(q, it)
	if !busy {
		l.wg.Go(func() { l.work(key) })
	}
	return true
}

func (l *Lanes[T]) work(key string) {
	for {
		it, ok := l.next(key)
		if !ok {
			return
		}
		l.slot <- struct{}{}
		l.run(it)
		<-l.slot
		l.mu.Lock()
		l.n--
		l.bytes -= l.size(it)
		l.mu.Unlock()
	}
}

func (l *Lanes[T]) next(key string) (T, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var none T
	q := l.queues[key]
	if len(q) == 0 || l.closed {
		delete(l.queues, key)
		return none, false
	}
	it := q[0]
	q[0] = none
	l.queues[key] = q[1:]
	return it, true
}

// Stop drops what waits, which stays unacknowledged, and returns when what runs
// is done.
func (l *Lanes[T]) Stop() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wg.Wait()
}
