package main_test

import (
	"slices"
	"strings"
	"time"

	discordsim "loopx/fixtures/sim/discord"
	larksim "loopx/fixtures/sim/lark"
	slacksim "loopx/fixtures/sim/slack"
)

// Places of a journey. A surface that has no groups has the private one alone.
const (
	atThread = "the thread" // of a goal, in a channel
	atGroup  = "the group"  // that has a Manager
	weiDM    = "Wei's private conversation"
	anaDM    = "Ana's private conversation"
)

// line is one message as its readers see it.
type line struct {
	id      string   // of this run
	From    string   `json:"from"`
	Text    string   `json:"text"`
	Buttons []string `json:"buttons,omitempty"`
	Signs   []string `json:"signs,omitempty"` // our reactions on it
}

// surface is one simulated platform with the people on it, or the local page.
type surface struct {
	name    string
	config  string                                                   // of the connection; empty for the page
	open    func(home string, approve func(code string) error) error // of the page alone
	env     []string
	tenant  string
	users   map[string]string // name -> id
	mention string            // what addresses the bot where others read along
	group   string            // id of the group with the Manager; empty: there are none
	// topic opens the thread of a goal as Wei and returns its channel and its id.
	topic func() (channel, thread string)
	// say writes; an error says that it is not known to be written.
	say func(who, place, text string) error
	// read is all that stands in a place, oldest first.
	read  func(place string) []line
	press func(who, place, id, label string) error
	// queues: what is said while nobody listens is delivered later. Where it is not,
	// it is only found in the history, and an owner has to admit it.
	queues bool
	online func() bool // is the app connected?
	close  func()
}

func surfaces() map[string]func() *surface {
	return map[string]func() *surface{"slack": slackSurface, "discord": discordSurface, "lark": larkSurface, "page": pageSurface}
}

const (
	wei = "U0WEI"
	ana = "U0ANA"
)

func slackSurface() *surface {
	s := slacksim.New(slacksim.Options{AckWithin: 300 * time.Millisecond, PingEvery: 200 * time.Millisecond})
	thread := ""
	u := &surface{
		name: "slack", tenant: s.Team(), users: map[string]string{"Wei": wei, "Ana": ana}, mention: "<@" + s.BotUser() + "> ", group: "C0OPS", queues: true, close: s.Close,
		config: "platform = \"slack\"\napp_token_env = \"APP\"\nbot_token_env = \"BOT\"\nbase_url = \"" + s.APIURL() + "\"\n",
		env:    []string{"APP=" + s.AppToken(), "BOT=" + s.BotToken()},
	}
	u.online = connected(s)
	at := map[string]string{atThread: "C0GEN", atGroup: "C0OPS", weiDM: s.DM(wei), anaDM: s.DM(ana)}
	u.topic = func() (string, string) {
		thread = s.Say(wei, "C0GEN", "about the page").TS
		return "C0GEN", thread
	}
	u.say = func(who, place, text string) error {
		if place == atThread {
			s.Reply(u.users[who], at[place], thread, text)
		} else {
			s.Say(u.users[who], at[place], text)
		}
		return nil
	}
	u.read = func(place string) (out []line) {
		for _, m := range s.Messages(at[place]) {
			if place == atThread && m.ThreadTS != thread {
				continue
			}
			l := line{id: m.TS, From: u.nameOf(m.User, m.Bot), Text: m.Shown()}
			for _, b := range m.Buttons() {
				l.Buttons = append(l.Buttons, b.Label)
			}
			for _, r := range m.Reactions {
				l.Signs = append(l.Signs, r.Emoji)
			}
			out = append(out, l)
		}
		return out
	}
	u.press = func(who, place, id, label string) error {
		_, err := s.PressButton(u.users[who], at[place], id, label)
		return err
	}
	return u
}

