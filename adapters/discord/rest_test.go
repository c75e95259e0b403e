package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
)

// The token goes to Discord's gateways only, over TLS; a simulator is on this
// machine.
func TestGatewayAddress(t *testing.T) {
	official, simulated := newREST(Config{}), newREST(Config{Sim: true})
	for address, want := range map[string]bool{
		"wss://gateway.discord.gg": true, "wss://gateway-us-east1-b.discord.gg/": true, "ws://gateway.discord.gg": false,
		"wss://discord.gg.evil.example": false, "wss://evildiscord.gg": false, "wss://a:b@gateway.discord.gg": false, "https://gateway.discord.gg": false,
		"": false, "ws://127.0.0.1:1": false, "wss://gateway.discord.gg@evil.example": false,
	} {
		got, err := official.gatewayURL(address)
		if (err == nil) != want || want && !strings.Contains(got, "v=10&") && !strings.Contains(got, "&v=10") {
			t.Errorf("gatewayURL(%q) = %q, %v", address, got, err)
		}
	}
	for address, want := range map[string]bool{"ws://127.0.0.1:1/gateway": true, "ws://localhost:1": true, "ws://192.0.2.1": false, "wss://gateway.discord.gg": false} {
		if _, err := simulated.gatewayURL(address); (err == nil) != want {
			t.Errorf("simulated %q: %v", address, err)
		}
	}
}

func answerWith(status int, header map[string]string) *http.Response {
	h := http.Header{}
	for k, v := range header {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: status, Header: h}
}

func TestBudgetArithmetic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(2 * time.Second)
		must := func(route, major string, want time.Duration) {
			t.Helper()
			began := time.Now()
			if err := b.take(t.Context(), route, major); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d != want {
				t.Errorf("waited %v, want %v", d, want)
			}
		}
		// A bucket that Discord shares between routes.
		left := map[string]string{"X-RateLimit-Bucket": "abc", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "1.5"}
		must("POST messages", "1", 0)
		b.learn("POST messages", "1", answerWith(200, left))
		must("POST messages", "2", 0) // another channel has its own
		must("POST messages", "1", 1500*time.Millisecond)
		left["X-RateLimit-Reset-After"] = "30"
		b.learn("POST messages", "1", answerWith(200, left))
		var e *chat.Error
		if err := b.take(t.Context(), "POST messages", "1"); !errors.As(err, &e) || e.Kind != chat.RateLimited || e.After != 30*time.Second {
			t.Errorf("a long wait = %v", err)
		}
		// In all never more than the second's share.
		time.Sleep(time.Minute)
		began := time.Now()
		for i := range 3 * perSecond {
			if err := b.take(t.Context(), "GET x", fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d < 2*time.Second || d > 3*time.Second {
			t.Errorf("%d calls in %v", 3*perSecond, d)
		}
		// Refusals stop long before the address is banned; shared limits do not count.
		for range maxRefused + 10 {
			b.learn("GET x", "1", answerWith(http.StatusTooManyRequests, map[string]string{"X-RateLimit-Scope": "shared"}))
		}
		time.Sleep(time.Second)
		must("GET y", "", 0)
		for range maxRefused {
			b.learn("GET x", "1", answerWith(http.StatusForbidden, nil))
		}
		if err := b.take(t.Context(), "GET z", ""); !errors.As(err, &e) || e.After < 9*time.Minute {
			t.Errorf("after %d refusals: %v", maxRefused, err)
		}
		for i := range 3 * maxBuckets {
			b.refuse("GET x", fmt.Sprint(i), time.Second, false)
		}
		if n := len(b.buckets); n > maxBuckets {
			t.Errorf("%d buckets are kept", n)
		}
	})
}

func TestSeconds(t *testing.T) {
	for in, want := range map[string]time.Duration{"1.25": 1250 * time.Millisecond, "": 0, "x": 0, "-1": 0, "NaN": 0, "+Inf": 24 * time.Hour, "1e300": 24 * time.Hour} {
		if got := seconds(in); got != want {
			t.Errorf("seconds(%q) = %v, want %v", in, got, want)
		}
	}
}

// K10: what is left of the day is spread.
func TestIdentifyPause(t *testing.T) {
	day := int(24 * time.Hour / time.Millisecond)
	for _, tt := range []struct {
		limit dg.SessionInformation
		want  time.Duration
	}{
		{dg.SessionInformation{Total: 1000, Remaining: 999, ResetAfter: day}, 0},
		{dg.SessionInformation{Total: 1000, Remaining: 200, ResetAfter: day}, 24 * time.Hour / 200},
		{dg.SessionInformation{Total: 1000, Remaining: 1, ResetAfter: day}, 24 * time.Hour},
		{dg.SessionInformation{Total: 1000, Remaining: 0, ResetAfter: day}, 24 * time.Hour},
		{dg.SessionInformation{Total: 1000, Remaining: 0}, time.Second},
		{dg.SessionInformation{}, 0},
	} {
		if got := identifyPause(tt.limit); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.limit, got, tt.want)
		}
	}
}

// A refused body is named by place and code, never by its words.
func TestComplaintsHoldNoWords(t *testing.T) {
	raw := `{"content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"secret words"}]},"components":{"0":{"label":{"_errors":[{"code":"X Y"}]}}}}`
	if got := complaints(json.RawMessage(raw)); got == nil || got.Error() != "components.0.label: XY; content: BASE_TYPE_MAX_LENGTH" {
		t.Errorf("complaints = %v", got)
	}
	for _, bad := range []string{"", "[]", `{"a":7}`, `{"_errors":7}`} {
		if got := complaints(json.RawMessage(bad)); got != nil {
			t.Errorf("complaints(%q) = %v", bad, got)
		}
	}
}
