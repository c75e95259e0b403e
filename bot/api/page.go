package api

import (
	"github.com/labstack/echo/v4"

	"loopx/bot/client"
	"loopx/kernel"
)

// page approves a session of the local page. The proof is the owner token; the
// code only says which page.
func (s *Server) page(c echo.Context) error {
	var req client.PageRequest
	if err := readBody(c, &req); err != nil {
		return err
	}
	mine, err := s.ownerToken(c.Request().Context())
	if err != nil {
		return err
	}
	if req.OwnerToken == "" || !client.SameToken(req.OwnerToken, mine) {
		return kernel.Errorf(kernel.Denied, "owner_only", "letting a page act as the owner needs the owner's proof").Try("loopx link page CODE")
	}
	if s.opt.ApprovePage == nil {
		return kernel.Errorf(kernel.Unavailable, "no_page", "this daemon serves no page").Try("remove off = true under [page] in config.toml")
	}
	if err := s.opt.ApprovePage(req.Code); err != nil {
		return err
	}
	return answer(c, map[string]any{"approved": true})
}
