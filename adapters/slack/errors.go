package slack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	api "github.com/slack-go/slack"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// defaultWait is for a refusal that names no time. Slack's limits are by the
// minute (docs "Rate limits").
const defaultWait = 30 * time.Second

// op is how a call may be repeated.
type op int

const (
	reading  op = iota // no effect
	setting            // repeating it is harmless: chat.update
	creating           // repeating it makes a second one: chat.postMessage
)

// classify gives a failure its kind, once. A call that may have had its effect
// is UnknownOutcome only where a second one would show.
func (a *Adapter) classify(err error, what op) error {
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
	cleaned := a.http.clean.Error(err)

	if e, ok := errors.AsType[*api.RateLimitedError](err); ok {
		return &chat.Error{Kind: chat.RateLimited, After: max(e.RetryAfter, time.Second), Code: "ratelimited", Err: cleaned}
	}
	if e, ok := errors.AsType[api.SlackErrorResponse](err); ok {
		return slackError(e, unsure)
	}
	if e, ok := errors.AsType[api.StatusCodeError](err); ok {
		out := &chat.Error{Kind: chat.Temporary, Code: fmt.Sprintf("http_%d", e.Code), Err: cleaned}
		if e.Code >= 500 || e.Code == http.StatusRequestTimeout {
			out.Kind = unsure
		}
		if e.Code == http.StatusTooManyRequests {
			out.Kind, out.After = chat.RateLimited, defaultWait
		}
		return out
	}
	out := &chat.Error{Kind: unsure, Code: "no_answer", Err: cleaned}
	if e, ok := errors.AsType[*lane.CallError](err); ok {
		if !e.Wrote {
			out.Kind, out.Code = chat.Temporary, "not_sent"
		}
		return out
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return out
	}
	// An answer that is no JSON: a proxy's page, a cut body.
	out.Code = "bad_answer"
	return out
}

func isRateLimit(code string) bool {
	switch code {
	case "ratelimited", "rate_limited", "message_limit_exceeded":
		return true
	}
	return false
}

// slackError sorts Slack's error words (docs, "Errors" of each method).
func slackError(r api.SlackErrorResponse, unsure chat.ErrorKind) *chat.Error {
	e := &chat.Error{Code: lane.Word(r.Err), Kind: chat.Temporary}
	switch {
	case isRateLimit(r.Err):
		e.Kind, e.After = chat.RateLimited, defaultWait
		return e
	case isAuth(r.Err):
		e.Kind, e.Fix = chat.Auth, authFix(r)
		return e
	}
	switch r.Err {
	case "channel_not_found", "is_archived", "message_not_found", "not_in_channel", "user_not_found",
		"users_not_found", "user_disabled", "cannot_dm_bot", "thread_not_found", "cant_update_message",
		"edit_window_closed", "user_not_in_channel", "restricted_action", "restricted_action_read_only_channel",
		"restricted_action_thread_locked", "restricted_action_non_threadable_channel", "restricted_action_thread_only_channel",
		"cannot_reply_to_message", "cant_broadcast_message", "messages_tab_disabled", "no_permission":
		e.Kind = chat.Gone
	case "msg_too_long", "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "no_text",
		"invalid_arguments", "invalid_metadata_format", "invalid_metadata_schema", "metadata_too_large",
		"metadata_must_be_sent_from_app", "invalid_thread_ts", "invalid_attachments", "too_many_attachments",
		"block_mismatch", "markdown_text_conflict", "invalid_form_data", "invalid_json", "invalid_arg_name", "invalid_array_arg",
		"invalid_charset", "invalid_post_type", "view_too_large", "unknown_method":
		e.Kind = chat.Invalid
		if len(r.ResponseMetadata.Messages) > 0 {
			// Slack names the place in our own payload, not its content.
			e.Err = errors.New(strings.Join(r.ResponseMetadata.Messages, "; "))
		}
	case "fatal_error", "internal_error", "request_timeout", "service_unavailable":
		// "It's possible some aspect of the operation succeeded" (docs).
		e.Kind = unsure
	}
	return e
}

func isAuth(code string) bool {
	switch code {
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope",
		"not_allowed_token_type", "org_login_required", "ekm_access_denied", "team_access_not_granted",
		"access_denied", "two_factor_setup_required", "enterprise_is_restricted", "accesslimited",
		"missing_post_type", "app_not_installed", "invalid_app_id", "forbidden_team":
		return true
	}
	return false
}

func authFix(r api.SlackErrorResponse) string {
	switch r.Err {
	case "missing_scope":
		return fmt.Sprintf("add the scope %s to the Slack app (OAuth & Permissions) and install it again", lane.Word(r.Needed))
	case "not_allowed_token_type":
		return "use an app-level token (xapp-) for the socket and a bot token (xoxb-) for the rest"
	case "account_inactive", "app_not_installed":
		return "install the Slack app in the workspace again and store the new bot token"
	}
	return "create a new token in the Slack app's settings and store it"
}
