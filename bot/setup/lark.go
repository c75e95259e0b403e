package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"loopx/kernel"
)

func larkAddress(domain string) string {
	if domain == "lark" {
		return "https://open.larksuite.com/"
	}
	return "https://open.feishu.cn/"
}

// larkAnswer is what is used of the answers.
type larkAnswer struct {
	Code  int    `json:"code"`
	Msg   string `json:"msg"`
	Token string `json:"tenant_access_token"`
	Bot   struct {
		Name   string `json:"app_name"`
		Active *int   `json:"activate_status"`
	} `json:"bot"`
}

// larkProbe is a call that reads something that is not there: the platform
// looks at the scope first, and without it says which would do.
type larkProbe struct {
	path, scope string
	optional    string // what is lost without it; "" is needed
}

func larkProbes() []larkProbe {
	const im = "open-apis/im/v1/"
	return []larkProbe{
		{im + "messages/om_loopx_setup", "im:message", ""},
		{im + "chats/oc_loopx_setup", "im:chat:readonly", ""},
		{"open-apis/contact/v3/users/ou_loopx_setup?user_id_type=open_id", "contact:user.base:readonly", "people are shown by their ids and not by name"},
	}
}

// verifyLark gets a token for the tenant, asks who the bot is and which scopes
// it lacks, and asks for the address of a long connection, which is then not
// opened.
func verifyLark(ctx context.Context, c *caller, j *job, v values) (found, error) {
	console := strings.TrimPrefix(larkAddress(j.domain), "https://") + "app"
	ask := func(method, path, token string, body any) (larkAnswer, error) {
		var a larkAnswer
		r := request{method: method, path: path, json: body != nil}
		if token != "" {
			r.auth = "Bearer " + token
		}
		if body != nil {
			r.body, _ = json.Marshal(body) // two strings
		}
		_, err := c.do(ctx, r, &a)
		return a, err
	}
	id, secret := v["app-id"].Reveal(), v["app-secret"].Reveal()
	a, err := ask(http.MethodPost, "open-apis/auth/v3/tenant_access_token/internal", "", map[string]string{"app_id": id, "app_secret": secret})
	if err != nil {
		return found{}, err
	}
	if a.Code != 0 || a.Token == "" {
		return found{}, larkRefusal(a, console)
	}
	token := a.Token
	who, err := ask(http.MethodGet, "open-apis/bot/v3/info", token, nil)
	if err != nil {
		return found{}, err
	}
	if who.Code != 0 {
		return found{}, kernel.Errorf(kernel.Denied, "bot_missing", "the app has no bot, or its version with the bot is not published (%d)", who.Code).Try("add the Bot ability at %s, create a version and publish it", console)
	}
	out := found{is: fmt.Sprintf("%s (app %s)", said(who.Bot.Name), said(id))}
	if n := who.Bot.Active; n != nil && *n != 2 {
		return found{}, kernel.Errorf(kernel.Denied, "bot_inactive", "the bot is not active in your organisation (status %d)", *n).Try("publish a version at %s and let an administrator enable the app", console)
	}
	var missing []string
	for _, p := range larkProbes() {
		a, err := ask(http.MethodGet, p.path, token, nil)
		if err != nil {
			return found{}, err
		}
		if a.Code != 99991672 && a.Code != 99991679 {
			continue // not found, as it must be
		}
		if p.optional != "" {
			out.warnings = append(out.warnings, fmt.Sprintf("without the scope %s %s", p.scope, p.optional))
		} else if s := larkNeeded(a.Msg, p.scope); !slices.Contains(missing, s) {
			missing = append(missing, s)
		}
	}
	if len(missing) > 0 {
		return found{}, kernel.Errorf(kernel.Denied, "scope_missing", "the app lacks %s", strings.Join(missing, ", ")).Try("add it at %s (Permissions & Scopes), create a version and publish it", console)
	}
	if j.webhook {
		out.next = append(out.next, calledAt(j, "at "+console+", Events & Callbacks,\n     choose your own server with that address for events\n     (im.message.receive_v1, im.message.recalled_v1) and for callbacks\n     (card.action.trigger), and publish a version"))
		return out, nil
	}
	ws, err := ask(http.MethodPost, "callback/ws/endpoint", "", map[string]string{"AppID": id, "AppSecret": secret})
	if err != nil {
		return found{}, err
	}
	if ws.Code != 0 && ws.Code != 1 && ws.Code != 1000040343 { // the last two: busy
		return found{}, kernel.Errorf(kernel.Denied, "connection_refused", "the platform opens no long connection for this app (%d)", ws.Code).Try("check at %s that it is a self-built app and published", console)
	}
	out.next = append(out.next, "at "+console+", Events & Callbacks, while the bot runs: choose the persistent\n     connection for events (im.message.receive_v1, im.message.recalled_v1) and for\n     callbacks (card.action.trigger), then publish a version")
	return out, nil
}

// larkNeeded is what the platform says would do, else the scope of the guide.
func larkNeeded(msg, scope string) string {
	m := regexp.MustCompile(`\[([a-z0-9_:., -]{1,400})\]`).FindStringSubmatch(msg)
	if m == nil || slices.Contains(strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' }), scope) {
		return scope
	}
	return scope + " (or one of " + strings.TrimSpace(m[1]) + ")"
}

// larkRefusal says what a refused app id and secret mean.
func larkRefusal(a larkAnswer, console string) error {
	switch a.Code {
	case 10003:
		return kernel.Errorf(kernel.Denied, "token_refused", "the platform does not know this app id (%d)", a.Code).Try("copy it from %s, and check --domain: feishu and lark are different platforms", console)
	case 10014:
		return kernel.Errorf(kernel.Denied, "token_refused", "the app secret is not this app's, or was reset (%d)", a.Code).Try("copy the one that is shown at %s (Credentials & Basic Info), and check --domain", console)
	case 99991401:
		return kernel.Errorf(kernel.Denied, "address_refused", "the app's IP allow list leaves this machine out (%d)", a.Code).Try("add its address at %s (Security Settings)", console)
	case 99991543, 99991662:
		return kernel.Errorf(kernel.Denied, "bot_inactive", "the app is disabled (%d)", a.Code).Try("enable it at %s", console)
	case 99991400:
		return kernel.Errorf(kernel.Unavailable, "rate_limited", "%s wants fewer calls", "Lark").Try("wait a minute, then run it again")
	}
	return kernel.Errorf(kernel.Denied, "platform_refused", "the platform refuses app id and secret (%d)", a.Code).Try("copy both again from %s, and check --domain: feishu and lark are different platforms", console)
}
