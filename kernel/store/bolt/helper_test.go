package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
)

// helperEnv makes the test binary play another process instead of testing.
const helperEnv = "LOOPX_STORE_HELPER"

func TestMain(m *testing.M) {
	role := os.Getenv(helperEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	roles := map[string]func(dir string) error{
		"write":   helpWrite,
		"open":    helpOpen,
		"compact": helpCompact,
		"hold":    helpHold,
		"contend": helpContend,
		"verify":  helpVerify,
	}
	if err := roles[role](os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child is a helper process. It dies with the test at the latest.
type child struct {
	*exec.Cmd
	out *bufio.Reader
	in  io.WriteCloser
}

func start(t *testing.T, role, dir string, env ...string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return run(t, exec.CommandContext(t.Context(), exe, dir), role, env...)
}

// run starts a program as a helper process.
func run(t *testing.T, cmd *exec.Cmd, role string, env ...string) *child {
	t.Helper()
	c := &child{Cmd: cmd}
	c.Env = append(append(os.Environ(), helperEnv+"="+role), env...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// rounds is how often a random test repeats: LOOPX_ROUNDS, or usual.
func rounds(t testing.TB, usual int) int {
	t.Helper()
	s := os.Getenv("LOOPX_ROUNDS")
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("LOOPX_ROUNDS=%q is no count", s)
	}
	return n
}

func dbPath(dir string) string { return filepath.Join(dir, "loopx.db") }

const (
	helpWriters = 8
	// perCommit keys are written by one transaction, all with the same number.
	perCommit = 3
)

func writerKey(writer, part int) []byte {
	return store.Key("w", strconv.Itoa(writer), strconv.Itoa(part))
}

// helpWrite commits as fast as it can and prints "writer number" after each
// acknowledged commit, until it is killed.
func helpWrite(dir string) error {
	s, err := bolt.Open(dbPath(dir), bolt.Options{})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var errs [helpWriters]error
	for w := range helpWriters {
		wg.Go(func() {
			for {
				var n int
				err := s.Update(context.Background(), func(tx store.Tx) error {
					v, err := tx.Get(writerKey(w, 0))
					if err != nil {
						return err
					}
					n = 1
					if v != nil {
						last, err := strconv.Atoi(string(v))
						if err != nil {
							return err
						}
						n = last + 1
					}
					for part := range perCommit {
						if err := tx.Put(writerKey(w, part), []byte(strconv.Itoa(n))); err != nil {
							return err
						}
					}
					// A row that stays, a row that goes: pages split, merge and are freed.
					row := store.Key("row", strconv.Itoa(w), store.U64(uint64(n)))
					old := store.Key("row", strconv.Itoa(w), store.U64(uint64(n-50)))
					return errors.Join(tx.Put(row, make([]byte, 100+n%900)), tx.Delete(old))
				})
				if err != nil {
					errs[w] = err
					return
				}
				if _, err := fmt.Fprintf(os.Stdout, "%d %d\n", w, n); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

func helpOpen(dir string) error {
	s, err := bolt.Open(dbPath(dir), bolt.Options{})
	if err != nil {
		return err
	}
	return s.Close()
}

func helpCompact(dir string) error {
	return bolt.CompactFile(context.Background(), dbPath(dir), bolt.Options{})
}

func helpVerify(dir string) error { return bolt.VerifyFile(context.Background(), dbPath(dir)) }

// helpHold takes the lock, says so, and keeps it until its input ends.
func helpHold(dir string) error {
	l, err := bolt.TakeLock(dir, bolt.Holder{Command: "loopx hold", Version: "1.2.3"}, 10*time.Second, nil)
	if err != nil {
		return err
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return l.Unlock()
}

// contendTimes is how often each contender does its work.
const contendTimes = 5

// helpContend is a command without a daemon, some times over: lock, open, one
// write, close, unlock. It prints how long each took.
func helpContend(dir string) error {
	for range contendTimes {
		began := time.Now()
		l, err := bolt.TakeLock(dir, bolt.Holder{Command: "loopx contend"}, 60*time.Second, nil)
		if err != nil {
			return err
		}
		s, err := bolt.Open(dbPath(dir), bolt.Options{})
		if err != nil {
			return err
		}
		err = s.Update(context.Background(), func(tx store.Tx) error {
			v, err := tx.Get([]byte("n"))
			if err != nil {
				return err
			}
			n, _ := strconv.Atoi(string(v))
			return tx.Put([]byte("n"), []byte(strconv.Itoa(n+1)))
		})
		if err := errors.Join(err, s.Close(), l.Unlock()); err != nil {
			return err
		}
		fmt.Println(time.Since(began).Microseconds())
	}
	return nil
}
