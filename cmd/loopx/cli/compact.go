package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store/bolt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const actCompact = "compacting the journal"

// compacted is what a compaction did, or would do.
type compacted struct {
	Upto     uint64      `json:"upto"`    // records up to this one
	Removed  uint64      `json:"records"` // how many of them are left out
	Before   int64       `json:"size_before"`
	After    int64       `json:"size_after,omitempty"`
	Turns    int         `json:"turns_forgotten"`
	Receipts int         `json:"receipts_forgotten"`
	Kept     string      `json:"kept,omitempty"`
	Head     kernel.Head `json:"journal_head"`
}

func compactCmd(a *app) *cobra.Command {
	var before string
	var execute bool
	var limit time.Duration
	c := a.verbOf("compact", "", func(f *pflag.FlagSet) {
		f.StringVar(&before, "before", "", "day (2026-05-01) or RFC 3339 time before which records are left out")
		f.DurationVar(&limit, "timeout", 10*time.Minute, "how long the check of the result may take")
		f.BoolVar(&execute, "execute", false, "do it")
		a.ownerFlags(f)
	}, func() error {
		date, err := dayOf(before)
		if err != nil {
			return err
		}
		r, err := compactState(a, date, limit, execute)
		if err != nil {
			return err
		}
		raw, err := kernel.Marshal(r)
		if err != nil {
			return err
		}
		f := newFields().add(raw).set("executed", execute).set("changed", execute && r.changes())
		if !execute {
			f.set("preview", true).set("dry_run", true).set("would_change", r.changes())
		}
		return a.out(f, func() string { return r.text(execute) })
	})
	c.Long = "Puts a snapshot of the tables in the place of the records before a day, forgets receipts\n" +
		"and turns that are over for 30 days, checks the result and makes it the state: an owner's\n" +
		"act. Records of the last 32 days, and what a bot has not shown yet, stay. The old file is\n" +
		"kept beside it with the time in its name. Stop the bot first."
	return c
}

// dayOf reads a day or a point in time.
func dayOf(s string) (int64, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return 0, kernel.Errorf(kernel.Invalid, "bad_date", "--before %q must be a day (2026-05-01) or RFC 3339", show(s, 40)).Try("loopx compact --before 2026-05-01")
}

func (r *compacted) changes() bool { return r.Removed > 0 || r.Turns > 0 || r.Receipts > 0 }

func (r *compacted) text(done bool) string {
	switch {
	case !r.changes():
		return "There is nothing to leave out before that day.\n"
	case !done:
		return fmt.Sprintf("would leave out %s of %s, and forget receipts and turns that are over for 30 days\n  nothing was changed\n  to do it add --execute\n",
			count(int(r.Removed), "record", "records"), size(r.Before))
	}
	return fmt.Sprintf("Left out %s; forgot %s and %s. %s before, %s now.\nThe old file is kept: %s\n", count(int(r.Removed), "record", "records"),
		count(r.Turns, "turn", "turns"), count(r.Receipts, "receipt", "receipts"), size(r.Before), size(r.After), show(r.Kept, 400))
}

func compactState(a *app, before int64, limit time.Duration, execute bool) (*compacted, error) {
	if !execute {
		if _, err := a.ownerPreview(actCompact); err != nil {
			return nil, err
		}
	} else if err := a.noAgent(actCompact, a.g.asOwner && a.interactive()); err != nil {
		return nil, err
	}
	home, err := stateHome(a)
	if err != nil {
		return nil, err
	}
	r := &compacted{}
	if err := aloneIn(a, home, func() error { return r.plan(a.ctx, home, before) }); err != nil || !execute {
		return r, err
	}
	by, err := a.owner(actCompact, func() string {
		return r.text(false) + "The state in " + home.Dir + " is replaced by its compacted copy."
	}, "compact")
	if err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	r = &compacted{}
	return r, aloneIn(a, home, func() error { return r.run(ctx, a, home, before, limit, by) })
}

// stateHome is the folder of a state that is there and that nobody serves.
func stateHome(a *app) (client.Home, error) {
	if _, err := a.workspace(); err != nil {
		return client.Home{}, err
	}
	home := a.access.home
	if err := home.Check(); err != nil {
		return home, err
	}
	if !home.Exists() {
		return home, kernel.Errorf(kernel.NotFound, codeNoState, "there is no workspace in %s yet", home.Dir).Try("loopx goal create --goal-id NAME --objective TEXT")
	}
	return home, notServed(home)
}

