package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"loopx/bot/client"
)

// process is a daemon in a process of its own, which can be killed.
type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	wait   func() error
}

// launch starts a daemon without waiting for it.
func launch(t *testing.T, home client.Home) (*process, *bufio.Reader) {
	t.Helper()
	d := &process{cmd: exec.Command("loopxd")}
	d.cmd.Env = environ(home.Dir)
	d.cmd.Stderr = &d.stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.wait = sync.OnceValue(d.cmd.Wait)
	t.Cleanup(func() { _ = d.cmd.Process.Kill(); _ = d.wait() })
	return d, bufio.NewReader(out)
}

// startProcess starts a daemon and returns when it serves.
func startProcess(t *testing.T, home client.Home) *process {
	t.Helper()
	d, out := launch(t, home)
	if line, err := out.ReadString('\n'); line != "ready\n" {
		_ = d.cmd.Process.Kill()
		_ = d.wait()
		t.Fatalf("the daemon did not start: %q %v\n%s", line, err, d.stderr.String())
	}
	return d
}

// stop ends it in order.
func (d *process) stop(t *testing.T) {
	t.Helper()
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	if err := d.wait(); err != nil {
		t.Errorf("the daemon's stop: %v\n%s", err, d.stderr.String())
	}
}

// kill is kill -9.
func (d *process) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.wait()
}

// result is what one run of loopx gave.
type result struct {
	code   int
	out    map[string]any
	raw    string
	stderr string
}

// loopx runs the CLI as a process.
func loopx(home client.Home, args ...string) result {
	c := exec.Command("loopx", append(args, "--json")...)
	c.Env = environ(home.Dir)
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	_ = c.Run()
	r := result{code: c.ProcessState.ExitCode(), raw: out.String(), stderr: errOut.String()}
	_ = json.Unmarshal(out.Bytes(), &r.out)
	return r
}

// must is loopx that has to pass.
func must(t *testing.T, home client.Home, args ...string) result {
	t.Helper()
	r := loopx(home, args...)
	if r.code != 0 || r.out == nil {
		t.Fatalf("loopx %v: exit code %d\n%s%s", args, r.code, r.raw, r.stderr)
	}
	return r
}

func (r result) str(name string) string {
	s, _ := r.out[name].(string)
	return s
}
