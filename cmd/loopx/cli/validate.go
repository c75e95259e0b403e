package cli

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"time"

	"loopx/kernel"
)

const (
	validationTime = 20 * time.Second
	validationTail = 2000 // bytes of output that a failure shows
)

// validate runs a todo's declared validation: without a shell, in this folder, in
// a process group of its own, at most 20 seconds. Nothing of the workspace is
// locked meanwhile. A failure is of class conflict and says how it failed.
func (a *app) validate(argv []string) error {
	p := &program{argv: argv, env: a.programEnv(), limit: a.patience}
	err := p.run(a.ctx)
	if err == nil {
		return nil
	}
	e := kernel.Errorf(kernel.Conflict, "validation_failed", "the validation %s", p.how(err)).
		With("program", show(strings.Join(argv, " "), 200))
	return p.said(e).Try("mend what it checks, then complete it again")
}

// programEnv is this environment without what proves who the caller is.
func (a *app) programEnv() []string {
	return slices.DeleteFunc(slices.Clone(a.opt.Env), func(kv string) bool { return strings.HasPrefix(kv, "LOOPX_LEASE=") })
}

// tailWriter keeps the end of what is written to it.
type tailWriter struct {
	mu   sync.Mutex
	most int
	buf  bytes.Buffer
}

// Write implements io.Writer.
func (w *tailWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p[max(0, len(p)-w.most):])
	if extra := w.buf.Len() - w.most; extra > 0 {
		w.buf.Next(extra)
	}
	return len(p), nil
}

func (w *tailWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.ToValidUTF8(w.buf.String(), "?")
}
