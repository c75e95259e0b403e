package bot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"loopx/kernel"
)

// verifyMost bounds the check of the state file after an unclean stop.
const verifyMost = 2 * time.Minute

// checkUnclean looks for the mark that a daemon leaves while it runs. When it is
// still there the last daemon did not stop by itself, and the file is checked
// whole, in a child process: a damaged file may end the process that reads it.
func (b *Bot) checkUnclean(ctx context.Context) error {
	mark := filepath.Join(b.opt.Home.Dir, "running")
	_, err := os.Lstat(mark)
	if err == nil && b.opt.Verify != nil && b.opt.Home.Exists() {
		b.opt.Logger.Info("the last daemon did not stop by itself: checking the state file")
		ctx, cancel := context.WithTimeout(ctx, verifyMost)
		defer cancel()
		if err := b.opt.Verify(ctx, b.opt.Home.DB()); err != nil {
			b.opt.Logger.Error("the state file does not verify", "err", err)
			return kernel.Errorf(kernel.Unavailable, "state_damaged", "the state file did not pass the check that follows an unclean stop; it was kept as it is and nothing was written to it").
				Try("loopx doctor, then put a good copy of %s in its place", b.opt.Home.DB())
		}
	}
	return nil
}

// markRunning leaves the mark for as long as this daemon runs.
func (b *Bot) markRunning() error {
	mark := filepath.Join(b.opt.Home.Dir, "running")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return err
	}
	b.undo("running mark", func(context.Context) error {
		if err := os.Remove(mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return nil
}

// VerifyBy checks a state file with a command of a program, usually this one.
func VerifyBy(exe string, args ...string) func(ctx context.Context, path string) error {
	return func(ctx context.Context, path string) error {
		return exec.CommandContext(ctx, exe, append(args, path)...).Run()
	}
}
