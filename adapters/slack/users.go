package slack

import (
	"context"
	"sync"
	"time"

	"loopx/adapters/chat"
)

// maxUsers bounds the cache of people.
const maxUsers = 4096

type person struct {
	kind   chat.UserKind
	tenant string
	name   string
	at     time.Time
}

// userCache remembers what people are, for a while.
type userCache struct {
	keep   time.Duration
	lookUp func(ctx context.Context, id string) (person, error)
	mu     sync.Mutex
	m      map[string]person
}

func newUserCache(keep time.Duration, lookUp func(context.Context, string) (person, error)) *userCache {
	return &userCache{keep: keep, lookUp: lookUp, m: map[string]person{}}
}

func (c *userCache) get(ctx context.Context, id string) (person, error) {
	c.mu.Lock()
	p, ok := c.m[id]
	c.mu.Unlock()
	if ok && time.Since(p.at) < c.keep {
		return p, nil
	}
	p, err := c.lookUp(ctx, id)
	if err != nil {
		return person{}, err
	}
	p.at = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) >= maxUsers {
		for k, old := range c.m { // expired ones first, then any
			if time.Since(old.at) >= c.keep || len(c.m) >= maxUsers {
				delete(c.m, k)
			}
		}
	}
	c.m[id] = p
	return p, nil
}

// lookUpUser asks users.info. A person who is gone is Unknown; so is everybody
// while the scope is missing, because nothing may be authorised on a guess.
func lookUpUser(ctx context.Context, a *Adapter, id string) (person, error) {
	me, err := a.identify(ctx)
	if err != nil {
		return person{}, err
	}
	u, err := a.web.GetUserInfoContext(ctx, id)
	if err = a.classify(err, reading); err != nil {
		switch chat.KindOf(err) {
		case chat.Gone:
			return person{tenant: me.team}, nil
		case chat.Auth:
			a.health.Set(a.health.State(), "people cannot be told apart: "+err.Error(), fixOf(err))
			return person{tenant: me.team}, nil
		}
		return person{}, err
	}
	p := person{kind: chat.Human, tenant: firstOf(u.TeamID, me.team), name: firstOf(u.Profile.DisplayName, u.RealName, u.Name)}
	sameOrg := u.TeamID == me.team || me.enterprise != "" && u.Enterprise.EnterpriseID == me.enterprise
	switch {
	case u.ID == me.user:
		p.kind = chat.Self
	case u.IsBot || u.ID == "USLACKBOT" || u.IsWorkflowBot || u.IsConnectorBot:
		p.kind = chat.Bot
	case u.Deleted:
		p.kind = chat.Unknown
	case u.IsStranger || !sameOrg:
		p.kind = chat.External
	case u.IsRestricted || u.IsUltraRestricted:
		p.kind = chat.Guest
	}
	return p, nil
}

// complete fills in what the payload did not say about the sender.
func (a *Adapter) complete(ctx context.Context, e *chat.Event) error {
	switch e.Sender.Kind {
	case chat.Self, chat.Bot:
		return nil
	}
	if e.Sender.ID == "" {
		return nil // nobody: Unknown
	}
	known := e.Sender.Kind
	p, err := a.users.get(ctx, e.Sender.ID)
	if err != nil {
		return err
	}
	e.Sender.Kind, e.Sender.Name = p.kind, p.name
	if p.tenant != "" {
		e.Sender.Tenant = p.tenant
	}
	if known == chat.External && p.kind != chat.Bot { // the payload named another team
		e.Sender.Kind = chat.External
	}
	return nil
}
