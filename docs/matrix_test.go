package docs_test

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every row of the fault matrix stands on its page, and every test that the page
// names exists where it says. A row without a test says why.
func TestFaultMatrix(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "fault-matrix.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := testsThere(t)
	var want, got []string
	for _, g := range []struct {
		letter string
		n      int
	}{{"K", 10}, {"N", 5}, {"E", 4}, {"R", 4}, {"T", 4}, {"D", 7}, {"L", 5}, {"S", 5}} {
		for i := range g.n {
			want = append(want, fmt.Sprintf("%s%d", g.letter, i+1))
		}
	}
	row := regexp.MustCompile(`(?m)^\| ([A-Z]\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)
	link := regexp.MustCompile(`\[(Test\w+)\]\(\.\./([^)]+)\)`)
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		got = append(got, m[1])
		tests := link.FindAllStringSubmatch(m[3], -1)
		for _, l := range tests {
			if !there[l[2]+" "+l[1]] {
				t.Errorf("row %s names %s, which is not in %s", m[1], l[1], l[2])
			}
		}
		if len(tests) == 0 && !strings.Contains(m[4], "Not yet: ") {
			t.Errorf("row %s has no test and does not say why", m[1])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the page has the rows %v, the matrix has %v", got, want)
	}
}

// testsThere are the functions of all test files, "file name".
func testsThere(t *testing.T) map[string]bool {
	there := map[string]bool{}
	for _, f := range readRepo(t).goes {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
				there[f.path+" "+fn.Name.Name] = true
			}
		}
	}
	return there
}
