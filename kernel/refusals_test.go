package kernel_test

import (
	"fmt"
	"testing"

	"loopx/kernel"
)

// refusal is a command that must be refused in the office.
type refusal struct {
	code  string
	class kernel.Class
	fix   bool // one command mends it
	cmd   func(o *office) (kernel.Command, kernel.Options)
}

func asCLI(fn func(o *office) kernel.Command) func(o *office) (kernel.Command, kernel.Options) {
	return func(o *office) (kernel.Command, kernel.Options) { return fn(o), cli() }
}

func asOwner(fn func(o *office) kernel.Command) func(o *office) (kernel.Command, kernel.Options) {
	return func(o *office) (kernel.Command, kernel.Options) { return fn(o), owner() }
}

func asBot(fn func(o *office) kernel.Command) func(o *office) (kernel.Command, kernel.Options) {
	return func(o *office) (kernel.Command, kernel.Options) { return fn(o), bot() }
}

func ptr[T any](v T) *T { return &v }

func refusals() []refusal {
	const inv, nf, con, den, exh, stale = kernel.Invalid, kernel.NotFound, kernel.Conflict, kernel.Denied, kernel.Exhausted, kernel.Stale
	return []refusal{
		// goals and agents
		{"bad_goal_id", inv, false, asCLI(func(*office) kernel.Command { return &kernel.CreateGoal{Goal: "../x", Objective: "x"} })},
		{"missing_objective", inv, false, asCLI(func(*office) kernel.Command { return &kernel.CreateGoal{Goal: "x", Objective: " \n"} })},
		{"bad_allowed_slots", inv, false, asCLI(func(*office) kernel.Command { return &kernel.CreateGoal{Goal: "x", Objective: "x", Allowed: ptr(-1)} })},
		{"goal_exists", con, true, asCLI(func(*office) kernel.Command { return &kernel.CreateGoal{Goal: "site", Objective: "x"} })},
		{"bad_agent_id", inv, false, asCLI(func(*office) kernel.Command {
			return &kernel.CreateGoal{Goal: "x", Objective: "x", Agents: []string{"Ann"}}
		})},
		{"bad_handoff", inv, false, asCLI(func(*office) kernel.Command { return &kernel.CreateGoal{Goal: "x", Objective: "x", Handoff: "hard"} })},
		{"bad_language", inv, false, asCLI(func(*office) kernel.Command { return &kernel.CreateGoal{Goal: "x", Objective: "x", Language: "fr"} })},
		{"missing_write_scope", inv, false, asCLI(func(*office) kernel.Command {
			return &kernel.CreateGoal{Goal: "x", Objective: "x", Write: []string{""}}
		})},
		{"too_many_agents", exh, false, asCLI(func(*office) kernel.Command {
			c := &kernel.CreateGoal{Goal: "x", Objective: "x"}
			for i := range 257 {
				c.Agents = append(c.Agents, fmt.Sprintf("a%d", i))
			}
			return c
		})},
		{"missing_goal_id", inv, true, asCLI(func(*office) kernel.Command { return &kernel.PauseGoal{} })},
		{"goal_not_found", nf, true, asCLI(func(*office) kernel.Command { return &kernel.PauseGoal{Goal: "sites"} })},
		{"owner_only", den, true, asCLI(func(*office) kernel.Command { return &kernel.PauseGoal{Goal: "site", Resume: true} })},
		{"owner_only", den, true, asCLI(func(*office) kernel.Command { return &kernel.CloseGoal{Goal: "site", Outcome: "x"} })},
		{"missing_outcome", inv, false, asOwner(func(*office) kernel.Command { return &kernel.CloseGoal{Goal: "site"} })},
		{"goal_closed", con, false, asOwner(func(o *office) kernel.Command {
			o.do(&kernel.CloseGoal{Goal: "site", Outcome: "x"}, owner())
			return &kernel.CloseGoal{Goal: "site", Outcome: "x"}
		})},
		{"goal_closed", con, false, asCLI(func(o *office) kernel.Command {
			o.do(&kernel.CloseGoal{Goal: "site", Outcome: "x"}, owner())
			return &kernel.AddTodo{Goal: "site", Title: "x"}
		})},
		{"agent_exists", con, false, asCLI(func(*office) kernel.Command {
			return &kernel.RegisterAgent{Goal: "site", Agent: "ann", RequireNew: true}
		})},
		{"agent_not_registered", nf, true, asCLI(func(*office) kernel.Command { return &kernel.OpenTurn{Goal: "site", Agent: "eve", Turn: "t"} })},
		{"agent_required", inv, true, asCLI(func(*office) kernel.Command { return &kernel.OpenTurn{Goal: "site", Turn: "t"} })},
		{"agent_missing", inv, true, asCLI(func(o *office) kernel.Command {
			o.do(&kernel.CreateGoal{Goal: "x", Objective: "x"}, cli())
			return &kernel.OpenTurn{Goal: "x", Turn: "t"}
		})},
		// sessions and turns
		{"bad_session_id", inv, false, asCLI(func(*office) kernel.Command { return &kernel.OpenSession{Goal: "site", Agent: "ann", Session: "a b"} })},
		{"session_of_other", con, true, asCLI(func(*office) kernel.Command {
			return &kernel.OpenSession{Goal: "site", Agent: "bob", Session: "cli:ann"}
		})},
		{"session_not_found", nf, true, asCLI(func(*office) kernel.Command { return &kernel.CloseSession{Goal: "site", Session: "x"} })},
		{"bad_turn_id", inv, false, asCLI(func(*office) kernel.Command { return &kernel.OpenTurn{Goal: "site", Agent: "ann"} })},
		{"turn_exists", con, true, func(*office) (kernel.Command, kernel.Options) {
			opt := cli()
			opt.Key = "k" // without a key it would be the same step again
			return &kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1"}, opt
		}},
		{"key_reused", con, true, asCLI(func(*office) kernel.Command { return &kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1"} })},
		{"turn_not_found", nf, true, asCLI(func(o *office) kernel.Command {
			return &kernel.UpdateTodo{Goal: "site", Agent: "ann", Todo: o.held, Turn: "t7"}
		})},
		{"turn_bound", con, true, asCLI(func(o *office) kernel.Command {
			return &kernel.ClaimTodo{Goal: "site", Agent: "ann", Todo: o.free, Turn: "t1"}
		})},
		{"turn_bound", con, false, asCLI(func(o *office) kernel.Command {
			return &kernel.Refresh{Goal: "site", Agent: "ann", Todo: o.free, Turn: "t1"}
		})},
		{"bad_lease", inv, false, asCLI(func(o *office) kernel.Command {
			return &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: o.free, LeaseMS: 25 * 3_600_000}
		})},
		// todos
		{"missing_title", inv, false, asCLI(func(*office) kernel.Command { return &kernel.AddTodo{Goal: "site", Title: "\u2003"} })},
		{"bad_class", inv, false, asCLI(func(*office) kernel.Command { return &kernel.AddTodo{Goal: "site", Title: "x", Class: "gate"} })},
		{"bad_priority", inv, false, asCLI(func(*office) kernel.Command { return &kernel.AddTodo{Goal: "site", Title: "x", Priority: ptr(4)} })},
		{"bad_write_scope", inv, false, asCLI(func(*office) kernel.Command {
			return &kernel.AddTodo{Goal: "site", Title: "x", Write: []string{"a/../../etc"}}
		})},
		{"bad_resume_when", inv, false, asCLI(func(*office) kernel.Command { return &kernel.AddTodo{Goal: "site", Title: "x", ResumeWhen: "soon"} })},
		{"missing_resume_when", inv, true, asCLI(func(*office) kernel.Command { return &kernel.AddTodo{Goal: "site", Title: "x", Deferred: true} })},
		{"bad_cadence", inv, true, asCLI(func(*office) kernel.Command { return &kernel.AddTodo{Goal: "site", Title: "x", Class: "monitor"} })},
		{"monitor_unbounded", inv, true, asCLI(func(*office) kernel.Command {
			return &kernel.AddTodo{Goal: "site", Title: "x", Class: "monitor", CadenceMS: 60_000}
		})},
		{"bad_validation", inv, false, asCLI(func(*office) kernel.Command {
			return &kernel.AddTodo{Goal: "site", Title: "x", Validation: []string{""}}
		})},
		{"too_many", inv, false, asCLI(func(o *office) kernel.Command {
			c := &kernel.AddTodo{Goal: "site", Title: "x"}
			for range 33 {
				c.After = append(c.After, o.todo("x", 3))
			}
			return c
		})},
		{"todo_not_found", nf, true, asCLI(func(*office) kernel.Command {
			return &kernel.AddTodo{Goal: "site", Title: "x", After: []string{"todo_none"}}
		})},
		{"todo_not_found", nf, true, asCLI(func(o *office) kernel.Command {
			o.do(&kernel.CreateGoal{Goal: "x", Objective: "x", Agents: []string{"ann"}}, cli())
			return &kernel.ClaimTodo{Goal: "x", Agent: "ann", Todo: o.free} // of another goal
		})},
		{"missing_todo_id", inv, true, asCLI(func(*office) kernel.Command { return &kernel.ClaimTodo{Goal: "site", Agent: "bob"} })},
		{"lease_held", con, true, asCLI(func(o *office) kernel.Command { return &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: o.held} })},
		{"lease_held", con, true, asCLI(func(o *office) kernel.Command { return &kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: o.held} })},
		{"lease_lost", con, true, asCLI(func(o *office) kernel.Command {
			return &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: o.held, Lease: "lease_old"}
		})},
		{"lease_required", con, true, asCLI(func(o *office) kernel.Command {
			o.do(&kernel.CreateGoal{Goal: "x", Objective: "x", Agents: []string{"ann"}, Handoff: "strict"}, cli())
			id := o.do(&kernel.AddTodo{Goal: "x", Title: "x"}, cli())["todo_id"].(string)
			return &kernel.CompleteTodo{Goal: "x", Agent: "ann", Todo: id}
		})},
		{"gate_pending", con, true, asCLI(func(o *office) kernel.Command { return &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: o.gated} })},
		{"gate_pending", con, true, asCLI(func(o *office) kernel.Command { return &kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: o.gated} })},
		{"todo_waiting", con, true, asCLI(func(o *office) kernel.Command { return &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: o.wait} })},
		{"todo_waiting", con, false, asCLI(func(o *office) kernel.Command { return &kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: o.wait} })},
		{"todo_deferred", con, true, asCLI(func(o *office) kernel.Command { return &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: o.parked} })},
		{"todo_deferred", con, true, asCLI(func(o *office) kernel.Command {
			return &kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: o.parked}
		})},
		{"todo_done", con, true, asCLI(func(o *office) kernel.Command { return &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: o.done} })},
		{"todo_done", con, false, asCLI(func(o *office) kernel.Command {
			return &kernel.CompleteTodo{Goal: "site", Agent: "ann", Todo: o.done, Turn: "t1"}
		})},
		{"todo_closed", con, true, asCLI(func(o *office) kernel.Command { return &kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: o.done} })},
		{"todo_closed", con, false, asCLI(func(o *office) kernel.Command {
			return &kernel.SupersedeTodo{Goal: "site", Agent: "bob", Todo: o.done, Next: "x"}
		})},
		{"todo_superseded", con, true, asCLI(func(o *office) kernel.Command {
			o.do(&kernel.SupersedeTodo{Goal: "site", Agent: "bob", Todo: o.free, Next: "x"}, cli())
			return &kernel.AddTodo{Goal: "site", Title: "x", After: []string{o.free}}
		})},
		{"agent_excluded", den, true, asCLI(func(o *office) kernel.Command {
			id := o.do(&kernel.AddTodo{Goal: "site", Title: "x", Excluded: []string{"bob"}}, cli())["todo_id"].(string)
			return &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: id}
		})},
		{"ask_not_claimed", inv, false, asCLI(func(o *office) kernel.Command {
			id := o.do(&kernel.AddTodo{Goal: "site", Title: "x", Class: "ask"}, cli())["todo_id"].(string)
			return &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: id}
		})},
		{"goal_paused", con, true, asCLI(func(o *office) kernel.Command {
			o.do(&kernel.PauseGoal{Goal: "site"}, cli())
			return &kernel.ClaimTodo{Goal: "site", Agent: "bob", Todo: o.free}
		})},
		{"use_complete", inv, true, asCLI(func(o *office) kernel.Command {
			return &kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: o.free, Status: "done"}
		})},
		{"use_gate", inv, true, asCLI(func(o *office) kernel.Command {
			return &kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: o.free, Status: "blocked"}
		})},
		{"bad_status", inv, false, asCLI(func(o *office) kernel.Command {
			return &kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: o.free, Status: "won"}
		})},
		{"missing_evidence", inv, false, asCLI(func(o *office) kernel.Command {
			return &kernel.UpdateTodo{Goal: "site", Agent: "bob", Todo: o.free, Evidence: note("")}
		})},
		{"bad_continuation", inv, false, asCLI(func(o *office) kernel.Command {
			return &kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: o.free, NoFollowup: true, Next: "x"}
		})},
		{"bad_successor", con, false, asCLI(func(o *office) kernel.Command {
			return &kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: o.free, Successors: []string{o.free}}
		})},
		{"validation_missing", con, true, asCLI(func(o *office) kernel.Command {
			id := o.do(&kernel.AddTodo{Goal: "site", Title: "x", Validation: []string{"true"}}, cli())["todo_id"].(string)
			return &kernel.CompleteTodo{Goal: "site", Agent: "bob", Todo: id}
		})},
		// gates
		{"blocks_nothing", inv, true, asCLI(func(*office) kernel.Command { return &kernel.OpenGate{Goal: "site", Question: "x?"} })},
		{"bad_blocks", inv, false, asCLI(func(*office) kernel.Command {
			return &kernel.OpenGate{Goal: "site", Question: "x?", LaneOf: "ann", WholeGoal: true}
		})},
		{"bad_kind", inv, false, asCLI(func(*office) kernel.Command {
			return &kernel.OpenGate{Goal: "site", Question: "x?", Kind: "fun", WholeGoal: true}
		})},
		{"bad_outcome", inv, false, asCLI(func(*office) kernel.Command {
			return &kernel.OpenGate{Goal: "site", Question: "x?", WholeGoal: true, Options: []kernel.Option{{ID: "a", Label: "A", Outcome: "maybe"}}}
		})},
		{"bad_option", inv, false, asCLI(func(*office) kernel.Command {
			return &kernel.OpenGate{Goal: "site", Question: "x?", WholeGoal: true, Options: []kernel.Option{{ID: "a", Label: "A"}, {ID: "a", Label: "B"}}}
		})},
		{"bad_expires", inv, false, asCLI(func(o *office) kernel.Command {
			return &kernel.OpenGate{Goal: "site", Question: "x?", WholeGoal: true, Expires: o.now}
		})},
		{"todo_closed", con, false, asCLI(func(o *office) kernel.Command {
			return &kernel.OpenGate{Goal: "site", Question: "x?", Todos: []string{o.done}}
		})},
		{"owner_only", den, true, asCLI(func(o *office) kernel.Command { return &kernel.AnswerGate{Gate: o.gate, Option: "approve"} })},
		{"owner_only", den, true, func(o *office) (kernel.Command, kernel.Options) { // B24: a person without the proof
			return &kernel.AnswerGate{Gate: o.gate, Option: "approve"}, kernel.Options{By: kernel.Actor{Kind: kernel.ByPerson, ID: "p_guest", Surface: "slack"}}
		}},
		{"missing_gate_id", inv, true, asOwner(func(*office) kernel.Command { return &kernel.AnswerGate{Option: "approve"} })},
		{"gate_not_found", nf, true, asOwner(func(*office) kernel.Command { return &kernel.AnswerGate{Gate: "gate_none", Option: "approve"} })},
		{"bad_option", inv, false, asOwner(func(o *office) kernel.Command { return &kernel.AnswerGate{Gate: o.gate, Option: "yes"} })},
		{"gate_changed", stale, true, asOwner(func(o *office) kernel.Command {
			return &kernel.AnswerGate{Gate: o.gate, Option: "approve", Digest: "00"}
		})},
		{"gate_withdrawn", con, false, asOwner(func(o *office) kernel.Command { return &kernel.AnswerGate{Gate: o.old, Option: "approve"} })},
		{"gate_withdrawn", con, false, asCLI(func(o *office) kernel.Command { return &kernel.WithdrawGate{Gate: o.old, Agent: "ann"} })},
		{"owner_only", den, true, asCLI(func(o *office) kernel.Command { return &kernel.WithdrawGate{Gate: o.gate, Agent: "bob"} })},
		{"owner_only", den, true, asCLI(func(o *office) kernel.Command { return &kernel.ReleaseGate{Gate: o.old} })},
		{"gate_open", con, true, asOwner(func(o *office) kernel.Command { return &kernel.ReleaseGate{Gate: o.gate} })},
		{"bot_only", den, false, asCLI(func(o *office) kernel.Command { return &kernel.NotifyGate{Goal: "site", Gate: o.gate} })},
		// settling
		{"bad_delivery_outcome", inv, false, asCLI(func(*office) kernel.Command { return &kernel.Refresh{Goal: "site", Agent: "bob", Outcome: "great"} })},
		{"writeback_missing", con, true, asCLI(func(*office) kernel.Command { return &kernel.SpendSlot{Goal: "site", Agent: "bob"} })},
		{"bad_slots", inv, false, asCLI(func(*office) kernel.Command { return &kernel.SpendSlot{Goal: "site", Agent: "ann", Slots: -1} })},
		{"bad_source", inv, false, asCLI(func(*office) kernel.Command { return &kernel.SpendSlot{Goal: "site", Agent: "ann", Source: "x"} })},
		{"turn_spent", con, false, func(o *office) (kernel.Command, kernel.Options) {
			o.do(&kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: "t1"}, cli())
			opt := cli()
			opt.Key = "k"
			return &kernel.SpendSlot{Goal: "site", Agent: "ann", Turn: "t1"}, opt
		}},
		{"quota_exhausted", exh, true, asCLI(func(o *office) kernel.Command {
			o.do(&kernel.CreateGoal{Goal: "x", Objective: "x", Agents: []string{"ann", "bob"}, Allowed: ptr(1)}, cli())
			id := o.do(&kernel.AddTodo{Goal: "x", Title: "x"}, cli())["todo_id"].(string)
			o.do(&kernel.AddTodo{Goal: "x", Title: "y"}, cli())
			o.do(&kernel.OpenTurn{Goal: "x", Agent: "bob", Turn: "t"}, cli())
			return &kernel.ClaimTodo{Goal: "x", Agent: "ann", Todo: id}
		})},
		{"quota_exhausted", exh, true, asCLI(func(o *office) kernel.Command { // the own reservation is one slot, not two
			o.do(&kernel.CreateGoal{Goal: "x", Objective: "x", Agents: []string{"ann"}, Allowed: ptr(2)}, cli())
			o.do(&kernel.OpenTurn{Goal: "x", Turn: "t"}, cli())
			o.do(&kernel.Refresh{Goal: "x", Turn: "t", Outcome: kernel.Progress}, cli())
			return &kernel.SpendSlot{Goal: "x", Turn: "t", Slots: 3}
		})},
		// links
		{"owner_only", den, true, asCLI(func(*office) kernel.Command { return &kernel.CreateLinkCode{Digest: kernel.CodeDigest("x")} })},
		{"bad_digest", inv, false, asOwner(func(*office) kernel.Command { return &kernel.CreateLinkCode{Digest: "x"} })},
		{"chat_only", den, false, asCLI(func(*office) kernel.Command { return &kernel.RedeemLinkCode{Digest: kernel.CodeDigest("ijkl-mnop")} })},
		{"code_unknown", nf, true, asBot(func(*office) kernel.Command { return &kernel.RedeemLinkCode{Digest: kernel.CodeDigest("wrong")} })},
		{"code_unknown", nf, true, asBot(func(*office) kernel.Command { return &kernel.RedeemLinkCode{Digest: kernel.CodeDigest("abcd-efgh")} })}, // used
		{"code_unknown", nf, true, asBot(func(o *office) kernel.Command {
			o.pass(11 * 60_000)
			return &kernel.RedeemLinkCode{Digest: kernel.CodeDigest("ijkl-mnop")}
		})},
		{"owner_only", den, true, asBot(func(*office) kernel.Command {
			return &kernel.SettleLink{Platform: "slack", Connection: "c", Tenant: "t", User: "u"}
		})},
		{"link_not_found", nf, true, asOwner(func(*office) kernel.Command {
			return &kernel.SettleLink{Platform: "slack", Connection: "c", Tenant: "t2", User: "u"}
		})},
		{"link_revoked", con, true, asOwner(func(o *office) kernel.Command {
			o.do(&kernel.SettleLink{Platform: "slack", Connection: "c", Tenant: "t", User: "u", Revoke: true}, owner())
			return &kernel.SettleLink{Platform: "slack", Connection: "c", Tenant: "t", User: "u"}
		})},
	}
}

