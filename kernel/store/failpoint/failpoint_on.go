//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Enabled reports whether this build can be killed by a failpoint.
const Enabled = true

// points reads the environment once and returns how many hits each name has left.
var points = sync.OnceValue(func() map[string]*atomic.Int64 {
	left := make(map[string]*atomic.Int64)
	for _, rule := range strings.FieldsFunc(os.Getenv("LOOPX_FAILPOINTS"), func(r rune) bool { return r == ',' || r == ' ' }) {
		name, count, ok := strings.Cut(rule, "=")
		n, err := strconv.ParseInt(count, 10, 64)
		if !ok || err != nil || n < 1 || !slices.Contains(Names(), name) {
			panic(fmt.Sprintf("failpoint: %q is not NAME=N with one of %v", rule, Names()))
		}
		left[name] = new(atomic.Int64)
		left[name].Store(n)
	}
	return left
})

// Hit kills the process with SIGKILL at the n-th call for a name that
// LOOPX_FAILPOINTS gives as NAME=n. It panics for a name that Names does not list.
func Hit(name string) {
	if !slices.Contains(Names(), name) {
		panic("failpoint: unknown name " + name)
	}
	left, ok := points()[name]
	if !ok || left.Add(-1) != 0 {
		return
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // the signal is on its way; nothing more may happen
}
