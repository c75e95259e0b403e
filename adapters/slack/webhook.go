package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// Bounds of what comes over HTTP.
const (
	// freshFor is how far a request's time may be from ours, both ways (docs,
	// "Verifying requests from Slack").
	freshFor   = 5 * time.Minute
	maxWebhook = 1 << 20
)

// Webhook is the other way in: Slack calls us, with events, presses and slash
// commands at one address. It takes signed requests only and belongs on a
// listener of its own. Make it with NewWebhook.
type Webhook struct {
	r      *runner
	ctx    context.Context
	cancel context.CancelFunc
	lanes  *lane.Lanes[visit]
	once   *lane.Once
}

// visit is one request on its way through the lane of its conversation.
type visit struct {
	run  func()
	size int
}

// NewWebhook returns a handler that gives events to sink, in order per
// conversation as they arrive; Slack's requests may overtake each other. It
// needs SigningSecret; the error is an *chat.Error of kind Invalid. Stop ends it.
//
// A request is taken when its signature fits the raw body, its time is within
// five minutes of ours and it was not taken before.
func NewWebhook(a *Adapter, sink chat.Sink) (*Webhook, error) {
	if a.cfg.SigningSecret.Empty() {
		return nil, &chat.Error{Kind: chat.Invalid, Code: "bad_config", Err: errors.New("a webhook needs the signing secret")}
	}
	w := &Webhook{
		r:    newRunner(a, sink),
		once: lane.NewOnce(freshFor),
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.lanes = lane.New(func(v visit) { v.run() }, func(v visit) int { return v.size })
	return w, nil
}

// Stop ends what runs and waits for it.
func (w *Webhook) Stop() {
	w.cancel()
	w.lanes.Stop()
	w.r.side.Wait()
}

// ServeHTTP takes one request while Run runs on a connection with a signing
// secret; before and after it Slack is told to come again.
func (a *Adapter) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	if w := a.hook.Load(); w != nil {
		w.ServeHTTP(out, req)
		return
	}
	out.WriteHeader(http.StatusServiceUnavailable)
}

// runWebhook serves until ctx ends. No socket tells that the token is dead, so
// it is asked for now and then.
func runWebhook(ctx context.Context, a *Adapter, sink chat.Sink) error {
	w, err := NewWebhook(a, sink)
	if err != nil {
		return err
	}
	a.hook.Store(w)
	defer w.Stop()
	defer a.hook.Store(nil)
	for err := w.r.hello(ctx); err != nil; err = w.r.hello(ctx) {
		if ctx.Err() != nil || chat.KindOf(err) == chat.Auth {
			return err
		}
	}
	a.health.Set(chat.Ready, "", "")
	for _, c := range w.r.past.conversations() {
		if !w.lanes.Put(c, visit{run: func() { w.r.past.read(w.ctx, c) }}) {
			a.counts.Add("refused:full")
		}
	}
	for lane.Pause(ctx, a.cfg.Timing.Check) == nil {
		if _, err := whoAmI(ctx, a); chat.KindOf(err) == chat.Auth {
			a.forget()
			return err
		}
	}
	return nil
}

// refusedRequest says why a request is not taken, for the caller and the log:
// a wrong key and a wrong clock are told apart.
type refusedRequest struct {
	status int
	code   string
}

// ServeHTTP takes one request.
func (w *Webhook) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	status, body, after := w.serve(out, req)
	if after != nil {
		defer after()
	}
	out.Header().Set("X-Content-Type-Options", "nosniff")
	if len(body) > 0 {
		out.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	out.WriteHeader(status)
	_, _ = out.Write(body) // a caller that has gone delivers again
}

func (w *Webhook) serve(out http.ResponseWriter, req *http.Request) (status int, body []byte, after func()) {
	deny := func(r *refusedRequest) (int, []byte, func()) {
		w.r.counts.Add("webhook:" + r.code)
		return r.status, []byte(`{"error":"` + r.code + `"}`), nil
	}
	if req.Method != http.MethodPost {
		return deny(&refusedRequest{http.StatusMethodNotAllowed, "post_only"})
	}
	raw, err := io.ReadAll(http.MaxBytesReader(out, req.Body, maxWebhook))
	if err != nil {
		return deny(&refusedRequest{http.StatusRequestEntityTooLarge, "too_long"})
	}
	if r := w.verify(req.Header, raw); r != nil {
		return deny(r)
	}
	f, challenge, ok := readRequest(req.Header, raw)
	switch {
	case !ok:
		return deny(&refusedRequest{http.StatusBadRequest, "unreadable"})
	case challenge != "":
		answer, err := json.Marshal(map[string]string{"challenge": challenge})
		if err != nil {
			return deny(&refusedRequest{http.StatusBadRequest, "unreadable"})
		}
		return http.StatusOK, answer, nil
	case f.Payload == nil: // "ssl_check": Slack only asks whether somebody is there
		return http.StatusOK, nil, nil
	}
	signature := req.Header.Get("X-Slack-Signature")
	switch ok, again := w.once.Claim(signature, w.r.cfg.Clock()); {
	case again:
		// It had its effect and has no other. Slack's own repeat within the same
		// second looks the same, so it is no failure to tell Slack about.
		w.r.counts.Add("webhook:replayed")
		return http.StatusOK, nil, nil
	case !ok:
		return deny(&refusedRequest{http.StatusServiceUnavailable, "busy"})
	}
	status, body, after = w.take(req.Context(), f)
	if status != http.StatusOK {
		w.once.Release(signature) // Slack may bring the very same request again
	}
	return status, body, after
}

