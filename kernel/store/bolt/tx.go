package bolt

import (
	"bytes"
	"fmt"
	"runtime/debug"

	"loopx/kernel/store"

	"go.etcd.io/bbolt"
)

// readTx reads from a bbolt transaction, which may be a writing one. Each step
// of bbolt runs guarded: what a damaged page makes it do ends as ErrCorrupt.
type readTx struct {
	bucket *bbolt.Bucket
	seek   *bbolt.Cursor // for Get
	now    int64
}

// begin wraps tx at the time now.
func begin(tx *bbolt.Tx, now int64) (*readTx, error) {
	t := &readTx{now: now}
	err := guard(func() error {
		t.bucket = tx.Bucket([]byte(bucketName))
		if t.bucket == nil {
			return damage("the records %q are gone", bucketName)
		}
		t.seek = t.bucket.Cursor()
		return nil
	})
	return t, err
}

func (t *readTx) Now() int64 { return t.now }

func (t *readTx) Get(key []byte) (value []byte, err error) {
	err = guard(func() error {
		k, v := t.seek.Seek(key)
		if k == nil {
			return nil
		}
		// The record that a miss lands on is checked too: where a damaged key
		// moved out of place, that is the one.
		v, err := unpack(k, v)
		if err == nil && bytes.Equal(k, key) {
			value = v
		}
		return err
	})
	return value, err
}

func (t *readTx) Scan(r store.Range, fn func(key, value []byte) bool) error {
	if err := r.Check(); err != nil {
		return err
	}
	var c *bbolt.Cursor
	var k, v []byte
	step := func() error {
		switch {
		case c == nil:
			c = t.bucket.Cursor()
			k, v = first(c, r)
		case r.Reverse:
			k, v = c.Prev()
		default:
			k, v = c.Next()
		}
		if k == nil || !r.Contains(k) {
			k = nil
			return nil
		}
		var err error
		v, err = unpack(k, v)
		return err
	}
	for range r.Limit {
		// fn runs outside of the guard: its panics are its own.
		if err := guard(step); err != nil || k == nil {
			return err
		}
		if !fn(k, v) {
			return nil
		}
	}
	return nil
}

// first moves c to where the walk of r starts.
func first(c *bbolt.Cursor, r store.Range) (k, v []byte) {
	switch {
	case !r.Reverse:
		return c.Seek(r.From)
	case r.To == nil:
		return c.Last()
	}
	if k, _ = c.Seek(r.To); k == nil {
		return c.Last()
	}
	return c.Prev()
}

// faulty is a panic value that comes from touching memory that is not there:
// for a mapped file, a page behind its end or one the disk cannot give.
type faulty interface{ Addr() uintptr }

// guard runs fn, which calls into bbolt but not into the caller's code, and
// turns a panic of it into ErrCorrupt.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: reading the file failed: %v", store.ErrCorrupt, p)
		}
	}()
	return fn()
}

// guardFault runs fn, which is the caller's code, and turns only faults into
// ErrCorrupt; any other panic goes on as if this function were not there.
func guardFault(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if f, ok := p.(faulty); ok {
			err = fmt.Errorf("%w: fault at address %#x in the mapped file", store.ErrCorrupt, f.Addr())
			return
		}
		panic(p)
	}()
	return fn()
}
