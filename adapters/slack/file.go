package slack

import (
	"cmp"
	"context"
	"errors"
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

// filesHost is where Slack keeps the bytes of files; the token goes there as it
// goes to the API (docs, "Working with files": "authenticate ... by including
// your OAuth access token in an Authorization header").
const filesHost = "files.slack.com"

// Fetch implements chat.Fetcher. It needs the scope files:read. The address is
// asked from Slack (files.info), which is also what files of a shared channel
// need; one from a message is never called.
func (a *Adapter) Fetch(ctx context.Context, _ chat.Ref, at chat.Attachment, most int64, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	f, _, _, err := a.web.GetFileInfoContext(ctx, at.ID, 0, 0)
	if err != nil {
		return noFile(a.classify(err, reading))
	}
	if int64(f.Size) > most {
		return chat.TooLarge(most)
	}
	from := cmp.Or(f.URLPrivateDownload, f.URLPrivate)
	if f.IsExternal || f.Mode == "tombstone" || f.Mode == "hidden_by_limit" || from == "" {
		return chat.NoFile() // deleted, beyond the plan's history, or kept by somebody else
	}
	req, err := a.http.fileRequest(ctx, from, a.cfg.BotToken)
	if err != nil {
		return err
	}
	client := *a.http.Client
	client.Timeout = 0 // ctx has the time of a whole file
	html := strings.HasPrefix(f.Mimetype, "text/html")
	return lane.Fetch(&client, req, most, w, a.http.clean, func(resp *http.Response) error {
		switch {
		case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
			return chat.NoFile()
		case resp.StatusCode == http.StatusTooManyRequests:
			return &chat.Error{Kind: chat.RateLimited, After: defaultWait, Code: "ratelimited"}
		case resp.StatusCode/100 == 3 || resp.StatusCode == http.StatusForbidden || !html && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"):
			// Without the right Slack sends to its page for signing in.
			return &chat.Error{Kind: chat.Auth, Code: chat.CodeNoAccess, Fix: "add the scope files:read to the Slack app (OAuth & Permissions) and install it again"}
		case resp.StatusCode != http.StatusOK:
			return &chat.Error{Kind: chat.Temporary, Code: "no_answer"}
		}
		return nil
	})
}

// noFile gives the words of files.info for a file that is no more their kind.
func noFile(err error) error {
	if e, ok := errors.AsType[*chat.Error](err); ok && (e.Code == "file_not_found" || e.Code == "file_deleted") {
		return chat.NoFile()
	}
	return err
}

// fileRequest asks for a file with the token, and refuses every address that is
// not where Slack keeps files.
func (d *doer) fileRequest(ctx context.Context, from string, token chat.Secret) (*http.Request, error) {
	u, err := url.Parse(from)
	own := err == nil && u.User == nil && (u.Scheme == "https" && strings.EqualFold(u.Host, filesHost) || d.sim && d.allowed(u))
	if !own {
		return nil, &chat.Error{Kind: chat.Invalid, Code: "foreign_file", Err: errors.New("the file is kept at an address that is not Slack's")}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, &chat.Error{Kind: chat.Invalid, Code: "foreign_file", Err: d.clean.Error(err)}
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	return req, nil
}
