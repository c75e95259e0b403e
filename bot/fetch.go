package bot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
)

// fetcher brings what people attached into the state folder, beside everything
// else: a file that hangs delays no event and no answer. Its bytes are counted
// and digested and never looked into further than their first 512.
type fetcher struct {
	k       *kernel.Kernel
	name    string // of the connection
	adapter chat.Adapter
	home    string
	now     func() time.Time
	log     *slog.Logger
}

// fetchIdle is how long a fetcher with nothing to do waits for a wake-up it missed.
const fetchIdle = time.Minute

// run works until ctx ends. wake receives after commits.
func (f *fetcher) run(ctx context.Context, wake <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-wake:
			if !ok {
				return
			}
		case <-timer.C:
		}
		next, err := f.look(ctx)
		if err != nil && ctx.Err() == nil {
			f.log.Warn("fetching files", "connection", f.name, "err", err)
			next = time.Second
		}
		timer.Reset(next)
	}
}

// look fetches what is due, one file after another, and returns when to look
// again.
func (f *fetcher) look(ctx context.Context) (time.Duration, error) {
	for {
		var list []*inbox.Message
		err := f.k.Store().View(ctx, func(tx store.ReadTx) (err error) {
			list, err = inbox.Fetches(tx, f.name, 20)
			return err
		})
		if err != nil || len(list) == 0 {
			return fetchIdle, err
		}
		now := f.now().UnixMilli()
		if due := list[0].FetchAt; due > now {
			return min(time.Duration(due-now)*time.Millisecond, fetchIdle), nil
		}
		for _, v := range list {
			if v.FetchAt > now {
				break
			}
			if err := f.message(ctx, v); err != nil {
				return fetchIdle, err
			}
		}
	}
}

// message fetches the files of one message that are waited for, and ends the
// wait once none is.
func (f *fetcher) message(ctx context.Context, v *inbox.Message) error {
	for n, file := range v.Files {
		if file.State != inbox.FileWaiting {
			continue
		}
		again, err := f.file(ctx, v, n)
		if err != nil || again {
			return err // it is tried later, with what is behind it
		}
	}
	return f.k.Store().Update(ctx, func(tx store.Tx) error {
		m, err := inbox.MailOver(tx, f.k)
		if err != nil {
			return err
		}
		if v, err = inbox.LoadMessage(tx, v.ID); err != nil || v == nil || v.Fetching() {
			return err
		}
		return errors.Join(inbox.FilesDone(m, v), f.tell(tx, v))
	})
}

// file fetches one file. again says that it is to be tried later.
func (f *fetcher) file(ctx context.Context, v *inbox.Message, n int) (again bool, err error) {
	part, got, failed := f.fetch(ctx, v, v.Files[n].Attachment)
	defer func() { _ = os.Remove(part) }() // once it is kept there is none
	if ctx.Err() != nil {
		return true, nil // stopped, and no try of it
	}
	if failed != nil {
		f.log.Info("a file was not fetched", "connection", f.name, "message", v.ID, "err", failed)
	}
	err = f.k.Store().Update(ctx, func(tx store.Tx) error {
		m, err := inbox.MailOver(tx, f.k)
		if err != nil {
			return err
		}
		wanted, err := inbox.Fetched(m, v.ID, n, got, failed)
		if err != nil || !wanted {
			return err
		}
		if failed == nil {
			// Inside the transaction, for Unkept removes files inside one: what
			// another message let go of is not removed from under this one.
			return os.Rename(part, f.path(got.Digest))
		}
		now, err := inbox.LoadMessage(tx, v.ID)
		again = now != nil && now.Files[n].State == inbox.FileWaiting
		return err
	})
	return again, err
}

func (f *fetcher) path(digest string) string { return filepath.Join(f.home, inbox.FilePath(digest)) }

// fetch writes a file beside its place and returns its path there.
func (f *fetcher) fetch(ctx context.Context, v *inbox.Message, a chat.Attachment) (part string, got inbox.File, err error) {
	from, ok := f.adapter.(chat.Fetcher)
	if !ok {
		return "", got, chat.NoFile()
	}
	dir := filepath.Join(f.home, "files")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", got, diskError(err)
	}
	out, err := os.CreateTemp(dir, "part-*") // 0600
	if err != nil {
		return "", got, diskError(err)
	}
	sum, head := sha256.New(), &opening{}
	count := &counter{}
	err = from.Fetch(ctx, chat.Ref{Place: v.Place, Message: v.Said}, a, inbox.FileMost, io.MultiWriter(out, sum, head, count))
	if err == nil {
		if bad := errors.Join(out.Sync(), out.Chmod(0o600)); bad != nil {
			err = diskError(bad)
		}
	}
	if bad := out.Close(); bad != nil && err == nil {
		err = diskError(bad)
	}
	got = inbox.File{Digest: hex.EncodeToString(sum.Sum(nil)), Bytes: count.n, Type: http.DetectContentType(head.b)}
	return out.Name(), got, err
}

func diskError(err error) error {
	return &chat.Error{Kind: chat.Temporary, Code: "disk", Err: err}
}

// opening keeps the first bytes, by which a type is told.
type opening struct{ b []byte }

func (o *opening) Write(p []byte) (int, error) {
	if room := 512 - len(o.b); room > 0 {
		o.b = append(o.b, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// tell says once, where the message came from, which files did not come along,
// and of a message without words what became of it.
func (f *fetcher) tell(tx store.Tx, v *inbox.Message) error {
	d, err := inbox.LoadDelivery(tx, v.ID)
	if err != nil || d == nil || d.Mode == inbox.ReplyNone || d.Ended() {
		return err
	}
	r, err := f.k.ReaderOf(tx)
	if err != nil {
		return err
	}
	text := fileWords(languageOf(r, v.Person), d.Agent, v)
	if err := r.Err(); err != nil || text == "" {
		return err
	}
	return inbox.Over(tx).AddText("files/"+v.ID, d.Reply, text)
}

// unkeep removes the bytes that no message has any more.
func unkeep(ctx context.Context, e *engine) error {
	for {
		var some bool
		err := e.k.Store().View(ctx, func(tx store.ReadTx) (err error) {
			some, err = inbox.HasUnkept(tx)
			return err
		})
		if err != nil || !some {
			return err
		}
		err = e.k.Store().Update(ctx, func(tx store.Tx) error {
			m, err := inbox.MailOver(tx, e.k)
			if err != nil {
				return err
			}
			return inbox.Unkept(m, piece, func(digest string) error {
				err := os.Remove(filepath.Join(e.home, inbox.FilePath(digest)))
				if errors.Is(err, os.ErrNotExist) {
					return nil
				}
				return err
			})
		})
		if err != nil {
			return err
		}
	}
}
