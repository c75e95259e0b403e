package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopx/bot/api"
	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// daemon is a held folder with a server on it.
type daemon struct {
	home client.Home
	held *api.Held
	srv  *api.Server
	c    *client.Client
}

func newHome(t *testing.T) client.Home {
	t.Helper()
	h, err := client.FindHome(filepath.Join(t.TempDir(), "home"), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func start(t *testing.T, home client.Home) *daemon {
	t.Helper()
	d := &daemon{home: home}
	var err error
	if d.held, err = api.Hold(t.Context(), api.HoldOptions{Home: home, Command: "test"}); err != nil {
		t.Fatal(err)
	}
	token, err := home.Token()
	if err != nil {
		t.Fatal(err)
	}
	d.srv = api.New(api.Options{Service: view.Local{K: d.held.Kernel}, Wake: d.held.Store.Watch, Home: home, OwnerToken: token})
	if err := d.srv.Start(); err != nil {
		t.Fatal(err)
	}
	d.c = client.New(home)
	d.c.OwnerToken = token
	t.Cleanup(d.stop)
	return d
}

func (d *daemon) stop() {
	_ = d.srv.Stop(context.Background())
	_ = d.held.Close()
}

func asCLI() kernel.Options { return kernel.Options{By: client.ActorOf("", false)} }

func (d *daemon) goal(t *testing.T, id string) {
	t.Helper()
	_, err := d.c.Do(t.Context(), &kernel.CreateGoal{Goal: id, Objective: "Ship it", Agents: []string{"builder"}}, asCLI())
	if err != nil {
		t.Fatal(err)
	}
}

func TestDoAndQuery(t *testing.T) {
	d := start(t, newHome(t))
	d.goal(t, "site")
	opt := asCLI()
	opt.Key = "k1"
	first, err := d.c.Do(t.Context(), &kernel.AddTodo{Goal: "site", Title: "Write the FAQ"}, opt)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.c.Do(t.Context(), &kernel.AddTodo{Goal: "site", Title: "Write the FAQ"}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if again.ID != first.ID || !again.Replay {
		t.Errorf("the same key gave %+v, want the receipt %s again", again, first.ID)
	}
	todos, err := view.Ask[view.TodosView](t.Context(), d.c, &view.Todos{Goal: "site"})
	if err != nil {
		t.Fatal(err)
	}
	if len(todos.Todos) != 1 || todos.Todos[0].Title != "Write the FAQ" {
		t.Errorf("todos: %+v", todos.Todos)
	}
	_, err = d.c.Do(t.Context(), &kernel.AddTodo{Goal: "nope", Title: "x"}, asCLI())
	if e := kernel.AsError(err); e.Class != kernel.NotFound || e.Code != "goal_not_found" || e.Fix == "" {
		t.Errorf("error came back as %+v", e)
	}
	info, err := d.c.Info(t.Context())
	if err != nil || info.PID != os.Getpid() || info.API != client.API() || info.Home != d.home.Dir {
		t.Errorf("info: %+v, %v", info, err)
	}
}

// Who a command comes from is decided by the door and the proof.
func TestActorComesFromTheDoor(t *testing.T) {
	d := start(t, newHome(t))
	d.goal(t, "site")
	resume := &kernel.PauseGoal{Goal: "site", Resume: true}
	asOwner := kernel.Options{By: client.ActorOf("", true)}
	for _, tt := range []struct {
		name, token, code string
	}{
		{"no token", "", "owner_only"},
		{"wrong token", strings.Repeat("0", 64), "token_bad"},
		{"owner", d.c.OwnerToken, ""},
	} {
		c := &client.Client{Socket: d.c.Socket, OwnerToken: tt.token}
		_, err := c.Do(t.Context(), resume, asOwner)
		if code := codeOf(err); code != tt.code {
			t.Errorf("%s: %q, want %q", tt.name, code, tt.code)
		}
	}
	// An agent label never makes an owner, whatever it says.
	body := `{"command":"goal.pause","args":{"goal":"site","resume":true},"as":{"agent":"owner"}}`
	if got := post(t, d.home, "/v1/do", body, "Host: loopx"); !strings.Contains(got, "owner_only") {
		t.Errorf("an agent called owner got %s", got)
	}
	body = `{"command":"goal.pause","args":{"goal":"site","resume":true},"as":{"kind":"owner"}}`
	if got := post(t, d.home, "/v1/do", body, "Host: loopx"); !strings.Contains(got, "bad_json") {
		t.Errorf("a kind in the request got %s", got)
	}
}

// A protected yes from the command line waits for a press while a chat connection
// is ready and somebody is linked on it; and it says where it came from.
func TestTerminalAnswerWaitsForAPress(t *testing.T) {
	home := newHome(t)
	d := start(t, home)
	d.goal(t, "site")
	_ = d.srv.Stop(t.Context())
	state := "connecting"
	d.srv = api.New(api.Options{Service: view.Local{K: d.held.Kernel}, Home: home, OwnerToken: d.c.OwnerToken,
		Info: func() client.Info {
			return client.Info{Connections: []client.Connection{{Name: "console", Platform: "console", State: "ready"}, {Name: "work", Platform: "slack", State: state}}}
		}})
	if err := d.srv.Start(); err != nil {
		t.Fatal(err)
	}
	asOwner := kernel.Options{By: client.OwnerHere()}
	do := func(cmd kernel.Command, opt kernel.Options) map[string]any {
		t.Helper()
		rec, err := d.c.Do(t.Context(), cmd, opt)
		if err != nil {
			t.Fatalf("%s: %v", cmd.Name(), err)
		}
		var out map[string]any
		if err := json.Unmarshal(rec.Result, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	code := kernel.CodeDigest("abcd-efgh")
	do(&kernel.CreateLinkCode{Digest: code, Person: "Wei"}, asOwner)
	bot := kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "slack"}}
	if _, err := d.held.Kernel.Do(t.Context(), &kernel.RedeemLinkCode{Digest: code, Platform: "slack", Connection: "work", Tenant: "T", User: "U", Private: "D"}, bot); err != nil {
		t.Fatal(err)
	}
	do(&kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: "T", User: "U"}, asOwner)
	for i, want := range []string{"answered", "open"} {
		gate := do(&kernel.OpenGate{Goal: "site", Question: "Publish " + want + "?", Kind: "publish", WholeGoal: true}, asCLI())["gate_id"].(string)
		state = []string{"connecting", "ready"}[i]
		if out := do(&kernel.AnswerGate{Gate: gate, Option: "approve"}, asOwner); out["status"] != want {
			t.Errorf("with the connection %s: %v", state, out)
		}
		g, err := view.Ask[view.Gate](t.Context(), d.c, &view.GateOne{Gate: gate})
		if err != nil {
			t.Fatal(err)
		}
		a := g.Answer
		if want == "open" {
			a = g.Pending
		}
		if a == nil || a.Process == "" || a.Surface != "cli" {
			t.Errorf("it does not say where it came from: %+v", a)
		}
	}
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return kernel.AsError(err).Code
}

// post writes a request by hand and returns everything that comes back.
func post(t *testing.T, home client.Home, path, body string, headers ...string) string {
	t.Helper()
	conn, err := net.Dial("unix", home.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
		path, len(body), strings.Join(headers, "\r\n"), body)
	b, _ := io.ReadAll(conn)
	return string(b)
}

func TestRefusals(t *testing.T) {
	d := start(t, newHome(t))
	deep := strings.Repeat("[", 10000) + strings.Repeat("]", 10000)
	for _, tt := range []struct {
		name, body, header, status, code string
	}{
		{"foreign host", `{"query":"status"}`, "Host: evil.example", "403", "host_refused"},
		{"localhost", `{"query":"status"}`, "Host: localhost", "403", "host_refused"},
		{"origin", `{"query":"status"}`, "Host: loopx\r\nOrigin: http://loopx", "403", "browser_refused"},
		{"referer", `{"query":"status"}`, "Host: loopx\r\nReferer: http://x/", "403", "browser_refused"},
		{"fetch metadata", `{"query":"status"}`, "Host: loopx\r\nSec-Fetch-Site: cross-site", "403", "browser_refused"},
		{"newer api", `{"query":"status"}`, "Host: loopx\r\nLoopx-Api: 1.9", "503", "version_mismatch"},
		{"other major", `{"query":"status"}`, "Host: loopx\r\nLoopx-Api: 2.0", "503", "version_mismatch"},
		{"odd api", `{"query":"status"}`, "Host: loopx\r\nLoopx-Api: x", "503", "version_mismatch"},
		{"next minor", `{"query":"status"}`, "Host: loopx\r\nLoopx-Api: 1.1", "200", `"as_of"`},
		{"unknown field", `{"query":"status","x":1}`, "Host: loopx", "400", "bad_json"},
		{"duplicate key", `{"query":"status","query":"log"}`, "Host: loopx", "400", "bad_json"},
		{"folded key", `{"Query":"status"}`, "Host: loopx", "400", "bad_json"},
		{"inner duplicate", `{"query":"todos","args":{"goal":"a","goal":"b"}}`, "Host: loopx", "400", "bad_json"},
		{"invalid UTF-8", "{\"query\":\"\xff\"}", "Host: loopx", "400", "bad_json"},
		{"NUL", "{\"query\":\"\x00\"}", "Host: loopx", "400", "bad_json"},
		{"deep", `{"query":"status","args":` + deep + `}`, "Host: loopx", "400", "bad_json"},
		{"trailing", `{"query":"status"} {}`, "Host: loopx", "400", "bad_json"},
		{"too large", `{"query":"` + strings.Repeat("x", 1<<20) + `"}`, "Host: loopx", "400", "too_long"},
		{"unknown view", `{"query":"nope"}`, "Host: loopx", "400", "unknown_query"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := post(t, d.home, "/v1/query", tt.body, tt.header)
			if !strings.HasPrefix(got, "HTTP/1.1 "+tt.status) || !strings.Contains(got, tt.code) {
				t.Errorf("got %.300s\nwant status %s with %s", got, tt.status, tt.code)
			}
		})
	}
	if got := post(t, d.home, "/v1/nope", "{}", "Host: loopx"); !strings.Contains(got, "no_such_path") {
		t.Errorf("unknown path: %s", got)
	}
}

func TestSocketIsPrivate(t *testing.T) {
	d := start(t, newHome(t))
	info, err := os.Stat(d.home.Socket())
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode is %v", info.Mode())
	}
	for path, want := range map[string]os.FileMode{d.home.Dir: 0o700, d.home.TokenFile(): 0o600, d.home.DB(): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", filepath.Base(path), info.Mode().Perm(), want)
		}
	}
}

