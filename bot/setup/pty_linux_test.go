package setup_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	slacksim "loopx/fixtures/sim/slack"
	"loopx/fixtures/terminal"
)

func setupOnTerminal(t *testing.T, s *slacksim.Server) (*exec.Cmd, *terminal.Terminal) {
	c := exec.Command(exe, "setup", "slack", "--home", shortHome(t), "--sim", "--base-url", s.APIURL())
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	return c, terminal.Start(t, c)
}

// On a terminal a token is not shown while it is typed, a wrong one may be typed
// again, and everything else is shown as always.
func TestTokensAreNotShownOnATerminal(t *testing.T) {
	s := slacksim.New(slacksim.Options{})
	defer s.Close()
	c, x := setupOnTerminal(t, s)
	x.Expect(t, "App-level token (xapp-…), not shown: ")
	if x.Echoes(t) {
		t.Error("the terminal shows what is typed")
	}
	x.Type(s.BotToken() + "\n")
	x.Expect(t, "That is not it: that is the bot token")
	x.Type(s.AppToken() + "\n" + s.BotToken() + "\n") // pasted at once
	x.Expect(t, "Bot token, not shown: ")
	x.Expect(t, "Type yes to write it: ")
	if !x.Echoes(t) {
		t.Error("the terminal stays silent")
	}
	x.Type("yes\n")
	seen := x.Expect(t, "link your account")
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
	x.Expect(t, "App-level token (xapp-…), not shown: ")
	x.Type("xapp-1-half\x03")
	x.Expect(t, "(interrupted)")
	if err := c.Wait(); err == nil {
		t.Error("an interrupted run ends with success")
	}
	if !x.Echoes(t) {
		t.Error("the terminal stays silent")
	}
}
