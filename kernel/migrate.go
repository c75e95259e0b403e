package kernel

import (
	"context"
	"fmt"
	"strconv"

	"loopx/kernel/store"
)

// Layout returns the version of a store's table layout; 0 rows give Schema.
func Layout(ctx context.Context, st store.Store) (int, error) {
	version := Schema
	err := st.View(ctx, func(tx store.ReadTx) error {
		v, err := tx.Get(store.Key(tblSchema))
		if err != nil || len(v) == 0 {
			return err
		}
		if version, err = strconv.Atoi(string(v)); err != nil {
			return fmt.Errorf("%w: the schema row reads %q", store.ErrCorrupt, v)
		}
		return nil
	})
	return version, err
}

// Migrate writes what is in from, whose layout is older, into the empty store to
// in the layout of this version. Tables follow from the journal, whose own layout
// never changes: they are built anew from it, so no rule of an older version is
// needed. What does not follow from it, and the rows of other rooms, are copied.
// Afterwards both have the same journal head.
func Migrate(ctx context.Context, from, to store.Store) error {
	version, err := Layout(ctx, from)
	switch {
	case err != nil:
		return err
	case version > Schema:
		return newerSchema(version)
	}
	if err := Replay(ctx, from, to); err != nil {
		return err
	}
	out := &copier{ctx: ctx, to: to}
	err = eachRow(ctx, from, func(k, v []byte) error {
		if Rebuilt(k) {
			return nil
		}
		return out.put(k, v)
	})
	if err == nil {
		err = out.flush()
	}
	if err != nil {
		return err
	}
	return sameHead(ctx, from, to)
}

// sameHead refuses a migration after which a record reads differently.
func sameHead(ctx context.Context, from, to store.Store) error {
	var heads [2]Head
	for i, st := range []store.Store{from, to} {
		err := st.View(ctx, func(tx store.ReadTx) error {
			r := &Reader{tx: tx}
			heads[i] = r.Head()
			return r.err
		})
		if err != nil {
			return err
		}
	}
	if heads[0] != heads[1] {
		return Errorf(Unavailable, "migration_differs", "the journal does not read the same in this version; nothing was changed").Try("restore a backup with the version that wrote it")
	}
	return nil
}

func newerSchema(n int) error {
	return Errorf(Unavailable, "newer_schema", "the state was written by a newer loopx (layout %d, this one knows %d); it was left untouched", n, Schema).Try("install the newer loopx, or restore a backup made by this version")
}
