package docs_test

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// Every package says once what it is, in the form that go doc shows.
func TestPackageDocs(t *testing.T) {
	docs := map[string][]*goFile{}
	for _, f := range readRepo(t).goes {
		if f.test {
			if f.Doc != nil {
				t.Errorf("%s: a test file has a package comment: it would become the package's", f.path)
			}
			continue
		}
		if strings.HasPrefix(f.path, ".") {
			continue
		}
		if docs[f.dir()] == nil {
			docs[f.dir()] = []*goFile{}
		}
		if f.Doc != nil {
			docs[f.dir()] = append(docs[f.dir()], f)
			want := "Package " + f.Name.Name + " "
			if f.Name.Name == "main" {
				want = "Command " + path.Base(f.dir()) + " "
			}
			if !strings.HasPrefix(f.Doc.Text(), want) {
				t.Errorf("%s: the package comment must start with %q", f.path, want)
			}
		}
	}
	for dir, with := range docs {
		if len(with) != 1 {
			t.Errorf("%s has %d package comments, want exactly one", dir, len(with))
		}
	}
}

// What a package does stands in its name.
func TestPackageNames(t *testing.T) {
	drawers := []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib"}
	for _, f := range readRepo(t).goes {
		if slices.Contains(drawers, f.Name.Name) {
			t.Errorf("%s: package %s is a drawer: name what it holds", f.path, f.Name.Name)
		}
	}
}

// Nothing happens by being imported: an adapter, a command, a card is added
// with one line in one visible list.
func TestNoInit(t *testing.T) {
	r := readRepo(t)
	for _, f := range r.goes {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: func init", r.at(fn))
			}
		}
	}
}

// A package variable is state that two daemons in one process, or two tests,
// share without knowing. Allowed: errors made by errors.New (named err… or
// Err…), files embedded at build time, and checks that a type implements an
// interface. A table or a compiled pattern belongs into the function that uses
// it, or into the value that a constructor makes.
func TestNoPackageVariables(t *testing.T) {
	r := readRepo(t)
	ex := except(t, variables...)
	for _, f := range r.goes {
		if f.test {
			continue
		}
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, s := range gen.Specs {
				v := s.(*ast.ValueSpec)
				for i, name := range v.Names {
					if name.Name == "_" || embedded(gen, v) || sentinel(v, i) || ex.has(f.dir()+"."+name.Name) {
						continue
					}
					t.Errorf("%s: package variable %s", r.at(name), name.Name)
				}
			}
		}
	}
	ex.done()
}

func sentinel(v *ast.ValueSpec, i int) bool {
	name := v.Names[i].Name
	if i >= len(v.Values) || !strings.HasPrefix(name, "err") && !strings.HasPrefix(name, "Err") {
		return false
	}
	call, ok := v.Values[i].(*ast.CallExpr)
	return ok && isCall(call, "errors", "New")
}

// embedded takes what nobody can write to: a file as a string, or embed.FS.
func embedded(gen *ast.GenDecl, v *ast.ValueSpec) bool {
	switch typ := v.Type.(type) {
	case *ast.Ident:
		if typ.Name != "string" {
			return false
		}
	case *ast.SelectorExpr:
		if typ.Sel.Name != "FS" {
			return false
		}
	default:
		return false
	}
	for _, doc := range []*ast.CommentGroup{gen.Doc, v.Doc} {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			if strings.HasPrefix(c.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

// mostLines is what a reader can hold; mostMethods what a type can be about.
const (
	mostLines   = 520
	mostMethods = 15
)

func TestFilesAreReadable(t *testing.T) {
	ex := except(t, longFiles...)
	for _, f := range readRepo(t).goes {
		if !f.test && f.lines > mostLines && !ex.has(f.path) {
			t.Errorf("%s has %d lines, at most %d: split it by what it is about", f.path, f.lines, mostLines)
		}
	}
	ex.done()
}

func TestTypesAreNarrow(t *testing.T) {
	wide := map[string]int{}
	for _, w := range wideTypes {
		wide[w.typ] = w.most
		if w.why == "" || w.most <= mostMethods {
			t.Errorf("the wide type %s needs a reason and a number over %d", w.typ, mostMethods)
		}
	}
	n := map[string]int{}
	for _, f := range readRepo(t).goes {
		// A simulator is a whole platform: a method for each call of its API and
		// each thing a person does.
		if f.test || strings.HasPrefix(f.path, "fixtures/sim/") {
			continue
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				n[f.dir()+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if most := max(mostMethods, wide[name]); n[name] > most {
			t.Errorf("%s has %d methods, at most %d: it is about more than one thing", name, n[name], most)
		}
		if wide[name] > 0 && n[name] <= mostMethods {
			t.Errorf("%s has %d methods and is wide no more: take it out of wideTypes", name, n[name])
		}
		delete(wide, name)
	}
	for name := range wide {
		t.Errorf("wideTypes names %s, which does not exist", name)
	}
}

func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return "?"
}
