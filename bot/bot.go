package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/console"
	"loopx/bot/api"
	"loopx/bot/client"
	"loopx/bot/workspace"
	"loopx/kernel"
	"loopx/kernel/boundary"
	"loopx/kernel/view"
)

// Options are what main makes of its flags.
type Options struct {
	Home   client.Home
	Config Config
	// Sim allows connections to simulators on this machine.
	Sim bool
	// PageAsOwner lets every page session act as the owner. Only the demo sets
	// it, and says so.
	PageAsOwner bool
	// Verify checks a state file whole after an unclean stop; nil skips that.
	Verify func(ctx context.Context, path string) error
	Getenv func(string) string
	Logger *slog.Logger
	// Clock and Wall (UTC ms) replace the machine's clocks; see api.HoldOptions.
	Clock kernel.Clock
	Wall  func() int64
	// Zone is the zone times are written in; the machine's unless told.
	Zone *time.Location
}

// Bot is the daemon. New wires it, Start brings it up in the order that keeps
// every event, Stop is the exact reverse.
type Bot struct {
	opt     Options
	held    *api.Held
	engine  *engine
	server  *api.Server
	page    *workspace.Page
	console *console.Console
	hooks   *hooks
	proof   *api.Proof
	failed  chan struct{}

	mu   sync.Mutex // guards stop
	stop []step     // what Stop undoes, newest last
}

// step is one named, bounded part of a stop.
type step struct {
	name string
	run  func(context.Context) error
}

// stepTime bounds each step of a stop.
const stepTime = 5 * time.Second

// New checks the options. Nothing is opened yet.
func New(opt Options) (*Bot, error) {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	if opt.Zone == nil {
		opt.Zone = time.Local
	}
	for _, c := range opt.Config.Connections {
		if c.BaseURL != "" && !opt.Sim {
			return nil, kernel.Errorf(kernel.Invalid, "sim_only", "connection %s: base_url is for simulators", c.Name).Try("start with --sim, or remove base_url")
		}
	}
	return &Bot{opt: opt, failed: make(chan struct{})}, nil
}

// Start takes the workspace and serves it. After an error everything that was
// started is stopped again.
func (b *Bot) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if b.held, err = api.Hold(ctx, api.HoldOptions{Home: b.opt.Home, Command: "loopx-bot", Check: b.checkUnclean, Clock: b.opt.Clock, Wall: b.opt.Wall, Logger: b.opt.Logger}); err != nil {
		return err
	}
	if err := b.markRunning(); err != nil {
		return errors.Join(err, b.held.Close())
	}
	b.undo("state folder", func(context.Context) error { return b.held.Close() })
	watch, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(func() { b.watchFile(watch) })
	b.undo("file watch", func(context.Context) error { unwatch(); watching.Wait(); return nil })
	b.proof = api.NewProof(b.opt.Home, b.held.Kernel, b.opt.Logger)
	if _, err = b.proof.Current(ctx); err != nil {
		return err
	}
	if err := b.connect(); err != nil {
		return err
	}
	b.engine.startWriters()
	b.undo("connections", b.engine.stop)
	service := view.Local{K: b.held.Kernel}
	if !b.opt.Config.Page.Off {
		b.page = b.newPage(service)
	}
	var approve func(string) error
	if b.page != nil {
		approve = b.page.Approve
	}
	b.server = api.New(api.Options{ApprovePage: approve, Service: service, Wake: b.held.Store.Watch, Info: b.info, Token: b.proof.Current, Home: b.opt.Home, Logger: b.opt.Logger})
	if err := b.server.Start(); err != nil {
		return err
	}
	b.undo("local API", b.server.Stop)
	if b.page != nil {
		if err := b.page.Start(ctx); err != nil {
			return err
		}
		b.undo("page", b.page.Stop)
		b.proof.Renewed(b.page.Forget)
	}
	b.undo("owner's proof", b.proof.Keep(b.held.Store.Watch))
	if err := startHooks(ctx, b); err != nil {
		return err
	}
	if err := wasAway(ctx, b.engine, b.engine.down, time.Now().UnixMilli()); err != nil {
		return err
	}
	// Last: nothing arrives before it can be kept.
	b.engine.startAdapters()
	if b.hooks != nil {
		b.hooks.serve(b.opt.Logger)
	}
	return nil
}

// Stop ends what Start began, newest first, each step bounded. It may be called
// more than once.
func (b *Bot) Stop(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for i := len(b.stop) - 1; i >= 0; i-- {
		s := b.stop[i]
		c, cancel := context.WithTimeout(ctx, stepTime)
		if err := s.run(c); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
		cancel()
	}
	b.stop = nil
	return errors.Join(errs...)
}

