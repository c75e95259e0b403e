package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"loopx/bot/api"
	"loopx/bot/client"
	slacksim "loopx/fixtures/sim/slack"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/view"
)

// asBuilder is the agent at its command line.
var asBuilder = kernel.Options{By: kernel.Actor{Kind: kernel.ByAgent, ID: "builder", Surface: "cli"}}

// office is one person's phone, a daemon, and the agent's way in.
type office struct {
	t   *testing.T
	p   phone
	opt Options
	b   *Bot
	c   *client.Client
}

func newOffice(t *testing.T, p phone) *office {
	t.Helper()
	return newOfficeWith(t, p, func(*Options) {})
}

// newOfficeWith is an office whose daemon has other options too.
func newOfficeWith(t *testing.T, p phone, with func(*Options)) *office {
	t.Helper()
	home := testHome(t)
	d := &office{t: t, p: p, c: client.New(home), opt: Options{Home: home, Sim: true, Zone: time.UTC, Getenv: func(k string) string { return p.secrets[k] },
		Config: Config{Page: PageConfig{Off: true}, Connections: []ConnectionConfig{p.config}}}}
	if p.config.calls() {
		d.opt.Config.Webhook.Listen = "127.0.0.1:0"
	}
	with(&d.opt)
	t.Cleanup(p.close)
	d.start()
	t.Cleanup(func() { d.stop() })
	var err error
	if d.c.OwnerToken, err = home.Token(); err != nil {
		t.Fatal(err)
	}
	d.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, asOwner)
	p.say("abcde-fghjk")
	d.until("the code is answered", func() bool { return len(p.see()) > 0 })
	links, err := view.Ask[view.LinksView](t.Context(), d.c, &view.Links{})
	if err != nil || len(links.Links) != 1 {
		t.Fatalf("links %+v, %v", links, err)
	}
	l := links.Links[0]
	d.do(&kernel.SettleLink{Platform: l.Platform, Connection: l.Connection, Tenant: l.Tenant, User: l.User}, asOwner)
	d.do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder"}}, asCLI)
	d.do(&kernel.AddTodo{Goal: "site", Title: "publish"}, asCLI)
	return d
}

func (d *office) start() {
	d.t.Helper()
	d.b = startBot(d.t, d.opt)
	if d.p.config.calls() {
		d.p.callAt("http://" + d.b.HookAddr() + hookPath("work"))
	}
	eventually(d.t, "the connection is ready", func() bool {
		info, err := d.c.Info(d.t.Context())
		return err == nil && len(info.Connections) == 2 && info.Connections[1].State == "ready"
	})
}

func (d *office) stop() {
	if d.b != nil {
		stopBot(d.t, d.b)
		d.b = nil
	}
}

func (d *office) do(cmd kernel.Command, opt kernel.Options) kernel.Receipt {
	d.t.Helper()
	r, err := d.c.Do(d.t.Context(), cmd, opt)
	if err != nil {
		d.t.Fatalf("%s: %v", cmd.Name(), err)
	}
	return r
}

// offline runs a command on the state file, as the command line does without a
// daemon.
func (d *office) offline(cmd kernel.Command, opt kernel.Options) {
	d.t.Helper()
	held, err := api.Hold(d.t.Context(), api.HoldOptions{Home: d.opt.Home, Command: "loopx"})
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := held.Kernel.Do(d.t.Context(), cmd, opt); err != nil {
		d.t.Error(err)
	}
	if err := held.Close(); err != nil {
		d.t.Error(err)
	}
}

func (d *office) until(what string, cond func() bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 20*time.Second)
	defer cancel()
	if err := d.p.wait(ctx, cond); err != nil {
		d.t.Fatalf("%s: never; Wei sees %+v", what, d.p.see())
	}
}

// sees counts the messages that hold a text, and returns the last of them.
func (d *office) sees(text string) (n int, last shown) {
	for _, m := range d.p.see() {
		if strings.Contains(m.text, text) {
			n, last = n+1, m
		}
	}
	return n, last
}

func (d *office) shows(text string) shown {
	d.t.Helper()
	var out shown
	d.until(fmt.Sprintf("a message with %q", text), func() bool {
		n, m := d.sees(text)
		out = m
		return n > 0
	})
	return out
}

