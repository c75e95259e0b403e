// Command bench measures the real binaries with real fsync against floors of
// the same run and prints one table. Run it from the repository root on a quiet
// machine:
//
//	go run ./bot/bench [-quick] [-only commands|ticks|chat|growth] [-write docs/benchmarks.md]
//
// Absolute times belong to one machine; the ratios are what can be compared.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

func main() {
	quick := flag.Bool("quick", false, "fewer repetitions: a smoke test of the driver, not a measurement")
	only := flag.String("only", "", "measure one part: commands, ticks, chat or growth")
	write := flag.String("write", "", "replace the measured part of this file")
	flag.Parse()
	// The agents of a measurement live in this process and share the cores with the
	// daemon that is measured: collect as rarely as the daemon does.
	debug.SetGCPercent(400)
	if err := run(*quick, *only, *write); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// row is one line of the table.
type row struct{ what, got, floor, ratio, target string }

// bench holds what the measurements share.
type bench struct {
	ctx  context.Context
	dir  string
	n    int // repetitions of a whole process
	span time.Duration
	rows []row

	hello, launcher, loopx, bot string  // binaries
	floorExec                   float64 // ms, do-nothing program, p50
	floorSync                   float64 // ms, two fdatasyncs, p50
	floorTrip                   float64 // ms, one round trip on a unix socket, p50
}

func run(quick bool, only, write string) error {
	if only != "" && write != "" {
		return errors.New("a part of the table is not written: leave -only or -write out")
	}
	dir, err := os.MkdirTemp("", "loopx-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{ctx: context.Background(), dir: dir, n: 300, span: 5 * time.Second}
	todos, records, messages := 100_000, 1_000_000, 10_000
	if quick {
		b.n, b.span, todos, records, messages = 20, 500*time.Millisecond, 5_000, 20_000, 500
	}
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"build", b.build},
		{"floors", b.floors},
		{"commands", func() error { return b.commands(todos) }},
		{"ticks", b.ticks},
		{"chat", func() error { return b.chat(messages) }},
		{"growth", func() error { return b.growth(todos, records) }},
	} {
		if only != "" && step.name != only && step.name != "build" && step.name != "floors" {
			continue
		}
		began := time.Now()
		if err := step.run(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(os.Stderr, "%-10s %.1f s\n", step.name, time.Since(began).Seconds())
	}
	table := b.table(quick)
	fmt.Print(table)
	if write == "" {
		return nil
	}
	return replace(write, table)
}

func (b *bench) add(what, got, floor, ratio, target string) {
	b.rows = append(b.rows, row{what, got, floor, ratio, target})
}

// build makes the binaries as they are released, and a program that does nothing.
func (b *bench) build() error {
	src := filepath.Join(b.dir, "hello")
	if err := os.MkdirAll(src, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(src, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		return err
	}
	launcher := filepath.Join(b.dir, "launcher.go")
	if err := os.WriteFile(launcher, []byte(launcherSource), 0o644); err != nil {
		return err
	}
	b.launcher = filepath.Join(b.dir, "launcher.bin")
	b.hello, b.loopx, b.bot = filepath.Join(b.dir, "hello.bin"), filepath.Join(b.dir, "loopx"), filepath.Join(b.dir, "loopx-bot")
	for out, pkg := range map[string]string{b.hello: filepath.Join(src, "main.go"), b.launcher: launcher, b.loopx: "./cmd/loopx", b.bot: "./cmd/loopx-bot"} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", pkg, err, msg)
		}
	}
	size := func(path string) float64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return float64(info.Size()) / 1e6
	}
	hello := size(b.hello)
	for _, x := range []struct {
		name, path, target string
	}{{"`loopx` binary", b.loopx, "<= 12 MB"}, {"`loopx-bot` binary", b.bot, "<= 40 MB"}} {
		n := size(x.path)
		b.add(x.name, fmt.Sprintf("%.1f MB", n), fmt.Sprintf("do-nothing %.1f MB", hello), fmt.Sprintf("%.1fx", n/hello), x.target)
	}
	return nil
}

// launcherSource runs a program and prints its peak memory in KiB.
const launcherSource = `package main

import (
	"os"
	"strconv"
	"syscall"
)

func main() {
	null, _ := syscall.Open("/dev/null", syscall.O_RDWR, 0)
	pid, err := syscall.ForkExec(os.Args[1], os.Args[1:], &syscall.ProcAttr{Env: syscall.Environ(), Files: []uintptr{uintptr(null), uintptr(null), uintptr(null)}})
	if err != nil {
		os.Exit(1)
	}
	var u syscall.Rusage
	var w syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &w, 0, &u); err != nil || w.ExitStatus() != 0 {
		os.Exit(1)
	}
	say(strconv.FormatInt(u.Maxrss, 10))
}

func say(s string) { os.Stdout.WriteString(s + "\n") }
`

func (b *bench) table(quick bool) string {
	var s strings.Builder
	fmt.Fprintf(&s, "Measured %s on %s/%s, %d cores, %s.", time.Now().UTC().Format("2006-01-02"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	if quick {
		s.WriteString(" Quick run: a smoke test of the driver, not a measurement.")
	}
	s.WriteString("\n\n| what | measured | floor in the same run | ratio | target |\n|---|---|---|---|---|\n")
	for _, r := range b.rows {
		fmt.Fprintf(&s, "| %s | %s | %s | %s | %s |\n", r.what, r.got, r.floor, r.ratio, r.target)
	}
	return s.String()
}

// replace puts the table between the two marks of a file.
func replace(path, table string) error {
	const begin, end = "<!-- measured -->", "<!-- /measured -->"
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(raw), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no %s ... %s", path, begin, end)
	}
	return os.WriteFile(path, []byte(head+begin+"\n"+table+end+tail), 0o644)
}
