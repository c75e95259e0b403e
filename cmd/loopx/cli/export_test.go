package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"loopx/kernel"
)

// The refusal names places, at most ten, and never what stands there.
func TestPublicNamesPlaces(t *testing.T) {
	secret := "ghp" + "_" + strings.Repeat("a1", 18)
	list := make([]string, 12)
	for i := range list {
		list[i] = secret
	}
	raw, err := json.Marshal(map[string]any{"todos": list, "fine": 1, "nothing": nil})
	if err != nil {
		t.Fatal(err)
	}
	e := kernel.AsError(public(raw))
	if e == nil || e.Code != "not_public" || !strings.Contains(e.Message, "12 places look private: todos.0 (GitHub token)") || !strings.Contains(e.Message, "and 2 more") {
		t.Fatalf("got %v", e)
	}
	if len(e.Details) != 10 || strings.Contains(e.Message, secret) {
		t.Errorf("details %v, message %s", e.Details, e.Message)
	}
	if err := public([]byte(`{"a":["b",1,true]}`)); err != nil {
		t.Errorf("got %v", err)
	}
}
