package workspace

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"loopx/adapters/chat"
	"loopx/adapters/console"
	"loopx/kernel"
)

// shell is what the document shows before its script runs.
type shell struct {
	Lang, Assets, Version, NoScript, Command string
}

func (p *Page) document(c echo.Context) error {
	lang := "en"
	if strings.HasPrefix(strings.ToLower(c.Request().Header.Get("Accept-Language")), "zh") {
		lang = "zh"
	}
	page, err := template.ParseFS(files, "assets/page.html")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	err = page.Execute(&b, shell{Lang: lang, Assets: "/assets/" + p.assets.sum, Version: p.opt.Version, NoScript: p.words["no_script"][lang], Command: "loopx status"})
	if err != nil {
		return err
	}
	return c.HTMLBlob(http.StatusOK, b.Bytes())
}

func (p *Page) asset(c echo.Context) error {
	f, ok := p.assets.byName[c.Param("name")]
	if !ok || c.Param("sum") != p.assets.sum {
		return echo.ErrNotFound
	}
	c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return c.Blob(http.StatusOK, f.kind, f.data)
}

type openBody struct {
	Ticket string `json:"ticket,omitempty"`
}

type opened struct {
	Key string `json:"key,omitempty"` // only of a new session
	me
}

// me is what a browser knows about its own session.
type me struct {
	Role Role `json:"role"`
	// User is the id it acts and is addressed as.
	User string `json:"user"`
	Code string `json:"code,omitempty"`
	Demo bool   `json:"demo,omitempty"`
}

func (p *Page) meOf(v session) me {
	return me{Role: v.Role, User: userOf(v).ID, Code: v.code, Demo: p.opt.OpenAsOwner}
}

func userOf(v session) chat.User {
	if v.Role == Owner {
		return console.Person(console.Owner)
	}
	return console.Person("viewer-" + v.ID)
}

// openSession gives a browser its two secrets, or says what the ones it has
// are good for. It takes no more than the guard's checks: a new session can do
// nothing but show a code.
func (p *Page) openSession(c echo.Context) error {
	var body openBody
	if err := decode(c, &body); err != nil {
		return err
	}
	if v, ok := p.session(c.Request()); ok {
		v, err := p.sessions.raise(v.ID, body.Ticket)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, opened{me: p.meOf(v)})
	}
	v, cookie, key, err := p.sessions.open(body.Ticket, browser(c.Request().UserAgent()))
	if err != nil {
		return err
	}
	c.SetCookie(&http.Cookie{
		Name: p.cookie, Value: cookie, Path: "/api", MaxAge: int(idleFor.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	return c.JSON(http.StatusOK, opened{Key: key, me: p.meOf(v)})
}

// browser names a browser for the list of pending sessions; the header is
// somebody's text, so only known words of it are used.
func browser(agent string) string {
	name, system := "a browser", ""
	for _, v := range []string{"Edg", "OPR", "Firefox", "Chrome", "Safari"} {
		if strings.Contains(agent, v+"/") {
			name = map[string]string{"Edg": "Edge", "OPR": "Opera"}[v]
			if name == "" {
				name = v
			}
			break
		}
	}
	for _, v := range []string{"Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"} {
		if strings.Contains(agent, v) {
			system = " on " + v
			break
		}
	}
	return name + system
}

type pressBody struct {
	Message string            `json:"message_id"`
	Action  string            `json:"action"`
	Values  map[string]string `json:"values,omitempty"`
}

type said struct {
	Notice string `json:"notice,omitempty"`
}

func (p *Page) press(c echo.Context) error {
	var body pressBody
	if err := decode(c, &body); err != nil {
		return err
	}
	if body.Message == "" || body.Action == "" {
		return kernel.Errorf(kernel.Invalid, "no_button", "the press names no card or no button")
	}
	v := sessionOf(c)
	if !p.pace.ok(v.ID) {
		return echo.NewHTTPError(http.StatusTooManyRequests)
	}
	answer, err := p.opt.Chat.Press(c.Request().Context(), userOf(v), body.Message, body.Action, body.Values)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, said{Notice: answer.Notice})
}

// sayBody is what is said. The page chooses the id and keeps the time of the first
// try, so that a request whose answer was lost can be repeated and counts once.
type sayBody struct {
	Text string `json:"text"`
	ID   string `json:"id,omitempty"`
	At   int64  `json:"at,omitempty"` // UTC ms
}

func (p *Page) say(c echo.Context) error {
	var body sayBody
	if err := decode(c, &body); err != nil {
		return err
	}
	v := sessionOf(c)
	if !p.pace.ok(v.ID) {
		return echo.NewHTTPError(http.StatusTooManyRequests)
	}
	if _, err := p.opt.Chat.SayIn(c.Request().Context(), userOf(v), console.Words{ID: body.ID, At: body.At, Text: body.Text}); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, said{})
}