func (b *Bot) undo(name string, run func(context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop = append(b.stop, step{name, run})
}

// Failed is closed when a commit's outcome became unknown, or when the state
// file was moved away under the daemon: stop and exit with the code of class
// unknown, so that the next start reads what is true.
func (b *Bot) Failed() <-chan struct{} { return b.failed }

// watchFile closes failed when the store must not be used any further.
func (b *Bot) watchFile(ctx context.Context) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.held.Failed():
			close(b.failed)
			return
		case <-tick.C:
			if err := b.held.Store.Moved(); err != nil {
				b.opt.Logger.Error("the state file is no longer where it was", "err", err)
				close(b.failed)
				return
			}
		}
	}
}

// PageAddr is the page's address, empty without a page.
func (b *Bot) PageAddr() string {
	if b.page == nil {
		return ""
	}
	return b.page.Addr()
}

// OpenFile writes the private file that opens a page session in a browser and
// returns its path; empty without a page.
func (b *Bot) OpenFile() string {
	if b.page == nil {
		return ""
	}
	file, err := b.page.OpenURL()
	if err != nil {
		b.opt.Logger.Warn("the page cannot be opened by file", "err", err)
		return ""
	}
	return file
}

// connect makes the connections: the page's own, then the configured ones.
func (b *Bot) connect() error {
	k, log := b.held.Kernel, b.opt.Logger
	at := &attend{k: k, zone: b.opt.Zone}
	b.engine = &engine{k: k, log: log, now: time.Now, home: b.opt.Home.Dir, down: lastAlive(b.opt.Home.Dir), attend: at}
	scan := boundary.New()
	machine, _ := os.Hostname() // without a name it is not told
	state := botState{version: client.Version, machine: machine, since: time.Now().UnixMilli(), down: lastAlive(b.opt.Home.Dir), connections: func() []client.Connection { return b.info().Connections }}
	add := func(name string, p chat.Platform, a chat.Adapter, local func(chat.User) (kernel.Actor, bool)) {
		b.engine.conns = append(b.engine.conns, &connection{
			name: name, platform: p, adapter: a, sink: &sink{k: k, platform: p, log: log, local: local, zone: b.opt.Zone, state: state},
			outbox:  &outbox{k: k, name: name, adapter: a, zone: b.opt.Zone, now: time.Now, attend: at, log: log, lineup: newLineup(a.Caps()), signs: newSigns(a, log), home: b.opt.Home.Dir},
			fetcher: &fetcher{k: k, name: name, adapter: a, home: b.opt.Home.Dir, now: time.Now, log: log},
		})
		c := b.engine.conns[len(b.engine.conns)-1]
		if h, ok := a.(chat.Homed); ok {
			c.sink.tenant = h.Tenant
		}
		if p != chat.Console {
			c.sink.heard = &overheard{}
			b.engine.conns[len(b.engine.conns)-1].outbox.scan = scan
		}
	}
	b.console = console.New(console.Options{Name: consoleName, Log: consoleLog{b.held.Store}})
	add(consoleName, chat.Console, b.console, pagePerson)
	for _, c := range b.opt.Config.Connections {
		a, err := connectionOf(c, b.opt.Getenv, func() []string { return served(k, c) }, log)
		if err != nil {
			return err
		}
		add(c.Name, chat.Platform(c.Platform), a, nil)
	}
	return nil
}

// served are the conversations whose past is worth reading after a time away:
// the private ones of linked people, and those that are bound. A thread of
// Discord is a channel of its own; elsewhere its channel is read.
func served(k *kernel.Kernel, c ConnectionConfig) []string {
	var out []string
	_ = k.Read(context.Background(), func(r *kernel.Reader) error { // on a failure there is just no catching up
		for _, p := range r.Principals(1000) {
			if p.Connection == c.Name && p.Status != "revoked" && p.Private != "" {
				out = append(out, p.Private)
			}
		}
		for _, b := range r.Bindings(1000) {
			switch {
			case b.Connection != c.Name || b.State != kernel.BindActive:
			case b.Thread != "" && chat.Platform(c.Platform) == chat.Discord:
				out = append(out, b.Thread)
			default:
				out = append(out, b.Conversation)
			}
		}
		return nil
	})
	return out
}

// pagePerson is the page's own proof: its session says who acts.
func pagePerson(u chat.User) (kernel.Actor, bool) {
	if u.Tenant != console.Tenant || u.ID != console.Owner || u.Kind != chat.Human {
		return kernel.Actor{}, false
	}
	return kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Name: "owner", Surface: "page"}, true
}
