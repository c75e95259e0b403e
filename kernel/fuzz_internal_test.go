package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

// hostile are texts that callers use to confuse readers, parsers and disks.
func hostile() map[string]string {
	return map[string]string{
		"huge": strings.Repeat("a", 1<<20), "huge and wide": strings.Repeat("\U0001f600", 1<<18), "invalid UTF-8": "a\xff\xfeb",
		"overlong": "\xc0\xaf", "surrogate bytes": "\xed\xa0\x80", "NUL": "a\x00b", "escape": "\x1b[2Jgone", "bell": "\a", "CR": "a\rb",
		"override": "safe\u202egnp.exe", "isolate": "\u2066a\u2069", "embedding": "\u202ba", "C1": "a\u0085b", "delete": "a\x7fb",
	}
}

func FuzzCheckText(f *testing.F) {
	for _, s := range hostile() {
		if len(s) < 1000 {
			f.Add(s, 240, false)
		}
	}
	f.Add("Ship it — 发布", 240, false)
	f.Add("two\nlines\tand a tab", 8192, true)
	f.Fuzz(func(t *testing.T, s string, max int, body bool) {
		if max < 0 || max > 10_000 {
			t.Skip()
		}
		if err := checkText("title", s, max, body); err == nil {
			if !utf8.ValidString(s) || utf8.RuneCountInString(s) > max || strings.ContainsAny(s, "\x00\x1b\x7f\r\u202e\u2066") || !body && strings.ContainsAny(s, "\n\t") {
				t.Fatalf("%q passed", s)
			}
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var back string
			if err := json.Unmarshal(b, &back); err != nil || back != s {
				t.Fatalf("%q comes back as %q", s, back)
			}
		} else if e := AsError(err); e.Class != Invalid || e.Code == "" || len(e.Message) > 500 || strings.ContainsAny(e.Message, "\x00\x1b\x7f\r\n\u202e\u2066") || !utf8.ValidString(e.Message) {
			t.Fatalf("the refusal of %q is %q %q", s, e.Code, e.Message)
		}
		if shown := show(s); utf8.RuneCountInString(shown) > 63 || !utf8.ValidString(shown) || strings.ContainsAny(shown, "\x00\x1b\x7f\r\n\u202e\u2066") {
			t.Fatalf("%q is shown as %q", s, shown)
		}
	})
}

func FuzzIDs(f *testing.F) {
	for _, s := range []string{"site", "a", "", "-a", "A", "a b", "ａ", "a/../b", "x.y:z@w-1", "K\u212a", strings.Repeat("a", 81)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, err := range map[string]error{"slug": checkSlug("goal_id", s), "agent": checkAgentID(s), "token": checkToken("turn_id", s, 120), "resume": checkResume(s)} {
			if err == nil && name != "resume" && (s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })) {
				t.Fatalf("%s: %q passed", name, s)
			}
			if err == nil && name == "slug" && strings.ContainsAny(s, "/.\\~") {
				t.Fatalf("%q may name a folder", s)
			}
			if err != nil && AsError(err).Class != Invalid {
				t.Fatalf("%s: %q gives %v", name, s, err)
			}
		}
		if checkResume(s) == nil && s != "" && (len(s) > 200 || !strings.Contains(s, ":")) {
			t.Fatalf("resume %q passed", s)
		}
	})
}

func FuzzCodeDigest(f *testing.F) {
	for _, s := range []string{"ABCD-EFGH", " abcd efgh ", "", "\xff", strings.Repeat("-", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d := CodeDigest(s)
		if len(d) != 64 || strings.Trim(d, "0123456789abcdef") != "" {
			t.Fatalf("the digest of %q is %q", s, d)
		}
		// People type the same code with spaces, dashes and capitals.
		if typed := " " + strings.ReplaceAll(s, "-", " - ") + " "; CodeDigest(typed) != d {
			t.Fatalf("%q and %q differ", s, typed)
		}
	})
}

// FuzzRow damages one row of a living workspace: whatever reads it then answers
// or says that the state is damaged, and never panics.
func FuzzRow(f *testing.F) {
	st := lived(f)
	keys, vals := oneOfEach(f, st)
	for i := range keys {
		f.Add(i, []byte(vals[i]))
	}
	f.Fuzz(func(t *testing.T, i int, val []byte) {
		if i < 0 || i >= len(keys) {
			t.Skip()
		}
		damage(t, st, keys[i], val)
	})
}

func TestDamagedRows(t *testing.T) {
	st := lived(t)
	keys, vals := oneOfEach(t, st)
	for i, key := range keys {
		for _, val := range append(damaged(), without(vals[i])...) {
			damage(t, st, key, []byte(val))
		}
	}
}

