package lark

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
)

// defaultLife is how long a token is used when Lark does not say it: the
// documented two hours (B75).
const defaultLife = 2 * time.Hour

// tokens holds the tenant token. Any number of callers that need a new one cause
// one request.
type tokens struct {
	fetch func(ctx context.Context) (token string, life time.Duration, err error)
	warn  func(msg string, args ...any)

	mu     sync.Mutex // guards all that follows
	token  string
	until  time.Time
	flight chan struct{} // closed when the request in flight is over
	err    error         // of the last flight
}

// get returns a token that is believed to be good.
func (t *tokens) get(ctx context.Context) (string, error) {
	for {
		t.mu.Lock()
		if t.token != "" && time.Now().Before(t.until) {
			defer t.mu.Unlock()
			return t.token, nil
		}
		if t.flight == nil {
			t.flight = make(chan struct{})
			t.mu.Unlock()
			return t.renew(ctx)
		}
		wait := t.flight
		t.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		t.mu.Lock()
		err := t.err
		t.mu.Unlock()
		// A flight that ended because its caller gave up says nothing to us.
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return "", err
		}
	}
}

// renew is the one request in flight.
func (t *tokens) renew(ctx context.Context) (string, error) {
	token, life, err := t.fetch(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.flight)
	t.flight, t.err = nil, err
	if err != nil {
		return "", err
	}
	if life <= 0 {
		t.warn("Lark gave a token without saying how long it lives; two hours are assumed")
		life = defaultLife
	}
	// A token is renewed before it ends: three minutes, less for short lives.
	t.token, t.until = token, time.Now().Add(life-min(3*time.Minute, life/4))
	return token, nil
}

// evict forgets a token that was refused, unless it has been replaced already.
func (t *tokens) evict(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}

// fetchToken asks for a tenant token.
func (a *Adapter) fetchToken(ctx context.Context) (string, time.Duration, error) {
	body, err := json.Marshal(map[string]string{"app_id": a.cfg.AppID, "app_secret": a.cfg.AppSecret.Reveal()})
	if err != nil {
		return "", 0, err
	}
	a.counts.Add("token:fetch")
	var out struct {
		Token  string `json:"tenant_access_token"`
		Expire int64  `json:"expire"` // seconds
	}
	if err := a.postJSON(ctx, larkcore.TenantAccessTokenInternalUrlPath, body, &out); err != nil {
		return "", 0, err
	}
	if out.Token == "" {
		return "", 0, errNoData
	}
	return out.Token, time.Duration(min(max(out.Expire, 0), 7*24*3600)) * time.Second, nil
}

// errNoData is code 0 without what was asked for.
var errNoData = errors.New("the answer lacks its data")

// postJSON is for the two calls that need no token.
func (a *Adapter) postJSON(ctx context.Context, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return a.http.clean.Error(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "loopx")
	req.Header.Set("locale", "zh") // both SDKs send it to the discovery
	resp, err := a.http.Do(req)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// call makes one REST call with a token. A token that is refused is dropped and
// the call made once more with a new one (B74); nothing else is repeated.
func (a *Adapter) call(ctx context.Context, what op, f func(context.Context, larkcore.RequestOptionFunc) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	for try := 0; ; try++ {
		token, err := a.tokens.get(ctx)
		if err != nil {
			return a.classify(err, reading) // nothing was written
		}
		err = f(ctx, larkcore.WithTenantAccessToken(token))
		if try == 0 && refusedToken(err) {
			a.counts.Add("token:refused")
			a.tokens.evict(token)
			continue
		}
		return a.classify(err, what)
	}
}