// next takes the next message of builder's session, waiting for it to be there.
func (d *office) next() *inbox.Leaseholder {
	d.t.Helper()
	var out inbox.Leasing
	eventually(d.t, "a message for the agent", func() bool {
		rec := d.do(&inbox.NextMessage{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
		if err := json.Unmarshal(rec.Result, &out); err != nil {
			d.t.Fatal(err)
		}
		return out.Message != nil
	})
	return out.Message
}

// A private message reaches the agent and its answer comes back, once, on every
// platform, also when the daemon stops in between and the agent settles on the
// state file.
func TestMessageOnEveryPlatform(t *testing.T) {
	for name, make := range phones() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its platform's budget most of the time
			d := newOffice(t, make())
			d.do(&kernel.OpenSession{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
			d.p.say("how far is the pricing page?")
			queued := d.shows("queued for builder, 1 of 1")
			d.p.say("and who checks it?")
			d.shows("queued for builder, 2 of 2")
			m := d.next()
			if m.Text != "how far is the pricing page?" || m.From != "Wei" || m.Ingress != "queue" {
				t.Fatalf("the agent got %+v", m)
			}
			if now := d.shows("builder works on this message"); now.id != queued.id {
				t.Errorf("the progress is another message")
			}
			d.stop()
			d.offline(&inbox.SettleMessage{Goal: "site", Agent: "builder", Message: m.ID, Outcome: inbox.Adopted, Reply: "Half done.\nThe copy is missing."}, asBuilder)
			d.start()
			d.shows("The copy is missing.")
			d.shows("answered by builder")
			second := d.next()
			if second.Text != "and who checks it?" {
				t.Fatalf("then the agent got %+v", second)
			}
			d.do(&inbox.SettleMessage{Goal: "site", Agent: "builder", Message: second.ID, Outcome: inbox.Declined, Reply: "Nobody yet."}, asBuilder)
			d.shows("Nobody yet.")
			d.shows("declined by builder")
			// Our reaction on the message says the same, and nothing is left of the ones
			// before it, although the daemon was stopped in between.
			done := map[string]string{"slack": "white_check_mark", "discord": "✅", "lark": "DONE"}[d.p.config.Platform]
			for _, text := range []string{"how far is the pricing page?", "and who checks it?"} {
				eventually(t, "the sign on "+text, func() bool { return slices.Equal(d.p.signs(text), []string{done}) })
			}
			if n, _ := d.sees("The copy is missing."); n != 1 {
				t.Errorf("the first answer came %d times", n)
			}
			if n, _ := d.sees("Homepage release"); n != 4 {
				t.Errorf("two questions made %d messages: %+v", n, d.p.see())
			}
		})
	}
}

// A message into a live turn on every platform: refused with the reason and a
// button while there is none.
func TestQueueCardOnEveryPlatform(t *testing.T) {
	for name, make := range phones() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its platform's budget most of the time
			d := newOffice(t, make())
			d.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1", Session: "s1", Claim: true}, asBuilder)
			d.p.say("not the blue one")
			card := d.shows("queued for builder, 1 of 1")
			if len(card.buttons) != 2 || card.buttons[1] != "Send as steer" {
				t.Fatalf("the card has %q", card.buttons)
			}
			if err := d.p.press(card.id, "Send as steer"); err != nil {
				t.Fatal(err)
			}
			d.shows("accepted, not yet taken by builder")
			rec := d.do(&kernel.Refresh{Goal: "site", Agent: "builder", Turn: "t1", Note: "one"}, keyed("one"))
			if len(rec.Steer) != 1 || rec.Steer[0].Text != "not the blue one" || rec.Steer[0].From != "Wei" {
				t.Fatalf("beside the receipt: %+v", rec.Steer)
			}
			d.shows("delivered to builder")
			d.do(&kernel.Refresh{Goal: "site", Agent: "builder", Turn: "t1", Note: "two"}, keyed("two"))
			d.shows("seen by builder")
			d.p.say("never mind")
			card = d.shows("queued for builder, 1 of 1")
			if err := d.p.press(card.id, "Cancel"); err != nil {
				t.Fatal(err)
			}
			d.shows("taken back")
			rec = d.do(&inbox.NextMessage{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
			if !strings.Contains(string(rec.Result), `"empty":true`) {
				t.Fatalf("a message that was taken back came: %s", rec.Result)
			}
		})
	}
}

