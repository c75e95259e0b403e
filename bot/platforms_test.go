package bot

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"loopx/bot/client"
	discordsim "loopx/fixtures/sim/discord"
	larksim "loopx/fixtures/sim/lark"
	slacksim "loopx/fixtures/sim/slack"
	"loopx/kernel"
	"loopx/kernel/view"
)

// shown is a message as Wei sees it, on any platform.
type shown struct {
	id      string
	text    string
	buttons []string
}

// phone is Wei's client of one simulated platform.
type phone struct {
	config  ConnectionConfig
	secrets map[string]string
	close   func()
	say     func(text string)
	attach  func(name string, data []byte)
	// file is a file of the bot in Wei's private conversation, and how often.
	file func(name string) (data []byte, n int)
	// giveUp ends the redelivery of what the app did not take; nil where there is none.
	giveUp func()
	see    func() []shown
	press  func(id, label string) error
	wait   func(ctx context.Context, cond func() bool) error
	// signs are the bot's reactions on what Wei said.
	signs func(text string) []string
	// denied lists the calls that were refused because a scope is missing.
	denied func() []string
	// refuse makes the platform refuse the next edit of a card for good.
	refuse func()
	// told is what only Wei was told.
	told func() []string
	// group is a conversation with others in it; seeIn is what the bot wrote there.
	group string
	seeIn func(conversation string) []shown
	// pinned are the ids of what is pinned in the group; failPin refuses the next
	// pin for want of a scope or permission.
	pinned  func() []string
	failPin func()
	// closed refuses the next message, as for a person who takes none; pinged are
	// whom messages in the group notify.
	closed func()
	pinged func() []string
	// callAt makes the platform call the daemon; nil where the daemon connects.
	callAt func(address string)
}

func phones() map[string]func() phone {
	return map[string]func() phone{
		"slack": slackPhone,
		"slack by request": func() phone {
			p := slackPhone()
			p.config.AppTokenEnv, p.config.SigningSecretEnv, p.config.Mode = "", "W", "webhook"
			return p
		},
		"discord": discordPhone,
		"lark":    func() phone { return larkPhone("cli_00000000000b0700") },
		"lark by request": func() phone {
			p := larkPhone("cli_00000000000b0701")
			p.config.EncryptKeyEnv, p.config.VerificationTokenEnv, p.config.Mode = "K", "V", "webhook"
			return p
		},
	}
}

// scopes are those that a guide tells people to give the app.
func scopes(platform, pattern string) []string {
	raw, err := os.ReadFile("../docs/guides/" + platform + ".md")
	if err != nil {
		panic(err)
	}
	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(raw), -1) {
		out = append(out, m[1])
	}
	if len(out) < 4 {
		panic(fmt.Sprintf("the guide of %s names the scopes %q", platform, out))
	}
	return out
}

