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
