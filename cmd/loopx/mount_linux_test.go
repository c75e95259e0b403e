package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// canMount says whether this process may mount a small disk.
func canMount(t *testing.T) bool {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Logf("no tmpfs can be mounted here: %v", err)
		return false
	}
	_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	return true
}

// remount is `remount dir ro|rw`.
func remount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: remount dir ro|rw")
	}
	flags := uintptr(syscall.MS_REMOUNT)
	if args[1] == "ro" {
		flags |= syscall.MS_RDONLY
	}
	ts.Check(syscall.Mount("tmpfs", ts.MkAbs(args[0]), "tmpfs", flags, "mode=0700"))
}

// mountTmpfs is `tmpfs dir size`: a small disk, for scripts that have the right to
// mount one ([mount]).
func mountTmpfs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tmpfs dir size")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+args[1]); err != nil {
		ts.Fatalf("no tmpfs can be mounted (%v); guard this line with [mount]", err)
	}
	ts.Defer(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}
