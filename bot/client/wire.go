package client

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"loopx/kernel"
)

// Paths and headers of the local API. Host is the only name a request may carry:
// a browser that was led to the socket cannot send it.
const (
	PathDo    = "/v1/do"
	PathQuery = "/v1/query"
	PathWatch = "/v1/watch"
	PathInfo  = "/v1/info"

	Host      = "loopx"
	APIHeader = "Loopx-Api"
)

// DoRequest is the body of a command.
type DoRequest struct {
	Command string          `json:"command"`
	Args    json.RawMessage `json:"args"`
	Key     string          `json:"key,omitempty"`
	Preview bool            `json:"preview,omitempty"`
	Plan    string          `json:"plan,omitempty"`
	As      As              `json:"as"`
	// OwnerToken proves the owner. Nothing else in a request does.
	OwnerToken string `json:"owner_token,omitempty"`
}

// As labels the caller; it grants nothing.
type As struct {
	Agent string `json:"agent,omitempty"`
	// Process and Terminal say where the owner's command was called, for showing.
	Process  string `json:"process,omitempty"`
	Terminal string `json:"terminal,omitempty"`
}

// QueryRequest is the body of a query.
type QueryRequest struct {
	Query string          `json:"query"`
	Args  json.RawMessage `json:"args"`
}

// Info is what a daemon says about itself.
type Info struct {
	Version     string       `json:"version"`
	API         string       `json:"api"`
	PID         int          `json:"pid"`
	BootID      string       `json:"boot_id,omitempty"`
	Since       int64        `json:"since"` // UTC ms
	Home        string       `json:"home"`
	Page        string       `json:"page,omitempty"` // address of the local page
	Connections []Connection `json:"connections"`
}

// Connection is the health of one platform connection.
type Connection struct {
	Name     string `json:"name"`
	Platform string `json:"platform"`
	State    string `json:"state"`
	Detail   string `json:"detail,omitempty"`
	Fix      string `json:"fix,omitempty"`
	Since    int64  `json:"since,omitempty"` // UTC ms
}

// Line is one line of the watch stream: the head first, then events, and a
// reason when the daemon ends the stream.
type Line struct {
	Kind   string          `json:"kind"` // head, event, ping, end
	Head   *kernel.Head    `json:"head,omitempty"`
	Event  json.RawMessage `json:"event,omitempty"` // a view.LogEntry
	Reason string          `json:"reason,omitempty"`
}

// API is this build's API version, "1.0".
func API() string { return fmt.Sprintf("%d.%d", APIMajor, APIMinor) }

// CheckAPI refuses a peer whose API is not within one minor of ours. mine and
// theirs name the two sides for the message. An empty version is not checked:
// people ask the socket by hand.
func CheckAPI(mine, theirs, version string) error {
	if version == "" {
		return nil
	}
	major, minor, ok := strings.Cut(version, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if ok && err1 == nil && err2 == nil && a == APIMajor && b >= APIMinor-1 && b <= APIMinor+1 {
		return nil
	}
	if len(version) > 20 {
		version = version[:20]
	}
	return kernel.Errorf(kernel.Unavailable, "version_mismatch", "%s speaks version %s of the local API and %s speaks %q", mine, API(), theirs, version).
		With(mine, API()).With(theirs, version).Try("install the same version of loopx and loopx-bot, then restart the bot")
}
