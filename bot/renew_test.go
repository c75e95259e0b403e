package bot

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	slacksim "loopx/fixtures/sim/slack"
)

// lamp is an adapter of which only one may run at a time.
type lamp struct {
	chat.Adapter
	name string
	on   *atomic.Int32
	err  error // returned at once
}

func (l *lamp) Run(ctx context.Context, _ chat.Sink) error {
	if l.on.Add(1) != 1 {
		panic("two adapters of one connection run")
	}
	defer l.on.Add(-1)
	if l.err != nil {
		return l.err
	}
	<-ctx.Done()
	return nil
}

func (l *lamp) Health() chat.Health { return chat.Health{Detail: l.name} }

// Other credentials make another adapter, whether the old one runs or was
// refused; what cannot be read or used changes nothing, and is not tried again.
func TestCredentialsAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type file struct {
			token string
			err   error
		}
		var now atomic.Pointer[file]
		var on, made atomic.Int32
		now.Store(&file{token: "refused"})
		r, err := newRenewed(
			func() (string, error) { f := now.Load(); return f.token, f.err },
			func() (chat.Adapter, error) {
				made.Add(1)
				l := &lamp{name: now.Load().token, on: &on}
				switch l.name {
				case "refused":
					l.err = &chat.Error{Kind: chat.Auth, Code: "invalid_auth"}
				case "malformed":
					return nil, errors.New("that is no token")
				}
				return l, nil
			}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx, nil) }()
		step := func(f file, want string, makes, running int32) {
			t.Helper()
			now.Store(&f)
			time.Sleep(3 * renewEvery) // the fake clock's
			synctest.Wait()
			if got := r.Health().Detail; got != want || made.Load() != makes || on.Load() != running {
				t.Errorf("%+v: %s after %d, %d running; want %s after %d, %d", f, got, made.Load(), on.Load(), want, makes, running)
			}
		}
		step(file{token: "refused"}, "refused", 1, 0)
		step(file{token: "first"}, "first", 2, 1)
		step(file{err: errors.New("open to others")}, "first", 2, 1)
		step(file{token: "malformed"}, "first", 3, 1)
		step(file{token: "second"}, "second", 4, 1)
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// The whole way: Slack refuses the token, the right one is written to the file,
// and the person is heard, in the same daemon.
func TestTokenIsRotated(t *testing.T) {
	s := slacksim.New(slacksim.Options{})
	defer s.Close()
	file := filepath.Join(t.TempDir(), "bot.token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("xoxb-was-reset")
	b := startBot(t, Options{Home: testHome(t), Sim: true, Zone: time.UTC, Getenv: func(string) string { return s.AppToken() }, Config: Config{
		Page:        PageConfig{Off: true},
		Connections: []ConnectionConfig{{Name: "work", Platform: "slack", AppTokenEnv: "A", BotTokenFile: file, BaseURL: s.APIURL()}},
	}})
	defer stopBot(t, b)
	state := func() chat.HealthState {
		for _, c := range b.pageHealth() {
			if c.Name == "work" {
				return c.Health.State
			}
		}
		return ""
	}
	adaptertest.Soon(t, "refused", func() bool { return state() == chat.Failed })
	write(s.BotToken())
	adaptertest.Soon(t, "ready", func() bool { return state() == chat.Ready })
	dm := s.DM("U0WEI")
	s.Say("U0WEI", dm, "hello")
	adaptertest.Soon(t, "answered", func() bool { return len(s.BotMessages(dm)) > 0 })
}
