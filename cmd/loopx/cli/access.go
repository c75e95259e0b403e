package cli

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
	"loopx/kernel/view"
)

// access is the view.Service of a process that may or may not have a daemon to
// ask. It dials the socket; where nobody listens it takes the folder's lock,
// dials once more while holding it, and opens the file for one command.
//
// A connection that ends after something was sent leaves the outcome unknown: the
// same request goes out again with the same key, by whichever way is open then.
type access struct {
	home    client.Home
	wait    time.Duration // for a busy folder
	command string        // what the lock's holder record says
	token   string        // owner token, for commands of the owner
}

var _ view.Service = (*access)(nil)

// errServed: somebody serves the folder, so the file is not ours to open.
var errServed = errors.New("cli: the folder is served")

// Do implements view.Service.
func (s *access) Do(ctx context.Context, cmd kernel.Command, opt kernel.Options) (kernel.Receipt, error) {
	var rec kernel.Receipt
	err := s.run(ctx, cmd, func(svc view.Service) (err error) {
		rec, err = svc.Do(ctx, cmd, opt)
		return err
	})
	return rec, err
}

// Query implements view.Service.
func (s *access) Query(ctx context.Context, q view.Query) (json.RawMessage, error) {
	var raw json.RawMessage
	err := s.run(ctx, nil, func(svc view.Service) (err error) {
		raw, err = svc.Query(ctx, q)
		return err
	})
	return raw, err
}

// run carries one request through, by either way. cmd is nil for a query.
func (s *access) run(ctx context.Context, cmd kernel.Command, fn func(view.Service) error) error {
	if err := s.enter(cmd); err != nil {
		return err
	}
	deadline := time.Now().Add(s.wait)
	var unknown error // set once a sent command got no answer
	pause := time.Millisecond
	for {
		c := client.New(s.home)
		c.OwnerToken = s.token
		err := fn(c)
		if err == nil || !client.NoDaemon(err) && !client.Again(err) {
			return err
		}
		if kernel.AsError(err).Class == kernel.Unknown && cmd != nil {
			unknown = err
		}
		err = s.file(ctx, cmd, time.Until(deadline), fn)
		if !errors.Is(err, errServed) {
			return worse(unknown, err)
		}
		if !time.Now().Before(deadline) {
			holder, _, _ := bolt.ReadHolder(s.home.Dir)
			return worse(unknown, client.LockedBy(s.home, holder.PID, holder.Command, holder.Since))
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, 50*time.Millisecond)
		case <-ctx.Done():
			return worse(unknown, kernel.Errorf(kernel.Unavailable, "interrupted", "the command was interrupted"))
		}
	}
}

// worse keeps the unknown outcome of an earlier attempt where a later one could
// not even ask: "nothing was changed" would be a guess.
func worse(unknown, err error) error {
	if e := kernel.AsError(err); unknown != nil && e != nil && (e.Class == kernel.Locked || e.Class == kernel.Unavailable || e.Class == kernel.Internal) {
		return unknown
	}
	return err
}

// file runs fn on the state file under the folder's lock.
func (s *access) file(ctx context.Context, cmd kernel.Command, wait time.Duration, fn func(view.Service) error) error {
	if !begins(cmd) && !s.home.Exists() {
		return kernel.Errorf(kernel.NotFound, codeNoState, "there is no workspace in %s yet", s.home.Dir).
			Try("loopx goal create --goal-id NAME --objective TEXT")
	}
	c := client.New(s.home)
	boot, _ := client.SystemClock{}.Boot()
	lock, err := bolt.TakeLock(s.home.Dir, bolt.Holder{BootID: boot, Command: s.command, Version: client.Version}, wait, c.Listening)
	switch {
	case err == nil:
		defer func() { _ = lock.Unlock() }() // the kernel frees it with the process anyway
		if client.New(s.home).Listening() {
			return errServed
		}
	case errors.Is(err, bolt.ErrRedialed):
		return errServed
	case errors.Is(err, store.ErrReadOnly) && cmd == nil:
		// A folder that cannot be written has no other writer to keep out.
	default:
		if e, ok := errors.AsType[*bolt.LockedError](err); ok {
			return client.LockedBy(s.home, e.Holder.PID, e.Holder.Command, e.Holder.Since)
		}
		return kernel.AsError(err)
	}
	return s.open(ctx, cmd == nil, wait, fn)
}

// begins says that a command may be the first of a workspace.
func begins(cmd kernel.Command) bool {
	switch cmd.(type) {
	case *kernel.CreateGoal, *kernel.StartGoal, *kernel.CreateLinkCode:
		return true
	}
	return false
}

// enter refuses a folder that must not be trusted, and makes a new one for the
// commands that begin a workspace.
func (s *access) enter(cmd kernel.Command) error {
	if begins(cmd) {
		return s.home.Ensure()
	}
	return s.home.Check()
}

// codeNoState is told when there is nothing to read yet.
const codeNoState = "no_workspace"

func (s *access) open(ctx context.Context, readOnly bool, wait time.Duration, fn func(view.Service) error) error {
	st, err := bolt.Open(s.home.DB(), bolt.Options{ReadOnly: readOnly, LockTimeout: max(wait, time.Second)})
	if err != nil {
		return kernel.AsError(err)
	}
	defer func() { _ = st.Close() }() // what was answered is durable already
	k, err := kernel.Open(ctx, st, client.SystemClock{})
	if err != nil {
		return kernel.AsError(err)
	}
	if !readOnly {
		if err := s.prove(ctx, k); err != nil {
			return err
		}
	}
	if err := fn(view.Local{K: inbox.Attach(k)}); err != nil || readOnly {
		return err
	}
	// What was just disowned voids the proof at once; where that fails, the next
	// command that shows the proof says so.
	_, _ = s.home.RenewToken(ctx, k)
	return nil
}

// prove has the owner's token replaced when it is to be, and refuses the old one.
func (s *access) prove(ctx context.Context, k *kernel.Kernel) error {
	token, err := s.home.RenewToken(ctx, k)
	switch {
	case s.token == "" || token == "" && err == nil:
		return nil // nobody shows it here, or it counts
	case err != nil:
		return err
	case !client.SameToken(s.token, token):
		return kernel.Errorf(kernel.Denied, "token_renewed", "the owner token was replaced, because an answer given with the old one was disowned").Try("run the same command again, with the new owner.token of the state folder")
	}
	return nil
}
