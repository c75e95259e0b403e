package lane

import "sync"

// Side runs what no event waits for: notices, replies, forms. At most
// MaxParallel run at a time; one more is dropped, for it is only ever a
// courtesy. Make it with NewSide.
type Side struct {
	slots   chan struct{}
	running sync.WaitGroup
}

// NewSide returns one on which nothing runs.
func NewSide() *Side { return &Side{slots: make(chan struct{}, MaxParallel)} }

// Go runs f beside everything else; false means that it was dropped.
func (s *Side) Go(f func()) bool {
	select {
	case s.slots <- struct{}{}:
	default:
		return false
	}
	s.running.Go(func() {
		defer func() { <-s.slots }()
		f()
	})
	return true
}

// Wait returns when nothing runs any more.
func (s *Side) Wait() { s.running.Wait() }