func TestSecondHolderIsRefused(t *testing.T) {
	d := start(t, newHome(t))
	_, err := api.Hold(t.Context(), api.HoldOptions{Home: d.home, Command: "second"})
	e := kernel.AsError(err)
	if e == nil || e.Class != kernel.Locked || e.Details["pid"] != fmt.Sprint(os.Getpid()) || e.Details["command"] != "test" {
		t.Errorf("a second holder got %+v", e)
	}
}

func TestStaleSocketIsReplacedAndLongPathIsRecorded(t *testing.T) {
	runtime := t.TempDir()
	if err := os.Chmod(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string {
		return map[string]string{"XDG_RUNTIME_DIR": runtime}[name]
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	home, err := client.FindHome(long, env)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: home.Listen()})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close() // what a killed daemon leaves behind
	d := start(t, home)
	if len(d.home.Socket()) > 100 || filepath.Dir(d.home.Socket()) != runtime {
		t.Errorf("the socket is at %s", d.home.Socket())
	}
	elsewhere, err := client.FindHome(long, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if got := client.New(elsewhere); got.Socket != d.home.Socket() || !got.Listening() {
		t.Errorf("another environment dials %s, want the recorded %s", got.Socket, d.home.Socket())
	}
}

func TestStuckHalfRequestIsCut(t *testing.T) {
	t.Parallel()
	d := start(t, newHome(t))
	for _, half := range []string{"POST /v1/do HT", "POST /v1/do HTTP/1.1\r\nHost: loopx\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"} {
		conn, err := net.Dial("unix", d.home.Socket())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, half)
		_ = conn.SetReadDeadline(time.Now().Add(15 * time.Second))
		began := time.Now()
		b, err := io.ReadAll(conn)
		if err != nil {
			t.Errorf("after %v the daemon still waits for %q: %v (%s)", time.Since(began), half, err, b)
		}
		_ = conn.Close()
	}
	d.goal(t, "site") // and it still answers
}

