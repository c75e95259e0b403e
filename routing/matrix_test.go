package routing

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopx/adapters/chat"
)

// surface is one platform's recorded events. The tests of the adapters hold each
// event against the payload beside it, so what is read here is what the adapter
// makes of what the platform sends.
type surface struct {
	name, tenant string
	wei          string // the linked person of the recordings
	root         string // the first message of the thread, where the platform names it
}

func surfaces() []surface {
	return []surface{
		{"slack", "T0SIM", "U0WEI", "1699999999.000001"},
		{"discord", "700000000000000001", "800000000000000001", "900000000000000099"},
		{"lark", "tenant_own", "ou_wei", "om_0"},
	}
}

// recorded reads an event as the adapter gives it, completed with what adapters
// look up: Slack's payloads do not say what a person is, and Discord's do not say
// where a thread belongs.
func recorded(t *testing.T, s surface, file string) chat.Event {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "adapters", s.name, "testdata", "events", file+".out.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Event  *chat.Event
		Events []chat.Event
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	if out.Event != nil {
		out.Events = append(out.Events, *out.Event)
	}
	if len(out.Events) == 0 {
		t.Fatalf("%s of %s is no event", file, s.name)
	}
	e := out.Events[0]
	if s.name == "slack" && e.Sender.Kind == chat.Unknown && e.Sender.ID != "" {
		e.Sender.Kind = chat.Human
	}
	if e.Place.Conversation == "900000000000000099" { // a thread of Discord's
		e.Place.Conversation, e.Place.Thread, e.Message.Root = "900000000000000010", "900000000000000099", "900000000000000099"
	}
	return e
}

// usual is a channel bound to the goal site, whose agent has one open session,
// and the linked person who steers it.
func usual(s surface, e chat.Event) Facts {
	f := Facts{
		Now: e.At + 1000, Tenant: s.tenant,
		Bindings: []Binding{{ID: "b_site", Role: ForGoal, Goals: []string{"site"}, Agent: "builder", Capture: Addressed, Ingress: IngressQueue, Reply: ReplyThread,
			Audience: AudiencePeople, ContextFrom: ContextLinked, Trigger: TriggerAddressed, State: Active}},
		Reach:    []Target{{Goal: "site", Agent: "builder", Ingress: IngressQueue}},
		Sessions: []Session{{ID: "s1", Goal: "site", Agent: "builder", Steer: true}},
	}
	if e.At == 0 {
		f.Now = noon
	}
	if e.Sender.ID == s.wei && e.Sender.Tenant == s.tenant {
		f.Sender = Sender{Person: "wei", State: Linked, Roles: map[string][]Role{"site": {Steerer}}}
	}
	return f
}

type set func(f *Facts, e *chat.Event)

func manager(f *Facts, _ *chat.Event) {
	b := &f.Bindings[0]
	b.ID, b.Role, b.Capture, b.ContextFrom = "b_all", ForManager, All, All
}

func ours(f *Facts, e *chat.Event) {
	f.Reply = Reply{Ours: e.Message.Parent != ""}
	f.Thread.Ours = e.Place.Thread != ""
}

func second(f *Facts, e *chat.Event) {
	ours(f, e)
	f.Thread.Others = []string{"somebody"}
}

func late(f *Facts, e *chat.Event)    { f.Now = e.At + MaxLate + 1 }
func history(f *Facts, _ *chat.Event) { f.History = true }
func nobody(f *Facts, _ *chat.Event)  { f.Sender = Sender{} }
func unbound(f *Facts, _ *chat.Event) { f.Bindings = nil }
func current(f *Facts, _ *chat.Event) { f.Bindings, f.Current = nil, &f.Reach[0] }

func underGate(f *Facts, e *chat.Event) {
	ours(f, e)
	f.Reply.Gate, f.Thread.Gate = "g7", "g7"
	f.Gates = []Gate{{ID: "g7", Code: "G-7", Goal: "site", Here: true, May: true, Options: []Option{{"a", "Approve", "approve"}, {"r", "Reject", "reject"}}}}
}

func twoGates(f *Facts, e *chat.Event) {
	underGate(f, e)
	g := f.Gates[0]
	g.ID, g.Code = "g8", "G-8"
	f.Gates = append(f.Gates, g)
}

func change(do func(b *Binding)) set {
	return func(f *Facts, _ *chat.Event) { do(&f.Bindings[0]) }
}