func slackPhone() phone {
	s := slacksim.New(slacksim.Options{People: []slacksim.Person{{ID: wei, Name: "Wei", Kind: slacksim.Member}}, Scopes: scopes("slack", `(?m)^ +- ([a-z_.]+:[a-z.]+)$`)})
	dm := s.DM(wei)
	seeIn := func(conversation string) (out []shown) {
		for _, m := range s.BotMessages(conversation) {
			v := shown{id: m.TS, text: m.Shown()}
			for _, b := range m.Buttons() {
				v.buttons = append(v.buttons, b.Label)
			}
			out = append(out, v)
		}
		return out
	}
	return phone{
		config:  ConnectionConfig{Name: "work", Platform: "slack", AppTokenEnv: "A", BotTokenEnv: "B", BaseURL: s.APIURL()},
		secrets: map[string]string{"A": s.AppToken(), "B": s.BotToken(), "W": s.SigningSecret()}, close: s.Close, wait: s.Wait,
		say:    func(text string) { s.Say(wei, dm, text) },
		attach: func(name string, data []byte) { s.Attach(wei, dm, "", name, data) }, giveUp: s.GiveUp,
		file: func(name string) ([]byte, int) { data, _, n := s.File(dm, name); return data, n },
		see:  func() []shown { return seeIn(dm) }, seeIn: seeIn, group: "C0GEN",
		pinned: func() (out []string) {
			for _, m := range s.Messages("C0GEN") {
				if m.Pinned {
					out = append(out, m.TS)
				}
			}
			return out
		},
		failPin: func() { s.Inject(slacksim.Fault{Method: "pins.add", Kind: slacksim.FaultError, Code: "missing_scope"}) },
		closed: func() {
			s.Inject(slacksim.Fault{Method: "chat.postMessage", Kind: slacksim.FaultError, Code: "messages_tab_disabled"})
		},
		pinged: func() (out []string) {
			for _, m := range s.BotMessages("C0GEN") {
				for _, id := range regexp.MustCompile(`<@(U[A-Z0-9]+)>`).FindAllStringSubmatch(m.Text, -1) {
					out = append(out, id[1])
				}
			}
			return out
		},
		refuse: func() {
			s.Inject(slacksim.Fault{Method: "chat.update", Kind: slacksim.FaultError, Code: "edit_window_closed"})
		},
		told: func() (out []string) {
			for _, m := range s.Ephemeral(wei) {
				out = append(out, m.Shown())
			}
			return out
		},
		press:  func(id, label string) error { _, err := s.PressButton(wei, dm, id, label); return err },
		callAt: s.CallApp,
		signs: func(text string) (out []string) {
			for _, m := range s.Messages(dm) {
				for _, r := range m.Reactions {
					if m.User == wei && m.Shown() == text {
						out = append(out, r.Emoji)
					}
				}
			}
			return out
		},
		denied: func() (out []string) {
			for _, c := range s.Calls("") {
				if c.Error == "missing_scope" {
					out = append(out, c.Method)
				}
			}
			return out
		},
	}
}

func discordPhone() phone {
	s := discordsim.New(discordsim.Options{})
	dm := s.DM(discordsim.Wei)
	seeIn := func(conversation string) (out []shown) {
		for _, m := range s.BotMessages(conversation) {
			v := shown{id: m.ID, text: m.Shown()}
			for _, b := range m.Buttons() {
				v.buttons = append(v.buttons, b.Label)
			}
			out = append(out, v)
		}
		return out
	}
	return phone{
		config:  ConnectionConfig{Name: "work", Platform: "discord", BotTokenEnv: "B", BaseURL: s.APIURL()},
		secrets: map[string]string{"B": s.Token()}, close: s.Close, wait: s.Wait,
		say:    func(text string) { s.Say(discordsim.Wei, dm, text) },
		attach: func(name string, data []byte) { s.Attach(discordsim.Wei, dm, "", name, data) },
		file:   func(name string) ([]byte, int) { data, _, n := s.File(dm, name); return data, n },
		see:    func() []shown { return seeIn(dm) }, seeIn: seeIn, group: discordsim.General,
		pinned: func() (out []string) {
			for _, m := range s.Messages(discordsim.General) {
				if m.Pinned {
					out = append(out, m.ID)
				}
			}
			return out
		},
		failPin: func() {
			s.Inject(discordsim.Fault{Method: "pins.add", Kind: discordsim.FaultError, Status: 403, Code: 50013})
		},
		closed: func() {
			s.Inject(discordsim.Fault{Method: "messages.create", Kind: discordsim.FaultError, Status: 403, Code: 50007})
		},
		pinged: func() (out []string) {
			for _, m := range s.BotMessages(discordsim.General) {
				out = append(out, m.Pings()...)
			}
			return out
		},
		refuse: func() {
			s.Inject(discordsim.Fault{Method: "messages.edit", Kind: discordsim.FaultError, Status: 400, Code: 50083})
		},
		told: func() (out []string) {
			for _, m := range s.Ephemeral(discordsim.Wei) {
				out = append(out, m.Shown())
			}
			return out
		},
		signs: func(text string) (out []string) {
			for _, m := range s.Messages(dm) {
				for _, r := range m.Reactions {
					if m.Author == discordsim.Wei && m.Content == text {
						out = append(out, r.Emoji)
					}
				}
			}
			return out
		},
		press: func(id, label string) error { _, err := s.PressButton(discordsim.Wei, dm, id, label); return err },
	}
}

