package bot

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"

	"loopx/bot/client"
)

// Greet says where the page is and what is connected.
func (b *Bot) Greet(w io.Writer) {
	if addr := b.PageAddr(); addr != "" {
		fmt.Fprintf(w, "page      http://%s/\n", addr)
		fmt.Fprintf(w, "open      %s  (a private file that leads there)\n", b.OpenFile())
	}
	fmt.Fprintf(w, "state     %s\n", b.opt.Home.Dir)
	if len(b.opt.Config.Connections) == 0 {
		fmt.Fprintln(w, "chat      the page alone. To connect a platform: loopx-bot setup slack (or discord, lark), then: loopx link")
		return
	}
	for _, c := range b.opt.Config.Connections {
		fmt.Fprintf(w, "chat      %s (%s)\n", c.Name, c.Platform)
	}
}

// OpenBrowser opens a file in the person's browser, if there is one to open. The
// file leads to the page; nothing secret stands in an argument list.
func OpenBrowser(file string) {
	if file == "" {
		return
	}
	cmd := "xdg-open"
	if runtime.GOOS == "darwin" {
		cmd = "open"
	}
	if path, err := exec.LookPath(cmd); err == nil {
		if c := exec.Command(path, file); c.Start() == nil {
			go func() { _ = c.Wait() }()
		}
	}
}

// info is what the local API tells about this daemon.
func (b *Bot) info() client.Info {
	out := client.Info{Page: b.PageAddr()}
	for _, c := range b.engine.conns {
		out.Connections = append(out.Connections, connectionInfo(c))
	}
	return out
}

func connectionInfo(c *connection) client.Connection {
	h := c.adapter.Health()
	return client.Connection{Name: c.name, Platform: string(c.platform), State: string(h.State), Detail: strings.TrimPrefix(strings.TrimSpace(h.Detail)+missing(c.outbox), "; "), Fix: h.Fix, Since: h.Since}
}
