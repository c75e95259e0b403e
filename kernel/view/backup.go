package view

import (
	"context"
	"io"
)

// Backup writes a consistent copy of the whole state, which can be opened as a
// state file, while the store goes on serving.
func (l Local) Backup(ctx context.Context, w io.Writer) error { return l.K.Store().Backup(ctx, w) }
