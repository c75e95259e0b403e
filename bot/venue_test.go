package bot

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/console"
	"loopx/adapters/discord"
	"loopx/adapters/lark"
	"loopx/adapters/slack"
	discordsim "loopx/fixtures/sim/discord"
	larksim "loopx/fixtures/sim/lark"
	slacksim "loopx/fixtures/sim/slack"
)

// venue is one simulated platform with several people in it, behind the real
// adapter: what each of them sees and can do there.
type venue struct {
	platform chat.Platform
	tenant   string
	adapter  chat.Adapter
	// Ids of people and places. gus is a guest and eve of another tenant; empty
	// where the platform knows no such people. group is a place where all are.
	wei, ana, gus, eve string
	group, other       string

	dm  func(who string) string
	say func(who, where, text string)
	see func(where string) []shown
	// native is the newest content of a message as the platform keeps it.
	native func(where, id string) any
	// told is what only this person was told, oldest first.
	told  func(who string) []string
	press func(who, where, id, label string) error
	// submit presses a button that asks for text and fills in its form.
	submit func(who, where, id, label, text string) error
	// finish fills in the form that is open; nil where cards hold their fields.
	finish func(who, text string) error
	// keep returns a press of a button as it stands now on a message, to be made
	// later, on any message.
	keep func(where, id, label string) func(who, where, id string) error
	// nonsense presses a button nobody ever drew.
	nonsense func(who, where, id string) error
	// again delivers the newest press once more.
	again func()
}

// venues makes each platform; now is the clock of everything on it.
func venues() map[chat.Platform]func(t *testing.T, now func() time.Time) *venue {
	return map[chat.Platform]func(*testing.T, func() time.Time) *venue{chat.Slack: slackVenue, chat.Discord: discordVenue, chat.Lark: larkVenue}
}

// within waits for what a simulator does in its own time.
func within(what string, cond func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			return errors.New(what + ": never")
		}
	}
	return nil
}

func slackVenue(t *testing.T, now func() time.Time) *venue {
	t.Helper()
	s := slacksim.New(slacksim.Options{Clock: now})
	t.Cleanup(s.Close)
	a, err := slack.New(slack.Config{
		Name: "slack", AppToken: chat.NewSecret(s.AppToken()), BotToken: chat.NewSecret(s.BotToken()), BaseURL: s.APIURL(), Sim: true, Clock: now, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	v := &venue{platform: chat.Slack, tenant: s.Team(), adapter: a, wei: wei, ana: "U0ANA", gus: "U0GUS", eve: "U0EVE", group: "C0GEN", other: "C0OPS", dm: s.DM}
	v.say = func(who, where, text string) { s.Say(who, where, text) }
	v.see = func(where string) (out []shown) {
		for _, m := range s.BotMessages(where) {
			x := shown{id: m.TS, text: m.Shown()}
			for _, b := range m.Buttons() {
				x.buttons = append(x.buttons, b.Label)
			}
			out = append(out, x)
		}
		return out
	}
	v.native = func(where, id string) any {
		m, _ := s.Message(where, id)
		return map[string]any{"blocks": m.Blocks, "text": m.Text}
	}
	v.told = func(who string) (out []string) {
		for _, m := range s.Ephemeral(who) {
			out = append(out, m.Shown())
		}
		return out
	}
	v.press = func(who, where, id, label string) error { _, err := s.PressButton(who, where, id, label); return err }
	v.submit = func(who, where, id, label, text string) error {
		if _, err := s.PressButton(who, where, id, label); err != nil {
			return err
		}
		return v.finish(who, text)
	}
	v.finish = func(who, text string) error {
		if err := within("the form", func() bool { _, ok := s.OpenForm(who); return ok }); err != nil {
			return err
		}
		f, _ := s.OpenForm(who)
		_, err := s.SubmitForm(who, map[string]string{f.Inputs[0].Label: text})
		return err
	}
	v.keep = func(where, id, label string) func(string, string, string) error {
		m, _ := s.Message(where, id)
		for _, b := range m.Buttons() {
			if b.Label == label {
				return func(who, where, id string) error { _, err := s.PressOld(who, where, id, b); return err }
			}
		}
		return func(string, string, string) error { return fmt.Errorf("no button %q", label) }
	}
	v.nonsense = func(who, where, id string) error {
		_, err := s.PressOld(who, where, id, slacksim.Button{Label: "Publish", ActionID: "b0", BlockID: "actions.0", Value: "close_all"})
		return err
	}
	v.again = func() {
		all := s.Envelopes()
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].Type == "interactive" {
				s.Again(all[i].ID)
				return
			}
		}
	}
	return v
}

