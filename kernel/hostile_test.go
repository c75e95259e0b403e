package kernel_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"loopx/kernel"
)

// office is a goal in which one command of every name can pass.
type office struct {
	*world
	free, held, wait, gated, parked, done, watch string // todos
	gate, old                                    string // open, withdrawn
	eve, bind                                    string // a linked approver, a binding
	token                                        string // of held
}

func newOffice(t testing.TB) *office {
	t.Helper()
	o := &office{world: newWorld(t)}
	o.goal("ann", "bob")
	o.held = o.todo("in hand", 1)
	lease := o.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true}, cli())["lease"].(map[string]any)
	o.token = lease["token"].(string)
	o.do(&kernel.Refresh{Goal: "site", Agent: "ann", Turn: "t1", Outcome: kernel.Progress}, cli())
	o.free, o.gated = o.todo("next", 2), o.todo("publish", 0)
	o.wait = o.todo("later", 2, o.free)
	o.parked = o.do(&kernel.AddTodo{Goal: "site", Title: "parked", Deferred: true, ResumeWhen: "event:x"}, cli())["todo_id"].(string)
	o.done = o.todo("done", 3)
	o.watch = o.do(&kernel.AddTodo{Goal: "site", Title: "watch", Class: "monitor", CadenceMS: 60_000, WatchOnly: true}, cli())["todo_id"].(string)
	o.do(&kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: o.done}, cli())
	o.gate = o.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Publish?", Todos: []string{o.gated}}, cli())["gate_id"].(string)
	o.old = o.do(&kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Old?", Todos: []string{o.parked}}, cli())["gate_id"].(string)
	o.do(&kernel.WithdrawGate{Gate: o.old, Agent: "ann"}, cli())
	o.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcd-efgh")}, owner())
	o.do(&kernel.RedeemLinkCode{Digest: kernel.CodeDigest("abcd-efgh"), Platform: "slack", Connection: "c", Tenant: "t", User: "u", Private: "d"}, bot())
	o.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("ijkl-mnop")}, owner())
	o.people()
	return o
}

func bot() kernel.Options {
	return kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "slack"}}
}

