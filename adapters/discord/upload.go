package discord

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"loopx/adapters/chat"
)

// maxFile is what a bot may attach where nobody has paid for more (docs,
// "Reference", Uploading Files: "10 MiB ... by default").
const maxFile = 10 << 20

// uploadTimes is how much longer than another call one with a file may take.
const uploadTimes = 6

// upload is a file beside the body of a call.
type upload struct {
	name string
	data []byte
}

// fileOf reads a file to send.
func fileOf(f *chat.OutFile) (*upload, error) {
	if f.Size > maxFile {
		return nil, chat.TooLarge(maxFile)
	}
	r, err := f.Open()
	if err != nil {
		return nil, &chat.Error{Kind: chat.Invalid, Code: chat.CodeNoFile, Err: errors.New("the file to send cannot be read")}
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil || int64(len(data)) != f.Size {
		return nil, &chat.Error{Kind: chat.Invalid, Code: chat.CodeNoFile, Err: errors.New("the file to send is not what it was")}
	}
	return &upload{name: f.Name, data: data}, nil
}

// form is the body of a call with its file, as parts (docs, "Reference",
// Uploading Files).
func (u *upload) form(payload []byte) (body, contentType string, err error) {
	var b strings.Builder
	w := multipart.NewWriter(&b)
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="payload_json"`}, "Content-Type": {"application/json"}})
	if err == nil {
		_, err = part.Write(payload)
	}
	if err == nil {
		part, err = w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {`form-data; name="files[0]"; filename=` + strconv.Quote(u.name)}, "Content-Type": {"application/octet-stream"},
		})
	}
	if err == nil {
		_, err = part.Write(u.data)
	}
	if err == nil {
		err = w.Close()
	}
	return b.String(), w.FormDataContentType(), err
}

// sendFile creates a message that is a file. Its nonce works as for any other.
func sendFile(ctx context.Context, a *Adapter, place chat.Place, out chat.Outgoing) (string, error) {
	target, err := targetOf(place)
	if err != nil {
		return "", err
	}
	f, err := fileOf(out.File)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimes*a.cfg.Timing.Call)
	defer cancel()
	content := quiet()
	content["nonce"], content["enforce_nonce"] = nonce(out.Key), true
	content["attachments"] = []map[string]any{{"id": "0", "filename": f.name}}
	if out.Silent {
		content.flag(flagSilent)
	}
	var m struct {
		ID string `json:"id"`
	}
	err = a.rest.do(ctx, call{
		verb: http.MethodPost, path: "channels/" + target + "/messages", route: "POST messages", major: target, body: content, file: f, what: creating,
	}, &m)
	if err == nil && m.ID == "" {
		err = &chat.Error{Kind: chat.UnknownOutcome, Code: "bad_answer", Err: errors.New("an answer without the message's id")}
	}
	return m.ID, err
}