func discordSurface() *surface {
	s := discordsim.New(discordsim.Options{})
	u := &surface{
		name: "discord", tenant: discordsim.AppID, users: map[string]string{"Wei": discordsim.Wei, "Ana": discordsim.Ana}, mention: "<@" + discordsim.BotUser + "> ", group: discordsim.Ops, close: s.Close,
		config: "platform = \"discord\"\nbot_token_env = \"BOT\"\nbase_url = \"" + s.APIURL() + "\"\n",
		env:    []string{"BOT=" + s.Token()},
	}
	u.online = connected(s)
	at := map[string]string{atGroup: discordsim.Ops, weiDM: s.DM(discordsim.Wei), anaDM: s.DM(discordsim.Ana)}
	u.topic = func() (string, string) {
		at[atThread] = s.StartThread(discordsim.General, s.Say(discordsim.Wei, discordsim.General, "about the page").ID, "the page")
		return discordsim.General, at[atThread]
	}
	u.say = func(who, place, text string) error { s.Say(u.users[who], at[place], text); return nil }
	u.read = func(place string) (out []line) {
		for _, m := range s.Messages(at[place]) {
			l := line{id: m.ID, From: u.nameOf(m.Author, m.Author == discordsim.BotUser), Text: m.Shown()}
			for _, b := range m.Buttons() {
				l.Buttons = append(l.Buttons, b.Label)
			}
			for _, r := range m.Reactions {
				l.Signs = append(l.Signs, r.Emoji)
			}
			out = append(out, l)
		}
		return out
	}
	u.press = func(who, place, id, label string) error {
		_, err := s.PressButton(u.users[who], at[place], id, label)
		return err
	}
	return u
}

func larkSurface() *surface {
	s := larksim.New(larksim.Options{AckWithin: 300 * time.Millisecond, Redeliver: []time.Duration{300 * time.Millisecond, 300 * time.Millisecond, time.Second, time.Second}})
	u := &surface{
		name: "lark", tenant: s.Tenant(), users: map[string]string{"Wei": "ou_wei", "Ana": "ou_ana"}, mention: "<@" + s.BotID() + "> ", group: "oc_ops", queues: true, close: s.Close,
		config: "platform = \"lark\"\napp_id = \"" + s.AppID() + "\"\napp_secret_env = \"SECRET\"\nbase_url = \"" + s.URL() + "\"\n",
		env:    []string{"SECRET=" + s.AppSecret()},
	}
	u.online = connected(s)
	thread := ""
	at := map[string]string{atThread: "oc_gen", atGroup: "oc_ops", weiDM: s.DM("ou_wei"), anaDM: s.DM("ou_ana")}
	u.topic = func() (string, string) {
		_, thread = s.OpenTopic("ou_wei", "oc_gen", s.Say("ou_wei", "oc_gen", "about the page").ID, "in a topic of its own")
		return "oc_gen", thread
	}
	u.say = func(who, place, text string) error {
		if place == atThread {
			s.SayIn(u.users[who], at[place], thread, text)
		} else {
			s.Say(u.users[who], at[place], text)
		}
		return nil
	}
	u.read = func(place string) (out []line) {
		for _, m := range s.Messages(at[place]) {
			if place == atThread && m.ThreadID != thread {
				continue
			}
			l := line{id: m.ID, From: u.nameOf(m.From, m.Bot), Text: m.Shown()}
			for _, b := range m.Buttons() {
				l.Buttons = append(l.Buttons, b.Label)
			}
			for _, r := range m.Reactions {
				l.Signs = append(l.Signs, r.Emoji)
			}
			out = append(out, l)
		}
		return out
	}
	u.press = func(who, _, id, label string) error {
		_, err := s.PressButton(u.users[who], id, label)
		return err
	}
	return u
}

func connected(s interface{ Connections() (int, int) }) func() bool {
	return func() bool { open, _ := s.Connections(); return open > 0 }
}

// nameOf is who wrote a message, as its readers know him.
func (u *surface) nameOf(id string, bot bool) string {
	if bot {
		return "loopx"
	}
	for name, user := range u.users {
		if user == id {
			return name
		}
	}
	return id
}

// present is what stands in a place but what the bot says of its time away:
// without kills there was none.
func (u *surface) present(place string) []line {
	return slices.DeleteFunc(u.read(place), func(l line) bool { return l.From == "loopx" && strings.HasPrefix(l.Text, "While I was away") })
}

// find is the newest message of the bot that holds all of the words, among those
// after what a person said last: older ones may not have been redrawn yet.
func (u *surface) find(place string, words ...string) (line, bool) {
	list := u.present(place)
	slices.Reverse(list)
	for _, l := range list {
		if l.From != "loopx" {
			break
		}
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(l.Text, w) }) {
			return l, true
		}
	}
	return line{}, false
}
