package kernel

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The quick look at the keys passes nothing that reading every token refuses, and
// passes what our own programs send.
func FuzzPlainKeys(f *testing.F) {
	many := make([]string, 70)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	for _, in := range []string{
		`{}`, `[]`, `"a"`, `{"a":1,"a":2}`, `{"a":{"a":1},"b":[{"a":1},{"a":2}],"a":1}`, `{"a":"{\"a\":1}","b":"\\"}`,
		`{"\u0061":1,"a":2}`, `{"A":1}`, `{"":1}`, `[["a","a"],{"a":["a","a"]}]`, `{"a":[1,{"b":2,"b":3}]}`,
		"{" + strings.Join(many, ",") + "}", strings.Repeat("[", 32) + strings.Repeat("]", 32),
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) || checkNesting(data) != nil {
			return
		}
		if err := checkTokens(data); plainKeys(data) && err != nil {
			t.Fatalf("%q passed at a glance: %v", data, err)
		}
	})
}

func TestPlainKeysKnowsWhatWeSend(t *testing.T) {
	for in, want := range map[string]bool{
		`{"command":"todo.claim","args":{"goal":"g","todo":"t1","note":"a \"b\", {\"c\":1}"},"as":{"agent":"a"}}`: true,
		`{"a":[{"x":1},{"x":2}],"x":{"a":{"x":[]}}}`:                                                              true,
		`{"a":1,"b":{"c":1},"a":2}`: false,
		`{"a":1,"b":{"c":1,"c":2}}`: false,
		`{"a":1,"\u0062":2}`:        false,
		`{"Goal":1}`:                false,
	} {
		if got := plainKeys([]byte(in)); got != want {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
}