// A mention in a bound thread of a channel is answered in that thread, also when
// the binding is gone by then. Who only talks there starts nothing.
func TestMentionInABoundThread(t *testing.T) {
	r := newRig(t)
	r.link()
	const ch = "C0GEN"
	root := r.sim.Say(wei, ch, "about the page").TS
	r.do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder"}}, asCLI)
	rec := r.do(&kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: ch, Thread: root, Goals: []string{"site"}, Ingress: kernel.IngressInbox}, asOwner)
	r.sim.Reply(wei, ch, root, "just talking")
	r.sim.Reply(wei, ch, root, "<@"+r.sim.BotUser()+"> what is missing?")
	in := func() (out []slacksim.Message) {
		for _, m := range r.sim.BotMessages(ch) {
			if m.ThreadTS == root {
				out = append(out, m)
			}
		}
		return out
	}
	r.until("the progress", func() bool { return len(in()) == 1 && strings.Contains(in()[0].Shown(), "stored for builder") })
	var bound struct {
		ID string `json:"binding_id"`
	}
	if err := json.Unmarshal(rec.Result, &bound); err != nil {
		t.Fatal(err)
	}
	r.do(&kernel.RemoveBinding{Binding: bound.ID}, asOwner)
	var out inbox.Leasing
	if err := json.Unmarshal(r.do(&inbox.NextMessage{Goal: "site"}, asBuilder).Result, &out); err != nil {
		t.Fatal(err)
	}
	if out.Message == nil || out.Message.Text != "what is missing?" || len(out.Context) != 0 {
		t.Fatalf("the agent got %+v", out)
	}
	r.do(&inbox.SettleMessage{Goal: "site", Message: out.Message.ID, Outcome: inbox.Adopted, Reply: "Only the FAQ."}, asBuilder)
	r.until("the answer in its thread", func() bool {
		list := in()
		return len(list) == 2 && strings.Contains(list[1].Shown(), "Only the FAQ.") && strings.Contains(list[0].Shown(), "answered by builder")
	})
	if n := len(r.sim.BotMessages(ch)); n != 2 {
		t.Fatalf("the channel got %d messages", n)
	}
}

func keyed(key string) kernel.Options {
	opt := asBuilder
	opt.Key = key
	return opt
}

// An author's second thoughts on Slack: an unfurl is no edit, a change of what
// waits replaces it, a change of what the agent has is offered as a correction,
// and what is taken back is not answered. B86, B87.
func TestSecondThoughts(t *testing.T) {
	r := newRig(t)
	inbox.Attach(r.k)
	r.link()
	r.do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder"}}, asCLI)
	r.do(&kernel.OpenSession{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
	dm := r.sim.DM(wei)
	shows := func(text string) (out slacksim.Message) {
		t.Helper()
		r.until(text, func() bool {
			for _, m := range r.sim.BotMessages(dm) {
				if strings.Contains(m.Shown(), text) {
					out = m
					return true
				}
			}
			return false
		})
		return out
	}
	next := func() *inbox.Leaseholder {
		t.Helper()
		var out inbox.Leasing
		if err := json.Unmarshal(r.do(&inbox.NextMessage{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder).Result, &out); err != nil {
			t.Fatal(err)
		}
		return out.Message
	}
	first := r.sim.Say(wei, dm, "look at https://example.com/p").TS
	shows("queued for builder, 1 of 1")
	second := r.sim.Say(wei, dm, "and ship it").TS
	shows("queued for builder, 2 of 2")
	r.sim.Unfurl(dm, first)
	r.sim.EditMessage(dm, first, "look at the second page")
	r.sim.DeleteMessage(dm, second)
	shows("taken back")
	m := next()
	if m == nil || m.Text != "look at the second page" {
		t.Fatalf("the agent got %+v", m)
	}
	shows("builder works on this message")
	r.sim.EditMessage(dm, first, "look at the third page")
	card := shows("You changed the message; builder has the older text.")
	r.press(wei, dm, card.TS, "Send the correction")
	r.until("the correction waits", func() bool {
		for _, m := range r.sim.BotMessages(dm) {
			if strings.Contains(m.Shown(), "queued for builder, 1 of 1") {
				return true
			}
		}
		return false
	})
	r.do(&inbox.SettleMessage{Goal: "site", Agent: "builder", Session: "s1", Message: m.ID, Outcome: inbox.Adopted, Reply: "Seen the second."}, asBuilder)
	shows("Seen the second.")
	if m = next(); m == nil || !strings.HasSuffix(m.Text, "look at the third page") {
		t.Fatalf("then the agent got %+v", m)
	}
	r.sim.DeleteMessage(dm, first)
	if m := next(); m == nil {
		t.Fatal("the correction is gone with the message it corrects")
	}
}

// An answer longer than Discord takes arrives whole, in parts and in order.
func TestLongAnswerOnDiscord(t *testing.T) {
	d := newOffice(t, phones()["discord"]())
	d.do(&kernel.OpenSession{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
	d.p.say("tell me everything")
	m := d.next()
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "line %d of the report\n", i)
	}
	d.do(&inbox.SettleMessage{Goal: "site", Agent: "builder", Session: "s1", Message: m.ID, Outcome: inbox.Adopted, Reply: b.String()}, asBuilder)
	d.shows("line 299 of the report")
	var got strings.Builder
	parts := 0
	for _, m := range d.p.see() {
		if strings.Contains(m.text, "of the report") {
			parts++
			got.WriteString(m.text + "\n")
		}
	}
	at := -1
	for i := range 300 {
		next := strings.Index(got.String(), fmt.Sprintf("line %d of", i))
		if next <= at {
			t.Fatalf("line %d is missing or out of order in %d parts", i, parts)
		}
		at = next
	}
	if parts < 4 {
		t.Fatalf("%d parts", parts)
	}
}
