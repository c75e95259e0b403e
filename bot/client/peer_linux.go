package client

import (
	"net"
	"os"
	"syscall"

	"loopx/kernel"
)

// sameUser refuses a socket that somebody else listens on: owner tokens go
// through it.
func sameUser(c net.Conn) error {
	bad := kernel.Errorf(kernel.Denied, "foreign_daemon", "another user's process listens on the socket of this state folder").Try("loopx doctor")
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return bad
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return bad
	}
	var cred *syscall.Ucred
	ctl := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if ctl != nil || err != nil || int(cred.Uid) != os.Geteuid() && os.Geteuid() != 0 && cred.Uid != 0 {
		return bad
	}
	return nil
}
