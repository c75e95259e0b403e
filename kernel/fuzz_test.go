package kernel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

// local are commands that never come over a wire: only the process that holds
// the file gives them.
func local() []string {
	return []string{"state.restore", "state.repair", "state.prune", "state.compact"}
}

// commands are the names of all commands there are: each type with a decide
// method, by the name it gives itself.
func commands() []string {
	files, err := filepath.Glob("*.go")
	if err != nil {
		panic(err)
	}
	decides, names := map[string]bool{}, map[string]string{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			panic(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || len(fn.Recv.List) != 1 {
				continue
			}
			star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			typ := star.X.(*ast.Ident).Name
			switch fn.Name.Name {
			case "decide":
				decides[typ] = true
			case "Name":
				if ret, ok := fn.Body.List[0].(*ast.ReturnStmt); ok {
					if lit, ok := ret.Results[0].(*ast.BasicLit); ok {
						names[typ], _ = strconv.Unquote(lit.Value)
					}
				}
			}
		}
	}
	var out []string
	for typ, name := range names {
		if decides[typ] && !slices.Contains(local(), name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// filled is a value of a command's type with something in every field.
func filled(t testing.TB, v any) {
	t.Helper()
	var fill func(reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.Map:
			one := reflect.New(v.Type().Elem()).Elem()
			fill(one)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("x"), one)
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(1)
		case reflect.Uint64:
			v.SetUint(1)
		default:
			t.Fatalf("no way to fill a %s", v.Type())
		}
	}
	fill(reflect.ValueOf(v).Elem())
}

func TestCommandsAreListed(t *testing.T) {
	if n := len(commands()); n < 26 {
		t.Fatalf("%d commands were found: %v", n, commands())
	}
	for _, name := range commands() {
		c := kernel.NewCommand(name)
		if c == nil || c.Name() != name {
			t.Fatalf("%s is no command: %v", name, c)
		}
		filled(t, c)
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		back, err := kernel.DecodeCommand(name, b)
		if err != nil || !reflect.DeepEqual(back, c) {
			t.Fatalf("%s with every field set comes back as %s, %v", name, asJSON(back), err)
		}
	}
	for _, name := range append(local(), "todo.steal", "", "Todo.Add") {
		if kernel.NewCommand(name) != nil {
			t.Fatalf("the name %q gives a command", name)
		}
	}
}

// wild are JSON texts made to fool one reader or another.
func wild() map[string]string {
	return map[string]string{
		"two keys": `{"goal":"a","goal":"b"}`, "two keys, one escaped": `{"goal":"a","g\u006fal":"b"}`, "two keys inside": `{"options":[{"id":"a","id":"b"}]}`,
		"capital": `{"Goal":"a"}`, "long s": `{"gate":"a","que` + "\u017f" + `tion":"x"}`, "Kelvin": `{"` + "\u212a" + `ind":"x"}`, "escaped capital": `{"\u0047oal":"a"}`,
		"unknown": `{"goal":"a","colour":"red"}`, "empty key": `{"":1}`, "space in key": `{"goal ":"a"}`, "NUL in key": `{"goal\u0000":"a"}`,
		"deep arrays": strings.Repeat("[", 10_000), "deep and closed": strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"deep objects": strings.Repeat(`{"goal":`, 10_000) + "1" + strings.Repeat("}", 10_000), "NUL": "{\"goal\":\"a\x00\"}", "BOM": "\ufeff{}",
		"invalid UTF-8": "{\"goal\":\"\xff\"}", "overlong": "{\"goal\":\"\xc0\x80\"}", "raw surrogate": "{\"goal\":\"\xed\xa0\x80\"}",
		"lone high surrogate": `{"goal":"\ud800"}`, "lone low surrogate": `{"goal":"\udc00"}`, "two high": `{"goal":"\ud800\ud800"}`, "reversed pair": `{"goal":"\udc00\ud800"}`,
		"high and letter": `{"goal":"\ud800a"}`, "high, then escape": `{"goal":"\ud800\n"}`, "high at the end": `{"goal":"\ud800`,
		"more behind": `{"goal":"a"} {}`, "comma": `{"goal":"a",}`, "cut": `{"goal":`, "cut string": `{"goal":"`, "cut escape": `{"goal":"\`, "empty": ``, "spaces": `   `,
		"comment": `{/* */"goal":"a"}`, "single quotes": `{'goal':'a'}`, "wrong type": `{"goal":7}`, "raw newline": "{\"goal\":\"a\nb\"}",
		"number too large": `{"goal":"a","slots":1e400}`, "not a number": `{"goal":"a","slots":NaN}`, "fraction": `{"goal":"a","slots":1.5}`, "array": `["a"]`, "string": `"a"`,
	}
}

func TestWildJSON(t *testing.T) {
	names := commands()
	for name, in := range wild() {
		for _, cmd := range names {
			c, err := kernel.DecodeCommand(cmd, []byte(in))
			if e := kernel.AsError(err); e == nil || e.Class != kernel.Invalid || e.Code != "bad_json" || badWords(e) != "" {
				t.Errorf("%s, %s: %s %v", name, cmd, asJSON(c), err)
			}
		}
	}
	if c, err := kernel.DecodeCommand("gate.answer", []byte(`{"gate":"\ud83d\ude00","reason":"\\ud800 is text"}`)); err != nil || c.(*kernel.AnswerGate).Gate != "\U0001f600" || c.(*kernel.AnswerGate).Reason != `\ud800 is text` {
		t.Errorf("a pair of surrogates gives %s, %v", asJSON(c), err)
	}
}

// keysOf lists the keys of every object, and says whether one has a key twice.
func keysOf(data []byte) (keys []string, twice bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	type frame struct {
		seen map[string]bool // nil: an array
		key  bool            // a key comes next
	}
	var stack []frame
	value := func() {
		if n := len(stack); n > 0 && stack[n-1].seen != nil {
			stack[n-1].key = true
		}
	}
	for {
		tok, err := d.Token()
		if err != nil {
			return keys, twice
		}
		top := len(stack) - 1
		switch tok {
		case json.Delim('{'):
			stack = append(stack, frame{seen: map[string]bool{}, key: true})
			continue
		case json.Delim('['):
			stack = append(stack, frame{})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
			value()
			continue
		}
		if s, ok := tok.(string); ok && top >= 0 && stack[top].key {
			keys, twice = append(keys, s), twice || stack[top].seen[s]
			stack[top].seen[s], stack[top].key = true, false
			continue
		}
		value()
	}
}

// accepted checks what any strictly decoded text must be.
func accepted(t *testing.T, data []byte, v any, decode func([]byte) (any, error)) {
	t.Helper()
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		t.Fatalf("%q was accepted", data)
	}
	keys, twice := keysOf(data)
	if twice {
		t.Fatalf("%q has a key twice and was accepted", data)
	}
	for _, k := range keys {
		if k == "" || strings.Trim(k, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Fatalf("%q has the key %q and was accepted", data, k)
		}
	}
	b, err := kernel.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(`\ufffd`)) && !bytes.Contains(bytes.ToLower(data), []byte(`\ufffd`)) && !bytes.Contains(data, []byte("\ufffd")) {
		t.Fatalf("%q was read as other characters: %s", data, b)
	}
	back, err := decode(b)
	if err != nil {
		t.Fatalf("%q was accepted, its encoding %s is not: %v", data, b, err)
	}
	if again := asJSON(back); again != string(b) {
		t.Fatalf("%q is %s, and that is %s", data, b, again)
	}
}

func FuzzDecodeCommand(f *testing.F) {
	names := commands()
	for i, name := range names {
		c := kernel.NewCommand(name)
		filled(f, c)
		f.Add(i, []byte(asJSON(c)))
		f.Add(i, []byte(`{"goal":"site","agent":"ann","todo":"todo_x","turn":"t1"}`))
	}
	for _, in := range wild() {
		if len(in) < 1000 {
			f.Add(1, []byte(in))
		}
	}
	now := start
	st := storetest.NewModel(func() int64 { return now })
	k, err := kernel.Open(context.Background(), st, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range []kernel.Command{&kernel.CreateGoal{Goal: "site", Objective: "x", Agents: []string{"ann", "bob"}}, &kernel.CreateGoal{Goal: "x", Objective: "x", Agents: []string{"x"}},
		&kernel.OpenGate{Goal: "x", Question: "?", LaneOf: "x"}, &kernel.OpenTurn{Goal: "x", Turn: "x"}} {
		if _, err := k.Do(context.Background(), c, owner()); err != nil {
			f.Fatal(err)
		}
	}
	undo := errors.New("undo")
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		if i < 0 {
			t.Skip()
		}
		name := names[i%len(names)]
		c, err := kernel.DecodeCommand(name, data)
		if err != nil {
			if e := kernel.AsError(err); e.Class != kernel.Invalid || badWords(e) != "" || len(e.Message) > 400 {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		accepted(t, data, c, func(b []byte) (any, error) { return kernel.DecodeCommand(name, b) })
		for _, opt := range []kernel.Options{owner(), cli(), {By: kernel.Actor{Kind: kernel.ByBot}}} {
			_ = st.Update(context.Background(), func(tx store.Tx) error {
				if _, err := k.DoTx(tx, c, opt); err != nil {
					if e := kernel.AsError(err); e.Class == kernel.Internal || badWords(e) != "" {
						t.Fatalf("%s %q: %v, %v, %s", name, data, e, e.Unwrap(), badWords(e))
					}
				}
				return undo
			})
		}
	})
}

func FuzzDecodeStrict(f *testing.F) {
	for _, in := range wild() {
		if len(in) < 1000 {
			f.Add([]byte(in))
		}
	}
	f.Add([]byte(`{"a":[1,2.5,-3e2,true,null,"\ud83d\ude00"],"b":{"c":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if err := kernel.DecodeStrict(data, &v); err != nil {
			if e := kernel.AsError(err); e.Class != kernel.Invalid || badWords(e) != "" {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		accepted(t, data, v, func(b []byte) (any, error) {
			var again any
			err := kernel.DecodeStrict(b, &again)
			return again, err
		})
	})
}
