package chat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"loopx/adapters/chat"
)

func TestSecretNeverPrints(t *testing.T) {
	const value = "xoxb-1234567890-very-secret"
	s := chat.NewSecret(value)
	holder := struct {
		Name  string
		Token chat.Secret
		Ptr   *chat.Secret
		inner struct{ Token chat.Secret } // fmt asks no methods in here
	}{Name: "n", Token: s, Ptr: &s}
	holder.inner.Token = s

	var out []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s"} {
		out = append(out, fmt.Sprintf(verb, s), fmt.Sprintf(verb, &s), fmt.Sprintf(verb, holder))
	}
	j, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, string(j), fmt.Sprint(s), fmt.Errorf("failed: %w", fmt.Errorf("with %v", s)).Error())
	for _, h := range []func(*bytes.Buffer) slog.Handler{
		func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var b bytes.Buffer
		slog.New(h(&b)).Info("start", "token", s, "all", holder)
		out = append(out, b.String())
	}
	hexed := fmt.Sprintf("%x", value)
	for _, o := range out {
		if strings.Contains(o, "1234567890") || strings.Contains(strings.ToLower(o), hexed) {
			t.Errorf("the secret came out: %s", o)
		}
	}
	if s.Reveal() != value || s.Empty() || !(chat.Secret{}).Empty() {
		t.Error("Reveal or Empty is wrong")
	}
}
