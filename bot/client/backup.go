package client

import (
	"context"
	"io"
	"time"
)

// PathBackup streams a consistent copy of the state file.
const PathBackup = "/v1/backup"

// copyStep is how much of a copy is read and written at once.
const copyStep = 1 << 20

// Backup writes a copy of the daemon's state, which can be opened as a state
// file, to w. The copy is whole only when the error is nil; an error of w comes
// back as it is.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	conn, a, err := request(ctx, c.Socket, "GET", PathBackup, nil)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if a.status != 200 {
		raw, err := a.body()
		if err != nil {
			return lost(err)
		}
		return answerError(a.status, raw)
	}
	if err := CheckAPI("loopx", "the daemon", a.api); err != nil {
		return err
	}
	if !a.chunked {
		return badAnswer() // without chunks a cut copy would look whole
	}
	to := &keeper{w: w}
	switch _, err := io.CopyBuffer(to, &chunks{r: a.r}, make([]byte, copyStep)); {
	case to.err != nil:
		return to.err
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return lost(err)
	}
	return nil
}

// keeper remembers an error of a writer, to tell it from one of the reader.
type keeper struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (k *keeper) Write(p []byte) (n int, err error) {
	n, k.err = k.w.Write(p)
	return n, k.err
}
