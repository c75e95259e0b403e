package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"loopx/kernel"
)

// slackAnswer is what is used of the three methods' answers.
type slackAnswer struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error"`
	Needed string `json:"needed"`
	Team   string `json:"team"`
	TeamID string `json:"team_id"`
	// User is the bot's name in auth.test and an object in users.info.
	User   json.RawMessage `json:"user"`
	UserID string          `json:"user_id"`
	BotID  string          `json:"bot_id"`
}

// verifySlack asks who the bot is, compares its scopes with the manifest's, and
// asks for the address of a socket, which is then not opened.
func verifySlack(ctx context.Context, c *caller, j *job, v values) (found, error) {
	ask := func(method, token string, args url.Values) (slackAnswer, http.Header, error) {
		var a slackAnswer
		resp, err := c.do(ctx, request{method: http.MethodPost, path: method, auth: "Bearer " + v[token].Reveal(), body: []byte(args.Encode())}, &a)
		if err != nil {
			return a, nil, err
		}
		if !a.OK {
			return a, nil, slackRefusal(token, a)
		}
		return a, resp.Header, nil
	}
	who, header, err := ask("auth.test", "bot-token", nil)
	if err != nil {
		return found{}, err
	}
	if who.BotID == "" {
		return found{}, kernel.Errorf(kernel.Denied, "token_kind", "the bot token belongs to a person and not to a bot").Try("copy the Bot User OAuth Token, xoxb-, from Install App")
	}
	if err := slackScopes(header, j.platform.guide()); err != nil {
		return found{}, err
	}
	if _, sent := header[http.CanonicalHeaderKey("X-OAuth-Scopes")]; !sent {
		// Somebody between us and Slack took the header out: try one scope.
		if _, _, err := ask("users.info", "bot-token", url.Values{"user": {who.UserID}}); err != nil {
			return found{}, err
		}
	}
	var next []string
	if j.webhook {
		next = []string{calledAt(j, "give that address as request_url of\n     event_subscriptions and of interactivity, and as url of the command, with socket_mode_enabled: false\n     (App Manifest)")}
	} else if _, _, err := ask("apps.connections.open", "app-token", nil); err != nil {
		return found{}, err
	}
	var name string
	_ = json.Unmarshal(who.User, &name) // it is only shown
	return found{next: next, is: fmt.Sprintf("%s (%s) in the workspace %s (%s)", said(name), said(who.UserID), said(who.Team), said(who.TeamID))}, nil
}

// slackScopes compares what the token may do, which Slack says in a header of
// each answer, with the manifest of the guide.
func slackScopes(h http.Header, guide string) error {
	list, sent := h[http.CanonicalHeaderKey("X-OAuth-Scopes")]
	if !sent {
		return nil
	}
	var have, missing []string
	for s := range strings.SplitSeq(strings.Join(list, ","), ",") {
		have = append(have, strings.TrimSpace(s))
	}
	for _, want := range manifestScopes(guide) {
		if !slices.Contains(have, want) {
			missing = append(missing, want)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return slackMissing("bot token", strings.Join(missing, ", "))
}

// manifestScopes are the scopes of the bot in the manifest to paste.
func manifestScopes(guide string) []string {
	var out []string
	in := false
	_, blocks := fenced(guide)
	for _, block := range blocks {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			scope, item := strings.CutPrefix(line, "- ")
			switch {
			case line == "bot:":
				in = true
			case in && item:
				out = append(out, scope)
			default:
				in = false
			}
		}
	}
	return out
}

func slackMissing(what, scopes string) error {
	e := kernel.Errorf(kernel.Denied, "scope_missing", "the %s lacks %s", what, scopes)
	if what == "bot token" {
		return e.Try("add it under OAuth & Permissions, Bot Token Scopes, install the app again, and take the bot token it shows then")
	}
	return e.Try("make a new token with the scope connections:write: Basic Information, App-Level Tokens, Generate")
}

// slackRefusal says what an answer with ok: false means for one of the tokens.
func slackRefusal(token string, a slackAnswer) error {
	what, where := "bot token", "copy the Bot User OAuth Token, xoxb-, from Install App"
	if token == "app-token" {
		what, where = "app-level token", "make one with the scope connections:write: Basic Information, App-Level Tokens, Generate"
	}
	switch a.Error {
	case "invalid_auth", "not_authed":
		return kernel.Errorf(kernel.Denied, "token_refused", "Slack does not know this %s (%s)", what, a.Error).Try("%s", where)
	case "token_revoked", "account_inactive", "token_expired", "team_access_not_granted":
		return kernel.Errorf(kernel.Denied, "token_revoked", "the %s was revoked, or the app is no longer installed (%s)", what, a.Error).Try("install the app again (Install App); then %s", where)
	case "not_allowed_token_type":
		return kernel.Errorf(kernel.Denied, "token_kind", "Slack says that this is no %s", what).Try("%s", where)
	case "missing_scope":
		needed := said(a.Needed)
		if needed == "" {
			needed = "a scope"
		}
		return slackMissing(what, needed)
	case "ratelimited", "rate_limited":
		return kernel.Errorf(kernel.Unavailable, "rate_limited", "%s wants fewer calls", "Slack").Try("wait a minute, then run it again")
	}
	return kernel.Errorf(kernel.Denied, "platform_refused", "Slack refuses the %s: %s", what, said(a.Error)).Try("look the word up at api.slack.com/methods/auth.test; then %s", where)
}
