package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"loopx/bot/api"
	"loopx/bot/client"
	"loopx/kernel"
)

// A daemon that dies between its commit and its answer: the command goes out again
// with the same key, by the file this time, and gets the receipt of what was done.
func TestAnswerLostAfterCommit(t *testing.T) {
	home := tempHome(t)
	must(t, home, "goal", "create", "--goal-id", "site", "--objective", "Ship it", "--agent-id", "builder")
	held, err := api.Hold(t.Context(), api.HoldOptions{Home: home, Command: "dying"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", home.Listen())
	if err != nil {
		t.Fatal(err)
	}
	var key string
	died := make(chan error, 1)
	go func() {
		died <- func() error {
			conn, err := l.Accept()
			if err != nil {
				return err
			}
			r, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return err
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			var req client.DoRequest
			if err := json.Unmarshal(body, &req); err != nil {
				return err
			}
			key = req.Key
			cmd, err := kernel.DecodeCommand(req.Command, req.Args)
			if err != nil {
				return err
			}
			if _, err := held.Kernel.Do(t.Context(), cmd, kernel.Options{Key: req.Key, By: client.ActorOf(req.As.Agent, false)}); err != nil {
				return err
			}
			_ = l.Close()
			_ = conn.Close()
			return held.Close()
		}()
	}()
	r := must(t, home, "todo", "add", "--goal-id", "site", "--text", "Once")
	if err := <-died; err != nil {
		t.Fatal(err)
	}
	if key == "" || r.out["idempotent_replay"] != true {
		t.Errorf("key %q, answer %s: want the receipt of the first attempt", key, r.raw)
	}
	v := must(t, home, "todo", "list", "--goal-id", "site")
	if list, _ := v.out["todos"].([]any); len(list) != 1 {
		t.Errorf("the todo was added %d times", len(list))
	}
}

// A daemon that takes a command, never answers and never lets go of the folder: the
// outcome is not known, and the exit code says so.
func TestOutcomeUnknown(t *testing.T) {
	home := tempHome(t)
	must(t, home, "goal", "create", "--goal-id", "site", "--objective", "Ship it", "--agent-id", "builder")
	held, err := api.Hold(t.Context(), api.HoldOptions{Home: home, Command: "stuck"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	l, err := net.Listen("unix", home.Listen())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_ = l.Close()
			_ = conn.Close()
		}
	}()
	r := loopx(home, "--lock-timeout", "300ms", "todo", "add", "--goal-id", "site", "--text", "Once")
	if r.code != 70 || r.str("class") != "unknown" || r.str("kept") != "it may or may not have been written" {
		t.Errorf("exit code %d\n%s%s", r.code, r.raw, r.stderr)
	}
	details, _ := r.out["details"].(map[string]any)
	key, _ := details["idempotency_key"].(string)
	if key == "" || !strings.Contains(r.str("fix"), key) {
		t.Errorf("the key that can tell later is not named: %s", r.raw)
	}
	// Nothing was sent this time: it is only locked, and the holder is named.
	r = loopx(home, "--lock-timeout", "300ms", "todo", "add", "--goal-id", "site", "--text", "Once")
	details, _ = r.out["details"].(map[string]any)
	if r.code != 6 || r.str("code") != "locked" || details["command"] != "stuck" {
		t.Errorf("exit code %d\n%s%s", r.code, r.raw, r.stderr)
	}
	// What only reads gets the same answer.
	if r := loopx(home, "--lock-timeout", "0s", "status"); r.code != 6 || r.str("code") != "locked" {
		t.Errorf("exit code %d\n%s%s", r.code, r.raw, r.stderr)
	}
}

// What listens speaks another version of the API: both versions are named, and the
// file, which that daemon holds, is not touched.
func TestOtherVersionListens(t *testing.T) {
	home := tempHome(t)
	must(t, home, "goal", "create", "--goal-id", "site", "--objective", "Ship it", "--agent-id", "builder")
	l, err := net.Listen("unix", home.Listen())
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(client.APIHeader, "2.0")
		_, _ = io.WriteString(w, "{}")
	})}
	go func() { _ = srv.Serve(l) }()
	defer func() { _ = srv.Close() }()
	r := loopx(home, "status")
	details, _ := r.out["details"].(map[string]any)
	if r.code != 6 || r.str("code") != "version_mismatch" || details["loopx"] != client.API() || details["the daemon"] != "2.0" {
		t.Errorf("exit code %d\n%s%s", r.code, r.raw, r.stderr)
	}
}

// A socket that nobody serves any more is no obstacle.
func TestStaleSocket(t *testing.T) {
	home := tempHome(t)
	d := startProcess(t, home)
	must(t, home, "goal", "create", "--goal-id", "site", "--objective", "Ship it", "--agent-id", "builder")
	d.kill()
	must(t, home, "status", "--goal-id", "site")
	r := must(t, home, "doctor")
	if r.out["healthy"] != true {
		t.Errorf("doctor: %s", r.raw)
	}
	again := startProcess(t, home)
	defer again.stop(t)
	if c := exec.Command("test", "-S", home.Socket()); c.Run() != nil {
		t.Error("the socket is not there again")
	}
	must(t, home, "todo", "add", "--goal-id", "site", "--text", "After")
}
