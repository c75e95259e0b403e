package client

import (
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// bootTime is CLOCK_BOOTTIME: it counts on while the machine sleeps.
const bootTime = 7

// bootID names this boot.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Boot implements kernel.Clock.
func (c SystemClock) Boot() (string, int64) {
	boot := c.boot
	if boot == "" {
		boot = bootID()
	}
	if boot == "" {
		return "", 0
	}
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, bootTime, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return "", 0
	}
	return boot, ts.Nano() / 1e6
}
