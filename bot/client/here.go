package client

import (
	"fmt"
	"os"
	"strings"

	"loopx/kernel"
)

// OwnerHere is the owner as this process speaks for them, with where it was
// called: what people are shown about a decision that was no press on a card.
func OwnerHere() kernel.Actor {
	a := ActorOf("", true)
	a.Process, a.Terminal = parent(), terminal()
	return a
}

// parent names the process that called this one. Where the system does not tell
// its name, the number alone.
func parent() string {
	id := os.Getppid()
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", id)); err == nil {
		if name := strings.TrimSpace(string(b)); name != "" {
			return fmt.Sprintf("%s (%d)", name, id)
		}
	}
	return fmt.Sprintf("process %d", id)
}

// terminal is where standard input comes from, "" when that is no terminal or
// the system does not tell.
func terminal() string {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return ""
	}
	name, err := os.Readlink("/proc/self/fd/0")
	if err != nil || !strings.HasPrefix(name, "/dev/pts/") && !strings.HasPrefix(name, "/dev/tty") {
		return ""
	}
	return name
}
