package api_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// A process of another user that can reach the socket file is not answered.
func TestOtherUserIsNotAnswered(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	d := start(t, newHome(t))
	// Open every door on the way but the one that is tested.
	for dir := d.home.Dir; dir != "/" && dir != "/tmp"; dir = dir[:max(1, lastSlash(dir))] {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(d.home.Socket(), 0o666); err != nil {
		t.Fatal(err)
	}
	ask := func(uid uintptr) string {
		answer := make(chan string)
		go func() {
			// The thread takes another user's identity and ends with this goroutine.
			runtime.LockOSThread()
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uid, uid, uid); errno != 0 {
				answer <- errno.Error()
				return
			}
			conn, err := net.Dial("unix", d.home.Socket())
			if err != nil {
				answer <- err.Error()
				return
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprint(conn, "GET /v1/info HTTP/1.1\r\nHost: loopx\r\nConnection: close\r\n\r\n")
			line, err := bufio.NewReader(conn).ReadString('\n')
			answer <- fmt.Sprint(line, err)
		}()
		return <-answer
	}
	if got := ask(0); got != "HTTP/1.1 200 OK\r\n<nil>" {
		t.Errorf("this user got %q", got)
	}
	if got := ask(12345); got == "HTTP/1.1 200 OK\r\n<nil>" || len(got) > 0 && got[0] == 'H' {
		t.Errorf("another user got %q", got)
	} else {
		t.Logf("another user got %q", got)
	}
}

func lastSlash(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '/' {
			return i
		}
	}
	return 0
}
