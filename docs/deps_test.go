package docs_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// room is one row of the dependency rule. A pattern is an import path of ours
// without the module name; "/..." at its end takes everything below as well.
// The longest pattern that fits a package is its row.
type room struct {
	pkg  string
	ours []string // rooms it may import
	mods []string // modules of others it may import
	why  string
}

// The dependency rule of docs/architecture.md, section 2, for imports that are
// compiled into a binary or a suite. Tests of a room may import more.
var rooms = []room{
	{"kernel/store", nil, nil, "the store's contract is a leaf: no domain word and no dependency may enter it"},
	{"kernel/store/failpoint", nil, nil, "it is linked into every room that can be killed, so it may need none"},
	{"kernel/store/bolt", []string{"kernel/store", "kernel/store/failpoint"}, []string{"go.etcd.io/bbolt", "golang.org/x/sys"}, "a store keeps bytes; what they mean is the kernel's business"},
	{"kernel/store/bolt/bolttest", nil, nil, "it changes the source of a library and runs the go tool; it needs no room of ours"},
	{"kernel/store/storetest", []string{"kernel/store"}, []string{"go.uber.org/goleak", "pgregory.net/rapid", "github.com/google/go-cmp"}, "the suite knows the contract and not who implements it"},
	{"kernel", []string{"kernel/store"}, nil, "what is true must not depend on who shows, sends or serves it"},
	{"kernel/boundary", nil, nil, "what must not leave a machine is told from a text alone; whoever prints, exports or sends may ask"},
	{"kernel/view", []string{"kernel"}, nil, "read models are pure functions of a snapshot"},
	{"routing", []string{"adapters/chat"}, nil, "who is meant is decided from the event and the facts handed in, without kernel, clock or I/O"},
	{"inbox", []string{"kernel", "kernel/store", "adapters/chat", "routing"}, nil, "queue rows lie beside the kernel's in one transaction; no platform and no daemon is known here"},

	{"adapters/chat", nil, nil, "the vocabulary of people and messages is a leaf that every surface shares"},
	{"adapters/adaptertest", []string{"adapters/chat"}, []string{"github.com/google/go-cmp", "go.uber.org/goleak"}, "the suite knows the contract and not who implements it"},
	{"adapters/console", []string{"adapters/chat"}, nil, "an adapter knows the vocabulary and its own surface; it decides nothing"},
	{"adapters/lane", []string{"adapters/chat"}, []string{"github.com/gorilla/websocket"}, "what every adapter needs to keep a connection knows the vocabulary and no platform"},
	{"adapters/fit", []string{"adapters/chat"}, nil, "bringing a card into limits knows the vocabulary and no platform"},
	{"adapters/discord", []string{"adapters/chat", "adapters/lane", "adapters/fit"}, []string{"github.com/bwmarrin/discordgo", "github.com/gorilla/websocket", "github.com/yuin/goldmark"}, "an adapter knows the vocabulary and one official SDK; it decides nothing"},
	{"adapters/lark", []string{"adapters/chat", "adapters/lane", "adapters/fit"}, []string{"github.com/larksuite/oapi-sdk-go/v3", "github.com/gorilla/websocket", "github.com/yuin/goldmark"}, "an adapter knows the vocabulary and one official SDK; it decides nothing"},
	{"adapters/slack", []string{"adapters/chat", "adapters/lane", "adapters/fit"}, []string{"github.com/slack-go/slack", "github.com/gorilla/websocket", "github.com/yuin/goldmark"}, "an adapter knows the vocabulary and one official SDK; it decides nothing"},

	{"bot/client", []string{"kernel", "kernel/view"}, nil, "the CLI links it: it must start in milliseconds and stay small"},
	{"bot/attention", nil, nil, "who may be interrupted when is decided from what is handed in: no clock, no row, no platform"},
	{"bot/cards", []string{"adapters/chat", "kernel", "kernel/view"}, nil, "a card is drawn from a read model; no platform, store or transport is known here"},
	{"bot/...", slices.Concat(parts, below), body, "a part of the body may know its neighbours and every room below, and nothing below may know it"},
	{"bot", slices.Concat(parts, below, []string{"adapters/slack", "adapters/discord", "adapters/lark"}), body, "the daemon joins the rooms; commands and fixtures stand above and beside it"},
	{"bot/setup", []string{"bot", "bot/client", "adapters/chat", "kernel"}, []string{"golang.org/x/sys"}, "it writes what the daemon reads and asks the daemon's own reader; a platform is tried over plain HTTP; x/sys keeps a terminal from showing tokens"},
	{"bot/demo/...", slices.Concat([]string{"bot"}, parts, below, []string{"fixtures/..."}), nil, "the demo plays on the real daemon with the simulators"},
	{"bot/bench/...", slices.Concat([]string{"bot"}, parts, below, []string{"fixtures/..."}), nil, "the driver measures the real binaries against the simulators"},

	{"cmd/loopx/cli", []string{"bot/client", "kernel", "kernel/boundary", "kernel/view", "kernel/store", "kernel/store/bolt", "kernel/store/failpoint", "inbox", "routing", "adapters/chat"}, []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/pelletier/go-toml/v2"}, "the CLI starts for every step of every agent: what needs an SDK or a server runs in loopx-bot"},
	{"cmd/loopx", []string{"cmd/loopx/cli"}, nil, "main turns a call into the CLI's and nothing else"},
	{"cmd/loopx-bot", []string{"bot", "bot/...", "cmd/loopx/cli", "kernel"}, nil, "main turns flags into options, handles signals, and turns a class of error into an exit code"},

	{"fixtures/...", []string{"adapters/chat", "fixtures/..."}, []string{"github.com/gorilla/websocket"}, "a simulator that knew our code would agree with its mistakes"},
	{"docs", nil, nil, "it holds tests only"},
}

// parts are the rooms of the body, below all that they stand on.
var (
	parts = []string{"bot/api", "bot/attention", "bot/cards", "bot/client", "bot/workspace"}
	below = []string{"kernel", "kernel/boundary", "kernel/view", "kernel/store", "kernel/store/failpoint", "kernel/store/bolt", "inbox", "routing", "adapters/chat", "adapters/console"}
)

// body is what a room of the body may import of others.
var body = []string{"github.com/labstack/echo/v4", "github.com/pelletier/go-toml/v2", "github.com/yuin/goldmark", "golang.org/x/sys"}

// closure is what a package and all it imports may not contain.
type closure struct {
	pkgs  []string
	never []string // import path prefixes; ours start with "loopx/"
	why   string
}

var closures = []closure{
	{
		[]string{"cmd/loopx", "cmd/loopx/cli"},
		[]string{
			"github.com/slack-go/", "github.com/bwmarrin/", "github.com/disgoorg/", "github.com/larksuite/", "github.com/gorilla/websocket",
			"github.com/labstack/", "net/http/httptest", "github.com/modelcontextprotocol/",
			"loopx/bot/api", "loopx/bot/workspace", "loopx/bot/cards", "loopx/adapters/slack", "loopx/adapters/discord", "loopx/adapters/lark", "loopx/fixtures",
		},
		"the CLI runs at every step of an agent: no chat SDK, no server, no protocol SDK in it",
	},
	{
		[]string{"cmd/loopx", "cmd/loopx-bot"},
		[]string{
			"testing", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/google/go-cmp", "github.com/chromedp/", "github.com/rogpeppe/go-internal",
			"loopx/kernel/store/storetest", "loopx/kernel/store/bolt/bolttest", "loopx/adapters/adaptertest",
		},
		"what people run holds no test code",
	},
	{
		[]string{"kernel", "kernel/view", "routing", "adapters/chat"},
		[]string{"net/http", "os/exec", "database/sql"},
		"deciding is pure: it reads no network and runs no program",
	},
}

// listed is what go list says about one package.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
	Module     *struct{ Path string }
}

