package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopx/bot/api"
	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store/bolt"
	"loopx/kernel/view"
)

// A copy is taken while the daemon writes, and opens as a state file.
func TestBackup(t *testing.T) {
	d := start(t, newHome(t))
	d.goal(t, "site")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	wrote := make(chan int, 1)
	go func() {
		n := 0
		for ctx.Err() == nil {
			if _, err := d.c.Do(t.Context(), &kernel.AddTodo{Goal: "site", Title: "more"}, asCLI()); err != nil {
				t.Error(err)
				break
			}
			n++
		}
		wrote <- n
	}()
	for range 3 {
		var b bytes.Buffer
		if err := d.c.Backup(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "copy.db")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := bolt.VerifyFile(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if <-wrote == 0 {
		t.Error("nothing was written meanwhile: the test has no teeth")
	}
}

// cutting is a service whose copy ends in the middle.
type cutting struct {
	view.Local
	part string
}

func (s cutting) Backup(_ context.Context, w io.Writer) error {
	if s.part == "" {
		return kernel.Errorf(kernel.Unavailable, "disk_full", "the disk is full")
	}
	_, err := io.WriteString(w, s.part)
	return errors.Join(err, errors.New("the disk went away"))
}

// Half a copy is never taken for a whole one.
func TestBackupCut(t *testing.T) {
	for part, code := range map[string]string{"": "disk_full", "half": "connection_lost", strings.Repeat("x", 1<<20): "connection_lost"} {
		home := newHome(t)
		held, err := api.Hold(t.Context(), api.HoldOptions{Home: home, Command: "test"})
		if err != nil {
			t.Fatal(err)
		}
		srv := api.New(api.Options{Service: cutting{view.Local{K: held.Kernel}, part}, Home: home})
		if err := srv.Start(); err != nil {
			t.Fatal(err)
		}
		err = client.New(home).Backup(t.Context(), io.Discard)
		if e := kernel.AsError(err); e == nil || e.Code != code {
			t.Errorf("%d bytes: %v, want %s", len(part), err, code)
		}
		if err := errors.Join(srv.Stop(context.Background()), held.Close()); err != nil {
			t.Error(err)
		}
	}
}

// A reader that cannot keep the copy is told by its own error.
func TestBackupWriterFails(t *testing.T) {
	d := start(t, newHome(t))
	d.goal(t, "site")
	full := errors.New("full")
	if err := d.c.Backup(t.Context(), failing{full}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
