package api

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"loopx/bot/client"
	"loopx/kernel"
)

// Proof is the owner's token while a daemon holds the folder. When an answer was
// disowned it draws a new one: at once, and in any case before a token is compared
// again, so that the old one never counts after the press.
type Proof struct {
	home client.Home
	k    *kernel.Kernel
	log  *slog.Logger

	mu    sync.Mutex
	token string
	after func() error // what else ends with the old token
}

// NewProof is the proof of a held folder.
func NewProof(home client.Home, k *kernel.Kernel, log *slog.Logger) *Proof {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Proof{home: home, k: k, log: log}
}

// Renewed sets what runs after the token was replaced.
func (p *Proof) Renewed(after func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = after
}

// Current is the token that counts now.
func (p *Proof) Current(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	token, err := p.home.RenewToken(ctx, p.k)
	if token != "" {
		p.token = token
		p.log.Warn("the owner token was replaced, because an answer was disowned", "file", p.home.TokenFile())
		if p.after != nil {
			err = errors.Join(err, p.after())
		}
	}
	if p.token == "" && err == nil {
		p.token, err = p.home.Token()
	}
	return p.token, err
}

// Keep replaces the token as soon as a commit asks for it. It returns its end.
func (p *Proof) Keep(wake func(context.Context) <-chan struct{}) func(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	woken := wake(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			if _, err := p.Current(ctx); err != nil && ctx.Err() == nil {
				p.log.Error("the owner token could not be read or replaced", "err", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-woken:
			}
		}
	})
	return func(context.Context) error {
		cancel()
		done.Wait()
		return nil
	}
}
