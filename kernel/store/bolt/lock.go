package bolt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"loopx/kernel/store"

	"golang.org/x/sys/unix"
)

// lockName is the side file that the one writer of a folder holds locked. It is
// never renamed or deleted: a lock belongs to the file, not to its name.
const lockName = "loopx.lock"

// holderSize is the fixed length of the record in the lock file, so that one
// write replaces it whole.
const holderSize = 1024

// ErrRedialed is returned by Lock when redial said that waiting is over.
var ErrRedialed = errors.New("store: somebody serves this folder now")

// Holder says who holds a folder's lock.
type Holder struct {
	PID     int    `json:"pid"`
	BootID  string `json:"boot_id,omitempty"`
	Command string `json:"command,omitempty"`
	Version string `json:"version,omitempty"`
	// Socket is where the holder listens; empty when it does not.
	Socket string `json:"socket,omitempty"`
	// Since is when the lock was taken, in UTC milliseconds.
	Since int64 `json:"since"`
}

// LockedError is what Lock returns after its timeout. It is store.ErrLocked.
type LockedError struct {
	// Holder is zero when the holder has not written its record yet.
	Holder Holder
	Waited time.Duration
}

func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("%v (waited %v)", store.ErrLocked, e.Waited)
	}
	return fmt.Sprintf("%v: pid %d (%s) since %s (waited %v)", store.ErrLocked, e.Holder.PID, e.Holder.Command,
		time.UnixMilli(e.Holder.Since).UTC().Format(time.RFC3339), e.Waited)
}

// Unwrap makes it store.ErrLocked.
func (e *LockedError) Unwrap() error { return store.ErrLocked }

// Lock is the held lock of a folder. The kernel frees it when the process ends,
// however it ends.
type Lock struct{ f *os.File }

// TakeLock locks dir for this process and records h as its holder; a zero PID
// or Since is filled in. Waiters are served in the order they came.
//
// While it waits, redial (if not nil) is called about every 100 ms; when it
// returns true, the wait ends with ErrRedialed. After timeout (0: at once) a
// *LockedError says who holds the lock.
func TakeLock(dir string, h Holder, timeout time.Duration, redial func() bool) (*Lock, error) {
	if h.PID == 0 {
		h.PID = os.Getpid()
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, place(err)
	}
	var every func() error
	if redial != nil {
		every = func() error {
			if redial() {
				return ErrRedialed
			}
			return nil
		}
	}
	if err := flock(f, unix.LOCK_EX, timeout, every); err != nil {
		if errors.Is(err, errBusy) {
			holder, _ := readHolder(f)
			err = &LockedError{Holder: holder, Waited: max(0, timeout)}
		}
		return nil, errors.Join(err, f.Close())
	}
	if h.Since == 0 {
		h.Since = time.Now().UnixMilli()
	}
	l := &Lock{f}
	if err := l.Record(h); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// Record replaces the holder record, for a daemon that learns its socket later.
func (l *Lock) Record(h Holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(b) > holderSize-1 {
		return fmt.Errorf("store: holder record of %d bytes, limit %d", len(b), holderSize-1)
	}
	record := bytes.Repeat([]byte{' '}, holderSize)
	copy(record, b)
	record[holderSize-1] = '\n'
	_, err = l.f.WriteAt(record, 0)
	return place(err)
}

// Unlock clears the record and frees the lock.
func (l *Lock) Unlock() error {
	_, err := l.f.WriteAt(bytes.Repeat([]byte{' '}, holderSize), 0)
	return errors.Join(err, l.f.Close())
}

// ReadHolder returns the record in dir's lock file and whether the lock is held
// now. A record without a held lock is what a killed holder left behind. With no
// lock file, or no record, the Holder is zero.
func ReadHolder(dir string) (h Holder, held bool, err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, err
	}
	defer func() { _ = f.Close() }()
	if h, err = readHolder(f); err != nil {
		return Holder{}, false, err
	}
	switch err := flock(f, unix.LOCK_SH, 0, nil); {
	case err == nil:
		return h, false, nil
	case errors.Is(err, errBusy):
		return h, true, nil
	default:
		return h, false, err
	}
}

func readHolder(f *os.File) (h Holder, err error) {
	b := make([]byte, holderSize)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Holder{}, err
	}
	b = bytes.TrimSpace(b[:n])
	if len(b) == 0 {
		return Holder{}, nil // also an empty file, which ends early
	}
	if err := json.Unmarshal(b, &h); err != nil {
		return Holder{}, fmt.Errorf("%w: holder record: %v", store.ErrCorrupt, err)
	}
	return h, nil
}
