package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"loopx/kernel"
)

// LockedBy is the refusal that names who holds a state folder: pid, command and
// since when (UTC ms). A zero pid is a holder that has not said so yet.
func LockedBy(home Home, pid int, command string, since int64) *kernel.Error {
	if pid == 0 {
		return kernel.Errorf(kernel.Locked, "locked", "another process holds the state folder %s", home.Dir).Try("loopx doctor")
	}
	at := time.UnixMilli(since).UTC().Format(time.RFC3339)
	return kernel.Errorf(kernel.Locked, "locked", "the state folder %s is held by %s (pid %d) since %s", home.Dir, command, pid, at).
		With("pid", strconv.Itoa(pid)).With("command", command).With("since", at).Try("loopx doctor")
}

// errNoDaemon: nobody listens; nothing was sent.
var errNoDaemon = errors.New("client: nobody listens on the socket")

// NoDaemon says that an error means that no daemon serves the folder. Nothing
// was sent.
func NoDaemon(err error) bool { return errors.Is(err, errNoDaemon) }

// Again says that an error is the passing state of a daemon that stops, starts or
// died: the same request with the same key may be sent again, by either way.
func Again(err error) bool {
	e, ok := errors.AsType[*kernel.Error](err)
	return ok && (e.Code == codeLost || e.Code == codeStopping)
}

const (
	codeLost     = "connection_lost"
	codeStopping = "stopping"
)

// lost is the end of a connection on which something was sent: whether it was
// done is not known.
func lost(err error) error {
	return fmt.Errorf("%w: %w", kernel.Errorf(kernel.Unknown, codeLost, "the daemon ended before it answered; the command may or may not have been done").
		Try("run the same command again with the same --idempotency-key"), err)
}

// answerError decodes a refusal of the daemon.
func answerError(status int, body []byte) error {
	var e kernel.Error
	if json.Unmarshal(body, &e) == nil && e.Class != "" && e.Code != "" {
		return &e
	}
	return kernel.Errorf(kernel.Unavailable, "bad_answer", "what listens on the socket does not answer like loopx (status %d)", status).Try("loopx doctor")
}
