package discord

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// self knows who we are.
type self struct {
	connection string
	rest       *rest
	call       time.Duration // deadline of one call

	mu sync.Mutex // guards id
	id identity
}

// get is who we are; before the gateway told us it is asked for, once.
func (s *self) get(ctx context.Context) (identity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id.user != "" {
		return s.id, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.call)
	defer cancel()
	var me, app struct {
		ID string `json:"id"`
	}
	if err := s.rest.do(ctx, call{verb: http.MethodGet, path: "users/@me", route: "GET users/@me"}, &me); err != nil {
		return identity{}, err
	}
	if err := s.rest.do(ctx, call{verb: http.MethodGet, path: "applications/@me", route: "GET applications/@me"}, &app); err != nil {
		return identity{}, err
	}
	s.id = identity{connection: s.connection, app: app.ID, user: me.ID}
	return s.id, nil
}

// set is what the gateway says.
func (s *self) set(app, user string) identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = identity{connection: s.connection, app: app, user: user}
	return s.id
}

// forget makes the next get ask again: the token may be another app's.
func (s *self) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = identity{}
}

// Tenant implements chat.Homed: people of any server are of one tenant, the app's
// own, for Discord's user ids are the same everywhere.
func (a *Adapter) Tenant() string {
	a.self.mu.Lock()
	defer a.self.mu.Unlock()
	return a.self.id.app
}