// plan counts what would be left out. What pruning will have looked at by then is
// what is old enough.
func (r *compacted) plan(ctx context.Context, home client.Home, before int64) error {
	return r.on(ctx, home.DB(), true, func(k *kernel.Kernel) error {
		return k.Read(ctx, func(rd *kernel.Reader) error {
			return r.bound(rd, min(before, rd.Now()-kernel.PruneAge), math.MaxUint64)
		})
	})
}

// bound finds the last record that goes.
func (r *compacted) bound(rd *kernel.Reader, before int64, pruned uint64) error {
	upto, date, err := inbox.CompactBound(rd, before)
	if err != nil {
		return err
	}
	r.Upto, r.Removed, r.Head = rd.CompactTo(date, min(upto, pruned)), 0, rd.Head()
	if r.Upto > 0 {
		r.Removed = r.Upto
		if b := rd.Base(); b != nil {
			r.Removed -= b.Seq
		}
	}
	return rd.Err()
}

// on opens a state file for fn.
func (r *compacted) on(ctx context.Context, path string, readOnly bool, fn func(*kernel.Kernel) error) (err error) {
	st, err := bolt.Open(path, bolt.Options{ReadOnly: readOnly})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if at, err := os.Stat(path); err == nil {
		r.Before = max(r.Before, at.Size())
	}
	k, err := kernel.Open(ctx, st, client.SystemClock{})
	if err != nil {
		return err
	}
	return fn(k)
}

// run prunes a private copy, writes a compacted copy of that, and when it verifies
// makes it the state.
func (r *compacted) run(ctx context.Context, a *app, home client.Home, before int64, limit time.Duration, by kernel.Actor) error {
	part, drop := working(home, "prune")
	defer drop()
	if err := copyFile(ctx, home.DB(), part); err != nil {
		return err
	}
	err := r.on(ctx, part, false, func(k *kernel.Kernel) error {
		if err := r.prune(ctx, k, by); err != nil {
			return err
		}
		return k.Read(ctx, func(rd *kernel.Reader) error { return r.bound(rd, before, rd.PrunedUpto()) })
	})
	if err != nil || !r.changes() {
		return err
	}
	final := part
	if r.Upto > 0 {
		small, drop := working(home, "compact")
		defer drop()
		if err := r.write(ctx, part, small, by); err != nil {
			return err
		}
		final = small
	}
	info, err := a.verify(final, limit)
	if err != nil {
		return err
	}
	r.After, r.Head = info.Size, info.Head
	r.Kept, err = swapState(a, ctx, home, final)
	return err
}

func (r *compacted) prune(ctx context.Context, k *kernel.Kernel, by kernel.Actor) error {
	for {
		rec, err := k.Do(ctx, &kernel.PruneState{}, kernel.Options{By: by})
		if err != nil {
			return err
		}
		var n struct {
			Turns, Receipts int
			More            bool
		}
		if err := decode(rec.Result, &n); err != nil {
			return err
		}
		r.Turns, r.Receipts = r.Turns+n.Turns, r.Receipts+n.Receipts
		if !n.More {
			return nil
		}
	}
}

// write makes the compacted copy and notes in its journal what it stands for.
func (r *compacted) write(ctx context.Context, from, to string, by kernel.Actor) (err error) {
	dir, err := os.MkdirTemp("", "loopx-compact-")
	if err != nil {
		return fileError(os.TempDir(), err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	src, err := bolt.Open(from, bolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	scratch, err := bolt.Open(filepath.Join(dir, "tables.db"), bolt.Options{NoSync: true, Limits: kernel.ReplayLimits()})
	if err != nil {
		return fileError(dir, err)
	}
	defer func() { _ = scratch.Close() }() // it was only for this
	dst, err := bolt.Open(to, bolt.Options{})
	if err != nil {
		return fileError(to, err)
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	base, err := kernel.WriteCompacted(ctx, src, scratch, dst, r.Upto)
	if err != nil {
		return err
	}
	k, err := kernel.Open(ctx, dst, client.SystemClock{})
	if err != nil {
		return err
	}
	_, err = k.Do(ctx, &kernel.CompactState{Base: *base}, kernel.Options{By: by})
	return err
}
