package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"loopx/kernel/store"
)

func limits(e *env) {
	lim := e.s.Limits()
	if lim.Ops <= 0 || lim.Bytes <= 0 || lim.Value <= 0 {
		e.Fatalf("every limit must be a bound: %+v", lim)
	}
	e.put("a", "1")
	tests := map[string]func(tx store.Tx) error{
		"value": func(tx store.Tx) error { return tx.Put([]byte("v"), make([]byte, lim.Value+1)) },
		"ops": func(tx store.Tx) error {
			for i := range lim.Ops + 1 {
				if err := tx.Put([]byte(store.U64(uint64(i))), nil); err != nil {
					return err
				}
			}
			return nil
		},
		"bytes": func(tx store.Tx) error {
			chunk := make([]byte, min(lim.Value, lim.Bytes))
			for i := range lim.Bytes/len(chunk) + 1 {
				if err := tx.Put([]byte(store.U64(uint64(i))), chunk); err != nil {
					return err
				}
			}
			return nil
		},
		"key": func(tx store.Tx) error { return tx.Put(make([]byte, store.MaxKey+1), nil) },
	}
	for name, fn := range tests {
		wantErr(e, name, e.s.Update(context.Background(), fn), store.ErrTooLarge)
		wantErr(e, name+" with the error dropped", e.s.Update(context.Background(), func(tx store.Tx) error {
			_ = fn(tx)
			return nil
		}), store.ErrTooLarge)
		e.want("a", "1")
	}
	big := bytes.Repeat([]byte{7}, lim.Value-store.MaxKey)
	key := bytes.Repeat([]byte{'k'}, store.MaxKey)
	e.do(func(tx store.Tx) error { return tx.Put(key, big) })
	e.look(func(tx store.ReadTx) error {
		if v, err := tx.Get(key); err != nil || !bytes.Equal(v, big) {
			e.Fatalf("the largest record came back as %d bytes, %v", len(v), err)
		}
		return nil
	})
}

func backup(e *env) {
	if e.h.Restore == nil {
		e.Skip("skipped: this store cannot open its backups")
	}
	for i := range 500 {
		if i%50 == 0 {
			e.do(func(tx store.Tx) error {
				for j := range 50 {
					if err := tx.Put(fmt.Appendf(nil, "k%04d", i+j), bytes.Repeat([]byte{byte(j)}, j*7)); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	want := dump(e, e.s)
	// Writers go on while the copy is made: the copy is one moment, not a mix.
	var buf bytes.Buffer
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			v := fmt.Appendf(nil, "%d", i)
			if err := e.s.Update(context.Background(), func(tx store.Tx) error {
				return errors.Join(tx.Put([]byte("z1"), v), tx.Put([]byte("a1"), v))
			}); err != nil {
				stopped <- err
				return
			}
		}
	}()
	if err := e.s.Backup(context.Background(), &buf); err != nil {
		e.Errorf("Backup: %v", err)
	}
	close(stop)
	if err := <-stopped; err != nil {
		e.Fatalf("a writer during the backup: %v", err)
	}
	r := e.h.Restore(e, filepath.Join(e.TempDir(), "restored"), buf.Bytes(), e.now)
	defer func() {
		if err := r.Close(); err != nil {
			e.Errorf("Close of the restored store: %v", err)
		}
	}()
	if err := r.Verify(context.Background()); err != nil {
		e.Fatalf("Verify of the restored store: %v", err)
	}
	got := dump(e, r)
	if len(got) == len(want)+4 {
		if got[1] != got[len(got)-1] {
			e.Fatalf("the copy mixes two moments: a1 = %s, z1 = %s", got[1], got[len(got)-1])
		}
		got = got[2 : len(got)-2]
	}
	if !slices.Equal(got, want) {
		e.Fatalf("the copy holds %d strings, the store %d, or they differ", len(got), len(want))
	}
	// The copy is a store of its own.
	if err := r.Update(context.Background(), func(tx store.Tx) error { return tx.Put([]byte("new"), nil) }); err != nil {
		e.Fatalf("write to the restored store: %v", err)
	}
	no := errors.New("the disk of the copy is full")
	wantErr(e, "a writer that fails", e.s.Backup(context.Background(), failingWriter{no}), no)
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func verify(e *env) {
	if err := e.s.Verify(context.Background()); err != nil {
		e.Fatalf("empty store: %v", err)
	}
	for round := range 6 {
		e.do(func(tx store.Tx) error {
			for i := range 300 {
				k := fmt.Appendf(nil, "%d/%05d", round%3, i*(round+1))
				if i%7 == round {
					if err := tx.Delete(k); err != nil {
						return err
					}
					continue
				}
				if err := tx.Put(k, bytes.Repeat([]byte{byte(i)}, (i*37)%9000)); err != nil {
					return err
				}
			}
			return nil
		})
		if err := e.s.Verify(context.Background()); err != nil {
			e.Fatalf("round %d: %v", round, err)
		}
	}
}
