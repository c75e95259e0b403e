package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store/bolt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func decode(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return kernel.Errorf(kernel.Unavailable, "version_mismatch", "the answer does not fit this version of loopx").Try("loopx doctor")
	}
	return nil
}

func migrateCmd(a *app) *cobra.Command {
	var limit time.Duration
	c := a.verbOf("migrate", "", func(f *pflag.FlagSet) {
		f.DurationVar(&limit, "timeout", 10*time.Minute, "how long the check of the result may take")
		f.BoolVar(&a.g.dryRun, "dry-run", false, "say whether it is needed and change nothing")
	}, func() error {
		home, err := stateHome(a)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		from, kept := 0, ""
		err = aloneIn(a, home, func() error {
			from, kept, err = migrateState(a, ctx, home, limit)
			return err
		})
		if err != nil {
			return err
		}
		needed := from < kernel.Schema
		f := newFields().set("from_layout", from).set("layout", kernel.Schema).set("needed", needed).set("changed", needed && !a.g.dryRun)
		if kept != "" {
			f.set("kept", kept)
		}
		return a.out(f, func() string {
			switch {
			case !needed:
				return "The state has the layout of this version already.\n"
			case a.g.dryRun:
				return "The state has an older layout; loopx migrate builds it anew.\n  nothing was changed\n"
			}
			return "The state has the layout of this version now.\nThe old file is kept: " + show(kept, 400) + "\n"
		})
	})
	c.Long = "Builds a state with an older layout anew from its journal: into a copy, which is checked\n" +
		"before it becomes the state. The old file is kept beside it with the time in its name.\n" +
		"Stop the bot first."
	return c
}

// migrateState brings the state into the layout of this version, if it is older.
func migrateState(a *app, ctx context.Context, home client.Home, limit time.Duration) (from int, kept string, err error) {
	st, err := bolt.Open(home.DB(), bolt.Options{ReadOnly: true})
	if err != nil {
		return 0, "", err
	}
	open := true
	done := func() error {
		if !open {
			return nil
		}
		open = false
		return st.Close()
	}
	defer func() { err = errors.Join(err, done()) }()
	if from, err = kernel.Layout(ctx, st); err != nil || from == kernel.Schema || from < kernel.Schema && a.g.dryRun {
		return from, "", err
	}
	part, drop := working(home, "migrate")
	defer drop()
	to, err := bolt.Open(part, bolt.Options{})
	if err != nil {
		return from, "", fileError(part, err)
	}
	if err := errors.Join(kernel.Migrate(ctx, st, to), to.Close(), done()); err != nil {
		return from, "", err
	}
	if _, err := a.verify(part, limit); err != nil {
		return from, "", err
	}
	kept, err = swapState(a, ctx, home, part)
	return from, kept, err
}
