package inbox

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
)

// Limits of what people attach.
const (
	// FileMost is how many bytes one file may have that is fetched for an agent.
	FileMost = 20 << 20
	// filesMost is how many files of one message are fetched.
	filesMost = 10
	// fileTries is how often the fetching of a file is tried.
	fileTries = 4
	// fileWait is how long a message waits for its files before its agent gets it
	// without them.
	fileWait = 30 * 1000
)

// How far an attachment is.
const (
	FileWaiting = "waiting" // to be fetched
	FileKept    = "kept"    // in the state folder, under its digest
	FileRefused = "refused" // it is not fetched; Why says why
	FileFailed  = "failed"  // it could not be fetched; Why says why
)

// WhyTooMany is the reason for a file behind the first ten of a message. Other
// reasons are codes of the adapters.
const WhyTooMany = "too_many_files"

// File is one attachment of a message that an agent gets. What its sender called
// it is for showing; in the state folder it lies under its digest alone.
type File struct {
	chat.Attachment
	State  string `json:"state"`
	Why    string `json:"why,omitempty"`
	Digest string `json:"sha256,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"` // as counted
	Type   string `json:"type,omitempty"`  // as the bytes look, whatever the sender said
	Tries  int    `json:"tries,omitempty"`
}

// wantFiles lets the attachments of a message that now waits for an agent be
// fetched, once.
func wantFiles(m *Mail, d *Delivery) error {
	v, err := LoadMessage(m.tx, d.ID)
	if err != nil || v == nil || len(v.Attachments) == 0 || len(v.Files) > 0 {
		return err
	}
	for i, a := range v.Attachments {
		f := File{Attachment: a, State: FileWaiting}
		switch {
		case i >= filesMost:
			f.State, f.Why = FileRefused, WhyTooMany
		case a.Size > FileMost:
			f.State, f.Why = FileRefused, chat.CodeTooLarge
		}
		v.Files = append(v.Files, f)
	}
	if v.Fetching() {
		d.FilesBy = m.r.Steady() + fileWait
	}
	return fetchAt(m, v, m.now)
}

// Fetching says that a file is yet to come.
func (v *Message) Fetching() bool {
	return slices.ContainsFunc(v.Files, func(f File) bool { return f.State == FileWaiting })
}

// fetchAt says when a connection looks at the files of a message next, 0 for
// never again.
func fetchAt(m *Mail, v *Message, at int64) error {
	if v.FetchAt != 0 {
		if err := m.tx.Delete(store.Key(tblFetch, v.Place.Connection, store.I64(v.FetchAt), v.ID)); err != nil {
			return err
		}
	}
	v.FetchAt = at
	if at == 0 {
		return m.putMessage(v)
	}
	return firstErr(m.putMessage(v), m.tx.Put(store.Key(tblFetch, v.Place.Connection, store.I64(at), v.ID), nil))
}

// Fetches lists the messages whose files a connection has to look at, soonest
// first; FetchAt says when.
func Fetches(tx store.ReadTx, connection string, limit int) ([]*Message, error) {
	var ids []string
	err := tx.Scan(store.Under(limit, tblFetch, connection), func(k, _ []byte) bool {
		ids = append(ids, store.LastPart(k))
		return true
	})
	if err != nil {
		return nil, err
	}
	out := make([]*Message, 0, len(ids))
	for _, id := range ids {
		v, err := LoadMessage(tx, id)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out = append(out, v)
		}
	}
	return out, nil
}

// Fetched records how the fetching of a file went: got has its digest, count and
// type, or err says why there is none. What may go better later is tried again,
// a few times; the message goes its way meanwhile. It reports whether the file is
// still wanted: a message that was taken back wants none.
func Fetched(m *Mail, id string, n int, got File, err error) (wanted bool, _ error) {
	v, bad := LoadMessage(m.tx, id)
	if bad != nil || v == nil || n >= len(v.Files) || v.Files[n].State != FileWaiting {
		return false, bad
	}
	f := &v.Files[n]
	f.Tries++
	e, _ := errors.AsType[*chat.Error](err)
	switch {
	case err == nil:
		f.State, f.Why, f.Digest, f.Bytes, f.Type = FileKept, "", got.Digest, got.Bytes, got.Type
		if bad := m.tx.Put(store.Key(tblFile, f.Digest, v.ID), nil); bad != nil {
			return false, bad
		}
	case e != nil && e.Code == chat.CodeTooLarge:
		f.State, f.Why = FileRefused, e.Code
	case e != nil && (e.Kind == chat.Gone || e.Kind == chat.Invalid || e.Kind == chat.Auth):
		f.State, f.Why = FileFailed, e.Code
	case f.Tries >= fileTries:
		f.State, f.Why = FileFailed, "no_answer"
	}
	if f.State != FileWaiting {
		return true, firstErr(fetchAt(m, v, m.now), m.t.Count("file:"+f.State))
	}
	wait := backoff(f.Tries + 2)
	if e != nil && e.After > wait {
		wait = e.After
	}
	return true, fetchAt(m, v, m.now+wait.Milliseconds())
}

// FilesDone ends the fetching for a message once none of its files is waited for:
// its agent may have it.
func FilesDone(m *Mail, v *Message) error {
	d, err := LoadDelivery(m.tx, v.ID)
	if err != nil {
		return err
	}
	if d != nil && d.FilesBy != 0 {
		d.FilesBy = 0
		if err := m.saveDelivery(d); err != nil {
			return err
		}
	}
	return fetchAt(m, v, 0)
}

