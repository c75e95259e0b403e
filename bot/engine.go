package bot

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
)

// consoleName is the connection of the local page.
const consoleName = "console"

// connection is one adapter with its sink and outbox.
type connection struct {
	name     string
	platform chat.Platform
	adapter  chat.Adapter
	sink     *sink
	outbox   *outbox
	fetcher  *fetcher // nil where nothing is fetched
}

// engine follows the journal, writes what is owed, and runs the adapters.
type engine struct {
	k     *kernel.Kernel
	conns []*connection
	log   *slog.Logger
	now   func() time.Time
	home  string // the state folder
	down  int64  // when a daemon was there last before this one, UTC ms; 0 is not known
	// attend asks the policy about people.
	attend *attend
	// looked is how far the projector has read; only it uses it.
	looked uint64

	stopAdapters func()
	stopWriters  func()
	adapters     sync.WaitGroup
	writers      sync.WaitGroup
}

// startWriters starts projector and outboxes; startAdapters lets events in and
// comes after everything that keeps them.
func (e *engine) startWriters() {
	ctx, cancel := context.WithCancel(context.Background())
	e.stopWriters = cancel
	// The watch is opened before the first look, so that nothing falls between.
	wake := e.k.Store().Watch(ctx)
	e.writers.Go(func() { e.project(ctx, wake) })
	e.writers.Go(func() { e.watchReach(ctx) })
	for _, c := range e.conns {
		wake := e.k.Store().Watch(ctx)
		e.writers.Go(func() { c.outbox.run(ctx, wake) })
		if c.fetcher != nil && c.adapter.Caps().Files {
			wake := e.k.Store().Watch(ctx)
			e.writers.Go(func() { c.fetcher.run(ctx, wake) })
		}
	}
}

func (e *engine) startAdapters() {
	ctx, cancel := context.WithCancel(context.Background())
	e.stopAdapters = cancel
	for _, c := range e.conns {
		e.adapters.Go(func() {
			if err := c.adapter.Run(ctx, c.sink); err != nil && ctx.Err() == nil {
				e.log.Error("connection ended", "connection", c.name, "err", err)
			}
		})
	}
}

// stop ends the adapters first, so that nothing new arrives, then the writers.
// Open work stays in the queue. ctx bounds the wait.
func (e *engine) stop(ctx context.Context) error {
	wait := func(what string, g *sync.WaitGroup) error {
		done := make(chan struct{})
		go func() { g.Wait(); close(done) }()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return errors.New(what + " did not stop in time")
		}
	}
	var errs []error
	if e.stopAdapters != nil {
		e.stopAdapters()
		errs = append(errs, wait("adapters", &e.adapters))
	}
	if e.stopWriters != nil {
		e.stopWriters()
		errs = append(errs, wait("outboxes", &e.writers))
		leave(ctx, e)
	}
	return errors.Join(errs...)
}

// project shows what was committed, whoever committed it, and once a minute
// looks for what time alone has changed.
func (e *engine) project(ctx context.Context, wake <-chan struct{}) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	prune := time.NewTicker(time.Hour)
	defer prune.Stop()
	boards := time.NewTicker(boardEvery)
	defer boards.Stop()
	if err := refreshBoards(ctx, e, true); err != nil && ctx.Err() == nil {
		e.log.Warn("status cards", "err", err)
	}
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	// At the start and at the end too: how old the note is says since when nobody
	// listened.
	here(e)
	defer here(e)
	for {
		if err := e.catchUp(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("projector", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case _, ok := <-wake:
			if !ok {
				return
			}
		case <-tick.C:
			err := e.k.Store().Update(ctx, func(tx store.Tx) error {
				return errors.Join(inbox.Over(tx).Expire(e.k), inbox.ExpirePlans(inbox.Over(tx), e.k))
			})
			if err = errors.Join(err, sweep(ctx, e.k), e.remind(ctx), unkeep(ctx, e), judge(ctx, e)); err != nil && ctx.Err() == nil {
				e.log.Warn("expiry", "err", err)
			}
		case <-boards.C:
			if err := refreshBoards(ctx, e, false); err != nil && ctx.Err() == nil {
				e.log.Warn("status cards", "err", err)
			}
		case <-alive.C:
			here(e)
		case <-prune.C:
			if err := errors.Join(e.prune(ctx), e.forget(ctx), retain(ctx, e.k), closeIdle(ctx, e.k)); err != nil && ctx.Err() == nil {
				e.log.Warn("prune", "err", err)
			}
		}
	}
}

// here notes that the daemon is there.
func here(e *engine) {
	if e.home == "" {
		return
	}
	if err := touchAlive(e.home, e.now()); err != nil {
		e.log.Warn("cannot note that the daemon is there", "err", err)
	}
}

// prune forgets marks nobody can need any more, a piece at a time.
func (e *engine) prune(ctx context.Context) error {
	var at []byte
	for {
		err := e.k.Store().Update(ctx, func(tx store.Tx) (err error) {
			at, err = inbox.Over(tx).Prune(at, 200)
			return err
		})
		if err != nil || at == nil {
			return err
		}
	}
}

// forget lets old receipts and closed turns go, a piece at a time.
func (e *engine) forget(ctx context.Context) error {
	by := kernel.Actor{Kind: kernel.ByBot, Surface: "bot"}
	for {
		rec, err := e.k.Do(ctx, &kernel.PruneState{}, kernel.Options{By: by})
		if err != nil || !rec.Changed {
			return err
		}
	}
}

// catchUp looks through what was committed and projects what shows somewhere.
func (e *engine) catchUp(ctx context.Context) error {
	for {
		var upto uint64
		var shows, far, more bool
		err := e.k.Read(ctx, func(r *kernel.Reader) (err error) {
			upto, shows, far, more, err = inbox.Ahead(r, e.looked)
			return err
		})
		if err != nil {
			return err
		}
		if far && !shows {
			// Everything up to here was looked at, by this loop and in order.
			err := e.k.Store().Update(ctx, func(tx store.Tx) error { return inbox.Over(tx).Advance(upto) })
			if err != nil {
				return err
			}
		}
		for left := shows; left; {
			err := e.k.Store().Update(ctx, func(tx store.Tx) (err error) {
				left, err = inbox.Over(tx).Project(e.k, e.spots)
				return err
			})
			if err != nil {
				return err
			}
		}
		e.looked = upto
		if !more {
			return nil
		}
	}
}
