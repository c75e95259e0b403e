package slack_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/slack"
	sim "loopx/fixtures/sim/slack"
)

func TestSuite(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{New: surface})
}

// TestWebhookSuite is the suite over signed requests.
func TestWebhookSuite(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{
		New: func(t *testing.T) adaptertest.Surface {
			past := &recall{}
			s, a := hooked(t, past)
			return surfaceOf(t, s, a, past)
		},
		Cannot: map[adaptertest.Check]string{adaptertest.Order: "Slack's requests may overtake each other"},
	})
}

// hooked is a Slack that calls its app.
func hooked(t *testing.T, past *recall) (*sim.Server, *slack.Adapter) {
	t.Helper()
	s := newSuiteSim(t)
	a := newAdapter(t, s, func(c *slack.Config) {
		c.Conversations = past.conversations
		c.AppToken, c.SigningSecret = chat.Secret{}, chat.NewSecret(s.SigningSecret())
		c.Timing.Call, c.Timing.Check = 2*time.Second, 50*time.Millisecond
	})
	web := httptest.NewServer(a)
	t.Cleanup(web.Close)
	s.CallApp(web.URL)
	return s, a
}

// recall is the past that a test wants an adapter to read.
type recall struct{ list []string }

func (r *recall) conversations() []string { return r.list }

func newSuiteSim(t *testing.T) *sim.Server {
	s := sim.New(sim.Options{AckWithin: 3 * time.Second, Redeliver: []time.Duration{0, 0, 0}, RedeliverPresses: true, PingEvery: 100 * time.Millisecond})
	t.Cleanup(s.Close)
	return s
}

func surface(t *testing.T) adaptertest.Surface {
	s, past := newSuiteSim(t), &recall{}
	a := newAdapter(t, s, func(c *slack.Config) { c.Timing.Call, c.Conversations = 2*time.Second, past.conversations })
	return surfaceOf(t, s, a, past)
}

func surfaceOf(t *testing.T, s *sim.Server, a *slack.Adapter, past *recall) adaptertest.Surface {
	place := func(c string) chat.Place { return chat.Place{Connection: "work", Conversation: c} }
	act := func(sent sim.Sent, err error) (adaptertest.Act, error) {
		return adaptertest.Act{ID: sent.TS, Acked: func() bool {
			for _, e := range sent.Envelopes {
				if !s.Acked(e) {
					return false
				}
			}
			return len(sent.Envelopes) > 0
		}}, err
	}
	say := func(who chat.User, where chat.Place, text string) (adaptertest.Act, error) {
		return act(s.Say(who.ID, where.Conversation, text), nil)
	}
	// A person presses by what is written on the button.
	label := func(ref chat.Ref, id string) (string, error) {
		m, _ := s.Message(ref.Place.Conversation, ref.Message)
		for _, b := range m.Buttons() {
			if b.Value == id {
				return b.Label, nil
			}
		}
		return "", fmt.Errorf("there is no button %q", id)
	}
	press := func(who chat.User, ref chat.Ref, id string) (sim.Sent, error) {
		l, err := label(ref, id)
		if err != nil {
			return sim.Sent{}, err
		}
		return s.PressButton(who.ID, ref.Place.Conversation, ref.Message, l)
	}
	as := func(user string) func(chat.Place, string) (adaptertest.Act, error) {
		return func(where chat.Place, text string) (adaptertest.Act, error) {
			return act(s.Say(user, where.Conversation, text), nil)
		}
	}
	return adaptertest.Surface{
		Adapter: a,
		Ann:     chat.User{Tenant: s.Team(), ID: "U0ANA", Kind: chat.Human},
		Bob:     chat.User{Tenant: s.Team(), ID: "U0WEI", Kind: chat.Human},
		Private: place(s.DM("U0ANA")), Group: place("C0GEN"), Side: place("C0OPS"),
		Say: say,
		Mention: func(who chat.User, where chat.Place, text string) (adaptertest.Act, error) {
			return say(who, where, "<@"+s.BotUser()+"> "+text)
		},
		Press: func(who chat.User, ref chat.Ref, id string) (adaptertest.Act, error) {
			return act(press(who, ref, id))
		},
		Submit: func(who chat.User, ref chat.Ref, id string, values map[string]string) (adaptertest.Act, error) {
			if _, err := press(who, ref, id); err != nil {
				return adaptertest.Act{}, err
			}
			adaptertest.Eventually(t, s, "the form", func() bool { _, ok := s.OpenForm(who.ID); return ok })
			v, _ := s.OpenForm(who.ID)
			if len(v.Inputs) != 1 {
				return adaptertest.Act{}, errors.New("the form has not one field")
			}
			byLabel := map[string]string{}
			for _, text := range values {
				byLabel[v.Inputs[0].Label] = text
			}
			return act(s.SubmitForm(who.ID, byLabel))
		},
		Repeat: func() { s.Duplicate(1) },
		SayAs: map[chat.UserKind]func(chat.Place, string) (adaptertest.Act, error){
			chat.Guest: as("U0GUS"), chat.External: as("U0EVE"), chat.Bot: as("U0BTY"),
		},
		Shown: func(ref chat.Ref) (string, []string, bool) {
			m, ok := s.Message(ref.Place.Conversation, ref.Message)
			var ids []string
			for _, b := range m.Buttons() {
				ids = append(ids, b.Value)
			}
			return m.Shown(), ids, ok
		},
		Count: func(where chat.Place, text string) (n int) {
			for _, m := range s.BotMessages(where.Conversation) {
				if strings.Contains(m.Shown(), text) {
					n++
				}
			}
			return n
		},
		Notices: func(who chat.User) (out []string) {
			for _, m := range s.Ephemeral(who.ID) {
				out = append(out, m.Shown())
			}
			return out
		},
		Signs: func(ref chat.Ref) (out []string) {
			m, _ := s.Message(ref.Place.Conversation, ref.Message)
			for _, r := range m.Reactions {
				out = append(out, r.Emoji)
			}
			return out
		},
		Attach: func(who chat.User, where chat.Place, name string, data []byte) (adaptertest.Act, error) {
			sent, _ := s.Attach(who.ID, where.Conversation, "", name, data)
			return act(sent, nil)
		},
		RemoveFile: s.DeleteFile,
		Pinned:     func(ref chat.Ref) bool { m, _ := s.Message(ref.Place.Conversation, ref.Message); return m.Pinned },
		FailPin:    func() { s.Inject(sim.Fault{Method: "pins.add", Kind: sim.FaultError, Code: "missing_scope"}) },
		Sent:       func(where chat.Place, name string) ([]byte, string, int) { return s.File(where.Conversation, name) },
		LoseFile:   func() { s.Inject(sim.Fault{Method: "files.completeUploadExternal", Kind: sim.FaultWriteHang}) },
		FailSigns:  func() { s.Inject(sim.Fault{Method: "reactions.add", Kind: sim.FaultWriteHang}) },
		Recall:     func() { past.list = []string{s.DM("U0ANA"), "C0GEN"} },
		LoseAnswer: func() { s.Inject(sim.Fault{Method: "chat.postMessage", Kind: sim.FaultWriteHang}) },
		BreakAuth:  func() { s.Revoke("") },
		Secrets:    []string{s.AppToken(), s.BotToken(), s.SigningSecret(), "simulated-app-token", "simulated-bot-token"},
		Changed:    s.Changed,
	}
}
