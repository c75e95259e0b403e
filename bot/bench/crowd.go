package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"loopx/bot/client"
	discordsim "loopx/fixtures/sim/discord"
	larksim "loopx/fixtures/sim/lark"
	slacksim "loopx/fixtures/sim/slack"
	"loopx/kernel"
)

// outstanding measures n messages that stand at the daemon at once.
func (b *bench) outstanding(ctx context.Context, sim *slacksim.Server, n int) error {
	var all samples
	for i := range max(b.n/n, 2) {
		s, _, err := burst(ctx, sim, n, fmt.Sprintf("round %d", i))
		if err != nil {
			return err
		}
		all = append(all, s...)
	}
	b.add(fmt.Sprintf("event -> durable -> acknowledged, %d at once", n), all.String(), fmt.Sprintf("two fdatasyncs %.2f ms", b.floorSync), fmt.Sprintf("%.1fx", all.at(0.5)/b.floorSync), "<= 25 ms")
	return nil
}

// burst says n messages at once, over all rooms, and waits until each is
// acknowledged. took is
// from the first that was sent until the last acknowledgement.
func burst(ctx context.Context, sim *slacksim.Server, n int, about string) (s samples, took time.Duration, err error) {
	ours := make(map[string]bool, n)
	last := ""
	for i := range n {
		for _, id := range sim.Say(wei, room(i), fmt.Sprintf("a remark, number %d of %s", i, about)).Envelopes {
			ours[id], last = true, id
		}
	}
	left := n
	err = sim.Wait(ctx, func() bool {
		if !sim.Acked(last) { // asking for each of many with every change would be what is measured
			return false
		}
		left = 0
		for id := range ours {
			if !sim.Acked(id) {
				left++
			}
		}
		return left == 0
	})
	if err != nil {
		return nil, 0, fmt.Errorf("%d of %d messages were not acknowledged: %w", left, n, err)
	}
	var first, end time.Time
	for _, e := range sim.Envelopes() {
		if !ours[e.ID] || len(e.Sent) == 0 {
			continue
		}
		s = append(s, ms(e.Acked.Sub(e.Sent[0])))
		if first.IsZero() || e.Sent[0].Before(first) {
			first = e.Sent[0]
		}
		if e.Acked.After(end) {
			end = e.Acked
		}
	}
	return s, end.Sub(first), nil
}

// flood measures a burst of many messages, with the daemon's memory.
func (b *bench) flood(ctx context.Context, sim *slacksim.Server, d *running, n int) error {
	memory := d.peak()
	s, took, err := burst(ctx, sim, n, "the flood")
	most := memory()
	if err != nil {
		return err
	}
	each := ms(took) / float64(n)
	b.add(fmt.Sprintf("burst of %d messages in %d channels", n, rooms), fmt.Sprintf("%.2f s, acknowledged p99 %.0f ms, %.0f MiB anonymous", took.Seconds(), s.at(0.99), most),
		fmt.Sprintf("two fdatasyncs %.2f ms", b.floorSync), fmt.Sprintf("%.2fx a message", each/b.floorSync), "<= 1 s, p99 <= 250 ms, <= 64 MiB")
	return nil
}

// approve is the button that a card loses once its gate is answered.
const approve = "Approve"

// surface is one platform of the crowd.
type surface struct {
	name, tenant, user, private string
	config                      string
	env                         []string
	wait                        func(context.Context, func() bool) error
	open                        func() (open, ever int)
	drop                        func()
	cards                       func() []string // messages that can be approved, oldest first
	close                       func()

	press func(id string) error
	say   func(text string) (acked func() bool)
}

func slackSurface() *surface {
	s := slacksim.New(slacksim.Options{People: []slacksim.Person{{ID: wei, Name: "Wei", Kind: slacksim.Member}}})
	dm := s.DM(wei)
	return &surface{
		name: "slack", tenant: s.Team(), user: wei, private: dm, wait: s.Wait, open: s.Connections, drop: s.DropSockets, close: s.Close,
		config: "app_token_env = \"APP\"\nbot_token_env = \"BOT\"\nbase_url = \"" + s.APIURL() + "\"\n",
		env:    []string{"APP=" + s.AppToken(), "BOT=" + s.BotToken()},
		cards: func() (out []string) {
			for _, m := range s.BotMessages(dm) {
				if slices.ContainsFunc(m.Buttons(), func(b slacksim.Button) bool { return b.Label == approve }) {
					out = append(out, m.TS)
				}
			}
			return out
		},
		press: func(id string) error { _, err := s.PressButton(wei, dm, id, approve); return err },
		say: func(text string) func() bool {
			ids := s.Say(wei, dm, text).Envelopes
			return func() bool { return !slices.ContainsFunc(ids, func(id string) bool { return !s.Acked(id) }) }
		},
	}
}

