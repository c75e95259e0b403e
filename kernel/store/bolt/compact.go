package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"loopx/kernel/store/failpoint"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// Stats are sizes of the file, at one moment.
type Stats struct {
	Bytes int64 // what the pages in use or free take; the file may be a little larger
	Pages int64 // in use or free
	Free  int64 // free: reusable, but never given back to the disk
}

// Stats returns the sizes. It is cheap.
func (s *Store) Stats() (st Stats, err error) {
	err = s.view(context.Background(), func(tx *bbolt.Tx) error {
		st.Bytes = tx.Size()
		st.Pages = tx.Size() / int64(s.db.Info().PageSize)
		db := s.db.Stats()
		st.Free = int64(db.FreePageN + db.PendingPageN)
		return nil
	})
	return st, err
}

const (
	// freeMost: with more free pages, writing the freelist is what a commit costs.
	freeMost = 10_000
	// freeWorth: below this a file is too small to be worth a rewrite.
	freeWorth = 256
)

// NeedsCompact reports whether free pages slow down commits (more than 10,000)
// or waste half of a file that is worth it (1 MiB). It is about a file open for
// writing: bbolt does not count the free pages of a read-only one.
func (s *Store) NeedsCompact() bool {
	st, err := s.Stats()
	return err == nil && (st.Free > freeMost || st.Free > freeWorth && st.Free*2 > st.Pages)
}

// Compact writes a copy without free pages to dst, which must not exist, and
// verifies it. The store goes on; what is committed meanwhile is not in the copy.
// After an error dst is gone.
func (s *Store) Compact(ctx context.Context, dst string) (err error) {
	if err := s.state.ready(ctx); err != nil {
		return err
	}
	f, err := os.OpenFile(dst, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return place(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(dst)
			err = fmt.Errorf("compact to %s: %w", dst, place(err))
		}
	}()
	bo := boltOptions(Options{NoSync: true}) // one sync at the end is enough for a copy
	bo.OpenFile = func(string, int, os.FileMode) (*os.File, error) { return f, nil }
	err = guard(func() error {
		db, err := bbolt.Open(dst, 0o600, bo)
		if err != nil {
			return err
		}
		const perTx = 8 << 20 // bytes; keeps memory flat
		err = bbolt.Compact(db, s.db, perTx)
		if err == nil {
			err = f.Sync()
		}
		return errors.Join(err, db.Close())
	})
	_ = f.Close() // bbolt closed it, unless it panicked
	if err != nil {
		return err
	}
	return VerifyFile(ctx, dst)
}

// CompactFile rewrites the store at path without its free pages. Nobody may have
// it open (store.ErrLocked). A crash leaves the old file or the new one, whole;
// the old one is given up only after the copy was verified.
func CompactFile(ctx context.Context, path string, opts Options) (err error) {
	opts.ReadOnly = false
	s, err := Open(path, opts)
	if err != nil {
		return err
	}
	// Until the end the old file stays open and locked: whoever waits for it sees
	// that the name moved on and opens again.
	defer func() { err = errors.Join(err, s.Close()) }()
	copied := path + ".compact"
	if err := os.Remove(copied); err != nil && !errors.Is(err, os.ErrNotExist) { // of a crash
		return err
	}
	if err := s.Compact(ctx, copied); err != nil {
		return err
	}
	failpoint.Hit(failpoint.CompactSynced)
	if err := os.Rename(copied, path); err != nil {
		return place(errors.Join(err, os.Remove(copied)))
	}
	failpoint.Hit(failpoint.CompactRenamed)
	return syncDir(filepath.Dir(path))
}
