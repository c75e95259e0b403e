package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"time"

	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store/bolt"
)

// HoldOptions are what a daemon says when it takes a state folder.
type HoldOptions struct {
	Home client.Home
	// Command is shown to whoever finds the folder locked, "loopx-bot".
	Command string
	// Timeout bounds the wait for commands that have the folder right now and
	// for a daemon that is stopping. 0 is five seconds.
	Timeout time.Duration
	// Check runs once the folder is ours and before its file is opened; its error
	// ends the start. Nil checks nothing.
	Check func(ctx context.Context) error
	// Clock and Wall (UTC ms) replace the machine's clocks, for whoever must see
	// what a step of them does. Nil is the machine's.
	Clock kernel.Clock
	Wall  func() int64
	// Logger is told what an operator should know. Nil discards it.
	Logger *slog.Logger
}

// Held is a state folder in the hands of this process: its lock, its open store
// and the kernel on it.
type Held struct {
	Home   client.Home
	Holder bolt.Holder
	Store  *bolt.Store
	Kernel *kernel.Kernel

	lock *bolt.Lock
}

// Hold makes the folder if needed, takes its lock, records this process as its
// holder, and opens store and kernel. Errors are *kernel.Error: locked names who
// holds the folder; nothing is held after an error.
func Hold(ctx context.Context, o HoldOptions) (*Held, error) {
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if err := o.Home.Ensure(); err != nil {
		return nil, err
	}
	boot, _ := client.SystemClock{}.Boot()
	h := &Held{Home: o.Home, Holder: bolt.Holder{
		PID: os.Getpid(), BootID: boot, Command: o.Command, Version: client.Version,
		Socket: o.Home.Listen(), Since: time.Now().UnixMilli(),
	}}
	var err error
	if h.lock, err = takeLock(ctx, o, h.Holder); err != nil {
		return nil, err
	}
	if o.Check != nil {
		err = o.Check(ctx)
	}
	if err == nil {
		err = h.open(ctx, o)
	}
	if err != nil {
		return nil, kernel.AsError(errors.Join(err, h.Close()))
	}
	return h, nil
}

// takeLock waits for the lock while only commands hold it, and gives up at once
// when a daemon serves the folder.
func takeLock(ctx context.Context, o HoldOptions, h bolt.Holder) (*bolt.Lock, error) {
	served := func() bool { return ctx.Err() != nil || answers(o.Home.Socket()) }
	lock, err := bolt.TakeLock(o.Home.Dir, h, o.Timeout, served)
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, bolt.ErrRedialed) && ctx.Err() != nil:
		return nil, kernel.Errorf(kernel.Unavailable, "stopping", "the start was called off")
	case errors.Is(err, bolt.ErrRedialed):
		holder, _, _ := bolt.ReadHolder(o.Home.Dir)
		return nil, Locked(o.Home, holder)
	}
	if e, ok := errors.AsType[*bolt.LockedError](err); ok {
		return nil, Locked(o.Home, e.Holder)
	}
	return nil, kernel.AsError(err)
}

// Locked is the refusal that names who holds a folder.
func Locked(home client.Home, h bolt.Holder) *kernel.Error {
	return client.LockedBy(home, h.PID, h.Command, h.Since)
}

// answers says whether somebody listens on the socket.
func answers(path string) bool {
	c, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

func (h *Held) open(ctx context.Context, o HoldOptions) error {
	var err error
	// Whoever opened the file without the side lock gets the same patience.
	if h.Store, err = bolt.Open(o.Home.DB(), bolt.Options{Clock: o.Wall, Logger: o.Logger, LockTimeout: o.Timeout}); err != nil {
		return err
	}
	var clock kernel.Clock = client.NewClock()
	if o.Clock != nil {
		clock = o.Clock
	}
	if h.Kernel, err = kernel.Open(ctx, h.Store, clock); err != nil {
		return err
	}
	inbox.Attach(h.Kernel)
	return nil
}

// Failed is closed when a commit's outcome became unknown. The process must then
// stop serving and exit; commands find out what happened by their keys.
func (h *Held) Failed() <-chan struct{} { return h.Store.Failed() }

// Close closes the store and gives the lock back, in this order. The socket must
// be closed before.
func (h *Held) Close() error {
	var err error
	if h.Store != nil {
		err = h.Store.Close()
	}
	if h.lock != nil {
		err = errors.Join(err, h.lock.Unlock())
	}
	h.Store, h.lock = nil, nil
	return err
}
