package bot

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/client"
	discordsim "loopx/fixtures/sim/discord"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/view"
)

// What was said in bound conversations while the daemon was away is found after
// the start, in a thread too: what addressed the bot is kept for an owner to
// admit. What was said before there was a binding is not for it.
func TestPastOfBoundConversations(t *testing.T) {
	sim := discordsim.New(discordsim.Options{})
	defer sim.Close()
	home := testHome(t)
	secrets := map[string]string{"B": sim.Token()}
	opt := Options{Home: home, Sim: true, Zone: time.UTC, Getenv: func(k string) string { return secrets[k] }, Config: Config{Page: PageConfig{Off: true},
		Connections: []ConnectionConfig{{Name: "work", Platform: "discord", BotTokenEnv: "B", BaseURL: sim.APIURL()}}}}
	c := client.New(home)
	start := func() *Bot {
		b := startBot(t, opt)
		eventually(t, "the connection is ready", func() bool {
			info, err := c.Info(t.Context())
			return err == nil && len(info.Connections) == 2 && info.Connections[1].State == "ready"
		})
		return b
	}
	b := start()
	var err error
	if c.OwnerToken, err = home.Token(); err != nil {
		t.Fatal(err)
	}
	do := func(cmd kernel.Command, opt kernel.Options) {
		t.Helper()
		if _, err := c.Do(t.Context(), cmd, opt); err != nil {
			t.Fatalf("%s: %v", cmd.Name(), err)
		}
	}
	do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, asOwner)
	dm := sim.DM(discordsim.Wei)
	sim.Say(discordsim.Wei, dm, "abcde-fghjk")
	eventually(t, "the code is answered", func() bool { return len(sim.BotMessages(dm)) > 0 })
	links, err := view.Ask[view.LinksView](t.Context(), c, &view.Links{})
	if err != nil || len(links.Links) != 1 {
		t.Fatalf("links %+v, %v", links, err)
	}
	l := links.Links[0]
	do(&kernel.SettleLink{Platform: l.Platform, Connection: l.Connection, Tenant: l.Tenant, User: l.User}, asOwner)
	do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder"}}, asCLI)
	stopBot(t, b)
	at := "<@" + discordsim.BotUser + "> "
	thread := sim.StartThread(discordsim.General, sim.Say(discordsim.Wei, discordsim.General, "about the page").ID, "the page")
	sim.Say(discordsim.Wei, thread, at+"too early")
	b = start()
	defer func() { stopBot(t, b) }()
	bind := &kernel.SetBinding{Platform: "discord", Connection: "work", Conversation: discordsim.General, Thread: thread, Goals: []string{"site"}, Ingress: kernel.IngressInbox, Reply: kernel.ReplyThread}
	do(bind, asOwner)
	other := *bind
	other.Conversation, other.Thread = discordsim.Ops, ""
	do(&other, asOwner)
	stopBot(t, b)
	sim.Say(discordsim.Wei, thread, at+"in the thread")
	sim.Say(discordsim.Wei, thread, "only talk")
	sim.Say(discordsim.Wei, discordsim.Ops, at+"in the channel")
	b = start()
	var missed []string
	first := ""
	dead := func() inbox.MessagesView {
		raw, err := c.Query(t.Context(), &inbox.DeadMessages{Goal: "site"})
		var v inbox.MessagesView
		if err == nil {
			err = json.Unmarshal(raw, &v)
		}
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	eventually(t, "both are found", func() bool {
		missed = nil
		for _, m := range dead().Messages {
			missed = append(missed, m.Reason+": "+m.Text)
			first = m.ID
		}
		return len(missed) >= 2
	})
	slices.Sort(missed)
	if !slices.Equal(missed, []string{"missed: in the channel", "missed: in the thread"}) {
		t.Fatalf("found %q", missed)
	}
	do(&inbox.AdmitMissed{Goal: "site", Message: first}, asOwner)
	if n := len(dead().Messages); n != 1 {
		t.Fatalf("%d are listed after one was admitted", n)
	}
}

// The history and the platform's own repeat of a message race after a start.
// Whichever is first, what is pushed in time starts its turn, once.
func TestPushedAfterHistory(t *testing.T) {
	for name, order := range map[string][]bool{"history first": {true, false, false}, "history last": {false, true, false}} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t)
			g.s.platform = chat.Lark // which has a second look at what comes again
			g.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("lmnop-qrstu"), Person: "Wei"}, asOwner)
			g.do(&kernel.RedeemLinkCode{Digest: kernel.CodeDigest("lmnop-qrstu"), Platform: "lark", Connection: "work", Tenant: "T1", User: "UWEI", Private: "DWEI"},
				kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "lark"}})
			g.do(&kernel.SettleLink{Platform: "lark", Connection: "work", Tenant: "T1", User: "UWEI"}, asOwner)
			g.do(&kernel.SetBinding{Platform: "lark", Connection: "work", Conversation: channel, Goals: []string{"site"}, Agent: "chief", Session: "s1", Ingress: kernel.IngressQueue}, asOwner)
			e := g.event("UWEI", chat.Human, "publish it", true)
			for _, past := range order {
				one := e
				if one.History = past; past {
					one.ID = "history:" + e.Message.ID
				}
				g.accept(one)
			}
			out := g.take()
			if out == nil || out.Message.Text != "publish it" {
				t.Fatalf("the agent got %+v", out)
			}
			g.do(&inbox.SettleMessage{Goal: "site", Agent: "chief", Session: "s1", Message: out.Message.ID, Outcome: inbox.Adopted, Reply: "done"}, asCLI)
			if again := g.take(); again != nil {
				t.Fatalf("then it got %+v", again)
			}
		})
	}
	// What an owner has let go on is not taken a second time.
	g := newGroup(t)
	g.do(&kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: channel, Goals: []string{"site"}, Agent: "chief", Session: "s1", Ingress: kernel.IngressQueue}, asOwner)
	e := g.event("UWEI", chat.Human, "publish it", true)
	past := e
	past.ID, past.History = "history:"+e.Message.ID, true
	g.accept(past)
	missed := func() string {
		var dead inbox.MessagesView
		err := g.k.Read(t.Context(), func(r *kernel.Reader) error {
			v, err := (&inbox.DeadMessages{Goal: "site"}).Answer(r)
			if err == nil {
				dead = v.(inbox.MessagesView)
			}
			return err
		})
		if err != nil || len(dead.Messages) != 1 {
			t.Fatalf("missed %+v, %v", dead, err)
		}
		return dead.Messages[0].ID
	}
	g.do(&inbox.AdmitMissed{Goal: "site", Message: missed()}, asOwner)
	g.accept(e)
	if out := g.take(); out == nil || out.Message.Attempt != 1 {
		t.Fatalf("the agent got %+v", out)
	}
	// Where the session is gone by then, it waits for whoever comes.
	late := g.event("UWEI", chat.Human, "and the footer", true)
	late.History = true
	g.accept(late)
	g.do(&kernel.CloseSession{Goal: "site", Session: "s1"}, asCLI)
	g.do(&inbox.AdmitMissed{Goal: "site", Message: missed()}, asOwner)
	var out inbox.Leasing
	if err := json.Unmarshal(g.do(&inbox.NextMessage{Goal: "site", Agent: "chief"}, asCLI).Result, &out); err != nil || out.Message == nil || out.Message.Text != "and the footer" {
		t.Fatalf("whoever comes gets %+v, %v", out, err)
	}
}
