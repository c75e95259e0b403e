package lark

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// fetchTime bounds the fetching of one file.
const fetchTime = 2 * time.Minute

// Fetch implements chat.Fetcher. Lark gives out files, images, audio and video of
// up to 100 MB to a bot that is in the conversation, but no stickers and nothing
// of a forwarded bundle (documentation "get resource file in a message").
func (a *Adapter) Fetch(ctx context.Context, ref chat.Ref, at chat.Attachment, most int64, w io.Writer) error {
	kind := "file"
	switch at.Kind {
	case "image", "img": // img is one in the text of a post
		kind = "image"
	case "file", "audio", "media":
	default:
		return chat.NoFile()
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	path := a.cfg.BaseURL + "/open-apis/im/v1/messages/" + url.PathEscape(ref.Message) + "/resources/" + url.PathEscape(at.ID) + "?type=" + kind
	for try := 0; ; try++ {
		token, err := a.rest.tokens.get(ctx)
		if err != nil {
			return a.rest.classify(err, reading)
		}
		err = a.rest.http.file(ctx, path, token, most, w)
		if try == 0 && refusedToken(err) {
			a.rest.tokens.evict(token)
			continue
		}
		return fileError(a.rest.classify(err, reading), most)
	}
}

// fileError gives the codes of this call their kind (documentation, table of its
// errors): 234037 is a file over Lark's own limit, 234003 one that is not in the
// message, 234004 an app that is not in the conversation, 234040 a message nobody
// may read any more, 234041 one under a restriction.
func fileError(err error, most int64) error {
	if e, ok := err.(*chat.Error); ok {
		switch e.Code {
		case "234037":
			return chat.TooLarge(most)
		case "234001", "234003", "234004", "234040", "234041", "234043":
			return chat.NoFile()
		}
	}
	return err
}

// file asks for a file. An answer that is JSON with a code is a refusal, for what
// is asked for has no code.
func (d *doer) file(ctx context.Context, path, token string, most int64, w io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return d.clean.Error(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	client := *d.Client
	client.Timeout = 0 // ctx has the time of a whole file
	return lane.Fetch(&client, req, most, w, d.clean, func(resp *http.Response) error {
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		e := &apiError{status: resp.StatusCode, log: lane.Word(resp.Header.Get("X-Tt-Logid")), wait: waitOf(resp.Header)}
		var a struct {
			Code int    `json:"code"`
			Msg  string `json:"msg"`
		}
		if strings.Contains(resp.Header.Get("Content-Type"), "json") && json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&a) == nil {
			e.code, e.msg = a.Code, d.clean.Text(a.Msg)
		}
		return e
	})
}