// dropFiles lets go of what was fetched for a message. The bytes go with the last
// message that has them; see Unkept.
func dropFiles(m *Mail, v *Message) error {
	if v.FetchAt != 0 {
		if err := m.tx.Delete(store.Key(tblFetch, v.Place.Connection, store.I64(v.FetchAt), v.ID)); err != nil {
			return err
		}
		v.FetchAt = 0
	}
	digests := v.Answers
	for _, f := range v.Files {
		if f.Digest != "" {
			digests = append(digests, f.Digest)
		}
	}
	for _, digest := range digests {
		if err := firstErr(m.tx.Delete(store.Key(tblFile, digest, v.ID)), m.tx.Put(store.Key(tblUnkeep, digest), nil)); err != nil {
			return err
		}
	}
	v.Files, v.Answers = nil, nil
	return nil
}

// Unkept calls remove with each digest that no message has any more, at most
// limit of them, and forgets it where remove has no error.
func Unkept(m *Mail, limit int, remove func(digest string) error) error {
	var gone []string
	err := m.tx.Scan(store.Under(limit, tblUnkeep), func(k, _ []byte) bool {
		gone = append(gone, store.LastPart(k))
		return true
	})
	for _, digest := range gone {
		if err != nil {
			return err
		}
		used := false
		err = m.tx.Scan(store.Under(1, tblFile, digest), func(_, _ []byte) bool { used = true; return false })
		if err == nil && !used {
			err = remove(digest)
		}
		if err == nil {
			err = m.tx.Delete(store.Key(tblUnkeep, digest))
		}
	}
	return err
}

// HasUnkept says whether there is something for Unkept.
func HasUnkept(tx store.ReadTx) (found bool, err error) {
	err = tx.Scan(store.Under(1, tblUnkeep), func(_, _ []byte) bool { found = true; return false })
	return found, err
}

// attached is how an agent sees the files of a message. The path is inside the
// state folder.
func attached(v *Message) []kernel.Attached {
	out := make([]kernel.Attached, 0, len(v.Files))
	for _, f := range v.Files {
		a := kernel.Attached{Name: chat.Visible(f.Name), State: f.State, Why: f.Why, SHA256: f.Digest, Bytes: f.Bytes, Type: f.Type}
		if f.State == FileKept {
			a.Path = FilePath(f.Digest)
		}
		if f.Bytes == 0 {
			a.Bytes = f.Size
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// FilePath is where a fetched file lies in the state folder: a name made of its
// digest and of nothing that anybody chose.
func FilePath(digest string) string { return "files/" + digest }

// AnswerFile is a file that an agent's answer sends. Its bytes lie in the state
// folder under their digest before the answer is given.
type AnswerFile struct {
	Name   string `json:"name"` // as people see it
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// AnswerFilesMost is how many files one answer sends.
const AnswerFilesMost = 5

// checkAnswerFiles refuses what no platform takes, and a name that is more than
// one.
func checkAnswerFiles(list []AnswerFile) error {
	if len(list) > AnswerFilesMost {
		return kernel.Errorf(kernel.Invalid, "too_many_files", "an answer sends at most %d files", AnswerFilesMost).Try("put the rest where people can read it, and say where")
	}
	for _, f := range list {
		raw, err := hex.DecodeString(f.SHA256)
		switch {
		case err != nil || len(raw) != 32 || f.SHA256 != strings.ToLower(f.SHA256):
			return kernel.Errorf(kernel.Invalid, "bad_digest", "a file is named by its SHA-256").Try("loopx inbox settle --file PATH")
		case f.Bytes <= 0:
			return kernel.Errorf(kernel.Invalid, "empty_file", "an empty file cannot be sent")
		case f.Bytes > FileMost:
			return kernel.Errorf(kernel.Invalid, "file_too_large", "a file of an answer has at most %d MB", FileMost>>20).Try("put it where people can read it, and say where")
		case f.Name == "" || f.Name == "." || f.Name == ".." || strings.ContainsAny(f.Name, "/\\") || len(f.Name) > 200 || chat.Visible(f.Name) != f.Name || strings.ContainsAny(f.Name, "\n\t"):
			return kernel.Errorf(kernel.Invalid, "bad_file_name", "a file's name is one plain name of at most 200 bytes")
		}
	}
	return nil
}

// keepAnswer notes which files the answer to a message needs.
func keepAnswer(m *Mail, d *Delivery, list []AnswerFile) error {
	if len(list) == 0 {
		return nil
	}
	v, err := LoadMessage(m.tx, d.ID)
	if err != nil || v == nil {
		return err
	}
	for _, f := range list {
		if err := m.tx.Put(store.Key(tblFile, f.SHA256, v.ID), nil); err != nil {
			return err
		}
		v.Answers = append(v.Answers, f.SHA256)
	}
	return m.putMessage(v)
}

// AsText makes a text of a file that cannot be sent where it belongs, before
// anything of it is outside.
func AsText(t *Tx, id, text string) error {
	it, err := Load(t.tx, id)
	if err != nil || it == nil || it.Kind != FileItem || it.Message != "" {
		return err
	}
	it.Kind, it.Text, it.State, it.Tries, it.Why = Text, text, Ready, 0, ""
	return t.want(it)
}
