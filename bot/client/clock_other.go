//go:build !linux

package client

// Boot implements kernel.Clock. Here the wall clock alone is used: the standard
// library offers no clock that counts through sleep.
func (SystemClock) Boot() (string, int64) { return "", 0 }

func bootID() string { return "" }
