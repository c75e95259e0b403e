package bot

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel/store"
)

// outFile is a file of an answer as an adapter sends it.
func outFile(o *outbox, f *inbox.AnswerFile) *chat.OutFile {
	at := filepath.Join(o.home, inbox.FilePath(f.SHA256))
	return &chat.OutFile{Name: f.Name, Size: f.Bytes, Open: func() (io.ReadCloser, error) { return os.Open(at) }}
}

// fileSecret names what a text file seems to hold that must not leave the machine;
// of what is no text only the name is looked at. One that cannot be read is refused
// when it is sent.
func fileSecret(o *outbox, f *chat.OutFile) string {
	r, err := f.Open()
	if err != nil {
		return ""
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(io.LimitReader(r, inbox.FileMost))
	if err != nil {
		return ""
	}
	if !strings.HasPrefix(http.DetectContentType(b), "text/") {
		return o.scan.Find(f.Name)
	}
	return o.scan.Find(f.Name + "\n" + string(b))
}

// fitFile says in words what this surface takes no file of, before a send.
func fitFile(o *outbox, tx store.Tx, id string) error {
	it, err := inbox.Load(tx, id)
	if err != nil || it == nil || it.Kind != inbox.FileItem || it.Message != "" || it.File == nil || it.State != inbox.Ready {
		return err
	}
	most := o.adapter.Caps().FileMax
	if most > 0 && it.File.Bytes <= most {
		return nil
	}
	code := chat.CodeTooLarge
	if most == 0 {
		code = "no_files"
	}
	return fileAsText(o, tx, it, code)
}

// unsent says in words that a file was refused for good. It reports whether it
// did; other failures are tried again.
func unsent(ctx context.Context, o *outbox, it *inbox.Item, err error) (bool, error) {
	kind := chat.KindOf(err)
	if it.Kind != inbox.FileItem || it.Message != "" || kind != chat.Invalid && kind != chat.Auth {
		return false, nil
	}
	code := ""
	if e, ok := errors.AsType[*chat.Error](err); ok {
		code = e.Code
	}
	return true, o.k.Store().Update(ctx, func(tx store.Tx) error { return fileAsText(o, tx, it, code) })
}

func fileAsText(o *outbox, tx store.Tx, it *inbox.Item, code string) error {
	r, err := o.k.ReaderOf(tx)
	if err != nil {
		return err
	}
	lang := "en"
	if v, err := inbox.LoadMessage(tx, it.Of); err == nil && v != nil {
		lang = languageOf(r, v.Person)
	}
	return inbox.AsText(inbox.Over(tx), it.ID, unsentWords(lang, it.File, code, o.adapter.Caps().FileMax))
}
