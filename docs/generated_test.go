package docs_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"loopx/kernel"
)

// same compares a page with what the code makes of it, or rewrites it.
func same(t *testing.T, file, want string) {
	t.Helper()
	p := filepath.Join(root, filepath.FromSlash(file))
	if *update {
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(p)
	if err != nil || string(b) != want {
		t.Errorf("%s is out of date (%v): run go test ./docs -update", file, err)
	}
}

// The dependency table of the picture is the one that is enforced.
func TestArchitectureShowsTheTable(t *testing.T) {
	const from, to = "<!-- rooms: go test ./docs -update -->\n", "<!-- end of rooms -->"
	page := read(t, "docs/architecture.md")
	i, j := strings.Index(page, from), strings.Index(page, to)
	if i < 0 || j < i {
		t.Fatalf("docs/architecture.md has no place for the table: %q ... %q", from, to)
	}
	var b strings.Builder
	b.WriteString("| room | may import of ours | of others | because |\n|---|---|---|---|\n")
	for _, r := range rooms {
		code := func(list []string) string {
			if len(list) == 0 {
				return "nothing"
			}
			return "`" + strings.Join(list, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.pkg, code(r.ours), code(r.mods), r.why)
	}
	same(t, "docs/architecture.md", page[:i+len(from)]+b.String()+page[j:])
}

// Cases that have a number are found by it: what a public report of another bot
// got wrong (B), or a row of a fault matrix, and which test shows it here.
func TestKnownFailures(t *testing.T) {
	name := regexp.MustCompile(`^Test([A-Z])([0-9]+)_\w+$`)
	type shown struct {
		letter string
		n      int
		line   string
	}
	var rows []shown
	for _, f := range readRepo(t).goes {
		if !f.test {
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			m := name.FindStringSubmatch(fn.Name.Name)
			if m == nil {
				continue
			}
			what := strings.Join(strings.Fields(fn.Doc.Text()), " ")
			what = strings.TrimPrefix(strings.TrimPrefix(what, m[1]+m[2]+": "), fn.Name.Name+" ")
			if what == "" {
				t.Errorf("%s in %s is a known case without a comment that says what is right", fn.Name.Name, f.path)
			}
			what, _, _ = strings.Cut(what, ". ")
			what = strings.TrimSuffix(strings.TrimSuffix(what, "."), " ("+m[1]+m[2]+")")
			n, _ := strconv.Atoi(m[2])
			rows = append(rows, shown{m[1], n, fmt.Sprintf("| %s%d | %s | [%s](../%s) |\n", m[1], n, what, fn.Name.Name, f.path)})
		}
	}
	slices.SortFunc(rows, func(a, b shown) int {
		return cmp.Or(cmp.Compare(a.letter, b.letter), cmp.Compare(a.n, b.n), cmp.Compare(a.line, b.line))
	})
	var b strings.Builder
	b.WriteString("# Known failures, and the tests that show they do not happen here\n\n" +
		"Made from the names of tests: `go test ./docs -update`. B are failures that were reported in public about other chat bots and control planes; K, N, E, R, T, D, L and S are rows of the fault matrix (killed, network, events, rate limits, time, disk, locks, security). A case without a row has no test of its own yet.\n\n" +
		"| case | what is right | test |\n|---|---|---|\n")
	for _, r := range rows {
		b.WriteString(r.line)
	}
	same(t, "docs/known-failures.md", b.String())
}

// Every refusal has a code that scripts can rely on. The page is made from the
// calls that make them.
func TestErrorReference(t *testing.T) {
	type row struct{ code, class, message string }
	rows := map[row]bool{}
	classes := map[string]kernel.Class{
		"Invalid": kernel.Invalid, "NotFound": kernel.NotFound, "Conflict": kernel.Conflict, "Stale": kernel.Stale, "Denied": kernel.Denied,
		"Exhausted": kernel.Exhausted, "Unavailable": kernel.Unavailable, "Locked": kernel.Locked, "Unknown": kernel.Unknown, "Internal": kernel.Internal,
	}
	for _, f := range readRepo(t).goes {
		if f.test {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 3 {
				return true
			}
			name := ""
			switch fn := call.Fun.(type) {
			case *ast.Ident:
				name = fn.Name
			case *ast.SelectorExpr:
				if id, ok := fn.X.(*ast.Ident); ok && id.Name == "kernel" {
					name = fn.Sel.Name
				}
			}
			if name != "Errorf" && (name != "wrap" || f.dir() != "kernel") {
				return true
			}
			var class string
			switch c := call.Args[0].(type) {
			case *ast.Ident:
				class = c.Name
			case *ast.SelectorExpr:
				class = c.Sel.Name
			}
			code, msg := literal(call.Args[1]), literal(call.Args[2])
			// Codes that are put together ("bad_" + field) are named by their class.
			if c, known := classes[class]; known && code != "" && msg != "" {
				rows[row{code, string(c), sentence(msg)}] = true
			}
			return true
		})
	}
	if len(rows) < 40 {
		t.Fatalf("only %d refusals were found: the test has lost its eyes", len(rows))
	}
	var b strings.Builder
	b.WriteString("# Errors\n\nMade from the code: `go test ./docs -update`. Scripts test the class (the exit code, the HTTP status) or the code; the sentence may change. In JSON an error is `{ok, class, code, message, fix, details}`.\n\n## Classes\n\n| class | exit code | HTTP status |\n|---|---|---|\n")
	for _, name := range []kernel.Class{kernel.Invalid, kernel.NotFound, kernel.Conflict, kernel.Stale, kernel.Denied, kernel.Exhausted, kernel.Unavailable, kernel.Locked, kernel.Unknown, kernel.Internal} {
		fmt.Fprintf(&b, "| `%s` | %d | %d |\n", name, name.ExitCode(), name.HTTPStatus())
	}
	b.WriteString("\n## Codes\n\nA code that names a field (`bad_goal_id`, `bad_agent_id`) is of class `invalid` and is not listed.\n\n| code | class | sentence |\n|---|---|---|\n")
	for _, r := range slices.SortedFunc(maps.Keys(rows), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.class, b.class), cmp.Compare(a.message, b.message))
	}) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.code, r.class, r.message)
	}
	same(t, "docs/reference/errors.md", b.String())
}

func literal(x ast.Expr) string {
	lit, ok := x.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return s
}

// sentence makes a format readable in a table.
func sentence(format string) string {
	verb := regexp.MustCompile(`%[-+#0-9.]*[a-zA-Z]`)
	return strings.ReplaceAll(verb.ReplaceAllString(format, "…"), "|", `\|`)
}

// A generated page that nobody links to is not read.
func TestGeneratedPagesAreLinked(t *testing.T) {
	for _, page := range []string{"docs/known-failures.md", "docs/reference/errors.md", "docs/reference/cli.md", "docs/reference/json.md", "docs/reference/loopx.1", "docs/benchmarks.md"} {
		found := false
		for _, f := range readRepo(t).files {
			if strings.HasSuffix(f, ".md") && f != page && strings.Contains(read(t, f), path.Base(page)) {
				found = true
			}
		}
		if !found {
			t.Errorf("no page links to %s", page)
		}
	}
}
