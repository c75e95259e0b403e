package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"loopx/bot/client"
	"loopx/kernel"
)

func find(t *testing.T, flag string, env map[string]string) client.Home {
	t.Helper()
	h, err := client.FindHome(flag, func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return kernel.AsError(err).Code
}

func TestFindHome(t *testing.T) {
	env := map[string]string{"HOME": "/people/wei"}
	if h := find(t, "", env); h.Dir != "/people/wei/.loopx" || h.Explicit {
		t.Errorf("default: %+v", h)
	}
	env["LOOPX_HOME"] = "/state"
	if h := find(t, "", env); h.Dir != "/state" || h.Explicit {
		t.Errorf("LOOPX_HOME: %+v", h)
	}
	if h := find(t, "/other", env); h.Dir != "/other" || !h.Explicit {
		t.Errorf("flag: %+v", h)
	}
	if h := find(t, "rel", env); !filepath.IsAbs(h.Dir) {
		t.Errorf("relative: %+v", h)
	}
	for _, flag := range []string{"", "a\x00b"} {
		if _, err := client.FindHome(flag, func(string) string { return "" }); kernel.AsError(err).Class != kernel.Invalid {
			t.Errorf("%q: %v", flag, err)
		}
	}
}

func TestEnsure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "home")
	h := find(t, dir, nil)
	if err := h.Check(); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
	// Many at once agree on one token.
	var wg sync.WaitGroup
	tokens := make([]string, 16)
	for i := range tokens {
		wg.Go(func() {
			if err := h.Ensure(); err != nil {
				t.Error(err)
			}
			tokens[i], _ = h.Token()
		})
	}
	wg.Wait()
	for _, tok := range tokens {
		if tok == "" || tok != tokens[0] {
			t.Fatalf("tokens differ: %q", tokens)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, "owner.token.*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if client.SameToken("", "") || !client.SameToken(tokens[0], tokens[0]) || client.SameToken(tokens[0], tokens[0][1:]) {
		t.Error("SameToken")
	}
	// A folder with something in it is not made private behind its owner's back.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := code(h.Ensure()); got != "home_open" {
		t.Errorf("an open folder: %q", got)
	}
}

func TestCheckRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "bad_home", link: "home_link", filepath.Join(file, "x"): "bad_home"} {
		if got := code(find(t, path, nil).Check()); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if os.Geteuid() != 0 {
		t.Log("not root: another user's folder is not tried")
		return
	}
	other := filepath.Join(dir, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(other, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if got := code(find(t, "", map[string]string{"LOOPX_HOME": other}).Check()); got != "home_foreign" {
		t.Errorf("another user's folder: %q", got)
	}
	if err := find(t, other, nil).Check(); err != nil {
		t.Errorf("named with --home: %v", err)
	}
}

func TestSocketPath(t *testing.T) {
	short := find(t, "/state", nil)
	if short.Listen() != "/state/loopx.sock" || short.Socket() != short.Listen() {
		t.Errorf("short: %s %s", short.Listen(), short.Socket())
	}
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	long := find(t, dir, map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"})
	if p := long.Listen(); len(p) > 100 || filepath.Dir(p) != "/run/user/7" || p == find(t, dir+"y", map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}).Listen() {
		t.Errorf("long: %s", p)
	}
	if long.Socket() != long.Listen() {
		t.Error("nothing recorded yet, so both are the same")
	}
	for _, record := range []string{"", "{", `{"socket":""}`, strings.Repeat("x", 5000)} {
		if err := os.WriteFile(filepath.Join(dir, "loopx.lock"), []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
		if long.Socket() != long.Listen() {
			t.Errorf("a record of %.20q leads to %s", record, long.Socket())
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "loopx.lock"), []byte(`{"pid":1,"socket":"/run/user/8/loopx-1.sock"}   `), 0o600); err != nil {
		t.Fatal(err)
	}
	if long.Socket() != "/run/user/8/loopx-1.sock" {
		t.Errorf("the record is not followed: %s", long.Socket())
	}
}

func TestCheckAPI(t *testing.T) {
	for v, ok := range map[string]bool{"": true, "1.0": true, "1.1": true, "1.2": false, "0.9": false, "2.0": false, "1": false, "x.y": false, "1.0.0": false} {
		if err := client.CheckAPI("loopx", "the daemon", v); (err == nil) != ok {
			t.Errorf("%q: %v", v, err)
		}
	}
}
