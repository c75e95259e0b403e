package lane

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"

	"loopx/adapters/chat"
)

// CallError is a call that got no answer, with a cleaned cause.
type CallError struct {
	Wrote bool // the request had been handed to the connection: it may have had its effect
	Err   error
}

func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns the cleaned cause.
func (e *CallError) Unwrap() error { return e.Err }

// Call sends a request once and bounds the answer's body to limit bytes. An
// error is a *CallError, also one of reading the body.
func Call(client *http.Client, req *http.Request, limit int64, clean Cleaner) (*http.Response, error) {
	var wrote atomic.Bool
	trace := &httptrace.ClientTrace{
		// From the headers on the server may act; an error before that means
		// nothing left the machine.
		WroteHeaders: func() { wrote.Store(true) },
	}
	resp, err := client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		return nil, &CallError{Wrote: wrote.Load(), Err: clean.Error(err)}
	}
	resp.Body = &cleanBody{ReadCloser: resp.Body, r: io.LimitReader(resp.Body, limit), clean: clean}
	return resp, nil
}

// cleanBody redacts errors of reading a body and bounds it.
type cleanBody struct {
	io.ReadCloser
	r     io.Reader
	clean Cleaner
}

func (b *cleanBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		err = &CallError{Wrote: true, Err: b.clean.Error(err)}
	}
	return n, err
}

// Rule replaces what a pattern finds, as regexp.ReplaceAllString does.
type Rule struct {
	Find *regexp.Regexp
	With string
}

// Cleaner takes secrets out of error texts: the secrets themselves, the query
// of every address, and what a platform's own rules find (B93).
type Cleaner struct {
	secrets []chat.Secret
	rules   []Rule
}

// NewCleaner returns a cleaner; rules run in order, after the secrets and
// before the queries.
func NewCleaner(secrets []chat.Secret, rules ...Rule) Cleaner {
	query := Rule{regexp.MustCompile(`((?:https?|wss?)://[^\s"'?]+)\?[^\s"']*`), "$1?[secret]"}
	return Cleaner{secrets: secrets, rules: append(rules, query)}
}

// Text is s without secrets.
func (c Cleaner) Text(s string) string {
	for _, sec := range c.secrets {
		if v := sec.Reveal(); v != "" {
			s = strings.ReplaceAll(s, v, "[secret]")
			s = strings.ReplaceAll(s, url.QueryEscape(v), "[secret]")
		}
	}
	for _, r := range c.rules {
		s = r.Find.ReplaceAllString(s, r.With)
	}
	return s
}

// cleanError is a redacted text that keeps only what errors.Is needs.
type cleanError struct {
	text string
	is   error
}

func (e *cleanError) Error() string { return e.text }
func (e *cleanError) Unwrap() error { return e.is }

// Error is a copy of err without secrets; of its causes it keeps only what says
// that time was up, that somebody gave up, or that bytes are missing.
func (c Cleaner) Error(err error) error {
	if err == nil {
		return nil
	}
	out := &cleanError{text: c.Text(err.Error())}
	for _, keep := range []error{context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF} {
		if errors.Is(err, keep) {
			out.is = keep
		}
	}
	return out
}

// Word keeps a platform's error code or event name to what such a thing looks
// like, at most 80 characters, so that nothing else can travel in it.
func Word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_:.,-", r) {
			return r
		}
		return -1
	}, s)
	if len(s) > 80 {
		s = s[:80]
	}
	return s
}
