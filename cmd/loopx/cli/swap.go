package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store/bolt"
	"loopx/kernel/store/failpoint"
)

// aloneIn runs fn while no daemon serves the folder and no other command has it.
func aloneIn(a *app, home client.Home, fn func() error) error {
	boot, _ := client.SystemClock{}.Boot()
	holder := bolt.Holder{BootID: boot, Command: a.access.command, Version: client.Version}
	lock, err := bolt.TakeLock(home.Dir, holder, a.g.wait, client.New(home).Listening)
	switch e, busy := errors.AsType[*bolt.LockedError](err); {
	case busy:
		return client.LockedBy(home, e.Holder.PID, e.Holder.Command, e.Holder.Since)
	case errors.Is(err, bolt.ErrRedialed):
		return served(home)
	case err != nil:
		return err
	}
	defer func() { _ = lock.Unlock() }() // the system frees it with the process anyway
	if err := notServed(home); err != nil {
		return err
	}
	return fn()
}

// swapState makes the file part the state, under the folder's lock, and says where the
// old file stays.
func swapState(a *app, ctx context.Context, home client.Home, part string) (kept string, err error) {
	failpoint.Hit(failpoint.StateReady)
	if home.Exists() {
		if kept, err = keepState(a, ctx, home); err != nil {
			return "", err
		}
	}
	failpoint.Hit(failpoint.StateKept)
	// From here on the old file has two names, and the state one of them at any time.
	if err := os.Rename(part, home.DB()); err != nil {
		return kept, fileError(home.DB(), err)
	}
	failpoint.Hit(failpoint.StateRenamed)
	return kept, fileError(home.DB(), syncFolder(home.Dir))
}

// keepState gives the old state a second name, with the time in it.
func keepState(a *app, ctx context.Context, home client.Home) (string, error) {
	at := home.DB() + ".before-" + a.now().UTC().Format("20060102T150405Z")
	kept := at
	for n := 2; ; n++ {
		err := keepOld(ctx, home.DB(), kept)
		if e := kernel.AsError(err); e == nil || e.Code != "file_exists" || n > 9 {
			return kept, err
		}
		kept = fmt.Sprintf("%s-%d", at, n) // two within a second
	}
}

// working is a name for a file that may become the state, and what removes it
// where it did not.
func working(home client.Home, what string) (path string, drop func()) {
	path = home.DB() + "." + what + "-" + kernel.NewID("", 6)
	return path, func() {
		_ = os.Remove(path) // gone already when it became the state
		_ = os.Remove(bolt.SealPath(path))
	}
}
