package lark

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// maxBody bounds an answer; a page of history is far below it.
const maxBody = 16 << 20

// doer is the only way out: it sends secrets to Lark's hosts alone, follows no
// redirect, and turns every answer that is not code 0 into an *apiError, so that
// one place classifies failures whichever call made them.
type doer struct {
	*lane.Way
	clean lane.Cleaner
	host  string // of the REST calls, exactly
	sim   bool
}

func newDoer(cfg Config) *doer {
	d := &doer{
		Way: lane.NewWay(cfg.HTTPClient, 2*cfg.Timing.Call, 20*time.Second, cfg.Clock), sim: cfg.Sim,
		clean: lane.NewCleaner([]chat.Secret{cfg.AppSecret, cfg.EncryptKey, cfg.VerificationToken},
			// Tenant tokens and the two secrets of a socket's address.
			lane.Rule{Find: regexp.MustCompile(`\b[tu]-[A-Za-z0-9_.-]{8,}`), With: "[secret]"},
			lane.Rule{Find: regexp.MustCompile(`(ticket|access_key)=[^&\s"']+`), With: "$1=[secret]"}),
	}
	if u, err := url.Parse(cfg.BaseURL); err == nil {
		d.host = u.Host
	}
	return d
}

// apiError is a refusal as it came.
type apiError struct {
	status int
	code   int // 0 when the body was no JSON with a code
	msg    string
	wait   time.Duration
	log    string // X-Tt-Logid, which Lark's support asks for
}

func (e *apiError) Error() string {
	return fmt.Sprintf("lark answered %d (http %d, log id %s)", e.code, e.status, e.log)
}

// Do sends a request once and reads the answer. It is the SDK's HTTP client.
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	if req.URL.Host != d.host || !d.sim && req.URL.Scheme != "https" {
		return nil, &lane.CallError{Err: fmt.Errorf("refused to call %s: not the host of Lark", req.URL.Hostname())}
	}
	resp, err := lane.Call(d.Client, req, maxBody, d.clean)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var a struct {
		Code *int   `json:"code"`
		Msg  string `json:"msg"`
	}
	e := &apiError{status: resp.StatusCode, log: lane.Word(resp.Header.Get("X-Tt-Logid")), wait: waitOf(resp.Header)}
	if json.Unmarshal(body, &a) != nil || a.Code == nil || !strings.Contains(resp.Header.Get("Content-Type"), "json") {
		return nil, e // a proxy's page, a cut body, a redirect
	}
	if *a.Code == 0 && resp.StatusCode < 300 {
		return resp, nil
	}
	e.code, e.msg = *a.Code, d.clean.Text(a.Msg)
	return nil, e
}

// waitOf reads how long a refused caller should wait: seconds, also as a
// Retry-After.
func waitOf(h http.Header) time.Duration {
	for _, name := range []string{"x-ogw-ratelimit-reset", "Retry-After"} {
		if n, err := strconv.ParseUint(h.Get(name), 10, 20); err == nil {
			return time.Duration(n) * time.Second
		}
	}
	return 0
}

// socketURL refuses an address of the long connection that is not Lark's or not
// encrypted. The address holds a ticket, so no error shows it.
func (d *doer) socketURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	bad := &chat.Error{Kind: chat.Temporary, Code: "foreign_socket", Err: fmt.Errorf("the platform named a socket that is not its own")}
	if err != nil || u.User != nil {
		return nil, bad
	}
	if d.sim {
		if u.Scheme != "ws" || !loopback(u.Hostname()) {
			return nil, bad
		}
		return u, nil
	}
	for _, own := range []string{".feishu.cn", ".larksuite.com", ".larkoffice.com"} {
		if u.Scheme == "wss" && strings.HasSuffix(strings.ToLower(u.Hostname()), own) {
			return u, nil
		}
	}
	return nil, bad
}

// sdkLogger gives the SDK's words to slog. Its default writes to stdout. What it
// says is for us, so nothing of it is above debug but errors.
type sdkLogger struct {
	log   *slog.Logger
	clean lane.Cleaner
}

func (l sdkLogger) say(ctx context.Context, level slog.Level, args []any) {
	if l.log.Enabled(ctx, level) {
		l.log.Log(ctx, level, "lark sdk", "says", l.clean.Text(fmt.Sprint(args...)))
	}
}

func (l sdkLogger) Debug(ctx context.Context, args ...any) { l.say(ctx, slog.LevelDebug, args) }
func (l sdkLogger) Info(ctx context.Context, args ...any)  { l.say(ctx, slog.LevelDebug, args) }
func (l sdkLogger) Warn(ctx context.Context, args ...any)  { l.say(ctx, slog.LevelDebug, args) }
func (l sdkLogger) Error(ctx context.Context, args ...any) { l.say(ctx, slog.LevelWarn, args) }