// one is a command of the name that passes in the office, and who gives it.
func (o *office) one(name string) (kernel.Command, kernel.Options) {
	note := "half"
	switch name {
	case "goal.create":
		return &kernel.CreateGoal{Goal: "blog", Objective: "write", Agents: []string{"cyd"}, Write: []string{"docs/**"}, NonGoals: []string{"fame"}}, cli()
	case "goal.start":
		return &kernel.StartGoal{Create: kernel.CreateGoal{Goal: "blog", Objective: "write"}, Agents: []kernel.RegisterAgent{{Agent: "cyd"}}, Todos: []kernel.AddTodo{{Title: "first"}}}, cli()
	case "goal.pause":
		return &kernel.PauseGoal{Goal: "site"}, cli()
	case "goal.close":
		return &kernel.CloseGoal{Goal: "site", Outcome: "shipped"}, owner()
	case "agent.register":
		return &kernel.RegisterAgent{Goal: "site", Agent: "cyd", Capabilities: []string{"go"}}, cli()
	case "session.open":
		return &kernel.OpenSession{Goal: "site", Agent: "bob", Session: "s1"}, cli()
	case "session.close":
		return &kernel.CloseSession{Goal: "site", Session: "cli:ann"}, cli()
	case "todo.add":
		return &kernel.AddTodo{Goal: "site", Title: "new", After: []string{o.free}, Excluded: []string{"bob"}, Validation: []string{"go", "test"}, Capabilities: []string{"go"}, Write: []string{"a/**"}}, cli()
	case "todo.update":
		return &kernel.UpdateTodo{Goal: "site", Agent: "ann", Todo: o.held, Turn: "t1", Note: &note, Title: &note, Body: &note, Scopes: &[]string{"publish:action:x"}, Evidence: []kernel.EvidenceArg{{Summary: "s"}}}, cli()
	case "todo.claim":
		return &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: o.free}, cli()
	case "todo.complete":
		return &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: o.held, Turn: "t1", Evidence: []kernel.EvidenceArg{{Summary: "s"}}}, cli()
	case "todo.supersede":
		return &kernel.SupersedeTodo{Goal: "site", Agent: "ann", Todo: o.held, Turn: "t1", Next: "instead"}, cli()
	case "goal.configure":
		return &kernel.ConfigureGoal{Goal: "site", Title: &note, Objective: &note, Repo: &note, Write: &[]string{"a/**"}, NonGoals: &[]string{"fame"}}, owner()
	case "todo.transfer":
		return &kernel.TransferTodo{Goal: "site", Agent: "ann", Todo: o.held, To: "bob", Note: "yours"}, cli()
	case "monitor.poll":
		return &kernel.PollMonitor{Goal: "site", Agent: "bob", Todo: o.watch, Material: true, Hash: "h", Next: "look into it", Note: "red", Evidence: []kernel.EvidenceArg{{Summary: "s"}}}, cli()
	case "event.fire":
		return &kernel.FireEvent{Goal: "site", Key: "x"}, cli()
	case "gate.open":
		return &kernel.OpenGate{Goal: "site", Agent: "ann", Question: "Go?", Todos: []string{o.free}, Options: []kernel.Option{{ID: "a", Label: "A"}}, Evidence: []kernel.EvidenceArg{{Summary: "s"}}}, cli()
	case "gate.answer":
		return &kernel.AnswerGate{Gate: o.gate, Option: "approve"}, owner()
	case "gate.withdraw":
		return &kernel.WithdrawGate{Gate: o.gate, Agent: "ann"}, cli()
	case "gate.release":
		return &kernel.ReleaseGate{Gate: o.old}, owner()
	case "gate.change":
		o.do(&kernel.AnswerGate{Gate: o.gate, Option: "approve"}, owner())
		return &kernel.ChangeGate{Gate: o.gate, Option: "reject", Reason: "no"}, owner()
	case "gate.reopen":
		g := o.do(&kernel.OpenGate{Goal: "site", Question: "Soon?", Advisory: true, Expires: o.now + 1}, cli())["gate_id"].(string)
		o.pass(1)
		return &kernel.ReopenGate{Gate: g}, owner()
	case "gate.disown":
		o.do(&kernel.AnswerGate{Gate: o.gate, Option: "approve"}, owner())
		return &kernel.DisownAnswer{Gate: o.gate}, owner()
	case "owner.renewed":
		o.do(&kernel.AnswerGate{Gate: o.gate, Option: "approve"}, owner())
		o.do(&kernel.DisownAnswer{Gate: o.gate}, owner())
		return &kernel.RenewToken{}, owner()
	case "person.away":
		return &kernel.SetAway{Until: o.now + hour}, owner()
	case "reach.note":
		return &kernel.NoteReach{Connection: "work", Platform: "slack", State: "down", Reason: "the token was revoked", Fix: "loopx-bot setup slack"}, bot()
	case "reach.private":
		return &kernel.NotePrivate{Platform: "slack", Connection: "c", Tenant: "t", User: "u", Refused: true}, bot()
	case "turn.taint":
		return &kernel.TaintTurn{Goal: "site", Agent: "ann", Turn: "t1"}, cli()
	case "gate.notified":
		return &kernel.NotifyGate{Goal: "site", Gate: o.gate}, bot()
	case "turn.open":
		return &kernel.OpenTurn{Goal: "site", Agent: "bob", Turn: "t1", Claim: true}, cli()
	case "refresh":
		return &kernel.Refresh{Goal: "site", Agent: "ann", Turn: "t1", Todo: o.held, Evidence: []kernel.EvidenceArg{{Summary: "s"}}}, cli()
	case "quota.spend":
		return &kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: "t1"}, cli()
	case "todo.hold":
		return &kernel.HoldTodo{Goal: "site", Todo: o.free, Person: "owner", Note: "mine"}, owner()
	case "schedule.ack":
		h := o.decide("bob").Scheduler
		return &kernel.AckSchedule{Goal: "site", Agent: "bob", RRule: h.RRule, Token: h.Token}, cli()
	case "answer.owe":
		return &kernel.OweAnswer{Goal: "site", Agent: "bob", ID: "m1", Kind: "inbox", From: "Wei"}, bot()
	case "answer.settle":
		o.do(&kernel.OweAnswer{Goal: "site", Agent: "bob", ID: "m1", Kind: "inbox", From: "Wei"}, bot())
		return &kernel.SettleAnswer{Goal: "site", Agent: "bob", ID: "m1"}, cli()
	case "link.code":
		return &kernel.CreateLinkCode{Digest: kernel.CodeDigest("qrst-uvwx")}, owner()
	case "link.redeem":
		return &kernel.RedeemLinkCode{Digest: kernel.CodeDigest("ijkl-mnop"), Platform: "slack", Connection: "c", Tenant: "t", User: "v", Private: "d"}, bot()
	case "link.settle":
		return &kernel.SettleLink{Platform: "slack", Connection: "c", Tenant: "t", User: "u"}, owner()
	}
	return o.onePeople(name)
}

