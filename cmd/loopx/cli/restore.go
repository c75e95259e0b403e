package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store/bolt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const actRestore = "restoring a backup"

// restored is what a restore did, or would do.
type restored struct {
	from *copyInfo
	old  *copyInfo // the state that is there now; nil when there is none or it cannot be read
	lost bool      // it cannot be read
	kept string    // where the old file stays
	// what was taken out of the copy
	Leases int `json:"leases_ended"`
	Slots  int `json:"slots_freed"`
	Links  int `json:"links_suspended"`
	Grants int `json:"grants_revoked"`
	// head after it
	head kernel.Head
}

func backupRestore(a *app) *cobra.Command {
	var file string
	var execute bool
	var limit time.Duration
	c := a.verbOf("restore", "put a copy in the place of the state (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		f.StringVar(&file, "file", "", "copy to restore; it stays as it is")
		f.DurationVar(&limit, "timeout", 10*time.Minute, "how long the check of the copy may take")
		f.BoolVar(&execute, "execute", false, "do it")
		a.ownerFlags(f)
	}, func() error {
		if file == "" {
			return missingFile("restore")
		}
		path, err := filepath.Abs(file)
		if err != nil {
			return fileError(file, err)
		}
		r, err := a.restore(path, limit, execute)
		if err != nil {
			return err
		}
		return a.out(r.fields(execute), func() string { return r.text(execute) })
	})
	c.Long = "Checks the copy, ends the leases, reserved slots and standing approvals in it, lets\n" +
		"linked chat accounts wait for your confirmation again, and puts it in the place of the\n" +
		"state. The old file is kept beside it with the time in its name. Stop the bot first."
	return c
}

func (r *restored) fields(done bool) *fields {
	f := r.from.fields()
	if r.old != nil {
		f.set("replaces", map[string]any{"records": r.old.Records, "journal_head": r.old.Head})
	}
	f.set("changed", done).set("executed", done)
	if !done {
		return f.set("preview", true).set("dry_run", true).set("would_change", true)
	}
	f.set("leases_ended", r.Leases).set("slots_freed", r.Slots).set("grants_revoked", r.Grants).set("links_suspended", r.Links).set("new_journal_head", r.head)
	if r.kept != "" {
		f.set("kept", r.kept)
	}
	return f
}

// asBefore is what a restore does not touch, and its reader must know.
const asBefore = "What waited to be sent to chats in the copy may be sent again; cards shown there may be newer than the state.\n"

func (r *restored) text(done bool) string {
	if !done {
		text := "would restore: " + show(r.from.File, 400) + ": " + r.from.line() + "\n"
		if r.old != nil {
			text += "  in the place of: " + r.old.line() + "\n"
		}
		if r.lost {
			text += "  in the place of a state that cannot be read now; its file is kept\n"
		}
		return text + "  leases, reserved slots and standing approvals end; chat accounts must be confirmed again\n" +
			"  " + asBefore + "  nothing was changed\n  to do it add --execute\n"
	}
	text := "Restored " + show(r.from.File, 400) + ": " + r.from.line() + "\n" +
		fmt.Sprintf("Ended: %s, %s, %s. To be confirmed again: %s.\n", count(r.Leases, "lease", "leases"), count(r.Slots, "reserved slot", "reserved slots"),
			count(r.Grants, "standing approval", "standing approvals"), count(r.Links, "chat account", "chat accounts"))
	if r.kept != "" {
		text += "The old file is kept: " + show(r.kept, 400) + "\n"
	}
	text += asBefore
	if r.Links > 0 {
		text += "  next: loopx link confirm\n"
	}
	return text
}

// restore verifies a copy and, when told to, installs it. What is installed is
// the very file that was verified: a private copy of the one that was named.
func (a *app) restore(path string, limit time.Duration, execute bool) (*restored, error) {
	if !execute {
		if _, err := a.ownerPreview(actRestore); err != nil {
			return nil, err
		}
	} else if err := a.noAgent(actRestore, a.g.asOwner && a.interactive()); err != nil {
		return nil, err
	}
	if _, err := a.workspace(); err != nil {
		return nil, err
	}
	home := a.access.home
	if err := home.Check(); err != nil {
		return nil, err
	}
	if err := notServed(home); err != nil {
		return nil, err
	}
	if sameFile(path, home.DB()) {
		return nil, kernel.Errorf(kernel.Invalid, "same_file", "%s is the state itself", show(path, 400)).Try("name the copy")
	}
	from, err := a.verify(path, limit)
	if err != nil {
		return nil, err
	}
	r := &restored{from: from, old: a.oldState(home)}
	r.lost = r.old == nil && home.Exists()
	if !execute {
		return r, nil
	}
	// A machine without a state yet has no token to show: it is made first, as a
	// first command would.
	if err := home.Ensure(); err != nil {
		return nil, err
	}
	if err := a.tokenOf(home); err != nil {
		return nil, err
	}
	by, err := a.owner(actRestore, func() string {
		return r.text(false) + "The state in " + home.Dir + " is replaced by this copy."
	}, "restore")
	if err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return r, a.install(ctx, path, limit, by, r)
}

