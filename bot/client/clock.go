package client

// SystemClock is the machine's kernel.Clock. Every process that opens a state
// file must use the same one, or leases would move.
type SystemClock struct{}
