package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
)

// filled makes a workspace with a few of everything.
func filledHome(t *testing.T) client.Home {
	t.Helper()
	home := tempHome(t)
	must(t, home, "goal", "create", "--goal-id", "site", "--objective", "Ship it", "--agent-id", "builder")
	for i := range 12 {
		must(t, home, "todo", "add", "--goal-id", "site", "--text", fmt.Sprintf("todo number %d", i))
	}
	must(t, home, "gate", "open", "--goal-id", "site", "--agent-id", "builder", "--question", "Publish?", "--advisory")
	must(t, home, "tick", "--goal-id", "site", "--agent-id", "builder", "--turn-instance-id", "t1")
	return home
}

// Copies taken while many processes write are whole, each of them, and the bot
// serves on.
func TestBackupUnderWrites(t *testing.T) {
	for _, mode := range []string{"file", "daemon"} {
		t.Run(mode, func(t *testing.T) {
			home := filledHome(t)
			if mode == "daemon" {
				d := startProcess(t, home)
				defer d.stop(t)
			}
			var wrote atomic.Int64
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ctx.Err() == nil {
					if r := loopx(home, "todo", "add", "--goal-id", "site", "--text", "more", "--lock-timeout", "30s"); r.code != 0 {
						t.Errorf("a write failed meanwhile: %s", r.raw)
						return
					}
					wrote.Add(1)
				}
			}()
			last := 0.0
			for i := range 4 {
				file := filepath.Join(t.TempDir(), fmt.Sprint(i))
				made := must(t, home, "backup", "create", "--output", file, "--lock-timeout", "30s")
				checked := must(t, home, "backup", "verify", "--file", file)
				if n := made.out["records"].(float64); n != checked.out["records"] || n < last {
					t.Errorf("copy %d has %v records when made, %v when checked, after %v", i, n, checked.out["records"], last)
				} else {
					last = n
				}
			}
			stop()
			<-done
			if wrote.Load() == 0 {
				t.Error("nothing was written meanwhile: the test has no teeth")
			}
		})
	}
}

