package cli

import (
	"fmt"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func bindCmd(a *app) *cobra.Command {
	return noun("bind", bindSet(a), bindRemove(a), bindConfirm(a), bindList(a), bindShow(a))
}

// bindSet binds a conversation, or changes the choices of a binding: those that
// no flag names stay.
func bindSet(a *app) *cobra.Command {
	var s scope
	var execute bool
	var more []string
	var id string
	var set *pflag.FlagSet
	c := &kernel.SetBinding{}
	return a.verbOf("set", "bind a conversation to a goal, or change that (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		set = f
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&id, "bind-id", "", "change this binding; its place stays")
		f.StringVar(&c.Platform, "platform", "", "slack, discord or lark")
		f.StringVar(&c.Connection, "connection", "", "connection, as the configuration names it")
		f.StringVar(&c.Conversation, "conversation", "", "id of the chat or channel")
		f.StringVar(&c.Thread, "thread", "", "id of one thread of it")
		f.StringVar(&c.Role, "role", "", "goal (default), manager (of a group, for named goals) or direct")
		f.StringArrayVar(&more, "also-goal", nil, "one more goal a Manager may speak of; may be repeated")
		f.StringVar(&c.Agent, "agent-id", "", "agent that gets the messages")
		f.StringVar(&c.Session, "session", "", "session of that agent")
		f.StringVar(&c.Capture, "capture", "", "addressed (default), or all with role manager")
		f.StringVar(&c.Ingress, "ingress", "", "steer, queue or inbox (default)")
		f.StringVar(&c.Reply, "reply", "", "thread (default), mirror or none")
		f.StringVar(&c.Audience, "audience", "", "linked (default) or members")
		f.StringVar(&c.ContextFrom, "context-from", "", "linked (default) or all")
		f.StringVar(&c.Trigger, "trigger", "", "mentions (default), or human_messages with --allow")
		f.StringArrayVar(&c.Allow, "allow", nil, "user id whose messages count; may be repeated, replaces all")
		f.StringVar(&c.Language, "language", "", "en or zh, of cards shown there")
		f.StringVar(&c.Visibility, "visibility", "", "how wide the place is: private, group (default) or public")
		f.StringVar(&c.Card, "card", "", "status: a card there keeps saying how the goals are; none")
		f.BoolVar(&execute, "execute", false, "do it")
	}, func() error {
		goals := append([]string{s.goal}, more...)
		if s.goal == "" {
			goals = more
		}
		if id == "" {
			c.Goals = goals
		} else {
			old, err := bindingOf(a, id)
			if err != nil {
				return err
			}
			given := *c
			*c = *old.Choices()
			for name, to := range map[string]struct{ from, into *string }{
				"platform": {&given.Platform, &c.Platform}, "connection": {&given.Connection, &c.Connection}, "conversation": {&given.Conversation, &c.Conversation}, "thread": {&given.Thread, &c.Thread},
				"role": {&given.Role, &c.Role}, "agent-id": {&given.Agent, &c.Agent}, "session": {&given.Session, &c.Session}, "capture": {&given.Capture, &c.Capture},
				"ingress": {&given.Ingress, &c.Ingress}, "reply": {&given.Reply, &c.Reply}, "audience": {&given.Audience, &c.Audience}, "context-from": {&given.ContextFrom, &c.ContextFrom},
				"card": {&given.Card, &c.Card}, "trigger": {&given.Trigger, &c.Trigger}, "language": {&given.Language, &c.Language}, "visibility": {&given.Visibility, &c.Visibility},
			} {
				if set.Changed(name) {
					*to.into = *to.from
				}
			}
			if set.Changed("allow") {
				c.Allow = given.Allow
			}
			if set.Changed("goal-id") || set.Changed("also-goal") {
				c.Goals = goals
			}
		}
		return a.ownerAct(c, execute, "binding a conversation", "Messages of that conversation reach "+show(strings.Join(c.Goals, ", "), 200)+".", "bind", func(rec kernel.Receipt) string {
			return resultOf(rec, "binding_id") + ": " + show(resultOf(rec, "place"), 100) + " -> " + resultOf(rec, "role") + " " + strings.Join(c.Goals, ", ") +
				" (capture " + resultOf(rec, "capture") + ", ingress " + resultOf(rec, "ingress") + ", reply " + resultOf(rec, "reply") + ")" + wider(rec)
		})
	})
}

