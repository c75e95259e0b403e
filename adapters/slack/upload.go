package slack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	api "github.com/slack-go/slack"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// maxFile is our own bound; Slack takes 1 GB (help center, "Add files to Slack").
const maxFile = 20 << 20

// shareTime is how long the message of an uploaded file is waited for: Slack makes
// it after it has answered (docs, files.getUploadURLExternal: "processed
// asynchronously").
const shareTime = 8 * time.Second

// sendFile uploads a file in Slack's three steps: an address, the bytes, the place
// to share it in (docs, "Working with files"). Only the last has an effect that
// people see. A share has no metadata, so the key of the send stands in the name
// that the file is stored under; people see its title.
func sendFile(ctx context.Context, a *Adapter, place chat.Place, key string, f *chat.OutFile) (string, error) {
	if f.Size > maxFile {
		return "", chat.TooLarge(maxFile)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	name := storedName(key, f.Name)
	to, err := a.web.GetUploadURLExternalContext(ctx, api.GetUploadURLExternalParameters{FileName: name, FileSize: int(f.Size)})
	if err != nil {
		return "", a.classify(err, setting)
	}
	if err := putBytes(ctx, a, to.UploadURL, f); err != nil {
		return "", err
	}
	began := time.Now()
	_, err = a.web.CompleteUploadExternalContext(ctx, api.CompleteUploadExternalParameters{
		Files: []api.FileSummary{{ID: to.FileID, Title: f.Name}}, Channel: place.Conversation, ThreadTimestamp: place.Thread,
	})
	if err != nil {
		return "", a.classify(err, creating)
	}
	for pause := 100 * time.Millisecond; time.Since(began) < shareTime; pause *= 2 {
		info, _, _, err := a.web.GetFileInfoContext(ctx, to.FileID, 0, 0)
		if err == nil {
			if ts := sharedAs(info, place.Conversation); ts != "" {
				return ts, nil
			}
		}
		select {
		case <-ctx.Done():
			return "", a.classify(ctx.Err(), creating)
		case <-time.After(pause):
		}
	}
	return "", &chat.Error{Kind: chat.UnknownOutcome, Code: "not_shared_yet", Err: errors.New("the file is with Slack, which has not shown it yet")}
}

// sharedAs is the message that shows a file in a channel, "" while there is none.
func sharedAs(f *api.File, channel string) string {
	for _, shares := range []map[string][]api.ShareFileInfo{f.Shares.Public, f.Shares.Private} {
		for _, s := range shares[channel] {
			if s.Ts != "" {
				return s.Ts
			}
		}
	}
	return ""
}

// storedName puts a mark of the key before a name.
func storedName(key, name string) string { return fileMark(key) + "-" + path.Base("/"+name) }

func fileMark(key string) string {
	sum := sha256.Sum256([]byte("loopx file " + key))
	return hex.EncodeToString(sum[:6])
}

// marked says whether a message shows the file of a send.
func marked(m api.Message, key string) bool {
	for _, f := range m.Files {
		if strings.HasPrefix(f.Name, fileMark(key)+"-") {
			return true
		}
	}
	return false
}

// putBytes sends the content where Slack said. The address is a secret and needs
// no token.
func putBytes(ctx context.Context, a *Adapter, at string, f *chat.OutFile) error {
	u, err := url.Parse(at)
	own := err == nil && u.User == nil && (u.Scheme == "https" && strings.EqualFold(u.Host, filesHost) || a.http.sim && a.http.allowed(u))
	if !own {
		return &chat.Error{Kind: chat.Temporary, Code: "foreign_file", Err: errors.New("the address that Slack named for the file is not its own")}
	}
	body, err := f.Open()
	if err != nil {
		return &chat.Error{Kind: chat.Invalid, Code: chat.CodeNoFile, Err: errors.New("the file to send cannot be read")}
	}
	defer func() { _ = body.Close() }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), body)
	if err != nil {
		return &chat.Error{Kind: chat.Temporary, Code: "foreign_file", Err: a.http.clean.Error(err)}
	}
	req.ContentLength = f.Size
	req.Header.Set("Content-Type", "application/octet-stream")
	client := *a.http.Client
	client.Timeout = 0 // ctx has the time of a whole file
	resp, err := lane.Call(&client, req, 1<<16, a.http.clean)
	if err != nil {
		return a.classify(err, setting)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &chat.Error{Kind: chat.Temporary, Code: fmt.Sprintf("http_%d", resp.StatusCode)}
	}
	return nil
}