// The SDK keeps its tokens by app id for the whole process.
func larkPhone(app string) phone {
	s := larksim.New(larksim.Options{AppID: app, Scopes: scopes("lark", `(?m)^ +"([a-z0-9_.:]+)",?$`)})
	const who = "ou_wei"
	dm := s.DM(who)
	seeIn := func(conversation string) (out []shown) {
		for _, m := range s.BotMessages(conversation) {
			v := shown{id: m.ID, text: m.Shown()}
			for _, b := range m.Buttons() {
				v.buttons = append(v.buttons, b.Label)
			}
			out = append(out, v)
		}
		return out
	}
	return phone{
		config:  ConnectionConfig{Name: "work", Platform: "lark", AppID: s.AppID(), AppSecretEnv: "S", BaseURL: s.URL()},
		secrets: map[string]string{"S": s.AppSecret(), "K": "an-encrypt-key", "V": s.VerificationToken()}, close: s.Close, wait: s.Wait,
		say:    func(text string) { s.Say(who, dm, text) },
		attach: func(name string, data []byte) { s.Attach(who, dm, "file", name, data) }, giveUp: s.GiveUp,
		file: func(name string) ([]byte, int) { data, _, n := s.File(dm, name); return data, n },
		see:  func() []shown { return seeIn(dm) }, seeIn: seeIn, group: "oc_gen",
		pinned: func() (out []string) {
			for _, m := range s.Messages("oc_gen") {
				if m.Pinned {
					out = append(out, m.ID)
				}
			}
			return out
		},
		failPin: func() { s.Inject(larksim.Fault{Method: "im.pin.create", Kind: larksim.FaultError, Code: 99991672}) },
		closed:  func() { s.Inject(larksim.Fault{Method: "im.message.create", Kind: larksim.FaultError, Code: 230013}) },
		pinged: func() (out []string) {
			for _, m := range s.BotMessages("oc_gen") {
				out = append(out, m.Pinged()...)
			}
			return out
		},
		// 230031: a card older than 14 days.
		refuse: func() { s.Inject(larksim.Fault{Method: "im.message.patch", Kind: larksim.FaultError, Code: 230031}) },
		told: func() (out []string) {
			for _, m := range s.Toasts(who) {
				out = append(out, m.Text)
			}
			return out
		},
		press:  func(id, label string) error { _, err := s.PressButton(who, id, label); return err },
		callAt: func(address string) { s.CallApp(address, "an-encrypt-key") },
		signs: func(text string) (out []string) {
			for _, m := range s.Messages(dm) {
				for _, r := range m.Reactions {
					if m.From == who && m.Shown() == text {
						out = append(out, r.Emoji)
					}
				}
			}
			return out
		},
		denied: func() (out []string) {
			for _, c := range s.Calls("") {
				if c.Code == 99991672 {
					out = append(out, c.Method)
				}
			}
			return out
		},
	}
}

