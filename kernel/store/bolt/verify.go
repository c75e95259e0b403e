package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"loopx/kernel/store"

	"go.etcd.io/bbolt"
)

// maxReports bounds how many damaged records one error names.
const maxReports = 10

// Verify reads every page and record of one snapshot through plain reads while
// the store goes on, and returns store.ErrCorrupt with what is damaged. It finds
// more than bbolt's own check and cannot be made to loop or fault; a file that
// is open read-only goes through bbolt's check as well, which no writer may disturb.
func (s *Store) Verify(ctx context.Context) error {
	if err := s.state.ready(ctx); err != nil {
		return err
	}
	// The file holds two metas only: the one of this snapshot must be read before
	// two more commits pass.
	s.metaMu.Lock()
	tx, err := s.beginRead()
	if err != nil {
		s.metaMu.Unlock()
		return err
	}
	m, lost, err := fileMeta(s.file)
	s.metaMu.Unlock()
	if err == nil && m.txid != uint64(tx.ID()) {
		err = damage("the file is at transaction %d, the snapshot at %d", m.txid, tx.ID())
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	var progress atomic.Int64
	return supervise(&progress, func() error {
		defer func() { _ = tx.Rollback() }()
		return errors.Join(lostMeta(lost), s.verify(ctx, tx, m, &progress))
	})
}

func lostMeta(lost error) error {
	if lost == nil {
		return nil
	}
	return damage("one of the two meta pages is damaged, the last commit may be missing: %v", lost)
}

// fileMeta reads the ruling meta of f, and says when the other one is lost.
func fileMeta(f *os.File) (m meta, lost error, err error) {
	info, err := f.Stat()
	if err != nil {
		return meta{}, nil, err
	}
	return readMeta(f, info.Size())
}

func (s *Store) verify(ctx context.Context, tx *bbolt.Tx, m meta, progress *atomic.Int64) error {
	var bad []error
	w := &walker{
		r:    s.file,
		m:    m,
		full: true,
		tick: func() error {
			progress.Add(1)
			return ctx.Err()
		},
		record: func(key, value []byte) error {
			_, err := unpack(key, value)
			if err != nil && len(bad) < maxReports {
				bad = append(bad, err)
			}
			return nil
		},
	}
	walked := w.walk() // fills bad
	err := errors.Join(append(bad, walked)...)
	if err != nil || !s.readOnly {
		return err
	}
	progress.Add(1)
	for found := range tx.Check() {
		if err == nil {
			err = damage("%v", found)
		}
	}
	return err
}

// supervise runs fn and gives up on it when progress stood still for patience.
// fn then stays behind in its goroutine: nothing can call back a read.
func supervise(progress *atomic.Int64, fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- guard(fn) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, since := progress.Load(), time.Now()
	for {
		select {
		case err := <-done:
			return err
		case now := <-tick.C:
			if p := progress.Load(); p != last {
				last, since = p, now
			} else if now.Sub(since) >= patience {
				return fmt.Errorf("%w: a read did not end within %v", store.ErrCorrupt, patience)
			}
		}
	}
}