// without is a row with each of its fields left out, and with each status and
// class that needs other fields beside it.
func without(row string) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(row), &fields) != nil {
		return nil
	}
	variant := func(change func(m map[string]json.RawMessage)) string {
		m := maps.Clone(fields)
		change(m)
		b, _ := json.Marshal(m)
		return string(b)
	}
	var out []string
	for f := range fields {
		out = append(out, variant(func(m map[string]json.RawMessage) { delete(m, f) }))
	}
	for f, values := range map[string][]string{"status": {"done", "superseded", "answered", "open", "odd"}, "class": {"monitor", "work"}} {
		if _, ok := fields[f]; !ok {
			continue
		}
		for _, v := range values {
			out = append(out, variant(func(m map[string]json.RawMessage) { m[f] = json.RawMessage(`"` + v + `"`) }))
		}
	}
	return out
}

// oneOfEach is the first and the last row of each table.
func oneOfEach(t testing.TB, st store.Store) (keys, vals []string) {
	t.Helper()
	table := func(k string) string { part, _, _ := strings.Cut(k, "\x00"); return part }
	err := st.View(context.Background(), func(tx store.ReadTx) error {
		return tx.Scan(store.Range{Limit: 10_000}, func(k, v []byte) bool {
			if n := len(keys); n > 1 && table(keys[n-1]) == table(string(k)) && table(keys[n-2]) == table(string(k)) {
				keys, vals = keys[:n-1], vals[:n-1]
			}
			keys, vals = append(keys, string(k)), append(vals, string(v))
			return true
		})
	})
	if err != nil || len(keys) < 40 {
		t.Fatalf("%d rows, %v", len(keys), err)
	}
	return keys, vals
}

func damaged() []string {
	return []string{"", "null", "{}", "[]", "7", "{", "\x00\xff", `{"id":7}`, `{"goal":"site"}`, `{"status":"done"}`, `{"id":"x","goal":"site","class":"monitor","status":"open"}`,
		`{"id":"x","status":"done"}`, `{"id":"x","status":"answered"}`, `{"seq":1,"events":[{"type":"todo_completed","todo":{"id":"x"}}]}`, `{"until_steady":"x"}`, "site"}
}

