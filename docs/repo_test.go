package docs_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "rewrite the pages that are made from the code")

// root is the top of the repository, seen from this package.
const root = ".."

// goFile is one parsed Go file, whatever its build tags.
type goFile struct {
	path  string // slash-separated, from the root
	lines int
	test  bool
	*ast.File
}

func (f *goFile) dir() string { return path.Dir(f.path) }

// tree is every file of the repository and every parsed Go file in it.
type tree struct {
	fset  *token.FileSet
	files []string
	goes  []*goFile
}

// repo reads the repository once. What .gitignore leaves out at the root
// (binaries of a local build) is left out here.
var repo = sync.OnceValues(func() (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	local := []string{".git", "bin", "loopx", "loopx-bot"}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if slices.Contains(local, rel) || strings.HasSuffix(rel, ".test") || strings.HasSuffix(rel, ".prof") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		t.files = append(t.files, rel)
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(t.fset, rel, src, parser.ParseComments)
		if err != nil {
			return err
		}
		t.goes = append(t.goes, &goFile{path: rel, lines: strings.Count(string(src), "\n"), test: strings.HasSuffix(rel, "_test.go"), File: f})
		return nil
	})
	return t, err
})

func readRepo(t *testing.T) *tree {
	t.Helper()
	r, err := repo()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// at is a position as editors take it.
func (t *tree) at(n ast.Node) string { return t.fset.Position(n.Pos()).String() }

// exception is one known breach of a rule, with the reason it stands and the
// day somebody last said so. A rule that finds an exception it does not need
// fails too: the list only shrinks.
type exception struct {
	what, why, since string
}

// exceptions are used up as the rule meets them; what is left over is reported.
type exceptions struct {
	t    *testing.T
	list []exception
	used map[string]bool
}

func except(t *testing.T, list ...exception) *exceptions {
	t.Helper()
	for _, x := range list {
		if _, err := time.Parse(time.DateOnly, x.since); err != nil || x.why == "" {
			t.Errorf("the exception %q needs a reason and a day", x.what)
		}
	}
	return &exceptions{t: t, list: list, used: map[string]bool{}}
}

// has says whether what is excepted.
func (e *exceptions) has(what string) bool {
	for _, x := range e.list {
		if x.what == what {
			e.used[what] = true
			return true
		}
	}
	return false
}

func (e *exceptions) done() {
	e.t.Helper()
	for _, x := range e.list {
		if !e.used[x.what] {
			e.t.Errorf("the exception %q is not needed any more: take it out", x.what)
		}
	}
}

// The root holds the rooms and what tools and people look for there.
func TestTopLevel(t *testing.T) {
	allowed := []string{
		"kernel", "inbox", "routing", "adapters", "bot", "cmd", "fixtures", "docs",
		"LICENSE", "README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
		"go.mod", "go.sum", ".ci", ".gitignore", ".gitattributes", ".editorconfig",
	}
	seen := map[string]bool{}
	for _, f := range readRepo(t).files {
		top, _, _ := strings.Cut(f, "/")
		// Folders of editors are nobody's business; files of ours are named.
		if !seen[top] && !slices.Contains(allowed, top) && !strings.HasPrefix(top, ".") {
			t.Errorf("%s stands at the root: the rooms are fixed (docs/architecture.md, section 1)", top)
		}
		seen[top] = true
	}
	for _, must := range []string{"LICENSE", "README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", ".ci"} {
		if !seen[must] {
			t.Errorf("%s is missing", must)
		}
	}
}

// An ignore rule without a slash at its front hides folders of the same name
// anywhere, and the code in them is never committed.
func TestNothingIsIgnoredByAccident(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("no git checkout: there are no ignore rules to try")
	}
	out, err := exec.Command("git", "-C", root, "ls-files", "--others", "--ignored", "--exclude-standard", "--", "*.go", "*.md", "*.html", "*.css", "*.js", "*.json", "*.txtar").CombinedOutput()
	if err != nil {
		t.Fatalf("git ls-files: %v: %s", err, out)
	}
	for f := range strings.Lines(string(out)) {
		t.Errorf("%s is ignored by .gitignore", strings.TrimSpace(f))
	}
}

// The words of a machine this was written on have no meaning for a reader.
func TestNoForeignWords(t *testing.T) {
	words := regexp.MustCompile(`/wor[k]/|/far[m]/|[.]librar[y]|sub-?agen[t]s? of|farm-[bs]`)
	for _, f := range readRepo(t).files {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f)))
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b) {
			continue // pictures
		}
		n := 0
		for line := range strings.Lines(string(b)) {
			n++
			if w := words.FindString(line); w != "" {
				t.Errorf("%s:%d holds %q", f, n, w)
			}
		}
	}
}

// A failing test must say what it needs; a skipped one too. Only the function of
// a fuzz target may pass over an input without a word.
func TestSkipsSayWhy(t *testing.T) {
	r := readRepo(t)
	for _, f := range r.goes {
		ast.Inspect(f.File, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !testingValue(sel.X) {
				return true
			}
			if sel.Sel.Name == "Fuzz" {
				return false
			}
			switch sel.Sel.Name {
			case "SkipNow":
				t.Errorf("%s: SkipNow gives no reason", r.at(call))
			case "Skip", "Skipf":
				if len(call.Args) == 0 {
					t.Errorf("%s: %s gives no reason", r.at(call), sel.Sel.Name)
					break
				}
				if lit, ok := call.Args[0].(*ast.BasicLit); ok && len(lit.Value) < len(`"ten chars "`) {
					t.Errorf("%s: %s is no reason", r.at(call), lit.Value)
				}
			}
			return true
		})
	}
}

// testingValue tells the usual names of a *testing.T from filepath and friends.
func testingValue(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return slices.Contains([]string{"t", "b", "f", "tb", "e"}, x.Name)
	case *ast.SelectorExpr:
		return slices.Contains([]string{"t", "T", "TB"}, x.Sel.Name)
	}
	return false
}

// A test that sleeps is slow when it passes and wrong on a loaded machine. In a
// bubble of testing/synctest sleeping costs nothing and is exact; a helper that
// makes the bubble counts as one.
func TestNoSleepInTests(t *testing.T) {
	r := readRepo(t)
	helpers := map[string]bool{} // dir.name of functions that call synctest.Test
	for _, f := range r.goes {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && len(calls(fn, "synctest", "Test")) > 0 {
				helpers[f.dir()+"."+fn.Name.Name] = true
			}
		}
	}
	ex := except(t, sleeps...)
	for _, f := range r.goes {
		if !f.test {
			continue
		}
		bubbles := calls(f.File, "synctest", "Test")
		ast.Inspect(f.File, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && helpers[f.dir()+"."+id.Name] {
					bubbles = append(bubbles, call)
				}
			}
			return true
		})
		for _, sleep := range calls(f.File, "time", "Sleep") {
			in := func(b *ast.CallExpr) bool { return b.Pos() <= sleep.Pos() && sleep.End() <= b.End() }
			if !slices.ContainsFunc(bubbles, in) && !ex.has(f.path) {
				t.Errorf("%s: time.Sleep in a test: wait for the thing itself, or use testing/synctest", r.at(sleep))
			}
		}
	}
	ex.done()
}

// calls are the calls of pkg.name below a node.
func calls(in ast.Node, pkg, name string) []*ast.CallExpr {
	var out []*ast.CallExpr
	ast.Inspect(in, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isCall(call, pkg, name) {
			out = append(out, call)
		}
		return true
	})
	return out
}

func isCall(c *ast.CallExpr, pkg, name string) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}
