package discord_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/discord"
	sim "loopx/fixtures/sim/discord"
)

func TestSuite(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{New: surface})
}

func surface(t *testing.T) adaptertest.Surface {
	s := sim.New(sim.Options{HeartbeatEvery: 40 * time.Millisecond})
	t.Cleanup(s.Close)
	var past []string
	a := newAdapter(t, s, func(c *discord.Config) {
		c.Timing.Call, c.Conversations = 2*time.Second, func() []string { return past }
	})
	place := func(c string) chat.Place { return chat.Place{Connection: "work", Conversation: c} }
	act := func(sent sim.Sent, err error) (adaptertest.Act, error) {
		return adaptertest.Act{ID: sent.ID, Acked: func() bool {
			for _, e := range sent.Events {
				if !s.Acked(e) {
					return false
				}
			}
			return len(sent.Events) > 0
		}}, err
	}
	say := func(who chat.User, where chat.Place, text string) (adaptertest.Act, error) {
		return act(s.Say(who.ID, where.Conversation, text), nil)
	}
	// What a custom id carries is between the kind of button and the form.
	opaque := func(custom string) string {
		_, id, _ := strings.Cut(custom, "|")
		id, _, _ = strings.Cut(id, "|")
		return id
	}
	press := func(who chat.User, ref chat.Ref, id string) (sim.Sent, error) {
		m, _ := s.Message(ref.Place.Conversation, ref.Message)
		for _, b := range m.Buttons() {
			if opaque(b.CustomID) == id { // a person presses by what is written on it
				return s.PressButton(who.ID, ref.Place.Conversation, ref.Message, b.Label)
			}
		}
		return sim.Sent{}, fmt.Errorf("there is no button %q", id)
	}
	as := func(user string) func(chat.Place, string) (adaptertest.Act, error) {
		return func(where chat.Place, text string) (adaptertest.Act, error) {
			return act(s.Say(user, where.Conversation, text), nil)
		}
	}
	return adaptertest.Surface{
		Adapter: a,
		Ann:     chat.User{Tenant: sim.AppID, ID: sim.Ana, Kind: chat.Human},
		Bob:     chat.User{Tenant: sim.AppID, ID: sim.Wei, Kind: chat.Human},
		Private: place(s.DM(sim.Ana)), Group: place(sim.General), Side: place(sim.Ops),
		Say: say,
		Mention: func(who chat.User, where chat.Place, text string) (adaptertest.Act, error) {
			return say(who, where, "<@"+sim.BotUser+"> "+text)
		},
		Press: func(who chat.User, ref chat.Ref, id string) (adaptertest.Act, error) {
			return act(press(who, ref, id))
		},
		Submit: func(who chat.User, ref chat.Ref, id string, values map[string]string) (adaptertest.Act, error) {
			if _, err := press(who, ref, id); err != nil {
				return adaptertest.Act{}, err
			}
			adaptertest.Eventually(t, s, "the form", func() bool { _, ok := s.OpenForm(who.ID); return ok })
			f, _ := s.OpenForm(who.ID)
			if len(f.Inputs) != 1 {
				return adaptertest.Act{}, errors.New("the form has not one field")
			}
			byLabel := map[string]string{}
			for _, text := range values {
				byLabel[f.Inputs[0].Label] = text
			}
			return act(s.SubmitForm(who.ID, byLabel))
		},
		Repeat: func() { s.Duplicate(1) },
		SayAs: map[chat.UserKind]func(chat.Place, string) (adaptertest.Act, error){
			chat.Guest: as(sim.Gus), chat.Bot: as(sim.Botty),
		},
		NoKind:  map[chat.UserKind]string{chat.External: "a Discord server has members and guests; nobody writes there from another one"},
		OneMark: "the gateway takes one sequence number for all events before it, in heartbeats and resumes",
		Shown: func(ref chat.Ref) (string, []string, bool) {
			m, ok := s.Message(ref.Place.Conversation, ref.Message)
			var ids []string
			for _, b := range m.Buttons() {
				ids = append(ids, opaque(b.CustomID))
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
		FailPin: func() {
			s.Inject(sim.Fault{Method: "pins.add", Kind: sim.FaultError, Status: 403, Code: 50013})
		},
		Sent:       func(where chat.Place, name string) ([]byte, string, int) { return s.File(where.Conversation, name) },
		LoseFile:   func() { s.Inject(sim.Fault{Method: "messages.create", Kind: sim.FaultWriteHang}) },
		FailSigns:  func() { s.Inject(sim.Fault{Method: "reactions.add", Kind: sim.FaultWriteHang}) },
		Recall:     func() { past = []string{s.DM(sim.Ana), sim.General} },
		LoseAnswer: func() { s.Inject(sim.Fault{Method: "messages.create", Kind: sim.FaultWriteHang}) },
		BreakAuth:  func() { s.Revoke() },
		Secrets:    []string{s.Token(), "simulated.bot-token"},
		Changed:    s.Changed,
	}
}
