package discord

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// fetchTime bounds the fetching of one file.
const fetchTime = 2 * time.Minute

// Fetch implements chat.Fetcher. The address of an attachment is signed and ends
// after a day (docs, "Reference": Signed Attachment CDN URLs), so the message is
// read again for a fresh one. The token does not go there.
func (a *Adapter) Fetch(ctx context.Context, ref chat.Ref, at chat.Attachment, most int64, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	target, err := targetOf(ref.Place)
	if err != nil {
		return err
	}
	if !isID(ref.Message) {
		return chat.NoFile()
	}
	var m struct {
		Attachments []struct {
			ID   string `json:"id"`
			URL  string `json:"url"`
			Size int64  `json:"size"`
		} `json:"attachments"`
	}
	err = a.rest.do(ctx, call{verb: http.MethodGet, path: "channels/" + target + "/messages/" + ref.Message, route: "GET message", major: target, what: reading}, &m)
	if err != nil {
		return err
	}
	for _, f := range m.Attachments {
		if f.ID != at.ID {
			continue
		}
		if f.Size > most {
			return chat.TooLarge(most)
		}
		return a.rest.file(ctx, f.URL, most, w)
	}
	return chat.NoFile()
}

// file fetches from Discord's own store and from nowhere else.
func (r *rest) file(ctx context.Context, from string, most int64, w io.Writer) error {
	u, err := url.Parse(from)
	own := err == nil && u.User == nil && (u.Scheme == "https" && (u.Host == "cdn.discordapp.com" || u.Host == "media.discordapp.net") || r.sim && u.Scheme == "http" && loopback(u))
	if !own {
		return &chat.Error{Kind: chat.Invalid, Code: "foreign_file", Err: errors.New("the file is kept at an address that is not Discord's")}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return &chat.Error{Kind: chat.Invalid, Code: "foreign_file", Err: r.clean.Error(err)}
	}
	client := *r.Client
	client.Timeout = 0 // ctx has the time of a whole file
	return lane.Fetch(&client, req, most, w, r.clean, func(resp *http.Response) error {
		switch resp.StatusCode {
		case http.StatusOK:
			return nil
		case http.StatusNotFound, http.StatusGone, http.StatusForbidden:
			return chat.NoFile()
		}
		return &chat.Error{Kind: chat.Temporary, Code: "no_answer"}
	})
}
