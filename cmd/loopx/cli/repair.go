package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
)

// repairRows bounds the index rows that one repair mends.
const repairRows = 100_000

// repair is what a repair found and, when told to, mended.
type repair struct {
	rows   []row    // index rows with what belongs there; a nil value belongs away
	beyond []string // rows that differ and are no index
	leases []string // todos whose lease ran out
	ended  int
	backup string
}

// doctorRepair finds indexes that do not follow from the journal, and leases that
// ran out; with execute it copies the state and mends both.
func doctorRepair(a *app, limit time.Duration, execute bool) error {
	if _, err := a.workspace(); err != nil {
		return err
	}
	home := a.access.home
	if err := home.Check(); err != nil {
		return err
	}
	if !home.Exists() {
		return kernel.Errorf(kernel.NotFound, codeNoState, "there is no workspace in %s yet", home.Dir).Try("loopx goal create --goal-id NAME --objective TEXT")
	}
	if err := notServed(home); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	boot, _ := client.SystemClock{}.Boot()
	lock, err := bolt.TakeLock(home.Dir, bolt.Holder{BootID: boot, Command: a.access.command, Version: client.Version}, a.g.wait, client.New(home).Listening)
	switch e, busy := errors.AsType[*bolt.LockedError](err); {
	case busy:
		return client.LockedBy(home, e.Holder.PID, e.Holder.Command, e.Holder.Since)
	case errors.Is(err, bolt.ErrRedialed):
		return served(home)
	case err != nil:
		return kernel.AsError(err)
	}
	defer func() { _ = lock.Unlock() }() // the system frees it with the process anyway
	if c := a.fileCheck(home, limit); c.State == stateBad {
		return kernel.Errorf(kernel.Unavailable, "state_damaged", "the state file: %s", c.Text).Try("restore a backup: loopx backup restore --file FILE")
	}
	r := &repair{}
	if err := r.find(ctx, home); err != nil {
		return err
	}
	if len(r.beyond) > 0 {
		e := kernel.Errorf(kernel.Unavailable, "beyond_repair", "%s not follow from the journal, and more than indexes: %s", count(len(r.beyond), "row does", "rows do"), strings.Join(r.beyond[:min(len(r.beyond), 3)], ", "))
		return e.Try("keep a copy of %s, then restore a backup: loopx backup restore --file FILE", home.DB())
	}
	if execute && len(r.rows)+len(r.leases) > 0 {
		r.backup = home.DB() + ".before-repair-" + a.now().UTC().Format("20060102T150405Z")
		if err := copyFile(ctx, home.DB(), r.backup); err != nil {
			return err
		}
		if err := r.mend(ctx, home); err != nil {
			e := kernel.AsError(err)
			e.Kept = "the state as it was is in " + r.backup
			return e
		}
	}
	return a.out(r.fields(execute), func() string { return r.text(execute) })
}

// find replays the journal into a scratch store and compares.
func (r *repair) find(ctx context.Context, home client.Home) (err error) {
	scratch, err := os.MkdirTemp("", "loopx-repair-")
	if err != nil {
		return fileError(os.TempDir(), err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	st, err := bolt.Open(home.DB(), bolt.Options{ReadOnly: true, LockTimeout: time.Second})
	if err != nil {
		return kernel.AsError(err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	to, err := bolt.Open(filepath.Join(scratch, "replay.db"), bolt.Options{NoSync: true, Limits: kernel.ReplayLimits()})
	if err != nil {
		return fileError(scratch, err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := kernel.Replay(ctx, st, to); err != nil {
		return kernel.Errorf(kernel.Unavailable, "beyond_repair", "the journal itself is damaged: %s", show(err.Error(), 200)).
			Try("keep a copy of %s, then restore a backup: loopx backup restore --file FILE", home.DB())
	}
	err = differences(ctx, &rowsOf{st: st}, &rowsOf{st: to}, func(key, want []byte) bool {
		if kernel.Mendable(key) {
			r.rows = append(r.rows, row{bytes.Clone(key), bytes.Clone(want)})
		} else {
			r.beyond = append(r.beyond, keyText(key))
		}
		return len(r.rows) < repairRows
	})
	if err != nil {
		return kernel.AsError(err)
	}
	k, err := kernel.Open(ctx, st, client.SystemClock{})
	if err != nil {
		return kernel.AsError(err)
	}
	return k.Read(ctx, func(rd *kernel.Reader) error {
		for _, c := range rd.Stale(repairRows) {
			r.leases = append(r.leases, c.Todo)
		}
		return nil
	})
}

// mend writes the index rows in one transaction, then ends the leases by commands
// that stand in the journal.
func (r *repair) mend(ctx context.Context, home client.Home) (err error) {
	st, err := bolt.Open(home.DB(), bolt.Options{LockTimeout: time.Second})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if len(r.rows) > 0 {
		err = st.Update(ctx, func(tx store.Tx) error {
			for _, w := range r.rows {
				var err error
				if w.value == nil {
					err = tx.Delete(w.key)
				} else {
					err = tx.Put(w.key, w.value)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	k, err := kernel.Open(ctx, st, client.SystemClock{})
	if err != nil {
		return err
	}
	for {
		rec, err := k.Do(ctx, &kernel.EndStaleLeases{}, kernel.Options{By: client.ActorOf("", false)})
		if err != nil {
			return err
		}
		if !rec.Changed {
			return nil
		}
		r.ended++
	}
}

func (r *repair) fields(done bool) *fields {
	keys := []string{}
	for _, w := range r.rows[:min(len(r.rows), 50)] {
		keys = append(keys, keyText(w.key))
	}
	change := len(r.rows)+len(r.leases) > 0
	f := newFields().set("index_rows", len(r.rows)).set("rows", keys).set("stale_leases", append([]string{}, r.leases...)).
		set("changed", done && change).set("backup", r.backup)
	if !done {
		f.set("preview", true).set("dry_run", true).set("would_change", change)
	}
	return f
}

func (r *repair) text(done bool) string {
	if len(r.rows)+len(r.leases) == 0 {
		return "Nothing to mend: every index follows from the journal, and no lease ran out.\n"
	}
	what := fmt.Sprintf("%s, %s", count(len(r.rows), "index row", "index rows"), count(len(r.leases), "lease that ran out", "leases that ran out"))
	if !done {
		return "would mend: " + what + "\n  the state is copied first; nothing was changed\n  to do it add --execute\n"
	}
	return "Mended: " + what + "\nThe state as it was: " + show(r.backup, 400) + "\n"
}