// One flipped bit anywhere in what a copy uses is found; the tool never falls
// over, and never says that a copy is whole which differs from what was made.
func TestB81_DamagedCopyIsFound(t *testing.T) {
	home := filledHome(t)
	good := filepath.Join(t.TempDir(), "good.db")
	must(t, home, "backup", "create", "--output", good)
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	n, found := 0, 0
	for _, what := range []string{"todo number 3", "Publish?", "Ship it", "agent.register"} {
		// A page that is free may still hold the text: a flip there leaves the copy
		// whole. The journal holds each of them on a page that counts.
		for at := 0; ; {
			next := bytes.Index(whole[at:], []byte(what))
			if next < 0 {
				break
			}
			at += next + 1
			bad := bytes.Clone(whole)
			bad[at] ^= 1
			n++
			file := filepath.Join(t.TempDir(), fmt.Sprint(n))
			if err := os.WriteFile(file, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			r := loopx(home, "backup", "verify", "--file", file)
			switch {
			case r.code == 6 && r.str("code") == "backup_damaged":
				found++
			case r.code == 0:
			default:
				t.Errorf("%q flipped at %d: exit code %d\n%s%s", what, at, r.code, r.raw, r.stderr)
			}
		}
	}
	if found == 0 {
		t.Errorf("no damage was found in %d places", n)
	}
	t.Logf("%d of %d flips are in pages that count", found, n)
	for _, cut := range []int{0, 1, 4096, len(whole) / 2, len(whole) - 4096} {
		file := filepath.Join(t.TempDir(), "cut")
		if err := os.WriteFile(file, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if r := loopx(home, "backup", "verify", "--file", file); r.code != 6 || r.str("code") != "backup_damaged" {
			t.Errorf("cut to %d bytes: exit code %d\n%s%s", cut, r.code, r.raw, r.stderr)
		}
	}
}

// Whole records that the journal does not explain are found, whatever they are:
// one changed, one more, one less. What is no kernel row does not matter.
func TestForgedCopyIsFound(t *testing.T) {
	home := filledHome(t)
	goal := store.Key("g", "site")
	for name, forge := range map[string]func(store.Tx) error{
		"changed": func(tx store.Tx) error {
			v, err := tx.Get(goal)
			return errors.Join(err, tx.Put(goal, bytes.Replace(v, []byte("1440"), []byte("9999"), 1)))
		},
		"more":  func(tx store.Tx) error { return tx.Put(store.Key("gr", "site", "grant_x"), []byte("{}")) },
		"less":  func(tx store.Tx) error { return tx.Delete(store.Key("n", "site")) },
		"other": func(tx store.Tx) error { return tx.Put(store.Key("im", "a", "b"), []byte("{}")) },
		"cut": func(tx store.Tx) error {
			var h kernel.Head
			_, err := tx.Get(store.Key("hd"))
			h.Seq = 1
			return errors.Join(err, tx.Delete(store.Key("j", store.U64(1))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "copy.db")
			must(t, home, "backup", "create", "--output", file)
			st, err := bolt.Open(file, bolt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(st.Update(t.Context(), forge), st.Close()); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"other": "", "cut": "backup_damaged"}[name]
			if _, special := map[string]bool{"other": true, "cut": true}[name]; !special {
				want = "replay_differs"
			}
			if r := loopx(home, "backup", "verify", "--file", file); r.str("code") != want {
				t.Errorf("code %q, want %q\n%s", r.str("code"), want, r.raw)
			}
		})
	}
}

// A linked account is worth nothing after a restore, until the owner says yes.
func TestRestoreSuspendsLinks(t *testing.T) {
	home := filledHome(t)
	token := home.TokenFile()
	must(t, home, "link", "--owner-token-file", token)
	link(t, home)
	file := filepath.Join(t.TempDir(), "copy.db")
	must(t, home, "backup", "create", "--output", file)
	r := must(t, home, "backup", "restore", "--file", file, "--execute", "--owner-token-file", token)
	if r.out["links_suspended"] != 1.0 {
		t.Errorf("the answer is %s", r.raw)
	}
	if l := must(t, home, "link", "list"); !strings.Contains(l.raw, `"status":"pending"`) {
		t.Errorf("the links are %s", l.raw)
	}
	must(t, home, "link", "confirm", "--owner-token-file", token)
}

// link makes an account the owner's, as a bot and its owner would.
func link(t *testing.T, home client.Home) {
	t.Helper()
	st, err := bolt.Open(home.DB(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	k, err := kernel.Open(t.Context(), st, client.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	digest := strings.Repeat("ab", 32)
	owner := client.ActorOf("", true)
	for _, step := range []struct {
		c  kernel.Command
		by kernel.Actor
	}{
		{&kernel.CreateLinkCode{Digest: digest}, owner},
		{&kernel.RedeemLinkCode{Digest: digest, Platform: "slack", Connection: "a", Tenant: "t", User: "U1", Private: "D1"}, kernel.Actor{Kind: kernel.ByBot, Surface: "slack"}},
		{&kernel.SettleLink{Platform: "slack", Connection: "a", Tenant: "t", User: "U1"}, owner},
	} {
		if _, err := k.Do(t.Context(), step.c, kernel.Options{By: step.by}); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that is full, a check that takes too long: refused whole, nothing left.
func TestBackupRefusedWhole(t *testing.T) {
	home := filledHome(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.db")
	must(t, home, "backup", "create", "--output", file)
	if r := loopx(home, "backup", "verify", "--file", file, "--timeout", "1ns"); r.code != 6 || r.str("code") != "verify_timeout" {
		t.Errorf("exit code %d\n%s", r.code, r.raw)
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Log("there is no /dev/full: the part about a full disk was left out")
	} else if r := loopx(home, "backup", "create", "--output", "/dev/full", "--force"); r.code != 2 || r.str("code") != "no_plain_file" {
		t.Errorf("exit code %d\n%s", r.code, r.raw)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v (%v)", names, err)
	}
}

// The guide's commands run as they stand, in their order; the bot is stopped
// where the guide says so.
func TestBackupGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for i, part := range strings.Split(string(text), "```") {
		if i%2 == 1 {
			blocks = append(blocks, strings.TrimPrefix(part, "sh\n"))
		}
	}
	if len(blocks) < 4 {
		t.Fatalf("the guide has %d blocks of commands", len(blocks))
	}
	user := t.TempDir()
	home, err := client.FindHome(filepath.Join(user, ".loopx"), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	must(t, home, "goal", "create", "--goal-id", "site", "--objective", "Ship it", "--agent-id", "builder")
	d := startProcess(t, home)
	for i, block := range blocks {
		if strings.Contains(block, "restore") && d != nil {
			d.stop(t)
			d = nil
		}
		c := exec.CommandContext(t.Context(), "sh", "-ec", block)
		c.Env = append(environ(home.Dir), "HOME="+user)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("block %d: %v\n%s\n%s", i, err, block, out)
		}
	}
}