func goList(t *testing.T, goos string, pattern string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-deps", "-tags=failpoints", "-json=ImportPath,Standard,Imports,Deps,Module", pattern)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

const module = "loopx/"

func fits(pattern, pkg string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(pkg, prefix+"/")
	}
	return pattern == pkg
}

func rowOf(pkg string) *room {
	var best *room
	for i := range rooms {
		if r := &rooms[i]; fits(r.pkg, pkg) || fits(strings.TrimSuffix(r.pkg, "/..."), pkg) && strings.HasSuffix(r.pkg, "/...") && pkg != "bot" {
			if best == nil || len(r.pkg) > len(best.pkg) {
				best = r
			}
		}
	}
	return best
}

func allowed(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(p, pkg) })
}

func TestDependencyRule(t *testing.T) {
	ex := except(t, imports...)
	said := map[string]bool{}
	for _, goos := range []string{"linux", "darwin"} {
		all := goList(t, goos, "./...")
		modules := map[string]string{}
		for _, p := range all {
			if p.Module != nil {
				modules[p.ImportPath] = p.Module.Path
			}
		}
		for _, p := range all {
			pkg, ours := strings.CutPrefix(p.ImportPath, module)
			if !ours || p.Standard {
				continue
			}
			row := rowOf(pkg)
			if row == nil {
				t.Fatalf("%s is a room without a row in the dependency table: say what it may import, and why", pkg)
			}
			for _, imp := range p.Imports {
				what := pkg + " -> " + imp
				if said[what] {
					continue
				}
				said[what] = true
				if to, ok := strings.CutPrefix(imp, module); ok {
					if !allowed(row.ours, to) && !ex.has(what) {
						t.Errorf("%s imports %s: %s", pkg, to, row.why)
					}
				} else if m := modules[imp]; m != "" && !slices.Contains(row.mods, m) && !ex.has(what) {
					t.Errorf("%s imports %s of module %s, which its row does not name: %s", pkg, imp, m, row.why)
				}
			}
		}
	}
	ex.done()
}

func TestWhatBinariesHold(t *testing.T) {
	byPath := map[string]listed{}
	for _, p := range goList(t, "linux", "./...") {
		byPath[p.ImportPath] = p
	}
	for _, c := range closures {
		for _, pkg := range c.pkgs {
			p, ok := byPath[module+pkg]
			if !ok {
				t.Errorf("%s does not exist", pkg)
			}
			for _, dep := range p.Deps {
				for _, never := range c.never {
					if dep == never || strings.HasPrefix(dep, strings.TrimSuffix(never, "/")+"/") {
						t.Errorf("%s holds %s: %s", pkg, dep, c.why)
					}
				}
			}
		}
	}
}
