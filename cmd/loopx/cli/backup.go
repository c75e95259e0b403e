package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
	"loopx/kernel/store/failpoint"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func backupCmd(a *app) *cobra.Command {
	return noun("backup", backupCreate(a), backupVerify(a), backupRestore(a))
}

// copyInfo is what is said about a copy of the state.
type copyInfo struct {
	File    string      `json:"file"`
	Size    int64       `json:"size_bytes"`
	Records uint64      `json:"records"`
	Head    kernel.Head `json:"journal_head"`
}

func (c *copyInfo) fields() *fields {
	return newFields().set("file", c.File).set("size_bytes", c.Size).set("records", c.Records).set("journal_head", c.Head)
}

// line is a copy in words.
func (c *copyInfo) line() string {
	head := c.Head.Hash
	if len(head) > 16 {
		head = head[:16] + "…"
	}
	if head == "" {
		head = "none"
	}
	return fmt.Sprintf("%s, %s, journal head %s", count(int(c.Records), "record", "records"), size(c.Size), head)
}

// size is a number of bytes in the unit people read.
func size(n int64) string {
	switch {
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// backer is a service that can copy its state: the daemon's client, and the
// store itself.
type backer interface {
	Backup(ctx context.Context, w io.Writer) error
}

func backupCreate(a *app) *cobra.Command {
	var out string
	var force bool
	return a.verbOf("create", "copy the state into a file, also while the bot runs", func(f *pflag.FlagSet) {
		f.StringVar(&out, "output", "", "file to write; it gets its name when it is whole")
		f.BoolVar(&force, "force", false, "replace a file of that name")
	}, func() error {
		info, err := a.backup(out, force)
		if err != nil {
			return err
		}
		return a.out(info.fields(), func() string {
			return "Copied to " + show(info.File, 400) + ": " + info.line() + "\n  check it: loopx backup verify --file " + show(info.File, 400) + "\n"
		})
	})
}

// backup writes a copy under a temporary name beside its place, makes it durable,
// looks at it as a later restore would, and gives it its name.
func (a *app) backup(out string, force bool) (*copyInfo, error) {
	if _, err := a.workspace(); err != nil {
		return nil, err
	}
	path, err := placeOf(a.access.home, out, force)
	if err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	var part *os.File
	defer func() {
		if part != nil {
			_ = part.Close()
			_ = os.Remove(part.Name()) // gone already when it got its name
		}
	}()
	err = a.access.run(ctx, nil, func(svc view.Service) error {
		if part == nil {
			var err error
			if part, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"); err != nil {
				return fileError(path, err)
			}
		}
		// The answer of a daemon that went away half-way is begun anew.
		if _, err := part.Seek(0, io.SeekStart); err != nil {
			return fileError(path, err)
		}
		if err := part.Truncate(0); err != nil {
			return fileError(path, err)
		}
		to := &placed{f: part, path: path}
		err := svc.(backer).Backup(ctx, to)
		if lost := to.settle(); err == nil {
			err = lost
		}
		return err
	})
	if ctx.Err() != nil {
		return nil, kernel.Errorf(kernel.Unavailable, "interrupted", "the command was interrupted")
	}
	if err != nil {
		return nil, err
	}
	if err := part.Sync(); err != nil {
		return nil, fileError(path, err)
	}
	failpoint.Hit(failpoint.BackupSynced)
	info, err := lookAt(ctx, part.Name())
	if err != nil {
		return nil, err
	}
	if err := name(part.Name(), path, force); err != nil {
		return nil, err
	}
	info.File = path
	return info, nil
}

// placed tells the errors of the file that is written from those of the state, and
// lets the disk write while the next part is copied: one sync of a large file at
// the end would take as long as the copy.
type placed struct {
	f       *os.File
	path    string
	written int64      // since the last sync began
	syncing chan error // its outcome; nil: none runs
}

// syncStep is how much is written before a sync begins.
const syncStep = 64 << 20

// Write implements io.Writer.
func (p *placed) Write(b []byte) (int, error) {
	failpoint.Hit(failpoint.BackupWriting)
	n, err := p.f.Write(b)
	if p.written += int64(n); err == nil && p.written >= syncStep {
		err = p.settle()
		p.syncing, p.written = make(chan error, 1), 0
		go func(done chan error) { done <- p.f.Sync() }(p.syncing)
	}
	if err != nil {
		err = fileError(p.path, err)
	}
	return n, err
}

// settle waits for a sync that runs.
func (p *placed) settle() error {
	if p.syncing == nil {
		return nil
	}
	err := <-p.syncing
	p.syncing = nil
	return fileError(p.path, err)
}

// placeOf checks where a copy should go: a new file, not in the state folder,
// where a slip of the pen would replace the state by its copy.
func placeOf(home client.Home, out string, force bool) (string, error) {
	if out == "" {
		return "", kernel.Errorf(kernel.Invalid, "missing_output", "no file was named").Try("loopx backup create --output FILE")
	}
	path, err := filepath.Abs(out)
	if err != nil {
		return "", fileError(out, err)
	}
	if dir, err := os.Stat(filepath.Dir(path)); err != nil || !dir.IsDir() {
		return "", kernel.Errorf(kernel.Invalid, "no_folder", "the folder %s does not exist", show(filepath.Dir(path), 400)).Try("make it first")
	} else if mine, err := os.Stat(home.Dir); err == nil && os.SameFile(mine, dir) {
		return "", kernel.Errorf(kernel.Invalid, "in_state_folder", "a copy in the state folder is lost with it").Try("name a file in another folder, best on another disk")
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return path, nil
	case err != nil:
		return "", fileError(path, err)
	case !info.Mode().IsRegular():
		return "", kernel.Errorf(kernel.Invalid, "no_plain_file", "%s is no plain file", show(path, 400)).Try("name another file")
	case !force:
		return "", exists(path)
	}
	return path, nil
}

func exists(path string) error {
	return kernel.Errorf(kernel.Conflict, "file_exists", "%s is there already", show(path, 400)).Try("name another file, or pass --force to replace it")
}

// name gives a finished file its name, and makes the name durable.
func name(from, path string, force bool) error {
	var err error
	if force {
		err = os.Rename(from, path)
	} else {
		// A link does not replace what came there meanwhile, as a rename would.
		switch err = os.Link(from, path); {
		case errors.Is(err, os.ErrExist):
			return exists(path)
		case err != nil: // a file system without links
			if _, there := os.Lstat(path); there == nil {
				return exists(path)
			}
			err = os.Rename(from, path)
		}
	}
	if err == nil {
		failpoint.Hit(failpoint.BackupNamed)
		err = syncFolder(filepath.Dir(path))
	}
	return fileError(path, err)
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // not every file system can
		return err
	}
	return nil
}

