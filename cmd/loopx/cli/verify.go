package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func backupVerify(a *app) *cobra.Command {
	var file, scratch string
	var limit time.Duration
	return a.verbOf("verify", "check every page and record of a copy, and that its tables follow from its journal", func(f *pflag.FlagSet) {
		f.StringVar(&file, "file", "", "copy to check; it is only read")
		f.DurationVar(&limit, "timeout", 10*time.Minute, "how long the check may take")
		f.StringVar(&scratch, "scratch", "", "")
		_ = f.MarkHidden("scratch") // what verify runs in a child process
	}, func() error {
		if file == "" {
			return missingFile("verify")
		}
		path, err := filepath.Abs(file)
		if err != nil {
			return fileError(file, err)
		}
		if scratch != "" {
			info, err := verifyCopy(a.ctx, path, scratch, a.opt.Err)
			if err != nil {
				return err
			}
			a.asJSON = true
			return a.out(info.fields(), nil)
		}
		info, err := a.verify(path, limit)
		if err != nil {
			return err
		}
		return a.out(info.fields().set("verified", true), func() string {
			return "Whole: " + show(path, 400) + ": " + info.line() + "\nEvery page and record is whole, and the tables follow from the journal.\n"
		})
	})
}

func missingFile(verb string) error {
	return kernel.Errorf(kernel.Invalid, "missing_file", "no file was named").Try("loopx backup %s --file FILE", verb)
}

// verify checks a copy in a child process: what a damaged file does to it, or how
// long it takes, stays there.
func (a *app) verify(path string, limit time.Duration) (*copyInfo, error) {
	// What a plain look refuses needs no child.
	if info, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil, kernel.Errorf(kernel.NotFound, "file_not_found", "there is no file %s", show(path, 400)).Try("loopx backup create --output FILE")
	} else if err == nil && !info.Mode().IsRegular() {
		return nil, kernel.Errorf(kernel.Invalid, "no_plain_file", "%s is no plain file", show(path, 400)).Try("name the copy itself")
	}
	scratch, err := os.MkdirTemp("", "loopx-verify-")
	if err != nil {
		return nil, fileError(os.TempDir(), err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	self := a.opt.Self
	if len(self) == 0 {
		exe, err := os.Executable()
		if err != nil {
			return nil, kernel.Errorf(kernel.Unavailable, "no_program", "this program cannot be found again to run the check")
		}
		self = []string{exe}
	}
	var out bytes.Buffer
	c := exec.CommandContext(ctx, self[0], append(self[1:len(self):len(self)], "--json", "backup", "verify", "--file", path, "--scratch", scratch)...)
	c.Env, c.Stdout, c.WaitDelay = a.opt.Env, &out, time.Second
	if !a.asJSON {
		c.Stderr = a.opt.Err // how far it is
	}
	err = c.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, kernel.Errorf(kernel.Unavailable, "verify_timeout", "the check of %s did not end within %s", show(path, 400), limit).Try("give it longer with --timeout")
	case ctx.Err() != nil:
		return nil, kernel.Errorf(kernel.Unavailable, "interrupted", "the command was interrupted")
	}
	return answerOf(path, out.Bytes(), err)
}

// answerOf reads what the child said. One that fell over the file said nothing.
func answerOf(path string, out []byte, ran error) (*copyInfo, error) {
	var said struct {
		OK bool `json:"ok"`
		copyInfo
		kernel.Error
	}
	bad := json.Unmarshal(out, &said) != nil
	switch {
	case !bad && said.OK && ran == nil:
		return &said.copyInfo, nil
	case !bad && said.Class != "":
		return nil, &said.Error
	}
	return nil, kernel.Errorf(kernel.Unavailable, "backup_damaged", "the check of %s fell over what it read", show(path, 400)).Try("use another copy")
}