// wider says when a place holds more people than its goals are meant for.
func wider(rec kernel.Receipt) string {
	if strings.Contains(string(rec.Result), `"wider_than"`) {
		return "\n  the place is wider than the goal's visibility: its members will see the goal's cards"
	}
	return ""
}

func bindingOf(a *app, id string) (kernel.Binding, error) {
	v, err := ask[view.BindingsView](a, &view.Bindings{Binding: id})
	if err != nil || len(v.Bindings) == 0 {
		return kernel.Binding{}, err
	}
	return v.Bindings[0], nil
}

func bindRemove(a *app) *cobra.Command {
	var execute bool
	c := &kernel.RemoveBinding{}
	return a.verbOf("remove", "end a binding (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Binding, "bind-id", "", "the binding (loopx bind list)")
		f.BoolVar(&execute, "execute", false, "do it")
	}, func() error {
		return a.ownerAct(c, execute, "removing a binding", "Messages of that conversation reach no goal by "+show(c.Binding, 40)+" any more.", "remove", func(rec kernel.Receipt) string {
			return c.Binding + ": " + show(resultOf(rec, "place"), 100) + " is bound no more"
		})
	})
}

func bindConfirm(a *app) *cobra.Command {
	var execute bool
	c := &kernel.SetBindingState{State: kernel.BindActive}
	return a.verbOf("confirm", "let a broken or suspended binding count again (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Binding, "bind-id", "", "the binding (loopx bind list)")
		f.BoolVar(&execute, "execute", false, "do it")
	}, func() error {
		return a.ownerAct(c, execute, "confirming a binding", "Messages of that conversation count again, as it is now.", "confirm", func(rec kernel.Receipt) string {
			return c.Binding + ": " + show(resultOf(rec, "place"), 100) + " is " + resultOf(rec, "state") + ", visibility " + resultOf(rec, "visibility")
		})
	})
}

func bindList(a *app) *cobra.Command {
	var s scope
	return a.verbOf("list", "what conversations are bound to", func(f *pflag.FlagSet) { a.goalFlag(f, &s) }, func() error {
		v, raw, err := askRaw[view.BindingsView](a, &view.Bindings{Goal: s.goal})
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			if len(v.Bindings) == 0 {
				return "No conversation is bound.\n  try: loopx bind set --help\n"
			}
			rows := make([][]string, 0, len(v.Bindings))
			for _, b := range v.Bindings {
				rows = append(rows, []string{b.ID, b.State, b.Role, show(strings.Join(b.Goals, ","), 30), show(b.Connection, 20), show(b.Conversation, 24), show(b.Thread, 24)})
			}
			return a.screen(rows, false, "loopx bind list --json")
		})
	})
}

func bindShow(a *app) *cobra.Command {
	var id string
	return a.verbOf("show", "one binding with all its choices", func(f *pflag.FlagSet) {
		f.StringVar(&id, "bind-id", "", "the binding (loopx bind list)")
	}, func() error {
		if id == "" {
			return kernel.Errorf(kernel.Invalid, "missing_bind_id", "no binding was named").Try("loopx bind list")
		}
		v, err := bindingOf(a, id)
		if err != nil {
			return err
		}
		return a.out(newFields().set("binding", v), func() string {
			var b strings.Builder
			line := func(name, value string) {
				if value != "" {
					fmt.Fprintf(&b, "%-13s %s\n", name, show(value, 200))
				}
			}
			line("binding", v.ID)
			line("state", strings.TrimSuffix(v.State+" ("+v.Reason+")", " ()"))
			line("place", strings.TrimSpace(v.Platform+" "+v.Connection+" "+v.Conversation+" "+v.Thread)+", "+v.Visibility)
			line("role", v.Role)
			line("goals", strings.Join(v.Goals, ", "))
			line("agent", strings.TrimSpace(v.Agent+" "+v.Session))
			line("capture", v.Capture)
			line("ingress", v.Ingress)
			line("reply", v.Reply)
			line("audience", v.Audience)
			line("context from", v.ContextFrom)
			line("trigger", v.Trigger)
			line("allow", strings.Join(v.Allow, ", "))
			line("language", v.Language)
			line("card", v.Card)
			return b.String()
		})
	})
}
