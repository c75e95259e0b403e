//go:build !linux

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func canMount(t *testing.T) bool {
	t.Log("no tmpfs can be mounted on this system")
	return false
}

func mountTmpfs(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("guard this line with [mount]")
}

func remount(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("guard this line with [mount]")
}
