package client

import (
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// bootTime is CLOCK_BOOTTIME: it counts on while the machine sleeps.
const bootTime = 7

// Boot implements kernel.Clock.
func (SystemClock) Boot() (string, int64) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0
	}
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, bootTime, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return "", 0
	}
	return strings.TrimSpace(string(b)), ts.Nano() / 1e6
}