// another adds a binding that differs from the usual one.
func another(do func(b *Binding)) set {
	return func(f *Facts, _ *chat.Event) {
		b := f.Bindings[0]
		b.ID = "b_2"
		do(&b)
		f.Bindings = append(f.Bindings, b)
	}
}

func roles(list ...Role) set {
	return func(f *Facts, _ *chat.Event) { f.Sender.Roles = map[string][]Role{"site": list} }
}

func do(list ...set) []set { return list }

// row is one happening with its verdict on every platform. A file "-" says that
// the platform has no such thing.
type row struct {
	name                 string
	slack, discord, lark string // the recordings; one name stands for all
	with                 []set
	want                 string // action and reason; "drop reason"
	discordWant          string // where Discord differs, with the reason in the name
}

func rows() []row {
	talk, thread, yesG7 := "route_talk", "route_thread_talk", "route_thread_yes"
	file := func(s, d, l string) [3]string { return [3]string{s, d, l} }
	all := func(name, f string, want string, with ...set) row { return row{name, f, f, f, with, want, ""} }
	each := func(name string, f [3]string, want string, with ...set) row {
		return row{name, f[0], f[1], f[2], with, want, ""}
	}
	return []row{
		all("a mention by a steerer", talk, "queue addressed"),
		all("a mention to be steered, with a live turn", talk, "steer addressed", change(func(b *Binding) { b.Ingress = IngressSteer }), func(f *Facts, _ *chat.Event) { f.Sessions[0].Turn = "t9" }),
		all("B79 a steer without a live turn is refused, not queued", talk, "refuse no_live_turn", change(func(b *Binding) { b.Ingress = IngressSteer })),
		all("a host that cannot be steered", talk, "refuse no_live_turn", change(func(b *Binding) { b.Ingress = IngressSteer }), func(f *Facts, _ *chat.Event) { f.Sessions[0].Turn, f.Sessions[0].Steer = "t9", false }),
		all("an inbox needs no session", talk, "inbox addressed", change(func(b *Binding) { b.Ingress = IngressInbox }), func(f *Facts, _ *chat.Event) { f.Sessions = nil }),
		all("a queue without an exact session", talk, "refuse no_session", func(f *Facts, _ *chat.Event) {
			f.Sessions = append(f.Sessions, Session{ID: "s2", Goal: "site", Agent: "builder"})
		}),
		all("the 21st waiting message", talk, "refuse queue_full", func(f *Facts, _ *chat.Event) { f.Sessions[0].Waiting = 20 }),
		all("a mention by an observer", talk, "refuse no_right", roles(Observer)),
		all("a mention by an approver", talk, "refuse no_right", roles(Approver)),
		all("a mention by an owner of the goal", talk, "queue addressed", roles(Owner)),
		all("a mention by somebody unlinked", talk, "stray not_linked", nobody),
		all("a pending link", talk, "stray not_linked", func(f *Facts, _ *chat.Event) { f.Sender.State = Pending }),
		all("somebody suspended", talk, "stray not_linked", func(f *Facts, _ *chat.Event) { f.Sender.State = Suspended }),
		all("B95 another person with a listed name", "route_other_person", "stray not_linked"),
		each("B95 a renamed person is the same one", file("-", "route_renamed", "-"), "queue addressed"), // the other two send no names
		all("a channel that nobody bound", talk, "drop unbound_conversation", unbound),

		each("a verified reply", file(thread, "route_reply_talk", "route_reply_talk"), "queue addressed", ours),
		each("a reply that pings", file("-", "route_reply_ping", "-"), "queue addressed", ours),
		each("a reply to something that is not known to be ours", file(thread, "route_reply_talk", "route_reply_talk"), "drop not_addressed"),
		each("a verified reply by somebody unlinked", file(thread, "route_reply_talk", "route_reply_talk"), "drop sender_cannot_act", ours, nobody),
		each("B37 a quote is a reply and no topic", file("-", "-", "b37_quote"), "queue addressed", ours),
		{"talk in a thread of ours; Discord's threads name no parent", thread, thread, thread, do(ours), "queue addressed", "drop not_addressed"},
		{"the second person in a thread of ours needs a mention", thread, thread, thread, do(second), "refuse mention_needed", "drop not_addressed"},
		all("the second person with a mention", "route_thread_mention", "queue addressed", second),
		{"the second person replies to a message of ours, not to the thread; a thread of Slack's has no replies", "-", "route_reply_talk", "route_reply_talk", do(second), "queue addressed", ""},
		all("unmentioned", "route_plain", "drop not_addressed"),
		all("unmentioned, with the Manager", "route_plain", "context not_addressed", manager),
		all("unmentioned, of somebody unlinked, context from linked people", "route_plain", "drop not_addressed", manager, nobody, change(func(b *Binding) { b.ContextFrom = ContextLinked })),
		all("unmentioned, of somebody unlinked, context from all", "route_plain", "context not_addressed", manager, nobody),
		all("a Manager that captures only what addresses it", "route_plain", "drop not_addressed", manager, change(func(b *Binding) { b.Capture = Addressed })),
		all("a mention with the Manager", talk, "turn addressed", manager),
		all("the Manager with nobody attached", talk, "refuse no_agent", manager, change(func(b *Binding) { b.Agent = "" })),
		all("two Managers keep nothing", "route_plain", "drop more_than_one_binding", manager, another(func(*Binding) {})),
		all("two Managers ask", talk, "choice more_than_one_binding", manager, another(func(*Binding) {})),
		all("two equal bindings do nothing", "route_plain", "drop more_than_one_binding", another(func(*Binding) {})),
		all("two equal bindings ask who addressed the bot", talk, "choice more_than_one_binding", another(func(*Binding) {})),
		all("two equal bindings do not ask who has no right", talk, "refuse no_right", another(func(*Binding) {}), roles(Observer)),
		all("one of two is removed", talk, "queue addressed", another(func(b *Binding) { b.State = BindingRemoved })),
		all("a broken binding", talk, "refuse binding_broken", change(func(b *Binding) { b.State = BindingBroken })),
		all("a suspended binding", talk, "refuse binding_suspended", change(func(b *Binding) { b.State = BindingSuspended })),
		all("a suspended binding, not addressed", "route_plain", "drop binding_suspended", change(func(b *Binding) { b.State = BindingSuspended })),
		all("a state nobody knows", talk, "refuse binding_cannot_be_used", change(func(b *Binding) { b.State = "resting" })),
		all("an ingress nobody knows", talk, "refuse binding_cannot_be_used", change(func(b *Binding) { b.Ingress = "direct_session" })),
		all("a Manager that steers", talk, "refuse binding_cannot_be_used", manager, change(func(b *Binding) { b.Ingress = IngressSteer })),
		all("the exact thread before the channel", "route_thread_mention", "inbox addressed", another(func(b *Binding) { b.Ingress, b.Thread = IngressInbox, "*" })),
		all("talk in a bound thread is no context of the Manager", thread, "drop not_addressed", manager, another(func(b *Binding) { b.Role, b.Capture, b.Thread = ForGoal, Addressed, "*" })),
		all("a suspended thread does not fall back to the Manager", "route_thread_mention", "refuse binding_suspended", manager, another(func(b *Binding) { b.Role, b.Capture, b.Thread, b.State = ForGoal, Addressed, "*", BindingSuspended })),
		all("above goals that have threads", talk, "choice unbound_conversation", change(func(b *Binding) { b.Thread = "elsewhere" })),

		all("members may, within a budget", "route_other_person", "queue audience_members", change(func(b *Binding) { b.Audience = AudienceMembers }), func(f *Facts, _ *chat.Event) { f.Budget = 1 }),
		all("members, with the budget spent", "route_other_person", "refuse budget_spent", change(func(b *Binding) { b.Audience = AudienceMembers })),
		all("members must address", "route_plain", "drop not_addressed", nobody, change(func(b *Binding) { b.Audience = AudienceMembers }), func(f *Facts, _ *chat.Event) { f.Budget = 1 }),
		all("human messages of a listed id", "route_plain", "queue human_message", change(func(b *Binding) { b.Trigger = TriggerHumans }), func(f *Facts, e *chat.Event) { f.Bindings[0].Allow = []string{e.Sender.ID} }),
		all("human messages with an empty list", "route_plain", "drop not_addressed", change(func(b *Binding) { b.Trigger = TriggerHumans })),
		all("human messages of a listed id without the right", "route_plain", "refuse no_right", roles(Observer), change(func(b *Binding) { b.Trigger = TriggerHumans }), func(f *Facts, e *chat.Event) { f.Bindings[0].Allow = []string{e.Sender.ID} }),
		each("B95 a name in the list admits nobody", file("-", "route_plain", "-"), "drop not_addressed", change(func(b *Binding) { b.Trigger, b.Allow = TriggerHumans, []string{"Wei", "wei"} })),

		each("wrong tenant", file("route_external", "-", "route_external"), "drop sender_cannot_act", manager), // a Discord account has no tenant
		all("a human of another tenant than the connection's", talk, "drop sender_cannot_act", func(f *Facts, _ *chat.Event) { f.Tenant = "another" }),
		each("B47 external", file("message_external", "-", "message_external"), "drop sender_cannot_act", manager),
		each("a guest", file("-", "route_guest", "-"), "drop sender_cannot_act", manager),
		all("a guest, linked and with the right", talk, "drop sender_cannot_act", func(_ *Facts, e *chat.Event) { e.Sender.Kind = chat.Guest }),
		all("unknown kind of sender", talk, "drop sender_cannot_act", func(_ *Facts, e *chat.Event) { e.Sender.Kind = chat.Unknown }),
		all("B53 another bot mentions us", "route_bot", "drop sender_cannot_act"),
		all("another bot, context from all", "route_bot", "context sender_cannot_act", manager),
		all("another bot, context from linked people", "route_bot", "drop sender_cannot_act", manager, change(func(b *Binding) { b.ContextFrom = ContextLinked })),
		all("B86 own message", "message_self", "drop own_message", manager),

		all("B46 @all", "route_all", "drop not_addressed"),
		all("B46 @all and the bot", "route_all_and_bot", "queue addressed"),
		each("B46 a group of people", file("route_group_mention", "route_group_mention", "-"), "drop not_addressed"), // Lark has none
		all("B51 a mention in code", "route_code_mention", "drop not_addressed"),
		all("a mention in a quote", "route_quote_mention", "drop not_addressed"),
		all("the bot's name as text", "route_name_only", "drop not_addressed"),
		each("B47 a mention without our id", file("-", "-", "b47_guest_without_ids"), "drop not_addressed"),
		each("B48 a mention with its id as text", file("-", "-", "b48_string"), "command command"),
		each("B49 a colleague is mentioned", file("-", "-", "b49_colleague"), "drop not_addressed"),
		each("B52 what only looks like a mention", file("-", "-", "b52_typed_placeholder"), "drop not_addressed"),

		all("B03 late", talk, "missed late_or_history", late),
		all("late, without the right", talk, "drop late_or_history", late, roles(Observer)),
		all("late, by somebody unlinked", talk, "drop late_or_history", late, nobody),
		all("late talk, with the Manager", "route_plain", "context late_or_history", late, manager),
		all("B05 history is never a turn", talk, "missed late_or_history", history),
		all("history with the Manager", "route_plain", "context late_or_history", history, manager),
		all("B78 history of a private conversation", "route_private", "missed late_or_history", history, current),
		all("a late yes decides nothing", yesG7, "drop late_or_history", underGate, late),
		all("a late command is listed and not done", "route_cjk_command", "missed late_or_history", late),

		all("private, with a target", "route_private", "queue private_message", current),
		all("private, without one: asked", "route_private", "choice unknown_target", unbound),
		all("private, nothing to reach", "route_private", "unknown no_command", unbound, func(f *Facts, _ *chat.Event) { f.Reach = nil }),
		all("private, unlinked", "route_private", "stray not_linked", nobody, current),
		all("private, of a guest", "route_private", "drop sender_cannot_act", current, func(_ *Facts, e *chat.Event) { e.Sender.Kind = chat.Guest }),
		all("private talk under a gate's card", "route_private", "refuse talk_under_a_gate", current, func(f *Facts, _ *chat.Event) { f.Reply = Reply{Ours: true, Gate: "g7"} }),
		all("private, the right was taken away", "route_private", "refuse no_right", current, roles(Observer)),
		each("B37 a topic of a private conversation", file("-", "-", "b37_private_topic"), "queue private_message", current),
		each("B45 an empty thread is none", file("message_im_empty_thread", "-", "-"), "queue private_message", current),
		each("B45 an empty thread is none, in a group", file("-", "-", "b45_empty_thread"), "drop not_addressed"),

		all("a command in Chinese, glued to the mention", "route_cjk_command", "command command"),
		all("a word of a command inside Chinese talk", "route_cjk_talk", "queue addressed"),
		all("a command in Chinese where nobody bound", "route_cjk_command", "command command", unbound),
		all("a command by somebody unlinked", "route_cjk_command", "stray not_linked", nobody),
		all("B50 two mentions and a command", "route_two_mentions", "command command"),
		each("B50 two mentions and no such command", file("-", "-", "b50_two_mentions"), "unknown no_command"),
		each("a slash command", file("route_slash_status", "route_slash_status", "-"), "command command"), // Lark has none
		each("a slash command by somebody unlinked", file("route_slash_status", "route_slash_status", "-"), "stray not_linked", nobody),

		all("a yes in the gate's thread", yesG7, "answer gate_answer", underGate),
		all("a yes of somebody unlinked", yesG7, "drop talk_under_a_gate", underGate, nobody),
		all("B25 a yes of somebody the gate does not name", yesG7, "refuse no_right", underGate, func(f *Facts, _ *chat.Event) { f.Gates[0].May = false }),
		all("a yes to a protected gate", yesG7, "refuse answer_on_card", underGate, func(f *Facts, _ *chat.Event) { f.Gates[0].Protected = true }),
		all("a coded yes among two gates", yesG7, "answer gate_answer", twoGates),
		all("a yes elsewhere, not addressed", yesG7, "drop not_addressed", func(f *Facts, e *chat.Event) {
			underGate(f, e)
			f.Gates[0].Here, f.Reply, f.Thread = false, Reply{}, Thread{}
		}),
		all("talk under a gate's card", thread, "drop talk_under_a_gate", underGate),
		all("a mention under a gate's card", "route_thread_mention", "queue addressed", underGate),

		all("B26 a press never becomes text", "press", "press card"),
		each("an edit", file("edit", "edit", "-"), "edited stored_message"),
		each("a mention that an edit adds", file("mention_by_edit", "-", "-"), "edited stored_message"),
		each("B87 a deletion", file("delete", "delete", "recalled"), "deleted stored_message"),
		each("the bot came", file("join_self", "guild", "bot_added"), "added membership"),
		each("the bot left", file("leave_self", "guild_left", "bot_removed"), "removed membership"),
		each("a file alone, not addressed", file("message_file", "message_file", "message_file"), "drop not_addressed"),
	}
}

