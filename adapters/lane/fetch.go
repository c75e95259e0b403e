package lane

import (
	"io"
	"net/http"

	"loopx/adapters/chat"
)

// Fetch sends a request for a file once and hands the answer to ok, which returns
// nil where its body is the file: that is copied to w, at most most bytes. What
// the answer says of its size is believed only to refuse it early. Errors are
// *chat.Error: ok's own, chat.TooLarge, or one of kind Temporary, for a fetch has
// no effect and may be repeated.
func Fetch(client *http.Client, req *http.Request, most int64, w io.Writer, clean Cleaner, ok func(*http.Response) error) error {
	resp, err := Call(client, req, most+1, clean)
	if err != nil {
		return &chat.Error{Kind: chat.Temporary, Code: "no_answer", Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	if err := ok(resp); err != nil {
		return err
	}
	if resp.ContentLength > most {
		return chat.TooLarge(most)
	}
	n, err := io.Copy(w, resp.Body)
	switch {
	case err != nil:
		return &chat.Error{Kind: chat.Temporary, Code: "no_answer", Err: clean.Error(err)}
	case n > most:
		return chat.TooLarge(most)
	}
	return nil
}
