package chat

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted is what every way of printing a Secret shows.
const redacted = "[secret]"

// Secret is a token or password. However it is printed, logged, formatted or
// encoded, only a placeholder comes out; the value leaves through Reveal alone,
// so that one search for Reveal finds every place where it is used.
//
// The value hides in a function because fmt prints the fields of an unexported
// field without asking its methods.
type Secret struct{ reveal func() string }

// NewSecret wraps a value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return value }}
}

// Reveal returns the value itself, for the one call that must send it.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Empty reports whether there is no value.
func (s Secret) Empty() bool { return s.reveal == nil }

// String returns the placeholder, or nothing for an empty secret.
func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return redacted
}

// GoString returns the placeholder for %#v.
func (s Secret) GoString() string { return `chat.Secret("` + s.String() + `")` }

// Format writes the placeholder whatever the verb is; without it %x and %q
// would print the bytes of the value.
func (s Secret) Format(f fmt.State, verb rune) {
	out := s.String()
	if verb == 'v' && f.Flag('#') {
		out = s.GoString()
	}
	// A writer that fails here has its own way to report that.
	_, _ = io.WriteString(f, out)
}

// MarshalJSON writes the placeholder as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalText writes the placeholder, for encoders that ask for text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue gives slog the placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