// tokenOf compares the token that is shown with the folder's also where there is
// no state yet, which other owner's acts do not need to.
func (a *app) tokenOf(home client.Home) error {
	if a.g.tokenFile == "" {
		return nil
	}
	shown, err := client.ReadToken(a.g.tokenFile)
	if err != nil {
		return err
	}
	mine, err := home.Token()
	if err != nil {
		return err
	}
	if !client.SameToken(shown, mine) {
		return kernel.Errorf(kernel.Denied, "token_bad", "the owner token is not the one of %s", home.Dir).Try("use owner.token of the state folder")
	}
	return nil
}

// notServed refuses while a bot serves the folder: it would go on with the file
// it has open.
func notServed(home client.Home) error {
	if !client.New(home).Listening() {
		return nil
	}
	return served(home)
}

func served(home client.Home) error {
	h, _, _ := bolt.ReadHolder(home.Dir)
	return client.LockedBy(home, h.PID, h.Command, h.Since).Try("stop loopx-bot, then run the same command again")
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// oldState is what is replaced, as far as it can be read: a damaged state is what
// a copy is restored for.
func (a *app) oldState(home client.Home) *copyInfo {
	if !home.Exists() {
		return nil
	}
	info, err := lookAt(a.ctx, home.DB())
	if err != nil {
		return nil
	}
	return info
}

func (a *app) install(ctx context.Context, path string, limit time.Duration, by kernel.Actor, r *restored) error {
	home := a.access.home
	part, drop := working(home, "restore")
	defer drop()
	if err := copyFile(ctx, path, part); err != nil {
		return err
	}
	if info, err := a.verify(part, limit); err != nil {
		return err
	} else if info.Head != r.from.Head {
		return kernel.Errorf(kernel.Conflict, "file_changed", "%s has changed since it was checked", show(path, 400)).Try("run the same command again")
	}
	if err := r.settle(ctx, part, by); err != nil {
		return err
	}
	return aloneIn(a, home, func() (err error) {
		r.kept, err = swapState(a, ctx, home, part)
		return err
	})
}

// settle takes out of the copy what the world has moved on from.
func (r *restored) settle(ctx context.Context, path string, by kernel.Actor) (err error) {
	st, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	k, err := kernel.Open(ctx, st, client.SystemClock{})
	if err != nil {
		return err
	}
	// The key puts the restore into the journal also when there was nothing to end.
	opt := kernel.Options{By: by, Key: kernel.NewID("restore_", 16)}
	for {
		rec, err := k.Do(ctx, &kernel.RestoreState{From: r.from.Head}, opt)
		if err != nil {
			return err
		}
		var n restored
		if err := json.Unmarshal(rec.Result, &n); err != nil {
			return err
		}
		r.Leases, r.Slots, r.Links, r.Grants = r.Leases+n.Leases, r.Slots+n.Slots, r.Links+n.Links, r.Grants+n.Grants
		if !rec.Changed {
			break
		}
		opt.Key = ""
	}
	return k.Read(ctx, func(rd *kernel.Reader) error { r.head = rd.Head(); return nil })
}

// copyFile makes a private, durable copy.
func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return kernel.Errorf(kernel.Invalid, "file_unreadable", "the file %s cannot be read", show(from, 400))
	}
	defer func() { _ = in.Close() }()
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fileError(to, err)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fileError(to, err)
	}
	_, err = io.Copy(out, &ctxReader{ctx, in})
	return fileError(to, errors.Join(err, out.Sync(), out.Close()))
}

// ctxReader ends a copy with its context.
type ctxReader struct {
	ctx context.Context
	in  io.Reader
}

// Read implements io.Reader.
func (r *ctxReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, kernel.Errorf(kernel.Unavailable, "interrupted", "the command was interrupted")
	}
	return r.in.Read(p)
}

// keepOld gives the old state a second name, or where a file system knows no
// second names copies it.
func keepOld(ctx context.Context, db, kept string) error {
	err := os.Link(db, kept)
	if errors.Is(err, os.ErrExist) {
		return exists(kept)
	}
	if err != nil {
		return copyFile(ctx, db, kept)
	}
	return nil
}
