package setup_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	slacksim "loopx/fixtures/sim/slack"
)

// terminal is a person's end of a terminal that the program runs on.
type terminal struct {
	file *os.File
	tty  *os.File // the program's end, kept open to ask about its state
	mu   sync.Mutex
	seen bytes.Buffer
	news chan struct{}
}

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
	// Its own session with this terminal, so that Ctrl-C reaches it.
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	x := &terminal{file: ptmx, tty: tty, news: make(chan struct{}, 1)}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = tty.Close(); _ = ptmx.Close() })
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := ptmx.Read(b)
			x.mu.Lock()
			x.seen.Write(b[:n])
			x.mu.Unlock()
			select {
			case x.news <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	return x
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

func (x *terminal) typed(s string) { _, _ = x.file.WriteString(s) }

func (x *terminal) echoes(t *testing.T) bool {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(x.tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return s.Lflag&unix.ECHO != 0
}

func setupOnTerminal(t *testing.T, s *slacksim.Server) (*exec.Cmd, *terminal) {
	c := exec.Command(exe, "setup", "slack", "--home", shortHome(t), "--sim", "--base-url", s.APIURL())
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	return c, onTerminal(t, c)
}

// On a terminal a token is not shown while it is typed, a wrong one may be typed
// again, and everything else is shown as always.
func TestTokensAreNotShownOnATerminal(t *testing.T) {
	s := slacksim.New(slacksim.Options{})
	defer s.Close()
	c, x := setupOnTerminal(t, s)
	x.expect(t, "App-level token (xapp-…), not shown: ")
	if x.echoes(t) {
		t.Error("the terminal shows what is typed")
	}
	x.typed(s.BotToken() + "\n")
	x.expect(t, "That is not it: that is the bot token")
	x.typed(s.AppToken() + "\n" + s.BotToken() + "\n") // pasted at once
	x.expect(t, "Bot token, not shown: ")
	x.expect(t, "Type yes to write it: ")
	if !x.echoes(t) {
		t.Error("the terminal stays silent")
	}
	x.typed("yes\n")
	seen := x.expect(t, "link your account")
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Contains(seen, s.AppToken()) || strings.Contains(seen, s.BotToken()) {
		t.Errorf("a token was shown:\n%s", seen)
	}
	if !strings.Contains(seen, "write it: yes") {
		t.Errorf("the answer was not shown:\n%s", seen)
	}
}

// Ctrl-C while a token is asked for gives the terminal back as it was.
func TestInterruptedOnATerminal(t *testing.T) {
	s := slacksim.New(slacksim.Options{})
	defer s.Close()
	c, x := setupOnTerminal(t, s)
	x.expect(t, "App-level token (xapp-…), not shown: ")
	x.typed("xapp-1-half\x03")
	x.expect(t, "(interrupted)")
	if err := c.Wait(); err == nil {
		t.Error("an interrupted run ends with success")
	}
	if !x.echoes(t) {
		t.Error("the terminal stays silent")
	}
}
