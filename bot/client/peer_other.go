//go:build !linux

package client

import "net"

// sameUser relies on the folder, which only this user may enter: the standard
// library cannot ask for the peer here.
func sameUser(net.Conn) error { return nil }
