package main_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"loopx/bot/client"
)

// anonymous is the memory of a process that is its own, in KiB: what is mapped from
// files, as the state is, does not count.
func anonymous(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`RssAnon:\s+(\d+) kB`).FindSubmatch(b)
	if m == nil {
		t.Fatal("this system does not tell anonymous memory")
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// S1: 2,000 messages of one person to one agent (300 without LOOPX_ROUNDS) come to
// the daemon as fast as its platform sends them. All of them are acknowledged and kept, and what the daemon
// holds in memory stays bounded all the time.
func TestBurstIsBounded(t *testing.T) {
	const most = 192 << 10 // KiB: what waits for the collector depends on how fast messages come
	messages := 300
	if os.Getenv("LOOPX_ROUNDS") != "" {
		messages = 2_000
	}
	exe := buildDaemon(t)
	for platform, connect := range phones() {
		t.Run(platform, func(t *testing.T) {
			r := newCrashRound(t, exe, connect())
			c := client.New(r.home)
			r.start()
			defer func() { _ = r.daemon.Process.Kill(); <-r.dead }()
			r.ready(c)
			began := time.Now()
			list := make([]said, messages)
			peak := 0
			for i := range list {
				list[i] = r.phone.say(fmt.Sprint("message ", i))
				if i%100 == 0 {
					peak = max(peak, anonymous(t, r.daemon.Process.Pid))
				}
			}
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			late := time.After(3 * time.Minute)
			for acked := 0; acked < messages; {
				select {
				case <-tick.C:
				case <-late:
					t.Fatalf("%d of %d messages were acknowledged", acked, messages)
				}
				peak = max(peak, anonymous(t, r.daemon.Process.Pid))
				for acked < messages && list[acked].acked() {
					acked++
				}
			}
			took := time.Since(began)
			r.terminate()
			if n := r.stored(list); n != messages {
				t.Errorf("%d of %d messages are kept", n, messages)
			}
			if peak > most {
				t.Errorf("the daemon held %d MiB", peak>>10)
			}
			t.Logf("%d messages acknowledged in %v, %.1f MiB of its own at most", messages, took, float64(peak)/1024)
		})
	}
}
