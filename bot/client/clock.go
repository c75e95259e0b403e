package client

// SystemClock is the machine's kernel.Clock. Every process that opens a state
// file must use the same one, or leases would move. The zero value works.
type SystemClock struct{ boot string }

// NewClock returns a clock that has read which boot this is: a daemon asks with
// every command, and the answer does not change while it lives.
func NewClock() SystemClock { return SystemClock{boot: bootID()} }
