package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
	"loopx/kernel/view"
)

const start = int64(1_800_000_000_000)

// house is a workspace in which something of everything stands.
type house struct {
	view.Local
	t                        testing.TB
	st                       store.Store
	now                      int64
	held, ready, gated, done string
	gate, token              string
}

func (h *house) do(cmd kernel.Command, by string) map[string]any {
	h.t.Helper()
	rec, err := h.Do(context.Background(), cmd, kernel.Options{By: kernel.Actor{Kind: by, ID: by, Name: "Wei", Surface: "test"}})
	if err != nil {
		h.t.Fatalf("%s: %v", cmd.Name(), err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(rec.Result, &out); err != nil {
		h.t.Fatal(err)
	}
	return out
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, now: start}
	h.st = storetest.NewModel(func() int64 { return h.now })
	t.Cleanup(func() { _ = h.st.Close() })
	k, err := kernel.Open(context.Background(), h.st, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.K = k
	const cli, own = kernel.ByCLI, kernel.ByOwner
	todo := func(title string, p int) string {
		return h.do(&kernel.AddTodo{Goal: "site", Title: title, Priority: &p}, cli)["todo_id"].(string)
	}
	h.do(&kernel.CreateGoal{Goal: "site", Objective: "Ship the page\nwith prices", Agents: []string{"ann", "bob"}}, cli)
	h.held = todo("in hand", 0)
	h.token = h.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true}, cli)["lease"].(map[string]any)["token"].(string)
	h.do(&kernel.Refresh{Goal: "site", Agent: "ann", Turn: "t1", Outcome: kernel.Progress, Evidence: []kernel.EvidenceArg{{Summary: "half of it"}}}, cli)
	h.ready, h.gated, h.done = todo("next", 1), todo("publish", 2), todo("done", 3)
	h.do(&kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: h.done, Evidence: []kernel.EvidenceArg{{Summary: "tests pass"}}}, cli)
	h.gate = h.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Publish?", Kind: "publish", Todos: []string{h.gated}}, cli)["gate_id"].(string)
	h.do(&kernel.AddTodo{Goal: "site", Title: "watch", Class: "monitor", CadenceMS: 3_600_000, WatchOnly: true}, cli)
	h.do(&kernel.AddTodo{Goal: "site", Title: "parked", Deferred: true, ResumeWhen: "event:x"}, cli)
	h.do(&kernel.AddTodo{Goal: "site", Title: "please send the logo", Class: "ask"}, cli)
	h.do(&kernel.CreateGoal{Goal: "blog", Objective: "Write", Agents: []string{"ann"}}, cli)
	h.do(&kernel.PauseGoal{Goal: "blog"}, cli)
	h.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcd")}, own)
	return h
}

