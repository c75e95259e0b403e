package workspace

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"loopx/adapters/chat"
	"loopx/kernel"
)

const (
	// keyHeader carries the second secret. A page of another origin cannot set
	// it without a preflight, which is never granted.
	keyHeader = "X-Loopx-Key"
	// bodyMost bounds a write.
	bodyMost = 64 << 10
)

// csp lets in our own files and nothing else; Trusted Types turn every way to
// make HTML from text into an error.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard stands before every route: headers for every answer, then the checks
// that keep other origins out.
func (p *Page) guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", csp)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Embedder-Policy", "require-corp")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
		h.Set("Cache-Control", "no-store")
		if err := p.from(c.Request()); err != nil {
			return err
		}
		return next(c)
	}
}

// from refuses requests that another site made. A Host that is not ours is DNS
// rebinding; an Origin that is not ours is another page; Sec-Fetch-Site says the
// same where no Origin is sent. Only opening the document itself may come from
// elsewhere: it holds no data.
func (p *Page) from(r *http.Request) error {
	if !p.hosts[strings.ToLower(r.Host)] {
		return kernel.Errorf(kernel.Denied, "foreign_host", "this page answers to its own address only")
	}
	if o := r.Header.Values("Origin"); len(o) > 1 || len(o) == 1 && o[0] != "http://"+strings.ToLower(r.Host) {
		return kernel.Errorf(kernel.Denied, "foreign_origin", "another site asked for this")
	}
	document := r.Method == http.MethodGet && r.URL.Path == "/"
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "" || site == "same-origin":
	case document && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document":
	default:
		return kernel.Errorf(kernel.Denied, "foreign_site", "another site asked for this")
	}
	switch r.Method {
	case http.MethodGet:
	case http.MethodPost:
		if r.Header.Get("Origin") == "" { // browsers send it with every POST
			return kernel.Errorf(kernel.Denied, "no_origin", "a write has to say where it comes from")
		}
	default:
		return echo.ErrMethodNotAllowed
	}
	return nil
}

// strictJSON lets a write through whose body is declared as JSON and short. A
// form or text/plain body is what another site can send without asking first.
func (p *Page) strictJSON(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if charset := params["charset"]; err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
			return echo.NewHTTPError(http.StatusUnsupportedMediaType)
		}
		if enc := r.Header.Get("Content-Encoding"); enc != "" {
			return echo.NewHTTPError(http.StatusUnsupportedMediaType)
		}
		b, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, bodyMost))
		if _, tooBig := errors.AsType[*http.MaxBytesError](err); tooBig {
			return echo.NewHTTPError(http.StatusRequestEntityTooLarge)
		}
		if err != nil {
			return echo.NewHTTPError(http.StatusBadRequest)
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		return next(c)
	}
}

func decode(c echo.Context, into any) error {
	b, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return echo.NewHTTPError(http.StatusBadRequest)
	}
	return kernel.DecodeStrict(b, into)
}

// signedIn lets sessions of at least this role through.
func (p *Page) signedIn(least Role) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			v, ok := p.session(c.Request())
			if !ok {
				return echo.NewHTTPError(http.StatusUnauthorized)
			}
			if !v.Role.atLeast(least) {
				p.opt.Logger.Warn("the page refused a session", "role", v.Role, "path", c.Path())
				return kernel.Errorf(kernel.Denied, "not_owner", "this browser looks on; the owner has not let it act").Try("loopx link page %s", v.code)
			}
			c.Set(sessionSlot, v)
			return next(c)
		}
	}
}

const sessionSlot = "session"

func sessionOf(c echo.Context) session {
	v, _ := c.Get(sessionSlot).(session)
	return v
}

func (p *Page) session(r *http.Request) (session, bool) {
	cookie, err := r.Cookie(p.cookie)
	if err != nil {
		return session{}, false
	}
	return p.sessions.check(cookie.Value, r.Header.Get(keyHeader))
}

// problem is the body of every refusal.
type problem struct {
	Error *kernel.Error `json:"error"`
}

// fail answers an error as JSON; what is unknown stays in the log.
func (p *Page) fail(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	status, body := refusal(err)
	if status >= 500 {
		p.opt.Logger.Error("the page could not answer", "path", c.Path(), "error", err)
	}
	if err := c.JSON(status, problem{body}); err != nil {
		p.opt.Logger.Debug("the answer was not taken", "error", err)
	}
}

func refusal(err error) (int, *kernel.Error) {
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return e.Code, httpRefusal(e.Code)
	}
	if e, ok := errors.AsType[*chat.Error](err); ok {
		return chatRefusal(e)
	}
	if e, ok := errors.AsType[*kernel.Error](err); ok {
		if e.Code == "foreign_host" {
			return http.StatusMisdirectedRequest, e
		}
		return e.Class.HTTPStatus(), e
	}
	e := kernel.AsError(err)
	return e.Class.HTTPStatus(), e
}

func httpRefusal(status int) *kernel.Error {
	switch status {
	case http.StatusUnauthorized:
		return kernel.Errorf(kernel.Denied, "no_session", "this browser has no session here")
	case http.StatusUnsupportedMediaType:
		return kernel.Errorf(kernel.Invalid, "not_json", "a write is JSON and says so")
	case http.StatusRequestEntityTooLarge:
		return kernel.Errorf(kernel.Invalid, "too_large", "at most %d KiB at once", bodyMost>>10)
	case http.StatusNotFound:
		return kernel.Errorf(kernel.NotFound, "not_found", "there is nothing at this address")
	case http.StatusMethodNotAllowed:
		return kernel.Errorf(kernel.Invalid, "bad_method", "this address does not take that")
	case http.StatusTooManyRequests:
		return kernel.Errorf(kernel.Exhausted, "too_many", "too much at once; wait a minute")
	}
	return kernel.Errorf(kernel.Invalid, "bad_request", "the request cannot be read")
}

// chatRefusal keeps a surface's failure apart from ours: a card that is gone or
// has changed is never a reason to try again.
func chatRefusal(e *chat.Error) (int, *kernel.Error) {
	switch e.Kind {
	case chat.Gone:
		return http.StatusGone, kernel.Errorf(kernel.Stale, "stale", "this card is out of date")
	case chat.Invalid:
		if e.Code == "no_button" {
			return http.StatusConflict, kernel.Errorf(kernel.Stale, "stale", "this card is out of date")
		}
		return http.StatusBadRequest, kernel.Errorf(kernel.Invalid, e.Code, "%s", inner(e))
	case chat.Temporary, chat.RateLimited:
		return http.StatusServiceUnavailable, kernel.Errorf(kernel.Unavailable, e.Code, "%s", inner(e))
	}
	return http.StatusBadGateway, kernel.Errorf(kernel.Unknown, "unknown_outcome", "it is not known whether this arrived; the card shows what is true")
}

func inner(e *chat.Error) string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return string(e.Kind)
}
