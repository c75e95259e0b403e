package bolt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"loopx/kernel/store"
	"loopx/kernel/store/failpoint"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

const (
	// patience is how long a step on the file may take before it counts as hung.
	patience = 10 * time.Second
	// growStep is the size by which a large file grows.
	growStep = 1 << 20
	// growScratch is the same for a file that is written without syncs.
	growScratch = 64 << 20
	// maxOpens bounds the retries when the file is replaced while it is opened.
	maxOpens = 10
)

// Open opens the store at path. It makes an empty one when nothing is there,
// unless opts.ReadOnly; it never makes one in the place of a damaged file.
//
// Errors: store.ErrLocked (another process has it), store.ErrCorrupt (the file
// is damaged, kept as it is, and the error says where), store.ErrFull,
// store.ErrReadOnly (the medium, the folder or the rights refuse), and
// fs.ErrNotExist for a missing file with opts.ReadOnly or a missing folder.
func Open(path string, opts Options) (*Store, error) {
	o := opts.withDefaults()
	type result struct {
		db   *bbolt.DB
		file *os.File
		err  error
	}
	// A read from a damaged disk can hang where nobody can interrupt it: the
	// caller gets its error, the goroutine stays behind.
	opened := make(chan result, 1)
	go func() {
		var r result
		r.db, r.file, r.err = openRetry(path, o)
		opened <- r
	}()
	hung := time.NewTimer(patience + max(0, o.LockTimeout))
	defer hung.Stop()
	var r result
	select {
	case r = <-opened:
	case <-hung.C:
		go func() {
			if r := <-opened; r.err == nil {
				_ = r.db.Close()
			}
		}()
		r.err = damage("the file could not be read within %v", patience)
	}
	if r.err != nil {
		return nil, fmt.Errorf("open %s: %w", path, r.err)
	}
	s := &Store{
		db:       r.db,
		file:     r.file,
		path:     path,
		clock:    o.Clock,
		limits:   o.Limits,
		readOnly: o.ReadOnly,
		state:    &state{log: o.Logger.With("file", path), failed: make(chan struct{})},
	}
	if !s.readOnly {
		s.writer = newWriter(s)
		go s.writer.run()
	}
	return s, nil
}

// errReplaced: another process gave the name to another file while this one
// waited for the lock of the old one.
var errReplaced = errors.New("the file was replaced while it was opened")

func openRetry(path string, o Options) (db *bbolt.DB, f *os.File, err error) {
	for range maxOpens {
		if db, f, err = openOnce(path, o); !errors.Is(err, errReplaced) {
			break
		}
	}
	return db, f, err
}

func openOnce(path string, o Options) (db *bbolt.DB, f *os.File, err error) {
	if !o.ReadOnly {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			if err := birth(path, o); err != nil {
				return nil, nil, err
			}
		}
	}
	bo := boltOptions(o)
	bo.ReadOnly = o.ReadOnly
	bo.OpenFile = func(string, int, os.FileMode) (_ *os.File, err error) {
		f, err = openLocked(path, o)
		return f, err
	}
	err = guard(func() (err error) {
		db, err = bbolt.Open(path, 0o600, bo)
		return err
	})
	if err != nil {
		if f != nil {
			_ = f.Close() // bbolt closed it, unless it panicked
		}
		return nil, nil, place(err)
	}
	db.AllocSize = growStep
	if o.NoSync {
		db.AllocSize = growScratch // bbolt syncs the file each time it grows
	}
	return db, f, nil
}

func boltOptions(o Options) *bbolt.Options {
	bo := &bbolt.Options{
		// The lock is held before bbolt asks for it.
		Timeout:      time.Second,
		FreelistType: bbolt.FreelistMapType,
		NoSync:       o.NoSync,
	}
	if strconv.IntSize == 64 {
		// Address space costs nothing, and a map that need not grow spares writers
		// from waiting for open Views.
		bo.InitialMmapSize = 1 << 30
	}
	return bo
}