// verifyCopy checks a copy in this process, which a damaged one may end: every
// page and record, then the journal, replayed into a scratch store.
func verifyCopy(ctx context.Context, path, scratch string, progress io.Writer) (_ *copyInfo, err error) {
	fmt.Fprintln(progress, "reading every page and record …")
	st, err := openCopy(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := st.Verify(ctx); err != nil {
		return nil, damagedCopy(path, err)
	}
	info, err := infoOf(ctx, st, path)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "replaying %s …\n", count(int(info.Records), "record", "records"))
	to, err := bolt.Open(filepath.Join(scratch, "replay.db"), bolt.Options{NoSync: true, Limits: kernel.ReplayLimits()})
	if err != nil {
		return nil, fileError(scratch, err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	checked, err := kernel.Rebuild(ctx, st, to)
	if err != nil {
		return nil, damagedCopy(path, err)
	}
	diff, err := differ(ctx, &rowsOf{st: st, skip: checked}, &rowsOf{st: to})
	if err != nil {
		return nil, damagedCopy(path, err)
	}
	if diff != "" {
		return nil, kernel.Errorf(kernel.Unavailable, "replay_differs", "%s is whole, but its tables do not follow from its journal: the row %s differs", show(path, 400), diff).
			With("row", diff).Try("use another copy")
	}
	return info, nil
}

// row is one key with its value.
type row struct{ key, value []byte }

// rowsOf walks the rows of a store that follow from the journal, a page at a time.
type rowsOf struct {
	st   store.Store
	skip func(key []byte) bool // rows to pass over; nil: none
	page []row
	next []byte // where the next page starts
	done bool
}

// pageRows is how many rows are in memory at once.
const pageRows = 500

// head is the next row, or nil at the end.
func (r *rowsOf) head(ctx context.Context) (*row, error) {
	for len(r.page) == 0 && !r.done {
		n := 0
		err := r.st.View(ctx, func(tx store.ReadTx) error {
			return tx.Scan(store.Range{From: r.next, Limit: pageRows}, func(k, v []byte) bool {
				n++
				r.next = append(bytes.Clone(k), 0)
				if kernel.Rebuilt(k) && (r.skip == nil || !r.skip(k)) {
					r.page = append(r.page, row{bytes.Clone(k), bytes.Clone(v)})
				}
				return true
			})
		})
		if err != nil {
			return nil, err
		}
		r.done = n < pageRows
	}
	if len(r.page) == 0 {
		return nil, nil
	}
	return &r.page[0], nil
}

// differ names the first row in which two stores differ, or "".
func differ(ctx context.Context, a, b *rowsOf) (string, error) {
	first := ""
	err := differences(ctx, a, b, func(key, _ []byte) bool { first = keyText(key); return false })
	return first, err
}

// differences tells each key under which two stores differ, with what y has there
// (nil for nothing), until each says stop.
func differences(ctx context.Context, x, y *rowsOf, each func(key, want []byte) bool) error {
	for {
		p, err := x.head(ctx)
		if err != nil {
			return err
		}
		q, err := y.head(ctx)
		switch order := compareRows(p, q); {
		case err != nil:
			return err
		case p == nil && q == nil:
			return nil
		case order == 0 && bytes.Equal(p.value, q.value):
			x.page, y.page = x.page[1:], y.page[1:]
		case order < 0: // only in x
			x.page = x.page[1:]
			if !each(p.key, nil) {
				return nil
			}
		default:
			y.page = y.page[1:]
			if order == 0 {
				x.page = x.page[1:]
			}
			if !each(q.key, q.value) {
				return nil
			}
		}
	}
}

// compareRows orders rows by key; none comes last.
func compareRows(p, q *row) int {
	switch {
	case p == nil && q == nil:
		return 0
	case p == nil:
		return 1
	case q == nil:
		return -1
	}
	return bytes.Compare(p.key, q.key)
}

// keyText is a key for people: its parts, without what could move a cursor.
func keyText(key []byte) string {
	return show(string(bytes.ReplaceAll(key, []byte{0}, []byte{'/'})), 120)
}
