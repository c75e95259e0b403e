package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"loopx/kernel"
)

// program is one run of a program of the caller's: without a shell, in this
// folder, in a process group of its own that ends with it, for a bounded time and
// with bounded output. Nothing of the workspace is locked meanwhile.
type program struct {
	argv  []string
	env   []string
	stdin []byte
	limit time.Duration
	// most bounds standard output in bytes; 0 adds it to the tail of what a
	// failure shows. Standard error always goes there, at most noiseMost of it.
	most int

	out  bytes.Buffer
	tail tailWriter
}

// noiseMost is how much a program may write that nobody keeps.
const noiseMost = 4 << 20

var (
	errFlood       = errors.New("cli: a program wrote more than it may")
	errInterrupted = errors.New("cli: the command was interrupted")
	errLate        = errors.New("cli: a program did not end in time")
)

// run waits for the program and everything it left in its group. The error is one
// of the three above, or what starting or ending it gave.
func (p *program) run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	timed, cancelTime := context.WithTimeout(ctx, p.limit)
	defer cancelTime()
	bounded, end := context.WithCancelCause(timed)
	defer end(nil)
	// The group dies with this thread on systems that can promise it, so that a
	// killed loopx leaves no host behind.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p.tail.most = validationTail
	c := exec.CommandContext(bounded, p.argv[0], p.argv[1:]...)
	c.Env = p.env
	if p.stdin != nil {
		c.Stdin = bytes.NewReader(p.stdin)
	}
	c.Stderr = &capped{w: &p.tail, most: noiseMost, over: func() { end(errFlood) }}
	if p.most > 0 {
		c.Stdout = &capped{w: &p.out, most: p.most, over: func() { end(errFlood) }}
	} else {
		c.Stdout = c.Stderr
	}
	c.SysProcAttr = groupAttr()
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second // a grandchild may hold the pipes
	err := c.Run()
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // what it left behind
	}
	switch {
	case errors.Is(context.Cause(bounded), errFlood):
		return errFlood
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() != nil:
		return errInterrupted
	case timed.Err() != nil:
		return errLate
	}
	return err
}

// how is an error of run in words.
func (p *program) how(err error) string {
	switch {
	case errors.Is(err, errFlood):
		return "wrote more than it may"
	case errors.Is(err, errInterrupted):
		return "was interrupted"
	case errors.Is(err, errLate):
		return "did not end within " + p.limit.String()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if code := exit.ExitCode(); code >= 0 {
			return "failed with exit code " + strconv.Itoa(code)
		}
		return "was ended by a signal"
	}
	return "could not be started: its program was not found or may not run"
}

// said puts the program's last words into a refusal.
func (p *program) said(e *kernel.Error) *kernel.Error {
	if out := p.tail.String(); out != "" {
		e.With("output", show(out, validationTail))
	}
	return e
}

// capped ends a program that writes more than it may.
type capped struct {
	w    io.Writer
	most int
	n    int
	over func()
}

// Write implements io.Writer.
func (c *capped) Write(b []byte) (int, error) {
	if c.n += len(b); c.n > c.most {
		c.over()
		return 0, errFlood
	}
	return c.w.Write(b)
}