// queries are the names of all queries: each type with a run method.
func queries(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	runs, names := map[string]bool{}, map[string]string{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			typ := star.X.(*ast.Ident).Name
			switch fn.Name.Name {
			case "run":
				runs[typ] = true
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
		if runs[typ] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	if len(out) < 14 {
		t.Fatalf("only %d queries were found: %v", len(out), out)
	}
	return out
}

func rows(t testing.TB, st store.Store) string {
	t.Helper()
	var b strings.Builder
	if err := st.View(context.Background(), func(tx store.ReadTx) error {
		return tx.Scan(store.Range{Limit: 1 << 20}, func(k, v []byte) bool {
			b.Write(k)
			b.Write(v)
			return true
		})
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every view answers or refuses in words, changes nothing, is the same twice and
// never shows a lease token.
func TestEveryView(t *testing.T) {
	h := newHouse(t)
	before := rows(t, h.st)
	for _, name := range queries(t) {
		answered := 0
		for _, args := range []string{`{}`, `{"goal":"site"}`, `{"goal":"site","agent":"bob"}`, `{"goal":"site","gate":"G-1"}`, `{"goal":"site","todo":"` + h.held + `"}`, `{"goal":"sites"}`, `{"todo":"none"}`, `{"gate":"none"}`, `{"goal":"site","limit":1}`, `{"text":"page"}`, `{"goal":"site","agent":"ann","turn":"t1"}`, `{"goal":"site","limit":-1}`} {
			q, err := view.DecodeQuery(name, []byte(args))
			if err != nil {
				if kernel.AsError(err).Class != kernel.Invalid {
					t.Errorf("%s %s: %v", name, args, err)
				}
				continue
			}
			raw, err := h.Query(context.Background(), q)
			if err != nil {
				if e := kernel.AsError(err); e.Class != kernel.Invalid && e.Class != kernel.NotFound {
					t.Errorf("%s %s: %v, %v", name, args, err, e.Unwrap())
				}
				continue
			}
			answered++
			again, err := h.Query(context.Background(), q)
			if err != nil || string(again) != string(raw) {
				t.Errorf("%s %s: asked twice\n%s\n%s", name, args, raw, again)
			}
			if strings.Contains(string(raw), h.token) {
				t.Errorf("%s %s shows a lease token", name, args)
			}
		}
		if answered == 0 {
			t.Errorf("no arguments made %s answer", name)
		}
	}
	if rows(t, h.st) != before {
		t.Error("a view changed a row")
	}
	if view.NewQuery("secrets") != nil {
		t.Error("an unknown name gives a query")
	}
}

func ask[T any](t *testing.T, h *house, q view.Query) T {
	t.Helper()
	v, err := view.Ask[T](context.Background(), h, q)
	if err != nil {
		t.Fatalf("%s: %v", q.Name(), err)
	}
	return v
}

// The five groups hold what belongs to them, and each goal its five lines.
func TestStatusGroups(t *testing.T) {
	h := newHouse(t)
	v := ask[view.StatusView](t, h, &view.Status{})
	ids := func(items []view.Item) string {
		var out []string
		for _, i := range items {
			out = append(out, i.Kind+" "+i.Title)
		}
		return strings.Join(out, "; ")
	}
	for name, got := range map[string][2]string{
		"needs you": {ids(v.NeedsYou), "gate Publish?; ask please send the logo"}, "running": {ids(v.Running), "todo in hand"}, "watching": {ids(v.Watching), "watch watch"},
		"scheduled": {ids(v.Scheduled), "ready next; deferred parked"}, "stopped": {ids(v.Stopped), "goal Write"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %s, want %s", name, got[0], got[1])
		}
	}
	site := v.Goals[slices.IndexFunc(v.Goals, func(s view.Summary) bool { return s.ID == "site" })]
	if site.Objective != "Ship the page" || !strings.Contains(site.Next, "in hand") || !strings.Contains(site.NeedsYou, "G-1") || !strings.Contains(site.Evidence, "tests pass") || !strings.HasPrefix(site.Continues, "yes") {
		t.Errorf("the goal's lines are %+v", site)
	}
	if site.Counts.Open != 3 || site.Counts.Claimed != 1 || site.Counts.Done != 1 || site.Gates != 1 {
		t.Errorf("the goal's counters are %+v", site.Counts)
	}
	for _, a := range site.Agents {
		if a.Running != (a.ID == "ann") {
			t.Errorf("%s is shown running: %v", a.ID, a.Running)
		}
	}
}

// One gate in every state, with what it blocks and what it let go.
func TestGateView(t *testing.T) {
	h := newHouse(t)
	show := func() view.Gate { return ask[view.Gate](t, h, &view.GateOne{Gate: h.gate}) }
	open := show()
	if open.Status != "open" || !open.Protected || len(open.Blocks.Todos) != 1 || open.Blocks.Todos[0].ID != h.gated || len(open.Options) != 3 || open.Digest == "" {
		t.Errorf("open: %+v", open)
	}
	h.do(&kernel.AnswerGate{Gate: h.gate, Option: "approve", Digest: open.Digest}, kernel.ByOwner)
	if v := show(); v.Status != "answered" || v.Answer == nil || v.Answer.Name == "" || len(v.Blocks.Todos) != 1 || v.Taken != nil {
		t.Errorf("answered: %+v", v)
	}
	if v := ask[view.Todo](t, h, &view.TodoOne{Todo: h.gated}); v.StateOf != "ready" || v.Status != "open" || len(v.BlockedBy) != 0 {
		t.Errorf("released: %+v", v)
	}
	exp := h.do(&kernel.OpenGate{Goal: "site", Question: "Now?", Todos: []string{h.ready}, Expires: h.now + 1000}, kernel.ByCLI)["gate_id"].(string)
	h.now += 1000
	if v := ask[view.Gate](t, h, &view.GateOne{Gate: exp}); v.Status != "expired" {
		t.Errorf("expired: %+v", v)
	}
	if v := ask[view.Todo](t, h, &view.TodoOne{Todo: h.ready}); v.StateOf != "gated" || v.Status != "blocked" || v.BlockedBy[0].State != "expired" {
		t.Errorf("behind an expired gate: %+v", v)
	}
}

// The columns of a goal's page and the lists of todos hold each todo once.
func TestEachTodoOnce(t *testing.T) {
	h := newHouse(t)
	page := ask[view.GoalPageView](t, h, &view.GoalPage{Goal: "site"})
	seen := map[string]int{}
	for _, list := range [][]view.Todo{page.ToDo, page.InProgress, page.Blocked, page.Done, page.Later} {
		for _, v := range list {
			seen[v.ID]++
		}
	}
	all := ask[view.TodosView](t, h, &view.Todos{Goal: "site", Status: "all"})
	if len(all.Todos) != all.Counts.Todos || len(seen) != len(all.Todos) || all.More {
		t.Errorf("the page shows %d, the list %d of %d", len(seen), len(all.Todos), all.Counts.Todos)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s stands in %d columns", id, n)
		}
	}
	if cut := ask[view.TodosView](t, h, &view.Todos{Goal: "site", Status: "all", Limit: 2}); len(cut.Todos) != 2 || !cut.More {
		t.Errorf("cut to 2: %d, more %v", len(cut.Todos), cut.More)
	}
}

func FuzzDecodeQuery(f *testing.F) {
	names := queries(f)
	h := newHouse(f)
	for i := range names {
		f.Add(i, []byte(`{"goal":"site"}`))
		f.Add(i, []byte(`{"goal":"site","agent":"bob","gate":"G-1","limit":3}`))
		f.Add(i, []byte(`{"Goal":"site"}`))
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		if i < 0 {
			t.Skip()
		}
		name := names[i%len(names)]
		q, err := view.DecodeQuery(name, data)
		if err != nil {
			if kernel.AsError(err).Class != kernel.Invalid {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		b, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		back, err := view.DecodeQuery(name, b)
		if again, merr := json.Marshal(back); err != nil || merr != nil || string(again) != string(b) {
			t.Fatalf("%q is %s, and that is %s, %v", data, b, again, errors.Join(err, merr))
		}
		if _, err := h.Query(context.Background(), q); err != nil {
			if e := kernel.AsError(err); e.Class == kernel.Internal || e.Class == kernel.Unavailable {
				t.Fatalf("%s %q: %v, %v", name, data, err, e.Unwrap())
			}
		}
	})
}
