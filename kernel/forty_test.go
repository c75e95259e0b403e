package kernel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopx/kernel"
)

// promise is one of the forty things that LoopX's own tests hold true, and what
// became of it here: kept, changed or dropped, with the reason. What is kept or
// changed names the tests that hold it (a script as name.txtar:WORDS, words that
// stand in it), or has a check of its own.
type promise struct {
	n     int
	says  string
	mark  string
	why   string
	tests string
	check func(t *testing.T, w *world)
}

const (
	kept    = "kept"
	changed = "changed"
	dropped = "dropped"
)

func TestForty(t *testing.T) {
	names := testNames(t)
	list := append(promisesOfWork(), promisesOfRest()...)
	marks := map[string]int{}
	for i, p := range list {
		if p.n != i+1 || p.says == "" {
			t.Fatalf("promise %d stands in place %d", p.n, i+1)
		}
		marks[p.mark]++
		switch {
		case p.mark != kept && p.why == "":
			t.Errorf("%d is %s and no reason is given", p.n, p.mark)
		case p.mark != dropped && p.tests == "" && p.check == nil:
			t.Errorf("%d is %s and nothing holds it", p.n, p.mark)
		case p.mark == dropped && p.check != nil:
			t.Errorf("%d is dropped and checked", p.n)
		}
		for _, name := range strings.Fields(p.tests) {
			script, words, ok := strings.Cut(name, ":")
			if !ok && !names[name] {
				t.Errorf("%d names %s, which is no test", p.n, name)
			}
			if ok {
				b, err := os.ReadFile(filepath.Join("..", "cmd", "loopx", "testdata", "script", script))
				if err != nil || !strings.Contains(string(b), words) {
					t.Errorf("%d names %s, which does not say so: %v", p.n, name, err)
				}
			}
		}
		if p.check != nil {
			t.Run(p.says, func(t *testing.T) {
				w := newWorld(t)
				p.check(t, w)
				w.replays()
			})
		}
	}
	if len(list) != 40 || marks[kept]+marks[changed]+marks[dropped] != 40 {
		t.Errorf("%d promises: %v", len(list), marks)
	}
}

// testNames are the tests that a promise may name.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, dir := range []string{".", "view", "../cmd/loopx", "../cmd/loopx/cli"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Test") {
					out[fn.Name.Name] = true
				}
			}
		}
	}
	return out
}

// turn opens a turn of an agent and gives its answer.
func (w *world) turn(agent, id string) map[string]any {
	w.t.Helper()
	return w.do(&kernel.OpenTurn{Goal: "site", Agent: agent, Turn: id, Claim: true}, cli())
}

// unchanged runs commands that must be refused with one code.
func (w *world) unchanged(code string, cmds ...kernel.Command) {
	w.t.Helper()
	for _, c := range cmds {
		w.refuse(code, c, cli())
	}
}
