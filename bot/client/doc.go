// Package client is the way into a workspace from another process: where its
// state folder is and what lies in it (Home), and a view.Service that speaks to
// the daemon over its unix socket (Client).
//
// It is on the hot path of every CLI command, so it imports no HTTP library:
// the requests it sends and the answers it reads are few and plain.
package client

// Version of this build, and of the local API it speaks. Two programs whose API
// is one minor apart understand each other.
const (
	Version  = "0.1.0"
	APIMajor = 1
	APIMinor = 0
)

// MaxBody bounds a request to the daemon, in bytes.
const MaxBody = 1 << 20