// The way of a gate is the same on every platform: a code typed privately, a
// confirmation at the machine, a card, two presses for a protected answer, one
// decision, and the same message showing it without buttons, also after the
// daemon was stopped and started in between.
func TestGateOnEveryPlatform(t *testing.T) {
	for name, make := range phones() {
		t.Run(name, func(t *testing.T) {
			p := make()
			defer p.close()
			home := testHome(t)
			opt := Options{Home: home, Sim: true, Zone: time.UTC, Config: Config{Page: PageConfig{Off: true}, Connections: []ConnectionConfig{p.config}}, Getenv: func(k string) string { return p.secrets[k] }}
			if p.config.calls() {
				opt.Config.Webhook.Listen = "127.0.0.1:0"
			}
			start := func() *Bot {
				b := startBot(t, opt)
				if p.config.calls() {
					p.callAt("http://" + b.HookAddr() + hookPath("work"))
				}
				return b
			}
			b := start()
			defer func() { stopBot(t, b) }()
			c := client.New(home)
			var err error
			if c.OwnerToken, err = home.Token(); err != nil {
				t.Fatal(err)
			}
			do := func(cmd kernel.Command, by kernel.Options) kernel.Receipt {
				t.Helper()
				r, err := c.Do(t.Context(), cmd, by)
				if err != nil {
					t.Fatalf("%s: %v", cmd.Name(), err)
				}
				return r
			}
			until := func(what string, cond func() bool) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				if err := p.wait(ctx, cond); err != nil {
					t.Fatalf("%s: never; Wei sees %+v", what, p.see())
				}
			}
			card := func(what string, fits func(shown) bool) (out shown) {
				t.Helper()
				until(what, func() bool {
					for _, m := range p.see() {
						if strings.Contains(m.text, "pricing page") && fits(m) {
							out = m
							return true
						}
					}
					return false
				})
				return out
			}
			// A platform keeps nothing for an app that was never there.
			ready := func() {
				t.Helper()
				eventually(t, "the connection is ready", func() bool {
					info, err := c.Info(t.Context())
					return err == nil && len(info.Connections) == 2 && info.Connections[1].State == "ready"
				})
			}
			ready()
			do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, asOwner)
			p.say("abcde-fghjk")
			until("the code is answered", func() bool { return len(p.see()) > 0 })
			links, err := view.Ask[view.LinksView](t.Context(), c, &view.Links{})
			if err != nil || len(links.Links) != 1 || links.Links[0].Status != "pending" {
				t.Fatalf("links %+v, %v", links, err)
			}
			l := links.Links[0]
			do(&kernel.SettleLink{Platform: l.Platform, Connection: l.Connection, Tenant: l.Tenant, User: l.User}, asOwner)
			do(anytime(), asOwner)
			do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder"}}, asCLI)
			do(&kernel.AddTodo{Goal: "site", Title: "publish"}, asCLI)
			todos, err := view.Ask[view.TodosView](t.Context(), c, &view.Todos{Goal: "site"})
			if err != nil {
				t.Fatal(err)
			}
			do(&kernel.OpenGate{Goal: "site", Agent: "builder", Question: "Publish the new pricing page?", Why: "Checks pass", Kind: "publish", Todos: []string{todos.Todos[0].ID},
				Options: []kernel.Option{{ID: "go", Label: "Publish", Outcome: kernel.Approve}, {ID: "hold", Label: "Hold", Outcome: kernel.Reject}}}, asCLI)
			first := card("the card", func(m shown) bool { return len(m.buttons) == 3 })
			if err := p.press(first.id, "Publish…"); err != nil {
				t.Fatal(err)
			}
			second := card("the confirm step", func(m shown) bool { return len(m.buttons) == 2 && m.buttons[0] == "Confirm: Publish" })
			stopBot(t, b)
			b = start()
			ready()
			if err := p.press(second.id, "Confirm: Publish"); err != nil {
				t.Fatal(err)
			}
			done := card("the decision", func(m shown) bool { return len(m.buttons) == 0 && strings.Contains(m.text, "decided by Wei") })
			if done.id != first.id {
				t.Errorf("the decision is shown by another message")
			}
			gates, err := view.Ask[view.GatesView](t.Context(), c, &view.Gates{Goal: "site", All: true})
			if err != nil || len(gates.Gates) != 1 || gates.Gates[0].Answer == nil || gates.Gates[0].Answer.Surface != p.config.Platform || gates.Gates[0].Answer.Name != "Wei" {
				t.Fatalf("gates %+v, %v", gates, err)
			}
			do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1", Claim: true}, asCLI)
			card("the decision is taken up", func(m shown) bool { return strings.Contains(m.text, "taken by builder") })
			n := 0
			for _, m := range p.see() {
				if strings.Contains(m.text, "pricing page") {
					n++
				}
			}
			if n != 1 {
				t.Errorf("Wei sees %d cards", n)
			}
			if p.denied != nil {
				if missing := p.denied(); len(missing) > 0 {
					t.Errorf("the scopes of the guide do not suffice for %q", missing)
				}
			}
		})
	}
}

// eventually looks again and again, for what no simulator tells of.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(what + ": never")
		}
	}
}
