package lark

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// rest makes the calls of the open platform: one method a call, each with a
// token of ours, each failure classified once.
type rest struct {
	cfg    Config
	sdk    *larkcore.Config
	im     *larkim.V1
	http   *doer
	tokens *tokens
	counts *lane.Counts
}

// newREST takes the SDK for its requests and types. Its token cache is one per
// process, never evicts what was revoked and fetches once per caller: it stays
// off, each call gets a token of ours.
func newREST(cfg Config, counts *lane.Counts) *rest {
	r := &rest{cfg: cfg, http: newDoer(cfg), counts: counts}
	r.sdk = &larkcore.Config{
		BaseUrl: cfg.BaseURL, AppId: cfg.AppID, AppSecret: cfg.AppSecret.Reveal(),
		HttpClient: r.http, Logger: sdkLogger{cfg.Logger, r.http.clean}, LogLevel: larkcore.LogLevelWarn,
	}
	larkcore.NewLogger(r.sdk)
	larkcore.NewSerialization(r.sdk)
	r.im = larkim.New(r.sdk)
	r.tokens = &tokens{fetch: r.fetchToken, warn: cfg.Logger.Warn}
	return r
}

// fetchToken asks for a tenant token.
func (r *rest) fetchToken(ctx context.Context) (string, time.Duration, error) {
	body, err := json.Marshal(map[string]string{"app_id": r.cfg.AppID, "app_secret": r.cfg.AppSecret.Reveal()})
	if err != nil {
		return "", 0, err
	}
	r.counts.Add("token:fetch")
	var out struct {
		Token  string `json:"tenant_access_token"`
		Expire int64  `json:"expire"` // seconds
	}
	if err := r.postJSON(ctx, larkcore.TenantAccessTokenInternalUrlPath, body, &out); err != nil {
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
func (r *rest) postJSON(ctx context.Context, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.cfg.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return r.http.clean.Error(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "loopx")
	req.Header.Set("locale", "zh") // both SDKs send it to the discovery
	resp, err := r.http.Do(req)
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
func (r *rest) call(ctx context.Context, what op, f func(context.Context, larkcore.RequestOptionFunc) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timing.Call)
	defer cancel()
	for try := 0; ; try++ {
		token, err := r.tokens.get(ctx)
		if err != nil {
			return r.classify(err, reading) // nothing was written
		}
		err = f(ctx, larkcore.WithTenantAccessToken(token))
		if try == 0 && refusedToken(err) {
			r.counts.Add("token:refused")
			r.tokens.evict(token)
			continue
		}
		return r.classify(err, what)
	}
}

// get makes a reading call that the SDK has no package of its own for, or only a
// heavy one.
func (r *rest) get(ctx context.Context, path string, query larkcore.QueryParams, out any) error {
	return r.call(ctx, reading, func(ctx context.Context, token larkcore.RequestOptionFunc) error {
		resp, err := larkcore.Request(ctx, &larkcore.ApiReq{
			HttpMethod: http.MethodGet, ApiPath: path, QueryParams: query,
			SupportedAccessTokenTypes: []larkcore.AccessTokenType{larkcore.AccessTokenTypeTenant},
		}, r.sdk, token)
		if err != nil {
			return err
		}
		return json.Unmarshal(resp.RawBody, out)
	})
}

// made is what a write answers.
type made struct{ message, chat string }

func (r *rest) create(ctx context.Context, to, uuid string, d draft) (made, error) {
	kind := "chat_id"
	if strings.HasPrefix(to, "ou_") {
		kind = "open_id"
	}
	body := larkim.NewCreateMessageReqBodyBuilder().ReceiveId(to).MsgType(d.typ).Content(d.content)
	if uuid != "" {
		body.Uuid(uuid)
	}
	req := larkim.NewCreateMessageReqBuilder().ReceiveIdType(kind).Body(body.Build()).Build()
	var out made
	err := r.call(ctx, creating, func(ctx context.Context, token larkcore.RequestOptionFunc) error {
		resp, err := r.im.Message.Create(ctx, req, token)
		switch {
		case err != nil:
			return err
		case resp.Data == nil || str(resp.Data.MessageId) == "": // code 0 without data happens
			return errNoData
		}
		out = made{str(resp.Data.MessageId), str(resp.Data.ChatId)}
		return nil
	})
	return out, err
}

func (r *rest) reply(ctx context.Context, to, uuid string, d draft) (made, error) {
	body := larkim.NewReplyMessageReqBodyBuilder().MsgType(d.typ).Content(d.content).ReplyInThread(true)
	if uuid != "" {
		body.Uuid(uuid)
	}
	req := larkim.NewReplyMessageReqBuilder().MessageId(to).Body(body.Build()).Build()
	var out made
	err := r.call(ctx, creating, func(ctx context.Context, token larkcore.RequestOptionFunc) error {
		resp, err := r.im.Message.Reply(ctx, req, token)
		switch {
		case err != nil:
			return err
		case resp.Data == nil || str(resp.Data.MessageId) == "":
			return errNoData
		}
		out = made{str(resp.Data.MessageId), str(resp.Data.ChatId)}
		return nil
	})
	return out, err
}

func str(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func (r *rest) patch(ctx context.Context, message, content string) error {
	req := larkim.NewPatchMessageReqBuilder().MessageId(message).
		Body(larkim.NewPatchMessageReqBodyBuilder().Content(content).Build()).Build()
	return r.call(ctx, setting, func(ctx context.Context, token larkcore.RequestOptionFunc) error {
		_, err := r.im.Message.Patch(ctx, req, token)
		return err
	})
}

// edit changes a text or a post.
func (r *rest) edit(ctx context.Context, message string, d draft) error {
	req := larkim.NewUpdateMessageReqBuilder().MessageId(message).
		Body(larkim.NewUpdateMessageReqBodyBuilder().MsgType(d.typ).Content(d.content).Build()).Build()
	return r.call(ctx, setting, func(ctx context.Context, token larkcore.RequestOptionFunc) error {
		_, err := r.im.Message.Update(ctx, req, token)
		return err
	})
}

// listPage gives one page of a history.
func (r *rest) listPage(ctx context.Context, req *larkim.ListMessageReq) (*larkim.ListMessageRespData, error) {
	var out *larkim.ListMessageRespData
	err := r.call(ctx, reading, func(ctx context.Context, token larkcore.RequestOptionFunc) error {
		resp, err := r.im.Message.List(ctx, req, token)
		if err != nil {
			return err
		}
		if out = resp.Data; out == nil {
			return errNoData
		}
		return nil
	})
	return out, err
}

// discover asks for an address of the long connection.
func (r *rest) discover(ctx context.Context) (larkws.Endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timing.Call)
	defer cancel()
	body, err := json.Marshal(larkws.BootstrapRequest{AppID: r.cfg.AppID, AppSecret: r.cfg.AppSecret.Reveal()})
	if err != nil {
		return larkws.Endpoint{}, err
	}
	var out larkws.EndpointResp
	err = r.postJSON(ctx, larkws.GenEndpointUri, body, &out)
	if e, ok := errors.AsType[*apiError](err); ok && e.code != 0 && e.status < 500 && e.code != 99991400 {
		switch e.code {
		case larkws.SystemBusy, larkws.InternalError:
			return larkws.Endpoint{}, &chat.Error{Kind: chat.Temporary, Code: strconv.Itoa(e.code)}
		}
		// Any other code is a refusal that no retry lifts.
		return larkws.Endpoint{}, &chat.Error{Kind: chat.Auth, Code: strconv.Itoa(e.code), Fix: r.fix(e)}
	}
	if err != nil {
		return larkws.Endpoint{}, r.classify(err, reading)
	}
	if out.Data == nil || out.Data.Url == "" {
		return larkws.Endpoint{}, r.classify(errNoData, reading)
	}
	return *out.Data, nil
}