func discordVenue(t *testing.T, now func() time.Time) *venue {
	t.Helper()
	s := discordsim.New(discordsim.Options{Clock: now})
	t.Cleanup(s.Close)
	a, err := discord.New(discord.Config{Name: "discord", BotToken: chat.NewSecret(s.Token()), BaseURL: s.APIURL(), Sim: true, Clock: now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	v := &venue{platform: chat.Discord, tenant: discordsim.AppID, adapter: a, wei: discordsim.Wei, ana: discordsim.Ana, gus: discordsim.Gus, group: discordsim.General, other: discordsim.Ops, dm: s.DM}
	newest := 0
	sent := func(x discordsim.Sent, err error) error {
		if err == nil {
			newest = x.Events[0]
		}
		return err
	}
	v.say = func(who, where, text string) { s.Say(who, where, text) }
	v.see = func(where string) (out []shown) {
		for _, m := range s.BotMessages(where) {
			x := shown{id: m.ID, text: m.Shown()}
			for _, b := range m.Buttons() {
				x.buttons = append(x.buttons, b.Label)
			}
			out = append(out, x)
		}
		return out
	}
	v.native = func(where, id string) any {
		m, _ := s.Message(where, id)
		return map[string]any{"content": m.Content, "components": m.Components}
	}
	v.told = func(who string) (out []string) {
		for _, m := range s.Ephemeral(who) {
			out = append(out, m.Shown())
		}
		return out
	}
	v.press = func(who, where, id, label string) error { return sent(s.PressButton(who, where, id, label)) }
	v.submit = func(who, where, id, label, text string) error {
		if _, err := s.PressButton(who, where, id, label); err != nil {
			return err
		}
		return v.finish(who, text)
	}
	v.finish = func(who, text string) error {
		if err := within("the form", func() bool { _, ok := s.OpenForm(who); return ok }); err != nil {
			return err
		}
		f, _ := s.OpenForm(who)
		return sent(s.SubmitForm(who, map[string]string{f.Inputs[0].Label: text}))
	}
	v.keep = func(where, id, label string) func(string, string, string) error {
		m, _ := s.Message(where, id)
		for _, b := range m.Buttons() {
			if b.Label == label {
				return func(who, where, id string) error { return sent(s.PressOld(who, where, id, b)) }
			}
		}
		return func(string, string, string) error { return fmt.Errorf("no button %q", label) }
	}
	v.nonsense = func(who, where, id string) error {
		return sent(s.PressOld(who, where, id, discordsim.Button{Label: "Publish", CustomID: "close_all"}))
	}
	v.again = func() { s.Again(newest) }
	return v
}

func larkVenue(t *testing.T, now func() time.Time) *venue {
	t.Helper()
	s := larksim.New(larksim.Options{AppID: "cli_00000000000b0720", Clock: now})
	t.Cleanup(s.Close)
	a, err := lark.New(lark.Config{Name: "lark", AppID: s.AppID(), AppSecret: chat.NewSecret(s.AppSecret()), BaseURL: s.URL(), Sim: true, Clock: now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	v := &venue{platform: chat.Lark, tenant: s.Tenant(), adapter: a, wei: "ou_wei", ana: "ou_ana", eve: "ou_eve", group: "oc_gen", other: "oc_ops", dm: s.DM}
	v.say = func(who, where, text string) { s.Say(who, where, text) }
	v.see = func(where string) (out []shown) {
		for _, m := range s.BotMessages(where) {
			x := shown{id: m.ID, text: m.Shown()}
			for _, b := range m.Buttons() {
				x.buttons = append(x.buttons, b.Label)
			}
			out = append(out, x)
		}
		return out
	}
	v.native = func(_, id string) any {
		m, _ := s.Message(id)
		return map[string]any{"type": m.Type, "content": m.Content}
	}
	v.told = func(who string) (out []string) {
		for _, m := range s.Toasts(who) {
			if m.Text != "" || m.Code != "" {
				out = append(out, m.Code+m.Text)
			}
		}
		return out
	}
	find := func(id, label string) (larksim.Button, error) {
		m, _ := s.Message(id)
		for _, b := range m.Buttons() {
			if b.Label == label {
				return b, nil
			}
		}
		return larksim.Button{}, fmt.Errorf("no button %q on %s", label, m.Shown())
	}
	v.press = func(who, _, id, label string) error {
		b, err := find(id, label)
		if err != nil {
			return err
		}
		if b.Form { // the field may stay empty
			_, err = s.SubmitForm(who, id, label, nil)
			return err
		}
		_, err = s.PressButton(who, id, label)
		return err
	}
	v.submit = func(who, _, id, label, text string) error {
		m, _ := s.Message(id)
		if len(m.Inputs()) == 0 {
			return errors.New("the card has no field")
		}
		_, err := s.SubmitForm(who, id, label, map[string]string{m.Inputs()[0].Label: text})
		return err
	}
	v.keep = func(_, id, label string) func(string, string, string) error {
		b, err := find(id, label)
		return func(who, _, id string) error {
			if err == nil {
				_, err = s.PressOld(who, id, b)
			}
			return err
		}
	}
	v.nonsense = func(who, _, id string) error {
		_, err := s.PressOld(who, id, larksim.Button{Value: map[string]any{"a": "close_all"}})
		return err
	}
	v.again = func() {
		all := s.Envelopes()
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].Type == "card.action.trigger" {
				s.Again(all[i].ID)
				return
			}
		}
	}
	return v
}

// pageVenue is the page's surface as its owner uses it, behind the same doors.
func pageVenue(t *testing.T, c *console.Console) *venue {
	t.Helper()
	owner := console.Person(console.Owner)
	v := &venue{platform: chat.Console, tenant: console.Tenant, adapter: c, wei: console.Owner, dm: func(string) string { return console.Conversation }}
	find := func(id string) (console.Message, bool) {
		for _, m := range c.Messages() {
			if m.ID == id {
				return m, true
			}
		}
		return console.Message{}, false
	}
	action := func(id, label string) (string, error) {
		m, ok := find(id)
		if ok && m.Card != nil {
			for _, b := range m.Card.Buttons {
				if b.Label == label {
					return b.ID, nil
				}
			}
		}
		return "", fmt.Errorf("no button %q on %s", label, m.Text)
	}
	v.say = func(_, _, text string) {
		if err := c.Say(t.Context(), owner, text); err != nil {
			t.Error(err)
		}
	}
	v.see = func(string) (out []shown) {
		for _, m := range c.Messages() {
			if m.To != "" || m.From.ID == console.Owner {
				continue
			}
			x := shown{id: m.ID, text: m.Text}
			if m.Card != nil {
				x.text = chat.PlainText(*m.Card)
				for _, b := range m.Card.Buttons {
					x.buttons = append(x.buttons, b.Label)
				}
			}
			out = append(out, x)
		}
		return out
	}
	v.native = func(_, id string) any { m, _ := find(id); return m.Card }
	v.told = func(who string) (out []string) {
		for _, m := range c.Messages() {
			if m.To == who {
				out = append(out, m.Text)
			}
		}
		return out
	}
	use := func(id, label string, values map[string]string) error {
		a, err := action(id, label)
		if err == nil {
			_, err = c.Press(t.Context(), owner, id, a, values)
		}
		return err
	}
	v.press = func(_, _, id, label string) error { return use(id, label, nil) }
	v.submit = func(_, _, id, label, text string) error { return use(id, label, map[string]string{"reason": text}) }
	v.keep = func(_, id, label string) func(string, string, string) error {
		a, err := action(id, label)
		return func(_, _, id string) error {
			if err == nil {
				// A press that was on its way when the card changed.
				_, err = c.Redeliver(t.Context(), chat.Event{
					Kind: chat.CardPressed, ID: "kept" + a, At: time.Now().UnixMilli(), Private: true, Sender: owner,
					Place: chat.Place{Connection: consoleName, Conversation: console.Conversation}, Press: &chat.Press{Message: id, Action: a},
				})
			}
			return err
		}
	}
	return v
}
