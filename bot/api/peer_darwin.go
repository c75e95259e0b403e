package api

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID is the user at the other end of a unix socket.
func peerUID(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *unix.Xucred
	ctl := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	if ctl != nil {
		return -1, ctl
	}
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
