package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/labstack/echo/v4"
)

// do runs a command. Who it comes from is decided here, by what the request
// proves, and by no field of the command.
func (s *Server) do(c echo.Context) error {
	var req client.DoRequest
	if err := readBody(c, &req); err != nil {
		return err
	}
	cmd, err := inbox.DecodeCommand(req.Command, argsOf(req.Args))
	if err != nil {
		return err
	}
	owner := false
	if req.OwnerToken != "" {
		mine, err := s.ownerToken(c.Request().Context())
		if err != nil {
			return err
		}
		if owner = client.SameToken(req.OwnerToken, mine); !owner {
			return kernel.Errorf(kernel.Denied, "token_bad", "the owner token is not the one of this state folder").Try("use owner.token of the state folder")
		}
	}
	by := client.ActorOf(req.As.Agent, owner)
	if owner {
		by.Process, by.Terminal, by.Press = req.As.Process, req.As.Terminal, s.canPress()
	}
	rec, err := s.opt.Service.Do(c.Request().Context(), cmd, kernel.Options{Key: req.Key, Preview: req.Preview, Plan: req.Plan, By: by})
	if err != nil {
		return err
	}
	return answer(c, rec)
}

// ownerToken is the proof that counts now.
func (s *Server) ownerToken(ctx context.Context) (string, error) {
	if s.opt.Token == nil {
		return s.opt.OwnerToken, nil
	}
	return s.opt.Token(ctx)
}

// canPress says whether a chat connection is ready, so that a person can confirm
// there what was typed here.
func (s *Server) canPress() bool {
	return s.opt.Info != nil && slices.ContainsFunc(s.opt.Info().Connections, func(c client.Connection) bool {
		return c.Platform != string(chat.Console) && c.State == string(chat.Ready)
	})
}

func (s *Server) query(c echo.Context) error {
	var req client.QueryRequest
	if err := readBody(c, &req); err != nil {
		return err
	}
	q, err := queryOf(req.Query, argsOf(req.Args))
	if err != nil {
		return err
	}
	raw, err := s.opt.Service.Query(c.Request().Context(), q)
	if err != nil {
		return err
	}
	return answer(c, raw)
}

// queryOf reads a query of the kernel's views or of a room beside them.
func queryOf(name string, args []byte) (view.Query, error) {
	if q := inbox.NewQuery(name); q != nil {
		return q, kernel.DecodeStrict(args, q)
	}
	return view.DecodeQuery(name, args)
}

func (s *Server) info(c echo.Context) error {
	boot, _ := client.SystemClock{}.Boot()
	var info client.Info
	if s.opt.Info != nil {
		info = s.opt.Info()
	}
	info.Version, info.API, info.PID, info.BootID = client.Version, client.API(), os.Getpid(), boot
	info.Since, info.Home = s.since, s.opt.Home.Dir
	if info.Connections == nil {
		info.Connections = []client.Connection{}
	}
	return answer(c, info)
}

// argsOf lets a command without arguments leave them out.
func argsOf(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("{}")
	}
	return raw
}

// cutOff is a request that could not be read. It is told apart by its type: an
// errno of the disk looks like an error of the network.
type cutOff struct{ error }

// Unwrap gives the cause to errors.Is.
func (e *cutOff) Unwrap() error { return e.error }

func readBody(c echo.Context, into any) error {
	r := c.Request()
	if r.Header.Get("Content-Type") != "application/json" {
		return kernel.Errorf(kernel.Invalid, "bad_content_type", "the request's content type must be application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, client.MaxBody))
	if err != nil {
		return &cutOff{err}
	}
	// It has arrived. The answer may take longer than the request had.
	if err := http.NewResponseController(c.Response().Writer).SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return kernel.DecodeStrict(body, into)
}

// answer writes v whole, with its length, so that a cut answer is seen as one.
func answer(c echo.Context, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "application/json", b)
}
