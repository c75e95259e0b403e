package main_test

import (
	"context"
	"slices"
	"time"

	discordsim "loopx/fixtures/sim/discord"
	larksim "loopx/fixtures/sim/lark"
	slacksim "loopx/fixtures/sim/slack"
)

// shown is one of the bot's messages as Wei sees it, on any platform.
type shown struct {
	id, text string
	buttons  []string
}

// said is what Wei wrote.
type said struct {
	id     string
	pushed bool // it went to the app at once; else the app was away
	// acked is whether the app has let the platform know that it has it.
	acked func() bool
}

// phone is Wei's client of one simulated platform, and what the daemon needs to
// be connected with it.
type phone struct {
	platform string
	config   string // the connection in config.toml
	env      []string
	tenant   string
	user     string
	private  string
	close    func()
	see      func() []shown
	press    func(id, label string) error
	say      func(text string) said
	wait     func(ctx context.Context, cond func() bool) error
}

// phones are all platforms. A platform repeats what nobody acknowledged after
// 300 ms, and does not give up while a test runs.
func phones() map[string]func() *phone {
	return map[string]func() *phone{"slack": slackPhone, "discord": discordPhone, "lark": larkPhone}
}

const ackWithin = 300 * time.Millisecond

// often is a pause before each further delivery.
func often() []time.Duration { return slices.Repeat([]time.Duration{100 * time.Millisecond}, 200) }

func slackPhone() *phone {
	const wei = "U0WEI"
	s := slacksim.New(slacksim.Options{People: []slacksim.Person{{ID: wei, Name: "Wei", Kind: slacksim.Member}}, AckWithin: ackWithin, Redeliver: often()})
	dm := s.DM(wei)
	return &phone{
		platform: "slack", tenant: s.Team(), user: wei, private: dm, close: s.Close, wait: s.Wait,
		config: "app_token_env = \"APP\"\nbot_token_env = \"BOT\"\nbase_url = \"" + s.APIURL() + "\"\n",
		env:    []string{"APP=" + s.AppToken(), "BOT=" + s.BotToken()},
		see: func() (out []shown) {
			for _, m := range s.BotMessages(dm) {
				v := shown{id: m.TS, text: m.Shown()}
				for _, b := range m.Buttons() {
					v.buttons = append(v.buttons, b.Label)
				}
				out = append(out, v)
			}
			return out
		},
		press: func(id, label string) error { _, err := s.PressButton(wei, dm, id, label); return err },
		say: func(text string) said {
			sent := s.Say(wei, dm, text)
			return said{sent.TS, len(sent.Envelopes) > 0, func() bool { return !slices.ContainsFunc(sent.Envelopes, func(id string) bool { return !s.Acked(id) }) }}
		},
	}
}

func discordPhone() *phone {
	// What is confirmed is the sequence number in a heartbeat, so the heart beats fast.
	s := discordsim.New(discordsim.Options{HeartbeatEvery: 50 * time.Millisecond})
	dm := s.DM(discordsim.Wei)
	return &phone{
		platform: "discord", tenant: discordsim.AppID, user: discordsim.Wei, private: dm, close: s.Close, wait: s.Wait,
		config: "bot_token_env = \"BOT\"\nbase_url = \"" + s.APIURL() + "\"\n",
		env:    []string{"BOT=" + s.Token()},
		see: func() (out []shown) {
			for _, m := range s.BotMessages(dm) {
				v := shown{id: m.ID, text: m.Shown()}
				for _, b := range m.Buttons() {
					v.buttons = append(v.buttons, b.Label)
				}
				out = append(out, v)
			}
			return out
		},
		press: func(id, label string) error { _, err := s.PressButton(discordsim.Wei, dm, id, label); return err },
		say: func(text string) said {
			sent := s.Say(discordsim.Wei, dm, text)
			return said{sent.ID, len(sent.Events) > 0, func() bool { return !slices.ContainsFunc(sent.Events, func(n int) bool { return !s.Acked(n) }) }}
		},
	}
}

func larkPhone() *phone {
	const wei = "ou_wei"
	s := larksim.New(larksim.Options{AppID: "cli_00000000000b0900", AckWithin: ackWithin, Redeliver: often()})
	dm := s.DM(wei)
	return &phone{
		platform: "lark", tenant: s.Tenant(), user: wei, private: dm, close: s.Close, wait: s.Wait,
		config: "app_id = \"" + s.AppID() + "\"\napp_secret_env = \"SECRET\"\nbase_url = \"" + s.URL() + "\"\n",
		env:    []string{"SECRET=" + s.AppSecret()},
		see: func() (out []shown) {
			for _, m := range s.BotMessages(dm) {
				v := shown{id: m.ID, text: m.Shown()}
				for _, b := range m.Buttons() {
					v.buttons = append(v.buttons, b.Label)
				}
				out = append(out, v)
			}
			return out
		},
		press: func(id, label string) error { _, err := s.PressButton(wei, id, label); return err },
		say: func(text string) said {
			sent := s.Say(wei, dm, text)
			return said{sent.ID, len(sent.Envelopes) > 0, func() bool { return !slices.ContainsFunc(sent.Envelopes, func(id string) bool { return !s.Acked(id) }) }}
		},
	}
}
