package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Fetcher is an adapter that can fetch what people attached to their messages.
// Caps.Files says which adapters are one.
type Fetcher interface {
	// Fetch writes the bytes of an attachment of a message to w, through the
	// platform's own API alone: no address from a message's text is ever called.
	// More than most bytes is the error of TooLarge, and w may then hold a part.
	// What the sender called the file plays no role. Errors are *Error.
	Fetch(ctx context.Context, ref Ref, a Attachment, most int64, w io.Writer) error
}

// OutFile is a file to send.
type OutFile struct {
	Name string `json:"name"` // as people see it; a base name
	Size int64  `json:"size"` // bytes, more than 0
	// Open reads the content from its start. It is called once a try.
	Open func() (io.ReadCloser, error) `json:"-"`
}

// Codes of Fetch that are the same on every platform.
const (
	CodeTooLarge = "file_too_large"
	CodeNoFile   = "no_such_file"   // deleted, or of a kind the platform does not give out
	CodeNoAccess = "file_no_access" // the app lacks the right to read files
)

// TooLarge is the error for a file of more bytes than are taken.
func TooLarge(most int64) error {
	return &Error{Kind: Invalid, Code: CodeTooLarge, Err: fmt.Errorf("the file has more than %d bytes", most)}
}

// NoFile is the error for a file that the platform does not have any more.
func NoFile() error {
	return &Error{Kind: Gone, Code: CodeNoFile, Err: errors.New("the platform does not give this file out")}
}
