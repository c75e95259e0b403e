package lark

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"

	"loopx/adapters/chat"
)

// maxFile is our own bound; Lark takes 30 MB and no empty file (documentation
// "upload a file").
const maxFile = 20 << 20

// typeFile is a message that is a file.
const typeFile = "file"

// upload stores a file with Lark, for the message that follows: nobody sees it
// before. It needs the scope im:resource, or im:resource:upload.
func (r *rest) upload(ctx context.Context, f *chat.OutFile) (key string, err error) {
	if f.Size > maxFile {
		return "", chat.TooLarge(maxFile)
	}
	err = r.call(ctx, setting, func(ctx context.Context, token larkcore.RequestOptionFunc) error {
		body, err := f.Open()
		if err != nil {
			return &chat.Error{Kind: chat.Invalid, Code: chat.CodeNoFile, Err: errors.New("the file to send cannot be read")}
		}
		defer func() { _ = body.Close() }()
		req := larkim.NewCreateFileReqBuilder().Body(larkim.NewCreateFileReqBodyBuilder().FileType("stream").FileName(f.Name).File(io.LimitReader(body, f.Size)).Build()).Build()
		resp, err := r.im.File.Create(ctx, req, token)
		switch {
		case err != nil:
			return err
		case resp.Data == nil || str(resp.Data.FileKey) == "":
			return errNoData
		}
		key = *resp.Data.FileKey
		return nil
	})
	return key, err
}

// fileDraft uploads a file and is the message that shows it; its words are what
// people see of it.
func fileDraft(ctx context.Context, r *rest, f *chat.OutFile) (draft, error) {
	key, err := r.upload(ctx, f)
	if err != nil {
		return draft{}, err
	}
	raw, err := encode(object{"file_key": key})
	return draft{typeFile, string(raw), f.Name}, err
}

// fileName is the name in the content of a file's message.
func fileName(content string) string {
	var c struct {
		Name string `json:"file_name"`
	}
	_ = json.Unmarshal([]byte(content), &c) // a content that is no JSON names nothing
	return c.Name
}