// openLocked opens, locks and inspects the file. What it returns is what bbolt
// maps: nothing can change in between.
func openLocked(path string, o Options) (_ *os.File, err error) {
	if err := plain(path); err != nil {
		return nil, err
	}
	flag, how := os.O_RDWR, unix.LOCK_EX
	if o.ReadOnly {
		flag, how = os.O_RDONLY, unix.LOCK_SH
	}
	f, err := os.OpenFile(path, flag|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	if err := flock(f, how, o.LockTimeout, nil); errors.Is(err, errBusy) {
		return nil, fmt.Errorf("%w (waited %v)", store.ErrLocked, max(0, o.LockTimeout))
	} else if err != nil {
		return nil, err
	}
	same, err := sameFile(path, f)
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, errReplaced
	}
	return f, inspect(f, o)
}

// plain refuses everything but a regular file.
func plain(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode()&os.ModeSymlink != 0:
		return damage("it is a symbolic link")
	case !info.Mode().IsRegular():
		return damage("it is no regular file (%v)", info.Mode().Type())
	}
	return nil
}

// inspect checks what bbolt would trust: size, meta pages and, unless the file is
// sealed, root, branches and freelist. The records and leaves are for Verify.
func inspect(f *os.File, o Options) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 && !o.ReadOnly {
		o.Logger.Warn("the state file was open to other users; it is private now", "file", f.Name(), "mode", perm.String())
		if err := f.Chmod(perm & 0o700); err != nil {
			return err
		}
	}
	m, lost, err := readMeta(f, info.Size())
	if err == nil && (lost != nil || !sealed(f.Name(), f, m)) {
		err = (&walker{r: f, m: m}).walk()
	}
	if err != nil {
		return fmt.Errorf("%w; the file was kept", err)
	}
	if lost != nil {
		o.Logger.Warn("one of the two meta pages is damaged: the last commit may be missing",
			"file", f.Name(), "transaction", m.txid, "error", lost)
	}
	return nil
}

// place maps errors of opening to the store's.
func place(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("%w: %w", store.ErrLocked, err)
	case isFull(err):
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	}
	return err
}

// birth makes an empty store at path. It is built under another name and gets
// path only when it is whole and durable: a file that a full disk or a crash cut
// off in its first moments would kill every later start.
//
// Two processes may do this at once: the lock on the new file decides, and
// whoever comes second finds path taken.
func birth(path string, o Options) (err error) {
	name := path + ".new"
	f, err := lockNew(name, o.LockTimeout)
	if err != nil {
		return place(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(os.Remove(name), err)
	}
	failpoint.Hit(failpoint.BirthCreated)
	defer func() {
		if err != nil {
			_ = os.Remove(name)
			err = fmt.Errorf("a new store could not be made: %w", place(err))
		}
	}()
	bo := boltOptions(o)
	bo.NoSync = false
	bo.OpenFile = func(string, int, os.FileMode) (*os.File, error) { return f, f.Truncate(0) }
	return guard(func() error {
		db, err := bbolt.Open(name, 0o600, bo)
		if err != nil {
			return err
		}
		db.AllocSize = growStep
		err = fill(db, f, o.Logger)
		if err == nil {
			failpoint.Hit(failpoint.BirthSynced)
			err = os.Rename(name, path)
		}
		if err == nil {
			failpoint.Hit(failpoint.BirthRenamed)
			err = syncDir(filepath.Dir(path))
		}
		return errors.Join(err, db.Close())
	})
}

// fill makes the bucket in a new file and checks the result as a later Open would.
func fill(db *bbolt.DB, f *os.File, log *slog.Logger) error {
	if err := db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte(bucketName))
		return err
	}); err != nil {
		return err
	}
	if err := db.Sync(); err != nil {
		return err
	}
	if err := inspect(f, Options{Logger: log}); err != nil {
		return err
	}
	return db.View(func(tx *bbolt.Tx) error {
		_, err := begin(tx, 0)
		return err
	})
}

// lockNew opens the file of a birth, making it when needed, and locks it.
func lockNew(name string, timeout time.Duration) (*os.File, error) {
	for range maxOpens {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		err = flock(f, unix.LOCK_EX, timeout, nil)
		if errors.Is(err, errBusy) {
			err = fmt.Errorf("%w: another process is making the store", store.ErrLocked)
		}
		if err == nil {
			var same bool
			if same, err = sameFile(name, f); same {
				return f, nil
			}
		}
		_ = f.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, errReplaced
}

// VerifyFile verifies the file at path without changing it. It is made for a
// child process with a time limit: what a damaged file can do to a process
// stays there.
func VerifyFile(ctx context.Context, path string) (err error) {
	s, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Verify(ctx)
}