func discordSurface() *surface {
	s := discordsim.New(discordsim.Options{})
	dm := s.DM(discordsim.Wei)
	return &surface{
		name: "discord", tenant: discordsim.AppID, user: discordsim.Wei, private: dm, wait: s.Wait, open: s.Connections, drop: s.DropSockets, close: s.Close,
		config: "bot_token_env = \"DISCORD\"\nbase_url = \"" + s.APIURL() + "\"\n",
		env:    []string{"DISCORD=" + s.Token()},
		cards: func() (out []string) {
			for _, m := range s.BotMessages(dm) {
				if slices.ContainsFunc(m.Buttons(), func(b discordsim.Button) bool { return b.Label == approve }) {
					out = append(out, m.ID)
				}
			}
			return out
		},
	}
}

func larkSurface() *surface {
	const user = "ou_wei"
	s := larksim.New(larksim.Options{AppID: "cli_00000000000b0900"})
	dm := s.DM(user)
	return &surface{
		name: "lark", tenant: s.Tenant(), user: user, private: dm, wait: s.Wait, open: s.Connections, drop: s.DropSockets, close: s.Close,
		config: "app_id = \"" + s.AppID() + "\"\napp_secret_env = \"LARK\"\nbase_url = \"" + s.URL() + "\"\n",
		env:    []string{"LARK=" + s.AppSecret()},
		cards: func() (out []string) {
			for _, m := range s.BotMessages(dm) {
				if slices.ContainsFunc(m.Buttons(), func(b larksim.Button) bool { return b.Label == approve }) {
					out = append(out, m.ID)
				}
			}
			return out
		},
	}
}

// crowd measures one owner on three platforms: what a press costs until every
// copy shows it, what a daemon with nothing to do costs, and sockets that break
// again and again.
func (b *bench) crowd(idle time.Duration) error {
	all := []*surface{slackSurface(), discordSurface(), larkSurface()}
	config := "[page]\noff = true\n"
	var env []string
	var links []step
	for _, s := range all {
		defer s.close()
		config += "\n[[connection]]\nname = \"" + s.name + "\"\nplatform = \"" + s.name + "\"\n" + s.config
		env = append(env, s.env...)
		links = append(links, link(s.name, s.name, s.tenant, s.user, s.private)...)
	}
	presses := max(b.n/15, 5)
	home, err := b.asked("crowd", presses, links)
	if err != nil {
		return err
	}
	if err := os.WriteFile(home.Config(), []byte(config), 0o600); err != nil {
		return err
	}
	d, err := b.start(home, env...)
	if err != nil {
		return err
	}
	defer d.stop()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	for _, s := range all {
		if err := s.wait(ctx, func() bool { open, _ := s.open(); return open > 0 && len(s.cards()) == presses }); err != nil {
			return fmt.Errorf("%s: %d of %d cards arrived: %w", s.name, len(s.cards()), presses, err)
		}
	}
	if err := d.settle(time.Minute); err != nil {
		return err
	}
	if err := b.idle(d, idle); err != nil {
		return err
	}
	if err := b.copies(ctx, all); err != nil {
		return err
	}
	return b.storm(ctx, d, all)
}

// idle measures a daemon that has three connections and nothing to do.
func (b *bench) idle(d *running, span time.Duration) error {
	before, ok := d.cpu()
	if !ok {
		b.add("idle with three connections", "this system does not tell", "-", "-", "<= 0.2 % of a core")
		return nil
	}
	time.Sleep(span)
	after, _ := d.cpu()
	share := 100 * (after - before).Seconds() / span.Seconds()
	b.add(fmt.Sprintf("idle with three connections, %.0f s", span.Seconds()), fmt.Sprintf("%.2f %% of a core, %.0f MiB anonymous", share, d.anonymous()),
		fmt.Sprintf("one tick of the clock %.2f %%", 100*tick.Seconds()/span.Seconds()), "-", "<= 0.2 % of a core")
	return nil
}

