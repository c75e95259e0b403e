package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"loopx/kernel"
)

// terminal is a person's end of a terminal that a program of a test runs on.
type terminal struct {
	file *os.File
	mu   sync.Mutex
	seen bytes.Buffer
	news chan struct{}
}

// onTerminal starts a program with a terminal as its three streams.
func onTerminal(t *testing.T, c *exec.Cmd) *terminal {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be opened here: %v", err)
	}
	var n, unlock uint32
	for _, call := range []struct {
		req uintptr
		arg *uint32
	}{{syscall.TIOCSPTLCK, &unlock}, {syscall.TIOCGPTN, &n}} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, ptmx.Fd(), call.req, uintptr(unsafe.Pointer(call.arg))); errno != 0 {
			t.Fatalf("terminal: %v", errno)
		}
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be opened here: %v", err)
	}
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	term := &terminal{file: ptmx, news: make(chan struct{}, 1)}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = ptmx.Close() })
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := ptmx.Read(b)
			term.mu.Lock()
			term.seen.Write(b[:n])
			term.mu.Unlock()
			select {
			case term.news <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	return term
}

// expect waits until the program has printed text, and returns all of it so far.
func (x *terminal) expect(t *testing.T, text string) string {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		x.mu.Lock()
		seen := x.seen.String()
		x.mu.Unlock()
		if strings.Contains(seen, text) {
			return seen
		}
		select {
		case <-x.news:
		case <-late:
			t.Fatalf("the terminal never showed %q:\n%s", text, seen)
		}
	}
}

func (x *terminal) typed(s string) { _, _ = x.file.WriteString(s + "\n") }

// A person links their chat account: confirms, reads the code, types it to the bot,
// and confirms the account that came with it.
func TestLinkOnATerminal(t *testing.T) {
	home := tempHome(t)
	held, srv, err := serve(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = srv.Stop(t.Context()); _ = held.Close() }()
	c := exec.Command("loopx", "link", "--name", "Wei")
	c.Env = environ(home.Dir)
	term := onTerminal(t, c)
	term.expect(t, "Type link to confirm: ")
	term.typed("link")
	_, after, _ := strings.Cut(term.expect(t, "Waiting for it"), "Your code: ")
	code, _, _ := strings.Cut(after, "\r\n")
	_, err = held.Kernel.Do(t.Context(), &kernel.RedeemLinkCode{
		Digest: kernel.CodeDigest(strings.ToUpper(code)), Platform: "slack", Connection: "main", Tenant: "T1", User: "U7", UserName: "wei.l", Private: "D1",
	}, kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "slack"}})
	if err != nil {
		t.Fatalf("the code %q: %v", code, err)
	}
	if seen := term.expect(t, "Type yes to confirm: "); !strings.Contains(seen, "wei.l (U7) on slack, main") {
		t.Errorf("the account is not named:\n%s", seen)
	}
	term.typed("yes")
	term.expect(t, "is linked")
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	r := must(t, home, "link", "list")
	if !strings.Contains(r.raw, `"status":"linked"`) || strings.Contains(r.raw, code) {
		t.Errorf("links: %s", r.raw)
	}
	// Revoking asks too, and a no changes nothing.
	c = exec.Command("loopx", "link", "revoke")
	c.Env = environ(home.Dir)
	term = onTerminal(t, c)
	term.expect(t, "Type yes to confirm: ")
	term.typed("no")
	term.expect(t, "not_confirmed")
	_ = c.Wait()
	must(t, home, "link", "revoke", "--user", "U7", "--owner-token-file", filepath.Join(home.Dir, "owner.token"))
	if r := must(t, home, "link", "list"); !strings.Contains(r.raw, `"status":"revoked"`) {
		t.Errorf("links: %s", r.raw)
	}
}
