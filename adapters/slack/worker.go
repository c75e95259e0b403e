package slack

import "sync"

// Bounds of what is taken in but not yet stored. What goes beyond is left
// unacknowledged: Slack delivers it again (at once, after 1 min, after 5 min).
const (
	maxQueued      = 16384
	maxQueuedBytes = 32 << 20
	maxParallel    = 64
)

type item struct {
	frame frame
	d     decoded
}

func (i item) size() int { return len(i.frame.Payload) + 512 }

// lanes runs items in order per key and in parallel across keys (B71). A lane
// has a goroutine only while it has work.
type lanes struct {
	run  func(item)
	slot chan struct{}
	wg   sync.WaitGroup

	mu     sync.Mutex // guards all that follows
	queues map[string][]item
	n      int
	bytes  int
	closed bool
}

func newLanes(run func(item)) *lanes {
	return &lanes{run: run, slot: make(chan struct{}, maxParallel), queues: map[string][]item{}}
}

// put never blocks; false means the item was not taken.
func (l *lanes) put(key string, it item) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.n >= maxQueued || l.bytes+it.size() > maxQueuedBytes {
		return false
	}
	l.n++
	l.bytes += it.size()
	q, busy := l.queues[key]
	l.queues[key] = append(q, it)
	if !busy {
		l.wg.Go(func() { l.work(key) })
	}
	return true
}

func (l *lanes) work(key string) {
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
		l.bytes -= it.size()
		l.mu.Unlock()
	}
}

func (l *lanes) next(key string) (item, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[key]
	if len(q) == 0 || l.closed {
		delete(l.queues, key)
		return item{}, false
	}
	it := q[0]
	q[0] = item{}
	l.queues[key] = q[1:]
	return it, true
}

// stop drops what waits, which stays unacknowledged, and returns when what runs
// is done.
func (l *lanes) stop() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wg.Wait()
}