// lived is a workspace in which one row of every table stands.
func lived(t testing.TB) store.Store {
	t.Helper()
	st := storetest.NewModel(func() int64 { return 1_800_000_000_000 })
	k, err := Open(context.Background(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	own := Options{By: Actor{Kind: ByOwner, ID: "owner", Surface: "test"}, Key: ""}
	do := func(c Command) map[string]any {
		rec, err := k.Do(context.Background(), c, own)
		if err != nil {
			t.Fatalf("%s: %v", c.Name(), err)
		}
		var out map[string]any
		if err := json.Unmarshal(rec.Result, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	id := func(m map[string]any) string { return m["todo_id"].(string) }
	do(&CreateGoal{Goal: "site", Objective: "x", Agents: []string{"ann", "bob"}})
	first := id(do(&AddTodo{Goal: "site", Title: "first"}))
	second := id(do(&AddTodo{Goal: "site", Title: "second", After: []string{first}}))
	third := id(do(&AddTodo{Goal: "site", Title: "third"}))
	do(&AddTodo{Goal: "site", Title: "watch", Class: Monitor, CadenceMS: 3_600_000, WatchOnly: true})
	do(&AddTodo{Goal: "site", Title: "ask", Class: Ask})
	g := do(&OpenGate{Goal: "site", Question: "Go?", Todos: []string{third}})["gate_id"].(string)
	do(&AnswerGate{Gate: g, Option: "approve"})
	do(&OpenGate{Goal: "site", Question: "Go on?", Todos: []string{second}})
	do(&OpenGate{Goal: "site", Question: "Bob?", LaneOf: "bob"})
	do(&OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true})
	do(&CompleteTodo{Goal: "site", Agent: "ann", Turn: "t1", Todo: first, Evidence: []EvidenceArg{{Summary: "ok"}}})
	do(&SpendSlot{Goal: "site", Agent: "ann", Turn: "t1"})
	do(&Refresh{Goal: "site", Agent: "ann", Outcome: Progress})
	do(&ClaimTodo{Goal: "site", Agent: "ann", Todo: third})
	do(&CreateLinkCode{Digest: CodeDigest("abcd")})
	own.By.Kind = ByBot
	do(&RedeemLinkCode{Digest: CodeDigest("abcd"), Platform: "slack", Connection: "c", Tenant: "t", User: "u", Private: "d"})
	return st
}

var errUndo = errors.New("undo")

// damage puts val under key in a transaction that is rolled back, and in between
// runs everything that could stumble over it.
func damage(t *testing.T, st store.Store, key string, val []byte) {
	k := &Kernel{st: st}
	commands := []Command{
		&AddTodo{Goal: "site", Title: "x"}, &PauseGoal{Goal: "site"}, &OpenTurn{Goal: "site", Agent: "ann", Turn: "t9", Claim: true}, &OpenTurn{Goal: "site", Agent: "bob", Turn: "t9"},
		&Refresh{Goal: "site", Agent: "ann", Turn: "t1", Outcome: Progress}, &SpendSlot{Goal: "site", Agent: "ann"}, &SpendSlot{Goal: "site", Agent: "ann", Turn: "t1"},
		&SettleLink{Platform: "slack", Connection: "c", Tenant: "t", User: "u"}, &RedeemLinkCode{Digest: CodeDigest("abcd")}, &AnswerGate{Goal: "site", Gate: "G-2", Option: "approve"},
		&AnswerGate{Goal: "site", Gate: "G-1", Option: "approve"}, &WithdrawGate{Goal: "site", Gate: "G-3"}, &ReleaseGate{Goal: "site", Gate: "G-1"}, &CloseSession{Goal: "site", Session: "cli:ann"},
	}
	err := st.View(context.Background(), func(tx store.ReadTx) error {
		r := Reader{tx: tx}
		for _, list := range []string{ListReady, ListHeld, ListGated, ListAfter, ListDone, ListMonitor, ListAsk} {
			for _, v := range r.List("site", list, "", 10) {
				commands = append(commands, &ClaimTodo{Goal: "site", Agent: "ann", Todo: v.ID}, &CompleteTodo{Goal: "site", Agent: "ann", Todo: v.ID, Next: "n"}, &SupersedeTodo{Goal: "site", Agent: "ann", Todo: v.ID, Next: "n"},
					&UpdateTodo{Goal: "site", Agent: "ann", Todo: v.ID, ClearClaim: true}, &AddTodo{Goal: "site", Title: "x", After: []string{v.ID}})
			}
		}
		return r.err
	})
	if err != nil {
		t.Fatal(err)
	}
	fine := func(what string, err error) {
		if e := AsError(err); e != nil && e.Class == Internal {
			t.Fatalf("%q = %q: %s: %v: %v", key, val, what, err, e.Unwrap())
		}
	}
	for _, cmd := range commands {
		err := st.Update(context.Background(), func(tx store.Tx) error {
			if err := tx.Put([]byte(key), val); err != nil {
				return err
			}
			_, err := k.DoTx(tx, cmd, Options{By: Actor{Kind: ByOwner, ID: "owner"}})
			fine(cmd.Name(), err)
			return errUndo
		})
		if !errors.Is(err, errUndo) {
			t.Fatal(err)
		}
	}
	_ = st.Update(context.Background(), func(tx store.Tx) error {
		_ = tx.Put([]byte(key), val)
		for _, a := range []string{"ann", "bob"} {
			r, err := k.ReaderOf(tx)
			if fine("reader", err); err != nil {
				continue
			}
			_, err = r.Decide(Caller{Goal: "site", Agent: a, Why: true})
			fine("decide", err)
		}
		return errUndo
	})
	if key[:2] != "j\x00" && key != tblHead {
		return // replay reads nothing else
	}
	copied := copyWith(t, st, key, val)
	defer func() { _ = copied.Close() }()
	to := storetest.NewModel(nil)
	defer func() { _ = to.Close() }()
	err = Replay(context.Background(), copied, to)
	if fine("replay", err); err == nil && !sameRow(st, copied, key) {
		t.Fatalf("%q = %q: the journal was changed and replays as if nothing had been", key, val)
	}
}

func sameRow(a, b store.Store, key string) bool {
	read := func(st store.Store) (out string) {
		_ = st.View(context.Background(), func(tx store.ReadTx) error {
			v, err := tx.Get([]byte(key))
			out = string(v)
			return err
		})
		return out
	}
	return read(a) == read(b)
}

// copyWith is a copy of a store with one row changed.
func copyWith(t testing.TB, st store.Store, key string, val []byte) store.Store {
	t.Helper()
	to := storetest.NewModel(nil)
	err := st.View(context.Background(), func(from store.ReadTx) error {
		return to.Update(context.Background(), func(tx store.Tx) error {
			var bad error
			err := from.Scan(store.Range{Limit: 10_000}, func(k, v []byte) bool { bad = tx.Put(k, v); return bad == nil })
			return errors.Join(err, bad, tx.Put([]byte(key), val))
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
