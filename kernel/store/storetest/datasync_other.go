//go:build !linux

package storetest

import "os"

// datasync is what a commit waits for.
func datasync(f *os.File) error { return f.Sync() }
