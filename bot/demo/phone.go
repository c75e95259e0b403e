package demo

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"loopx/bot"
	discordsim "loopx/fixtures/sim/discord"
	larksim "loopx/fixtures/sim/lark"
	slacksim "loopx/fixtures/sim/slack"
)

// phone is Wei's client of one simulated platform: what it shows, and what he
// can do there.
type phone struct {
	config  bot.ConnectionConfig
	secrets map[string]string
	tenant  string
	user    string
	look    func() pane
	say     func(text string)
	press   func(message, button string) error
	submit  func(message, button string, values map[string]string) error
	changed func() <-chan struct{}
	close   func()
}

// pane is what a phone shows.
type pane struct {
	Platform string   `json:"platform"`
	Name     string   `json:"name"`
	Messages []bubble `json:"messages"`
	Form     *form    `json:"form"`
	Toast    string   `json:"toast"`
}

type bubble struct {
	ID      string   `json:"id"`
	Mine    bool     `json:"mine"`
	Only    bool     `json:"only"` // nobody else sees it
	Text    string   `json:"text"`
	Buttons []button `json:"buttons"`
	Inputs  []input  `json:"inputs"`
}

type button struct {
	Label string `json:"label"`
	Form  bool   `json:"form"` // submits the inputs of its card
}

type form struct {
	Title  string  `json:"title"`
	Inputs []input `json:"inputs"`
}

type input struct {
	Name     string `json:"name"`
	Label    string `json:"label"`
	Multi    bool   `json:"multi"`
	Max      int    `json:"max"`
	Required bool   `json:"required"`
}

// newPhones are the three platforms, each with Wei in it.
func newPhones() []phone { return []phone{slackPhone(), discordPhone(), larkPhone()} }

// withoutButtons leaves out the lines in which a simulator draws buttons: the
// phone has real ones.
func withoutButtons(text string, labels []string) string {
	drawn := regexp.MustCompile(`^\s*(\[[^\]]*\]\s*)+$`)
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool {
		return drawn.MatchString(l) || slices.Contains(labels, strings.TrimSpace(l))
	})
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func slackPhone() phone {
	s := slacksim.New(slacksim.Options{People: []slacksim.Person{{ID: wei, Name: "Wei", Kind: slacksim.Member}}})
	dm := s.DM(wei)
	show := func(m slacksim.Message) bubble {
		b := bubble{ID: m.TS, Mine: m.User == wei, Only: m.To != "", Buttons: []button{}, Inputs: []input{}}
		var labels []string
		for _, x := range m.Buttons() {
			b.Buttons, labels = append(b.Buttons, button{Label: x.Label}), append(labels, x.Label)
		}
		b.Text = withoutButtons(m.Shown(), labels)
		return b
	}
	return phone{
		config:  bot.ConnectionConfig{Name: "slack", Platform: "slack", AppTokenEnv: "SLACK_APP", BotTokenEnv: "SLACK_BOT", BaseURL: s.APIURL()},
		secrets: map[string]string{"SLACK_APP": s.AppToken(), "SLACK_BOT": s.BotToken()},
		tenant:  s.Team(), user: wei, changed: s.Changed, close: s.Close,
		look: func() pane {
			p := pane{Platform: "slack", Name: "Slack", Messages: []bubble{}}
			for _, m := range s.Messages(dm) {
				p.Messages = append(p.Messages, show(m))
			}
			for _, m := range s.Ephemeral(wei) {
				p.Messages = append(p.Messages, show(m))
			}
			slices.SortStableFunc(p.Messages, func(a, b bubble) int { return strings.Compare(a.ID, b.ID) })
			if v, ok := s.OpenForm(wei); ok {
				p.Form = &form{Title: v.Title, Inputs: []input{}}
				for _, in := range v.Inputs {
					p.Form.Inputs = append(p.Form.Inputs, input{Name: in.ActionID, Label: in.Label, Multi: in.Multiline, Max: max(in.MaxLength, 300), Required: !in.Optional})
				}
			}
			return p
		},
		say:   func(text string) { s.Say(wei, dm, text) },
		press: func(message, label string) error { _, err := s.PressButton(wei, dm, message, label); return err },
		submit: func(_, _ string, values map[string]string) error {
			_, err := s.SubmitForm(wei, values)
			return err
		},
	}
}

