package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Marshal is json.Marshal without the escapes that are meant for HTML: a title
// that holds "<" keeps its length.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// maxDepth bounds nesting of any JSON we read; our own shapes need six.
const maxDepth = 32

// DecodeStrict reads one JSON value into v. encoding/json alone accepts keys
// that differ in case (even "uſer_id" for "user_id") and lets the last of two
// equal keys win; both are ways to show a checker one thing and the kernel
// another, so here they are errors, as are unknown fields, bytes that are no
// UTF-8, half a surrogate pair, nesting beyond 32 and anything behind the value.
func DecodeStrict(data []byte, v any) error {
	if err := checkJSON(data); err != nil {
		return Errorf(Invalid, "bad_json", "the JSON is not acceptable: %s", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return Errorf(Invalid, "bad_json", "the JSON does not fit: %s", jsonReason(err))
	}
	return nil
}

func jsonReason(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("field %s wants %s, not %s", e.Field, e.Type, e.Value)
	}
	return show(err.Error())
}

func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("it is not valid UTF-8")
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return errors.New("it holds a NUL byte")
	}
	if err := checkNesting(data); err != nil {
		return err
	}
	if json.Valid(data) && plainKeys(data) {
		return nil
	}
	return checkTokens(data)
}

func checkTokens(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := checkValue(d); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the value")
	}
	return nil
}

// escape is the length of the escape sequence that data starts with; 0 for half
// of a surrogate pair, which encoding/json would turn into another character.
func escape(data []byte) int {
	unit := func(b []byte) (rune, bool) {
		if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
		return rune(n), err == nil
	}
	first, ok := unit(data)
	switch {
	case !ok:
		return 2
	case !utf16.IsSurrogate(first):
		return 6
	}
	if second, ok := unit(data[6:]); !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
		return 0
	}
	return 12
}

// checkNesting runs before any parser recurses. Its walk over strings also sees
// escapes that stand for no character.
func checkNesting(data []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			n := escape(data[i:])
			if n == 0 {
				return errors.New("it holds one half of a surrogate pair")
			}
			i += n - 1
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("it is nested deeper than %d", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// plainKeys says of valid JSON that every key is written as our keys are, without
// escapes, and stands once in its object. It costs far less than reading tokens;
// where it says no, reading them tells why, or that escapes or many keys are all
// there is.
func plainKeys(data []byte) bool {
	const most = 64 // keys of an object that are compared with each other
	var keys [][]byte
	var starts [maxDepth + 1]int // of each open value's keys; -1: an array
	depth, key := 0, false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{':
			depth++
			starts[depth], key = len(keys), true
		case '[':
			depth++
			starts[depth], key = -1, false
		case '}':
			keys = keys[:starts[depth]]
			depth--
		case ']':
			depth--
		case ',':
			key = starts[depth] >= 0
		case ':':
			key = false
		case '"':
			from := i + 1
			for i = from; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if !key {
				continue
			}
			k := data[from:i]
			mine := keys[starts[depth]:]
			if !isKey(string(k)) || len(mine) == most || slices.ContainsFunc(mine, func(o []byte) bool { return bytes.Equal(o, k) }) {
				return false
			}
			keys = append(keys, k)
		}
	}
	return true
}

func checkValue(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return syntaxReason(err)
	}
	switch t {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return syntaxReason(err)
			}
			key, _ := k.(string)
			if !isKey(key) {
				return fmt.Errorf("the key %s is not written in a-z 0-9 _", show(key))
			}
			if seen[key] {
				return fmt.Errorf("the key %s stands twice in one object", show(key))
			}
			seen[key] = true
			if err := checkValue(d); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for d.More() {
			if err := checkValue(d); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	if _, err := d.Token(); err != nil { // the closing delimiter
		return syntaxReason(err)
	}
	return nil
}

func syntaxReason(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("it ends too early")
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("syntax error at byte %d", e.Offset)
	}
	return errors.New("it is not JSON")
}

func isKey(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return s != ""
}
