package slack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// maxBody bounds an answer of the Web API; a page of history is far below it.
const maxBody = 16 << 20

// doer is the only way out: it sends tokens to Slack's hosts alone, follows no
// redirect, paces new connections, and says of a failure whether the request
// had been written. It is what slack-go uses as its HTTP client.
type doer struct {
	*lane.Way
	pace  *lane.Pacer
	clean lane.Cleaner
	hosts []string // allowed, exactly
	sim   bool
}

func newDoer(cfg Config, pace *lane.Pacer) *doer {
	d := &doer{
		Way: lane.NewWay(cfg.HTTPClient, 2*cfg.Timing.Call, 20*time.Second, cfg.Clock), pace: pace, sim: cfg.Sim,
		clean: newCleaner(cfg.AppToken, cfg.BotToken, cfg.SigningSecret),
	}
	if u, err := url.Parse(cfg.BaseURL); err == nil {
		d.hosts = append(d.hosts, u.Host)
	}
	if !cfg.Sim {
		d.hosts = append(d.hosts, "hooks.slack.com")
	}
	// One frame an answer: Slack does not put continuation frames together
	// (slack-go, defaultWriteBufferSize).
	d.Dialer.WriteBufferSize = 32 << 10
	return d
}

// Do sends a request once.
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	if !d.allowed(req.URL) {
		return nil, &lane.CallError{Err: fmt.Errorf("refused to call %s: not a host of Slack", req.URL.Hostname())}
	}
	if strings.HasSuffix(req.URL.Path, "/apps.connections.open") {
		// The one door through which sockets are opened: whatever the client
		// library wants, it waits here.
		if err := d.pace.Wait(req.Context()); err != nil {
			return nil, &lane.CallError{Err: err}
		}
	}
	resp, err := lane.Call(d.Client, req, maxBody, d.clean)
	if err != nil {
		return nil, err
	}
	return d.rateLimited(resp)
}

// rateLimited gives slack-go one form of "too many": 429 with a whole number
// of seconds. Slack also says it with 200 and ok:false (B68).
func (d *doer) rateLimited(resp *http.Response) (*http.Response, error) {
	after := resp.Header.Get("Retry-After")
	if resp.StatusCode == http.StatusOK && after != "" {
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return nil, &lane.CallError{Wrote: true, Err: err}
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		var a struct {
			OK    bool   `json:"ok"`
			Error string `json:"error"`
		}
		if json.Unmarshal(body, &a) == nil && !a.OK && isRateLimit(a.Error) {
			resp.StatusCode = http.StatusTooManyRequests
		}
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		if _, err := strconv.ParseUint(after, 10, 31); err != nil {
			resp.Header.Set("Retry-After", strconv.Itoa(int(defaultWait/time.Second)))
		}
	}
	return resp, nil
}

func (d *doer) allowed(u *url.URL) bool {
	if !d.sim && u.Scheme != "https" {
		return false
	}
	for _, h := range d.hosts {
		if strings.EqualFold(u.Host, h) {
			return true
		}
	}
	return false
}

// newCleaner knows Slack's tokens and the addresses that are secrets themselves.
func newCleaner(secrets ...chat.Secret) lane.Cleaner {
	return lane.NewCleaner(secrets,
		lane.Rule{Find: regexp.MustCompile(`x(ox[a-z]|app|oxe)[-.][A-Za-z0-9._-]+`), With: "[secret]"},
		lane.Rule{Find: regexp.MustCompile(`(https?://[^\s"'/]+/(?:actions|commands|services|link))[^\s"']*`), With: "$1/[secret]"})
}
