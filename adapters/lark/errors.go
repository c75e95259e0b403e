package lark

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// defaultWait is for a refusal that names no time: Lark's limits are by the
// second and the minute (documentation "frequency control").
const defaultWait = 5 * time.Second

// op is how a call may be repeated.
type op int

const (
	reading  op = iota // no effect
	setting            // repeating it is harmless: patching a card
	creating           // repeating it may make a second one
)

// classify gives a failure its kind, once. A call that may have had its effect
// is UnknownOutcome only where a second one would show.
func (r *rest) classify(err error, what op) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*chat.Error](err); ok {
		return e
	}
	unsure := chat.Temporary
	if what == creating {
		unsure = chat.UnknownOutcome
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		return r.refused(e, unsure)
	}
	out := &chat.Error{Kind: unsure, Code: "no_answer", Err: r.http.clean.Error(err)}
	if e, ok := errors.AsType[*lane.CallError](err); ok {
		if !e.Wrote {
			out.Kind, out.Code = chat.Temporary, "not_sent"
		}
		return out
	}
	if _, ok := errors.AsType[*larkcore.ServerTimeoutError](err); ok {
		return out
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return out
	}
	out.Code = "bad_answer"
	return out
}

// refusedToken reports whether another tenant token may help. Every other
// refusal keeps the token (B74).
func refusedToken(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		return false
	}
	switch e.code {
	case 99991661, 99991663, 99991664, 99991668, 99991671:
		return true
	}
	return false
}

// refused sorts Lark's codes (documentation "general error codes", and the
// tables of each call).
func (r *rest) refused(in *apiError, unsure chat.ErrorKind) *chat.Error {
	e := &chat.Error{Kind: chat.Temporary, Code: strconv.Itoa(in.code)}
	if in.log != "" {
		e.Err = errors.New("log id " + in.log)
	}
	switch {
	case in.code == 99991400 || in.code == 230020 || in.code == 11232 || in.code == 11247 || in.status == http.StatusTooManyRequests:
		e.Kind, e.After = chat.RateLimited, in.wait
		if e.After <= 0 {
			e.After = defaultWait
		}
		if in.code == 230020 && in.wait == 0 {
			e.After = time.Second // five a second for one message
		}
	case in.code == 0:
		e.Code = fmt.Sprintf("http_%d", in.status)
		if in.status >= 500 || in.status < 300 || in.status == http.StatusRequestTimeout {
			e.Kind = unsure // 200 without JSON: somebody between answered
		}
	case refusedToken(in) || isAuth(in.code):
		e.Kind, e.Fix = chat.Auth, r.fix(in)
	case isGone(in):
		e.Kind = chat.Gone
	case isInvalid(in.code):
		e.Kind = chat.Invalid
		e.Err = errors.New(withoutValue(in.msg))
	case in.status >= 500 || in.code == 230049 || in.code == 1500 || in.code == 2200:
		e.Kind = unsure
	}
	return e
}

func isAuth(code int) bool {
	switch code {
	case 10003, 10005, 10012, 10013, 10014, 10015, 10217, // token endpoint: app id or secret
		99991401,           // the address is not in the app's allow list
		99991543, 99991662, // app is disabled
		99991672, 99991679, // a scope is missing
		230006, 230027: // the bot is switched off, permissions are missing
		return true
	}
	return false
}

// isGone says that the message, the place or the person is no more, or never
// lets this bot in again by itself.
func isGone(r *apiError) bool {
	switch r.code {
	case 230002, 230003, 230005, 230010, 230011, 230013, 230015, 230017, 230018, 230029, 230031, 230034, 230035, 230038, 230050,
		230053, 230054, 230071, 230072, 230073, 230074, 230075, 230110, 231003, 232006, 232009, 232010, 232011, 232033:
		return true
	case 230001: // a bad parameter, which is also how an unknown id is answered
		for _, id := range []string{"receive_id", "message_id", "chat_id", "thread_id"} {
			if strings.Contains(r.msg, "invalid "+id+".") || strings.Contains(r.msg, "invalid "+id+":") {
				return true
			}
		}
	}
	return false
}

func isInvalid(code int) bool {
	switch code {
	case 9499, 99992402, 230001, 230022, 230025, 230028, 230055, 230099, 11246, 11310, 200621, 200740, 300301, 300305:
		return true
	}
	return false
}

// withoutValue keeps what Lark complains about and leaves out the value it
// quotes, which is our own content.
func withoutValue(msg string) string {
	if i := strings.Index(msg, "ErrorValue"); i >= 0 {
		msg = msg[:i]
	}
	if len(msg) > 300 {
		msg = msg[:300]
	}
	return strings.ToValidUTF8(msg, "")
}

// fix names the one thing that mends an Auth failure.
func (r *rest) fix(in *apiError) string {
	console := strings.Replace(r.cfg.Domain.baseURL(), "https://", "", 1) + "/app"
	switch in.code {
	case 99991672, 99991679, 230027:
		if m := regexp.MustCompile(`\[([a-z0-9_:., -]{1,400})\]`).FindStringSubmatch(in.msg); m != nil {
			return fmt.Sprintf("add one of the scopes %s to the app at %s and publish a version", m[1], console)
		}
		return "add the missing scope to the app at " + console + " and publish a version"
	case 99991401:
		return "add this machine's address to the app's IP allow list at " + console
	case 99991543, 99991662, 230006:
		return "enable the app and its bot ability at " + console + " and publish a version"
	}
	return "check app id and app secret at " + console + " (Credentials), and the domain: feishu and lark are different platforms"
}
