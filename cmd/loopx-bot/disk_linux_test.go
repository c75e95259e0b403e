package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/view"
)

// smallDisk is a file system of 8 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "loopx-disk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size=8m"); err != nil {
		t.Skipf("skipped: a full disk needs a tmpfs, which this process may not mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fillUp writes until nothing more fits, and returns the file to remove.
func fillUp(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, n := range []int{1 << 16, 4096, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return path
}

// D1: the disk is full under a daemon that a platform is connected to. What cannot
// be stored is not acknowledged and refused with the reason, reading goes on, doctor
// names the disk; when there is room again everything that was said and pressed
// arrives by itself or by the next press, once, without a restart.
func TestD1_FullDiskUnderTheDaemon(t *testing.T) {
	exe := buildDaemon(t)
	for platform, connect := range phones() {
		t.Run(platform, func(t *testing.T) {
			dir := smallDisk(t)
			r := newCrashRoundIn(t, exe, connect(), filepath.Join(dir, "home"))
			c := client.New(r.home)
			r.start()
			defer func() { _ = r.daemon.Process.Kill(); <-r.dead }()
			r.ready(c)
			r.ask(t.Context(), c)
			r.until("the card", func() bool { return len(r.shown()) == 1 })

			ballast := fillUp(t, dir)
			added := 0
			var refusal *kernel.Error
			for refusal == nil && added < 10_000 { // the file has some room of its own
				_, err := c.Do(t.Context(), &kernel.AddTodo{Goal: "site", Title: fmt.Sprintf("todo-%d", added)}, asBuilder(fmt.Sprintf("todo-%d", added)))
				if refusal = kernel.AsError(err); err == nil {
					refusal = nil
					added++
				}
			}
			if refusal == nil || refusal.Class != kernel.Unavailable || refusal.Code != "disk_full" || refusal.Fix == "" {
				t.Fatalf("after %d todos: %v", added, refusal)
			}
			said := r.phone.say("how far is it?")
			err := r.phone.press(r.shown()[0].id, "Approve")
			t.Logf("the press on a full disk: %v", err)
			<-time.After(time.Second) // what platforms would see by now
			// A row that is small enough may still find room; it is stored then. That what
			// was acknowledged arrives is seen below.
			t.Logf("acknowledged on a full disk: %v", said.acked())
			gates, err := view.Ask[view.GatesView](t.Context(), c, &view.Gates{Goal: "site", All: true})
			if err != nil || len(gates.Gates) != 1 {
				t.Errorf("reading: %+v, %v", gates.Gates, err)
			}
			for { // what finds room is stored
				code, out := r.cli("todo", "add", "--goal-id", "site", "--text", fmt.Sprintf("todo-%d", added))
				if code == 0 && added < 10_000 {
					added++
					continue
				}
				if code != kernel.Unavailable.ExitCode() || !strings.Contains(out, "disk_full") {
					t.Errorf("a command: exit code %d\n%s", code, out)
				}
				break
			}
			if code, doctor := r.cli("doctor"); !strings.Contains(doctor, "free some space") {
				t.Errorf("doctor: exit code %d\n%s", code, doctor)
			}
			if !r.alive() {
				t.Fatalf("the daemon ended:\n%s", r.output.String())
			}

			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			room := time.Now()
			var m *inbox.Leaseholder
			r.until("the message", func() bool { m = r.next(c); return m != nil })
			r.settle(c, m, inbox.Adopted, "Half done.")
			r.until("the answer", func() bool { return r.sees("Half done.") == 1 })
			if gates, err = view.Ask[view.GatesView](t.Context(), c, &view.Gates{Goal: "site", All: true}); err != nil {
				t.Fatal(err)
			}
			if gates.Gates[0].Status == kernel.GateOpen {
				r.press()
			}
			r.until("the decision", func() bool { return r.sees("decided") == 1 })
			if took := time.Since(room); took > 10*time.Second {
				t.Errorf("it came back after %v", took)
			}
			if again := r.next(c); again != nil {
				t.Errorf("the message came again: %+v", again)
			}
			r.has(c, added)
			r.terminate()
			if cards := slices.DeleteFunc(r.shown(), func(m shown) bool { return !strings.Contains(m.text, "pricing page") }); len(cards) != 1 {
				t.Errorf("Wei sees %d cards: %v", len(cards), cards)
			}
			r.checkState()
		})
	}
}
