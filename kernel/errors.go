package kernel

import (
	"errors"
	"fmt"
	"syscall"

	"loopx/kernel/store"
)

// Class is the closed list of kinds of refusal. HTTP status and CLI exit code
// follow from it and from nothing else.
type Class string

// The classes.
const (
	Invalid     Class = "invalid"     // the request can never be right as it is
	NotFound    Class = "not_found"   // it names something that does not exist
	Conflict    Class = "conflict"    // true state says no
	Stale       Class = "stale"       // it was decided on an older state
	Denied      Class = "denied"      // this principal may not
	Exhausted   Class = "exhausted"   // a limit is reached; later it may pass
	Unavailable Class = "unavailable" // the service cannot answer now
	Locked      Class = "locked"      // another process holds the state
	Unknown     Class = "unknown"     // the commit outcome is not known
	Internal    Class = "internal"    // our fault
)

// ExitCode is the process exit code of a class; the codes are documented in
// `loopx help exit-codes`.
func (c Class) ExitCode() int {
	switch c {
	case Invalid:
		return 2
	case NotFound:
		return 3
	case Conflict, Stale:
		return 4
	case Denied:
		return 5
	case Unavailable, Locked:
		return 6
	case Unknown:
		return 70
	default: // Exhausted, Internal
		return 1
	}
}

// HTTPStatus is the status a class has on the local API.
func (c Class) HTTPStatus() int {
	switch c {
	case Invalid:
		return 400
	case NotFound:
		return 404
	case Conflict:
		return 409
	case Stale:
		return 412
	case Denied:
		return 403
	case Exhausted:
		return 429
	case Unavailable:
		return 503
	case Locked:
		return 423
	case Unknown:
		return 502
	default:
		return 500
	}
}

// Error is the one error of the kernel.
type Error struct {
	Class Class `json:"class"`
	// Code is stable and open-ended: scripts test it.
	Code string `json:"code"`
	// Message is a sentence for people, without a final full stop.
	Message string `json:"message"`
	// Kept says what was kept; empty means that nothing was changed.
	Kept string `json:"kept,omitempty"`
	// Fix is one command that mends it, where one does.
	Fix     string            `json:"fix,omitempty"`
	Details map[string]string `json:"details,omitempty"`
	err     error
}

func (e *Error) Error() string { return e.Message + " (" + e.Code + ")" }

// Unwrap returns the foreign cause, for logs only.
func (e *Error) Unwrap() error { return e.err }

// With adds a detail and returns e.
func (e *Error) With(key, value string) *Error {
	if e.Details == nil {
		e.Details = map[string]string{}
	}
	e.Details[key] = value
	return e
}

// Try sets the command that mends the refusal and returns e.
func (e *Error) Try(format string, a ...any) *Error {
	e.Fix = fmt.Sprintf(format, a...)
	return e
}

// Errorf makes a refusal.
func Errorf(class Class, code, format string, a ...any) *Error {
	return &Error{Class: class, Code: code, Message: fmt.Sprintf(format, a...)}
}

// AsError turns any error into an *Error: foreign ones become Internal, their
// text is kept for logs and never shown. It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	wrap := func(c Class, code, msg, fix string) *Error {
		return &Error{Class: c, Code: code, Message: msg, Fix: fix, err: err}
	}
	switch {
	case errors.Is(err, store.ErrUnknown):
		return wrap(Unknown, "commit_unknown", "the disk did not confirm the write; it may or may not have happened. Run the same command with the same --idempotency-key to learn the outcome", "loopx doctor")
	case errors.Is(err, store.ErrFull), errors.Is(err, syscall.ENOSPC):
		return wrap(Unavailable, "disk_full", "the disk with the state folder is full; existing state is kept", "free some space, then run the same command again")
	case errors.Is(err, store.ErrReadOnly), errors.Is(err, syscall.EROFS):
		return wrap(Unavailable, "read_only", "the state folder cannot be written; existing state is kept and can be read", "loopx status")
	case errors.Is(err, store.ErrTooLarge):
		return wrap(Exhausted, "too_large", "the command touches more than one transaction may hold", "")
	case errors.Is(err, store.ErrCorrupt):
		return wrap(Unavailable, "state_damaged", "the state file is damaged; it was kept as it is and nothing was written to it", "loopx doctor")
	case errors.Is(err, store.ErrLocked):
		return wrap(Locked, "locked", "another process holds the state folder", "loopx doctor")
	case errors.Is(err, store.ErrClosed):
		return wrap(Unavailable, "stopping", "the daemon is stopping", "run the same command again")
	}
	return wrap(Internal, "internal", "something went wrong inside loopx; the log has the cause", "loopx doctor")
}
