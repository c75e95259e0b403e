package cli

import (
	"syscall"
	"unsafe"
)

// ttyFd says whether a descriptor is a terminal.
func ttyFd(fd uintptr) bool {
	var t syscall.Termios
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TCGETS, uintptr(unsafe.Pointer(&t)))
	return errno == 0
}
