package setup

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// terminal is in as a terminal, or nil.
func terminal(in io.Reader) *os.File {
	f, ok := in.(*os.File)
	if !ok {
		return nil
	}
	if _, err := unix.IoctlGetTermios(int(f.Fd()), getTermios); err != nil {
		return nil
	}
	return f
}

// silence keeps a terminal from showing what is typed, until restore. Lines and
// Ctrl-C work on. What was typed ahead is kept: a person may have pasted early.
func silence(tty *os.File) (restore func(), err error) {
	fd := int(tty.Fd())
	old, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	quiet := *old
	quiet.Lflag &^= unix.ECHO
	quiet.Lflag |= unix.ICANON | unix.ISIG
	quiet.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, setTermios, &quiet); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, old) }, nil
}
