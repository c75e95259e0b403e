// Package bolttest builds programs of this module on a bbolt that can be broken
// inside its commit, at the points that bbolt's own authors have marked there
// (https://github.com/etcd-io/gofail: comments that name a point). A copy of
// bbolt's source gets a call at each of these comments; nothing else of it is
// changed, and no program that people run is built this way.
//
//	LOOPX_BBOLT="beforeSyncMetaPage=3:kill"    kills the process at the third hit
//	LOOPX_BBOLT="beforeSyncDataPages=1:fail"   the step fails once, with EIO
package bolttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Env is the variable that such a program reads.
const Env = "LOOPX_BBOLT"

// The points, in the order in which a commit passes them.
const (
	// Grow: the file must grow, nothing was written. Only some commits pass it.
	Grow = "lackOfDiskSpace"
	// Resize: the same, at the growing itself.
	Resize = "resizeFileError"
	// SyncData: data pages are written, not synced.
	SyncData = "beforeSyncDataPages"
	// WriteMeta: data pages are durable, the meta page is the old one.
	WriteMeta = "beforeWriteMetaError"
	// SyncMeta: the meta page is written, so the commit is visible, and not synced.
	SyncMeta = "beforeSyncMetaPage"
)

// Points are all of them.
func Points() []string { return []string{Grow, Resize, SyncData, WriteMeta, SyncMeta} }

const module = "go.etcd.io/bbolt"

// hit is the file that is added to bbolt.
const hit = `package bbolt

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var hits atomic.Int64

func loopxHit(name string) error {
	rule, how, _ := strings.Cut(os.Getenv("` + Env + `"), ":")
	point, count, _ := strings.Cut(rule, "=")
	if point != name {
		return nil
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 {
		panic(rule)
	}
	if hits.Add(1) != n {
		return nil
	}
	switch how {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "fail":
		return syscall.EIO
	}
	panic(how)
}
`

// Build builds pkg with a bbolt that can be broken and returns the program. What
// is at the place of "go build" may be "go test -c".
func Build(t testing.TB, pkg string, verb ...string) string {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "program")
	if len(verb) == 0 {
		verb = []string{"build"}
	}
	// Trimmed paths let the build cache know the copy again wherever it lies.
	run(t, append(verb, "-trimpath", "-modfile="+modfile(t, dir), "-o", out, pkg)...)
	return out
}

// modfile writes a go.mod that takes bbolt from a broken copy.
func modfile(t testing.TB, dir string) string {
	t.Helper()
	bbolt := filepath.Join(dir, "bbolt")
	from := run(t, "list", "-m", "-f", "{{.Dir}}", module)
	if err := os.CopyFS(bbolt, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(bbolt, 0o700); err != nil { // the module cache is read-only
		t.Fatal(err)
	}
	left := Points()
	for _, name := range []string{"tx.go", "db.go"} {
		left = mark(t, filepath.Join(bbolt, name), left)
	}
	if len(left) > 0 {
		t.Fatalf("this version of bbolt has no points %v", left)
	}
	write(t, filepath.Join(bbolt, "loopx_hit.go"), []byte(hit))
	root := filepath.Dir(run(t, "env", "GOMOD"))
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.mod" {
			b = append(b, "\nreplace "+module+" => "+bbolt+"\n"...)
		}
		write(t, filepath.Join(dir, name), b)
	}
	return filepath.Join(dir, "go.mod")
}

// mark puts a call at each point of a file and returns the points it has not seen.
func mark(t testing.TB, path string, points []string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := regexp.MustCompile(`(?m)^\s*// gofail: var (\w+) .*$`).ReplaceAllStringFunc(string(b), func(line string) string {
		name := strings.Fields(line)[3]
		i := slices.Index(points, name)
		if i < 0 {
			return line
		}
		points = slices.Delete(slices.Clone(points), i, i+1)
		undo := ""
		if name == Grow { // the only one whose caller does not undo the transaction
			undo = "tx.rollback(); "
		}
		return "if err := loopxHit(\"" + name + "\"); err != nil { " + undo + "return err }\n" + line
	})
	write(t, path, []byte(out))
	return points
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	_ = os.Remove(path)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t testing.TB, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0") // as what people run is built
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}
