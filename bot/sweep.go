package bot

import (
	"context"

	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
)

// piece is how many rows one transaction of a sweep looks at.
const piece = 100

// sweep ends what time alone has ended of people's messages.
func sweep(ctx context.Context, k *kernel.Kernel) error {
	if err := inPieces(ctx, k, (*inbox.Mail).Sweep); err != nil {
		return err
	}
	return inPieces(ctx, k, (*inbox.Mail).SweepSteers)
}

// retain forgets what is kept no longer.
func retain(ctx context.Context, k *kernel.Kernel) error {
	for _, fn := range []func(*inbox.Mail, []byte, int) ([]byte, error){(*inbox.Mail).Retain, (*inbox.Mail).RetainKept, (*inbox.Mail).RetainReceipts} {
		if err := inPieces(ctx, k, fn); err != nil {
			return err
		}
	}
	return nil
}

// inPieces runs fn until it has seen everything.
func inPieces(ctx context.Context, k *kernel.Kernel, fn func(*inbox.Mail, []byte, int) ([]byte, error)) error {
	var at []byte
	for {
		var next []byte
		err := k.Store().Update(ctx, func(tx store.Tx) error {
			m, err := inbox.MailOver(tx, k)
			if err != nil {
				return err
			}
			next, err = fn(m, at, piece)
			return err
		})
		if err != nil || next == nil {
			return err
		}
		at = next
	}
}

// idleGoals and idlePiece bound what one round closes; the next one goes on.
const (
	idleGoals = 10_000
	idlePiece = 100
)

// closeIdle closes the sessions of hosts that nobody saw for a day.
func closeIdle(ctx context.Context, k *kernel.Kernel) error {
	var idle []*kernel.Session
	err := k.Read(ctx, func(r *kernel.Reader) error {
		for _, g := range r.Goals(idleGoals) {
			idle = append(idle, r.IdleSessions(g.ID, idlePiece)...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range idle {
		if _, err := k.Do(ctx, &kernel.CloseSession{Goal: s.Goal, Session: s.ID}, kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "cli"}}); err != nil {
			return err
		}
	}
	return nil
}
