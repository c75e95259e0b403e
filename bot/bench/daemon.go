package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"loopx/bot/client"
)

// running is a daemon that was started for a measurement.
type running struct {
	pid  int
	stop func()
}

// serve starts the daemon on a folder and waits until it answers and has nothing
// left to do: one that opens a state it has never seen first follows the whole
// journal, which costs a command that runs meanwhile its share of the machine.
func (b *bench) serve(home client.Home, env ...string) (stop func(), err error) {
	d, err := b.start(home, env...)
	if err != nil {
		return nil, err
	}
	if err := d.settle(2 * time.Minute); err != nil {
		d.stop()
		return nil, err
	}
	return d.stop, nil
}

// start starts the daemon on a folder and waits until it answers.
func (b *bench) start(home client.Home, env ...string) (*running, error) {
	cmd := exec.Command(b.bot, "--home", home.Dir, "--sim", "--no-open")
	cmd.Env = append(environ(home), env...)
	log, err := os.Create(filepath.Join(home.Dir, "bench.log"))
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &running{pid: cmd.Process.Pid}
	d.stop = func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait(); _ = log.Close() }
	c := client.New(home)
	for range 5000 {
		if _, err := c.Info(b.ctx); err == nil {
			return d, nil
		}
		time.Sleep(time.Millisecond)
	}
	d.stop()
	return nil, fmt.Errorf("the daemon does not answer; see %s", log.Name())
}

// settle waits until the daemon used no processor for half a second.
func (d *running) settle(most time.Duration) error {
	const still = 500 * time.Millisecond
	for end := time.Now().Add(most); time.Now().Before(end); {
		before, ok := d.cpu()
		time.Sleep(still)
		after, _ := d.cpu()
		if !ok || after-before <= 20*time.Millisecond {
			return nil
		}
	}
	return fmt.Errorf("the daemon is still busy after %v", most)
}

// tick is the unit in which Linux tells how long a process ran.
const tick = 10 * time.Millisecond

// cpu is how long the daemon ran; ok is false where the system does not tell.
func (d *running) cpu() (used time.Duration, ok bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // the name before may hold anything
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, false
	}
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	return time.Duration(user+system) * tick, err1 == nil && err2 == nil
}

// anonymous is the memory of the daemon that is no file, in MiB; 0 where the
// system does not tell.
func (d *running) anonymous() float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), "RssAnon:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(f[0], 64)
	return kib / 1024
}

// peak watches the anonymous memory until stop is called, which returns the most.
func (d *running) peak() (stop func() float64) {
	most, quit, done := 0.0, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(20 * time.Millisecond)
		defer t.Stop()
		for {
			most = max(most, d.anonymous())
			select {
			case <-t.C:
			case <-quit:
				return
			}
		}
	}()
	return func() float64 { close(quit); <-done; return most }
}