func TestMatrix(t *testing.T) { runRows(t, "") }

// runRows decides the rows whose names begin like that, on every platform.
func runRows(t *testing.T, prefix string) {
	t.Helper()
	n := 0
	for _, c := range rows() {
		if !strings.HasPrefix(c.name, prefix) {
			continue
		}
		n++
		for i, s := range surfaces() {
			file := [3]string{c.slack, c.discord, c.lark}[i]
			if file == "-" {
				continue
			}
			e := recorded(t, s, file)
			f := usual(s, e)
			for _, change := range c.with {
				change(&f, &e)
			}
			for i := range f.Bindings {
				if f.Bindings[i].Thread == "*" {
					f.Bindings[i].Thread = e.Place.Thread
				}
			}
			want := c.want
			if s.name == "discord" && c.discordWant != "" {
				want = c.discordWant
			}
			v := Decide(e, f)
			got := string(v.Action) + " " + v.Reason
			if v.Action == Drop {
				got = "drop " + v.Reason
			}
			if got != want {
				t.Errorf("%s on %s (%s): %s, want %s\n%+v", c.name, s.name, file, got, want, v)
			}
			if v.Action.Starts() && (v.Place.Place != e.Place || e.Kind == chat.MessageSent && v.Place.Message != e.Message.ID || v.Place.User != e.Sender.ID) {
				t.Errorf("%s on %s: the answer goes to %+v", c.name, s.name, v.Place)
			}
			if (v.Action.Starts() || v.Action == Choice) && (strings.Contains(v.Text, "@"+botOf(s)) || v.Text == "") {
				t.Errorf("%s on %s: the agent gets %q", c.name, s.name, v.Text)
			}
		}
	}
	if n == 0 {
		t.Fatalf("no row begins with %q", prefix)
	}
}

func botOf(s surface) string {
	return map[string]string{"slack": "U0BOT", "discord": "700000000000000002", "lark": "ou_bot"}[s.name]
}