// Each refusal has its class, its words, and the command that mends it where one
// does; and it leaves every table as it was.
func TestRefusals(t *testing.T) {
	for i, r := range refusals() {
		o := newOffice(t)
		cmd, opt := r.cmd(o)
		e := o.refuse(r.code, cmd, opt)
		if e.Class != r.class {
			t.Errorf("%d %s: %s is of class %s, want %s", i, cmd.Name(), r.code, e.Class, r.class)
		}
		if (e.Fix != "") != r.fix {
			t.Errorf("%d %s: %s (%s) has the fix %q", i, cmd.Name(), r.code, e.Message, e.Fix)
		}
		if msg := badWords(e); msg != "" {
			t.Errorf("%d %s: %s", i, cmd.Name(), msg)
		}
		if e.Class.ExitCode() == 0 || e.Class.HTTPStatus() < 400 {
			t.Errorf("%s ends with %d and %d", e.Class, e.Class.ExitCode(), e.Class.HTTPStatus())
		}
	}
}

// Some refusals are audited, without their content, and nothing else of them is kept.
func TestDenialsAreAudited(t *testing.T) {
	o := newOffice(t)
	o.refuse("owner_only", &kernel.AnswerGate{Gate: o.gate, Option: "approve", Reason: "my secret plan"}, cli())
	err := o.k.Read(t.Context(), func(r *kernel.Reader) error {
		d := r.Denials(10)
		if len(d) != 1 || d[0].Code != "owner_only" || d[0].Command != "gate.answer" || d[0].By.Kind != kernel.ByCLI {
			t.Fatalf("the audit says %s", asJSON(d))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
