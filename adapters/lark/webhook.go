package lark

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// Bounds of what comes over HTTP.
const (
	// freshFor is how far a request's time may be from ours, both ways.
	freshFor   = 5 * time.Minute
	maxWebhook = 4 << 20
)

// Webhook is the other way in: Lark calls us. It serves signed and encrypted
// requests only and belongs on a listener of its own. Make it with
// Adapter.Webhook.
type Webhook struct {
	r      *runner
	ctx    context.Context
	cancel context.CancelFunc
	key    [32]byte
	lanes  *lane.Lanes[visit]
	once   *lane.Once
}

// visit is one request on its way through the lane of its conversation.
type visit struct {
	run  func()
	size int
}

// Webhook returns a handler that gives events to sink, in order per
// conversation. It needs EncryptKey and VerificationToken; the error is an
// *chat.Error of kind Invalid. Stop ends it.
//
// A request is taken when its signature fits the raw body, its time is within
// five minutes of ours, it was not taken before, and what is inside carries the
// verification token. The one request Lark does not sign is the question at set-up
// whether somebody is there; it must be encrypted and carry the token too.
func (a *Adapter) Webhook(sink chat.Sink) (*Webhook, error) {
	if a.cfg.EncryptKey.Empty() || a.cfg.VerificationToken.Empty() {
		return nil, &chat.Error{Kind: chat.Invalid, Code: "bad_config", Err: errors.New("a webhook needs the encrypt key and the verification token")}
	}
	w := &Webhook{
		r:   newRunner(a, sink),
		key: sha256.Sum256([]byte(a.cfg.EncryptKey.Reveal())), once: lane.NewOnce(freshFor),
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

// ServeHTTP takes one request while Run runs on a connection with an encrypt key;
// before and after it Lark is told to come again.
func (a *Adapter) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	if w := a.hook.Load(); w != nil {
		w.ServeHTTP(out, req)
		return
	}
	out.WriteHeader(http.StatusServiceUnavailable)
}

// runWebhook serves until ctx ends. No socket tells that the secret is dead, so
// it is tried now and then.
func (a *Adapter) runWebhook(ctx context.Context, sink chat.Sink) error {
	w, err := a.Webhook(sink)
	if err != nil {
		return err
	}
	a.hook.Store(w)
	defer w.Stop()
	defer a.hook.Store(nil)
	for a.pace.Wait(ctx) == nil {
		_, err := a.identify(ctx)
		if err == nil {
			break
		}
		if chat.KindOf(err) == chat.Auth {
			return err
		}
		a.health.Set(chat.Retrying, err.Error(), fixOf(err))
	}
	a.health.Set(chat.Ready, "", "")
	for _, c := range w.r.past.conversations() {
		if !w.lanes.Put(c, visit{run: func() { w.r.past.read(w.ctx, c) }}) {
			a.counts.Add("refused:full")
		}
	}
	for lane.Pause(ctx, a.cfg.Timing.Check) == nil {
		if _, err := a.whoAmI(ctx); chat.KindOf(err) == chat.Auth {
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

func refuse(code string) *refusedRequest {
	return &refusedRequest{http.StatusUnauthorized, code}
}

// ServeHTTP takes one request.
func (w *Webhook) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	status, body, after := w.serve(out, req)
	if after != nil {
		defer after()
	}
	out.Header().Set("Content-Type", "application/json; charset=utf-8")
	out.Header().Set("X-Content-Type-Options", "nosniff")
	out.WriteHeader(status)
	_, _ = out.Write(body) // a caller that has gone delivers again
}

func (w *Webhook) serve(out http.ResponseWriter, req *http.Request) (status int, body []byte, after func()) {
	deny := func(r *refusedRequest) (int, []byte, func()) {
		w.r.counts.Add("webhook:" + r.code)
		return r.status, []byte(`{"msg":"` + r.code + `"}`), nil
	}
	if req.Method != http.MethodPost {
		return deny(&refusedRequest{http.StatusMethodNotAllowed, "post_only"})
	}
	raw, err := io.ReadAll(http.MaxBytesReader(out, req.Body, maxWebhook))
	if err != nil {
		return deny(&refusedRequest{http.StatusRequestEntityTooLarge, "too_long"})
	}
	signed := len(req.Header.Values("X-Lark-Signature")) > 0
	if signed {
		if r := w.verify(req.Header, raw); r != nil {
			return deny(r)
		}
	}
	payload, err := w.decrypt(raw)
	if err != nil {
		return deny(refuse("not_encrypted"))
	}
	var in struct {
		Type      string `json:"type"`
		Token     string `json:"token"`
		Challenge string `json:"challenge"`
		Header    struct {
			Token string `json:"token"`
		} `json:"header"`
	}
	if json.Unmarshal(payload, &in) != nil {
		return deny(&refusedRequest{http.StatusBadRequest, "no_json"})
	}
	if !same(firstOf(in.Header.Token, in.Token), w.r.cfg.VerificationToken.Reveal()) {
		return deny(refuse("bad_token"))
	}
	if in.Type == "url_verification" {
		answer, err := encode(map[string]string{"challenge": in.Challenge})
		if err != nil {
			return deny(&refusedRequest{http.StatusBadRequest, "no_json"})
		}
		return http.StatusOK, answer, nil
	}
	if !signed {
		return deny(refuse("unsigned"))
	}
	signature := req.Header.Get("X-Lark-Signature")
	switch ok, again := w.once.Claim(signature, w.r.cfg.Clock()); {
	case again:
		return deny(refuse("replayed"))
	case !ok:
		return deny(&refusedRequest{http.StatusServiceUnavailable, "busy"})
	}
	status, body, after = w.take(req.Context(), payload)
	if status != http.StatusOK {
		w.once.Release(signature) // Lark may bring the very same request again
	}
	return status, body, after
}

// verify checks signature and age. Each header must be there exactly once.
func (w *Webhook) verify(h http.Header, raw []byte) *refusedRequest {
	for _, name := range []string{"X-Lark-Signature", "X-Lark-Request-Timestamp", "X-Lark-Request-Nonce"} {
		if len(h.Values(name)) != 1 {
			return refuse("bad_headers")
		}
	}
	stamp := h.Get("X-Lark-Request-Timestamp")
	sum := sha256.New()
	_, _ = io.WriteString(sum, stamp+h.Get("X-Lark-Request-Nonce")+w.r.cfg.EncryptKey.Reveal()) // a hash takes everything
	_, _ = sum.Write(raw)
	if !same(hex.EncodeToString(sum.Sum(nil)), h.Get("X-Lark-Signature")) {
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

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// decrypt opens {"encrypt": base64(iv, AES-256-CBC with PKCS7)}.
func (w *Webhook) decrypt(raw []byte) ([]byte, error) {
	bad := errors.New("not an encrypted event")
	var in struct {
		Encrypt []byte `json:"encrypt"`
	}
	if json.Unmarshal(raw, &in) != nil || len(in.Encrypt) < 2*aes.BlockSize || len(in.Encrypt)%aes.BlockSize != 0 {
		return nil, bad
	}
	block, err := aes.NewCipher(w.key[:])
	if err != nil {
		return nil, bad
	}
	out := make([]byte, len(in.Encrypt)-aes.BlockSize)
	cipher.NewCBCDecrypter(block, in.Encrypt[:aes.BlockSize]).CryptBlocks(out, in.Encrypt[aes.BlockSize:])
	pad := int(out[len(out)-1])
	if pad < 1 || pad > aes.BlockSize {
		return nil, bad
	}
	for _, b := range out[len(out)-pad:] {
		if int(b) != pad {
			return nil, bad
		}
	}
	return out[:len(out)-pad], nil
}

// take decodes one event and waits for the sink.
func (w *Webhook) take(ctx context.Context, payload []byte) (status int, body []byte, after func()) {
	success := []byte(`{"msg":"success"}`)
	w.r.health.Event()
	id, err := w.r.identify(ctx)
	if err != nil {
		return http.StatusServiceUnavailable, []byte(`{"msg":"not_ready"}`), nil
	}
	d, err := decode(payload, false, id)
	w.r.learn(d)
	if err != nil || d.ignored != "" {
		reason := "undecodable"
		if err == nil {
			reason = "ignored:" + d.ignored
		}
		w.r.counts.Add(reason)
		if answer := emptyFor(d); answer != nil {
			return http.StatusOK, answer, nil
		}
		return http.StatusOK, success, nil
	}
	type result struct {
		status int
		body   []byte
		after  func()
	}
	done := make(chan result, 1)
	taken := w.lanes.Put(d.event.Place.Conversation, visit{size: len(payload) + 512, run: func() {
		var res result
		res.status, res.body, res.after = w.r.settle(w.ctx, d)
		// Nobody may be there any more to call it.
		once := sync.OnceFunc(res.after)
		stop := context.AfterFunc(w.ctx, once)
		res.after = func() { stop(); once() }
		done <- res
	}})
	if !taken {
		return http.StatusServiceUnavailable, []byte(`{"msg":"busy"}`), nil
	}
	select {
	case res := <-done:
		if res.body == nil && res.status == http.StatusOK {
			res.body = success
		}
		return res.status, res.body, res.after
	case <-w.ctx.Done():
		// What waits in the lane is not run any more; what runs ends with ctx, and
		// Lark brings it again.
		return http.StatusServiceUnavailable, []byte(`{"msg":"stopping"}`), nil
	}
}