func discordPhone() phone {
	s := discordsim.New(discordsim.Options{})
	const who = discordsim.Wei
	dm := s.DM(who)
	show := func(m discordsim.Message) bubble {
		b := bubble{ID: m.ID, Mine: m.Author == who, Only: m.To != "", Buttons: []button{}, Inputs: []input{}}
		var labels []string
		for _, x := range m.Buttons() {
			b.Buttons, labels = append(b.Buttons, button{Label: x.Label}), append(labels, x.Label)
		}
		b.Text = withoutButtons(m.Shown(), labels)
		return b
	}
	return phone{
		config:  bot.ConnectionConfig{Name: "discord", Platform: "discord", BotTokenEnv: "DISCORD_BOT", BaseURL: s.APIURL()},
		secrets: map[string]string{"DISCORD_BOT": s.Token()},
		tenant:  discordsim.AppID, user: who, changed: s.Changed, close: s.Close,
		look: func() pane {
			p := pane{Platform: "discord", Name: "Discord", Messages: []bubble{}}
			for _, m := range append(s.Messages(dm), s.Ephemeral(who)...) {
				p.Messages = append(p.Messages, show(m))
			}
			slices.SortStableFunc(p.Messages, func(a, b bubble) int { return strings.Compare(a.ID, b.ID) }) // of one length
			if f, ok := s.OpenForm(who); ok {
				p.Form = &form{Title: f.Title, Inputs: []input{}}
				for _, in := range f.Inputs {
					p.Form.Inputs = append(p.Form.Inputs, input{Name: in.CustomID, Label: in.Label, Multi: in.Multi, Max: in.Max, Required: in.Required})
				}
			}
			return p
		},
		say:   func(text string) { s.Say(who, dm, text) },
		press: func(message, label string) error { _, err := s.PressButton(who, dm, message, label); return err },
		submit: func(_, _ string, values map[string]string) error {
			_, err := s.SubmitForm(who, values)
			return err
		},
	}
}

func larkPhone() phone {
	s := larksim.New(larksim.Options{PingInterval: 10 * time.Second})
	const who = "ou_wei"
	dm := s.DM(who)
	return phone{
		config:  bot.ConnectionConfig{Name: "lark", Platform: "lark", AppID: s.AppID(), AppSecretEnv: "LARK_SECRET", BaseURL: s.URL()},
		secrets: map[string]string{"LARK_SECRET": s.AppSecret()},
		tenant:  s.Tenant(), user: who, changed: s.Changed, close: s.Close,
		look: func() pane {
			p := pane{Platform: "lark", Name: "Lark", Messages: []bubble{}}
			for _, m := range s.Messages(dm) {
				b := bubble{ID: m.ID, Mine: m.From == who, Buttons: []button{}, Inputs: []input{}}
				var labels []string
				for _, x := range m.Buttons() {
					b.Buttons, labels = append(b.Buttons, button{Label: x.Label, Form: x.Form}), append(labels, x.Label)
				}
				for _, in := range m.Inputs() {
					b.Inputs = append(b.Inputs, input{Name: in.Name, Label: in.Label, Multi: in.Multiline, Max: in.MaxLength, Required: in.Required})
				}
				b.Text = withoutButtons(m.Shown(), labels)
				p.Messages = append(p.Messages, b)
			}
			if toasts := s.Toasts(who); len(toasts) > 0 {
				p.Toast = toasts[len(toasts)-1].Text
			}
			return p
		},
		say:   func(text string) { s.Say(who, dm, text) },
		press: func(message, label string) error { _, err := s.PressButton(who, message, label); return err },
		submit: func(message, label string, values map[string]string) error {
			_, err := s.SubmitForm(who, message, label, values)
			return err
		},
	}
}
