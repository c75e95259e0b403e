package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"loopx/kernel"

	"github.com/labstack/echo/v4"
)

// backupTime bounds a whole backup. It reads a snapshot, and the state file
// grows as long as a snapshot is held.
const backupTime = 10 * time.Minute

// backer is a Service that can copy its state.
type backer interface {
	Backup(ctx context.Context, w io.Writer) error
}

// backup streams a copy of the state. Whoever can reach the socket can read the
// state file as well, so no proof is asked for.
func (s *Server) backup(c echo.Context) error {
	from, ok := s.opt.Service.(backer)
	if !ok {
		return kernel.Errorf(kernel.Unavailable, "no_backup", "this daemon cannot copy its state").Try("stop it, then run the same command again")
	}
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	default:
		return kernel.Errorf(kernel.Exhausted, "too_many_streams", "%d streams are open already", streams).Try("close one, then try again")
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), backupTime)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	out := &copyWriter{to: c.Response(), ctl: http.NewResponseController(c.Response().Writer)}
	// Nothing more is read; the deadline of the request would end the copy with it.
	if err := out.ctl.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	err := from.Backup(ctx, out)
	if err != nil && c.Response().Committed {
		s.opt.Logger.Warn("a backup ended before it was whole", "error", err)
		// An ordinary return would end the answer in order, and half a copy would
		// look like a whole one.
		panic(http.ErrAbortHandler)
	}
	return err
}

// copyWriter sends a copy whose reader must keep taking it.
type copyWriter struct {
	to  *echo.Response
	ctl *http.ResponseController
}

// Write implements io.Writer.
func (w *copyWriter) Write(p []byte) (int, error) {
	if !w.to.Committed {
		w.to.Header().Set(echo.HeaderContentType, echo.MIMEOctetStream)
	}
	if err := w.ctl.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return w.to.Write(p)
}
