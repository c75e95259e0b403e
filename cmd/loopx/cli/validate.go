package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	tail := &tailWriter{most: validationTail}
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = a.programEnv()
	c.Stdout, c.Stderr = tail, tail
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second // a grandchild may hold the pipes
	err := c.Run()
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // what it left behind
	}
	if err == nil {
		return nil
	}
	e := kernel.Errorf(kernel.Conflict, "validation_failed", "the validation %s", a.how(ctx, err)).
		With("program", show(strings.Join(argv, " "), 200))
	if out := tail.String(); out != "" {
		e.With("output", show(out, validationTail))
	}
	return e.Try("mend what it checks, then complete it again")
}

func (a *app) how(ctx context.Context, err error) string {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "did not end within " + a.patience.String()
	case ctx.Err() != nil:
		return "was interrupted"
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if code := exit.ExitCode(); code >= 0 {
			return "failed with exit code " + strconv.Itoa(code)
		}
		return "was ended by a signal"
	}
	return "could not be started: its program was not found or may not run"
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