// copies measures a press in one place until the copies in all places show it.
func (b *bench) copies(ctx context.Context, all []*surface) error {
	first := all[0]
	var s samples
	for _, id := range first.cards() {
		time.Sleep(between)
		open := len(first.cards())
		began := time.Now()
		if err := first.press(id); err != nil {
			return err
		}
		for _, other := range all {
			if err := other.wait(ctx, func() bool { return len(other.cards()) < open }); err != nil {
				return fmt.Errorf("%s: the copy of a pressed card can still be approved: %w", other.name, err)
			}
		}
		s = append(s, ms(time.Since(began)))
	}
	b.add("press -> every copy on three platforms shows it", s.String(), fmt.Sprintf("two fdatasyncs %.2f ms", b.floorSync), fmt.Sprintf("%.1fx", s.at(0.5)/b.floorSync), "-")
	return nil
}

// storm breaks every socket again and again while somebody writes, and measures
// until all three are back; nothing that was said may be lost.
func (b *bench) storm(ctx context.Context, d *running, all []*surface) error {
	const rounds = 10
	before := 0
	for _, s := range all {
		_, ever := s.open()
		before += ever
	}
	used, _ := d.cpu()
	memory := d.peak()
	var acked []func() bool
	began := time.Now()
	for i := range rounds {
		acked = append(acked, all[0].say(fmt.Sprintf("said in the storm, number %d", i)))
		for _, s := range all {
			s.drop()
		}
		time.Sleep(200 * time.Millisecond)
	}
	last := time.Now()
	connects := -before
	for _, s := range all {
		if err := s.wait(ctx, func() bool { open, _ := s.open(); return open == 1 }); err != nil {
			return fmt.Errorf("%s did not come back: %w", s.name, err)
		}
	}
	back := time.Since(last)
	for _, s := range all {
		_, ever := s.open()
		connects += ever
	}
	if err := all[0].wait(ctx, func() bool { return !slices.ContainsFunc(acked, func(ok func() bool) bool { return !ok() }) }); err != nil {
		return fmt.Errorf("something that was said in the storm was never acknowledged: %w", err)
	}
	after, _ := d.cpu()
	b.add(fmt.Sprintf("three sockets broken %d times in %.0f s", rounds, last.Sub(began).Seconds()),
		fmt.Sprintf("all back after %.1f s, %d connects, %.0f ms of processor, %.0f MiB anonymous", back.Seconds(), connects, ms(after-used), memory()),
		fmt.Sprintf("%d breaks", 3*rounds), fmt.Sprintf("%.2f connects a break", float64(connects)/(3*rounds)), "0 lost")
	return nil
}

// step is a command that prepares a workspace.
type step struct {
	cmd kernel.Command
	opt kernel.Options
}

// link makes the steps by which the owner's account on a platform is linked.
func link(platform, connection, tenant, user, private string) []step {
	owner := kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Surface: "bench"}}
	bot := kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "bench"}}
	sum := kernel.CodeDigest("abcde-fghjk-" + platform)
	return []step{
		{&kernel.CreateLinkCode{Digest: sum, Person: "Wei"}, owner},
		{&kernel.RedeemLinkCode{Digest: sum, Platform: platform, Connection: connection, Tenant: tenant, User: user, Private: private}, bot},
		{&kernel.SettleLink{Platform: platform, Connection: connection, Tenant: tenant, User: user}, owner},
	}
}

// asked makes a folder with an owner whose accounts are linked and who is asked
// that many questions.
func (b *bench) asked(name string, gates int, links []step) (client.Home, error) {
	home, err := b.fill(name, gates)
	if err != nil {
		return home, err
	}
	owner := kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Surface: "bench"}}
	// At whatever time of day this is measured.
	steps := append(links, step{&kernel.SetAttention{Person: "owner", QuietFrom: new(0), QuietTo: new(0), Budget: new(1000)}, owner})
	for i := range gates {
		steps = append(steps, step{&kernel.OpenGate{Goal: "g", Question: fmt.Sprintf("Question %d?", i), Kind: "direction", Advisory: true, Severity: new(1)}, owner})
	}
	return home, b.run(home, steps)
}
