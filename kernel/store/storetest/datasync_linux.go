package storetest

import (
	"os"
	"syscall"
)

// datasync is what a commit waits for.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