func TestWatch(t *testing.T) {
	d := start(t, newHome(t))
	d.goal(t, "site")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got []string
	for l, err := range d.c.Watch(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch l.Kind {
		case "head":
			if l.Head.Seq != 1 {
				t.Errorf("head %+v", l.Head)
			}
			if _, err := d.c.Do(ctx, &kernel.AddTodo{Goal: "site", Title: "One"}, asCLI()); err != nil {
				t.Fatal(err)
			}
		case "event":
			var e view.LogEntry
			if err := json.Unmarshal(l.Event, &e); err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Event+" "+e.Text)
			go d.srv.Stop(context.Background()) //nolint:errcheck // the test's cleanup waits for it
		case "end":
			got = append(got, l.Reason)
		}
	}
	if want := "[todo_added One the daemon is stopping]"; fmt.Sprint(got) != want {
		t.Errorf("watched %v, want %v", got, want)
	}
}

// A reader that takes nothing costs no memory and does not hold a stop up.
func TestSlowReaderDoesNotHoldUpStop(t *testing.T) {
	d := start(t, newHome(t))
	d.goal(t, "site")
	conn, err := net.Dial("unix", d.home.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprint(conn, "GET /v1/watch HTTP/1.1\r\nHost: loopx\r\n\r\n")
	if _, err := bufio.NewReaderSize(conn, 16).ReadByte(); err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("x", 8000)
	for i := range 100 {
		if _, err := d.c.Do(t.Context(), &kernel.AddTodo{Goal: "site", Title: fmt.Sprint("t", i), Body: body}, asCLI()); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	if err := d.srv.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("the stop took %v", took)
	}
}

func TestTooManyStreams(t *testing.T) {
	d := start(t, newHome(t))
	d.goal(t, "site")
	for range 64 {
		conn, err := net.Dial("unix", d.home.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		fmt.Fprint(conn, "GET /v1/watch HTTP/1.1\r\nHost: loopx\r\n\r\n")
		if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range d.c.Watch(t.Context(), 0) {
		if codeOf(err) != "too_many_streams" {
			t.Errorf("stream 65: %v", err)
		}
	}
}

func TestNothingListensAndLostConnection(t *testing.T) {
	home := newHome(t)
	if err := home.Ensure(); err != nil {
		t.Fatal(err)
	}
	c := client.New(home)
	if _, err := c.Info(t.Context()); !client.NoDaemon(err) {
		t.Errorf("nothing listens: %v", err)
	}
	l, err := net.Listen("unix", home.Listen())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Read(make([]byte, 10))
		_ = conn.Close()
	}()
	_, err = c.Do(t.Context(), &kernel.CreateGoal{Goal: "x", Objective: "y"}, asCLI())
	if e := kernel.AsError(err); e.Class != kernel.Unknown || !client.Again(err) {
		t.Errorf("a cut connection: %v", err)
	}
}
