package inbox

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Two tables under one key part would read each other's rows. The kernel's
// tables lie in the same store.
func TestTablesDoNotShareKeys(t *testing.T) {
	seen := map[string]string{}
	for _, dir := range []string{".", "../kernel"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				v, ok := n.(*ast.ValueSpec)
				if !ok {
					return true
				}
				for i, name := range v.Names {
					if !strings.HasPrefix(name.Name, "tbl") || i >= len(v.Values) {
						continue
					}
					lit, ok := v.Values[i].(*ast.BasicLit)
					if !ok {
						continue
					}
					if other := seen[lit.Value]; other != "" {
						t.Errorf("%s and %s both lie under %s", other, name.Name, lit.Value)
					}
					seen[lit.Value] = name.Name
				}
				return true
			})
		}
	}
	if len(seen) < 60 {
		t.Errorf("only %d tables were found: the test has lost its eyes", len(seen))
	}
}
