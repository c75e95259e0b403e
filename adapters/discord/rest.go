package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// maxBody bounds an answer and a frame; a page of history or a large guild is
// far below it.
const maxBody = 16 << 20

// version of the API that is spoken, in REST and on the gateway. discordgo's
// types are those of v9, which differ in nothing that is used here.
const version = "10"

// rest is the only way out: it sends the token to Discord's host alone, follows
// no redirect, keeps the one budget, and says of a failure whether the request
// had been written.
type rest struct {
	*lane.Way
	base   string
	token  chat.Secret
	clean  lane.Cleaner
	budget *budget
	sim    bool
	hold   time.Duration
	authAt atomic.Int64 // UnixNano until which no call with the token is made
}

func newREST(cfg Config) *rest {
	return &rest{
		Way:  lane.NewWay(cfg.HTTPClient, 2*cfg.Timing.Call, cfg.Timing.Hello, cfg.Clock),
		base: cfg.BaseURL + "v" + version + "/", token: cfg.BotToken, budget: newBudget(cfg.Timing.Wait), sim: cfg.Sim, hold: cfg.Timing.AuthHold,
		// The token of an interaction stands in the path of its addresses.
		clean: lane.NewCleaner([]chat.Secret{cfg.BotToken}, lane.Rule{
			Find: regexp.MustCompile(`((?:webhooks|interactions)/[^/\s"']+/)[^/\s"']+`), With: "$1[secret]",
		}),
	}
}

// op is how a call may be repeated.
type op int

const (
	reading  op = iota // no effect
	setting            // repeating it is harmless
	creating           // repeating it makes a second one
)

// call is one REST call.
type call struct {
	verb string
	path string // without the version
	// route and major name the rate limit: the path without ids, and the id that
	// has a limit of its own (docs, "Rate Limits").
	route, major string
	body         any
	file         *upload // beside the body
	what         op
	// open calls carry no token of ours and are outside of the bot's budget:
	// answers to interactions.
	open bool
}

// do makes a call once; out, unless nil, takes the answer. Errors are *chat.Error.
func (r *rest) do(ctx context.Context, c call, out any) error {
	if !c.open {
		if time.Now().UnixNano() < r.authAt.Load() {
			return authError("401")
		}
		if err := r.budget.take(ctx, c.route, c.major); err != nil {
			if e, ok := errors.AsType[*chat.Error](err); ok {
				return e
			}
			return &chat.Error{Kind: chat.Temporary, Code: "not_sent", Err: err}
		}
	}
	req, err := r.request(ctx, c)
	if err != nil {
		return err
	}
	client := r.Client
	if c.file != nil { // ctx has the time of a whole file
		own := *client
		own.Timeout = 0
		client = &own
	}
	resp, err := lane.Call(client, req, maxBody, r.clean)
	if err != nil {
		return noAnswer(err, c.what)
	}
	defer func() { _ = resp.Body.Close() }()
	if !c.open {
		r.budget.learn(c.route, c.major, resp)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return noAnswer(err, c.what)
	}
	if resp.StatusCode/100 != 2 {
		return r.refused(c, resp, body)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil { // a proxy's page, a cut body
		return &chat.Error{Kind: unsure(c.what), Code: "bad_answer", Err: errors.New("the answer is not what was asked for")}
	}
	return nil
}

func (r *rest) request(ctx context.Context, c call) (*http.Request, error) {
	var body io.Reader
	contentType := "application/json"
	if c.body != nil {
		raw, err := json.Marshal(c.body)
		if err != nil {
			return nil, &chat.Error{Kind: chat.Invalid, Code: "bad_body", Err: r.clean.Error(err)}
		}
		body = bytes.NewReader(raw)
		if c.file != nil {
			form, kind, err := c.file.form(raw)
			if err != nil {
				return nil, &chat.Error{Kind: chat.Invalid, Code: "bad_body", Err: r.clean.Error(err)}
			}
			body, contentType = strings.NewReader(form), kind
		}
	}
	req, err := http.NewRequestWithContext(ctx, c.verb, r.base+c.path, body)
	if err != nil {
		return nil, &chat.Error{Kind: chat.Invalid, Code: "bad_address", Err: r.clean.Error(err)}
	}
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("User-Agent", "DiscordBot (loopx, 1)")
	if !c.open {
		req.Header.Set("Authorization", "Bot "+r.token.Reveal())
	}
	return req, nil
}

// refused reads an answer that is no success.
func (r *rest) refused(c call, resp *http.Response, body []byte) error {
	if resp.StatusCode == http.StatusTooManyRequests {
		var limit struct {
			After  float64 `json:"retry_after"`
			Global bool    `json:"global"`
		}
		_ = json.Unmarshal(body, &limit)
		after := seconds(fmt.Sprint(limit.After))
		if after == 0 {
			after = seconds(resp.Header.Get("Retry-After"))
		}
		if after == 0 {
			after = defaultWait
		}
		if !c.open {
			r.budget.refuse(c.route, c.major, after, limit.Global || resp.Header.Get("X-RateLimit-Global") == "true")
		}
		return &chat.Error{Kind: chat.RateLimited, After: after, Code: "429"}
	}
	if resp.StatusCode == http.StatusUnauthorized && !c.open {
		r.authAt.Store(time.Now().Add(r.hold).UnixNano())
	}
	return apiError(c, resp.StatusCode, body)
}

// allow makes calls with the token possible again.
func (r *rest) allow() { r.authAt.Store(0) }

// gatewayURL checks an address the API gave and adds what is spoken: the token
// goes to Discord's gateway hosts only, over TLS.
func (r *rest) gatewayURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil {
		return "", errors.New("the gateway's address is none")
	}
	ours := u.Scheme == "wss" && (u.Hostname() == "gateway.discord.gg" || strings.HasSuffix(u.Hostname(), ".discord.gg"))
	if r.sim {
		ours = u.Scheme == "ws" && loopback(u)
	}
	if !ours {
		return "", fmt.Errorf("refused to connect to %s: not a gateway of Discord", u.Hostname())
	}
	u.RawQuery = url.Values{"v": {version}, "encoding": {"json"}}.Encode()
	return u.String(), nil
}
