package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loopx/fixtures/terminal"
	"loopx/kernel"
)

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
	term := terminal.Start(t, c)
	term.Expect(t, "Type link to confirm: ")
	term.Type("link\n")
	_, after, _ := strings.Cut(term.Expect(t, "Waiting for it"), "Your code: ")
	code, _, _ := strings.Cut(after, "\r\n")
	_, err = held.Kernel.Do(t.Context(), &kernel.RedeemLinkCode{
		Digest: kernel.CodeDigest(strings.ToUpper(code)), Platform: "slack", Connection: "main", Tenant: "T1", User: "U7", UserName: "wei.l", Private: "D1",
	}, kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "slack"}})
	if err != nil {
		t.Fatalf("the code %q: %v", code, err)
	}
	if seen := term.Expect(t, "Type yes to confirm: "); !strings.Contains(seen, "wei.l (U7) on slack, main") {
		t.Errorf("the account is not named:\n%s", seen)
	}
	term.Type("yes\n")
	term.Expect(t, "is linked")
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
	term = terminal.Start(t, c)
	term.Expect(t, "Type yes to confirm: ")
	term.Type("no\n")
	term.Expect(t, "not_confirmed")
	_ = c.Wait()
	must(t, home, "link", "revoke", "--user", "U7", "--owner-token-file", filepath.Join(home.Dir, "owner.token"))
	if r := must(t, home, "link", "list"); !strings.Contains(r.raw, `"status":"revoked"`) {
		t.Errorf("links: %s", r.raw)
	}
}
