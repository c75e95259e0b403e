package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// samples are times in milliseconds.
type samples []float64

func (s samples) at(p float64) float64 {
	if len(s) == 0 {
		return 0
	}
	c := slices.Clone(s)
	slices.Sort(c)
	return c[min(int(float64(len(c))*p), len(c)-1)]
}

func (s samples) String() string {
	return fmt.Sprintf("p50 %.2f, p99 %.2f ms", s.at(0.5), s.at(0.99))
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// process runs a program to its end and returns its time.
func process(exe string, env []string, args ...string) (float64, error) {
	cmd := exec.Command(exe, args...)
	cmd.Env = env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	took := ms(time.Since(began))
	if err != nil {
		return took, fmt.Errorf("%s %v: %w\n%s", filepath.Base(exe), args, err, out.String())
	}
	return took, nil
}

// repeat runs a program n times, one after another.
func repeat(n int, exe string, env []string, args ...string) (s samples, err error) {
	for range n {
		took, err := process(exe, env, args...)
		if err != nil {
			return nil, err
		}
		s = append(s, took)
	}
	return s, nil
}

// memory is the peak of a program in MiB. A process starts with the peak of the
// one that made it, so a small launcher stands between it and this program.
func (b *bench) memory(exe string, env []string, args ...string) (float64, error) {
	cmd := exec.Command(b.launcher, append([]string{exe}, args...)...)
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("launcher: %w", err)
	}
	kib, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return kib / 1024, err
}

// atOnce runs n programs at the same time, rounds times.
func atOnce(n, rounds int, exe string, env []string, args func(i int) []string) (samples, error) {
	var mu sync.Mutex
	var all samples
	var errs []error
	for range rounds {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				took, err := process(exe, env, args(i)...)
				mu.Lock()
				defer mu.Unlock()
				all, errs = append(all, took), append(errs, err)
			})
		}
		wg.Wait()
	}
	return all, errors.Join(errs...)
}

// floors measures what the machine itself costs.
func (b *bench) floors() error {
	s, err := repeat(b.n, b.hello, nil)
	if err != nil {
		return err
	}
	b.floorExec = s.at(0.5)
	b.add("do-nothing Go program, whole process", s.String(), "-", "-", "-")
	s, err = b.syncs()
	if err != nil {
		return err
	}
	b.floorSync = s.at(0.5)
	b.add("two 4 KiB writes with fdatasync (what a commit needs)", s.String(), "-", "-", "-")
	s, err = b.trips()
	if err != nil {
		return err
	}
	b.floorTrip = s.at(0.5)
	b.add("round trip on a unix socket, new connection", s.String(), "-", "-", "-")
	return nil
}

func (b *bench) syncs() (samples, error) {
	f, err := os.Create(filepath.Join(b.dir, "sync"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var s samples
	page := make([]byte, 4096)
	for i := range b.n {
		began := time.Now()
		for j := range 2 {
			if _, err := f.WriteAt(page, int64((i*2+j)%64)*4096); err != nil {
				return nil, err
			}
			if err := datasync(f); err != nil {
				return nil, err
			}
		}
		s = append(s, ms(time.Since(began)))
	}
	return s, nil
}

func (b *bench) trips() (samples, error) {
	l, err := net.Listen("unix", filepath.Join(b.dir, "trip.sock"))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.CopyN(c, c, 1024)
			}()
		}
	}()
	var s samples
	buf := make([]byte, 1024)
	for range b.n {
		began := time.Now()
		c, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			return nil, err
		}
		if _, err := c.Write(buf); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			return nil, err
		}
		_ = c.Close()
		s = append(s, ms(time.Since(began)))
	}
	return s, nil
}