// elsewhere are commands that have their own world in other tests.
func elsewhere() []string {
	return []string{"grant.revoke", "turn.commit", "turn.mark", "import.rows", "quota.void"}
}

// Each command of the office passes: what the next test changes is what is refused.
func TestEveryCommandPasses(t *testing.T) {
	for _, name := range commands() {
		o := newOffice(t)
		cmd, opt := o.one(name)
		if cmd == nil && slices.Contains(elsewhere(), name) {
			continue
		}
		if cmd == nil {
			t.Errorf("the office has no %s", name)
			continue
		}
		o.do(cmd, opt)
		o.replays()
	}
}

// strings of a command, the ones in lists and structs too.
func eachString(v reflect.Value, path string, fn func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachString(v.Elem(), path, fn)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			eachString(v.Field(i), path+"."+v.Type().Field(i).Name, fn)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachString(v.Index(i), fmt.Sprintf("%s[%d]", path, i), fn)
		}
	case reflect.String:
		fn(path, v)
	}
}

// Text made to harm is refused in every field of every command, or is no text
// that is kept; never a panic, never half a write, never a huge row.
func TestHostileText(t *testing.T) {
	texts := map[string]string{
		"1 MiB": strings.Repeat("a", 1<<20), "NUL": "a\x00b", "invalid UTF-8": "a\xffb", "override": "a\u202eb", "isolate": "a\u2066b", "escape": "a\x1b[2Jb",
	}
	for _, name := range commands() {
		o := newOffice(t)
		cmd, _ := o.one(name)
		if cmd == nil {
			continue
		}
		var paths []string
		eachString(reflect.ValueOf(cmd), name, func(p string, _ reflect.Value) { paths = append(paths, p) })
		for _, path := range paths {
			for what, text := range texts {
				o := newOffice(t)
				cmd, opt := o.one(name)
				eachString(reflect.ValueOf(cmd), name, func(p string, v reflect.Value) {
					if p == path {
						v.SetString(text)
					}
				})
				before := o.dump()
				_, err := o.k.Do(t.Context(), cmd, opt)
				if err == nil {
					s, rerr := readRows(o.st)
					if rerr != nil {
						t.Fatal(rerr)
					}
					for k, v := range s.raw {
						if len(k) > 2048 || len(v) > 64<<10 || strings.Contains(v, strings.Trim(asJSON(text), `"`)) {
							t.Fatalf("%s takes %s and keeps it in %q: %.300s", path, what, k, v)
						}
					}
					continue
				}
				e := kernel.AsError(err)
				if e.Class == kernel.Internal || e.Class == kernel.Unavailable || badWords(e) != "" || len(e.Message) > 500 || strings.ContainsAny(e.Message, "\x00\x1b\u202e\u2066") || len(e.Fix) > 2000 {
					t.Fatalf("%s with %s: %.500v, fix %.200s", path, what, err, e.Fix)
				}
				if o.dump() != before {
					t.Fatalf("%s with %s was refused and changed a table", path, what)
				}
			}
		}
	}
}
