package adaptertest

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"loopx/adapters/chat"
)

func files(t *testing.T, b *bench) {
	fetcher, ok := b.Adapter.(chat.Fetcher)
	if !ok {
		t.Fatal("Caps declares files, and the adapter is no Fetcher")
	}
	b.start()
	want := bytes.Repeat([]byte("what was measured\n"), 4000)
	a := b.act(b.Attach(b.Ann, b.Private, "../../etc/result (1).txt", want))
	e := b.event("the message", func(e chat.Event) bool { return e.Message != nil && len(e.Message.Attachments) > 0 })
	at := e.Message.Attachments[0]
	if e.Message.ID != a.ID || at.ID == "" || at.Name == "" || at.Size != 0 && at.Size != int64(len(want)) {
		t.Fatalf("%+v", e.Message)
	}
	ref := chat.Ref{Place: e.Place, Message: e.Message.ID}
	for range 2 { // it may be fetched as often as needed
		var got bytes.Buffer
		if err := fetcher.Fetch(b.ctx, ref, at, int64(len(want)), &got); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("%d bytes of %d: %v", got.Len(), len(want), err)
		}
	}
	refused := func(what, code string, kind chat.ErrorKind, at chat.Attachment, most int64) {
		t.Helper()
		var got bytes.Buffer
		err := fetcher.Fetch(t.Context(), ref, at, most, &got)
		e, ok := errors.AsType[*chat.Error](err)
		if !ok || e.Kind != kind || code != "" && e.Code != code {
			t.Errorf("%s: %v", what, err)
		}
	}
	// What the sender says of its size is not believed, nor what the platform says.
	small := at
	small.Size = 1
	refused("larger than is taken", chat.CodeTooLarge, chat.Invalid, small, int64(len(want))-1)
	other := at
	other.ID = "600000000000000404"
	refused("a file that is not there", chat.CodeNoFile, chat.Gone, other, 1<<20)
	b.RemoveFile(at.ID)
	refused("a file that was deleted", chat.CodeNoFile, chat.Gone, at, 1<<20)
	b.stop()
	b.BreakAuth()
	refused("without a right", "", chat.Auth, at, 1<<20)
}

func sendFile(t *testing.T, b *bench) {
	b.notStarted()
	most := b.Adapter.Caps().FileMax
	data := bytes.Repeat([]byte("measured\n"), 5000)
	out := func(key, name string, data []byte) chat.Outgoing {
		return chat.Outgoing{Key: key, Place: b.Private, File: &chat.OutFile{Name: name, Size: int64(len(data)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}}
	}
	ref, err := b.Adapter.Send(t.Context(), out("f1", "result (1).csv", data))
	if err != nil {
		t.Fatal(err)
	}
	got, message, n := b.Sent(b.Private, "result (1).csv")
	if !bytes.Equal(got, data) || n != 1 || message != ref.Message || ref.Place.Conversation != b.Private.Conversation {
		t.Fatalf("%d bytes in %d messages, %s and %+v", len(got), n, message, ref)
	}
	if caps := b.Adapter.Caps(); caps.Find {
		found, ok, err := b.Adapter.Find(t.Context(), ref.Place, "f1", time.Now().Add(-time.Minute))
		if err != nil || !ok || found.Message != ref.Message {
			t.Errorf("the file is not found again: %+v %v %v", found, ok, err)
		}
	}
	_, err = b.Adapter.Send(t.Context(), out("f2", "film.bin", make([]byte, most+1)))
	if e, ok := errors.AsType[*chat.Error](err); !ok || e.Kind != chat.Invalid || e.Code != chat.CodeTooLarge {
		t.Errorf("larger than is sent: %v", err)
	}
	// The answer is lost: it is looked for, or sent again under the same key, and is
	// there once.
	b.LoseFile()
	_, err = b.Adapter.Send(t.Context(), out("f3", "lost.csv", data))
	if chat.KindOf(err) != chat.UnknownOutcome || err == nil {
		t.Fatalf("a lost answer: %v", err)
	}
	_, ok, err := b.Adapter.Find(t.Context(), b.Private, "f3", time.Now().Add(-time.Minute))
	if err == nil && !ok {
		_, err = b.Adapter.Send(t.Context(), out("f3", "lost.csv", data))
	}
	if _, _, n := b.Sent(b.Private, "lost.csv"); err != nil || n != 1 {
		t.Errorf("it is there %d times: %v", n, err)
	}
}