// fileError says what a file that is written met.
func fileError(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return kernel.Errorf(kernel.Unavailable, "disk_full", "the disk is full: %s could not be written", show(path, 400)).Try("free some space, or name a file on another disk")
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return kernel.Errorf(kernel.Unavailable, "read_only", "%s cannot be written there", show(path, 400)).Try("name a file in a folder of yours")
	}
	if _, ours := errors.AsType[*kernel.Error](err); ours {
		return err
	}
	return fmt.Errorf("%w: %w", kernel.Errorf(kernel.Unavailable, "file_unwritable", "%s could not be written", show(path, 400)), err)
}

// lookAt opens a copy without changing it and reads its head.
func lookAt(ctx context.Context, path string) (*copyInfo, error) {
	st, err := openCopy(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = st.Close() }() // it was only read
	return infoOf(ctx, st, path)
}

// openCopy opens a state file that is none of a workspace, for reading only.
func openCopy(path string) (*bolt.Store, error) {
	st, err := bolt.Open(path, bolt.Options{ReadOnly: true})
	switch {
	case err == nil:
		return st, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, kernel.Errorf(kernel.NotFound, "file_not_found", "there is no file %s", show(path, 400)).Try("loopx backup create --output FILE")
	case errors.Is(err, store.ErrLocked):
		return nil, kernel.Errorf(kernel.Locked, "locked", "another process has %s open", show(path, 400)).Try("loopx doctor")
	}
	return nil, damagedCopy(path, err)
}

// damagedCopy names the file, which is not the state, and what is wrong with it.
func damagedCopy(path string, err error) error {
	if errors.Is(err, store.ErrCorrupt) {
		// What was found says more to an operator than any word of ours.
		why := strings.NewReplacer("open "+path+": ", "", store.ErrCorrupt.Error()+": ", "").Replace(errorText(err))
		return kernel.Errorf(kernel.Unavailable, "backup_damaged", "%s is damaged, or no copy of a state: %s", show(path, 400), show(why, 600)).
			Try("use another copy")
	}
	return err
}

// errorText is what a store found, also where the kernel has wrapped it.
func errorText(err error) string {
	if e, ok := errors.AsType[*kernel.Error](err); ok && e.Unwrap() != nil {
		return e.Unwrap().Error()
	}
	return err.Error()
}

func infoOf(ctx context.Context, st *bolt.Store, path string) (*copyInfo, error) {
	k, err := kernel.Open(ctx, st, client.SystemClock{})
	if err != nil {
		return nil, damagedCopy(path, err)
	}
	head, err := view.Ask[kernel.Head](ctx, view.Local{K: k}, &view.Head{})
	if err != nil {
		return nil, damagedCopy(path, err)
	}
	at, err := os.Stat(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	return &copyInfo{File: path, Size: at.Size(), Records: head.Seq, Head: head}, nil
}
