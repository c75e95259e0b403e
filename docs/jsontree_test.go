package docs_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// node is a JSON value that keeps the order of its fields.
type node struct {
	names []string // of an object
	parts []*node
	kind  byte // { [ or 0 for a plain value
	value any
}

func parseJSON(s string) (*node, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	return parseNode(d)
}

func parseNode(d *json.Decoder) (*node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return &node{value: t}, nil
	}
	n := &node{kind: byte(open)}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			n.names = append(n.names, name.(string))
		}
		part, err := parseNode(d)
		if err != nil {
			return nil, err
		}
		n.parts = append(n.parts, part)
	}
	_, err = d.Token()
	return n, err
}

// without leaves fields of the object out.
func (n *node) without(names ...string) *node {
	out := &node{kind: n.kind}
	for i, name := range n.names {
		if !slices.Contains(names, name) {
			out.names, out.parts = append(out.names, name), append(out.parts, n.parts[i])
		}
	}
	return out
}

// firsts keeps the first entry of each list, and of lists of plain values all.
func (n *node) firsts() *node {
	out := &node{names: n.names, kind: n.kind, value: n.value}
	for i, p := range n.parts {
		if n.kind == '[' && i > 0 && p.kind != 0 {
			break
		}
		out.parts = append(out.parts, p.firsts())
	}
	return out
}

// rows are the fields with their types, a list's entries under name[].
func (n *node) rows(at string) [][2]string {
	var out [][2]string
	switch {
	case n.kind == '{':
		if at != "" {
			out = append(out, [2]string{at, "object"})
			at += "."
		}
		for i, name := range n.names {
			out = append(out, n.parts[i].rows(at+name)...)
		}
		return out
	case n.kind == '[' && len(n.parts) > 0 && n.parts[0].kind != 0:
		return append([][2]string{{at, "list"}}, n.parts[0].rows(at + "[]")[1:]...)
	case n.kind == '[' && len(n.parts) > 0:
		return [][2]string{{at, "list of " + n.parts[0].typ() + "s"}}
	case n.kind == '[':
		return [][2]string{{at, "list"}}
	}
	return [][2]string{{at, n.typ()}}
}

func (n *node) typ() string {
	switch n.value.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}

// line is the value on one line.
func (n *node) line() string {
	parts := make([]string, 0, len(n.parts))
	for i, p := range n.parts {
		s := p.line()
		if n.kind == '{' {
			s = fmt.Sprintf("%q: %s", n.names[i], s)
		}
		parts = append(parts, s)
	}
	switch n.kind {
	case '{':
		return "{" + strings.Join(parts, ", ") + "}"
	case '[':
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(n.value) // it came out of a decoder
	return strings.TrimSpace(b.String())
}

// pretty breaks what is too long for a line.
func (n *node) pretty(indent string) string {
	if s := n.line(); len(s) <= 96 && indent != "" || n.kind == 0 || len(n.parts) == 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(string(n.kind) + "\n")
	for i, p := range n.parts {
		b.WriteString(indent + "  ")
		if n.kind == '{' {
			fmt.Fprintf(&b, "%q: ", n.names[i])
		}
		b.WriteString(p.pretty(indent + "  "))
		if i < len(n.parts)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	return b.String() + indent + string(n.kind+2)
}

// fieldOf follows a path of fields to a plain value.
func fieldOf(t *testing.T, s, path string) string {
	t.Helper()
	n, err := parseJSON(s)
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(path, ".") {
		i := slices.Index(n.names, name)
		if i < 0 {
			t.Fatalf("there is no %s in %s", path, s)
		}
		n = n.parts[i]
	}
	return fmt.Sprint(n.value)
}
