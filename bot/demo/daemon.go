package demo

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"loopx/bot/client"
)

// daemon is loopx-bot as a process of its own, so that it can be killed.
type daemon struct {
	cmd  *exec.Cmd
	gone chan struct{}
	out  lockedBuffer
}

// lockedBuffer collects what a process prints while others read it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start starts the daemon and waits until it answers.
func (p *player) start(ctx context.Context) (*daemon, error) {
	d := &daemon{cmd: exec.Command(p.cli.exe, "--home", p.home.Dir, "--sim", "--no-open"), gone: make(chan struct{})}
	d.cmd.Env = append(append([]string{}, p.cli.env...), "LOOPX_DEMO_APP="+p.sim.AppToken(), "LOOPX_DEMO_BOT="+p.sim.BotToken())
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.out
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = d.cmd.Wait(); close(d.gone) }()
	c := client.New(p.home)
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := c.Info(ctx); err == nil {
			return d, nil
		}
		select {
		case <-d.gone:
			return nil, fmt.Errorf("the daemon did not start:\n%s", d.out.String())
		case <-ctx.Done():
			d.kill()
			return nil, fmt.Errorf("the daemon does not answer:\n%s", d.out.String())
		case <-tick.C:
		}
	}
}

// kill is kill -9.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.gone
}

// stop asks the daemon to end and waits.
func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	<-d.gone
}

func (d *daemon) log() string { return d.out.String() }
