package setup

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"loopx/adapters/chat"
	"loopx/kernel"
)

// checkBase refuses every address but a simulator's on this machine: a token
// goes to its platform alone.
func checkBase(base string, sim bool) error {
	if base == "" {
		if sim {
			return badArgs("--sim needs --base-url")
		}
		return nil
	}
	if !sim {
		return kernel.Errorf(kernel.Denied, "base_url_refused", "another address than the platform's own is taken only with --sim").Try("leave out --base-url")
	}
	u, err := url.Parse(base)
	if err == nil && u.Scheme == "http" && u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			return nil
		}
	}
	return kernel.Errorf(kernel.Denied, "base_url_refused", "the address of a simulator is http on this machine").Try("--base-url http://127.0.0.1:PORT")
}

// caller makes the few calls. It knows one address and follows no redirect.
type caller struct {
	title string // of the platform
	base  string // with a slash at its end
	http  *http.Client
}

// callIn is the deadline of one call; maxAnswer bounds what is read.
const (
	callIn    = 15 * time.Second
	maxAnswer = 1 << 20
)

func newCaller(title, base string) *caller {
	return &caller{title, base, &http.Client{
		Timeout:       callIn,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// request is one call.
type request struct {
	method, path string
	auth         string // the header Authorization
	body         []byte
	json         bool // the body is JSON, else a form
}

// do makes a call and reads the JSON of its answer into out, whatever its status
// below 500. Errors are of class unavailable and hold nothing that was sent.
func (c *caller) do(ctx context.Context, r request, out any) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, kernel.Errorf(kernel.Invalid, "base_url_refused", "the address of %s cannot be used", c.title)
	}
	if r.auth != "" {
		req.Header.Set("Authorization", r.auth)
	}
	agent := "loopx"
	if strings.HasPrefix(r.auth, "Bot ") {
		agent = "DiscordBot (loopx, 1)" // Discord refuses agents of another form
	}
	req.Header.Set("User-Agent", agent)
	if r.json {
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
	} else if r.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, kernel.Errorf(kernel.Unavailable, "interrupted", "the command was interrupted")
		}
		return nil, kernel.Errorf(kernel.Unavailable, "platform_unreachable", "%s cannot be reached at %s: %s", c.title, req.URL.Host, network(err)).Try("check the network and HTTPS_PROXY, then run it again")
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return nil, kernel.Errorf(kernel.Unavailable, "rate_limited", "%s wants fewer calls", c.title).Try("wait a minute, then run it again")
	case err != nil || resp.StatusCode >= 500 || json.Unmarshal(raw, out) != nil:
		return nil, kernel.Errorf(kernel.Unavailable, "bad_answer", "%s did not answer as its API does (HTTP %d)", c.title, resp.StatusCode).Try("run it again later; if it stays so, a proxy answers in its place")
	}
	return resp, nil
}

// network says why a connection failed, without the address, which is said.
func network(err error) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "its name cannot be resolved"
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return fmt.Sprintf("no answer within %s", callIn)
	}
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, bad := errors.AsType[x509.CertificateInvalidError](err)
	if unknown || host || bad {
		return "its certificate is not trusted here"
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	return "the connection broke"
}

// said is a text of the platform as it may be shown on a terminal.
func said(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80])
	}
	return chat.Visible(strings.ToValidUTF8(s, ""))
}