// verify checks signature and age. Each header must be there exactly once.
func (w *Webhook) verify(h http.Header, raw []byte) *refusedRequest {
	refuse := func(code string) *refusedRequest { return &refusedRequest{http.StatusUnauthorized, code} }
	for _, name := range []string{"X-Slack-Signature", "X-Slack-Request-Timestamp"} {
		switch len(h.Values(name)) {
		case 1:
		case 0:
			return refuse("unsigned")
		default:
			return refuse("bad_headers")
		}
	}
	stamp := h.Get("X-Slack-Request-Timestamp")
	mac := hmac.New(sha256.New, []byte(w.r.cfg.SigningSecret.Reveal()))
	_, _ = io.WriteString(mac, "v0:"+stamp+":") // a hash takes everything
	_, _ = mac.Write(raw)
	want := "v0=" + hex.EncodeToString(mac.Sum(nil))
	if subtle.ConstantTimeCompare([]byte(want), []byte(h.Get("X-Slack-Signature"))) != 1 {
		return refuse("bad_signature")
	}
	n, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return refuse("bad_headers")
	}
	if d := w.r.cfg.Clock().Sub(time.Unix(n, 0)); d > freshFor || d < -freshFor {
		return refuse("bad_clock")
	}
	return nil
}

// readRequest makes the envelope that Socket Mode would have brought: events
// are JSON, presses a form with one field of JSON, slash commands a form.
func readRequest(h http.Header, raw []byte) (f frame, challenge string, ok bool) {
	sum := sha256.Sum256(raw)
	f.Envelope = "http:" + hex.EncodeToString(sum[:12])
	typ, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	switch typ {
	case "application/json":
		var in struct {
			Type      string `json:"type"`
			Challenge string `json:"challenge"`
		}
		if json.Unmarshal(raw, &in) != nil {
			return f, "", false
		}
		if in.Type == "url_verification" {
			return f, in.Challenge, in.Challenge != ""
		}
		f.Type, f.Payload = "events_api", raw
		if n, err := strconv.ParseUint(h.Get("X-Slack-Retry-Num"), 10, 8); err == nil {
			f.Attempt = int(n)
		}
		return f, "", true
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(raw))
		switch {
		case err != nil:
			return f, "", false
		case form.Get("ssl_check") == "1":
			return f, "", true
		case form.Has("payload"):
			f.Type, f.Payload = "interactive", json.RawMessage(form.Get("payload"))
			return f, "", json.Valid(f.Payload)
		}
		fields := map[string]string{}
		for k := range form {
			fields[k] = form.Get(k)
		}
		f.Type, f.Accepts = "slash_commands", true
		f.Payload, err = json.Marshal(fields)
		return f, "", err == nil
	}
	return f, "", false
}

// take decodes one request and waits for the sink.
func (w *Webhook) take(ctx context.Context, f frame) (status int, body []byte, after func()) {
	w.r.health.Event()
	w.r.counts.Add("envelope:" + f.Type)
	id, err := w.r.identify(ctx)
	if err != nil {
		return http.StatusServiceUnavailable, nil, nil
	}
	d, err := decode(f, id)
	switch {
	case err != nil:
		// Answered well, or Slack would bring it again and may switch the
		// subscription off; counted, so that it is seen.
		w.r.counts.Add("undecodable:" + f.Type)
		return http.StatusOK, nil, nil
	case d.ignored != "":
		w.r.counts.Add("ignored:" + d.ignored)
		return http.StatusOK, nil, nil
	case d.form != nil:
		return http.StatusOK, nil, func() { w.r.aside(func() { w.r.openForm(w.ctx, d.form) }) }
	}
	type result struct {
		ok      bool
		payload any
		after   func()
	}
	done := make(chan result, 1)
	taken := w.lanes.Put(d.event.Place.Conversation, visit{size: len(f.Payload) + 512, run: func() {
		var res result
		res.ok, res.payload, res.after = w.r.settle(w.ctx, item{frame: f, d: d})
		// Nobody may be there any more to call it.
		once := sync.OnceFunc(res.after)
		stop := context.AfterFunc(w.ctx, once)
		res.after = func() { stop(); once() }
		done <- res
	}})
	if !taken {
		w.r.counts.Add("refused:full")
		return http.StatusServiceUnavailable, nil, nil
	}
	select {
	case res := <-done:
		if !res.ok {
			return http.StatusInternalServerError, nil, nil
		}
		if res.payload != nil {
			if body, err = json.Marshal(res.payload); err != nil {
				body = nil
			}
		}
		return http.StatusOK, body, res.after
	case <-w.ctx.Done():
		// What waits in the lane is not run any more; what runs ends with ctx, and
		// Slack brings it again.
		return http.StatusServiceUnavailable, nil, nil
	}
}
