package bolt

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// errBusy: the lock was not to be had in time.
var errBusy = errors.New("the file is locked")

// flock takes a lock on f: one attempt that does not wait, then one that waits
// in the kernel's queue, where waiters are served as they came. It gives up with
// errBusy after timeout, or with an error of every, which is called about each
// 100 ms (nil: never).
//
// After an error f must be closed. A waiting attempt cannot be called back; it
// keeps the descriptor alive until it gets the lock, and lets both go at once.
func flock(f *os.File, how int, timeout time.Duration, every func() error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	lock := func(how int) error {
		var failed error
		err := conn.Control(func(fd uintptr) {
			for {
				if failed = unix.Flock(int(fd), how); failed != unix.EINTR {
					return
				}
			}
		})
		return errors.Join(err, failed)
	}
	err = lock(how | unix.LOCK_NB)
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return err
	}
	if timeout <= 0 {
		return errBusy
	}
	got := make(chan error, 1)
	go func() { got <- lock(how) }()
	end := time.NewTimer(timeout)
	defer end.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-got:
			return err
		case <-end.C:
			return errBusy
		case <-tick.C:
			if every == nil {
				continue
			}
			if err := every(); err != nil {
				return err
			}
		}
	}
}

// sameFile reports whether name leads to the open file f, without following links.
func sameFile(name string, f *os.File) (bool, error) {
	at, err := os.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	return os.SameFile(at, mine), nil
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
